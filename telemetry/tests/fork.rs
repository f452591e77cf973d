//! Forked children: each has a log of its own, and no log is lost.
//!
//! Under load, with the reader: `tests/tests/fork.rs`.
#![expect(unsafe_code, reason = "fork, signals, limits")]

#[path = "common/advice.rs"]
mod advice;
mod common;

use common::{Kinds, Pooled, Stream, Three, WORD, ran};
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use telemetry::{Losses, Plinth, PlinthError, Writer, control, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

/// Runs `child` in a forked child, waits for its exit, and returns its number. A panic of the child
/// fails this process.
fn forked(child: impl FnOnce()) -> i32 {
    // SAFETY: the child continues with this thread alone.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::exit(i32::from(!done)) };
    }
    wait_for(pid);
    pid
}

fn wait_for(pid: i32) {
    let mut status = 1;
    // SAFETY: waits for a child, and writes to `status`.
    unsafe { assert_eq!(libc::waitpid(pid, &mut status, 0), pid) };
    assert_eq!(status, 0, "the child failed");
}

fn pid() -> usize {
    std::process::id() as usize
}

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, pid(), index, index));
}

/// Returns the names of the logs in a folder.
fn logs(folder: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains("log")).collect();
    names.sort();
    names
}

/// Returns the indexes of `Three` in a log, after checking that one process recorded all.
fn indexes(stream: &Stream, pid: usize) -> Vec<u64> {
    assert!(stream.words(1, 0).iter().all(|who| *who == pid as u64), "{:?}", stream.words(1, 0));
    stream.words(1, 1)
}

fn numbers(count: u64) -> Vec<u64> {
    (0..count).collect()
}

/// Returns UUID, parent, process, parent process of the header.
fn header(log: &[u8]) -> ([u8; 16], [u8; 16], u64, u64) {
    let uuid = |at: usize| log[at..at + 16].try_into().unwrap();
    (uuid(32), uuid(64), common::u64_at(log, 80), common::u64_at(log, 88))
}

/// 2.1, parent; `.store.intern`, `.store.label`, `.store.source`, `.store.thread`, `.header.uuid`
#[test]
fn a_childs_log_names_its_parent() {
    let test = "a_childs_log_names_its_parent";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        let name = telemetry::add_string("before");
        telemetry::label_address(0x77, name);
        let source = telemetry::Source { line: 5, file: "a.rs", ..Default::default() };
        telemetry::source(std::ptr::without_provenance::<u8>(0x77), source);
        telemetry::label_address(0x78, telemetry::add_string("x".repeat(3000)));
        record(500);
        std::fs::write("parent", pid().to_string()).unwrap();
        forked(|| {
            assert_eq!(telemetry::losses(), Losses::default());
            assert_eq!(telemetry::store_losses(), Losses::default());
            assert_eq!((telemetry::status().size, telemetry::status().block_count), (0, 0));
            telemetry::label_address(0x77, name);
            record(300);
            std::fs::write("child", pid().to_string()).unwrap();
            forked(|| {
                record(200);
                std::fs::write("grandchild", pid().to_string()).unwrap();
            });
            (300..400usize).for_each(|index| event!(Three, pid(), index, index));
        });
        (500..700usize).for_each(|index| event!(Three, pid(), index, index));
    }) else {
        return;
    };
    assert_eq!(ran.said(), Vec::<&str>::new());
    let pids = ["parent", "child", "grandchild"]
        .map(|name| String::from_utf8(ran.file(name)).unwrap().parse::<usize>().unwrap());
    let [_, child, grandchild] = pids.map(|pid| format!("mpsio.log-{pid}"));
    let names = ["mpsio.log".to_owned(), child, grandchild];
    let files = names.each_ref().map(|name| ran.file(name));
    let mut sorted = names.to_vec();
    sorted.sort();
    assert_eq!(logs(ran.folder.path()), sorted, "and no others");
    let mut parent = ([0; 16], 0);
    let forked = common::read(&files[0]).of(1)[499].ticks;
    for ((log, pid), count) in files.iter().zip(pids).zip([700, 400, 200]) {
        let stream = common::read(log);
        assert_eq!(indexes(&stream, pid), numbers(count));
        assert!(stream.ended && stream.holes == 0);
        let (uuid, its_parent, its_pid, _) = header(log);
        assert_eq!((its_parent, its_pid), (parent.0, pid as u64));
        if parent.1 != 0 {
            assert_eq!(header(log).3, parent.1);
        }
        parent = (uuid, its_pid);
        let strings: Vec<_> = stream.store(0xFF01).iter().map(|e| e.string(1)).collect();
        assert_eq!(strings, ["before".to_owned(), "x".repeat(3000)]);
        let labels: Vec<_> = stream.store(0xFF02).iter().map(|e| e.word(0)).collect();
        let again = if count == 700 { &[][..] } else { &[0x77] };
        assert_eq!(labels, [&[0x77, 0x78], again].concat());
        let sources = stream.store(0xFF06);
        let sources: Vec<_> = sources.iter().map(|e| (e.word(0), e.string_at(24 + WORD))).collect();
        assert_eq!(sources, [(0x77, "a.rs".to_owned())]);
        // The one thread has its number in the child.
        let threads: Vec<_> = stream.store(0xFF03).iter().map(|e| e.word(1)).collect();
        assert!(threads.len() == 1 && (count == 700 || threads[0] == pid as u64), "{threads:?}");
        let first = stream.events.values().map(|event| event.ticks).min().unwrap();
        assert!(first > forked || count == 700, "the child's ticks are older than the fork");
    }
}

