//! The rate of a stream's clock, as stated or computed from the clock syncs of the MPS.
//!
//! ```text
//!  EventInit: clocksPerSec    EventClockSync … EventClockSync    ticks and clocks at two times
//!                              first             last            ──▶ ticks a second, about
//! ```
//!
//! The clock of the MPS is processor time, unless the program states otherwise. Processor time
//! stands still while a program waits, but ticks go on. Rule: `.mps.rate` in `design/format.md`.

use super::Log;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, KIND_MIXED, Segment};
use crate::reader::model::label::{self, Labels};
use crate::reader::model::registry::{Registry, StringEnd};
use crate::reader::model::stream::Stream;

/// Segments that are searched for a clock sync, from each end of a stream.
const SEGMENT_COUNT_MAX: usize = 256;
/// Size of an event's header if the clock has 32 bits and is the one of the MPS itself.
const SHORT_HEADER_SIZE: u8 = 8;
const SECOND: u64 = 1_000_000_000;

impl Stream {
    /// Sets the clock rate in ticks a second, and overrides what the stream states.
    pub(crate) fn set_clock_rate(&mut self, rate: u64) {
        self.clock_rate = rate;
        self.is_rate_approximate = false;
        let Some(first) = self.syncs.first().copied() else { return };
        let mut second = first;
        second.ticks = first.ticks.saturating_add(rate);
        for time in [&mut second.monotonic, &mut second.realtime] {
            *time = time.saturating_add(if *time > 0 { SECOND } else { 0 });
        }
        self.syncs = vec![first, second];
    }
}

/// What a stream of the MPS states about its clock.
#[derive(Default)]
struct Found {
    clocks_per_second: Option<u64>,
    /// Ticks and clocks of the first sync, and of the last.
    syncs: Option<[(u64, u64); 2]>,
}

impl Log {
    /// Computes the clock rates of MPS streams that do not state them.
    pub(crate) fn measure_clocks(&mut self) {
        let may_tell = |segment: &Segment| {
            let registry = self.registries().get(segment.registry as usize);
            let sync = registry.and_then(sync_of);
            sync.is_some_and(|(_, kind)| [kind, KIND_MIXED].contains(&segment.kind))
        };
        let is_unknown = |segment: &Segment| {
            let stream = self.streams().get(usize::from(segment.stream));
            stream.is_some_and(|stream| stream.clock_rate == 0 && stream.syncs.len() < 2)
        };
        let segments = self.segments().iter().zip(0..);
        let segments = segments.filter(|(segment, _)| is_unknown(segment) && may_tell(segment));
        let mut places: Vec<(u16, u32)> =
            segments.map(|(segment, place)| (segment.stream, place)).collect();
        places.sort_by_key(|(stream, _)| *stream);
        let of_stream = |places: &[(u16, u32)]| {
            let stream = places.first()?.0;
            self.measure(stream, places)
                .map(|(rate, is_approximate)| (stream, rate, is_approximate))
        };
        let rates: Vec<(u16, u64, bool)> =
            places.chunk_by(|a, b| a.0 == b.0).filter_map(of_stream).collect();
        for (stream, rate, is_approximate) in rates {
            if let Some(stream) = self.index.streams.get_mut(usize::from(stream)) {
                (stream.clock_rate, stream.is_rate_approximate) = (rate, is_approximate);
            }
        }
    }

    /// Returns ticks a second, and whether the rate is approximate.
    fn measure(&self, stream: u16, places: &[(u16, u32)]) -> Option<(u64, bool)> {
        let mut found = Found::default();
        for &(_, place) in places.iter().take(SEGMENT_COUNT_MAX) {
            self.find(place, &mut found);
            if found.syncs.is_some() && found.clocks_per_second.is_some() {
                break;
            }
        }
        let first = found.syncs;
        for &(_, place) in places.iter().rev().take(SEGMENT_COUNT_MAX) {
            if first.is_none() || found.syncs != first {
                break;
            }
            self.find(place, &mut found);
        }
        let clocks_per_second = found.clocks_per_second.filter(|&rate| rate > 0)?;
        let platform = self.streams().get(usize::from(stream))?.platform;
        let is_raw = platform.string_end == StringEnd::Nul;
        if is_raw && platform.event_header_size == SHORT_HEADER_SIZE {
            return Some((clocks_per_second, false));
        }
        let [first, last] = found.syncs?;
        let (ticks, clocks) = (last.0.checked_sub(first.0)?, last.1.checked_sub(first.1)?);
        let rate = u128::from(ticks) * u128::from(clocks_per_second);
        let rate = u64::try_from(rate.checked_div(clocks.into())?).ok().filter(|&rate| rate > 0)?;
        Some((rate, ticks != clocks))
    }

    /// Reads the facts in the events of a segment.
    fn find(&self, place: u32, found: &mut Found) {
        let Some(segment) = self.segment(place) else { return };
        let Some(registry) = self.registries().get(segment.registry as usize) else { return };
        let Some((sync, _)) = sync_of(registry) else { return };
        let (labels, mut decoded) = (Labels::default(), Decoded::default());
        self.decode(segment, registry, &mut decoded, &mut Faults::default());
        for n in 0..decoded.located.len() {
            let Some(event) = self.event(segment, registry, &decoded, n, &labels) else { return };
            let number = |name| event.param(name).and_then(|value| value.as_u64());
            if event.code() == sync {
                let Some(clock) = number("clock") else { continue };
                let at = (event.ticks, clock);
                let [first, last] = found.syncs.unwrap_or([at, at]);
                found.syncs = Some([first.min(at), last.max(at)]);
            } else if event.name() == "EventInit" {
                found.clocks_per_second = found.clocks_per_second.or(number("clocksPerSec"));
            }
        }
    }
}

/// Returns code and kind of the clock syncs, if the registry is one of the MPS.
fn sync_of(registry: &Registry) -> Option<(u16, u8)> {
    let row = registry.event_type_named("EventClockSync");
    let row = row.filter(|_| label::is_mps(registry))?;
    Some((row.code, row.kind))
}
