//! A user controls a busy program from outside with the tool.
//!
//! ```text
//!  recorder busy 4 ◀── DIR/PID.sock ── eventcnv control PID set "Begin End" · flush · status
//!        └──▶ log ──▶ eventcnv LOG
//! ```
//!
//! Rules: `.control.tool`, `.control.status` in `design/telemetry.md`.

use eventlog::control::{AnswerLine, REQUEST_SIZE_MAX, Request, write_answer_end};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tests::programs::{eventcnv, lines, wait_for};

/// The greatest number of readings of a busy program's log that find a hole: the log grows.
const HOLE_COUNT_MAX: u32 = 10;

/// A program that records with four threads until it is dropped.
struct Busy {
    child: Child,
    directory: tempfile::TempDir,
}

impl Busy {
    fn new(writer: &str) -> Busy {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let mut child = recorder(&directory.path().join("mpsio.log"))
            .env("MPS_TELEMETRY_SOCKET", directory.path())
            .env("MPS_TELEMETRY_WRITER", writer)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("recorder runs");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("an output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "busy\n");
        let busy = Busy { child, directory };
        // The file exists a moment before the program listens.
        wait_for("a socket", || UnixStream::connect(busy.socket()).is_ok());
        busy
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join(format!("{}.sock", self.child.id()))
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("mpsio.log")
    }

    /// Returns the system's status text of each thread, the first thread first.
    fn all_threads(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).expect("a child").map(|task| task.expect("a thread"));
        let mut tasks: Vec<PathBuf> = tasks.map(|task| task.path()).collect();
        tasks.sort();
        let status = |task: PathBuf| std::fs::read_to_string(task.join("status")).expect("text");
        tasks.into_iter().map(status).collect()
    }

    /// Waits until each recording thread has slept a few times: every event that it had begun
    /// before is recorded.
    fn let_threads_pass(&self) {
        let slept = || -> Vec<u64> {
            let mut threads = self.all_threads().split_off(1);
            threads.retain(|status| status.starts_with("Name:\trecorder\n"));
            let count = |status: &String| {
                let mut lines = status.lines();
                let count = lines.find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
                count.expect("a count").trim().parse().expect("a number")
            };
            threads.iter().map(count).collect()
        };
        let before = slept();
        assert_eq!(before.len(), 4);
        let has_passed = |(now, before): (&u64, &u64)| *now >= before + 3;
        wait_for("the threads", || slept().iter().zip(&before).all(has_passed));
    }

    /// Returns the tool's answer as keys and values, or its error.
    fn control(&self, words: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let mut command = control(self.directory.path(), &self.child.id().to_string());
        let output = command.args(words).output().expect("the tool runs");
        let errors = String::from_utf8(output.stderr).expect("text");
        if !output.status.success() {
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
            return Err(errors);
        }
        assert_eq!(errors, "");
        let text = String::from_utf8(output.stdout).expect("text");
        let pair = |line: &str| {
            let (key, value) = line.split_once(": ").expect("a key and a value");
            (key.to_owned(), value.to_owned())
        };
        Ok(text.lines().map(pair).collect())
    }

    /// Counts the events in the log by type. A thread may have a place in the log and not have
    /// written its block, or a block of parts may wait for the next flush: then the log has a hole,
    /// or lacks events at its end that later parts of the buffer count, and is read again after a
    /// flush.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut command = eventcnv();
        command.args(["-v", "--kinds", "Begin,Middle,End"]).arg(self.log());
        for _ in 0..HOLE_COUNT_MAX {
            let output = command.output().expect("eventcnv runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            if errors.contains("bytes were never written") || errors.contains(" missing\n") {
                self.control(&["flush"]).expect("an answer");
                continue;
            }
            assert!(output.status.success(), "{errors}");
            let mut counts = BTreeMap::new();
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let name = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
                *counts.entry(name).or_default() += 1;
            }
            return counts;
        }
        panic!("the log had a hole after each of {HOLE_COUNT_MAX} flushes");
    }

    /// Ends the program normally.
    fn end(mut self) -> (PathBuf, tempfile::TempDir) {
        let socket = self.socket();
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("an exit").success());
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().expect("one"));
        (socket, directory)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn recorder(log: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(["busy", "4"]).env("MPS_TELEMETRY_FILENAME", log);
    command.env_remove("MPS_TELEMETRY_CONTROL");
    command
}

fn control(directory: &Path, process: &str) -> Command {
    let mut command = eventcnv();
    command.arg("control").arg(process).env("MPS_TELEMETRY_SOCKET", directory);
    command
}

