//! Programs that give up rights: their logs go on, and the calls that recording needs are listed.
//!
//! ```text
//!  sandboxed make · write · late ── Landlock ──▶ a log with all events
//!  sandboxed steps ── strace ──▶ calls of each step ══ the table in docs/limits.md
//! ```
//!
//! Where the kernel has no Landlock of version 3, these tests state that they skip. Design:
//! `.sol.sandbox` in `design/telemetry.md`.

use eventlog::reader::{Filter, Log, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::programs::{self, recording, root, run};

const COUNT: usize = 1000;

/// Runs the program in a mode, with a destination. Returns what it reports; `None` without
/// Landlock.
fn sandboxed(mode: &str, destination: &str) -> Option<String> {
    let program = Command::new(env!("CARGO_BIN_EXE_sandboxed"));
    let output = run(recording(program, "all", Path::new(destination)).arg(mode));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.starts_with("no Landlock") {
        println!("skipped: this kernel has no Landlock of version 3");
        return None;
    }
    assert_eq!(text, format!("{COUNT}\n"));
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the number of the program's events in a log.
fn count(log: &Path) -> usize {
    let log = Log::open(log).unwrap();
    let mut events = log.events(Order::Time, &Filter::new().event("Play"));
    let mut count = 0;
    while events.next().is_some() {
        count += 1;
    }
    count
}

/// Returns a destination of each sort for a log in a folder.
fn destinations(log: &Path) -> [String; 4] {
    let log = log.display();
    [
        format!("{log}"),
        format!("file:{log}?size=1M&count=3"),
        format!("ring:{log}?size=2M"),
        format!("ring:{log}?size=2M&keep=all"),
    ]
}

#[test]
fn a_new_log_needs_no_right_to_truncate() {
    for at in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("p.log");
        let Some(errors) = sandboxed("make", &destinations(&log)[at]) else { return };
        assert_eq!((&*errors, count(&log)), ("", COUNT), "{}", destinations(&log)[at]);
    }
}

#[test]
fn an_old_log_that_cannot_be_emptied_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("p.log");
    let name = log.display().to_string();
    let Some(_) = sandboxed("make", &name) else { return };
    let old = fs::read(&log).unwrap();
    let errors = sandboxed("make", &name).unwrap();
    assert!(errors.contains("p.log cannot be emptied (permission denied); the log of"), "{errors}");
    assert_eq!(fs::read(&log).unwrap(), old);
    let other = |path: &PathBuf| *path != log;
    let mut paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(count(&paths.find(other).expect("a log of another name")), COUNT);
}

#[test]
fn a_log_needs_no_right_but_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("p.log");
    fs::write(&log, "").unwrap();
    let Some(errors) = sandboxed("write", &log.display().to_string()) else { return };
    assert_eq!((&*errors, count(&log)), ("", COUNT));
}

#[test]
fn a_log_that_has_begun_needs_no_rights() {
    for at in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("p.log");
        let Some(errors) = sandboxed("late", &destinations(&log)[at]) else { return };
        assert_eq!((&*errors, count(&log)), ("", COUNT), "{}", destinations(&log)[at]);
    }
}

/// The system calls of each step.
type Steps = BTreeMap<String, BTreeSet<String>>;

/// The marks of the program, and the steps as the document names them.
const STEPS: [(&str, &str); 5] = [
    ("begin", "the log begins"),
    ("go on", "a block is full"),
    ("thread", "a thread's first event"),
    ("thread ends", "a thread ends"),
    ("end", "the program ends"),
];

