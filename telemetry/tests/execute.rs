//! An executed program inherits the environment, and so the name of the log: it overwrites no log.
//! A forked child that cannot create its log reports that once.
#![expect(unsafe_code, reason = "fork, signals, limits")]

mod common;

use common::{Three, ran, wait_until};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
/// The role of a test process.
const ROLE: &str = "TELEMETRY_TEST_ROLE";

fn pid() -> u64 {
    u64::from(std::process::id())
}

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, pid() as usize, index, index));
}

fn role() -> String {
    std::env::var(ROLE).unwrap_or_default()
}

fn of_role(test: &str, role: &str) -> Command {
    let mut command = common::command(test, &[ALL, SMALL, (ROLE, role)]);
    if let Some(name) = std::env::var_os("MPS_TELEMETRY_FILENAME") {
        command.env("MPS_TELEMETRY_FILENAME", name);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Checks that one process recorded all events of a log.
fn assert_log_of(path: &Path, process: u64, count: usize) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(common::u64_at(&bytes, 80), process, "{}", path.display());
    let stream = common::read(&bytes);
    let numbers: Vec<_> = (0..count as u64).collect();
    assert_eq!(stream.words(1, 1), numbers, "{}", path.display());
    assert!(stream.words(1, 0).iter().all(|who| *who == process));
}

/// The parent has its log when the child begins another; `fork` or `posix_spawn` made the child.
#[test]
fn an_executed_program_leaves_its_parents_log_alone() {
    let test = "an_executed_program_leaves_its_parents_log_alone";
    match &*role() {
        "" => {}
        "child" => return record(200),
        how => {
            record(500);
            telemetry::flush();
            let mut child = of_role(test, "child");
            if how == "fork" {
                // SAFETY: the closure does nothing; it makes the standard library use `fork`.
                unsafe { child.pre_exec(|| Ok(())) };
            }
            let mut child = child.spawn().unwrap();
            std::fs::write("child", child.id().to_string()).unwrap();
            assert!(child.wait().unwrap().success());
            return;
        }
    }
    for how in ["fork", "spawn"] {
        let folder = tempfile::tempdir().unwrap();
        let mut parent = of_role(test, how).current_dir(&folder).spawn().unwrap();
        assert!(parent.wait().unwrap().success());
        let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
        let child: u64 = child.parse().unwrap();
        let log = folder.path().join("mpsio.log");
        assert_log_of(&log, parent.id().into(), 500);
        assert_log_of(&log.with_file_name(format!("mpsio.log-{child}")), child, 200);
    }
}

/// `exec` without `fork` keeps the process and its number.
#[test]
fn exec_without_fork_keeps_the_first_programs_log() {
    let test = "exec_without_fork_keeps_the_first_programs_log";
    for (name, first, second) in
        [("mpsio.log", "mpsio.log", "mpsio.log-PID"), ("%p.log", "PID.log", "PID.log-2")]
    {
        let variable = ("MPS_TELEMETRY_FILENAME", name);
        let Some(ran) = ran(test, &[ALL, SMALL, variable], || {
            if role() == "second" {
                return record(200);
            }
            std::fs::write("process", pid().to_string()).unwrap();
            record(500);
            telemetry::flush();
            let mut second = of_role(test, "second");
            let error = second.stdout(Stdio::inherit()).stderr(Stdio::inherit()).exec();
            panic!("{error}");
        }) else {
            return;
        };
        let process = String::from_utf8(ran.file("process")).unwrap();
        for (name, count) in [(first, 500), (second, 200)] {
            let path = ran.folder.path().join(name.replace("PID", &process));
            assert_log_of(&path, process.parse().unwrap(), count);
        }
        // The user looks for no name with a process number: a different name is not reported.
        let said = ran.said();
        assert_eq!(said.len(), usize::from(name == "mpsio.log"), "{said:?}");
        let why = " was written by this process, before it executed this program; the log ";
        assert!(said.iter().all(|line| line.contains(why)), "{said:?}");
    }
}

/// A shell runs the program in a loop: each run overwrites the log of the ended one.
#[test]
fn the_next_run_overwrites_the_log_of_the_last() {
    let test = "the_next_run_overwrites_the_log_of_the_last";
    if role() == "run" {
        return record(200);
    }
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let shell = "for run in 1 2 3 4 5; do \"$@\" || exit; done";
        let inner = of_role(test, "run");
        let mut loop_of_runs = Command::new("sh");
        loop_of_runs.args(["-c", shell, "sh"]).arg(inner.get_program()).args(inner.get_args());
        loop_of_runs.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = loop_of_runs.current_dir(&folder).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.is_empty(), "{said}");
        let names = std::fs::read_dir(folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mpsio.log"]);
    }
    let log = folder.path().join("mpsio.log");
    let process = common::u64_at(&std::fs::read(&log).unwrap(), 80);
    assert_log_of(&log, process, 200);
}

