//! What a user must know about a kernel's log: gaps, contradictions, rows that it lacks.
//!
//! ```text
//!  counts of the model, waits of the target ──▶ notes, one line each
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use cli::units::nanoseconds;
use eventlog::reader::{Clock, ClockBase, Log};
use lens::waits::account::Window;
use lens::waits::model::Model;
use std::collections::HashSet;

/// What a log without switches cannot tell.
const NO_SWITCHES: &str = "the log has no switches, so it does not tell when threads waited; \
                           record sched:sched_switch";

/// What another machine on the same host did.
const STOLEN: &str = "a hypervisor had processors of this machine for";

/// Returns what the user must know about the model.
pub(super) fn of(model: &Model, windows: &[Window], dropped: u64, unknown: u64) -> Vec<String> {
    let counts = &model.counts;
    let lives: HashSet<u32> = windows.iter().map(|window| window.life).collect();
    let lives = || lives.iter().filter_map(|life| model.life(*life));
    let missing = lives().map(|life| u64::from(life.missing)).sum();
    let samples = lives().map(|life| u64::from(life.samples_dropped)).sum();
    let all = [
        (counts.gaps, "gaps where the kernel lost events, whose time is `lost`"),
        (counts.contradictions, "new threads with the number of a thread that had not ended"),
        (missing, "switches of these threads that the log lacks, so the time between is unknown"),
        (samples, "samples of these threads that belong to no run and are left out"),
        (counts.backwards, "events with an earlier time than the event before on their processor"),
        (counts.not_kept, "runs and waits that are too many to be kept, so their time is unknown"),
        (counts.left_out, "events left out, as a table is full"),
        (dropped, "shorter waits that are not listed"),
    ];
    let told = all.into_iter().filter(|(count, _)| *count > 0);
    let mut told: Vec<String> = told.map(|(count, what)| format!("{what}: {count}")).collect();
    if counts.stolen_ns > 0 {
        let time = nanoseconds(counts.stolen_ns as f64);
        told.push(format!("{STOLEN} {time} of this recording; it counts as running"));
    }
    told.extend(lacking(model, unknown));
    if model.counts.switches == 0 {
        told.push(NO_SWITCHES.into());
    }
    told
}

/// How the log of a namespace of times is laid.
const BY_REALTIME: &str = "the logs are laid on one time by CLOCK_REALTIME, as by \
                           CLOCK_MONOTONIC they do not fit: the program was in a namespace of \
                           times";

/// Says that a clock is too coarse to tell most waits: fewer than 1,000,000 ticks a second; or that
/// it is not CLOCK_MONOTONIC, to which logs of programs are related.
pub(super) fn of_clock(log: &Log, kernel: u16, clock: &Clock) -> Option<String> {
    if clock.base == ClockBase::Realtime && log.streams().len() > 1 {
        return Some(BY_REALTIME.into());
    }
    let rate = log.streams().get(usize::from(kernel))?.clock_rate;
    let is_coarse = clock.base == ClockBase::Start && (1..1_000_000).contains(&rate);
    let tick = cli::units::nanoseconds(1e9 / rate.max(1) as f64);
    is_coarse.then(|| format!("a tick of the clock takes {tick}: times are that coarse"))
}

/// Says which rows would tell what ended waits of a target, if the log lacks any.
fn lacking(model: &Model, count: u64) -> Option<String> {
    let has = model.has;
    let rows = [
        (has.timers, "timer:hrtimer_expire_entry"),
        (has.interrupts, "irq:irq_handler_entry"),
        (has.data, "sock:sk_data_ready"),
        (has.calls, "raw_syscalls:sys_enter"),
    ];
    let lacking: Vec<&str> = rows.iter().filter(|(has, _)| !has).map(|(_, name)| *name).collect();
    let rows = lacking.join(", ");
    (count > 0 && !lacking.is_empty()).then(|| {
        format!("waits with an unknown end: {count}; the log has none of the events {rows}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_hypervisor_is_told_if_there_was_some() {
        let mut model = Model::default();
        model.counts.switches = 1;
        let told = |model: &Model| of(model, &[], 0, 0);
        assert_eq!(told(&model), [] as [&str; 0]);
        model.counts.stolen_ns = 30_000_000;
        let note = format!("{STOLEN} 30.0 ms of this recording; it counts as running");
        assert_eq!(told(&model), [note]);
    }
}