#[test]
fn a_child_that_records_nothing_creates_no_file() {
    let test = "a_child_that_records_nothing_creates_no_file";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        record(500);
        forked(|| {
            telemetry::label_address(0x77, telemetry::add_string("nobody needs it"));
            telemetry::flush();
        });
        forked(|| ());
    }) else {
        return;
    };
    assert_eq!(logs(ran.folder.path()), ["mpsio.log"]);
    assert_eq!(ran.stream().of(1).len(), 500);
}

#[test]
fn percent_p_names_the_child_in_a_childs_log() {
    let test = "percent_p_names_the_child_in_a_childs_log";
    let Some(ran) = ran(test, &[ALL, SMALL, ("MPS_TELEMETRY_FILENAME", "%p.log")], || {
        record(10);
        let child = forked(|| record(20));
        std::fs::write("pids", format!("{} {child}", pid())).unwrap();
    }) else {
        return;
    };
    let pids = String::from_utf8(ran.file("pids")).unwrap();
    for (pid, count) in pids.split(' ').zip([10, 20]) {
        let stream = common::read(&ran.file(&format!("{pid}.log")));
        assert_eq!(indexes(&stream, pid.parse().unwrap()), numbers(count));
    }
    assert_eq!(logs(ran.folder.path()).len(), 2);
}

/// Half of the children end before the parent's first event; the others record at the same time.
#[test]
#[cfg(target_os = "linux")]
fn children_forked_before_the_first_event_write_logs() {
    let test = "children_forked_before_the_first_event_write_logs";
    const COUNT: usize = 100;
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        let begin_child = || {
            // SAFETY: the child continues with this thread alone.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                record(20);
                // SAFETY: ends the child.
                unsafe { libc::exit(0) };
            }
            pid
        };
        let early: Vec<_> = (0..COUNT / 2).map(|_| begin_child()).collect();
        early.iter().for_each(|child| wait_for(*child));
        let late: Vec<_> = (0..COUNT / 2).map(|_| begin_child()).collect();
        record(500);
        late.iter().for_each(|child| wait_for(*child));
        std::fs::write("parent", pid().to_string()).unwrap();
        let children: Vec<_> = early.iter().chain(&late).map(i32::to_string).collect();
        std::fs::write("children", children.join(" ")).unwrap();
    }) else {
        return;
    };
    assert_eq!(ran.said(), Vec::<&str>::new());
    let text = |name: &str| String::from_utf8(ran.file(name)).unwrap();
    assert_eq!(logs(ran.folder.path()).len(), 1 + COUNT);
    assert_eq!(indexes(&ran.stream(), text("parent").parse().unwrap()), numbers(500));
    for child in text("children").split(' ') {
        let stream = common::read(&ran.file(&format!("mpsio.log-{child}")));
        assert_eq!(indexes(&stream, child.parse().unwrap()), numbers(20));
    }
}