/// The second program begins its log while the first one holds the name.
#[test]
fn programs_that_run_at_the_same_time_write_separate_logs() {
    let test = "programs_that_run_at_the_same_time_write_separate_logs";
    match &*role() {
        "" => {}
        "first" => {
            record(200);
            telemetry::flush();
            std::fs::write("ready", "").unwrap();
            return wait_until("the second ends", || Path::new("done").exists());
        }
        _ => return record(300),
    }
    let folder = tempfile::tempdir().unwrap();
    let mut first = of_role(test, "first").current_dir(&folder).spawn().unwrap();
    wait_until("the first has its log", || folder.path().join("ready").exists());
    let mut second = of_role(test, "second").current_dir(&folder).spawn().unwrap();
    assert!(second.wait().unwrap().success());
    std::fs::write(folder.path().join("done"), "").unwrap();
    assert!(first.wait().unwrap().success());
    let log = folder.path().join("mpsio.log");
    assert_log_of(&log, first.id().into(), 200);
    let log = log.with_file_name(format!("mpsio.log-{}", second.id()));
    assert_log_of(&log, second.id().into(), 300);
}

/// Runs `child` in a forked child, and returns the child's number.
fn forked(child: impl FnOnce()) -> i32 {
    // SAFETY: the child has this thread alone; `status` lives through the call.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
            libc::exit(i32::from(!done));
        }
        let mut status = 1;
        assert_eq!((libc::waitpid(pid, &mut status, 0), status), (pid, 0));
        pid
    }
}

fn limit(what: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: libc::RLIM_INFINITY };
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: structures that live through the calls.
    unsafe {
        libc::getrlimit(what, &mut before);
        let limit = libc::rlimit { rlim_max: before.rlim_max, ..limit };
        assert_eq!(libc::setrlimit(what, &limit), 0);
    }
}

/// The reasons why a child cannot create its log, and the messages about them.
const TROUBLES: [(&str, &str); 3] = [
    ("files", ": cannot create mpsio.log-PID: Too many open files; nothing is output"),
    ("size", ": cannot write to mpsio.log-PID: File too large"),
    ("directory", ": cannot create FOLDER/mpsio.log-PID: No such file or directory; nothing is"),
];

/// The child continues, and counts losses; the parent's log stays whole.
#[test]
#[cfg(target_os = "linux")]
fn a_child_without_a_log_reports_that_once_and_continues() {
    let test = "a_child_without_a_log_reports_that_once_and_continues";
    for (what, expected) in TROUBLES {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        let name = match what {
            "directory" => inner.join("mpsio.log"),
            _ => "mpsio.log".into(),
        };
        std::fs::create_dir(&inner).unwrap();
        let variable = ("MPS_TELEMETRY_FILENAME", name.to_str().unwrap());
        let inner_variable = ("INNER", inner.to_str().unwrap());
        let Some(ran) = ran(test, &[ALL, SMALL, variable, (ROLE, what), inner_variable], || {
            record(500);
            if role() == "directory" {
                std::fs::remove_dir_all(std::env::var("INNER").unwrap()).unwrap();
            }
            let child = forked(|| {
                match &*role() {
                    "files" => limit(libc::RLIMIT_NOFILE, 0),
                    "size" => limit(libc::RLIMIT_FSIZE, 0),
                    _ => {}
                }
                record(500);
                let losses = telemetry::losses();
                assert_eq!((losses.requested, losses.recorded), (500, 500));
                // A base record stands before the first event of the child.
                assert_eq!(losses.io, 4 * 124 - 1, "{losses:?}");
            });
            std::fs::write("child", child.to_string()).unwrap();
            (500..600usize).for_each(|index| event!(Three, pid() as usize, index, index));
        }) else {
            return;
        };
        let child = String::from_utf8(ran.file("child")).unwrap();
        let expected = expected.replace("PID", &child).replace("FOLDER", inner.to_str().unwrap());
        let said = ran.said();
        assert!(said[0].contains(&expected), "{said:?}, not {expected}");
        // Without its folder the parent has lost its log, too.
        assert_eq!(said.len(), 1 + usize::from(what == "directory"), "{said:?}");
        if what != "directory" {
            let stream = ran.stream();
            assert_eq!((stream.of(1).len(), stream.ended), (600, true));
        }
    }
}

/// The process is at its limit of open files: the child still closes its parent's log and opens
/// another.
#[test]
#[cfg(target_os = "linux")]
fn a_child_at_the_limit_of_open_files_writes_a_log() {
    let test = "a_child_at_the_limit_of_open_files_writes_a_log";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        limit(libc::RLIMIT_NOFILE, 64);
        record(500);
        let mut held = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            held.push(file);
        }
        let child = forked(|| {
            record(300);
            telemetry::flush();
            drop(std::mem::take(&mut held));
        });
        held.clear();
        std::fs::write("pids", format!("{} {child}", pid())).unwrap();
    }) else {
        return;
    };
    let pids = String::from_utf8(ran.file("pids")).unwrap();
    let (parent, child) = pids.split_once(' ').unwrap();
    let log = ran.folder.path().join("mpsio.log");
    assert_log_of(&log, parent.parse().unwrap(), 500);
    let log = log.with_file_name(format!("mpsio.log-{child}"));
    assert_log_of(&log, child.parse().unwrap(), 300);
}
