//! The soak: everything at once for a while; in the end every count must add up.
//!
//! ```text
//!  8 threads, which end and start ∥ a 1 kHz signal ∥ flushes, masks, labels, forks
//!     requested = recorded + discarded · recorded = in the log + overwritten + io · in order:
//!     in the program, and in each child with its own log
//! ```
//!
//! Ignored by default; `./proofs` or `cargo test -p tests --test soak -- --ignored` runs it for
//! `TELEMETRY_SOAK_SECONDS`, by default 60. Design: `.req.loss`, `.sol.fork` in
//! `design/telemetry.md`.
#![cfg(unix)]
#![expect(unsafe_code, reason = "a signal handler, a timer, fork")]

use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use telemetry::{control, event};

telemetry::events! {
    /// Events of the soak.
    registry "soak" version(1, 0, 0);
    kinds standard;

    /// By a thread.
    Beat(1, always, Object) {
        /// which
        index: W,
        /// its complement
        not_index: W,
    }
    /// By the signal handler.
    Tick(2, always, Pool) {
        /// which
        index: W,
        /// its complement
        not_index: W,
    }
    /// By a thread, of a kind that is switched on and off.
    Switched(3, always, Seg) {
        /// which
        index: W,
        /// its complement
        not_index: W,
    }
}

const THREAD_COUNT: usize = 8;
/// The events that a thread records without a pause.
const BURST: usize = 2000;
const PAUSE: Duration = Duration::from_millis(50);
const BURSTS_PER_THREAD: usize = 10;
const ROUNDS_PER_FORK: usize = 15;
const SIGNAL_INTERVAL_US: libc::suseconds_t = 1000;

static REQUESTED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// Handlers that are running, and whether they must stop recording: the signal also reaches the
/// test's main thread, which outlives the test.
static TICKING: AtomicUsize = AtomicUsize::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

extern "C" fn tick(_: libc::c_int) {
    TICKING.fetch_add(1, Ordering::SeqCst);
    if !IS_OVER.load(Ordering::SeqCst) {
        let index = REQUESTED[1].fetch_add(1, Ordering::Relaxed);
        event!(Tick, index, !index);
    }
    TICKING.fetch_sub(1, Ordering::SeqCst);
}

fn set_timer(interval: libc::suseconds_t) {
    let time = libc::timeval { tv_sec: 0, tv_usec: interval };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: reads a structure that lives through the call.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) }, 0);
}

/// Allows or blocks the signal in this thread, and in threads that it starts.
fn take_signals(is_wanted: bool) {
    let how = if is_wanted { libc::SIG_UNBLOCK } else { libc::SIG_BLOCK };
    // SAFETY: the set is filled before use, and lives through the calls.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGALRM);
        assert_eq!(libc::pthread_sigmask(how, &signals, std::ptr::null_mut()), 0);
    }
}

/// Returns whether time is left.
type IsOn<'a> = &'a (dyn Fn() -> bool + Sync);

fn record_burst() {
    for _ in 0..BURST {
        let index = REQUESTED[0].fetch_add(1, Ordering::Relaxed);
        event!(Beat, index, !index);
        if index.is_multiple_of(4) {
            let index = REQUESTED[2].fetch_add(1, Ordering::Relaxed);
            event!(Switched, index, !index);
        }
    }
}

/// Starts one recording thread after the other.
fn record(is_on: IsOn<'_>) {
    while is_on() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                take_signals(true);
                for _ in 0..BURSTS_PER_THREAD {
                    record_burst();
                    std::thread::sleep(PAUSE);
                }
            });
        });
    }
}

/// Forks a child that records, writes its counts, and ends without an exit. Its flushed events are
/// in its own log, and none in its parent's.
fn fork() {
    // SAFETY: the child calls the runtime and the allocator, which allow that, and `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let is_right = std::panic::catch_unwind(record_as_child).is_ok();
            libc::_exit(i32::from(!is_right));
        }
        assert!(child > 0);
        let mut status = 0;
        while libc::waitpid(child, &mut status, 0) != child {}
        assert_eq!(status, 0, "a child died");
    }
}

fn record_as_child() {
    REQUESTED.iter().for_each(|requested| requested.store(0, Ordering::Relaxed));
    record_burst();
    telemetry::label_address(7, telemetry::add_string("a child"));
    control::of(&CONTROL).set_output(Kinds::Seg);
    telemetry::flush();
    tell(&format!("told-{}", std::process::id()));
}

fn disturb(is_on: IsOn<'_>) {
    for round in 0usize.. {
        if !is_on() {
            return;
        }
        match round % 4 {
            0 => telemetry::flush(),
            1 => control::of(&CONTROL).set_output(Kinds::Seg),
            2 => telemetry::label_address(round, telemetry::add_string(format!("round {round}"))),
            _ => control::of(&CONTROL).reset_output(Kinds::Seg),
        }
        // The time between two forks varies.
        if round.is_multiple_of(ROUNDS_PER_FORK) {
            fork();
        }
        std::thread::sleep(Duration::from_millis(7));
    }
}

