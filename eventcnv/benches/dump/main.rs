//! How fast logs are dumped, in each form, and how much memory that takes.
//!
//! ```text
//!  mpmss.log × n = 1 GB   ─┐
//!  10,000,000 events ──────┴▶ eventcnv [-v | -vv | --style text] [--order file] ─▶ /dev/null
//! ```
//!
//! Rows are `name ⇥ value ⇥ unit ⇥ ratio`: `dump-numeric` and its like are of a log of ours, with
//! `-mps` of the log of the Memory Pool System; `-order-file` without the merge; `-memory` is the
//! peak. The floor is reading the log and writing as many bytes as are printed. What the names
//! mean: `docs/benchmarks.md`.

/// The registry of calls names it so.
extern crate eventdef as telemetry;

#[path = "../logs/mod.rs"]
mod logs;
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;

use logs::{Log, MAKE_LOGS, PART, SUFFIXES, command, mps_log, our_log, run_in_process_of_its_own};
use nix::sys::resource::{UsageWho, getrusage};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
use std::{env, fs};

/// Runs of each form, after one to warm up.
const RUN_COUNT: usize = 5;

/// A form of the dump: its name, and the arguments that ask for it.
const FORMS: [(&str, &[&str]); 7] = [
    ("dump-numeric", &[]),
    ("dump-numeric-order-file", &["--order", "file"]),
    ("dump-v", &["-v"]),
    ("dump-v-order-file", &["-v", "--order", "file"]),
    ("dump-vv", &["-vv"]),
    ("dump-vv-order-file", &["-vv", "--order", "file"]),
    ("dump-text", &["--style", "text"]),
];

fn main() {
    if let Ok(form) = env::var(PART) {
        let logs = [our_log(), mps_log()];
        return measure_named(&form, &logs);
    }
    run_in_process_of_its_own(MAKE_LOGS);
    let mut lines = String::new();
    for suffix in SUFFIXES {
        for (form, _) in FORMS {
            lines += &run_in_process_of_its_own(&format!("{form}{suffix}"));
        }
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &lines);
}

fn measure_named(name: &str, logs: &[Log; 2]) {
    for log in logs {
        let form = FORMS.iter().find(|(form, _)| format!("{form}{}", log.suffix) == name);
        if let Some((_, arguments)) = form {
            measure(name, arguments, log);
        }
    }
}

fn measure(name: &str, arguments: &[&str], log: &Log) {
    let million = log.event_count as f64 / 1e6;
    let size = output_size(arguments, &log.path);
    let (mut best, mut floor) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..=RUN_COUNT {
        best = best.min(time_dump(arguments, &log.path));
        floor = floor.min(time_floor(&log.path, size));
    }
    row::print(name, million / best, "Mevents/s", Some(floor / best));
    row::print(&format!("floor-{name}"), million / floor, "Mevents/s", None);
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    row::print(&format!("{name}-memory"), peak as f64 / 1024.0, "MiB", None);
}

/// Seconds that a dump takes.
fn time_dump(arguments: &[&str], log: &Path) -> f64 {
    let start = Instant::now();
    let status = command(arguments, log).stdout(Stdio::null()).status();
    let seconds = start.elapsed().as_secs_f64();
    // 1 says that a fault was reported: logs that are repeated have some.
    let code = status.ok().and_then(|status| status.code());
    assert!(matches!(code, Some(0 | 1)), "eventcnv {arguments:?}: {code:?}");
    seconds
}

/// Bytes that a dump prints.
fn output_size(arguments: &[&str], log: &Path) -> u64 {
    let child = command(arguments, log).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("eventcnv can be run");
    let mut output = child.stdout.take().expect("its output is a pipe");
    let size = std::io::copy(&mut output, &mut std::io::sink()).expect("a pipe can be read");
    child.wait().expect("eventcnv ends");
    size
}

/// Seconds that it takes to read the log and to write as many bytes as the dump prints.
fn time_floor(log: &Path, size: u64) -> f64 {
    let start = Instant::now();
    let mut block = vec![0; 64 * 1024];
    let mut file = fs::File::open(log).expect("the log can be read");
    while file.read(&mut block).expect("the log can be read") != 0 {}
    let mut null = fs::File::create("/dev/null").expect("/dev/null can be written");
    for _ in 0..size / block.len() as u64 {
        block.fill(b'0');
        null.write_all(&block).expect("/dev/null can be written");
    }
    start.elapsed().as_secs_f64()
}
