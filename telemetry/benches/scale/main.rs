//! Recording on all processors: each destination next to the floor, on 1, 2, 4 … threads at once.
//!
//! ```text
//!  scale [FOLDER [EVENTS]] ─▶ for each row and count: a process (or as many as threads), in turns
//!     files go into a new folder there      │ ◀─ end of input: go
//!                                           └─▶ first start, last end ─▶ M events/s, ÷ floor
//! ```
//!
//! The program needs nothing else, so it can be carried to another machine. `EVENTS` is the number
//! of events of a thread. `RECORD=name` keeps the rows in `benches/record/` of the current
//! directory. What the names mean: `docs/benchmarks.md`.

#[path = "../recording/events.rs"]
mod events;
#[path = "../recording/floor.rs"]
#[expect(dead_code, reason = "other benchmarks use the rest")]
mod floor;
mod kernel;
#[path = "../recording/measure.rs"]
#[expect(dead_code, reason = "other benchmarks use the rest")]
mod measure;
#[path = "../recording/row.rs"]
mod row;

use events::Three;
use floor::Write;
use measure::EVENT_COUNT;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime};
use std::{env, fs, thread};
use telemetry::event;

/// Where events go.
enum To {
    /// To a destination of the runtime, in the folder `{}`; with or without the writer thread.
    Log(&'static str, &'static str),
    /// To the floor: its full blocks go to the kernel alone, by a `Write` of each thread.
    Floor(fn(&kernel::Shared) -> Option<Write>),
}

/// A row: its name, where its events go, whether each thread is a program of its own.
struct Row(&'static str, To, bool);

const ROWS: &[Row] = &[
    Row("floor", To::Floor(|_| None), false),
    Row("memory", To::Log("", "none"), false),
    Row("file", To::Log("{}/log", "none"), false),
    Row("writer", To::Log("{}/log", "thread"), false),
    // A file for each processor.
    Row("dir", To::Log("dir:{}/log", "none"), false),
    Row("dir-writer", To::Log("dir:{}/log", "thread"), false),
    Row("mapped", To::Log("ring:{}/log?size=268435456", "none"), false),
    Row("programs", To::Log("{}/log", "none"), true),
    Row("kernel-write", To::Floor(|shared| Some(shared.write())), false),
    Row("kernel-pwrite", To::Floor(|shared| Some(shared.write_at())), false),
    Row("kernel-files", To::Floor(|shared| Some(shared.own_file())), false),
    Row("kernel-mapped", To::Floor(|shared| Some(shared.map())), false),
];

/// Tell a run of this program which row it measures, on how many threads, in which folder.
const ROW: &str = "SCALE_BENCH_ROW";
const THREADS: &str = "SCALE_BENCH_THREADS";
const FOLDER: &str = "SCALE_BENCH_FOLDER";
const RUNS: &str = "SCALE_BENCH_RUNS";
/// Times that each row is measured; the best counts.
const TURN_COUNT: usize = 7;
const EVENTS_DEFAULT: u64 = 4_000_000;

fn main() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let (Ok(name), Some(count), Some(runs)) = (env::var(ROW), number(THREADS), number(RUNS)) {
        let row = ROWS.iter().find(|row| row.0 == name).expect("a row of the table");
        return measure_row(row, count as usize, runs);
    }
    let mut arguments = env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let folder = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let events = arguments.next().map_or(EVENTS_DEFAULT, |text| text.parse().expect("a number"));
    let runs = events.div_ceil(EVENT_COUNT);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let doubled = std::iter::successors(Some(1), |count| Some(count * 2));
    let counts = doubled.take_while(|count| *count < processors).chain([processors]);
    let lines: String = counts.map(|count| measure_count(&folder, count, runs)).collect();
    row::record(Path::new("benches"), &lines);
}

