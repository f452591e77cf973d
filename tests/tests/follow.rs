//! `eventcnv follow` prints a log while a program writes it: each event once, as it arrives.
//!
//! ```text
//!  recorder ── flush, flush, … ──▶ log ──▶ eventcnv follow ── lines ──▶ = the final dump
//! ```
//!
//! Rules: `.cnv.follow` in `design/eventcnv.md`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tests::programs::{eventcnv, lines, recording, run, wait_for};

/// A running follower, whose output goes to files.
struct Following {
    child: Child,
    directory: tempfile::TempDir,
}

impl Following {
    fn new(args: &[&str], log: &Path) -> Following {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let file = |name| File::create(directory.path().join(name)).expect("a writable file");
        let mut command = eventcnv();
        command.arg("follow").args(args).arg(log).stdin(Stdio::null());
        command.stdout(file("out")).stderr(file("errors"));
        Following { child: command.spawn().expect("eventcnv runs"), directory }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).expect("text")
    }

    /// Waits until `count` lines are printed.
    fn wait_for_lines(&self, count: usize) {
        wait_for("lines", || self.read("out").lines().count() >= count);
    }

    /// Waits until the follower ends by itself. Returns its sorted lines and its exit code.
    fn end(mut self) -> (Vec<String>, Option<i32>) {
        let mut status = None;
        wait_for("the end", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        let mut lines: Vec<String> = self.read("out").lines().map(str::to_owned).collect();
        lines.sort();
        (lines, status.and_then(|status| status.code()))
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn recorder(words: &[&str], destination: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(words);
    let mut command = recording(command, "all", Path::new(destination));
    command.env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    command
}

/// Returns the dump of a log, sorted.
fn dump(args: &[&str], logs: &[PathBuf]) -> Vec<String> {
    let mut lines = lines(eventcnv().args(args).args(logs));
    lines.sort();
    lines
}

/// `.cnv.follow`: the follower starts before the file exists, and ends when the log is closed.
#[test]
fn follow_waits_for_a_log_and_prints_it_to_its_end() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let following = Following::new(&["-vvv"], &log);
    wait_for("the follower to wait", || following.read("errors").contains("waiting for the log"));
    let mut command = recorder(&["held", "2", "3000"], log.to_str().expect("text"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    following.wait_for_lines(6000);
    drop(child.stdin.take());
    child.stdout.take().map(|mut out| out.read_to_string(&mut String::new()));
    assert!(child.wait().expect("an exit").success());
    let (found, code) = following.end();
    let expected = dump(&["-vvv"], &[log]);
    assert_eq!(found.len(), expected.len());
    assert!(expected.len() > 6000 && found == expected);
    assert_eq!(code, Some(0));
}

/// `.cnv.follow`: the program changes volumes, also several between two checks.
#[test]
fn follow_continues_from_one_volume_to_the_next() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let made = directory.path().join("made.log");
    let destination = format!("file:{}?size=64K&count=20", made.display());
    run(&mut recorder(&["threads", "1", "10000"], &destination));
    let name = |path: &Path, number: usize| match number {
        0 => path.to_owned(),
        number => PathBuf::from(format!("{}.{number}", path.display())),
    };
    let count = (0..20).take_while(|&number| name(&made, number).exists()).count();
    assert!(count >= 5, "{count} volumes");
    let live = directory.path().join("live.log");
    let move_on = |volume: usize| {
        for number in (0..count).rev().filter(|&number| name(&live, number).exists()) {
            fs::rename(name(&live, number), name(&live, number + 1)).expect("a new name");
        }
        let from = name(&made, count - 1 - volume);
        fs::copy(from, name(&live, count + 1)).expect("a copy");
        fs::rename(name(&live, count + 1), &live).expect("a new name");
    };
    move_on(0);
    let following = Following::new(&["-v"], &live);
    following.wait_for_lines(100);
    move_on(1);
    let of_two = dump(&["-v"], &[name(&live, 1), live.clone()]).len();
    following.wait_for_lines(of_two);
    (2..count).for_each(move_on);
    let (found, code) = following.end();
    let all: Vec<PathBuf> = (0..count).rev().map(|number| name(&made, number)).collect();
    let expected = dump(&["-v"], &all);
    assert_eq!(found.len(), expected.len());
    assert!(found == expected && expected.len() > 10_000);
    assert_eq!(code, Some(0));
}

/// `.cnv.follow`: a ring has no end; the follower prints its events, and new ones, once.
#[test]
fn follow_prints_a_mapped_ring_while_it_is_written() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let destination = format!("ring:{}?size=1M", path.display());
    let mut command = recorder(&["held", "1", "500"], &destination);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    wait_for("a ring", || path.exists());
    let following = Following::new(&["--kinds", "Begin,Middle,End"], &path);
    following.wait_for_lines(500);
    drop(child.stdin.take());
    assert!(child.wait().expect("an exit").success());
    let (found, code) = following.end();
    assert_eq!(code, Some(0));
    assert_eq!(found.len(), 500);
    assert!(found.windows(2).all(|pair| pair[0] != pair[1]));
}

/// `.cnv.follow`: a log relates its clock to seconds from its first block of events on.
#[test]
fn a_follower_in_seconds_waits_for_the_clock_of_the_log() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [made, live] = ["made.log", "live.log"].map(|name| directory.path().join(name));
    run(&mut recorder(&["threads", "2", "3000"], made.to_str().expect("text")));
    let bytes = fs::read(&made).expect("a log");
    // Block 0 has the header and the registries.
    let (first, rest) = bytes.split_at(4096);
    fs::write(&live, first).expect("a writable file");
    let seconds = ["--time", "seconds", "--from", "+0s"];
    let following = Following::new(&seconds, &live);
    // Between two looks, a follower keeps the file open that it looked at.
    let folder = format!("/proc/{}/fd", following.child.id());
    let is_live = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to == live);
    let looked = || fs::read_dir(&folder).map_or(true, |files| files.flatten().any(is_live));
    wait_for("a look", looked);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut file = File::options().append(true).open(&live).expect("a log");
    file.write_all(rest).expect("a writable file");
    let (found, code) = following.end();
    assert_eq!(code, Some(0));
    assert!(found == dump(&seconds, &[made]) && found.len() > 6000);
}

/// `.cnv.follow`
#[test]
fn first_and_last_count_the_events_once() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    run(&mut recorder(&["threads", "1", "100"], log.to_str().expect("text")));
    for (args, part) in [(["--last", "10"], "last"), (["--first", "7"], "first")] {
        let (found, code) = Following::new(&args, &log).end();
        let expected = dump(&args, std::slice::from_ref(&log));
        assert_eq!((found, code), (expected, Some(0)), "the {part}");
    }
    let (found, code) = Following::new(&["--last", "0"], &log).end();
    assert_eq!((found.len(), code), (0, Some(0)));
    let (_, code) = Following::new(&["--kinds", "Nothing"], &log).end();
    assert_eq!(code, Some(2));
}
