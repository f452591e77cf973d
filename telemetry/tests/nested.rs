//! A signal interrupts recording ten thousand times a second, and its handler records.
//!
//! ```text
//!  thread   event ─ ev│ent ─ event ─ cold pa│th ─ event        same kind: recorded, or counted
//!  handler            └ event, event        └ event, event     as nested; other kinds: recorded
//! ```
//!
//! Design: `.sol.nested`, `.req.loss` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "timers and a signal handler")]

mod common;

use common::{CONTROL, Pooled, Three, ThreeSeg, ran};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use telemetry::{control, event};

const PERIOD_NS: libc::c_long = 100_000;
const DURATION: Duration = Duration::from_millis(3000);
/// The number of signals that makes a storm: on a busy machine it takes longer.
const SIGNAL_COUNT_MIN: u64 =
    DURATION.as_nanos() as u64 / PERIOD_NS as u64 * THREAD_COUNT as u64 / 4;
const THREAD_COUNT: usize = 2;
/// Added to the thread's number in events of its handler.
const HANDLER: usize = 1000;

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
    /// Signals that this thread handled.
    static SIGNAL_COUNT: Cell<usize> = const { Cell::new(0) };
}
/// Annotations that threads and handlers executed; all signals.
static BY_THREADS: AtomicU64 = AtomicU64::new(0);
static BY_HANDLERS: AtomicU64 = AtomicU64::new(0);
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Returns a value by which the test detects a changed event.
fn mix(thread: usize, index: usize) -> usize {
    (index as u64 ^ (thread as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize
}

extern "C" fn handle(_: libc::c_int) {
    // SAFETY: the call returns a pointer to this thread's error number.
    let errno = || unsafe { *libc::__errno_location() };
    let before = errno();
    let index = SIGNAL_COUNT.get();
    SIGNAL_COUNT.set(index + 1);
    let thread = THREAD.get() + HANDLER;
    event!(Three, thread, index, mix(thread, index));
    event!(ThreeSeg, thread, index, mix(thread, index));
    event!(Pooled, index);
    BY_HANDLERS.fetch_add(3, Ordering::Relaxed);
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    assert_eq!(errno(), before, "the handler changed errno");
}

/// Starts a timer that signals this thread, on its processor time or on the monotonic clock.
fn start_timer(clock: libc::clockid_t) -> libc::timer_t {
    // SAFETY: structures that are filled before use, and live through the calls.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGUSR1;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        assert_eq!(libc::timer_create(clock, &mut event, &mut timer), 0);
        let time = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NS };
        let often = libc::itimerspec { it_interval: time, it_value: time };
        assert_eq!(libc::timer_settime(timer, 0, &often, std::ptr::null_mut()), 0);
        timer
    }
}

