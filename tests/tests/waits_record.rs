//! A user runs `eventcnv record --kernel`: the log tells of the kernel, which is as before.
//!
//! ```text
//!  record --kernel -o LOG PROGRAM ─┬─▶ its output, its exit code, its signals
//!                                  ├─▶ LOG, on one clock with that of --malloc
//!                                  └─▶ no instance of tracefs, no mount, however it ends
//! ```
//!
//! Where the kernel does not let this user record, each test states that it skips, and why. The
//! test of a user without rights runs everywhere.
//!
//! Design: `.waits.record`, `.waits.degrees` in `design/waits.md`.

use eventlog::reader::{Filter, Log, Order};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tests::programs;

/// Returns `eventcnv record --kernel -o k.log WORDS…` in a folder.
fn record(folder: &Path, words: &[&str]) -> Command {
    let mut command = programs::eventcnv();
    command.current_dir(folder).args(["record", "--kernel", "-o", "k.log"]).args(words);
    command
}

/// Returns whether this user may record; else prints why the test skips.
fn can_record() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let Output { status, stderr, .. } =
        record(folder.path(), &["--seconds", "0.01"]).output().unwrap();
    let text = String::from_utf8_lossy(&stderr);
    let is_refused = ["only to root", "has no tracefs"].iter().any(|why| text.contains(why));
    assert!(status.success() || is_refused, "{text}");
    if is_refused {
        println!("skipped: {text}");
    }
    !is_refused
}

