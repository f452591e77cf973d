//! Tests of modifications, each judged by a naive twin that has all operations at once.
//!
//! ```text
//!  random operations ─┬─ modify ─▶ operations ─┐
//!                     └─ naive ──▶ operations ─┴─ equal
//! ```
//!
//! Design: `.rep.modify.*` in `design/replay.md`.

use super::*;
use crate::script::twin::operations;
use clap::{Args, FromArgMatches};
use proptest::prelude::*;

/// Renumbers operations, to compare them.
fn renumbered(operations: impl IntoIterator<Item = Operation>) -> Vec<Operation> {
    let mut renumber = Renumber::default();
    operations.into_iter().map(|operation| renumber.apply(operation)).collect()
}

fn parse(words: &[&str]) -> Result<Modify, String> {
    let command = Modify::augment_args(Command::new("replay").no_binary_name(true));
    let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
    Ok(Modify::from_arg_matches(&matches).unwrap())
}

fn modified(operations: &[Operation], word: &str) -> Vec<Operation> {
    modify(operations.iter().copied(), &parse(&[word]).unwrap()).collect()
}

/// Returns the allocation of an object: size, thread, pool, time.
fn allocated(operations: &[Operation], wanted: u32) -> Option<(u64, u32, u32, u64)> {
    operations.iter().find_map(|operation| match operation.action {
        Action::Allocate { object, size, pool, .. } if object == wanted => {
            Some((size, operation.thread, pool, operation.time))
        }
        _ => None,
    })
}

fn object(action: Action) -> Option<u32> {
    match action {
        Action::Allocate { object, .. }
        | Action::Reallocate { object, .. }
        | Action::Free { object } => Some(object),
        Action::EndPool { .. } => None,
    }
}

/// Keeps only operations on wanted objects.
fn only(list: &[Operation], is_wanted: impl Fn(u64, u32, u32) -> bool) -> Vec<Operation> {
    let is_wanted = |operation: &&Operation| match object(operation.action) {
        Some(object) => {
            let (size, thread, pool, _) = allocated(list, object).unwrap();
            is_wanted(size, thread, pool)
        }
        None => true,
    };
    list.iter().filter(is_wanted).copied().collect()
}

/// Moves frees to the time when they are due: before operations that come later in the list and are
/// not earlier.
fn delayed(
    list: &[Operation],
    due: impl Fn(usize, u64, u64) -> u64,
    is_time: bool,
) -> Vec<Operation> {
    let mut rows: Vec<(u64, usize, usize, Operation)> = Vec::new();
    for (index, operation) in list.iter().enumerate() {
        let now = if is_time { operation.time } else { index as u64 + 1 };
        let Action::Free { object } = operation.action else {
            rows.push((now, index, index, *operation));
            continue;
        };
        let (_, _, _, since) = allocated(list, object).unwrap();
        let due = due(index + 1, operation.time, since);
        let at = (due as usize).clamp(1, list.len()) - 1;
        let time = if is_time { due } else { list[at].time };
        // A free that is due at once stays behind the operations before it.
        let place = if due > now { 0 } else { index };
        rows.push((due, place, index, Operation { time, ..*operation }));
    }
    rows.sort_by_key(|(due, place, index, _)| (*due, *place, *index));
    rows.into_iter().map(|row| row.3).collect()
}

