//! How fast the commands are that read a whole log, and how much memory that takes.
//!
//! ```text
//!  a log of ours, of the MPS ──▶ eventcnv verify │ stats │ sql │ parquet │ … ──▶ rows
//!  a log of calls            ──▶ eventcnv calls ──▶ rows
//!                            └─▶ the first line of a dump: the time until it is printed
//!                            └─▶ mpseventcnv │ sort │ mpseventtxt: the competitor of -vv
//! ```
//!
//! Rows are `name ⇥ value ⇥ unit ⇥ ratio`, and the ratio is to what is required. What the names
//! mean: `docs/benchmarks.md`.

/// The registry of calls names it so.
extern crate eventdef as telemetry;

#[path = "../logs/mod.rs"]
mod logs;
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;

use eventlog::reader;
use logs::run_in_process_of_its_own;
use logs::{Log, MAKE_LOGS, PART, SUFFIXES, command, directory};
use logs::{calls_log, mps_log, mps_log_named_once, our_log};
use nix::sys::resource::{UsageWho, getrusage};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Instant;
use std::{env, fs};

/// Runs of each, after one to warm up.
const RUN_COUNT: usize = 3;

/// What is counted in a second.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Events,
    Bytes,
}

/// A command: its name, its arguments before the log, what is counted, how much of it is required
/// in a second (millions), and how much memory it may have (MiB).
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
    output: Option<&'static str>,
    unit: Unit,
    required: f64,
    memory: f64,
}

const fn case(
    name: &'static str,
    arguments: &'static [&'static str],
    output: Option<&'static str>,
    unit: Unit,
    required: f64,
    memory: f64,
) -> Case {
    Case { name, arguments, output, unit, required, memory }
}

const CASES: [Case; 7] = [
    case("verify", &["verify"], None, Unit::Bytes, 1500.0, 64.0),
    case("stats", &["stats"], None, Unit::Events, 50.0, 64.0),
    case("pairs", &PAIRS, None, Unit::Events, 10.0, 256.0),
    case("pairs-by-param", &PAIRS_BY_PARAM, None, Unit::Events, 10.0, 256.0),
    case("sql", &["sql", "--force"], Some("bench.db"), Unit::Events, 1.5, 512.0),
    case("parquet", &["parquet", "--force"], Some("bench.parquet"), Unit::Events, 4.0, 512.0),
    case("json", &["--style", "json"], None, Unit::Events, 0.0, 64.0),
];
/// Two thirds of the events begin and end slices, a hundred in one another.
const PAIRS: [&str; 4] = ["pairs", "--no-names", "--pair", "PoolInit=SegAlloc"];
const PAIRS_BY_PARAM: [&str; 6] =
    ["pairs", "--no-names", "--pair", "PoolInit=SegAlloc", "--by", "pool"];
/// Of the log of calls, whose events all begin and end slices.
const CALLS: [Case; 4] = [
    case("calls", &["calls"], None, Unit::Events, 10.0, 256.0),
    case("calls-pairs", &["pairs"], None, Unit::Events, 10.0, 256.0),
    case("calls-sql", &["sql", "--force"], Some("bench.db"), Unit::Events, 0.0, 512.0),
    case("calls-parquet", &["parquet", "--force"], Some("bench.parquet"), Unit::Events, 0.0, 512.0),
];
/// Reading the events alone.
const PAIRS_FLOOR: &str = "pairs-floor";
/// The same, of the log of calls.
const CALLS_FLOOR: &str = "calls-floor";
/// Not measured of all the log: there is nothing to be learned from more of it.
const PIPELINE: &str = "pipeline";
const FIRST_LINE: &str = "first-line";
/// Where the tools of the MPS are, if they are to be measured.
const TOOLS: &str = "MPS_TOOLS";
/// The longest that the first line may take, in ms.
const FIRST_LINE_MAX: f64 = 50.0;

fn main() {
    if let Ok(name) = env::var(PART) {
        let logs = [our_log(), mps_log()];
        return measure_named(&name, &logs);
    }
    if env::var_os(TOOLS).is_none() {
        eprintln!("{PIPELINE} is of eventcnv and sort; {TOOLS}=DIR: of the tools of the MPS in it");
    }
    run_in_process_of_its_own(MAKE_LOGS);
    let mut lines = String::new();
    let names = CASES.iter().map(|case| case.name).chain([PAIRS_FLOOR, FIRST_LINE, PIPELINE]);
    for name in names {
        for suffix in SUFFIXES {
            lines += &run_in_process_of_its_own(&format!("{name}{suffix}"));
        }
    }
    for name in CALLS.iter().map(|case| case.name).chain([CALLS_FLOOR]) {
        lines += &run_in_process_of_its_own(name);
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &lines);
}

fn measure_named(name: &str, logs: &[Log; 2]) {
    let calls = calls_log();
    if name == CALLS_FLOOR {
        measure_reading(name, &calls);
    } else if let Some(case) = CALLS.iter().find(|case| case.name == name) {
        measure(name, case, &calls);
    }
    for log in logs {
        let is_it = |base: &str| format!("{base}{}", log.suffix) == name;
        if is_it(FIRST_LINE) {
            measure_first_line(name, log);
        } else if is_it(PAIRS_FLOOR) {
            measure_reading(name, log);
        } else if is_it(PIPELINE) {
            measure_pipeline(name, log);
        } else if let Some(case) = CASES.iter().find(|case| is_it(case.name)) {
            measure(name, case, log);
        }
    }
}