/// Returns the lines of a script that sees tracefs in the folder `$1`.
fn within_tracefs(script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("mount -t tracefs none \"$1\" && cd \"$1/instances\" && {script}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(folder.path());
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Returns the instances that a process left.
fn instances(process: u32) -> Vec<String> {
    let prefix = format!("eventcnv-{process}-");
    within_tracefs("ls").into_iter().filter(|name| name.starts_with(&prefix)).collect()
}

fn mounts() -> usize {
    fs::read_to_string("/proc/mounts").unwrap().matches(" tracefs ").count()
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the process, its exit code, its output and its errors.
fn end(mut child: Child) -> (u32, Option<i32>, String, String) {
    let (mut out, mut errors) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    (child.id(), child.wait().unwrap().code(), out, errors)
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until a process has its instance.
fn wait_for_instance(process: u32) {
    programs::wait_for("the instance", || {
        let mine = format!("for i in eventcnv-{process}-*; do cat $i/tracing_on; done");
        within_tracefs(&format!("{{ {mine}; }} 2>/dev/null || true")) == ["1"]
    });
}

/// Returns the events of a log as lines: name, parameters.
fn rows(log: &Path) -> Vec<String> {
    let log = Log::open(log).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut rows = Vec::new();
    while let Some(event) = events.next() {
        let values: Vec<String> =
            event.params().map(|(param, value)| format!(" {}={value}", param.name)).collect();
        rows.push(format!("{}{} ", event.name(), values.concat()));
    }
    assert_eq!(events.faults().iter().count(), 0);
    rows
}

#[test]
fn a_recorded_program_keeps_its_output_and_exit_code() {
    if !can_record() {
        return;
    }
    let (folder, mounted) = (tempfile::tempdir().unwrap(), mounts());
    let words = ["--", "sh", "-c", "echo out; echo error >&2; exit 7"];
    let (process, code, out, errors) = end(start(record(folder.path(), &words)));
    assert_eq!((code, &*out), (Some(7), "out\n"));
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "error"), "{errors}");
    assert!(lines[1].starts_with("eventcnv: k.log: "), "{errors}");
    let mut verify = programs::eventcnv();
    let text = programs::lines(verify.arg("verify").arg(folder.path().join("k.log"))).concat();
    assert!(text.contains("sound"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the log is left");
    assert_eq!(instances(process), [""; 0]);
    assert_eq!(mounts(), mounted);
}

#[test]
fn the_log_tells_why_a_thread_slept() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let words = ["--", "sh", "-c", "sleep 0.2; cat k.none; true"];
    let (_, code, ..) = end(start(record(folder.path(), &words)));
    assert_eq!(code, Some(0));
    let rows = rows(&folder.path().join("k.log"));
    let number = |row: &str, name: &str| -> String {
        let rest = row.split_once(&format!(" {name}=")).unwrap().1;
        rest.split(' ').next().unwrap().to_owned()
    };
    let exec = rows.iter().find(|row| row.starts_with("Exec ") && row.ends_with("/sleep "));
    let sleeper = number(exec.expect("the program executed sleep"), "thread");
    let waking = format!("target={sleeper} context=2 ");
    let woken = rows.iter().position(|row| row.starts_with("Waking ") && row.contains(&waking));
    let woken = woken.expect("an interrupt woke it");
    let fired = rows[..woken].iter().rposition(|row| row.starts_with("TimerFire "));
    assert!(rows[fired.expect("a timer fired")].contains("isWakeup=true"));
    let out = format!("Switch prev={sleeper} ");
    let slept = rows[..woken].iter().rfind(|row| row.starts_with(&out)).expect("it slept");
    assert!(slept.contains("state=1 "), "{slept}");
    let call = format!("Syscall thread={sleeper} call=");
    let called = rows[..woken].iter().rfind(|row| row.starts_with(&call)).expect("its call");
    // clock_nanosleep on x86-64 and on Arm.
    assert!(called.contains("call=230 ") || called.contains("call=115 "), "{called}");
    let there = format!("ThreadExists thread={} ", std::process::id());
    assert!(rows.iter().any(|row| row.starts_with(&there)), "this test exists");
    assert!(rows.iter().any(|row| row.starts_with("Fork ")));
}

/// The program is process 2 in its own log, or its clock is a second ahead.
#[test]
fn a_program_in_namespaces_is_explained_as_itself() {
    if !can_record() {
        return;
    }
    let houses = [["--pid", "--mount-proc"], ["--time", "--monotonic=1"]];
    for house in houses {
        let words = [&["unshare", "--fork"], &house[..]].concat();
        let [program, arguments @ ..] = &words[..] else { return };
        if !Command::new(program).args(arguments).arg("true").status().unwrap().success() {
            println!("skipped: {words:?} is refused");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let lodger = env!("CARGO_BIN_EXE_lodger");
        let command = record(folder.path(), &[&["--"], &words[..], &[lodger]].concat());
        let (_, code, out, errors) =
            end(start(programs::recording(command, "all", &folder.path().join("p.log"))));
        assert_eq!(code, Some(0), "{errors}");
        let truth = |what: &str| -> f64 {
            let line = out.lines().find_map(|line| line.strip_prefix(what)).unwrap();
            line.trim().parse().unwrap()
        };
        let mut explain = programs::eventcnv();
        explain.current_dir(folder.path()).args(["waits", "explain", "--json", "p.log", "k.log"]);
        let told: serde_json::Value =
            serde_json::from_slice(&programs::run(&mut explain).stdout).unwrap();
        assert!(told["path_of"].as_str().unwrap().starts_with("lodger ("), "{told:#}");
        let waits = told["waits"].as_array().unwrap();
        for (event, call, what) in [("in Round", "futex", "lock"), ("in Care", "wait4", "child")] {
            let is_it = |wait: &&serde_json::Value| wait["event"] == event && wait["call"] == call;
            let ns: u64 = waits.iter().filter(is_it).filter_map(|wait| wait["ns"].as_u64()).sum();
            let truth = truth(what);
            // The program also measures how long others have its processor between the wait and
            // its reading of the clock: on a busy machine that is a part of its truth.
            let is_close = (truth / 4.0..=truth * 1.02 + 200_000.0).contains(&(ns as f64));
            assert!(is_close, "{house:?} {what}: {ns}, in truth {truth}\n{told:#}");
        }
        let sleeps = waits.iter().filter(|wait| wait["call"] == "clock_nanosleep");
        assert!(sleeps.clone().count() > 0 && sleeps.clone().all(|own| own["event"] != "in Round"));
        let objects = waits.iter().filter(|wait| wait["call"] == "wait4");
        let mut objects = objects.filter_map(|wait| wait["object"].as_str());
        assert!(objects.all(|object| object.starts_with("sleep (")), "{told:#}");
    }
}

#[test]
fn a_signal_ends_a_recording_and_leaves_a_whole_log() {
    if !can_record() {
        return;
    }
    for name in ["INT", "TERM", "HUP", "QUIT"] {
        let folder = tempfile::tempdir().unwrap();
        let child = start(record(folder.path(), &[]));
        wait_for_instance(child.id());
        signal(child.id(), name);
        let (process, code, _, errors) = end(child);
        assert_eq!(code, Some(0), "{name}: {errors}");
        assert!(rows(&folder.path().join("k.log")).iter().any(|row| row.starts_with("Switch ")));
        assert_eq!(instances(process), [""; 0], "{name}");
    }
}

#[test]
fn the_signal_of_the_user_reaches_the_program() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = start(record(folder.path(), &["--", "sleep", "100"]));
    wait_for_instance(child.id());
    std::thread::sleep(Duration::from_millis(300));
    signal(child.id(), "TERM");
    let (process, code, _, errors) = end(child);
    assert_eq!(code, Some(128 + 15), "{errors}");
    assert!(folder.path().join("k.log").exists());
    assert_eq!(instances(process), [""; 0]);
}

/// Sleeps between blocks of 5000, 5001, 5002 and 5003 bytes.
const SLEEPER: &str = "
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  for (int size = 5000; size < 5004; size++) {
    free(malloc(size));
    if (size < 5003) usleep(50000);
  }
  return 3;
}";

/// `.rep.record.kernel`
#[test]
fn switches_lie_between_the_calls_of_malloc_around_them() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("sleeper.c"), SLEEPER).unwrap();
    let mut cc = Command::new("cc");
    programs::run(cc.current_dir(&folder).args(["-fno-builtin", "-o", "sleeper", "sleeper.c"]));
    let own = &["waits", "record", "--kernel", "--malloc"];
    for words in [&["record", "--malloc", "--kernel"][..], own] {
        let mut command = programs::eventcnv();
        command.current_dir(&folder).args(words).args(["--force", "--", "./sleeper"]);
        let (_, code, _, errors) = end(start(command));
        assert_eq!((code, errors.lines().count()), (Some(3), 2), "{errors}");
        assert!(errors.contains("eventcnv: sleeper.log: ./sleeper: "), "{errors}");
        assert!(errors.contains(", nothing lost"), "{errors}");
        let mut merge = programs::eventcnv();
        merge.current_dir(&folder).args(["merge", "sleeper.log", "sleeper.kernel.log"]);
        let told = programs::lines(merge.args(["--force", "-o", "both.log"]));
        assert!(told.iter().any(|line| line.contains("have one clock")), "{told:?}");
        let process = Log::open(at("sleeper.log")).unwrap().streams()[0].pid;
        let is_sleep = |row: &str| {
            row.starts_with(&format!("Switch prev={process} ")) && row.contains(" state=1 ")
        };
        let mut story = Vec::new();
        for row in rows(&at("both.log")) {
            let size = row.split_once(" size=500").filter(|_| row.starts_with("Malloc "));
            if let Some((_, size)) = size {
                story.push(format!("malloc {}", &size[..1]));
            } else if is_sleep(&row) {
                story.push("sleep".to_owned());
            } else if row.contains(&format!(" next={process} "))
                && story.last().is_some_and(|last| last == "sleep")
            {
                story.push("run".to_owned());
            }
        }
        let begin = story.iter().position(|part| part.starts_with("malloc")).unwrap();
        let told = story[begin..].join(", ");
        let sleeps = ["malloc 0", "malloc 1", "malloc 2"].map(|call| format!("{call}, sleep, run"));
        assert!(told.starts_with(&format!("{}, malloc 3", sleeps.join(", "))), "{told}");
    }
}

