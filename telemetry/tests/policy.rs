//! What a thread that needs a block does when none is free, with a host that does not write.
//!
//! ```text
//!  event! ─▶ ring ─▶ (writer thread) ─▶ a plinth that waits until the test releases it
//! ```
//!
//! Design: `.sol.policy` in `design/telemetry.md`.

mod common;

use common::{Stream, Three, WAIT_MAX, ran, wait_until};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use telemetry::{Kinds, MemoryPlinth, Plinth, PlinthError, Policy, control, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const WRITER: (&str, &str) = ("MPS_TELEMETRY_WRITER", "thread");
/// Events in a block, and in a ring with a writer thread.
const PER_BLOCK: usize = (4096 - 128) / 32;
const PER_RING: usize = 8 * PER_BLOCK;

/// Whether the host makes a writing thread wait.
static IS_STUCK: AtomicBool = AtomicBool::new(false);
/// Blocks that the host was given.
static BLOCK_COUNT: AtomicUsize = AtomicUsize::new(0);

struct Stuck(MemoryPlinth);

impl Plinth for Stuck {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.0.create(block_size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        BLOCK_COUNT.fetch_add(1, Ordering::Relaxed);
        while IS_STUCK.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_micros(100));
        }
        self.0.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

fn begin() -> MemoryPlinth {
    let memory = MemoryPlinth::new();
    telemetry::setup().plinth(Stuck(memory.clone())).start().unwrap();
    event!(Three, 0usize, 0usize, 0usize);
    memory
}

/// Events that `record` recorded.
static RECORD_COUNT: AtomicUsize = AtomicUsize::new(0);

fn record(from: usize, to: usize) -> Duration {
    let begin = Instant::now();
    for index in from..to {
        event!(Three, 0usize, index, 0usize);
        RECORD_COUNT.fetch_add(1, Ordering::Relaxed);
    }
    begin.elapsed()
}

/// Releases the host some time after this number of events.
fn free_after(count: usize) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        wait_until("events", || RECORD_COUNT.load(Ordering::Relaxed) >= count);
        std::thread::sleep(Duration::from_millis(60));
        IS_STUCK.store(false, Ordering::Release);
    })
}

fn end(memory: &MemoryPlinth) -> Stream {
    IS_STUCK.store(false, Ordering::Release);
    telemetry::flush();
    common::read(&memory.bytes())
}

/// Compares the stream, and the losses that it states, with the program's counts.
fn check_sums(stream: &Stream, requested: usize) {
    let (losses, told) = (telemetry::losses(), stream.told_of(5));
    assert_eq!(losses.requested, requested as u64);
    assert_eq!(losses.requested, losses.recorded + losses.full);
    let in_stream = stream.of(1).len() as u64;
    assert_eq!(in_stream + losses.overwritten, losses.recorded);
    assert_eq!((told.overwritten, u64::from(told.full)), (losses.overwritten, losses.full));
}

#[test]
fn the_default_policy_waits_for_the_host_and_loses_no_event() {
    let test = "the_default_policy_waits_for_the_host_and_loses_no_event";
    let _ = ran(test, &[ALL, SMALL, WRITER], || {
        let memory = begin();
        IS_STUCK.store(true, Ordering::Release);
        let free = free_after(PER_RING - 3 * PER_BLOCK);
        record(1, 2 * PER_RING);
        assert!(!IS_STUCK.load(Ordering::Acquire), "the thread did not wait");
        free.join().unwrap();
        let stream = end(&memory);
        assert_eq!(stream.words(1, 1), (0..2 * PER_RING as u64).collect::<Vec<_>>());
        check_sums(&stream, 2 * PER_RING);
    });
}

#[test]
fn discard_never_waits_and_keeps_the_oldest_events() {
    let test = "discard_never_waits_and_keeps_the_oldest_events";
    let policy = ("MPS_TELEMETRY_POLICY", "Object=discard");
    let _ = ran(test, &[ALL, SMALL, WRITER, policy], || {
        let memory = begin();
        IS_STUCK.store(true, Ordering::Release);
        let time = record(1, 3 * PER_RING);
        assert!(time < WAIT_MAX, "{time:?}");
        let stream = end(&memory);
        let words = stream.words(1, 1);
        assert_eq!(words, (0..words.len() as u64).collect::<Vec<_>>());
        assert!((PER_RING - 2 * PER_BLOCK..=PER_RING + PER_BLOCK).contains(&words.len()));
        check_sums(&stream, 3 * PER_RING);
    });
}

/// The registry exists before or after the setup.
#[test]
fn a_setup_sets_policies_that_the_environment_leaves_open() {
    let test = "a_setup_sets_policies_that_the_environment_leaves_open";
    for policies in ["", "Pool=write", "Object=write"] {
        let policies = ("MPS_TELEMETRY_POLICY", policies);
        let Some(_) = ran(test, &[ALL, SMALL, policies], || {
            let policies = std::env::var("MPS_TELEMETRY_POLICY").unwrap();
            let setup = || telemetry::setup().policy(Policy::Overwrite).start().unwrap();
            if policies.is_empty() {
                setup();
            }
            let memory = begin();
            setup();
            record(1, 3 * PER_RING);
            let is_overwritten = telemetry::losses().overwritten > 0;
            assert_eq!(is_overwritten, policies != "Object=write", "{policies}");
            end(&memory);
        }) else {
            return;
        };
    }
}

