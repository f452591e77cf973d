//! The cost of recording a program: its processor time recorded, and alone, by turns; and the bytes
//! of a call in the log.
//!
//! ```text
//!  sort, python3 ─┬─ alone ────▶ user + system time ┐ the median of the runs
//!                 └─ recorded ─▶ the same           ┘        log ─▶ bytes ÷ calls
//! ```
//!
//! `cargo bench -p mps-interpose -- stacks` measures recorded stacks alone, `-- functions` the
//! calls of instrumented functions. Rows are those of `recording`; the ratio is to what is
//! required: a quarter more time, 32 bytes.
//! Design: `.rep.record` in `design/replay.md`.

mod functions;
mod programs;
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;
mod stacks;

use nix::sys::resource::{UsageWho, getrusage};
use programs::{Program, library, programs};
use std::fs;
use std::path::Path;

const RUN_COUNT: usize = 11;
/// How much more time a recorded program may take.
const ADDED_MAX: f64 = 0.25;
/// Bytes of a call, on average, at most.
const CALL_SIZE_MAX: f64 = 32.0;

/// A log of at least this size consists nearly of events alone.
const LOG_SIZE_MIN: f64 = (1 << 20) as f64;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library();
    let mut all = String::new();
    let part = std::env::args().find(|word| ["stacks", "functions"].contains(&&**word));
    let is_wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    for program in programs(folder.path()).iter().filter(|_| is_wanted("programs")) {
        all += &measure(program, &library, &folder.path().join("log"));
    }
    if is_wanted("stacks") {
        all += &stacks::measure(folder.path(), &library);
    }
    if is_wanted("functions") {
        all += &functions::measure(folder.path(), &library);
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
    // Header, registry and padding are a large part of a small log: its size says little of a call.
    if size >= LOG_SIZE_MIN {
        let ratio = Some(per_call / CALL_SIZE_MAX);
        lines += &row::print(&format!("{name}-call"), per_call, "bytes", ratio);
    }
    lines
}

/// The processor time of a run, in seconds.
fn run(program: &Program, recorded: Option<(&Path, &Path)>) -> f64 {
    let mut command = program.command();
    if let Some((library, log)) = recorded {
        program.record(&mut command, library, log);
    }
    let before = processor_time();
    assert!(command.status().expect("the program exists").success());
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
