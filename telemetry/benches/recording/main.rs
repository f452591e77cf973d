//! The cost of recording: each operation next to its least possible cost, measured in turn with it.
//!
//! ```text
//!  cargo bench -p mps-telemetry ─┬─ memory   off, memory, coarse, … two-threads, tail-*-memory
//!   one process each, for    ├─ mapped   memory-mapped
//!   they differ in the       ├─ file     file, two-threads-file, tail-*, bytes, overhead
//!   stream they have         └─ writer   file-writer, tail-*-file-writer
//! ```
//!
//! Rows are `name ⇥ value ⇥ unit ⇥ ratio to floor`; `RECORD=name` keeps them in `record/`.
//! An event has three 64-bit words. What the names mean: `docs/benchmarks.md`.

mod events;
mod floor;
mod measure;
mod row;

use eventdef::path::Witness;
use events::{Coarse, Quiet, Three};
use measure::{EVENT_COUNT, TAIL, in_turn, run, tail, tails, threads_in_turn};
use std::alloc::System;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use telemetry::alloc::Recorder;
use telemetry::{Kinds, control, event};

/// Tells a run of this program which process of the four it is.
const PROCESS: &str = "RECORDING_BENCH_PROCESS";
/// Runs that are timed as one, where there is a writer thread.
const WRITER_RUN_COUNT: usize = 10;
const PROCESSES: [&str; 4] = ["memory", "mapped", "file", "writer"];
/// The size of the mapped ring, in bytes: more than any cache.
const RING_SIZE: u64 = 64 << 20;

fn main() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    match env::var(PROCESS).as_deref() {
        Ok("memory") => return measure_memory(),
        Ok("mapped") => return measure_mapped(),
        Ok("file") => return measure_file(&directory),
        Ok(_) => return measure_writer(&directory),
        Err(_) => {}
    }
    let lines: String = PROCESSES.iter().map(|name| run_process(name, &directory)).collect();
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("benches"), &lines);
}

/// Runs this program again, with the environment of one of the four.
fn run_process(name: &str, directory: &Path) -> String {
    let this = env::current_exe().expect("this program has a path");
    let log = directory.join(format!("{name}.log"));
    let mut destination = log.clone().into_os_string();
    if name == "mapped" {
        destination = format!("ring:{}?size={RING_SIZE}", log.display()).into();
    }
    let output = Command::new(this)
        .env(PROCESS, name)
        .env("MPS_TELEMETRY_FILENAME", destination)
        .env("MPS_TELEMETRY_CONTROL", if name == "memory" { "" } else { "Object" })
        .env("MPS_TELEMETRY_WRITER", if name == "writer" { "thread" } else { "none" })
        .output()
        .expect("this program can be run again");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    // Messages on standard error must show: a benchmark that discards events measures something
    // else.
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{rows}");
    let _ = fs::remove_file(log);
    rows
}

#[inline(always)]
fn three(a: u64, b: u64, c: u64) {
    event!(Three, a as usize, b as usize, c as usize);
}

/// A witness of a path, as `#[calls::path]` records it.
#[inline(always)]
fn witness(a: u64, _: u64, _: u64) {
    event!(Witness, a as u32);
}

#[inline(always)]
fn coarse(a: u64, b: u64, c: u64) {
    event!(Coarse, a as usize, b as usize, c as usize);
}

#[inline(always)]
fn quiet(a: u64, b: u64, c: u64) {
    event!(Quiet, a as usize, b as usize, c as usize);
}

/// A row of ours, and the row of its floor.
fn give((value, floor): (f64, f64), name: &str, unit: &str) {
    row::print(name, value, unit, Some(value / floor));
    row::print(&format!("floor-{name}"), floor, unit, None);
}

fn give_tails((ours, floors): ([f64; 5], [f64; 5]), suffix: &str) {
    for ((point, _), values) in TAIL.iter().zip(ours.into_iter().zip(floors)) {
        give(values, &format!("tail-{point}{suffix}"), "ns");
    }
}

/// What is required of the tail with a writer thread: the points, and ns.
const TAIL_REQUIRED: [(&str, f64); 2] = [("p99.9", 110.0), ("p99.99", 500.0)];
/// Or this multiple of the floor's same point, where the machine itself stops threads for longer.
const TAIL_RATIO_MAX: f64 = 1.3;

/// Says on standard error what of a tail is required, against what, and whether it holds: a row is
/// a measurement, and stays one.
fn judge_tails((ours, floors): &([f64; 5], [f64; 5]), suffix: &str) {
    for (point, required) in TAIL_REQUIRED {
        let at = TAIL.iter().position(|(name, _)| *name == point).expect("a point of the tail");
        let (value, floor) = (ours[at], floors[at]);
        let verdict = if value <= required {
            "holds"
        } else if value <= TAIL_RATIO_MAX * floor {
            "missed in ns, held against the floor"
        } else {
            "missed"
        };
        eprintln!(
            "recording: tail-{point}{suffix}: {value:.0} ns; required: at most {required:.0} ns, \
             or {TAIL_RATIO_MAX} × the floor of the same run, {floor:.0} ns: {verdict}"
        );
    }
}

