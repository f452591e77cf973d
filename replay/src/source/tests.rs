//! Tests of sources: real logs of the MPS, and events that do not fit.
//!
//! ```text
//!  events, one after another ─▶ Tracker ─▶ operations, as text; counts of skipped events
//! ```
//!
//! Design: `.rep.source`, `.rep.skipped` in `design/replay.md`.

use super::rows::MemoryEvent;
use super::*;
use crate::operation::Action;
use std::collections::HashMap;

/// Returns an operation in a few characters.
fn text(operation: &Operation) -> String {
    let what = match operation.action {
        Action::Allocate { object, size, alignment: 1, is_zeroed: false, pool } => {
            format!("+{object}:{size}@{pool}")
        }
        Action::Allocate { object, size, alignment, is_zeroed, pool } => {
            format!("+{object}:{size}@{pool} {alignment} {is_zeroed}")
        }
        Action::Reallocate { object, size, is_unaligned } => {
            format!("~{object}:{size}{}", if is_unaligned { " unaligned" } else { "" })
        }
        Action::Free { object } => format!("-{object}"),
        Action::EndPool { pool } => format!("end {pool}"),
    };
    format!("{} {what}", operation.thread)
}

fn track(events: &[(u32, MemoryEvent)], has_objects: bool) -> (Vec<String>, Skipped) {
    let mut tracker = Tracker::default();
    tracker.output.has_objects = has_objects;
    for (time, &(thread, events)) in events.iter().enumerate() {
        tracker.take(events, Moment { time: time as u64, stream: thread as u16 / 100, thread });
    }
    tracker.end();
    (tracker.output.found.iter().map(text).collect(), tracker.output.skipped)
}

fn event(verb: Verb, address: u64, size: u64, pool: u64) -> MemoryEvent {
    MemoryEvent { verb, address, size, pool, ..MemoryEvent::default() }
}

fn allocate(address: u64, size: u64) -> MemoryEvent {
    event(Verb::Allocate, address, size, 0)
}

fn free(address: u64) -> MemoryEvent {
    event(Verb::Free, address, 0, 0)
}

fn begin_reallocate(address: u64) -> MemoryEvent {
    event(Verb::BeginReallocate, address, 0, 0)
}

fn reallocate(old: u64, address: u64, size: u64) -> MemoryEvent {
    MemoryEvent { old: Some(old), ..event(Verb::Reallocate, address, size, 0) }
}

