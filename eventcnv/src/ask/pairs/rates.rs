//! Rates of a log that lacks events: those of each buffer refer to the time that it has of them.
//!
//! ```text
//!  begin                         end
//!  │ buffer 1: 20 events         │   20 / 4 s
//!  │ overwritten  │ buffer 2: 90 │   90 / 2 s       together (110) 50/s: the rates add up
//! ```
//!
//! Of a kind with several buffers, the seconds are the harmonic mean of theirs, by their events.
//! Design: `.cnv.history` in `design/eventcnv.md`.

use eventlog::reader::{Held, History};
use std::collections::HashMap;

/// The seconds for which a log has the events of its kinds and buffers.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Those of the whole time.
    pub(crate) seconds: Option<f64>,
    /// Those of buffers without their first events, by stream and index.
    buffers: HashMap<(u16, u32), f64>,
    /// By the index of the registry in the log and the kind: the number of events, and their rate.
    kinds: HashMap<(u32, u8), (f64, f64)>,
}

impl Rates {
    /// Returns the rates in a time of N seconds. `begin` returns the ticks with which the
    /// time begins in a stream; `length` the seconds from one time to another.
    pub(crate) fn new(
        history: &History,
        seconds: Option<f64>,
        begin: impl Fn(u16) -> Option<u64>,
        length: impl Fn(u16, u64, u64) -> Option<f64>,
    ) -> Rates {
        let mut rates = Rates { seconds, ..Rates::default() };
        let Some(seconds) = seconds else { return rates };
        for &Held { stream, buffer, registry, kind, count, .. } in history.held() {
            let missing = begin(stream)
                .zip(history.begin_of(stream, buffer))
                .and_then(|(from, to)| if to > from { length(stream, from, to) } else { None });
            let own = seconds - missing.unwrap_or(0.0);
            // A single event has no rate.
            let own = if own > 0.0 { own } else { seconds };
            if missing.is_some() {
                rates.buffers.insert((stream, buffer), own);
            }
            let of_kind = rates.kinds.entry((registry, kind)).or_default();
            *of_kind = (of_kind.0 + count as f64, of_kind.1 + count as f64 / own);
        }
        rates
    }

    /// Returns the seconds of a buffer.
    pub(crate) fn of_buffer(&self, stream: u16, buffer: u32) -> Option<f64> {
        self.buffers.get(&(stream, buffer)).copied().or(self.seconds)
    }

    /// Returns the seconds of kinds together, by the index of the registry in the log and the kind.
    pub(crate) fn of_kinds(&self, kinds: impl IntoIterator<Item = (u32, u8)>) -> Option<f64> {
        let found = kinds.into_iter().filter_map(|kind| self.kinds.get(&kind));
        let (count, rate) = found.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        if rate > 0.0 { Some(count / rate) } else { self.seconds }
    }
}
