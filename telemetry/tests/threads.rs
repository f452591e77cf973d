//! Many threads record at once, and every event is in the log.

mod common;

use common::{CONTROL, Kinds, Pooled, Three, ThreeSeg, ran};
use std::sync::atomic::{AtomicUsize, Ordering};
use telemetry::{MemoryPlinth, control, event};

const THREAD_COUNT: usize = 8;
/// Whether a thread sanitizer is active (`./proofs race`): each event takes 100 times as long.
const IS_RACE: bool = option_env!("TELEMETRY_RACE").is_some();
const EVENT_COUNT: usize = if IS_RACE { 20_000 } else { 200_000 };
/// The variable with another number of events of each thread: `./proofs soak` has a million.
const EVENT_COUNT_VARIABLE: &str = "TELEMETRY_THREAD_EVENTS";

#[test]
fn the_log_has_all_events_of_eight_threads() {
    let test = "the_log_has_all_events_of_eight_threads";
    ran(test, &[], eight_threads_record_at_once);
}

fn eight_threads_record_at_once() {
    let more = std::env::var(EVENT_COUNT_VARIABLE).map(|count| count.parse().unwrap());
    let event_count = more.unwrap_or(EVENT_COUNT);
    let plinth = MemoryPlinth::new();
    telemetry::setup().plinth(plinth.clone()).start().unwrap();
    control::of(&CONTROL).set_output(Kinds::Object | Kinds::Seg | Kinds::Pool);
    std::thread::scope(|scope| {
        for thread in 1..=THREAD_COUNT {
            scope.spawn(move || {
                for index in 0..event_count {
                    match index % 4 {
                        0 => event!(ThreeSeg { thread, index, value: index * 3 }),
                        1 => event!(Pooled, index),
                        _ => event!(Three, thread, index, !index),
                    }
                }
            });
        }
    });
    telemetry::flush();
    let losses = telemetry::losses();
    let stream = common::read(&plinth.bytes());
    let total = (THREAD_COUNT * event_count) as u64;
    assert_eq!((losses.requested, losses.recorded), (total, total), "{losses:?}");
    let of_test: Vec<_> = stream.events.values().filter(|event| event.registry == 1).collect();
    assert_eq!(of_test.len() as u64, total);
    // The events of each thread and kind are in order, and together have all indexes.
    let mut indexes = std::collections::BTreeMap::<u32, Vec<u64>>::new();
    let mut last = std::collections::BTreeMap::new();
    for event in &of_test {
        let index = event.word(if event.code == 5 { 0 } else { 1 });
        indexes.entry(event.thread).or_default().push(index);
        if let Some((ticks, before)) = last.insert((event.thread, event.kind), (event.ticks, index))
        {
            assert!(ticks <= event.ticks && before < index);
        }
    }
    assert_eq!(indexes.len(), THREAD_COUNT);
    for indexes in indexes.values_mut() {
        indexes.sort_unstable();
        assert!(indexes.iter().copied().eq(0..event_count as u64));
    }
}

/// `.part.events`, `.event.identity`
#[test]
fn a_flush_from_another_thread_loses_and_splits_no_event() {
    let test = "a_flush_from_another_thread_loses_and_splits_no_event";
    if let Some(stream) = flush_while_recording(test, "65536") {
        assert!(stream.event_parts > 10, "{} parts", stream.event_parts);
    }
}

/// Most flushes come while the thread hands a block over.
#[test]
fn a_flush_during_a_handover_loses_no_event() {
    let test = "a_flush_during_a_handover_loses_no_event";
    flush_while_recording(test, "4096");
}

fn flush_while_recording(test: &str, block_size: &str) -> Option<common::Stream> {
    let environment =
        [("MPS_TELEMETRY_CONTROL", "Object Seg"), ("MPS_TELEMETRY_BLOCK_SIZE", block_size)];
    const FLUSH_COUNT: usize = 300;
    const EVENTS_PER_FLUSH: usize = 1000;
    let ran = ran(test, &environment, || {
        let (flushed, recorded) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for index in 0..FLUSH_COUNT * EVENTS_PER_FLUSH {
                    // The recording thread stays close, so that it records during every flush.
                    while index >= (flushed.load(Ordering::Relaxed) + 1) * EVENTS_PER_FLUSH {
                        std::thread::yield_now();
                    }
                    event!(Three, 1usize, index, index);
                    if index.is_multiple_of(3) {
                        event!(ThreeSeg, 1usize, index, index);
                    }
                    recorded.store(index + 1, Ordering::Relaxed);
                }
            });
            for round in 0..FLUSH_COUNT {
                while recorded.load(Ordering::Relaxed) <= round * EVENTS_PER_FLUSH {
                    std::thread::yield_now();
                }
                telemetry::flush();
                flushed.store(round + 1, Ordering::Relaxed);
            }
        });
    })?;
    let count = (FLUSH_COUNT * EVENTS_PER_FLUSH) as u64;
    let stream = ran.stream();
    assert_eq!(stream.words(1, 1), (0..count).collect::<Vec<_>>());
    assert_eq!(stream.words(2, 1), (0..count).step_by(3).collect::<Vec<_>>());
    Some(stream)
}