/// Sends every request to a program with four recording threads, with the service's own thread and
/// with the writer thread.
#[test]
fn the_tool_switches_flushes_and_queries_a_busy_program() {
    for writer in ["none", "thread"] {
        let busy = Busy::new(writer);
        let masks = busy.control(&["get"]).expect("the masks");
        assert_eq!((&*masks["registry.1"], &*masks["registry.1.output"]), ("work 1.0.0", "-"));
        assert!(!busy.log().exists(), "the log exists too early");
        let set = busy.control(&["set", "Begin", "end"]).expect("an answer");
        assert_eq!(set["registry.1.output"], "Begin End");
        assert_eq!(set["standing"], "open");
        (0..10).for_each(|_| busy.let_threads_pass());
        let flushed = busy.control(&["flush"]).expect("an answer");
        let size: u64 = flushed["bytes"].parse().expect("a number");
        assert!(size >= 4096, "{flushed:?}");
        let first = busy.counts();
        assert_eq!(first.keys().collect::<Vec<_>>(), ["Begun", "Ended"]);
        let status = busy.control(&["status"]).expect("the status");
        let number = |key: &str| status[key].parse::<u64>().expect("a number");
        let (requested, recorded) = (number("requested"), number("recorded"));
        assert_eq!((requested - recorded, number("errors")), (number("lost"), 0));
        let in_log: u64 = first.values().sum();
        assert!(requested > in_log && in_log > 1000, "{in_log} of {requested}");
        assert_eq!((number("threads"), number("rings")), (4, 12));
        assert_eq!((&*status["writer"], &*status["last-error"]), (writer, "-"));
        assert!(status["stream"].len() == 36 && status["program"] == "recorder", "{status:?}");
        busy.let_threads_pass();
        // Output is off again: the log has all events until then, and no later ones.
        let reset = busy.control(&["reset", "Begin End"]).expect("an answer");
        assert_eq!(reset["registry.1.output"], "-");
        busy.let_threads_pass();
        busy.control(&["flush"]).expect("an answer");
        let second = busy.counts();
        assert!(second["Begun"] > first["Begun"], "{first:?} {second:?}");
        busy.let_threads_pass();
        busy.control(&["flush"]).expect("an answer");
        assert_eq!(busy.counts(), second);
        // The program requests no events of a kind that is switched off.
        busy.control(&["reset", "all", "--recorded"]).expect("an answer");
        busy.let_threads_pass();
        let events = || busy.control(&[]).expect("the status")["requested"].clone();
        assert_eq!(events(), events());
        let (socket, directory) = busy.end();
        assert!(!socket.exists(), "the program left its socket");
        let stats = lines(eventcnv().arg("stats").arg(directory.path().join("mpsio.log")));
        assert!(!stats.iter().any(|line| line.contains("not closed")), "{stats:#?}");
    }
}

#[test]
fn a_refusal_names_the_possible_values() {
    let busy = Busy::new("none");
    let process = busy.child.id();
    let refused = |words: &[&str]| busy.control(words).expect_err("refused");
    let expected = format!(
        "eventcnv: process {process}: unknown kind `Swimming`; known: Begin, Middle, End, all\n"
    );
    assert_eq!(refused(&["set", "Begin Swimming"]), expected);
    assert!(refused(&["get", "--registry", "heap"]).ends_with("`heap`; known: work\n"));
    let masks = busy.control(&["get", "Begin", "--registry", "WORK"]).expect("the masks");
    assert_eq!(masks["registry.1.recorded"], "Begin");
    let list = lines(control(busy.directory.path(), "all").env("UNUSED", ""));
    assert_eq!(list.len(), 2, "{list:?}");
    let expected = format!("{process:>8} recorder         none     -");
    assert_eq!(list[1], expected);
    let all = lines(control(busy.directory.path(), "all").arg("get"));
    assert_eq!(all[0], format!("process: {process}"));
}

/// A killed program leaves its socket, which the tool distinguishes from that of a running one.
#[test]
fn a_killed_program_is_reported_as_ended() {
    let mut busy = Busy::new("none");
    busy.child.kill().expect("a child");
    busy.child.wait().expect("an exit");
    assert!(busy.socket().exists());
    let error = busy.control(&["flush"]).expect_err("no program listens");
    assert!(error.contains("the process has ended and left the socket "), "{error}");
}