/// Drops the ends of pools, for twins that do not know them.
fn without_ends(list: Vec<Operation>) -> Vec<Operation> {
    let is_kept = |operation: &Operation| !matches!(operation.action, Action::EndPool { .. });
    list.into_iter().filter(is_kept).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn options_keep_or_drop_objects_by_size_pool_or_thread(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..300),
        number in 0..4u32,
        is_kept: bool,
    ) {
        // `.rep.modify.choose`
        let list = without_ends(operations(&numbers, 4));
        let option = if is_kept { "--keep" } else { "--drop" };
        let is_in = |size| (100..=1500).contains(&size) || (2000..2048).contains(&size)
            || size == 2500 || size >= 2900;
        let expected = only(&list, |size, _, _| is_in(size) == is_kept);
        let found = modified(&list, &format!("{option}-size=100..=1500,2000..2k,2500,2900.."));
        prop_assert_eq!(found, renumbered(expected));
        let expected = only(&list, |_, _, pool| (pool == number) == is_kept);
        let found = modified(&list, &format!("{option}-pool={number}"));
        prop_assert_eq!(found, renumbered(expected));
        let mut expected = only(&list, |_, thread, _| (thread == number) == is_kept);
        for operation in &mut expected {
            if (operation.thread == number) != is_kept {
                operation.thread = allocated(&list, object(operation.action).unwrap()).unwrap().1;
            }
        }
        let found = modified(&list, &format!("{option}-thread={number}"));
        prop_assert_eq!(found, renumbered(expected));
    }

    #[test]
    fn only_sizes_and_alignments_are_changed(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..300),
    ) {
        let list = operations(&numbers, 3);
        let changed = |size: fn(u64) -> u64, least: u64| {
            let change = |operation: &Operation| {
                let action = match operation.action {
                    Action::Allocate { object, size: old, alignment, is_zeroed, pool } => {
                        let alignment = if alignment < least { least } else { alignment };
                        Action::Allocate { object, size: size(old), alignment, is_zeroed, pool }
                    }
                    Action::Reallocate { object, size: old, is_unaligned } => {
                        let is_unaligned = is_unaligned && least == 1;
                        Action::Reallocate { object, size: size(old), is_unaligned }
                    }
                    other => other,
                };
                Operation { action, ..*operation }
            };
            renumbered(list.iter().map(change))
        };
        let scaled = modified(&list, "--scale-size=1.5");
        prop_assert_eq!(scaled, changed(|size| (size as f64 * 1.5).round() as u64, 1));
        let rounded = modified(&list, "--round-size=48");
        prop_assert_eq!(rounded, changed(|size| size.div_ceil(48) * 48, 1));
        prop_assert_eq!(modified(&list, "--align=64"), changed(|size| size, 64));
    }

    #[test]
    fn delayed_frees_come_when_they_are_due(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..300),
    ) {
        // `.rep.modify.delay`
        judge_delays(&numbers);
    }

    #[test]
    fn modified_operations_are_still_operations(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..600),
    ) {
        // `.rep.operation`: time goes forward, objects exist, pools that end are empty.
        let list = operations(&numbers, 5);
        for modification in [
            "--delay-free=7000ns",
            "--delay-free=9",
            "--stretch=3",
            "--drop-free=30%",
            "--copies=3",
            "--drop-thread=0,2",
            "--drop-pool=0",
        ] {
            let found = modified(&list, modification);
            let mut live = std::collections::HashMap::new();
            let mut last = 0;
            for operation in &found {
                prop_assert!(operation.time >= last, "{}", modification);
                last = operation.time;
                match operation.action {
                    Action::Allocate { object, pool, .. } => {
                        prop_assert_eq!(live.insert(object, pool), None);
                    }
                    Action::Reallocate { object, .. } => {
                        prop_assert!(live.contains_key(&object), "{}", modification);
                    }
                    Action::Free { object } => {
                        prop_assert!(live.remove(&object).is_some(), "{}", modification);
                    }
                    Action::EndPool { pool } => {
                        let is_empty = live.values().all(|other| *other != pool);
                        prop_assert!(is_empty, "{}", modification);
                    }
                }
            }
        }
    }

    #[test]
    fn each_copy_does_all_operations_on_its_own_objects(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..300),
    ) {
        // `.rep.modify.copies`
        let list = without_ends(operations(&numbers, 3));
        let list = renumbered(list);
        let found = modified(&list, "--copies=3");
        let threads = list.iter().map(|it| it.thread + 1).max().unwrap_or(0);
        for copy in 0..3u32 {
            let of_copy = found.iter().enumerate().filter(|(at, _)| *at as u32 % 3 == copy);
            let own = renumbered(of_copy.map(|(_, operation)| *operation));
            prop_assert_eq!(&own, &list);
        }
        prop_assert_eq!(found.iter().map(|it| it.thread + 1).max().unwrap_or(0), threads * 3);
    }
}