/// Snapshot mode: without a writer thread, only a flush writes.
#[test]
fn overwrite_without_a_writer_keeps_the_newest_for_a_flush() {
    let test = "overwrite_without_a_writer_keeps_the_newest_for_a_flush";
    let _ = ran(test, &[ALL, SMALL], || {
        let memory = begin();
        control::of(&common::CONTROL).set_policy(Kinds::Object, Policy::Overwrite);
        let before = BLOCK_COUNT.load(Ordering::Relaxed);
        IS_STUCK.store(true, Ordering::Release);
        record(1, 10 * PER_BLOCK);
        assert_eq!(BLOCK_COUNT.load(Ordering::Relaxed), before, "the host was called");
        let stream = end(&memory);
        let words = stream.words(1, 1);
        assert_eq!(words.last(), Some(&(10 * PER_BLOCK as u64 - 1)));
        assert!(words.len() >= PER_BLOCK && words.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_eq!(telemetry::losses().full, 0);
        check_sums(&stream, 10 * PER_BLOCK);
    });
}

#[test]
fn overwrite_does_not_wait_for_a_stuck_writer() {
    let test = "overwrite_does_not_wait_for_a_stuck_writer";
    let policy = ("MPS_TELEMETRY_POLICY", "Pool=discard all=overwrite");
    let _ = ran(test, &[ALL, SMALL, WRITER, policy], || {
        let memory = begin();
        IS_STUCK.store(true, Ordering::Release);
        let time = record(1, 2 * PER_RING);
        assert!(time < WAIT_MAX, "{time:?}");
        check_sums(&end(&memory), 2 * PER_RING);
    });
}

#[test]
fn wait_ends_at_its_limit() {
    let test = "wait_ends_at_its_limit";
    let policy = ("MPS_TELEMETRY_POLICY", "Object=wait:40ms");
    let _ = ran(test, &[ALL, SMALL, WRITER, policy], || {
        let memory = begin();
        IS_STUCK.store(true, Ordering::Release);
        record(1, PER_RING - PER_BLOCK);
        assert_eq!(telemetry::losses().full, 0, "the ring has room");
        let mut index = PER_RING - PER_BLOCK;
        let mut time = Duration::ZERO;
        while telemetry::losses().full == 0 {
            time = record(index, index + 1);
            index += 1;
            assert!(index < 2 * PER_RING, "the thread never waited");
        }
        assert!((Duration::from_millis(40)..Duration::from_secs(30)).contains(&time), "{time:?}");
        // If the host recovers within the limit, the event is recorded.
        let long = Policy::Wait(Duration::from_secs(60));
        control::of(&common::CONTROL).set_policy(Kinds::Object, long);
        let free = free_after(0);
        record(index, index + 1);
        free.join().unwrap();
        let stream = end(&memory);
        assert_eq!(telemetry::losses().full, 1);
        assert_eq!(stream.words(1, 1).last(), Some(&(index as u64)));
        check_sums(&stream, index + 1);
    });
}

#[test]
fn an_invalid_policy_is_reported_once() {
    let test = "an_invalid_policy_is_reported_once";
    let policy = ("MPS_TELEMETRY_POLICY", "Object=perhaps Nothing=discard Pool=discard");
    let Some(ran) = ran(test, &[ALL, SMALL, policy], || {
        record(0, 2 * PER_BLOCK);
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("`Object=perhaps`") && said[1].contains("`Nothing=discard`"));
    assert!(said[1].contains(": unknown kind; known so far: Arena, "), "{said:?}");
    assert_eq!(ran.stream().of(1).len(), 2 * PER_BLOCK);
}

static CHANGED_COUNT: AtomicUsize = AtomicUsize::new(0);
static IS_CHANGING: AtomicBool = AtomicBool::new(false);
/// Events during each change of the volume: some blocks, for which a ring has room.
const CHANGE_EVENT_COUNT: usize = 300;

/// A host with volumes of 16 blocks. It begins a volume only after the program has recorded some
/// more events.
struct Slow;

impl Plinth for Slow {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        let recorded = || RECORD_COUNT.load(Ordering::Relaxed);
        if (1..3 * 16 * PER_BLOCK).contains(&recorded()) {
            IS_CHANGING.store(true, Ordering::Release);
            let enough = recorded() + CHANGE_EVENT_COUNT;
            wait_until("events during the change", || recorded() >= enough);
            IS_CHANGING.store(false, Ordering::Release);
            CHANGED_COUNT.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    fn write_block(&self, _: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let is_of_test = (bytes[4], common::u16_at(bytes, 12)) == (1, 1);
        BLOCK_COUNT.fetch_add(usize::from(is_of_test), Ordering::Release);
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn wants_volume(&self, size: u64) -> bool {
        size > 1 << 16
    }
}

/// With a writer thread, a slow change of the volume stops no recording thread while its ring has
/// room.
#[test]
fn a_recording_thread_does_not_wait_for_a_new_volume() {
    let test = "a_recording_thread_does_not_wait_for_a_new_volume";
    let _ = ran(test, &[ALL, SMALL, WRITER], || {
        telemetry::setup().plinth(Slow).start().unwrap();
        let written = || BLOCK_COUNT.load(Ordering::Acquire);
        let is_changing = || IS_CHANGING.load(Ordering::Acquire);
        let mut index = 0;
        // The loop ends some time after the last slow change.
        while index < 4 * 16 * PER_BLOCK {
            record(index, index + 10);
            index += 10;
            // The ring has room: except during a change, the writer thread follows closely.
            wait_until("room", || is_changing() || written() + 2 >= index / PER_BLOCK);
        }
        assert!(CHANGED_COUNT.load(Ordering::Acquire) >= 3, "the volume changed too rarely");
        assert_eq!(telemetry::losses().recorded, index as u64);
    });
}