fn record_for_a_while(thread: usize) {
    THREAD.set(thread);
    // The timers start first: they interrupt the first events too.
    let timers = [libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_MONOTONIC].map(start_timer);
    let begin = Instant::now();
    let is_over = || match begin.elapsed() {
        time if time < DURATION => false,
        time => SIGNALS.load(Ordering::Relaxed) > SIGNAL_COUNT_MIN || time > common::WAIT_MAX,
    };
    let mut index = 0;
    while !is_over() {
        for _ in 0..200 {
            event!(Three, thread, index, mix(thread, index));
            if index.is_multiple_of(8) {
                event!(ThreeSeg, thread, index, mix(thread, index));
            }
            index += 1;
        }
        // The thread pauses now and then: the test reads the whole log.
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the timers exist, and are not used again.
    timers.iter().for_each(|timer| _ = unsafe { libc::timer_delete(*timer) });
    BY_THREADS.fetch_add((index + index.div_ceil(8)) as u64, Ordering::Relaxed);
}

fn record_in_a_storm() {
    // SAFETY: all other fields of the structure are zero; the handler is static.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    control::of(&CONTROL);
    std::thread::scope(|scope| {
        (1..=THREAD_COUNT).for_each(|thread| _ = scope.spawn(move || record_for_a_while(thread)));
    });
    telemetry::flush();
    let losses = telemetry::losses_of(&CONTROL, telemetry::Kinds::all());
    let passed = BY_THREADS.load(Ordering::Relaxed) + BY_HANDLERS.load(Ordering::Relaxed);
    let signals = SIGNALS.load(Ordering::Relaxed);
    eprintln!("{signals} signals, {losses:?}");
    assert_eq!(losses.requested, passed, "requested events");
    let discarded = losses.full + losses.nested + losses.large;
    assert_eq!(losses.recorded + discarded, passed, "recorded or discarded events");
    assert_eq!((losses.io, losses.large), (0, 0));
    assert!(losses.nested > 0, "no handler interrupted an event of its kind");
    assert!(signals > SIGNAL_COUNT_MIN, "{signals} of {SIGNAL_COUNT_MIN}: too few");
    println!("recorded {}", losses.recorded);
}

/// Checks each event in the log, its order within its thread, and the number of events.
fn judge(test: &str, environment: &[(&str, &str)]) {
    let all = ("MPS_TELEMETRY_CONTROL", "all");
    let small = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    let environment = [&[all, small], environment].concat();
    let Some(ran) = ran(test, &environment, record_in_a_storm) else { return };
    let stream = ran.stream();
    assert_eq!((stream.holes, stream.ended), (0, true));
    let mut orders = BTreeMap::<_, u64>::new();
    for event in stream.of(1).into_iter().chain(stream.of(2)) {
        let [thread, index, mixed] = [0, 1, 2].map(|at| event.word(at));
        assert_eq!(mixed, mix(thread as usize, index as usize) as u64, "{event:?}");
        let next = orders.entry((event.code, thread)).or_default();
        assert!(index >= *next, "an event is out of order");
        *next = index + 1;
    }
    assert_eq!(orders.len(), 2 * 2 * THREAD_COUNT);
    let of_test = stream.events.values().filter(|event| event.registry == 1).count() as u64;
    let said = ran.stderr.lines().find_map(|line| line.split("recorded: ").nth(1)).unwrap();
    let recorded: u64 = said.split(',').next().unwrap().parse().unwrap();
    assert_eq!(of_test, recorded, "the log lacks a recorded event");
    assert_eq!(ran.said(), Vec::<&str>::new());
}

#[test]
fn a_storm_of_signals_corrupts_and_hides_no_event() {
    let test = "a_storm_of_signals_corrupts_and_hides_no_event";
    judge(test, &[]);
}

#[test]
fn a_storm_with_a_writer_thread_corrupts_and_hides_no_event() {
    let test = "a_storm_with_a_writer_thread_corrupts_and_hides_no_event";
    judge(test, &[("MPS_TELEMETRY_WRITER", "thread")]);
}

/// An event that panics while the runtime encodes it.
#[derive(Clone, Copy)]
struct Panicking;

impl telemetry::Event for Panicking {
    const TYPE: &'static telemetry::__private::eventdef::EventType = Three::TYPE;
    const KINDS: &'static [telemetry::__private::eventdef::Kind] = Three::KINDS;
    const FIXED_SIZE: usize = Three::FIXED_SIZE;

    fn control() -> &'static telemetry::Control {
        Three::control()
    }

    fn size(&self) -> usize {
        Self::FIXED_SIZE
    }

    fn encode(&self, _: &mut impl telemetry::__private::eventdef::ParamSink) {
        panic!("on purpose")
    }
}

#[test]
fn a_panicking_event_is_counted_and_the_next_is_recorded() {
    let test = "a_panicking_event_is_counted_and_the_next_is_recorded";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "all")], || {
        let panics = || {
            assert!(std::panic::catch_unwind(|| telemetry::__private::record(Panicking)).is_err());
        };
        // Without a ring, then with one.
        panics();
        event!(Three, 0usize, 0usize, 0usize);
        panics();
        event!(Three, 0usize, 1usize, 0usize);
        let losses = telemetry::losses_of(&CONTROL, telemetry::Kinds::all());
        assert_eq!((losses.recorded, losses.full, losses.nested), (2, 2, 0));
    }) else {
        return;
    };
    assert_eq!(ran.stream().words(1, 1), [0, 1]);
}
