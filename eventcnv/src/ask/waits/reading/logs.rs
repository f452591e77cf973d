//! What is wrong with a kernel's log and programs' logs that are read together.
//!
//! ```text
//!  boots · clocks · times in common · events in runs ──▶ the process of each program's log, or why
//!                                                        not
//! ```
//!
//! Design: `.waits.under`, `.waits.same` in `design/waits.md`.

use crate::ask::waits::reading::Kernel;
use eventlog::reader::{Clock, ClockBase, Filter, Log, Order};
use lens::waits::model::{Model, NEVER};
use lens::waits::names::Names;
use lens::waits::tracks::{Tracks, Verdict};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

impl Kernel {
    /// Returns the lives of the process that recorded the only log of a program.
    pub(super) fn lives_of_program(&self, log: &Log) -> Result<Vec<u32>, String> {
        let first = |verdict: &Verdict| match verdict {
            Verdict::Process(first) => Some(*first),
            _ => None,
        };
        let known = self.tracks.verdicts().filter_map(|(_, verdict)| first(verdict));
        let known: BTreeSet<u32> = known.collect();
        let mut doubts = self.tracks.verdicts();
        match (known.first(), known.len(), doubts.next(), doubts.next()) {
            (Some(first), 1, ..) => Ok(self.tracks.process(*first)),
            (None, _, Some((stream, verdict)), None) => {
                Err(format!("{}; state it: --of", self.doubt(log, stream, verdict)))
            }
            _ => Err("state whose time to explain: --of NAME, PID or THREAD".into()),
        }
    }

    /// Says why it is not known which process recorded a log.
    fn doubt(&self, log: &Log, stream: u16, verdict: &Verdict) -> String {
        let name = stream_name(log, stream);
        match verdict {
            Verdict::Several(firsts) => {
                let names = Names::new(&self.model);
                let all: Vec<String> =
                    firsts.iter().map(|life| names.thread(*life, NEVER)).collect();
                format!("{name} may be of any of these processes: {}", all.join(", "))
            }
            _ => format!("no event of {name} tells which process of the kernel's log recorded it"),
        }
    }

    /// Says which logs of programs are read in vain.
    pub(super) fn doubts(&self, log: &Log) -> Vec<String> {
        let is_known = |verdict: &Verdict| matches!(verdict, Verdict::Process(_));
        let doubts = self.tracks.verdicts().filter(|(_, verdict)| !is_known(verdict));
        doubts.map(|(at, verdict)| self.doubt(log, at, verdict)).collect()
    }
}

/// Returns all times, or none.
fn range(is_all: bool) -> RangeInclusive<u64> {
    let (from, to) = if is_all { (0, u64::MAX) } else { (1, 0) };
    from..=to
}

/// Says why the logs of programs cannot be read with that of the kernel, on a clock of this base.
pub(super) fn check_clocks(
    log: &Log,
    (clock, base): (&Clock, ClockBase),
    kernel: u16,
    is_same: bool,
) -> Result<(), String> {
    let streams = log.streams();
    let Some(own) = streams.get(usize::from(kernel)) else { return Ok(()) };
    for (at, stream) in (0..).zip(streams).filter(|(at, _)| *at != kernel) {
        if own.boot_id == [0; 16] && !is_same {
            return Err("the log of the kernel does not state its boot, as it was imported; if \
                        all logs are of one boot, say it: --same-boot"
                .into());
        }
        if stream.boot_id != own.boot_id && own.boot_id != [0; 16] {
            let name = stream_name(log, at);
            return Err(format!("{name} is of another boot than the log of the kernel"));
        }
        if clock.base != base && clock.lead(at) != clock.lead(kernel) {
            return Err("the clock of the kernel's log has no relation to CLOCK_MONOTONIC: no \
                        other log can be read with it; record it with `perf record -k mono`"
                .into());
        }
    }
    Ok(())
}

/// Says which log of a program is not of the kernel that the other log tells of.
pub(super) fn check_strangers(log: &Log, tracks: &Tracks) -> Result<(), String> {
    for (at, verdict) in tracks.verdicts() {
        let Verdict::Stranger(fit) = verdict else { continue };
        let all = fit.hits + fit.misses;
        return Err(format!(
            "{} does not belong to the log of the kernel: of {all} events that were compared, {} \
             were recorded while the process did not run, and no other process fits; it is of \
             another host, boot or namespace, or its clock is",
            stream_name(log, at),
            fit.misses,
        ));
    }
    Ok(())
}

/// Says which log of a program has no time in common with that of the kernel.
pub(super) fn check_overlap(
    log: &Log,
    clock: &Clock,
    kernel: u16,
    model: &Model,
) -> Result<(), String> {
    let spans = log.spans();
    for at in (0..log.streams().len() as u16).filter(|at| *at != kernel) {
        // The span has clock syncs too: the first event tells the beginning.
        let mut filter = Filter::new();
        filter.times = (0..log.streams().len()).map(|own| range(own == usize::from(at))).collect();
        let first = log.events(Order::Time, &filter).next().map(|event| event.ticks);
        let last = spans.get(usize::from(at)).copied().flatten();
        let (Some(first), Some((_, last))) = (first, last) else { continue };
        let (first, last) = (clock.ns(at, first), clock.ns(at, last));
        if first > model.end || last < model.begin {
            let gap = first.saturating_sub(model.end) + model.begin.saturating_sub(last);
            return Err(format!(
                "{} and the log of the kernel have no time in common: {} lie between",
                stream_name(log, at),
                cli::units::nanoseconds(gap as f64)
            ));
        }
    }
    Ok(())
}

fn stream_name(log: &Log, at: u16) -> String {
    let stream = log.streams().get(usize::from(at));
    match stream.map_or("", |stream| &*stream.program) {
        "" => format!("stream {at}"),
        program => format!("the log of {program}"),
    }
}
