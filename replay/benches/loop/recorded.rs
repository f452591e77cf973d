//! Measures how many times as fast as their programs logs are replayed.
//!
//! ```text
//!  sort, python3 ─┬─ alone ─────────────────────────────────▶ s ┐ the ratio
//!                 └─ recorded ─▶ log ─▶ workload ─┬─ malloc ─▶ s ┘
//!                                                 ├─ malloc, all pages written ─▶ s
//!                                                 └─ null heap ─▶ ns an operation
//! ```
//!
//! With all pages written, the replay pays for each page of a buffer that the program never filled:
//! these rows have no requirement.
//!
//! Design: `.rep.loop` in `design/replay.md`.

use crate::programs::{Program, library, programs};
use crate::{LOOP_NS_MAX, ns, row};
use eventlog::reader::Log;
use replay::heap::Null;
use replay::heap::system::System;
use replay::play::{Touch, in_process};
use replay::script::{Mode, compile};
use replay::source::Source;
use replay::workload::Workload;
use std::path::Path;
use std::time::Instant;

/// The number of runs of each, in turns; the median counts.
const RUN_COUNT: usize = 7;
/// The required ratio to the program.
const SPEEDUP_MIN: f64 = 5.0;

/// Returns the rows of all programs.
pub(crate) fn rows() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (library, log) = (library(), folder.path().join("log"));
    let mut lines = String::new();
    for program in &programs(folder.path()) {
        lines += &rows_of(program, &workload(program, &library, &log));
    }
    lines
}

fn rows_of(program: &Program, workload: &Workload) -> String {
    let [mut alone, mut replayed, mut touched] = [(); 3].map(|()| Vec::new());
    let mut null = f64::MAX;
    for _ in 0..RUN_COUNT {
        let start = Instant::now();
        assert!(program.command().status().expect("the program exists").success());
        alone.push(start.elapsed().as_secs_f64());
        replayed.push(seconds(workload, Touch::None));
        touched.push(seconds(workload, Touch::Sampled));
        null = null.min(ns(workload, &Null));
    }
    let [alone, replayed, touched] = [alone, replayed, touched].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[RUN_COUNT / 2]
    });
    let (name, unit) = (program.name, "times as fast");
    let speedup = alone / replayed;
    let required = Some(SPEEDUP_MIN / speedup);
    let mut lines = row::print(&format!("floor-replay-{name}"), alone, "s", None);
    lines += &row::print(&format!("replay-{name}"), speedup, unit, required);
    lines += &row::print(&format!("replay-{name}-touched"), alone / touched, unit, None);
    // With a few operations, reading the clock would dominate.
    if workload.operation_count > 100_000 {
        lines += &row::print(&format!("loop-null-{name}"), null, "ns", Some(null / LOOP_NS_MAX));
    }
    lines
}

/// Returns the time against malloc, in s.
fn seconds(workload: &Workload, touch: Touch) -> f64 {
    in_process(workload, &System, touch).expect("it is sound").duration_ns as f64 / 1e9
}

fn workload(program: &Program, library: &Path, log: &Path) -> Workload {
    let mut command = program.command();
    program.record(&mut command, library, log);
    assert!(command.status().expect("the program exists").success());
    let source = Source::new(Log::open(log).expect("a log"), None).expect("it was recorded");
    compile(source.operations(), Mode::default())
}
