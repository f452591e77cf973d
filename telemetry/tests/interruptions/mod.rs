//! A signal handler that comes at any point of any recording: tried at each.
//!
//! ```text
//!  work:     │ · · · · · · · · · · │      each point is before an operation on an atomic
//!  handler:        ▲ records, flushes, labels: at the k-th point, for every k
//! ```
//!
//! Every operation of the runtime on atomics is a point (`points.rs`), in one thread and so in
//! program order. What is requested must be recorded or counted, and what is recorded be in the
//! log, whole. `src/lib.rs` includes this folder in its unit tests, where atomics are those of
//! `points.rs`. Design: `.sol.nested`, `.sol.ordering` in `design/telemetry.md`.

mod forks;
pub(crate) mod points;

use crate::block::memory::choose_block_size;
use crate::inspect::debug;
use crate::os::entry::Entry;
use crate::rings::thread;
use crate::stream::set_plinth;
use crate::{MemoryPlinth, Plinth, add_string, control, flush, label_address};
use core::sync::atomic::Ordering;
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, STREAM_HEADER_SIZE};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Command;

eventdef::events! {
    /// Events of this test.
    registry "interruptions" version(1, 0, 0);
    kinds standard;

    /// What is interrupted.
    Outer(1, always, Object) {
        /// which
        index: W,
        /// the same, once more
        again: W,
    }
    /// Of the same kind, by a handler.
    InnerSame(2, always, Object) {
        /// which
        index: W,
        /// the same, once more
        again: W,
    }
    /// Of another kind, by a handler.
    InnerOther(3, always, Seg) {
        /// which
        index: W,
        /// the same, once more
        again: W,
    }
    /// The same, with a time that the thread read earlier.
    coarse InnerCoarse(4, always, Seg) {
        /// which
        index: W,
        /// the same, once more
        again: W,
    }
}

thread_local! {
    static NEXT: Cell<usize> = const { Cell::new(0) };
    static REQUESTED: Cell<u64> = const { Cell::new(0) };
}

/// The index of the next event, which is counted as requested.
fn next() -> usize {
    REQUESTED.set(REQUESTED.get() + 1);
    NEXT.replace(NEXT.get() + 1)
}

fn record_outer() {
    let index = next();
    crate::event!(Outer, index, index);
}

fn record_same() {
    let index = next();
    crate::event!(InnerSame, index, index);
}

fn record_other() {
    let index = next();
    crate::event!(InnerOther, index, index);
}

fn record_coarse() {
    let index = next();
    crate::event!(InnerCoarse, index, index);
}

/// The coarse one takes the time of the other, though the interrupted event has an earlier one.
fn record_other_and_coarse() {
    record_other();
    record_coarse();
}

fn fill_a_block() {
    (0..crate::block::memory::block_size() / 24 + 2).for_each(|_| record_outer());
}

fn label() {
    label_address(NEXT.get(), add_string("a string"));
}

fn leave() {
    record_outer();
    thread::leave(&crate::os::entry::Entry::new());
    record_outer();
}

fn switch() {
    control::of(&CONTROL).reset_output(Kinds::Object);
    record_outer();
    control::of(&CONTROL).set_output(Kinds::Object);
}

/// Does some work over and over, a handler coming at the first point, then at the second, and so
/// on, until it is done before the handler comes. Gives how many points there were.
fn interrupt_everywhere(work: fn(), handler: fn()) -> u64 {
    interrupt_at_each(1, work, handler)
}

/// Checks only one point in a fixed number.
fn interrupt_at_each(step: usize, work: fn(), handler: fn()) -> u64 {
    for index in (0..).step_by(step) {
        points::arm(index, handler);
        work();
        if points::disarm() {
            return index;
        }
    }
    unreachable!("the work has an end");
}

/// The events of a stream in memory: index, by buffer and number.
fn read(bytes: &[u8]) -> BTreeMap<(u32, u64), (u16, u64, u64)> {
    let block_size = crate::block::memory::block_size();
    let mut events = BTreeMap::new();
    for (place, block) in bytes.chunks(block_size).enumerate() {
        let mut at = if place == 0 { STREAM_HEADER_SIZE } else { 0 };
        while let Some(header) = block.get(at..at + BLOCK_HEADER_SIZE) {
            let header: BlockHeader = bytemuck::pod_read_unaligned(header);
            if header.magic == [0; 4] {
                break;
            }
            let is_whole = at == 0 && header.block_type == BlockType::Events as u8;
            at += BLOCK_HEADER_SIZE;
            if header.block_type == BlockType::Parts as u8 {
                continue;
            }
            let from = if is_whole { header.last.get() as usize } else { at };
            let payload = &block[from..from + header.payload_size()];
            assert_eq!(header.crc.get(), header.checksum(payload));
            if header.block_type == BlockType::Events as u8 && header.buffer.get() != 0 {
                read_events(&header, payload, &mut events);
            }
            at = (from + header.payload_size()).next_multiple_of(8);
        }
    }
    events
}

