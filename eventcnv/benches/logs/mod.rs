//! The logs that the benchmarks read, made once.
//!
//! ```text
//!  ours.rs, calls.rs ──▶ 10,000,000 events each      mpmss.log × n ──▶ a log of the MPS
//! ```
//!
//! What the rows mean: `docs/benchmarks.md`.

#[allow(dead_code, reason = "not of use to all benchmarks")]
mod calls;
mod ours;

use eventlog::writer::MakeError;
use std::collections::HashSet;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Events of the log of ours.
const OUR_EVENT_COUNT: u64 = 10_000_000;
/// Bytes, at least, of the log of the MPS, if it may be repeated so often.
const MPS_SIZE: usize = 1_000_000_000;
/// Repetitions of a log, at most: as many as the whole `mpmss.log` needs. Each repetition is a
/// stream, and all cover the same time, so a dump in order of time merges all of them. More streams
/// would measure only the merge (the golden log, repeated to 1 GB, would have 10,800).
const MPS_COUNT_MAX: usize = 796;

/// What is added to the names of the rows of each log.
pub(crate) const SUFFIXES: [&str; 2] = ["", "-mps"];

/// A log: what is added to the names of its rows, where it is, how many events it has.
pub(crate) struct Log {
    pub(crate) suffix: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) event_count: u64,
}

/// Where the logs are, and what is made of them.
pub(crate) fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A log of ours; made once.
pub(crate) fn our_log() -> Log {
    made("ours.log", ours::write)
}

/// A log of calls; made once.
#[allow(dead_code, reason = "not of use to all benchmarks")]
pub(crate) fn calls_log() -> Log {
    made("calls.log", calls::write)
}

fn made(name: &str, write: fn(u64, &mut dyn Write) -> Result<(), MakeError>) -> Log {
    let path = directory().join(name);
    if !path.exists() {
        let part = path.with_extension("part");
        let file = fs::File::create(&part).expect("the target directory can be written");
        let mut file = BufWriter::new(file);
        write(OUR_EVENT_COUNT, &mut file).expect("the log can be written");
        file.flush().expect("the log can be written");
        fs::rename(part, &path).expect("the log can be renamed");
    }
    Log { suffix: SUFFIXES[0], path, event_count: OUR_EVENT_COUNT }
}

/// Returns the log of the Memory Pool System, repeated; made once. Its beginning is a golden file,
/// and makes 74 MB; to measure 1 GB, `MPMSS_LOG` names the whole log.
pub(crate) fn mps_log() -> Log {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/mps/mpmss-cut.log");
    let one = env::var_os("MPMSS_LOG").map_or(golden, PathBuf::from);
    let size = fs::metadata(&one).map(|metadata| metadata.len() as usize);
    let size = size.unwrap_or_else(|error| panic!("{}: {error}", one.display()));
    let times = MPS_SIZE.div_ceil(size).min(MPS_COUNT_MAX);
    let path = directory().join(format!("mps-{size}-{times}.log"));
    if !path.exists() {
        let bytes = fs::read(&one).expect("the log can be read");
        let file = fs::File::create(&path).expect("the target directory can be written");
        let mut file = BufWriter::new(file);
        for _ in 0..times {
            file.write_all(&bytes).expect("the log can be written");
        }
        file.flush().expect("the log can be written");
    }
    let event_count = line_count(&one) * times;
    Log { suffix: SUFFIXES[1], path, event_count: event_count as u64 }
}

/// Returns the log of the Memory Pool System with strings interned only in its first part:
/// mpseventtxt stops at a string that is interned again. Made each time.
#[allow(dead_code, reason = "not of use to all benchmarks")]
pub(crate) fn mps_log_named_once(log: &Log) -> Log {
    let registry = &eventdef::mps::REGISTRY;
    let intern = registry.event_types.iter().find(|row| row.name == "Intern");
    let intern = intern.expect("the MPS interns strings").code;
    let bytes = fs::read(&log.path).expect("the log can be read");
    let path = directory().join("mps-once.log");
    let file = fs::File::create(&path).expect("the target directory can be written");
    let (mut file, mut rest) = (BufWriter::new(file), &*bytes);
    let (mut strings, mut event_count) = (HashSet::new(), 0);
    while let Some(&[code_low, code_high, size_low, size_high]) = rest.first_chunk() {
        let size = usize::from(u16::from_le_bytes([size_low, size_high]));
        let (event, after) = rest.split_at(size);
        rest = after;
        // Its number, after code, size and clock.
        let is_again = u16::from_le_bytes([code_low, code_high]) == intern
            && !strings.insert(event[16..24].to_vec());
        if !is_again {
            file.write_all(event).expect("the log can be written");
            event_count += 1;
        }
    }
    file.flush().expect("the log can be written");
    Log { suffix: log.suffix, path, event_count }
}

/// Lines of the numeric dump: what is printed is not kept.
fn line_count(log: &Path) -> usize {
    let child = command(&[], log).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("eventcnv can be run");
    let mut output = child.stdout.take().expect("its output is a pipe");
    let (mut count, mut block) = (0, [0; 1 << 14]);
    while let Ok(size @ 1..) = output.read(&mut block) {
        count += block[..size].iter().filter(|byte| **byte == b'\n').count();
    }
    child.wait().expect("eventcnv ends");
    count
}

/// The tool, on a log, with nothing to say to anybody.
pub(crate) fn command(arguments: &[&str], log: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eventcnv"));
    command.args(arguments).arg(log).stderr(Stdio::null());
    command
}

/// Tells a run of a benchmark that it is to measure one thing alone, for its peak memory.
pub(crate) const PART: &str = "BENCH_PART";
/// The part that is none: the logs are made, and nothing is measured. The peak of a process is at
/// least that of the one that it was forked from: the logs are made by one that measures nothing.
pub(crate) const MAKE_LOGS: &str = "make-logs";

/// Has one part measured by a process of its own. The rows that it printed.
pub(crate) fn run_in_process_of_its_own(part: &str) -> String {
    let this = env::current_exe().expect("this program has a path");
    let output = Command::new(this).env(PART, part).env_remove("RECORD").output();
    let output = output.expect("this program can be run again");
    assert!(output.status.success(), "{part}: {}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{rows}");
    rows
}