extern "C" fn record_one(_: libc::c_int) {
    record(1);
}

/// Nothing that the parent records later takes the cold path.
#[test]
fn a_child_forked_after_a_handlers_event_writes_a_log() {
    let test = "a_child_forked_after_a_handlers_event_writes_a_log";
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: a handler that only records.
        unsafe {
            let handler = record_one as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::signal(libc::SIGUSR1, handler);
            libc::raise(libc::SIGUSR1);
        }
        let child = forked(|| record(100));
        std::fs::write("pids", format!("{} {child}", pid())).unwrap();
    }) else {
        return;
    };
    let pids = String::from_utf8(ran.file("pids")).unwrap();
    let (parent, child) = pids.split_once(' ').unwrap();
    assert_eq!(indexes(&ran.stream(), parent.parse().unwrap()), numbers(1));
    let stream = common::read(&ran.file(&format!("mpsio.log-{child}")));
    assert_eq!(indexes(&stream, child.parse().unwrap()), numbers(100));
}

/// A plinth that counts calls, and states whether a child can begin a stream.
struct Counting {
    can_begin: bool,
}

static CREATED: AtomicUsize = AtomicUsize::new(0);
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl Plinth for Counting {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        CREATED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write_block(&self, _: u64, _: &[u8]) -> Result<(), PlinthError> {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn leave(&self) -> bool {
        self.can_begin
    }
}

#[test]
fn an_own_plinth_decides_whether_a_child_has_a_stream() {
    let test = "an_own_plinth_decides_whether_a_child_has_a_stream";
    for can_begin in [false, true] {
        let variable = ("CAN_BEGIN", if can_begin { "1" } else { "" });
        let ran = ran(test, &[ALL, SMALL, variable], || {
            let can_begin = std::env::var("CAN_BEGIN").unwrap() == "1";
            telemetry::setup().plinth(Counting { can_begin }).start().unwrap();
            record(500);
            let before = [&CREATED, &WRITTEN].map(|count| count.swap(0, Ordering::Relaxed));
            assert!(before[0] == 1 && before[1] >= 4, "{before:?}");
            forked(|| {
                record(500);
                control::set_output_everywhere(Kinds::Object);
                telemetry::flush();
                let asked = [&CREATED, &WRITTEN].map(|count| count.load(Ordering::Relaxed));
                assert_eq!(asked[0], usize::from(can_begin));
                assert_eq!(asked[1] != 0, can_begin, "{asked:?}");
                let losses = telemetry::losses();
                assert_eq!((losses.requested, losses.recorded, losses.io), (500, 500, 0));
            });
        });
        if ran.is_none() {
            return;
        }
    }
}

/// `.sol.writer`
#[test]
#[cfg(target_os = "linux")]
fn a_child_starts_its_own_writer_thread() {
    let test = "a_child_starts_its_own_writer_thread";
    let Some(ran) = ran(test, &[ALL, SMALL, ("MPS_TELEMETRY_WRITER", "thread")], || {
        let writers = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
            let names = tasks.map(|task| name(task.unwrap()).unwrap());
            names.filter(|name| name == "telemetry\n").count()
        };
        record(1000);
        assert_eq!(writers(), 1);
        let child = forked(|| {
            assert_eq!(writers(), 0);
            record(5000);
            telemetry::flush();
            assert_eq!(writers(), 1);
            (5000..6000usize).for_each(|index| event!(Three, pid(), index, index));
        });
        std::fs::write("child", child.to_string()).unwrap();
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 1000);
    let child = String::from_utf8(ran.file("child")).unwrap();
    let stream = common::read(&ran.file(&format!("mpsio.log-{child}")));
    assert_eq!(indexes(&stream, child.parse().unwrap()), numbers(6000));
}

/// The process for which the interrupted loop records.
static WHO: AtomicUsize = AtomicUsize::new(0);
static FORK_COUNT: AtomicUsize = AtomicUsize::new(0);
const FORKS: usize = 60;
const CHILD_EVENTS: usize = 300;

/// The thread that the timer interrupts.
static INTERRUPTED: AtomicUsize = AtomicUsize::new(0);

/// Forks; the child continues the interrupted code.
extern "C" fn fork_now(signal: libc::c_int) {
    let interrupted = INTERRUPTED.load(Ordering::Relaxed) as libc::pthread_t;
    // SAFETY: the thread lives as long as the timer.
    unsafe {
        if libc::pthread_self() != interrupted {
            libc::pthread_kill(interrupted, signal);
            return;
        }
    }
    if WHO.load(Ordering::Relaxed) != pid() || FORK_COUNT.load(Ordering::Relaxed) == FORKS {
        return;
    }
    FORK_COUNT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the runtime allows a fork anywhere, and no other code here holds a lock.
    if unsafe { libc::fork() } == 0 {
        WHO.store(pid(), Ordering::Relaxed);
        FORK_COUNT.store(FORKS, Ordering::Relaxed);
        event!(Pooled, pid());
    }
}

fn with_timer() {
    // SAFETY: a static handler; structures that live through the calls.
    unsafe {
        INTERRUPTED.store(libc::pthread_self() as usize, Ordering::Relaxed);
        let handler = fork_now as extern "C" fn(libc::c_int);
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        let each = libc::timeval { tv_sec: 0, tv_usec: 1009 };
        let timer = libc::itimerval { it_interval: each, it_value: each };
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
}

/// The handler may interrupt the fast path or the cold path: the parent's log stays whole, and the
/// child's log has the child's events.
#[test]
fn a_fork_in_a_handler_during_recording_harms_no_log() {
    let test = "a_fork_in_a_handler_during_recording_harms_no_log";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        let parent = pid();
        event!(Pooled, parent);
        WHO.store(parent, Ordering::Relaxed);
        with_timer();
        let mut index = 0usize;
        // The child leaves the loop in its first round.
        while WHO.load(Ordering::Relaxed) == parent && FORK_COUNT.load(Ordering::Relaxed) < FORKS {
            event!(Three, WHO.load(Ordering::Relaxed), index, index);
            index += 1;
        }
        if pid() != parent {
            record(CHILD_EVENTS);
            let losses = telemetry::losses();
            let told = format!("{} {} {}", losses.requested, losses.recorded, losses.nested);
            std::fs::write(format!("losses-{}", pid()), told).unwrap();
            // SAFETY: ends the child.
            unsafe { libc::exit(0) };
        }
        std::fs::write("count", index.to_string()).unwrap();
        // SAFETY: ignores the timer's signal.
        unsafe { libc::signal(libc::SIGALRM, libc::SIG_IGN) };
        // SAFETY: waits for all children.
        while unsafe { libc::wait(std::ptr::null_mut()) } > 0 {}
    }) else {
        return;
    };
    let parent = ran.file("mpsio.log");
    let count: u64 = String::from_utf8(ran.file("count")).unwrap().parse().unwrap();
    let stream = common::read(&parent);
    assert_eq!((stream.words(1, 1), stream.ended), (numbers(count), true));
    let (mut children, mut cold, mut fast) = (0, 0, 0);
    for name in logs(ran.folder.path()) {
        let Some(pid) = name.strip_prefix("mpsio.log-") else { continue };
        let log = ran.file(&name);
        assert_eq!(header(&log).1, header(&parent).0, "2.1, parent");
        let stream = common::read(&log);
        // Both processes continue the interrupted event, so both may record it.
        let all = stream.words(1, 1);
        let own = &all[usize::from(all.len() > CHILD_EVENTS)..];
        assert_eq!((own, stream.ended), (&*numbers(CHILD_EVENTS as u64), true));
        let told = String::from_utf8(ran.file(&format!("losses-{pid}"))).unwrap();
        let told: Vec<usize> = told.split(' ').map(|n| n.parse().unwrap()).collect();
        assert_eq!(told[1], all.len() + stream.of(5).len(), "recorded events are in the log");
        assert_eq!(told[0], told[1] + told[2], "nested events are counted: {told:?}");
        assert!((0..=2).contains(&told[2]), "{told:?}");
        *(if told[2] == 0 { &mut fast } else { &mut cold }) += 1;
        children += 1;
    }
    assert_eq!(children, FORKS);
    assert!(cold > 0 && fast > 0, "{cold} in the cold path, {fast} elsewhere");
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_writes_its_own_log_where_advice_is_ignored() {
    let test = "a_child_writes_its_own_log_where_advice_is_ignored";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        advice::ignore();
        record(500);
        forked(|| record(300));
        (500..600usize).for_each(|index| event!(Three, pid(), index, index));
    }) else {
        return;
    };
    let read = |name: &String| common::read(&ran.file(name)).words(1, 1);
    assert!(logs(ran.folder.path()).iter().map(read).eq([numbers(600), numbers(300)]));
}