#[test]
fn a_program_that_cannot_run_leaves_nothing() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (process, code, _, errors) = end(start(record(folder.path(), &["--", "./none"])));
    assert_eq!(code, Some(2));
    assert_eq!(errors, "eventcnv: ./none: program not found\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(instances(process), [""; 0]);
}

#[test]
fn an_existing_log_is_refused_before_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.log"), "mine").unwrap();
    let (_, code, _, errors) = end(start(record(folder.path(), &["--", "touch", "ran"])));
    assert_eq!(code, Some(2));
    assert!(errors.contains("k.log: already exists"), "{errors}");
    assert!(!folder.path().join("ran").exists());
    assert_eq!(fs::read_to_string(folder.path().join("k.log")).unwrap(), "mine");
}

#[test]
fn the_next_recording_removes_what_a_killed_one_left() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = start(record(folder.path(), &[]));
    let killed = child.id();
    wait_for_instance(killed);
    signal(killed, "KILL");
    end(child);
    // Another test may already have removed it.
    let states = within_tracefs(&format!(
        "for i in eventcnv-{killed}-*; do cat $i/tracing_on $i/buffer_size_kb 2>/dev/null; done; :"
    ));
    if let [is_on, size] = &states[..] {
        // The kernel stopped it, and took its buffers back.
        assert_eq!(is_on, "0");
        assert!(size.split(' ').next().unwrap().parse::<u32>().unwrap() < 64, "{size}");
    }
    let (_, code, ..) = end(start(record(folder.path(), &["--seconds", "0.01"])));
    assert_eq!(code, Some(0));
    assert_eq!(instances(killed), [""; 0]);
}

