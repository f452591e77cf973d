//! Computes when an operation is due, and waits for that time.
//!
//! ```text
//!  recorded: ├──5 µs──┤ op        twice as fast: ├─2.5─┤ op        late ──▶ at once
//! ```
//!
//! Design: `.rep.pace` in `design/replay.md`.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The part of a wait that a thread does not sleep: it may wake late, and never early.
const EARLY: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    start: Instant,
    /// The ns of the replay for one of the recording.
    scale: f64,
}

impl Pacer {
    /// Returns a pace of `speed` times the recorded speed.
    pub(crate) fn new(start: Instant, speed: f64) -> Pacer {
        Pacer { start, scale: 1.0 / speed }
    }

    fn due(&self, time: u64) -> Duration {
        Duration::from_nanos((time as f64 * self.scale) as u64)
    }

    pub(crate) fn is_due(&self, time: u64) -> bool {
        self.start.elapsed() >= self.due(time)
    }

    pub(crate) fn wait(&self, time: u64) {
        let due = self.due(time);
        loop {
            let Some(left) = due.checked_sub(self.start.elapsed()) else { return };
            match left.checked_sub(EARLY) {
                Some(long) => thread::sleep(long),
                None => hint::spin_loop(),
            }
        }
    }
}