const FILENAME: &str = "MPS_TELEMETRY_FILENAME";

/// `.sol.msg`: also while other threads use the connection, and in a tee.
#[test]
fn each_child_of_a_sending_program_opens_a_connection() {
    const CHILDREN: usize = 20;
    const COUNT: usize = 500;
    let test = "each_child_of_a_sending_program_opens_a_connection";
    let receiver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let received = std::thread::spawn({
        let receiver = receiver.try_clone().unwrap();
        move || {
            let read = |_| {
                let (mut connection, _) = receiver.accept().unwrap();
                std::thread::spawn(move || {
                    let mut bytes = Vec::new();
                    connection.read_to_end(&mut bytes).unwrap();
                    bytes
                })
            };
            let all: Vec<_> = (0..=CHILDREN).map(read).collect();
            all.into_iter().map(|log| log.join().unwrap()).collect::<Vec<_>>()
        }
    });
    let hosts = format!("tee:tcp://{},mpsio.log", receiver.local_addr().unwrap());
    let Some(ran) = ran(test, &[ALL, SMALL, (FILENAME, &hosts)], || {
        // Without this, the first fork could come before the first event: the child has no parent.
        telemetry::prepare();
        let (done, total) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        record(COUNT);
                        total.fetch_add(COUNT, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..CHILDREN {
                std::thread::sleep(std::time::Duration::from_millis(2));
                forked(|| record(COUNT));
            }
            done.store(true, Ordering::Relaxed);
        });
        std::fs::write("total", total.into_inner().to_string()).unwrap();
    }) else {
        return;
    };
    let logs = received.join().unwrap();
    assert!(ran.said().len() <= 1, "the receiver may be slow: {:?}", ran.said());
    let of_parent = ran.file("mpsio.log");
    let (parent, _, parent_pid, _) = header(&of_parent);
    let total: usize = String::from_utf8(ran.file("total")).unwrap().parse().unwrap();
    assert_eq!(common::read(&of_parent).of(1).len(), total);
    let mut uuids = std::collections::HashSet::new();
    for log in &logs {
        let (uuid, its_parent, pid, its_parent_pid) = header(log);
        assert!(uuids.insert(uuid), ".header.uuid");
        if pid != parent_pid {
            assert_eq!((its_parent, its_parent_pid), (parent, parent_pid));
            assert_eq!(indexes(&common::read(log), pid as usize), numbers(COUNT as u64));
            assert!(ran.file(&format!("mpsio.log-{pid}")) == *log, "the child's file in the tee");
        }
    }
    assert!(uuids.contains(&parent));
}