/// Measures all rows on `count` threads, in turns.
fn measure_count(folder: &Path, count: usize, runs: u64) -> String {
    let mut best = vec![0.0f64; ROWS.len()];
    for _ in 0..TURN_COUNT {
        for (row, best) in ROWS.iter().zip(&mut best) {
            *best = best.max(rate(row, folder, count, runs));
        }
    }
    let print = |(row, rate): (&Row, f64)| {
        row::print(&format!("scale-{}-{count}", row.0), rate, "M/s", Some(rate / best[0]))
    };
    ROWS.iter().zip(best.iter().copied()).map(print).collect()
}

/// Runs a row once; millions of events a second, of all threads.
fn rate(row: &Row, folder: &Path, count: usize, runs: u64) -> f64 {
    let folder = folder.join(format!("scale-{}", std::process::id()));
    let (programs, threads) = if row.2 { (count, 1) } else { (1, count) };
    let start = |index| start(row, &folder.join(format!("{index}")), threads, runs);
    let mut children: Vec<Child> = (0..programs).map(start).collect();
    // The end of its input lets a child go.
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let spans: Vec<(u64, u64)> = children.into_iter().map(span_of).collect();
    fs::remove_dir_all(&folder).expect("the folder of this program can be removed");
    let first = spans.iter().map(|span| span.0).min().expect("a program");
    let last = spans.iter().map(|span| span.1).max().expect("a program");
    (count as u64 * runs * EVENT_COUNT) as f64 * 1e3 / (last - first) as f64
}

/// Starts this program again for a row: it waits for the end of its input.
fn start(row: &Row, folder: &Path, threads: usize, runs: u64) -> Child {
    fs::create_dir_all(folder).expect("the folder can be written");
    let (destination, writer) = match row.1 {
        To::Log(destination, writer) => (destination, writer),
        To::Floor(_) => ("", "none"),
    };
    Command::new(env::current_exe().expect("this program has a path"))
        .env(ROW, row.0)
        .env(THREADS, threads.to_string())
        .env(RUNS, runs.to_string())
        .env(FOLDER, folder)
        .env("MPS_TELEMETRY_FILENAME", destination.replace("{}", &folder.to_string_lossy()))
        .env("MPS_TELEMETRY_CONTROL", if destination.is_empty() { "" } else { "Object" })
        .env("MPS_TELEMETRY_WRITER", writer)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be run again")
}

/// Returns what a child prints: the times of its first start and its last end, in ns.
fn span_of(child: Child) -> (u64, u64) {
    let output = child.wait_with_output().expect("a child can be awaited");
    assert!(output.status.success(), "a program of the bench failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let (start, end) = text.trim().split_once(' ').expect("two times");
    (start.parse().expect("a time"), end.parse().expect("a time"))
}

/// In a child: measures, and prints the times.
fn measure_row(row: &Row, count: usize, runs: u64) {
    let folder = PathBuf::from(env::var_os(FOLDER).expect("the folder is set"));
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the input can be read");
    let (start, end) = match row.1 {
        To::Log(..) => {
            let span = measure::span(count, runs, &|| {}, &three);
            judge_losses(count as u64 * (runs + 1) * EVENT_COUNT);
            span
        }
        To::Floor(write) => {
            let shared = kernel::Shared::new(&folder, count as u64 * (runs + 1) * EVENT_COUNT);
            let begin = || floor::begin_writing(write(&shared));
            measure::span(count, runs, &begin, &floor::file)
        }
    };
    println!("{} {}", since_1970(start), since_1970(end));
}

/// Returns a time that programs can compare, in ns.
fn since_1970(instant: Instant) -> u128 {
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
    (now - instant.elapsed()).as_nanos()
}

#[inline(always)]
fn three(a: u64, b: u64, c: u64) {
    event!(Three, a as usize, b as usize, c as usize);
}

/// A benchmark that discards events has measured something else.
fn judge_losses(expected: u64) {
    telemetry::flush();
    let losses = telemetry::losses();
    let is_whole = losses.recorded >= expected && losses.io == 0;
    assert!(is_whole, "of {expected} events some were lost: {losses:?}");
}