#[test]
fn the_kernels_log_has_the_whole_name_of_the_log() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (log, of_kernel) in [("a.1", "a.1.kernel.log"), ("a.2.log", "a.2.kernel.log")] {
        let mut command = programs::eventcnv();
        command.current_dir(&folder).args(["record", "--malloc", "--kernel", "-o", log, "true"]);
        let (_, code, _, errors) = end(start(command));
        assert_eq!(code, Some(0), "{errors}");
        assert!(!rows(&folder.path().join(of_kernel)).is_empty(), "{errors}");
    }
}

#[test]
fn a_closed_output_ends_a_recording_without_a_word() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = programs::eventcnv();
    command.current_dir(&folder).args(["record", "--kernel", "-o", "-", "--seconds", "0.05"]);
    let mut child = start(command);
    drop(child.stdout.replace(start(Command::new("true")).stdout.unwrap()));
    let (_, code, _, errors) = end(child);
    assert_eq!((code, &*errors), (Some(0), ""));
}

#[test]
fn a_limit_of_file_sizes_ends_a_recording_with_words() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recorder = record(folder.path(), &["--", "true"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 100; exec \"$@\"", "sh"]).current_dir(&folder);
    command.arg(recorder.get_program()).args(recorder.get_args());
    let (process, code, _, errors) = end(start(command));
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("k.log: note: events are missing at the end: "), "{errors}");
    assert!(errors.contains("(File too large"), "{errors}");
    // The rate of the clock is unknown, unless two clock syncs were kept.
    let seconds = errors.split_once(" events in ").and_then(|(_, rest)| rest.split_once(" s,"));
    assert!(seconds.is_none_or(|(time, _)| time.parse::<f64>().unwrap() < 60.0), "{errors}");
    assert!(!rows(&folder.path().join("k.log")).is_empty());
    assert_eq!(instances(process), [""; 0]);
}

#[test]
fn losses_are_rows_and_words() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The kernel keeps two pages at least: a storm of calls fills them before they are read.
    let storm = "dd if=/dev/zero of=/dev/null bs=1 count=300000 2>/dev/null";
    let child = start(record(folder.path(), &["--buffer", "1", "--", "sh", "-c", storm]));
    let (_, code, _, errors) = end(child);
    assert_eq!(code, Some(0), "{errors}");
    let rows = rows(&folder.path().join("k.log"));
    let lost = rows.iter().filter(|row| row.starts_with("Lost ")).count();
    assert_eq!(lost > 0, errors.contains("the kernel lost"), "{lost}: {errors}");
}

/// The folder of a user without rights: theirs.
fn folder_of_nobody() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("chmod").arg("0777").arg(folder.path()).status().unwrap();
    assert!(status.success());
    folder
}