fn read_events(
    header: &BlockHeader,
    payload: &[u8],
    events: &mut BTreeMap<(u32, u64), (u16, u64, u64)>,
) {
    let mut chain = Vec::new();
    let mut rest = payload;
    // From the newest event on: no time is later than that of the event after it.
    let (mut base, mut later) = (header.base_last.get(), u64::MAX);
    while !rest.is_empty() {
        let size = usize::from(u16::from_le_bytes([rest[2], rest[3]]));
        assert_eq!(size, 24, "events of two words, and base records");
        let word = |at: usize| u64::from_ne_bytes(rest[at..at + 8].try_into().unwrap());
        let ticks = base.wrapping_add(word(0) >> 32);
        if rest[..2] != [0, 0] {
            assert!(ticks <= later, "{ticks} {later}");
            later = ticks;
            chain.push(&rest[..size]);
        } else {
            base = word(16);
        }
        rest = &rest[size..];
    }
    assert_eq!(chain.len(), header.count.get() as usize);
    for (number, event) in (header.first.get()..).zip(chain.into_iter().rev()) {
        let word = |at: usize| u64::from_ne_bytes(event[at..at + 8].try_into().unwrap());
        let found = (u16::from_ne_bytes([event[0], event[1]]), word(8), word(16));
        let before = events.insert((header.buffer.get(), number), found);
        assert!(before.is_none_or(|before| before == found), "{before:?} {found:?}");
    }
}

/// Set in a process of a test, to a number.
const VARIABLE: &str = "TELEMETRY_INTERRUPTIONS";

/// What a process of a test is told.
fn told() -> Option<u64> {
    std::env::var(VARIABLE).ok()?.parse().ok()
}

/// Runs a test in a process of its own, since the runtime is one for a process, and gives what it
/// printed.
fn run(test: &str, tell: u64) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = format!("interruptions::{test}");
    command.args(["--exact", &name, "--nocapture"]).env(VARIABLE, tell.to_string());
    let output = command.output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    assert!(output.status.success() && stdout.contains("1 passed"), "{tell}: {stdout}\n{stderr}");
    stdout
}

fn in_a_process(test: &str, what: impl FnOnce()) {
    match told() {
        Some(_) => what(),
        None => println!("{}", run(test, 0)),
    }
}

/// Chooses small blocks and the plinth, and prepares nothing: the first event does that.
fn choose(plinth: impl Plinth + 'static) {
    assert!(choose_block_size(12));
    set_plinth(&Entry::new(), &mut Some(Box::new(plinth))).unwrap();
}

fn begin() -> MemoryPlinth {
    let plinth = MemoryPlinth::new();
    choose(plinth.clone());
    plinth
}

/// Interrupts this work by every handler.
fn interrupt_by_each(works: &[(&str, fn())]) {
    let handlers: [(&str, fn()); 5] = [
        ("the same kind", record_same),
        ("another kind", record_other),
        ("a flush", flush),
        ("a label", label),
        ("blocks", fill_a_block),
    ];
    for (work_name, work) in works {
        for (handler_name, handler) in handlers {
            let count = interrupt_everywhere(*work, handler);
            println!("{work_name}, interrupted by {handler_name}: {count} points");
            assert!(count > 5, "{count} points");
        }
    }
}

/// What was requested was recorded or counted, and what was recorded is in the log or counted.
fn judge(plinth: &MemoryPlinth) {
    judge_log(|| plinth.bytes());
}

fn judge_log(log: impl Fn() -> Vec<u8>) {
    control::of(&CONTROL).set_output(Kinds::Object | Kinds::Seg);
    flush();
    // All: events before the registry has a place count with others of the same sort.
    let losses = crate::losses();
    assert_eq!(losses.requested, REQUESTED.get(), "requested = recorded + discarded: {losses:?}");
    let events = read(&log());
    let found = events.len() as u64;
    assert_eq!(losses.recorded, found + losses.overwritten + losses.io, "{losses:?}");
    assert!(events.values().all(|(_, index, again)| index == again), "torn");
    let mut indexes: Vec<_> = events.values().map(|(_, index, _)| *index).collect();
    indexes.sort_unstable();
    assert!(indexes.is_sorted_by(|a, b| a < b), "an event appears twice");
    println!("{losses:?}");
}

/// `.sol.nested`, `.sol.lock`
#[test]
fn a_handler_at_any_point_loses_no_event_uncounted() {
    in_a_process("a_handler_at_any_point_loses_no_event_uncounted", || {
        let plinth = begin();
        interrupt_by_each(&[
            ("an event", record_outer),
            ("a block", fill_a_block),
            ("a label", label),
            ("the end of a thread", leave),
        ]);
        judge(&plinth);
    });
}

/// `.time.coarse`: times do not decrease, which `read_events` checks.
#[test]
fn a_coarse_event_at_any_point_keeps_the_order_of_its_buffer() {
    in_a_process("a_coarse_event_at_any_point_keeps_the_order_of_its_buffer", || {
        let plinth = begin();
        for work in [record_outer, record_coarse, record_other_and_coarse, fill_a_block] {
            for handler in [record_coarse, record_other_and_coarse] {
                assert!(interrupt_everywhere(work, handler) > 5);
                record_coarse();
            }
        }
        judge(&plinth);
    });
}

