//! Tests of saved operations: they are read back, disclose nothing, and survive damage.
//!
//! ```text
//!  operations ─ save ─▶ bytes ─ damage ─▶ Log ─ Source ─▶ operations that can be played
//! ```
//!
//! Design: `.rep.file` in `design/replay.md`.

#[expect(dead_code, reason = "this test counts no live bytes")]
mod common;
#[path = "../src/source/registry.rs"]
mod registry;

use common::operations;
use eventdef::field::A;
use eventlog::reader::{Filter, Log, Order, Value};
use eventlog::writer::{Maker, Origin};
use proptest::prelude::*;
use replay::facts::Facts;
use replay::heap::Null;
use replay::operation::{Action, Operation};
use replay::play::{Touch, in_process};
use replay::script::{Mode, compile};
use replay::source::{Kind, Source, save};
use std::collections::HashMap;

/// The registry of a program's allocator.
mod alloc {
    eventdef::events! {
        /// Allocations.
        registry "alloc" version(1, 0, 0);
        kinds {
            /// All events.
            Object = 5,
        }

        /// Allocates.
        Allocate(0x0001, always, Object) {
            /// address
            address: A,
            /// size
            size: W,
        }
        /// Frees.
        Free(0x0002, always, Object) {
            /// address
            address: A,
        }
    }
}

fn saved(list: &[Operation]) -> Vec<u8> {
    let mut bytes = Vec::new();
    save(list.iter().copied(), |_| Facts::default(), &mut bytes).expect("written");
    bytes
}

/// Reads a log. Returns the operations, and whether a loss is reported.
fn read(bytes: Vec<u8>) -> Option<(Vec<Operation>, bool)> {
    let source = Source::new(Log::from_source(bytes).ok()?, Some(Kind::Operations)).ok()?;
    let mut operations = source.operations();
    let found = operations.by_ref().collect();
    let faults = source.log().faults().loss_count() + operations.faults().loss_count();
    Some((found, faults + source.lost() > 0))
}

/// Numbers threads and pools in the order of their first operations.
fn renumbered(list: &[Operation]) -> Vec<Operation> {
    let (mut threads, mut pools) = (HashMap::new(), HashMap::new());
    let number = |numbers: &mut HashMap<u32, u32>, old| {
        let next = numbers.len() as u32;
        *numbers.entry(old).or_insert(next)
    };
    let mut list = list.to_vec();
    let first = list.first().map_or(0, |operation| operation.time);
    for operation in &mut list {
        operation.time -= first;
        operation.thread = number(&mut threads, operation.thread);
        if let Action::Allocate { pool, .. } | Action::EndPool { pool } = &mut operation.action {
            *pool = number(&mut pools, *pool);
        }
    }
    list
}

/// Checks that operations are ones of a program: each object exists, a pool that ends is empty, and
/// a heap can play them.
fn judge(list: &[Operation]) {
    let (mut live, mut next, mut last) = (HashMap::new(), 0, 0);
    for Operation { time, action, .. } in list {
        assert!(*time >= last);
        last = *time;
        match *action {
            Action::Allocate { object, pool, .. } => {
                assert_eq!((object, live.insert(object, pool)), (next, None));
                next += 1;
            }
            Action::Reallocate { object, .. } => assert!(live.contains_key(&object)),
            Action::Free { object } => assert!(live.remove(&object).is_some()),
            Action::EndPool { pool } => assert!(live.values().all(|other| *other != pool)),
        }
    }
    let workload = compile(list.iter().copied(), Mode { is_single: true, ..Mode::default() });
    // No memory is large enough for the others.
    if workload.live_peak < 1 << 60 {
        in_process(&workload, &Null, Touch::None).expect("a sound workload");
    }
}

/// `.rep.file`
#[test]
fn saved_operations_are_read_back() {
    for (seed, threads, pools) in [(1, 1, 1), (77, 5, 4), (4711, 3, 9)] {
        let list = operations(seed, 8_000, threads, pools);
        let bytes = saved(&list);
        assert!(bytes.len() < 36 * list.len() + (64 << 10), "{} of {}", bytes.len(), list.len());
        assert_eq!(read(bytes), Some((renumbered(&list), false)));
    }
}