/// Returns a command that runs as a user without rights in a folder of theirs.
fn as_nobody(folder: &Path, words: &[&str]) -> Command {
    use std::os::unix::fs::MetadataExt;
    let is_root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    let command = record(folder, words);
    // This user's own rights are few enough if it is not root.
    if !is_root {
        return command;
    }
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    other.current_dir(folder).arg(command.get_program()).args(command.get_args());
    other
}

/// Returns whether the kernel tells each user of own threads.
fn has_own_switches() -> bool {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    level.trim().parse().is_ok_and(|level: i32| level <= 2)
}

#[test]
fn a_user_without_rights_gets_clear_words() {
    let folder = folder_of_nobody();
    let (_, code, out, errors) = end(start(as_nobody(folder.path(), &["--seconds", "0.01"])));
    if code == Some(0) {
        println!("skipped: this user may record");
        return;
    }
    assert_eq!((code, &*out), (Some(2), ""), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for words in ["only to root", "sudo"] {
        assert!(errors.contains(words), "{errors}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_folder_without_permission_is_refused_before_the_run() {
    let folder = folder_of_nobody();
    let mode = |mode| programs::run(Command::new("chmod").arg(mode).arg(folder.path()));
    mode("0555");
    for (words, log) in [(&[][..], "k.log"), (&["--malloc"], "k.kernel.log")] {
        let words = [words, &["--", "true"]].concat();
        let (_, code, _, errors) = end(start(as_nobody(folder.path(), &words)));
        assert_eq!((code, &*errors), (Some(2), &*format!("eventcnv: {log}: permission denied\n")));
    }
    mode("0755");
}

#[test]
fn a_user_without_rights_records_own_switches() {
    let folder = folder_of_nobody();
    // Two processes that sleep, and their shell.
    let script = "sleep 0.05 & sleep 0.02; wait; exit 5";
    let words = ["--samples", "500", "--", "sh", "-c", script];
    let (_, code, out, errors) = end(start(as_nobody(folder.path(), &words)));
    if !has_own_switches() {
        assert_eq!((code, &*out), (Some(2), ""), "{errors}");
        assert!(errors.contains("--anyway runs the program"), "{errors}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing ran");
        return;
    }
    assert_eq!((code, &*out), (Some(5), ""), "{errors}");
    if errors.contains("no wakers") {
        assert_eq!(errors.lines().count(), 2, "{errors}");
        assert!(errors.contains("sudo"), "{errors}");
        let rows = rows(&folder.path().join("k.log"));
        let of = |name: &str| rows.iter().filter(|row| row.starts_with(name)).count();
        assert_eq!((of("Waking "), of("Lost ")), (0, 0));
        assert!(of("Switch ") >= 6, "{rows:#?}");
        assert_eq!((of("Fork "), of("Exec "), of("Exit ")), (2, 3, 3), "{rows:#?}");
        assert!(of("Mapping ") > 0);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the log is left");
}

#[test]
fn the_samples_of_a_program_lie_in_its_runs() {
    if !can_record() && !has_own_switches() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    // No other process has this name.
    fs::copy("/bin/sh", folder.path().join("busyloop")).unwrap();
    let words = ["--samples", "1000", "--", "./busyloop", "-c", busy];
    let (_, code, _, errors) = end(start(record(folder.path(), &words)));
    assert_eq!(code, Some(0), "{errors}");
    let mut explain = programs::eventcnv();
    explain
        .args(["waits", "explain", "--json", "--of", "busyloop"])
        .arg(folder.path().join("k.log"));
    let explained = explain.output().unwrap();
    let text = String::from_utf8(explained.stdout).unwrap();
    let shares: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ns = |name: &str| -> u64 {
        let all = shares["shares"].as_array().unwrap();
        all.iter()
            .filter(|share| share["share"] == name)
            .filter_map(|share| share["ns"].as_u64())
            .sum()
    };
    assert!(ns("understood") > ns("running without a sample"), "{text}");
    let notes = String::from_utf8_lossy(&explained.stderr);
    // Where the kernel does not tell of a switch, samples fall into what seems a wait.
    let is_whole = !notes.contains("not in the log");
    assert!(!is_whole || !notes.contains("belong to no run"), "{notes}");
}
