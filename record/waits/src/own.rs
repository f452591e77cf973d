//! A recording of own threads, for users without the rights on tracefs.
//!
//! ```text
//!  begin ─ rings, off ── the caller runs a program: on at its exec ── finish ─▶ log
//! ```
//!
//! The kernel tells the switches of the program and of all that it makes, without wakers.
//!
//! Design: `.waits.degrees` in `design/waits.md`.

use crate::clock::now;
use crate::decode::Recorded;
use crate::decode::{machine_facts, put_place};
use crate::error::CollectError;
use crate::perf::Teller;
use crate::rings::{Of, Pump, each};
use crate::stolen::{self, Stolen};
use crate::threads::Places;
use eventlog::format::ClockSync;
use lens::waits::output::Output;
use std::fs::File;
use std::io::Write;

/// What a recording of own threads lacks.
const LACKS: &str = "without the rights on tracefs the log has the switches of the program and of \
                     the threads and processes that it makes, and no wakers, system calls, disks \
                     or sockets: run it as root for those, as with sudo";

/// A recording of the threads of a program. Dropped, it leaves nothing in the kernel.
#[derive(Debug)]
pub struct OwnRecording {
    pump: Pump,
    begin: ClockSync,
    places: Places,
    stolen: Stolen,
}

impl OwnRecording {
    /// Begins to record the programs that the calling thread runs from now on, and all that they
    /// make. `rate` is in samples a second; 0 takes none. `spill` is an empty file that the caller
    /// removes.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses; see `/proc/sys/kernel/perf_event_paranoid`.
    pub fn begin(rate: u32, spill: File) -> Result<OwnRecording, CollectError> {
        let pump = Pump::start(Of::Children, rate, spill)?;
        Ok(OwnRecording { pump, begin: now(), places: Places::new(false), stolen: Stolen::read() })
    }

    /// Looks at the files of the program, which runs now.
    pub fn watch(&mut self, process: u32) {
        self.places.look(process, true);
    }

    /// Ends the recording, and writes the log.
    ///
    /// # Errors
    ///
    /// Fails if the records or the log cannot be written.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<Recorded, CollectError> {
        let Some((mut spill, failed)) = self.pump.end() else {
            return Err(CollectError::Spill(std::io::ErrorKind::BrokenPipe.into()));
        };
        let end = now();
        let mut origin = machine_facts();
        origin.sync = self.begin;
        let mut output = Output::new(out, &origin)?;
        output.sync(self.begin)?;
        output.sync(end)?;
        output.begin_at(self.begin.ticks);
        for (at, place) in &self.places.all {
            put_place(&mut output, *at, place)?;
        }
        let mut told = Teller::new(true, &|ns| ns.max(1));
        each(&mut spill, |entry| Ok(told.take(&mut output, entry)?))?;
        let counts = told.counts;
        stolen::put(&mut output, end.ticks, &Stolen::read().since(&self.stolen))?;
        let made = output.finish()?;
        let mut recorded = Recorded {
            event_count: made.event_count,
            size: made.size,
            lost_count: counts.lost,
            switch_count: counts.switches,
            sample_count: counts.samples,
            duration: Some(counts.last.saturating_sub(counts.first)),
            notes: vec![LACKS.to_owned()],
            ..Recorded::default()
        };
        (recorded.counts.gaps, recorded.counts.lost) = (counts.gaps, counts.lost);
        if let Some(error) = failed {
            let note = format!("events are missing at the end: cannot keep them ({error})");
            recorded.notes.push(note);
        }
        if counts.damaged > 0 {
            recorded.notes.push(format!("{} records of the kernel are damaged", counts.damaged));
        }
        Ok(recorded)
    }
}