/// `.rep.file.nothing`
#[test]
fn saved_operations_disclose_no_names_and_no_addresses() {
    const BASE: usize = 0x7F12_3456_7000;
    let (mut origin, mut bytes) = (Origin::new(), Vec::new());
    (origin.program, origin.host) = ("secret-program".into(), "secret-host".into());
    (origin.pid, origin.start, origin.boot_id) = (0xABCDEF, 1_700_000_000_000_000_000, [0x5A; 16]);
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin).expect("begun");
    maker.thread(1, 1, 0xABCDEF, "secret-thread").expect("named");
    let label = maker.intern(1, b"secret-label").expect("interned");
    maker.label(1, BASE, label).expect("labelled");
    for at in 0..1000 {
        let address = A(BASE + 16 * at);
        maker.add(1, 1, 2 * at as u64, &alloc::Allocate { address, size: at }).expect("added");
        if at % 3 == 0 {
            maker.add(1, 1, 2 * at as u64 + 1, &alloc::Free { address }).expect("added");
        }
    }
    maker.finish().expect("whole");
    let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
    let secrets = [b"secret".to_vec(), BASE.to_le_bytes()[2..6].to_vec(), vec![0xEF, 0xCD, 0xAB]];
    assert!(secrets.iter().all(|secret| has(&bytes, secret)));
    let source = Source::new(Log::from_source(bytes).expect("a log"), None).expect("a source");
    let mut bytes = Vec::new();
    save(source.operations(), |operations| operations.facts().clone(), &mut bytes).expect("saved");
    assert!(!secrets.iter().any(|secret| has(&bytes, secret)));
    let log = Log::from_source(bytes).expect("a log");
    let stream = &log.streams()[0];
    assert_eq!([&*stream.program, &*stream.host], ["", ""]);
    assert_eq!((stream.pid, stream.start, stream.boot_id, stream.syncs.len()), (0, 0, [0; 16], 0));
    let (mut events, mut count) = (log.events(Order::File, &Filter::default()), 0);
    while let Some(event) = events.next() {
        let is_number = |value| matches!(value, Value::U(_) | Value::W(_) | Value::B(_));
        assert!(event.params().all(|(_, value)| is_number(value)), "{}", event.name());
        count += 1;
    }
    assert_eq!(count, 1000 + 334);
}

/// `.rep.file.damage`
#[test]
fn the_rest_of_a_damaged_file_can_be_played() {
    let list = renumbered(&operations(9, 6_000, 3, 4));
    let bytes = saved(&list);
    let mut count = 0;
    for index in 0..32 {
        let mut damaged = bytes.clone();
        let place = bytes.len() / 32 * index + index;
        let end = bytes.len().min(place + (1 << (index % 17)));
        match index % 3 {
            0 => damaged.truncate(place),
            _ => damaged[place..end].iter_mut().for_each(|byte| *byte ^= 0x55),
        }
        if let Some((found, is_reported)) = read(damaged) {
            assert!(found == list || is_reported, "{place}");
            judge(&found);
            count += usize::from(is_reported);
        }
    }
    assert!(count > 10, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_numbers_in_a_file_give_possible_operations(
        numbers in prop::collection::vec(any::<(u8, u8, u8, u32, bool)>(), 1..300),
    ) {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(&mut bytes);
        maker.begin(&Origin::new()).unwrap();
        for (at, (what, object, pool, number, flag)) in numbers.into_iter().enumerate() {
            // The numbers of odd objects are too large for a list.
            let number_of = |object: u8| u32::from(object) << (28 * (object % 2));
            let (thread, object, pool) =
                (u32::from(pool) % 5, number_of(object % 16), u32::from(pool));
            let (at, size) = (at as u64, number as usize);
            match what % 6 {
                0 => maker.add(1, 0, at, &registry::Allocate { thread, object, size }).unwrap(),
                1 => {
                    let (alignment_log2, zeroed) = (number, flag);
                    let event =
                        registry::AllocateIn { thread, object, size, pool, alignment_log2, zeroed };
                    maker.add(1, 0, at, &event).unwrap();
                }
                2 => {
                    let event = registry::Reallocate { thread, object, size, unaligned: flag };
                    maker.add(1, 0, at, &event).unwrap();
                }
                3 | 4 => maker.add(1, 0, at, &registry::Free { thread, object }).unwrap(),
                _ => maker.add(1, 0, at, &registry::EndPool { thread, pool: pool % 4 }).unwrap(),
            }
        }
        maker.finish().unwrap();
        let (found, is_reported) = read(bytes).expect("a log with operations");
        prop_assert!(!is_reported);
        judge(&found);
    }
}