/// `.event.number`: the numbers of a reused buffer continue.
#[test]
fn a_thread_reuses_the_ring_of_an_ended_thread() {
    let test = "a_thread_reuses_the_ring_of_an_ended_thread";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        for thread in 0..100usize {
            std::thread::spawn(move || {
                (0..10usize).for_each(|index| event!(Three, thread, thread * 10 + index, 0usize));
            })
            .join()
            .unwrap();
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    let buffers: std::collections::BTreeSet<_> = stream
        .events
        .iter()
        .filter(|(_, e)| e.registry == 1)
        .map(|((buffer, _), _)| buffer)
        .collect();
    assert_eq!(buffers.len(), 1);
    assert_eq!(stream.words(1, 1), (0..1000).collect::<Vec<_>>());
    let threads: std::collections::BTreeSet<_> = stream.of(1).iter().map(|e| e.thread).collect();
    assert_eq!(threads.len(), 100);
    assert_eq!(stream.store(0xFF03).len(), 100, ".store.thread");
    assert!(stream.block_count <= 2, "short threads cost no blocks: {}", stream.block_count);
}

/// The log has the events of an ended thread without a flush.
#[test]
fn an_ending_thread_flushes_its_events() {
    let test = "an_ending_thread_flushes_its_events";
    let Some(_) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        std::thread::spawn(|| event!(Three, 7usize, 0usize, 0usize)).join().unwrap();
        let stream = common::read(&std::fs::read("mpsio.log").unwrap());
        assert_eq!(stream.words(1, 0), [7]);
        assert!(!stream.ended, ".part.end");
    }) else {
        return;
    };
}

/// The destructor of a thread-local value records at the end of the thread.
#[test]
fn the_log_has_events_of_a_threads_destructors() {
    struct Records;
    impl Drop for Records {
        fn drop(&mut self) {
            event!(Three, 9usize, 0usize, 0usize);
        }
    }
    thread_local!(static RECORDS: Records = const { Records });
    let test = "the_log_has_events_of_a_threads_destructors";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        std::thread::spawn(|| {
            RECORDS.with(|_| ());
            event!(Three, 8usize, 0usize, 0usize);
        })
        .join()
        .unwrap();
    }) else {
        return;
    };
    assert_eq!(ran.stream().words(1, 0), [8, 9]);
}

/// A writer thread loses no event, even if it is too slow.
#[test]
fn a_writer_thread_writes_all_events_of_many_threads() {
    let test = "a_writer_thread_writes_all_events_of_many_threads";
    let environment = [
        ("MPS_TELEMETRY_CONTROL", "Object"),
        ("MPS_TELEMETRY_WRITER", "thread"),
        ("MPS_TELEMETRY_BLOCK_SIZE", "4096"),
    ];
    const COUNT: usize = 100_000;
    let Some(ran) = ran(test, &environment, || {
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                scope.spawn(move || {
                    (0..COUNT).for_each(|index| event!(Three, thread, index, index));
                });
            }
        });
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.of(1).len(), 4 * COUNT);
    assert_eq!((stream.holes, stream.ended), (0, true));
}

/// Returns the resident memory of this process in bytes, without stacks of this size in KiB.
#[cfg(target_os = "linux")]
fn resident_without(stack_size: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let field =
        |line: &str, name| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    let (mut size, mut sum) = (0, 0);
    for line in maps.lines() {
        size = field(line, "Size:").unwrap_or(size);
        sum += field(line, "Rss:").filter(|_| size != stack_size).unwrap_or(0);
    }
    sum << 10
}

/// A thread that records little takes a few pages, not all of its blocks.
#[test]
#[cfg(target_os = "linux")]
fn threads_that_record_little_take_little_memory() {
    let test = "threads_that_record_little_take_little_memory";
    const THREAD_COUNT: u64 = 200;
    const STACK_SIZE: u64 = 3 << 10;
    let memory_of = |records: bool| {
        let [here, there] = [(); 2].map(|()| std::sync::Barrier::new(THREAD_COUNT as usize + 1));
        std::thread::scope(|scope| {
            for thread in 0..THREAD_COUNT as usize {
                let (here, there) = (&here, &there);
                let builder = std::thread::Builder::new().stack_size((STACK_SIZE << 10) as usize);
                let body = move || {
                    if records {
                        event!(Three, thread, 0usize, 0usize);
                    }
                    here.wait();
                    there.wait();
                };
                builder.spawn_scoped(scope, body).unwrap();
            }
            here.wait();
            let size = resident_without(STACK_SIZE);
            there.wait();
            size
        })
    };
    // Two blocks have 128 KiB, those with a writer thread 512.
    for writer in ["none", "thread"] {
        let environment = [("MPS_TELEMETRY_CONTROL", "all"), ("MPS_TELEMETRY_WRITER", writer)];
        let Some(_) = ran(test, &environment, || {
            event!(Three, 0usize, 0usize, 0usize);
            let before = memory_of(false);
            let size = memory_of(true).saturating_sub(before) / THREAD_COUNT;
            let has_writer = std::env::var("MPS_TELEMETRY_WRITER").unwrap() == "thread";
            let size_max = if has_writer { 100 << 10 } else { 32 << 10 };
            assert!(size > 0 && size < size_max, "{size} bytes a thread: {has_writer}");
        }) else {
            return;
        };
    }
}