/// Adds the calls that `strace` sees at each step.
fn trace(folder: &Path, mode: &str, destination: &str, writer: &str, steps: &mut Steps) {
    let told = folder.join("strace.txt");
    let mut strace = recording(programs::system("strace"), "all", Path::new(destination));
    strace.env("MPS_TELEMETRY_WRITER", writer).args(["-f", "-o"]).arg(&told);
    run(strace.arg(env!("CARGO_BIN_EXE_sandboxed")).arg(mode));
    let text = String::from_utf8_lossy(&fs::read(&told).unwrap()).into_owned();
    let mut step = None;
    // The steps of a thread are its own.
    let mut of_thread: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        if let Some((_, mark)) = line.split_once("write(-1, \"") {
            let mark = mark.split('"').next().unwrap_or_default();
            if mark.starts_with("thread") {
                of_thread.insert(thread, mark);
            } else {
                step = Some(mark);
            }
            continue;
        }
        let call = call.trim_start().trim_start_matches("<... ");
        let end = call.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &call[..end.unwrap_or(call.len())];
        if let Some(step) = of_thread.get(thread).copied().or(step).filter(|_| !name.is_empty()) {
            steps.entry(step.to_owned()).or_default().insert(name.to_owned());
        }
    }
}

/// Returns the table of the document: calls by step and destination.
fn listed() -> BTreeMap<(String, String), BTreeSet<String>> {
    let text = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let (_, text) = text.split_once("## System calls for sandboxes").expect("the section");
    let mut listed = BTreeMap::new();
    let mut step = String::new();
    for line in text.lines().take_while(|line| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, when, place, calls, _] = cells[..] else { continue };
        if !when.is_empty() {
            step = when.to_owned();
        }
        let calls = calls.split(", ").map(|call| call.trim_matches('`').to_owned());
        listed.insert((step.clone(), place.to_owned()), calls.collect());
    }
    listed
}

/// Reads all bytes of each connection, and drops them.
fn swallow<C: Read + Send + 'static>(connections: impl Iterator<Item = C> + Send + 'static) {
    std::thread::spawn(move || {
        for mut connection in connections {
            let _ = std::io::copy(&mut connection, &mut std::io::sink());
        }
    });
}

#[test]
fn the_calls_of_a_recording_are_those_in_the_document() {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        println!("skipped: the document has the calls on x86-64 with glibc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let socket = place.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    swallow(std::iter::from_fn(move || listener.accept().ok().map(|(stream, _)| stream)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    swallow(std::iter::from_fn(move || listener.accept().ok().map(|(stream, _)| stream)));
    let log = |name: &str| place.join(name).display().to_string();
    let mut still = Steps::new();
    trace(place, "still", "none", "none", &mut still);
    let listed = listed();
    let of = |step: &str, place: &str| {
        let all = ["anything", place].map(|place| listed.get(&(step.to_owned(), place.to_owned())));
        all.into_iter().flatten().flatten().cloned().collect::<BTreeSet<String>>()
    };
    let all_of = |place: &str| -> BTreeSet<String> {
        STEPS.iter().flat_map(|(_, step)| of(step, place)).collect()
    };
    for (name, destination) in [
        ("a file", log("file")),
        ("several files", format!("file:{}?size=524288&count=3", log("files"))),
        ("a ring", format!("ring:{}?size=4M", log("ring"))),
        ("a ring that keeps all", format!("ring:{}?size=4M&keep=all", log("kept"))),
        ("a Unix socket", format!("unix:{}", socket.display())),
        ("TCP", format!("tcp://127.0.0.1:{port}")),
    ] {
        // A new log, then one over an old log.
        let mut seen = Steps::new();
        for _ in 0..2 {
            trace(place, "steps", &destination, "none", &mut seen);
        }
        let mut all = BTreeSet::new();
        for (mark, step) in STEPS {
            let none = BTreeSet::new();
            let own = seen.get(mark).unwrap_or(&none) - still.get(mark).unwrap_or(&none);
            let more = &own - &of(step, name);
            assert!(more.is_empty(), "{step}, {name}: {more:?} are not in docs/limits.md");
            all.extend(own);
        }
        let unseen = &all_of(name) - &all;
        assert!(unseen.is_empty(), "{name}: {unseen:?} of docs/limits.md were not seen");
    }
    let mut seen = Steps::new();
    trace(place, "steps", &log("writer"), "thread", &mut seen);
    let mut known = all_of("a file");
    known.extend(still.into_values().flatten());
    known.extend(["write", "sched_yield", "clock_nanosleep"].map(str::to_owned));
    let more = &seen.into_values().flatten().collect::<BTreeSet<_>>() - &known;
    assert!(more.is_empty(), "the writer thread: {more:?} are not in docs/limits.md");
}
