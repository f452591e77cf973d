//! Programs that die, and the events that `eventcnv` finds in their logs.
//!
//! ```text
//!  recorder dying ── a signal ──▶ mpsio.log ── eventcnv ──▶ every event, no fault
//! ```
//!
//! Rules: `.sol.exit.signal` in `design/telemetry.md`; `.read.end`, `.read.loss` in
//! `design/format.md`.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use tests::programs::{eventcnv, lines, plugin, recording, run, system};

/// Four threads, three kinds, 5000 events each.
const EVENT_COUNT: usize = 4 * 5000;

/// The log has each event once, without loss or damage: `eventcnv` reports no fault and exits with
/// 0.
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
        let mut dying = recording(Command::new(env!("CARGO_BIN_EXE_recorder")), "all", &log);
        dying.args(["dying", how]).env("MPS_TELEMETRY_CRASH", "1").current_dir(directory.path());
        dying.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = dying.spawn().expect("a child");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        said.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        if let Some(signal) = signal {
            run(system("kill").arg(signal).arg(child.id().to_string()));
        }
        let status = child.wait().expect("the child can be waited for");
        assert_eq!(status.signal(), Some(number), "{how} {signal:?}: {status}");
        let dump = run(eventcnv().args(["--kinds", "Begin,Middle,End"]).arg(&log));
        let count = dump.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(count, EVENT_COUNT, "{how} {signal:?}");
        let stats = run(eventcnv().arg("stats").arg(&log));
        let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
        assert!(stats.contains("nothing else is known to be lost"), "{how} {signal:?}: {stats}");
        assert!(stats.contains("not closed"), "{how} {signal:?}: {stats}");
    }
}

/// A program that loads a library, lets the library record, and closes it.
const CLOSING: &str = "
import _ctypes, ctypes, os, signal, sys, threading, time
def work():
    library = ctypes.CDLL(sys.argv[1])
    library.plugin_record(1, 5000)
    _ctypes.dlclose(library._handle)
if sys.argv[2] == 'thread':
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
time.sleep(0.05)
if sys.argv[2] == 'signal':
    os.kill(os.getpid(), signal.SIGTERM)
print('alive')
";

/// Closing a library with the runtime does not unload it: its threads, signal handlers, exit
/// functions and thread destructors keep their code.
#[test]
fn closing_a_library_does_not_crash_the_program() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    for (how, variable, value, signal) in [
        ("plain", "MPS_TELEMETRY_WRITER", "thread", None),
        ("plain", "MPS_TELEMETRY_SOCKET", ".", None),
        ("signal", "MPS_TELEMETRY_CRASH", "1", Some(15)),
        ("plain", "MPS_TELEMETRY_CRASH", "0", None),
        ("thread", "MPS_TELEMETRY_CRASH", "0", None),
    ] {
        let mut program = recording(system("python3"), "all", &log);
        program.args(["-c", CLOSING]).arg(plugin()).arg(how).env(variable, value);
        let output = program.current_dir(directory.path()).output().expect("a child");
        assert_eq!(output.status.signal(), signal, "{how} {variable}: {output:?}");
        assert!(signal.is_some() || output.stdout == b"alive\n", "{how} {variable}: {output:?}");
        let dump = run(eventcnv().args(["--kinds", "Object"]).arg(&log));
        let count = dump.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(count, 5000, "{how} {variable}");
        // The log names the functions of the library, called or not.
        let calls = |form: &str| lines(eventcnv().args(["calls", "--csv", form]).arg(&log));
        let found = [calls("--by=function"), calls("--unused")].map(|rows| rows[1].clone());
        let begins = ["plugin::record,1,", "plugin::rest,"];
        for (row, begin) in found.iter().zip(begins) {
            assert!(row.starts_with(begin), "{how} {variable}: {row}");
        }
    }
}
