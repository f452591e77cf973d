//! What it costs a program to be recorded: its processor time beside that of the same program
//! alone, in turn; and how many bytes a call takes in the log.
//!
//! ```text
//!  sort, python3 ─┬─ alone ────▶ user + system time ┐ the median of the runs
//!                 └─ recorded ─▶ the same           ┘        log ─▶ bytes ÷ calls
//! ```
//!
//! Rows as those of `recording`; the ratio is to what is required: a quarter more time, 32 bytes.
//! Design: `.rep.record` in `design/replay.md`.

#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;

use nix::sys::resource::{UsageWho, getrusage};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RUN_COUNT: usize = 11;
const LINE_COUNT: u64 = 500_000;
/// How much more time a recorded program may take.
const ADDED_MAX: f64 = 0.25;
/// Bytes of a call, on average, at most.
const CALL_SIZE_MAX: f64 = 32.0;

/// A log of at least so many bytes is nearly all events.
const LOG_SIZE_MIN: f64 = (1 << 20) as f64;

/// Lists, strings and dictionaries of all sizes, for a while.
const SCRIPT: &str = "
kept = {}
for i in range(300000):
    kept[i % 5000] = ('x' * (i % 1500 + 1), [i] * (i % 100), {'a': i})
";

/// What is run, and with what in its environment.
struct Program {
    name: &'static str,
    command: Vec<String>,
    environment: &'static [(&'static str, &'static str)],
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text").to_str().expect("UTF-8").to_owned();
    fs::write(&text, lines()).expect("room for a text");
    let library = library();
    let python = answer("python3", &["-c", "import sys; print(sys.executable)"]);
    let script = || vec![python.clone(), "-c".to_owned(), SCRIPT.to_owned()];
    let sort = ["sort", "-o", "/dev/null", &text].map(str::to_owned).to_vec();
    let mut all = String::new();
    for program in [
        Program { name: "sort", command: sort, environment: &[] },
        Program { name: "python3", command: script(), environment: &[] },
        // Each object of Python is a call: beyond what is required.
        Program {
            name: "python3-malloc",
            command: script(),
            environment: &[("PYTHONMALLOC", "malloc")],
        },
    ] {
        all += &measure(&program, &library, &folder.path().join("log"));
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &all);
}

fn measure(program: &Program, library: &Path, log: &Path) -> String {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUN_COUNT {
        times[0].push(run(program, None));
        times[1].push(run(program, Some((library, log))));
    }
    let [alone, recorded] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let name = program.name;
    let added = recorded / alone - 1.0;
    let size = fs::metadata(log).expect("a log").len() as f64;
    let per_call = size / calls(log) as f64;
    let mut lines = row::print(&format!("{name}-alone"), alone, "s", None);
    lines += &row::print(&format!("{name}-recorded"), recorded, "s", None);
    lines += &row::print(&format!("{name}-added"), 100.0 * added, "%", Some(added / ADDED_MAX));
    // What of a small log is no event, header, registry and padding, tells nothing of a call.
    if size >= LOG_SIZE_MIN {
        let ratio = Some(per_call / CALL_SIZE_MAX);
        lines += &row::print(&format!("{name}-call"), per_call, "bytes", ratio);
    }
    lines
}

/// The processor time of a run, in seconds.
fn run(program: &Program, recorded: Option<(&Path, &Path)>) -> f64 {
    let (name, arguments) = program.command.split_first().expect("a program");
    let mut command = Command::new(name);
    command.args(arguments).envs(program.environment.iter().copied()).stdout(Stdio::null());
    if let Some((library, log)) = recorded {
        // Written anew, not over what the last run wrote.
        let _ = fs::remove_file(log);
        command.env("LD_PRELOAD", library).env("MPS_TELEMETRY_CONTROL", "Object");
        command.env("MPS_TELEMETRY_FILENAME", log);
    }
    let before = processor_time();
    assert!(command.status().expect("the program is there").success());
    processor_time() - before
}

/// That of all children that have ended, in seconds.
fn processor_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts it");
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Calls that a log has: a reallocation is two events.
fn calls(log: &Path) -> u64 {
    use eventlog::reader::{Filter, Log, Order};
    let log = Log::open(log).expect("a log");
    let mut events = log.events(Order::File, &Filter::default());
    let mut count = 0;
    while let Some(event) = events.next() {
        let is_call = &*event.registry.name == "malloc" && event.name() != "ReallocBegin";
        count += u64::from(is_call);
    }
    count
}

/// Lines in no order.
fn lines() -> String {
    let mut text = String::new();
    let mut number = 1u64;
    for index in 0..LINE_COUNT {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index);
        let _ = writeln!(text, "{number:x} line {index}");
    }
    text
}

/// The library, as it is shipped.
fn library() -> PathBuf {
    let this = std::env::current_exe().expect("a benchmark has a path");
    let folder = this.ancestors().nth(2).expect("it is in target/release/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.args(["build", "--quiet", "--locked", "--release", "-p", "interpose", "--target-dir"]);
    cargo.arg(folder.parent().expect("a profile's folder is in one"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(cargo.status().expect("cargo can be run").success());
    folder.join("libinterpose.so")
}

fn answer(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program is there");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
