//! Programs that die, and what `eventcnv` finds in their logs.
//!
//! ```text
//!  dying ── a signal ──▶ mpsio.log ── eventcnv ──▶ every event, no fault
//! ```
//!
//! Rules: `.sol.exit.signal` in `design/telemetry.md`; `.read.end`, `.read.loss` in
//! `design/format.md`.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use tests::programs::{eventcnv, recording, run, system};

/// Four threads, two kinds, 2500 events each.
const EVENT_COUNT: usize = 4 * 2 * 2500;

/// Every event is there, each once, nothing is lost and nothing is damaged: `eventcnv` finds no
/// fault, which would be its exit code.
#[test]
fn a_program_that_dies_leaves_a_log_without_a_fault() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    for (how, signal, number) in [
        ("overflow", None, 6),
        ("abort", None, 6),
        ("wait", Some("-TERM"), 15),
        ("wait", Some("-INT"), 2),
        ("wait", Some("-QUIT"), 3),
        ("wait", Some("-HUP"), 1),
    ] {
        let mut dying = recording(Command::new(env!("CARGO_BIN_EXE_dying")), "all", &log);
        dying.arg(how).env("MPS_TELEMETRY_CRASH", "1").current_dir(directory.path());
        dying.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = dying.spawn().expect("it runs");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        said.read_line(&mut line).expect("it says something");
        assert_eq!(line, "ready\n");
        if let Some(signal) = signal {
            run(system("kill").arg(signal).arg(child.id().to_string()));
        }
        let status = child.wait().expect("it was not waited for");
        assert_eq!(status.signal(), Some(number), "{how} {signal:?}: {status}");
        let dump = run(eventcnv().args(["--kinds", "Object,Seg"]).arg(&log));
        let count = dump.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(count, EVENT_COUNT, "{how} {signal:?}");
        let stats = run(eventcnv().arg("--stats").arg(&log));
        let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
        assert!(stats.contains("nothing is known to be lost"), "{how} {signal:?}: {stats}");
        assert!(stats.contains("not closed"), "{how} {signal:?}: {stats}");
    }
}
