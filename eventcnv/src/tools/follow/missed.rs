//! How far a follower fell behind: events that a ring overwrote before they were read.
//!
//! ```text
//!  look ── read ──▶ database      look ── overwritten since, and not in the database: a note
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use crate::open::Reading;
use eventlog::reader::Faults;
use std::time::Instant;

/// What helps.
const REMEDY: &str = "a larger ring loses fewer, one that keeps all (ring:PATH?keep=all) none";

#[derive(Default)]
pub(super) struct Missed {
    count: u64,
    /// The last look that took events.
    looked: Option<Instant>,
}

impl Missed {
    /// Takes the number of events so far that were overwritten before they were read. Notes the
    /// first ones, and the time in which that happened.
    pub(super) fn note(&mut self, reading: &Reading, count: u64) {
        // Of these the database has some.
        reading.forget_overwritten();
        let before = self.looked.replace(Instant::now());
        let is_first = std::mem::replace(&mut self.count, count) == 0;
        let when = before.map_or("before the first look".to_owned(), |look| {
            format!("in the {:.1} s since the last look", look.elapsed().as_secs_f64())
        });
        let note = || format!("{count} events were overwritten {when}; {REMEDY}");
        reading.note((is_first && count > 0).then(note));
    }

    /// Ends the work at a log, and notes all such events. Returns whether the log was read
    /// completely.
    pub(super) fn end(&self, reading: &Reading, faults: &Faults) -> bool {
        let is_whole = reading.end(faults);
        let note = || format!("the database lacks {} overwritten events", self.count);
        reading.note((self.count > 0).then(note));
        is_whole
    }
}
