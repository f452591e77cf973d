//! Volumes: a stream in several files. Some files may be missing.
//!
//! ```text
//!  volume 3 │ volume 4 │ volume 6 │      lowest 3: earlier volumes are not lost
//!                      └ 5 is missing: a fault
//! ```
//!
//! Rules: section 2.3 of `design/format.md`.

use super::head::Head;
use crate::format::BlockHeader;
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::model::stream::Stream;
use std::collections::BTreeMap;

/// Volumes that are remembered, at most. Beyond, missing volumes are not reported.
const VOLUME_COUNT_MAX: usize = 1 << 16;

/// The volumes found so far.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    /// Offsets by stream and number.
    places: BTreeMap<(u16, u64), u64>,
    current: u64,
}

impl Volumes {
    /// Takes a stream header, of a known or a new stream (`.volume.header`).
    pub(crate) fn begin(&mut self, index: u16, streams: &mut Vec<Stream>, head: &Head) {
        let (volume, _) = head.stream.volumes;
        let has_any = self.has_any(index);
        self.current = volume;
        if head.is_right && !head.stream.is_ring && self.places.len() < VOLUME_COUNT_MAX {
            self.places.entry((index, volume)).or_insert(head.stream.offset);
        }
        let Some(stream) = streams.get_mut(usize::from(index)) else {
            return streams.push(head.stream.clone());
        };
        if !head.is_right {
            self.current = stream.volumes.1;
            return;
        }
        // If any copy of the stream has all events, missing numbers are missing.
        stream.is_cut &= head.stream.is_cut;
        head.stream.syncs.iter().for_each(|sync| stream.add_sync(*sync));
        if head.stream.is_ring {
            // A ring has no volumes, and is not a volume of its stream's log.
            stream.is_ring = true;
            stream.is_kept |= head.stream.is_kept;
        } else if stream.is_ring && !has_any {
            stream.volumes = (volume, volume);
            stream.closed = false;
        } else {
            stream.volumes.0 = stream.volumes.0.min(volume);
            if volume > stream.volumes.1 {
                stream.volumes.1 = volume;
                stream.closed = false;
                stream.next_volume = None;
            }
        }
    }

    /// Returns whether the log has volumes of a stream that are not a ring.
    fn has_any(&self, index: u16) -> bool {
        self.places.range((index, 0)..=(index, u64::MAX)).next().is_some()
    }

    /// Takes an end part. In the last volume, it states whether the stream was closed (`.part.end`,
    /// `.volume.end`).
    pub(crate) fn end(&self, stream: &mut Stream, header: &BlockHeader) {
        if self.current >= stream.volumes.1 {
            let next = header.first.get();
            stream.closed = next == 0;
            stream.next_volume = Some(next).filter(|&next| next > 0);
        }
    }

    /// Reports volumes that are missing between others (`.volume.missing`).
    pub(crate) fn check(&self, faults: &mut Faults) {
        if self.places.len() >= VOLUME_COUNT_MAX {
            return;
        }
        let all = || self.places.iter();
        for ((&(stream, before), _), (&(other, number), &offset)) in all().zip(all().skip(1)) {
            let missing = number.saturating_sub(before).saturating_sub(1);
            if stream == other && missing > 0 {
                faults.push(offset, FaultKind::VolumeMissing { first: before + 1, missing });
            }
        }
    }
}
