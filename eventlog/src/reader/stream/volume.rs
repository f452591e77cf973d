//! Volumes: a stream in several files, one after the other or side by side. Some may be missing.
//!
//! ```text
//!  volume 3 │ volume 4 │ volume 6 │      lowest 3: earlier volumes are not lost
//!                      └ 5 is missing: a fault
//!  file 0 │ file 1 │ file 3 │ of 4       end in file 0: blocks of each
//!                  └ 2 is missing: a fault
//! ```
//!
//! Rules: sections 2.3 and 2.4 of `design/format.md`.

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
    /// Of those in files side by side.
    sides: BTreeMap<(u16, u64), Sides>,
    /// The file that is walked now, of several.
    side: Option<(u16, u32)>,
}

/// The files of one volume, side by side.
#[derive(Debug, Default)]
struct Sides {
    count: u32,
    /// The blocks that each has in the log, and where they end.
    found: BTreeMap<u32, (u64, u64)>,
    /// The blocks that each had when the volume ended (`.directory.end`).
    stated: Vec<u64>,
}

impl Volumes {
    /// Takes a stream header, of a known or a new stream (`.volume.header`).
    pub(crate) fn begin(&mut self, index: u16, streams: &mut Vec<Stream>, head: &Head) {
        let (volume, _) = head.stream.volumes;
        let has_any = self.has_any(index);
        self.current = volume;
        self.side = head.file.map(|(file, _)| (index, file));
        if let Some((_, count)) = head.file
            && self.sides.len() < VOLUME_COUNT_MAX
        {
            let sides = self.sides.entry((index, volume)).or_default();
            sides.count = sides.count.max(count);
        }
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
    pub(crate) fn end(&mut self, stream: &mut Stream, header: &BlockHeader, payload: &[u8]) {
        let sides = self.side.map(|(index, _)| (index, self.current));
        if let Some(sides) = sides.and_then(|key| self.sides.get_mut(&key)) {
            let counts = payload.as_chunks().0.iter().map(|count| u64::from_le_bytes(*count));
            sides.stated = counts.take(sides.count as usize).collect();
        }
        if self.current >= stream.volumes.1 {
            let next = header.first.get();
            stream.closed = next == 0;
            stream.next_volume = Some(next).filter(|&next| next > 0);
        }
    }

    /// Takes the end of a file, with the number of blocks of its stream. Returns whether it is one
    /// of several, which [`Volumes::check`] compares with what the end part states.
    pub(crate) fn end_file(&mut self, block_count: u64, end: u64) -> bool {
        let Some((index, file)) = self.side.take() else { return false };
        if let Some(sides) = self.sides.get_mut(&(index, self.current)) {
            // Of several copies the longest counts.
            let found = sides.found.entry(file).or_default();
            *found = (*found).max((block_count, end));
        }
        true
    }

    /// Reports files that are missing or cut among those side by side (`.directory.missing`,
    /// `.directory.end`).
    fn check_sides(&self, faults: &mut Faults) {
        for (key @ &(index, volume), sides) in &self.sides {
            // Of the oldest volume, files may have given way to newer ones.
            let is_first = self.places.range((index, 0)..*key).next().is_none();
            let is_last = self.places.range(*key..=(index, u64::MAX)).nth(1).is_none();
            let may_lack = is_first && volume > 0 && !is_last;
            // When it began, each got its name in turn; the program may have died meanwhile.
            let is_bare = |(block_count, _): &(u64, u64)| *block_count <= 1;
            let may_begin = is_last && sides.stated.is_empty() && sides.found.values().all(is_bare);
            let offset = self.places.get(key).copied().unwrap_or(0);
            for file in 0..sides.count {
                let stated = sides.stated.get(file as usize).copied();
                match (sides.found.get(&file), stated) {
                    (None, blocks) if !may_lack => {
                        let count = sides.count;
                        faults.push(
                            offset,
                            match may_begin {
                                true => FaultKind::FileNotBegun { file, count },
                                false => FaultKind::FileMissing { file, count, blocks },
                            },
                        );
                    }
                    (Some(&(found, end)), Some(stated)) if found < stated => {
                        faults.push(end, FaultKind::StreamCut { missing: stated - found, stated });
                    }
                    _ => {}
                }
            }
        }
    }

    /// Reports volumes that are missing between others (`.volume.missing`).
    pub(crate) fn check(&self, faults: &mut Faults) {
        if self.places.len() >= VOLUME_COUNT_MAX {
            return;
        }
        self.check_sides(faults);
        let all = || self.places.iter();
        for ((&(stream, before), _), (&(other, number), &offset)) in all().zip(all().skip(1)) {
            let missing = number.saturating_sub(before).saturating_sub(1);
            if stream == other && missing > 0 {
                faults.push(offset, FaultKind::VolumeMissing { first: before + 1, missing });
            }
        }
    }
}