/// The same where kinds are output from the first event on, and switched.
#[test]
fn a_handler_at_any_point_of_output_loses_no_event_uncounted() {
    in_a_process("a_handler_at_any_point_of_output_loses_no_event_uncounted", || {
        let plinth = begin();
        control::set_output_everywhere(u64::MAX);
        interrupt_by_each(&[
            ("an event", record_outer),
            ("a block", fill_a_block),
            ("a flush", flush),
            ("a switch", switch),
            ("the end of a thread", leave),
        ]);
        judge(&plinth);
    });
}

/// `.sol.registry`, `.sol.thread`: while the registry is registered, the stream begun, the thread
/// made known, the ring made. A process for each point.
#[test]
fn a_handler_at_any_point_of_the_first_event_loses_no_event_uncounted() {
    const UNINTERRUPTED: &str = "the first event was done before";
    fn everything() {
        record_same();
        record_other();
        label();
        flush();
        record_same();
    }
    if let Some(index) = told() {
        let plinth = begin();
        if index % 2 == 0 {
            control::set_output_everywhere(u64::MAX);
        }
        points::arm(index / 2, everything);
        record_outer();
        if points::disarm() {
            println!("{UNINTERRUPTED}");
        }
        record_other();
        return judge(&plinth);
    }
    let test = "a_handler_at_any_point_of_the_first_event_loses_no_event_uncounted";
    let is_interrupted = |index: &u64| !run(test, *index).contains(UNINTERRUPTED);
    let count = (0..).take_while(is_interrupted).count();
    println!("{count} points");
    assert!(count > 100, "{count} points");
}

/// Calls what a debugger calls, as if it had stopped the process here.
fn stop() {
    let nothing = NOTHING.load(Ordering::Relaxed);
    assert!(debug::EventDump(nothing) >= 0);
    assert!(debug::EventDescribe(core::ptr::from_ref(debug::EventLast[5]).cast(), nothing) >= 0);
    let flushed = debug::EventFlush();
    assert!(flushed >= 0 || flushed == -core::ffi::c_long::from(libc::EAGAIN), "{flushed}");
}

/// A file for what nobody reads.
static NOTHING: core::sync::atomic::AtomicI32 = core::sync::atomic::AtomicI32::new(-1);

fn begin_in_a_file(folder: &std::path::Path) -> std::path::PathBuf {
    let nothing = crate::os::sys::open_log(c"/dev/null").unwrap().unwrap();
    NOTHING.store(nothing.number().unwrap(), Ordering::Relaxed);
    let path = folder.join("log");
    choose(crate::FilePlinth::new(&path).unwrap());
    path
}

/// `.debug.dump`, `.debug.describe`: and the program goes on as if nothing had been.
#[test]
fn a_debugger_may_call_at_any_point() {
    in_a_process("a_debugger_may_call_at_any_point", || {
        let folder = tempfile::tempdir().unwrap();
        let path = begin_in_a_file(folder.path());
        // Most points of the long ones are looks at slots, one like the other.
        let works: [(&str, usize, fn()); 5] = [
            ("an event", 1, record_outer),
            ("a flush", 3, flush),
            ("a label", 1, label),
            ("a switch", 1, switch),
            ("the end of a thread", 7, leave),
        ];
        for is_output in [false, true] {
            for (name, step, work) in works {
                let count = interrupt_at_each(step, work, stop);
                println!("{name}, stopped at {count} points");
                assert!(count > 5, "{count} points");
            }
            if !is_output {
                control::set_output_everywhere(Kinds::Object | Kinds::Seg);
            }
        }
        judge_log(|| std::fs::read(&path).unwrap());
    });
}

/// The same while the registry is registered, the stream begun, the thread made known, the ring
/// made, and a block is handed over. A process for each point, or for some.
#[test]
fn a_debugger_may_call_at_any_point_of_the_first_events() {
    const UNSTOPPED: &str = "the first events were done before";
    const STEP: u64 = 5;
    if let Some(index) = told() {
        let folder = tempfile::tempdir().unwrap();
        let path = begin_in_a_file(folder.path());
        control::set_output_everywhere(u64::MAX);
        points::arm(index * STEP, stop);
        fill_a_block();
        if points::disarm() {
            println!("{UNSTOPPED}");
        }
        return judge_log(|| std::fs::read(&path).unwrap());
    }
    let test = "a_debugger_may_call_at_any_point_of_the_first_events";
    // The first ones, and then one of many: of an event that is recorded like the one before.
    let is_stopped = |index: &u64| !run(test, *index).contains(UNSTOPPED);
    let count = (0..120).chain((120..).step_by(29)).take_while(is_stopped).count();
    println!("{count} points");
    assert!(count > 120, "{count} points");
}