/// Compares delayed frees with those of the twin.
fn judge_delays(numbers: &[(u8, u32, u8)]) {
    let list = without_ends(operations(numbers, 3));
    let stretched = |_, time: u64, since: u64| since + ((time - since) as f64 * 2.5) as u64;
    for (modification, expected) in [
        ("--delay-free=5us", delayed(&list, |_, time, _| time + 5000, true)),
        ("--stretch=2.5", delayed(&list, stretched, true)),
        ("--delay-free=20", delayed(&list, |at, _, _| at as u64 + 20, false)),
    ] {
        assert_eq!(modified(&list, modification), renumbered(expected), "{modification}");
    }
}

/// `.rep.modify.delay`
#[test]
fn a_free_that_is_due_at_once_follows_its_allocation() {
    judge_delays(&[(0, 29_627_000, 0), (130, 2_351_702_013, 0)]);
}

#[test]
fn modifications_keep_the_order_of_the_command_line() {
    // `.rep.modify`
    let words = ["--align=64", "--drop-size", "4K..,0", "--align", "8", "--drop-free=5%"];
    let expected = "--align 64 --drop-size 4K..,0 --align 8 --drop-free 5%";
    assert_eq!(parse(&words).unwrap().to_string(), expected);
    let list = operations(&[(0, 101, 0), (0, 1001, 0)], 1);
    let count = |words: &[&str]| modify(list.iter().copied(), &parse(words).unwrap()).count();
    assert_eq!(count(&["--drop-size=..500", "--scale-size=0.1"]), 1);
    assert_eq!(count(&["--scale-size=0.1", "--drop-size=..500"]), 0);
}

#[test]
fn an_invalid_value_is_refused_with_a_reason() {
    for (word, reason) in [
        ("--scale-size=-1", "number above 0"),
        ("--scale-size=NaN", "number above 0"),
        ("--align=48", "must be a power of two"),
        ("--round-size=0", "above 0"),
        ("--stretch=0.5", "cannot come earlier"),
        ("--drop-free=101%", "from 0% to 100%"),
        ("--keep-size=9..9", "contains no number"),
        ("--keep-pool=a", "not a number"),
        ("--delay-free=5h", "or a time such as 5us"),
        ("--copies=0", "from 1 to 4096"),
    ] {
        let message = parse(&[word]).unwrap_err();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn each_run_drops_the_same_part_of_the_frees() {
    // `.rep.modify.drop-free`
    let dropped = (0..100_000).filter(|object| is_dropped(0.05, *object)).count();
    assert!((4900..5100).contains(&dropped), "{dropped}");
    assert!((0..1000).all(|object| is_dropped(1.0, object)));
    assert!(!(0..1000).any(|object| is_dropped(0.0, object)));
    let numbers: Vec<(u8, u32, u8)> =
        (0..2000u32).map(|n| (n as u8, n.wrapping_mul(2_654_435_769) >> 3, 0)).collect();
    let list = operations(&numbers, 1);
    let frees = |list: &[Operation]| {
        list.iter().filter(|it| matches!(it.action, Action::Free { .. })).count()
    };
    let found = modified(&list, "--drop-free=0.5");
    assert_eq!(found, modified(&list, "--drop-free=0.5"));
    assert!(frees(&found) * 3 < frees(&list) * 2 && frees(&found) * 3 > frees(&list));
    assert_eq!(list.len() - frees(&list), found.len() - frees(&found));
}