fn soak(time: Duration) {
    let done = AtomicBool::new(false);
    let begin = Instant::now();
    let is_on = || !done.load(Ordering::Relaxed) && begin.elapsed() < time;
    // SAFETY: the handler calls only the runtime, which allows that.
    unsafe { libc::signal(libc::SIGALRM, tick as extern "C" fn(i32) as libc::sighandler_t) };
    // The stream must exist before a fork, so that children know their parent.
    record_burst();
    // Otherwise all signals reach this thread, which only waits.
    take_signals(false);
    set_timer(SIGNAL_INTERVAL_US);
    std::thread::scope(|scope| {
        (0..THREAD_COUNT).for_each(|_| drop(scope.spawn(|| record(&is_on))));
        scope.spawn(|| disturb(&is_on));
    });
    set_timer(0);
    IS_OVER.store(true, Ordering::SeqCst);
    while TICKING.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
    control::of(&CONTROL).set_output(Kinds::Seg);
    telemetry::flush();
    tell("told");
}

/// Checks the counts of this process, and writes to a file how many events of each kind the log
/// must have.
fn tell(file: &str) {
    let mut told = String::new();
    for (kind, requested) in [Kinds::Object, Kinds::Pool, Kinds::Seg].into_iter().zip(&REQUESTED) {
        let losses = telemetry::losses_of(&CONTROL, kind);
        let requested = requested.load(Ordering::Relaxed) as u64;
        if file == "told" {
            println!("{losses:?}");
        }
        // Requests of a handler before its thread has a ring are counted as nested.
        assert_eq!(losses.requested, requested, "requested = recorded + discarded: {losses:?}");
        told += &format!("{} ", losses.recorded - losses.overwritten - losses.io);
    }
    std::fs::write(file, told).unwrap();
}

/// Checks that a log has the events that its process counted, each once, whole and in order.
/// Returns the identities of the stream and of its parent.
fn reconcile(log: &Path, told_by: &Path) -> ([u8; 16], [u8; 16]) {
    let told = std::fs::read_to_string(told_by).unwrap();
    let told: Vec<u64> = told.split_whitespace().map(|count| count.parse().unwrap()).collect();
    let log = Log::open(log).unwrap();
    assert!(log.faults().is_empty() && log.streams().len() == 1, "{:?}", log.faults());
    let stream = &log.streams()[0];
    assert_eq!(log.is_closed(), stream.parent == [0; 16], "only children leave their logs open");
    let mut found = [0u64; 3];
    let mut newest = BTreeMap::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let (Some(Value::W(index)), Some(Value::W(not_index)), "soak") =
            (event.param_at(0), event.param_at(1), &*event.registry.name)
        else {
            continue;
        };
        assert_eq!(index, !not_index, "torn");
        found[usize::from(event.code()) - 1] += 1;
        let before = newest.insert((event.thread, event.kind), index);
        assert!(before.is_none_or(|before| before < index), "thread {}", event.thread);
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    assert_eq!(found[..], told[..], "recorded = in the log + overwritten + io: {told_by:?}");
    (stream.uuid, stream.parent)
}

#[test]
#[ignore = "takes a minute: ./proofs runs it"]
fn a_soak_of_eight_threads_loses_no_uncounted_event() {
    soak_into("a_soak_of_eight_threads_loses_no_uncounted_event", "mpsio.log");
}

/// `.sol.directory`
#[test]
#[ignore = "takes a minute: ./proofs runs it"]
fn a_soak_into_a_directory_loses_no_uncounted_event() {
    soak_into("a_soak_into_a_directory_loses_no_uncounted_event", "dir:mpsio.log?files=4");
}

fn soak_into(test: &str, destination: &str) {
    const VARIABLE: &str = "TELEMETRY_SOAK_PROCESS";
    let seconds = std::env::var("TELEMETRY_SOAK_SECONDS").map_or(60, |text| text.parse().unwrap());
    if std::env::var_os(VARIABLE).is_some() {
        return soak(Duration::from_secs(seconds));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--nocapture", "--exact", test]).env(VARIABLE, "1");
    command.current_dir(folder.path()).env("MPS_TELEMETRY_CONTROL", "Object Pool");
    command.env("MPS_TELEMETRY_FILENAME", destination);
    let output = command.output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    println!("{stdout}{stderr}");
    let (uuid, _) = reconcile(&folder.path().join("mpsio.log"), &folder.path().join("told"));
    let files = std::fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let pids: Vec<_> = names.iter().filter_map(|name| name.strip_prefix("told-")).collect();
    for pid in &pids {
        let log = folder.path().join(format!("mpsio.log-{pid}"));
        let (_, parent) = reconcile(&log, &folder.path().join(format!("told-{pid}")));
        assert_eq!(parent, uuid, "the parent of {pid}");
    }
    println!("{} children", pids.len());
    assert!(pids.len() > 1 && names.len() == 2 * (pids.len() + 1), "a log for each: {names:?}");
}