/// Two threads: the time of an event, and how many times as many are recorded as by one.
fn give_threads((ours, floors): ([f64; 2], [f64; 2]), name: &str) {
    give((ours[1], floors[1]), name, "ns");
    give((ours[0] / ours[1], floors[0] / floors[1]), &format!("{name}-speedup"), "×");
}

fn measure_memory() {
    control::reset_recorded_everywhere(Kinds::User);
    floor::begin(None);
    give(in_turn(|| run(quiet), || run(floor::off)), "off", "ns");
    give(in_turn(|| run(three), || run(floor::memory)), "memory", "ns");
    give(in_turn(|| run(coarse), || run(three)), "coarse", "ns");
    give(in_turn(|| run(witness), || run(three)), "witness", "ns");
    let times = threads_in_turn(three, || floor::begin(None), floor::memory);
    give_threads(times, "two-threads");
    give_tails(tails(|times| tail(three, times), |times| tail(floor::memory, times)), "-memory");
    measure_allocator();
    judge_losses();
}

/// What the allocator that records adds to a pair of allocation and free beyond two events: the
/// rest is the floor.
fn measure_allocator() {
    static RECORDER: Recorder = Recorder::new();
    let recorded = || run(|_, _, _| floor::pair(&RECORDER));
    let floor = |a, b, c| {
        floor::pair(&System);
        three(a, b, c);
        three(b, c, a);
    };
    let (pair, floor) = in_turn(recorded, || run(floor));
    row::print("alloc-pair", pair - floor, "ns", Some(pair / floor));
    row::print("floor-alloc-pair", floor, "ns", None);
}

/// In the blocks of a mapped ring, after all of them were used once: their pages are touched.
fn measure_mapped() {
    floor::begin(None);
    for _ in 0..=RING_SIZE / floor::EVENT_SIZE as u64 / EVENT_COUNT {
        run(three);
    }
    give(in_turn(|| run(three), || run(floor::memory)), "memory-mapped", "ns");
    judge_losses();
}

fn measure_file(directory: &Path) {
    let floor_file = directory.join("floor");
    floor::begin(Some(&floor_file));
    give(in_turn(|| run(three), || run(floor::file)), "file", "ns");
    give_tails(tails(|times| tail(three, times), |times| tail(floor::file, times)), "");
    let before = log_size();
    let recorded = telemetry::losses().recorded;
    for _ in 0..10 {
        run(three);
    }
    telemetry::flush();
    give_sizes(log_size() - before, telemetry::losses().recorded - recorded);
    let name = || directory.join(format!("floor-{:?}", std::thread::current().id()));
    let times = threads_in_turn(three, || floor::begin(Some(&name())), floor::file);
    give_threads(times, "two-threads-file");
    judge_losses();
    remove_floors(directory);
}

/// Bytes of an event, and the other bytes in 4 KiB of events, in a part of the log.
fn give_sizes(size: u64, event_count: u64) {
    let floor = (event_count * floor::EVENT_SIZE as u64) as f64;
    row::print("bytes", size as f64 / event_count as f64, "B", Some(size as f64 / floor));
    row::print("overhead", (size as f64 - floor) / (floor / 4096.0), "B/4KiB", None);
}

fn log_size() -> u64 {
    telemetry::flush();
    let path = env::var_os("MPS_TELEMETRY_FILENAME").expect("the log has a name");
    fs::metadata(path).map_or(0, |data| data.len())
}

fn measure_writer(directory: &Path) {
    floor::begin_with_writer(&directory.join("floor"));
    // Long enough that it does not matter how a writer begins, which slept in the other's turn.
    let (ours, floor) = in_turn(
        || (0..WRITER_RUN_COUNT).for_each(|_| run(three)),
        || floor::with_writer(|| (0..WRITER_RUN_COUNT).for_each(|_| run(floor::file_writer))),
    );
    let count = WRITER_RUN_COUNT as f64;
    give((ours / count, floor / count), "file-writer", "ns");
    let both = tails(
        |times| tail(three, times),
        |times| floor::with_writer(|| tail(floor::file_writer, times)),
    );
    judge_tails(&both, "-file-writer");
    give_tails(both, "-file-writer");
    judge_losses();
    remove_floors(directory);
}

/// A benchmark that discards events has measured something else.
fn judge_losses() {
    let losses = telemetry::losses();
    let lost = losses.requested - losses.recorded + losses.io;
    if lost != 0 {
        eprintln!("recording: {lost} of {} events were discarded: {losses:?}", losses.requested);
    }
    assert!(losses.recorded > EVENT_COUNT, "nothing was recorded: {losses:?}");
}

fn remove_floors(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("floor") {
            let _ = fs::remove_file(entry.path());
        }
    }
}