/// A stopped program answers no request; the tool reports that, and does not hang.
#[test]
fn a_stopped_program_does_not_hang_the_list() {
    let busy = Busy::new("none");
    let process = busy.child.id().to_string();
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &process]).status();
        assert!(status.expect("kill can be run").success());
    };
    signal("-STOP");
    // Each thread stops by itself.
    let is_stopped = |status: &String| status.contains("State:\tT (stopped)");
    wait_for("the program to stop", || busy.all_threads().iter().all(is_stopped));
    let start = Instant::now();
    let mut command = eventcnv();
    let list = lines(command.args(["control", "--socket"]).arg(busy.directory.path()));
    signal("-CONT");
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(list[1].contains("no answer in 2 s: the process or its host is stopped"), "{list:?}");
    busy.control(&["flush"]).expect("the program continues");
}

/// `.control.tool.owner`: another user cannot open the socket. If its mode allows that, the program
/// itself refuses the user. Only root can run this test.
#[test]
fn a_program_refuses_another_user() {
    let user = Command::new("id").arg("-u").output().expect("id can be run").stdout;
    if user != b"0\n" {
        println!("not shown: only root can become another user");
        return;
    }
    let busy = Busy::new("none");
    let path = busy.socket();
    let chmod = |mode: &str, path: &Path| {
        let status = Command::new("chmod").arg(mode).arg(path).status();
        assert!(status.expect("chmod can be run").success());
    };
    chmod("755", busy.directory.path());
    // Another user cannot enter the tool's own folder.
    let tool = busy.directory.path().join("eventcnv");
    std::fs::copy(eventcnv().get_program(), &tool).expect("the tool can be copied");
    let ask = || {
        let mut command = tests::programs::system("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&tool);
        command.args(["control", "--socket"]).arg(busy.directory.path());
        let output = command.arg(busy.child.id().to_string()).output().expect("setpriv runs");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        String::from_utf8(output.stderr).expect("text").trim_end().to_owned()
    };
    let told = ask();
    let end = ": Permission denied (os error 13); the socket belongs to another user";
    assert!(told.ends_with(end), "{told}");
    chmod("777", &path);
    let process = busy.child.id();
    assert_eq!(ask(), format!("eventcnv: process {process}: the process is another user's"));
    busy.control(&["flush"]).expect("an answer");
}

/// The program answers a request in the middle of a flood of garbage.
#[test]
fn a_flood_of_garbage_changes_no_mask() {
    let busy = Busy::new("thread");
    let before = busy.control(&["get"]).expect("the masks");
    for size in [1, 100, 4095, 4096, 5000, 1 << 20] {
        let mut stream = UnixStream::connect(busy.socket()).expect("a listener");
        let bytes: Vec<u8> = (0..size).map(|at| (at * 31 % 251) as u8 | 0x80).collect();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("error: ") && answer.lines().count() == 1, "{answer}");
    }
    assert_eq!(busy.control(&["get"]).expect("the masks"), before);
}

proptest! {
    /// `.control.tool.request`, `.control.tool.answer`: any bytes are a request, or get one line
    /// that a tool reads as an error.
    #[test]
    fn garbage_is_a_request_or_gets_one_line(bytes in garbage()) {
        match Request::parse(&bytes) {
            Ok(request) => {
                prop_assert!(bytes.len() < REQUEST_SIZE_MAX);
                let words = || bytes.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
                prop_assert_eq!(words().next(), Some(request.verb.word().as_bytes()));
                prop_assert!(request.kinds().all(|kind| words().any(|word| word == kind)));
            }
            Err(error) => {
                let mut text = String::new();
                write_answer_end(&mut text, Err(&error)).expect("a string takes everything");
                let line = text.strip_suffix('\n').expect("a line");
                prop_assert!(!line.contains(char::is_control) && line.len() < 500, "{}", line);
                prop_assert!(matches!(AnswerLine::parse(line), Some(AnswerLine::Failed(_))));
            }
        }
    }
}

/// Returns bytes of any size up to 1 MiB, mostly few, and pieces of requests.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "get",
        "set",
        "reset",
        "flush",
        "status",
        "registry:",
        "mask:",
        "recorded",
        "output",
        "all",
        "Pool",
        "0x1",
        " ",
        "\t",
        "\r",
        ":",
        "\u{7}",
        "é",
    ]);
    prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..300),
        8 => prop::collection::vec(word, 0..12).prop_map(|words| words.join(" ").into_bytes()),
        1 => (1usize..1 << 20, any::<u8>()).prop_map(|(size, byte)| vec![byte; size]),
    ]
}
