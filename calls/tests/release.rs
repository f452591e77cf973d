//! `release`: the options of a program, and the log that they make.
//!
//! ```text
//!  shop a +TURTLES -enabled … -TURTLES b ─▶ prints `a b`, leaves t/turtles-PID.log
//! ```
//!
//! The rows T5 to T12 and T19 of the promises. Design: `.calls.release` in `design/calls.md`.
#![expect(unsafe_code, reason = "forks")]

mod common;

use calls::traced;
use common::{PROCESS_VARIABLE, lines_of_one, open, ran};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[traced]
fn sell() -> u32 {
    1
}

/// Calls a function with the guard, open inside a traced function.
#[traced]
fn serve(released: calls::Released) {
    sell();
    drop(released);
    sell();
}

fn release(options: &str) -> calls::Released {
    let text = format!("shop +TURTLES {options} -TURTLES rest");
    let mut arguments: Vec<OsString> = text.split(' ').map(Into::into).collect();
    let released = calls::release(&mut arguments);
    assert_eq!(arguments, ["shop", "rest"]);
    released
}

/// Returns the one log in a folder.
fn log_in(folder: &Path) -> PathBuf {
    let files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    file.clone()
}

/// T4: nothing is recorded before the beginning. T5: the end writes calls that are open, and
/// nothing is recorded after it.
#[test]
fn the_end_writes_open_calls_and_stops() {
    let what = || {
        sell();
        serve(release("-enabled -dbPath logs"));
        sell();
        let recorded = telemetry::control::of(&calls::events::CONTROL).recorded();
        assert_eq!(recorded, calls::events::Kinds::empty());
    };
    let test = "the_end_writes_open_calls_and_stops";
    let Some(ran) = ran(test, &[], what) else { return };
    let lines = lines_of_one(&open(&log_in(&ran.folder.path().join("logs"))));
    assert_eq!(lines, ["CallEnter serve -", "CallEnter sell serve", "CallLeave sell"]);
    assert_eq!(ran.said(), [""; 0]);
}