fn counts(skipped: &Skipped) -> Vec<(Cause, u64)> {
    use Cause::*;
    let causes = [
        UnknownFree,
        DoubleFree,
        UnknownReallocate,
        HandedOutTwice,
        Failed,
        Unfinished,
        EndedWithPool,
        GivenBack,
        PoolWithoutEnd,
        UnknownPiece,
        Uncommitted,
        Incomplete,
        Alignment,
    ];
    let counts = causes.map(|cause| (cause, skipped.of(cause)));
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[test]
fn contradictory_events_are_counted_and_the_others_are_read() {
    let events = [
        (1, free(0x10)),                // lived before the log began
        (1, allocate(0x20, 5)),         // object 0
        (2, free(0x20)),                // by another thread
        (2, free(0x20)),                // again
        (2, allocate(0x20, 6)),         // object 1, at the same address
        (1, allocate(0x20, 7)),         // its free was lost: object 2
        (1, allocate(0, 8)),            // no memory
        (1, free(0)),                   // nothing
        (1, reallocate(0x90, 0xA0, 9)), // of unknown memory: object 3
        (1, free(0xA0)),
        (1, event(Verb::Incomplete, 0, 0, 0)),
    ];
    let (found, skipped) = track(&events, true);
    let expected = ["0 +0:5@0", "1 -0", "1 +1:6@0", "0 -1", "0 +2:7@0", "0 +3:9@0", "0 -3"];
    assert_eq!(found, expected);
    let expected = [
        (Cause::UnknownFree, 1),
        (Cause::DoubleFree, 1),
        (Cause::UnknownReallocate, 1),
        (Cause::HandedOutTwice, 1),
        (Cause::Failed, 1),
        (Cause::Incomplete, 1),
    ];
    assert_eq!(counts(&skipped), expected);
}

#[test]
fn a_reallocation_gives_up_memory_until_it_ends() {
    let events = [
        (1, allocate(0x20, 5)),
        (1, begin_reallocate(0x20)),
        (2, allocate(0x20, 6)), // meanwhile, by another thread
        (1, reallocate(0x20, 0x30, 50)),
        (1, begin_reallocate(0x30)),
        (1, reallocate(0x30, 0, 1 << 60)), // fails: it stays where it is
        (1, begin_reallocate(0x30)),
        (1, reallocate(0x30, 0, 0)), // to nothing: it is freed
        (1, begin_reallocate(0)),
        (1, reallocate(0, 0x30, 3)), // from nothing: it is allocated
        (2, begin_reallocate(0x20)),
    ];
    let (found, skipped) = track(&events, true);
    assert_eq!(found, ["0 +0:5@0", "1 +1:6@0", "0 ~0:50", "0 -0", "0 +2:3@0"]);
    assert_eq!(counts(&skipped), [(Cause::Failed, 1), (Cause::Unfinished, 1)]);
}

#[test]
fn each_process_has_its_own_addresses_and_threads() {
    let events = [(1, allocate(0x20, 5)), (101, allocate(0x20, 6)), (1, free(0x20))];
    let (found, skipped) = track(&events, true);
    assert_eq!(found, ["0 +0:5@0", "1 +1:6@0", "0 -0"]);
    assert_eq!(counts(&skipped), []);
}

#[test]
fn an_alignment_is_rounded_to_a_power_of_two() {
    let aligned = |address, alignment| {
        let events = event(Verb::AllocateZeroed, address, 1, 0);
        let events = MemoryEvent { alignment, ..events };
        (0, events)
    };
    let events = [aligned(1, 16), aligned(2, 32), aligned(3, 33), aligned(4, u64::MAX)];
    let (found, skipped) = track(&events, true);
    let expected = ["0 +0:1@0 1 true", "0 +1:1@0 32 true", "0 +2:1@0 64 true"];
    assert_eq!(found[..3], expected);
    assert_eq!(found[3], format!("0 +3:1@0 {} true", 1u64 << 31));
    assert_eq!(counts(&skipped), [(Cause::Alignment, 2)]);
}

#[test]
fn realloc_of_c_does_not_keep_an_alignment() {
    let events = |alignment| {
        let aligned = MemoryEvent { alignment, ..allocate(0x40, 1) };
        [aligned, reallocate(0x40, 0x80, 2), reallocate(0x80, 0xC0, 3), free(0xC0)]
    };
    let track = |is_of_c, alignment| {
        let mut tracker = Tracker::default();
        tracker.is_of_c = is_of_c;
        let at = Moment { time: 0, stream: 0, thread: 0 };
        events(alignment).into_iter().for_each(|events| tracker.take(events, at));
        tracker.output.found.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(track(true, 64)[1..], ["0 ~0:2 unaligned", "0 ~0:3", "0 -0"]);
    assert_eq!(track(false, 64)[1..], ["0 ~0:2", "0 ~0:3", "0 -0"]);
    assert_eq!(track(true, 16)[1..], ["0 ~0:2", "0 ~0:3", "0 -0"]);
}

const POOL: u64 = 0x1000;

fn pooled(address: u64, size: u64) -> MemoryEvent {
    event(Verb::Allocate, address, size, POOL)
}

#[test]
fn objects_end_with_their_pool_and_pools_with_their_arena() {
    let events = [
        (0, event(Verb::BeginPool, 7, 0, POOL)),
        (0, pooled(0x20, 8)),
        (0, pooled(0x30, 8)),
        (0, event(Verb::Free, 0x20, 0, POOL)),
        (0, event(Verb::EndPool, 0, 0, POOL)),
        (0, event(Verb::BeginPool, 7, 0, POOL)),
        (0, pooled(0x20, 9)),
        (0, event(Verb::EndArena, 7, 0, 0)),
    ];
    let (found, skipped) = track(&events, true);
    let expected = ["+0:8@0", "+1:8@0", "-0", "-1", "end 0", "+2:9@1", "-2", "end 1"];
    assert_eq!(found, expected.map(|text| format!("0 {text}")));
    assert_eq!(counts(&skipped), [(Cause::EndedWithPool, 2), (Cause::PoolWithoutEnd, 1)]);
}

#[test]
fn objects_in_buffers_end_with_their_memory() {
    let commit = |address, size| (0, event(Verb::Commit, address, size, 0xB));
    let events = [
        (0, event(Verb::BeginBuffer, 0xB, 0, POOL)),
        commit(0x20, 16),
        commit(0x30, 16),
        commit(0x40, 16),
        commit(0x28, 16), // over the first two, after a collection
        (0, event(Verb::ArenaFree, 0x40, 0x100, POOL)),
        (0, event(Verb::Free, 0x40, 0, POOL)), // already given back
    ];
    let (found, skipped) = track(&events, true);
    let expected = ["+0:16@0", "+1:16@0", "+2:16@0", "-0", "-1", "+3:16@0", "-2"];
    assert_eq!(found, expected.map(|text| format!("0 {text}")));
    assert_eq!(counts(&skipped), [(Cause::GivenBack, 2)]);
}

#[test]
fn uncommitted_reservations_are_counted() {
    // `.rep.source`
    let reserve = |buffer| (0, event(Verb::Reserve, buffer, 0, 0));
    let commit = |address| (0, event(Verb::Commit, address, 16, 0xB));
    let begin = (0, event(Verb::BeginBuffer, 0xB, 0, POOL));
    let events = [begin, reserve(0xB), commit(0x20), reserve(0xB), reserve(0xB), commit(0x40)];
    let (found, skipped) = track(&events, true);
    assert_eq!(found, ["0 +0:16@0", "0 +1:16@0"]);
    assert_eq!(counts(&skipped), [(Cause::Uncommitted, 1)]);
    // Another buffer at the same address, and one in which something is reserved at the end.
    let events = [begin, reserve(0xB), begin, reserve(0xB), commit(0x20), reserve(0xC)];
    let (found, skipped) = track(&events, true);
    assert_eq!(found, ["0 +0:16@0"]);
    assert_eq!(counts(&skipped), [(Cause::Uncommitted, 2)]);
}

#[test]
fn an_arena_takes_memory_back_in_pieces() {
    // `.rep.pieces`
    let take = |address, size| (0, event(Verb::ArenaFree, address, size, POOL));
    let events = [
        (0, event(Verb::ArenaAllocate, 0x100, 0x100, POOL)),
        (0, event(Verb::ArenaAllocate, 0x200, 0x10, POOL)),
        take(0x140, 0x20), // from the middle
        take(0x1F0, 0x20), // the end of the one and all of the other
        take(0x300, 0x10), // nobody's
        take(0x100, 0x40),
        // The MPS before 2.0 does not name the pool, nor whether that was all.
        (0, event(Verb::ArenaFree, 0x160, 0x900, 0)),
        (0, event(Verb::ArenaFree, 0x160, 0x900, 0)),
    ];
    let (found, skipped) = track(&events, false);
    let expected = ["+0:256@0", "+1:16@0", "~0:224", "~0:208", "-1", "~0:144", "-0"];
    assert_eq!(found, expected.map(|text| format!("0 {text}")));
    assert_eq!(counts(&skipped), [(Cause::UnknownPiece, 2)]);
}

#[test]
fn a_filling_of_a_buffer_is_an_object_without_its_unused_rest() {
    // `.rep.fill`
    let fill = |address, size, buffer| (0, event(Verb::Fill, address, size, buffer));
    let empty = |buffer, spare| (0, event(Verb::Empty, buffer, spare, 0));
    let free = |address, size| (0, event(Verb::Free, address, size, POOL));
    let take = |address, size| (0, event(Verb::ArenaFree, address, size, POOL));
    let events = [
        (0, event(Verb::BeginBuffer, 7, 0, POOL)),
        fill(0x1000, 0x400, 7),
        empty(7, 0x100),       // The unused rest goes back to the pool,
        fill(0x1300, 0x80, 7), // and is handed out again.
        free(0x1010, 0x20),    // The program frees an object in it.
        take(0x1000, 0x200),   // The arena takes some of it back,
        fill(0x1280, 0x40, 7), // the pool hands some of it out again,
        empty(7, 0x40),        // and no part of it was used.
        empty(7, 0x40),        // It is empty.
        (0, event(Verb::EndPool, 0, 0, POOL)),
    ];
    let (found, skipped) = track(&events, true);
    let expected = [
        "+0:1024@0",
        "~0:768",
        "+1:128@0",
        "~0:736",
        "~0:720",
        "~0:256",
        "~0:192",
        "+2:64@0",
        "-2",
        "-0",
        "-1",
        "end 0",
    ];
    assert_eq!(found, expected.map(|text| format!("0 {text}")));
    assert_eq!(counts(&skipped), [(Cause::EndedWithPool, 2)]);
}

#[test]
fn calls_of_malloc_usable_size_are_counted_and_not_played() {
    // `.rep.skipped`
    let (found, skipped) = track(
        &[
            (0, allocate(16, 8)),
            (0, event(Verb::UsableSize, 0, 0, 0)),
            (0, event(Verb::UsableSize, 0, 0, 0)),
        ],
        true,
    );
    assert_eq!((found.len(), skipped.of(Cause::UsableSize)), (1, 2));
    assert!(skipped.texts()[0].0.starts_with("calls of malloc_usable_size: skipped; "));
}

fn source(bytes: &[u8]) -> Source {
    Source::new(Log::from_source(bytes.to_vec()).unwrap(), None).unwrap()
}

/// Counts allocations, frees, reallocations and ends of pools, and checks each object.
fn replayed(source: &Source) -> ([usize; 4], Skipped) {
    let mut operations = source.operations();
    let (mut counts, mut there, mut last) = ([0; 4], HashMap::new(), None);
    for Operation { time, action, .. } in operations.by_ref() {
        assert!(last.is_some() || time == 0, "time begins with the first operation");
        assert!(last <= Some(time));
        last = Some(time);
        match action {
            Action::Allocate { object, pool, .. } => {
                assert_eq!(object as usize, counts[0], "objects are counted from 0");
                there.insert(object, pool);
                counts[0] += 1;
            }
            Action::Free { object } => {
                assert!(there.remove(&object).is_some());
                counts[1] += 1;
            }
            Action::Reallocate { object, .. } => {
                assert!(there.contains_key(&object));
                counts[2] += 1;
            }
            Action::EndPool { pool } => {
                assert!(there.values().all(|other| *other != pool), "pool {pool} is empty");
                counts[3] += 1;
            }
        }
    }
    (counts, operations.skipped().clone())
}

macro_rules! golden {
    ($name:literal) => {
        source(include_bytes!(concat!("../../tests/golden/", $name)))
    };
}

#[test]
fn logs_of_the_mps_are_replayed_to_the_end() {
    // PoolAlloc and PoolFree as counted by `eventcnv stats`.
    let (counts, skipped) = replayed(&golden!("mps/labels.log"));
    assert_eq!(counts, [14, 14, 0, 4], "9 freed, 5 with their pool");
    assert_eq!(self::counts(&skipped), [(Cause::EndedWithPool, 5)]);
    let (counts, skipped) = replayed(&golden!("mps/mpmss-cut.log"));
    assert_eq!((counts, self::counts(&skipped)), ([1059, 879, 0, 0], vec![]));
    let (counts, skipped) = replayed(&golden!("mps/mpmss-32bit-cut.log"));
    assert_eq!((counts, self::counts(&skipped)), ([1819, 1581, 0, 0], vec![]));
}

#[test]
fn without_events_of_objects_memory_of_arenas_is_replayed() {
    let source = golden!("mps/amcss-arena-pool-trace.log");
    let notes = source.notes();
    assert!(notes.iter().any(|note| note.contains("kind Object was not output")), "{notes:?}");
    let (counts, skipped) = replayed(&source);
    // 622 were given, and all of it came back before the end, in pieces of another cut.
    assert_eq!((counts[0], counts[1], counts[3]), (622, 622, 6), "{:?}", skipped.texts());
}

#[test]
fn memory_managers_with_the_same_event_names_are_sources() {
    let source = golden!("log/heap-2.log");
    assert_eq!(source.kind(), Kind::Mps);
    assert_eq!(source.notes(), [""; 0]);
    let (counts, skipped) = replayed(&source);
    assert_eq!((counts[0], counts[3]), (3045, 2), "{:?}", skipped.texts());
    assert_eq!(counts[0], counts[1], "all ended with their pools");
}

#[test]
fn a_log_without_allocations_names_its_registries() {
    let mut bytes = include_bytes!("../../tests/golden/log/heap.log").to_vec();
    let log = Log::from_source(bytes.clone()).unwrap();
    let asked = Source::new(log, Some(Kind::Malloc)).unwrap_err().to_string();
    assert!(asked.starts_with("has no events of the registry malloc"), "{asked}");
    assert!(asked.contains("heap"), "{asked}");
    // The registries remain, without blocks of events.
    bytes.truncate(4096);
    let log = Log::from_source(bytes).unwrap();
    let message = Source::new(log, None).unwrap_err().to_string();
    assert!(message.starts_with("has no events of allocation (it has the registr"), "{message}");
}

mod heap {
    eventdef::events! {
        /// As `telemetry::alloc` records.
        registry "alloc" version(1, 1, 0);
        kinds standard;

        /// Memory was handed out.
        Allocate(1, always, Object) {
            /// it
            address: A,
            /// its size
            size: W,
        }
        /// It is given up for another size.
        ReallocateBegin(3, always, Object) {
            /// it
            address: A,
            /// its size
            size: W,
        }
        /// It is given up.
        Free(5, always, Object) {
            /// it
            address: A,
            /// its size
            size: W,
        }
        /// There was none.
        AllocateFailed(6, always, Object) {
            /// the size
            size: W,
        }
        /// It stays as it was.
        ReallocateFailed(7, always, Object) {
            /// it
            old: A,
            /// the size that it was to have
            size: W,
            /// its size
            kept: W,
        }
    }
}

#[test]
fn a_failure_of_the_global_allocator_leaves_its_memory() {
    use eventdef::field::A;
    use heap::{Allocate, AllocateFailed, Free, ReallocateBegin, ReallocateFailed};
    let mut bytes = Vec::new();
    let mut maker = eventlog::writer::Maker::new(&mut bytes);
    maker.begin(&eventlog::writer::Origin::new()).unwrap();
    maker.add(1, 1, 1, &Allocate { address: A(16), size: 100 }).unwrap();
    maker.add(1, 1, 2, &AllocateFailed { size: usize::MAX }).unwrap();
    maker.add(1, 1, 3, &ReallocateBegin { address: A(16), size: 100 }).unwrap();
    let failed = ReallocateFailed { old: A(16), size: usize::MAX, kept: 100 };
    maker.add(1, 1, 4, &failed).unwrap();
    maker.add(1, 1, 5, &Free { address: A(16), size: 100 }).unwrap();
    maker.finish().unwrap();
    let source = source(&bytes);
    assert_eq!(source.kind(), Kind::Alloc);
    let (found, skipped) = replayed(&source);
    assert_eq!((found, counts(&skipped)), ([1, 1, 0, 0], vec![(Cause::Failed, 2)]));
}