/// `.sol.msg`, `.sol.fork`
#[test]
fn percent_p_names_the_child_in_a_childs_socket() {
    let test = "percent_p_names_the_child_in_a_childs_socket";
    let receive = || {
        let receiver = UnixListener::bind(format!("at-{}", pid())).unwrap();
        record(10);
        telemetry::flush();
        let mut block = vec![0; 4096];
        let (mut connection, _) = receiver.accept().unwrap();
        connection.read_exact(&mut block).unwrap();
        assert_eq!(header(&block).2, pid() as u64);
        // The receiver must exist until the process has ended.
        std::mem::forget((receiver, connection));
    };
    let ran = ran(test, &[ALL, SMALL, (FILENAME, "unix:at-%p")], || {
        receive();
        forked(receive);
    });
    assert!(ran.is_none_or(|ran| ran.said().is_empty()));
}

extern "C" fn expect_one_thread() {
    let is_child = std::fs::read_to_string("parent").unwrap() != std::process::id().to_string();
    let count = std::fs::read_dir("/proc/self/task").unwrap().count();
    if is_child && count != 1 {
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(3) };
    }
}

/// The kernel may take seconds to remove a process that had two threads. A child that ends soon
/// therefore never starts the writer thread, neither by recording nor by its end.
#[test]
#[cfg(target_os = "linux")]
fn a_child_that_ends_soon_starts_no_writer_thread() {
    let test = "a_child_that_ends_soon_starts_no_writer_thread";
    let Some(ran) = ran(test, &[ALL, SMALL, ("MPS_TELEMETRY_WRITER", "thread")], || {
        std::fs::write("parent", std::process::id().to_string()).unwrap();
        // This function runs after the runtime's own.
        // SAFETY: the function is static.
        unsafe { libc::atexit(expect_one_thread) };
        record(10);
        (0..3).for_each(|_| _ = forked(|| record(1000)));
        let writer = || telemetry::status().writer;
        assert_eq!(writer(), Writer::Thread);
        forked(|| {
            record(1000);
            assert_eq!(writer(), Writer::None);
            record(20_000);
            assert_eq!(writer(), Writer::Thread, "the child runs on");
            // SAFETY: the call ends the process.
            unsafe { libc::_exit(0) };
        });
    }) else {
        return;
    };
    assert_eq!(logs(ran.folder.path()).len(), 5);
}

/// A child did not set the plinth up; and `0` in the environment chooses no kind on purpose.
#[test]
fn a_plinth_without_output_is_reported_once() {
    let test = "a_plinth_without_output_is_reported_once";
    let line = "telemetry: own.log: nothing was output of 3 events, since no kind is output; \
                choose kinds with Setup::output, or set MPS_TELEMETRY_CONTROL=all (=0 omits this \
                line)";
    let none = ("MPS_TELEMETRY_CONTROL", "0");
    for (environment, expected) in [(&[][..], &[line][..]), (&[none], &[])] {
        let Some(ran) = ran(test, environment, || {
            let plinth = telemetry::FilePlinth::new("own.log").unwrap();
            telemetry::setup().plinth(plinth).start().unwrap();
            (0..3usize).for_each(|index| event!(Pooled, index));
            forked(|| event!(Pooled, 3usize));
        }) else {
            return;
        };
        assert_eq!(ran.said(), expected);
    }
}