/// T6: without `-enabled`, a file and a thread are not made.
#[test]
fn a_group_without_enabled_does_nothing() {
    let test = "a_group_without_enabled_does_nothing";
    let what = || {
        let thread_count = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = thread_count();
        let released = release("-dbPath logs -commitMode direct");
        sell();
        assert_eq!(released.path(), None);
        assert_eq!(thread_count(), before);
        assert_eq!(telemetry::losses().requested, 0);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    assert_eq!(ran.files(), [""; 0]);
    assert_eq!(ran.said(), [""; 0]);
}

/// A program may block a signal later, and wait for it: the flushing thread does not receive it.
#[test]
fn the_flushing_thread_receives_no_signal() {
    let test = "the_flushing_thread_receives_no_signal";
    let what = || {
        let _released = release("-enabled -dbPath logs");
        let blocked = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap();
            let folders = threads.map(|thread| thread.unwrap().path());
            let is_flusher = |folder: &PathBuf| {
                std::fs::read_to_string(folder.join("comm")).unwrap() == "turtles\n"
            };
            let folder = folders.into_iter().find(is_flusher)?;
            let status = std::fs::read_to_string(folder.join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
            Some(u64::from_str_radix(line, 16).unwrap())
        };
        // The thread gives itself its name.
        let blocked = std::iter::repeat_with(|| {
            std::thread::yield_now();
            blocked()
        });
        let blocked = blocked.flatten().next().unwrap();
        assert_ne!(blocked & 1 << (libc::SIGTERM - 1), 0, "{blocked:#x}");
        assert_ne!(blocked & 1 << (libc::SIGUSR1 - 1), 0, "{blocked:#x}");
    };
    ran(test, &[], what);
}

/// T7: a wrong option is one line, and the program goes on.
#[test]
fn a_wrong_option_is_reported_in_one_line() {
    let test = "a_wrong_option_is_reported_in_one_line";
    let what = || {
        let released = release("-enabled -commitMode soon");
        sell();
        assert_eq!(released.path(), None);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    let line = "telemetry: +TURTLES: `-commitMode soon` is invalid (valid: direct, staged); calls \
                are not recorded";
    assert_eq!(ran.said(), [line]);
    assert_eq!(ran.files(), [""; 0]);
}

/// A log that the program began before `release` has the calls.
#[test]
fn calls_go_to_a_log_that_has_already_begun() {
    let test = "calls_go_to_a_log_that_has_already_begun";
    let what = || {
        calls::control().set_output(calls::events::Kinds::Call);
        sell();
        let released = release("-enabled -dbPath logs");
        assert_eq!(released.path(), None);
        sell();
        drop(released);
        sell();
    };
    let Some(ran) = ran(test, &[], what) else { return };
    assert_eq!(ran.said(), ["telemetry: +TURTLES: the log has already begun; calls go there"]);
    let expected = ["CallEnter sell -", "CallLeave sell"].repeat(2);
    assert_eq!(lines_of_one(&ran.log()), expected);
}

/// A second recording of a process goes on in the log of the first one.
#[test]
fn a_later_release_goes_on_in_the_same_log() {
    let test = "a_later_release_goes_on_in_the_same_log";
    let what = || {
        let first = release("-enabled -dbPath logs");
        let path = first.path();
        sell();
        drop(first);
        sell();
        let second = release("-enabled -dbPath logs/../logs");
        assert_eq!(second.path(), path);
        sell();
        drop(second);
        assert_eq!(release("-enabled -dbPath logs -commitMode direct").path(), None);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    assert_eq!(ran.said(), ["telemetry: +TURTLES: the log has already begun; calls go there"]);
    let lines = lines_of_one(&open(&log_in(&ran.folder.path().join("logs"))));
    assert_eq!(lines, ["CallEnter sell -", "CallLeave sell"].repeat(2));
}

/// Without its flushing thread nothing is recorded, as the line says.
#[test]
fn a_thread_that_cannot_start_is_reported() {
    let test = "a_thread_that_cannot_start_is_reported";
    let what = || {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = sizes.split(' ').next().unwrap().parse().unwrap();
        // SAFETY: the structure is writable; then it is read.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limit), 0);
            // Enough for the log, too little for the stack of a thread.
            limit.rlim_cur = pages * 4096 + (128 << 20);
            assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
        }
        let released = release("-enabled -dbPath logs");
        sell();
        assert_eq!(released.path(), None);
        let recorded = telemetry::control::of(&calls::events::CONTROL).recorded();
        assert_eq!(recorded, calls::events::Kinds::empty());
    };
    let environment = [("RUST_MIN_STACK", "268435456")];
    let Some(ran) = ran(test, &environment, what) else { return };
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
    assert!(ran.said()[0].starts_with("telemetry: +TURTLES: cannot start a thread"));
}

/// A log that cannot be written does not disturb the program.
#[test]
fn a_directory_that_cannot_be_made_is_reported() {
    let test = "a_directory_that_cannot_be_made_is_reported";
    let what = || {
        std::fs::write("file", "").unwrap();
        let released = release("-enabled -dbPath file/logs");
        sell();
        assert_eq!(released.path(), None);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
    assert!(ran.said()[0].contains("file/logs: cannot create the directory"), "{:?}", ran.said());
}

/// Runs a test of this program, and kills it some time after it printed a line `published N` with
/// at least this number. Returns the greatest number that it printed.
fn killed(test: &str, folder: &Path, delay: Duration, least: usize) -> usize {
    let mut command = common::command(test, &[]);
    let mut child = command.current_dir(folder).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut numbers = output.lines().map_while(Result::ok).filter_map(|line| {
        let (_, number) = line.split_once("published ")?;
        number.parse().ok()
    });
    let first = numbers.find(|number| *number >= least);
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    numbers.last().or(first).expect("a line")
}

/// T8: in the direct mode a killed program loses no call that was published: the first time after
/// more calls than the ring of its log holds. `CALLS_KILLS` makes it more kills.
#[test]
fn a_killed_program_keeps_its_calls_in_direct_mode() {
    const RING_SIZE: usize = 64 << 20;
    let test = "a_killed_program_keeps_its_calls_in_direct_mode";
    if std::env::var_os(PROCESS_VARIABLE).is_some() {
        let _released = release("-enabled -commitMode direct -dbPath logs");
        for count in 1..20_000_000 {
            sell();
            if count % 97 == 0 {
                println!("published {count}");
            }
        }
        return;
    }
    let kills: u64 = std::env::var("CALLS_KILLS").map_or(20, |kills| kills.parse().unwrap());
    for kill in 0..kills {
        let folder = tempfile::tempdir().unwrap();
        let delay = Duration::from_micros(kill * 7919 % 40_000);
        // A call takes 40 bytes.
        let least = if kill == 0 { RING_SIZE / 40 } else { 1 };
        let published = killed(test, folder.path(), delay, least);
        let path = log_in(&folder.path().join("logs"));
        assert!(kill > 0 || std::fs::metadata(&path).unwrap().len() > RING_SIZE as u64);
        let (mut count, mut next) = (0, "CallEnter");
        common::each(&open(&path), |event| {
            if &*event.registry.name == "calls" {
                assert_eq!(event.name(), next, "call {count}");
                next = if next == "CallEnter" { "CallLeave" } else { "CallEnter" };
                count += usize::from(next == "CallLeave");
            }
        });
        assert!(count >= published, "{count} of {published} calls");
    }
}

/// `-ringSize`: the log has that size, and the newest calls; its accounts state the others.
#[test]
fn a_ring_of_a_given_size_keeps_the_newest_calls() {
    let test = "a_ring_of_a_given_size_keeps_the_newest_calls";
    const COUNT: u64 = 100_000;
    let what = || {
        let _released = release("-enabled -commitMode direct -ringSize 1M -dbPath logs");
        (0..COUNT).for_each(|_| assert_eq!(sell(), 1));
    };
    let Some(ran) = ran(test, &[], what) else { return };
    let path = log_in(&ran.folder.path().join("logs"));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    let log = open(&path);
    let mut found = 0;
    common::each(&log, |event| found += u64::from(&*event.registry.name == "calls"));
    let overwritten: u64 = log.accounts().iter().map(|account| account.overwritten).sum();
    assert_eq!(found + overwritten, 2 * COUNT);
    assert!(found > (1 << 19) / 40, "{found}");
}

/// T15: the time of day of each call is known when the recording ends, while the program goes on.
/// `.ring.sync`: a thousand flushes put few clock syncs.
#[test]
fn a_capture_in_direct_mode_tells_the_time() {
    let what = || {
        let released = release("-enabled -commitMode direct -dbPath logs");
        sell();
        let path = released.path().unwrap();
        drop(released);
        (0..1000).for_each(|_| telemetry::flush());
        let log = open_partly(&path);
        let mut times = Vec::new();
        common::each(&log, |event| {
            times.extend((&*event.registry.name == "calls").then(|| event.wall_time()));
        });
        let now = std::time::SystemTime::now();
        assert_eq!(times.len(), 2);
        let syncs = log.streams()[0].syncs.len();
        assert!((2..64).contains(&syncs), "{syncs}");
        for time in times {
            let age = time.and_then(|time| now.duration_since(time).ok());
            assert!(age.is_some_and(|age| age < Duration::from_secs(60)), "{time:?}");
        }
    };
    let _ = ran("a_capture_in_direct_mode_tells_the_time", &[], what);
}

/// T8, T9: in the staged mode a killed program loses at most one interval.
#[test]
fn a_killed_program_loses_an_interval_in_staged_mode() {
    let test = "a_killed_program_loses_an_interval_in_staged_mode";
    if std::env::var_os(PROCESS_VARIABLE).is_some() {
        let released = release("-enabled -intervalMillis 50 -dbPath logs");
        let path = released.path().unwrap();
        sell();
        // The thread flushes, while this thread does nothing.
        let begin = Instant::now();
        while lines_of_one(&open_partly(&path)).is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(60), "no flush");
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("published 1");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(killed(test, folder.path(), Duration::ZERO, 1), 1);
    let log = eventlog::reader::Log::open(log_in(&folder.path().join("logs"))).unwrap();
    assert_eq!(lines_of_one(&log), ["CallEnter sell -", "CallLeave sell"]);
}

/// T10: a flush by `tick` writes what a flush by the thread writes.
#[test]
fn a_tick_writes_what_the_thread_writes() {
    const INTERVAL: u64 = 500;
    let test = "a_tick_writes_what_the_thread_writes";
    let what = || {
        let options = format!("-intervalMillis {INTERVAL} -scheduleMode ev");
        let released = release(&format!("-enabled {options} -dbPath logs"));
        let path = released.path().unwrap();
        let lines = || lines_of_one(&open_partly(&path));
        let begin = Instant::now();
        sell();
        released.tick();
        let is_early = begin.elapsed() < Duration::from_millis(INTERVAL);
        assert!(lines().is_empty() || !is_early, "the interval is not over");
        std::thread::sleep(Duration::from_millis(INTERVAL + 50));
        assert!(lines().is_empty() || !is_early, "a thread flushes");
        released.tick();
        assert_eq!(lines(), ["CallEnter sell -", "CallLeave sell"]);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    let lines = lines_of_one(&open(&log_in(&ran.folder.path().join("logs"))));
    assert_eq!(lines, ["CallEnter sell -", "CallLeave sell"]);
}

/// Opens a log that its program still writes.
fn open_partly(path: &Path) -> eventlog::reader::Log {
    eventlog::reader::Log::open(path).unwrap()
}

/// T11: the name of the log.
#[test]
fn the_log_has_an_absolute_path_with_the_process() {
    let test = "the_log_has_an_absolute_path_with_the_process";
    let what = || {
        let released = release("-enabled -dbPath a/../logs%p -dbPrefix 5%%");
        let name = format!("logs%p/5%%-{}.log", std::process::id());
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(released.path(), Some(here.join(name)));
        assert!(released.path().unwrap().is_file());
        drop(released);
    };
    let folder = |ran: &common::Ran| ran.files();
    let Some(ran) = ran(test, &[], || {
        std::fs::create_dir("a").unwrap();
        what();
    }) else {
        return;
    };
    assert_eq!(folder(&ran), ["a", "logs%p"]);
}

/// T12: `-debug` prints a line for the beginning and the end of each call.
#[test]
fn debug_prints_each_call() {
    let what = || {
        let _released = release("-enabled -debug -dbPath logs");
        sell();
    };
    let Some(ran) = ran("debug_prints_each_call", &[], what) else { return };
    let expected = ["telemetry: CallEnter release::sell", "telemetry: CallLeave release::sell"];
    assert_eq!(ran.said(), expected);
    let lines = lines_of_one(&open(&log_in(&ran.folder.path().join("logs"))));
    assert_eq!(lines, ["CallEnter sell -", "CallLeave sell"]);
}

/// T19: a forked child has a log of its own, with the names of all functions.
#[test]
fn a_forked_child_has_a_log_of_its_own() {
    let test = "a_forked_child_has_a_log_of_its_own";
    let what = || {
        let released = release("-enabled -dbPath logs");
        sell();
        // SAFETY: the child calls what this thread may call; it ends by `exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            sell();
            sell();
            let name = format!("turtles-{}.log", std::process::id());
            let is_own = released.path().is_some_and(|path| path.ends_with(&name));
            std::process::exit(i32::from(!is_own));
        }
        let mut status = 0;
        // SAFETY: the child of this process; the status is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        std::fs::write("child", child.to_string()).unwrap();
        std::fs::write("parent", std::process::id().to_string()).unwrap();
        drop(released);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    for (who, count) in [("parent", 1), ("child", 2)] {
        let process = std::fs::read_to_string(ran.folder.path().join(who)).unwrap();
        let log = ran.log_named(&format!("logs/turtles-{process}.log"));
        assert_eq!(lines_of_one(&log), ["CallEnter sell -", "CallLeave sell"].repeat(count));
        let sources = common::sources(&log);
        assert!(sources.contains_key("sell") && sources.contains_key("serve"), "{sources:?}");
    }
}

/// T19: a forked child ends the recording, and leaves the child's own threads alone.
#[test]
fn a_forked_child_may_drop_the_guard() {
    let what = || {
        let released = release("-enabled -dbPath logs");
        // SAFETY: the child calls what this thread may call; it ends by `exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The C library gives it the memory of the thread that the child lacks.
            let thread = std::thread::spawn(|| std::thread::sleep(Duration::from_millis(100)));
            drop(released);
            // The join of a detached thread panics.
            let join = std::panic::AssertUnwindSafe(|| thread.join());
            let joined = std::panic::catch_unwind(join);
            std::process::exit(i32::from(!matches!(joined, Ok(Ok(())))));
        }
        let mut status = 0;
        // SAFETY: the child of this process; the status is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    };
    ran("a_forked_child_may_drop_the_guard", &[], what);
}

/// T19: a forked child may have a flushing thread of its own: killed, it lacks an interval at most.
#[test]
fn a_forked_child_that_resumes_is_flushed_by_a_thread() {
    let what = || {
        let mut released = release("-enabled -intervalMillis 50 -dbPath logs");
        // SAFETY: the child calls what this thread may call; it waits for its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            released.resume();
            sell();
            std::thread::sleep(Duration::from_secs(60));
            std::process::exit(1);
        }
        let name = format!("logs/turtles-{child}.log");
        let begin = Instant::now();
        // The log may have no header yet.
        let has_calls = || {
            let log = eventlog::reader::Log::open(Path::new(&name));
            log.is_ok_and(|log| !lines_of_one(&log).is_empty())
        };
        while !has_calls() {
            assert!(begin.elapsed() < Duration::from_secs(60), "no flush");
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: a child of this process, which has not waited for it.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
    };
    ran("a_forked_child_that_resumes_is_flushed_by_a_thread", &[], what);
}

/// The example takes its options, prints the rest, and leaves a log.
#[test]
fn the_example_prints_the_arguments_that_are_left() {
    let folder = tempfile::tempdir().unwrap();
    // As cargo builds it for `cargo test --workspace`: after that, nothing is left to build.
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-q", "--locked", "--workspace", "--example", "shop"]);
    build.args(["--profile", if cfg!(debug_assertions) { "dev" } else { "release" }]);
    assert!(build.status().unwrap().success());
    let program = std::env::current_exe().unwrap();
    let example = program.ancestors().nth(2).unwrap().join("examples/shop");
    let output = Command::new(example)
        .args(["a", "+TURTLES", "-enabled", "-dbPath"])
        .arg(folder.path().join("t"))
        .args(["-TURTLES", "b"])
        .output()
        .unwrap();
    assert_eq!((&*output.stdout, &*output.stderr), (&b"a b\n"[..], &b""[..]));
    let lines = lines_of_one(&open(&log_in(&folder.path().join("t"))));
    let calls: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("CallEnter shop::")).collect();
    let sell = ["shop::Shop::sell", "shop::price", "shop::hash", "shop::Shop::store"];
    let names: Vec<&str> = calls.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, [&["serve"][..], &sell, &sell].concat());
}