fn measure(name: &str, case: &Case, log: &Log) {
    let output = case.output.map(|output| directory().join(output));
    let mut best = f64::INFINITY;
    for _ in 0..=RUN_COUNT {
        best = best.min(time(case.arguments, output.as_deref(), log));
    }
    let size = fs::metadata(&log.path).map_or(0, |metadata| metadata.len());
    let (count, unit) = match case.unit {
        Unit::Events => (log.event_count, "Mevents/s"),
        Unit::Bytes => (size, "MB/s"),
    };
    let rate = count as f64 / 1e6 / best;
    row::print(name, rate, unit, (case.required > 0.0).then(|| rate / case.required));
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    let peak = peak as f64 / 1024.0;
    row::print(&format!("{name}-memory"), peak, "MiB", Some(peak / case.memory));
    if let Some(output) = output {
        remove(&output);
    }
}

fn remove(path: &PathBuf) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Seconds that a command takes.
fn time(arguments: &[&str], output: Option<&Path>, log: &Log) -> f64 {
    let mut command = command(arguments, &log.path);
    if let Some(output) = output {
        command.arg("-o").arg(output);
    }
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status();
    let seconds = start.elapsed().as_secs_f64();
    // 1 says that a fault was reported: logs that are repeated have some.
    let code = status.ok().and_then(|status| status.code());
    assert!(matches!(code, Some(0 | 1)), "eventcnv {arguments:?}: {code:?}");
    seconds
}

/// Measures how fast one thread reads all events in order of time.
fn measure_reading(name: &str, log: &Log) {
    let mut best = f64::INFINITY;
    for _ in 0..=RUN_COUNT {
        let start = Instant::now();
        let opened = reader::Log::open(&log.path).expect("the log can be opened");
        let mut sum = 0;
        let filter = reader::Filter::new();
        opened.events(reader::Order::Time, &filter).each(|event| sum ^= event.ticks);
        black_box(sum);
        best = best.min(start.elapsed().as_secs_f64());
    }
    row::print(name, log.event_count as f64 / 1e6 / best, "Mevents/s", None);
}

/// Measures the time until a dump prints its first line.
fn measure_first_line(name: &str, log: &Log) {
    let mut best = f64::INFINITY;
    for _ in 0..=RUN_COUNT {
        let start = Instant::now();
        let child = command(&[], &log.path).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("eventcnv can be run");
        let mut output = child.stdout.take().expect("its output is a pipe");
        output.read_exact(&mut [0]).expect("there is a line");
        best = best.min(start.elapsed().as_secs_f64());
        drop(output);
        let _ = child.wait();
    }
    let ms = best * 1e3;
    row::print(name, ms, "ms", Some(ms / FIRST_LINE_MAX));
}

/// What one had to do before, once, and `-vv` in order of time in its place. The row is of the
/// pipeline; its ratio is how many times as fast `-vv` is.
fn measure_pipeline(name: &str, log: &Log) {
    let tools = env::var_os(TOOLS).map(PathBuf::from).filter(|_| log.suffix == SUFFIXES[1]);
    let once;
    let (log, pipeline) = match tools {
        Some(tools) => {
            once = mps_log_named_once(log);
            (&once, time_tools(&tools, &once))
        }
        None => (log, time_sort(log)),
    };
    let named = (0..=RUN_COUNT).map(|_| time(&["-vv"], None, log)).fold(f64::INFINITY, f64::min);
    let million = log.event_count as f64 / 1e6;
    row::print(name, million / pipeline, "Mevents/s", Some(pipeline / named));
}

/// Seconds of `mpseventcnv | sort | mpseventtxt`.
fn time_tools(tools: &Path, log: &Log) -> f64 {
    let mut dump = Command::new(tools.join("mpseventcnv"));
    dump.arg("-f").arg(&log.path).stderr(Stdio::null());
    let start = Instant::now();
    let mut dump = dump.stdout(Stdio::piped()).spawn().expect("mpseventcnv can be run");
    let lines = dump.stdout.take().expect("its output is a pipe");
    let mut sort = sort(lines).stdout(Stdio::piped()).spawn().expect("sort can be run");
    let sorted = sort.stdout.take().expect("its output is a pipe");
    let mut text = Command::new(tools.join("mpseventtxt"));
    let status = text.stdin(sorted).stdout(Stdio::null()).status();
    assert!(status.expect("mpseventtxt can be run").success(), "mpseventtxt failed");
    let seconds = start.elapsed().as_secs_f64();
    let _ = (dump.wait(), sort.wait());
    seconds
}

/// Seconds of an equivalent of its first half: the numeric form in the order of the file, sorted as
/// text.
fn time_sort(log: &Log) -> f64 {
    let mut dump = command(&["--order", "file"], &log.path);
    let start = Instant::now();
    let mut dump = dump.stdout(Stdio::piped()).spawn().expect("eventcnv can be run");
    let lines = dump.stdout.take().expect("its output is a pipe");
    let status = sort(lines).stdout(Stdio::null()).status();
    assert!(status.expect("sort can be run").success());
    let _ = dump.wait();
    start.elapsed().as_secs_f64()
}

fn sort(lines: ChildStdout) -> Command {
    let mut sort = Command::new("sort");
    sort.env("LC_ALL", "C").env("TMPDIR", directory()).stdin(lines);
    sort
}
