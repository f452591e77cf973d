//! Tests of compiling, judged by a naive twin: a player whose threads run in any order that their
//! waits allow.
//!
//! ```text
//!  random operations ─┬─▶ Workload ─▶ naive player, random turns ─▶ the story of each object
//!                     └──────────────────────────────────────────▶ the same, by the operations
//! ```
//!
//! Design: `.rep.workload` in `design/replay.md`.

use super::{Mode, compile};
use crate::operation::{Action, Operation};
use crate::workload::{LIVE_STEP, Op, OpKind, Thread, Workload};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Turns random numbers into operations that a source may return: any thread uses objects while
/// they exist, and pools end when they are empty.
pub(crate) fn operations(numbers: &[(u8, u32, u8)], thread_count: u32) -> Vec<Operation> {
    let (mut live_objects, mut ended): (Vec<(u32, u32)>, Vec<u32>) = Default::default();
    let (mut time, mut objects, mut list) = (0, 0, Vec::new());
    for &(what, number, pool) in numbers {
        let thread = number % thread_count;
        let mut push = |action| list.push(Operation { time, thread, action });
        let place = (number as usize / 64) % live_objects.len().max(1);
        let pool = if pool < 200 { 0 } else { u32::from(pool) - 199 };
        let pool = if ended.contains(&pool) { 0 } else { pool };
        match what {
            0..=99 => {
                let big = if number % 50 == 0 { 5 << 32 } else { 0 };
                let size = u64::from(number % 3000) + big;
                let alignment = if number % 7 == 0 { 1 << (number % 22 + 5) } else { 1 };
                let is_zeroed = number % 5 == 0;
                push(Action::Allocate { object: objects, size, alignment, is_zeroed, pool });
                live_objects.push((objects, pool));
                objects += 1;
            }
            100..=129 if !live_objects.is_empty() => {
                let size = u64::from(number % 100_000) << (number % 3 * 8);
                let (object, is_unaligned) = (live_objects[place].0, size % 3 == 0);
                push(Action::Reallocate { object, size, is_unaligned });
            }
            130..=249 if !live_objects.is_empty() => {
                push(Action::Free { object: live_objects.swap_remove(place).0 });
            }
            250.. if pool != 0 && live_objects.iter().all(|(_, other)| *other != pool) => {
                push(Action::EndPool { pool });
                ended.push(pool);
            }
            _ => {}
        }
        time += u64::from(number % 1000);
    }
    list
}

/// The story of an object: each action, with its thread.
type Story = Vec<(u32, String)>;

/// Returns the stories that operations tell, by thread, in order of allocation.
fn stories_of(operations: &[Operation], is_single: bool) -> BTreeMap<u32, Vec<Story>> {
    let mut stories: BTreeMap<u32, (u32, u64, u32, Story)> = BTreeMap::new();
    let mut aligned = BTreeSet::new();
    for operation in operations {
        let thread = if is_single { 0 } else { operation.thread };
        match operation.action {
            Action::Allocate { object, size, alignment, is_zeroed, pool } => {
                let text = format!("{size} {alignment} {is_zeroed} {pool}");
                stories.insert(object, (thread, size, pool, vec![(thread, text)]));
                if alignment > 1 {
                    aligned.insert(object);
                }
            }
            Action::Reallocate { object, size, is_unaligned } => {
                let is_unaligned = is_unaligned && aligned.remove(&object);
                let story = stories.get_mut(&object).unwrap();
                story.3.push((thread, format!("{} to {size} {is_unaligned}", story.1)));
                story.1 = size;
            }
            Action::Free { object } => {
                let story = stories.get_mut(&object).unwrap();
                story.3.push((thread, format!("free {} {}", story.1, story.2)));
            }
            Action::EndPool { .. } => {}
        }
    }
    let mut by_thread: BTreeMap<u32, Vec<Story>> = BTreeMap::new();
    for (_, (thread, _, _, story)) in stories {
        by_thread.entry(thread).or_default().push(story);
    }
    by_thread
}

/// Plays a workload; `turns` chooses the thread that runs next.
struct Player<'w> {
    workload: &'w Workload,
    places: Vec<usize>,
    posted: Vec<u32>,
    /// The story and the size of the object in each slot.
    slots: HashMap<u32, ((u32, usize), u64)>,
    pools: HashMap<(u32, usize), u32>,
    stories: BTreeMap<u32, Vec<Story>>,
    /// The live bytes where all threads met.
    met: Option<u64>,
    /// The greatest time by which an op was played before an earlier one.
    apart: u64,
}

impl<'w> Player<'w> {
    fn new(workload: &'w Workload) -> Player<'w> {
        let count = workload.threads.len();
        Player {
            workload,
            places: vec![0; count],
            posted: vec![0; count],
            slots: HashMap::new(),
            pools: HashMap::new(),
            stories: BTreeMap::new(),
            met: None,
            apart: 0,
        }
    }

    /// Plays all ops. Returns whether no thread hangs.
    fn play(&mut self, mut turns: impl FnMut(usize) -> usize) -> bool {
        let count = self.places.len();
        loop {
            let of = |thread: usize| &self.workload.threads[thread].ops;
            let can_go = |&thread: &usize| match of(thread).get(self.places[thread]) {
                None => false,
                Some(op) if op.kind() == OpKind::Wait => {
                    self.posted[op.slot() as usize] >= op.size()
                }
                Some(_) => true,
            };
            let ready: Vec<usize> = (0..count).filter(can_go).collect();
            if ready.is_empty() {
                return (0..count).all(|thread| self.places[thread] == of(thread).len());
            }
            self.step(ready[turns(ready.len())]);
        }
    }

    /// Plays one op of a thread, with its prefix and new size.
    fn step(&mut self, index: usize) {
        let ops = &self.workload.threads[index].ops;
        let thread = index as u32;
        let is_order = |op: &&Op| matches!(op.kind(), OpKind::Post | OpKind::Wait);
        let times = self.workload.threads.iter().zip(&self.places);
        let next_of = |(thread, place): (&Thread, &usize)| {
            let before = thread.ops[*place..].iter().take_while(is_order).count();
            thread.times.get(place + before).copied()
        };
        let now = self.workload.threads[index].times.get(self.places[index]);
        let first = times.filter_map(next_of).min();
        if let (false, Some(now), Some(first)) = (is_order(&&ops[self.places[index]]), now, first) {
            self.apart = self.apart.max(now - first);
        }
        let mut next = || {
            self.places[index] += 1;
            ops[self.places[index] - 1]
        };
        let mut op: Op = next();
        let (mut alignment_log2, mut pool, mut upper) = (0, 0, 0);
        if op.kind() == OpKind::Prefix {
            (alignment_log2, pool) = op.alignment_and_pool();
            upper = u64::from(op.size()) << 32;
            op = next();
        }
        let (slot, size) = (op.slot(), upper | u64::from(op.size()));
        match op.kind() {
            OpKind::Allocate | OpKind::AllocateZeroed => {
                let stories = self.stories.entry(thread).or_default();
                let is_zeroed = op.kind() == OpKind::AllocateZeroed;
                let text = format!("{size} {} {is_zeroed} {pool}", 1 << alignment_log2);
                stories.push(vec![(thread, text)]);
                let object = (thread, stories.len() - 1);
                assert!(slot < self.workload.slot_count);
                assert!(self.slots.insert(slot, (object, size)).is_none(), "the slot is full");
                self.pools.insert(object, pool);
            }
            OpKind::Reallocate => {
                let next = next();
                let size_new = next.as_new_size();
                let (object, has) = self.slots.get_mut(&slot).expect("the slot is empty");
                assert_eq!((*has, self.pools[object]), (size, pool));
                *has = size_new;
                let story = &mut self.stories.get_mut(&object.0).unwrap()[object.1];
                story.push((thread, format!("{size} to {size_new} {}", next.is_unaligned())));
            }
            OpKind::Free => {
                let (object, has) = self.slots.remove(&slot).expect("the slot is empty");
                assert_eq!((has, self.pools.remove(&object)), (size, Some(pool)));
                let story = &mut self.stories.get_mut(&object.0).unwrap()[object.1];
                story.push((thread, format!("free {size} {pool}")));
            }
            OpKind::Post if op.is_met() => {
                self.met = Some(self.slots.values().map(|(_, size)| size).sum());
            }
            OpKind::Post => {
                assert_eq!(op.size(), self.posted[index] + 1);
                self.posted[index] = op.size();
            }
            OpKind::EndPool => {
                let is_empty = self.pools.values().all(|pool| *pool != op.slot());
                assert!(is_empty, "pool {} is not empty", op.slot());
            }
            OpKind::Wait => {}
            OpKind::Prefix => unreachable!("a prefix of a prefix"),
        }
    }
}

/// Counts the live table of a thread independently.
fn live_of(ops: &[Op]) -> Vec<i64> {
    let (mut bytes, mut table, mut index) = (0, Vec::new(), 0);
    let mut upper = 0;
    while index <= ops.len() {
        if index % LIVE_STEP == 0 {
            table.push(bytes);
        }
        let Some(op) = ops.get(index) else { break };
        index += 1;
        let size = upper << 32 | i64::from(op.size());
        upper = 0;
        match op.kind() {
            OpKind::Allocate | OpKind::AllocateZeroed => bytes += size,
            OpKind::Free => bytes -= size,
            OpKind::Reallocate => {
                if index % LIVE_STEP == 0 {
                    table.push(bytes);
                }
                bytes += ops[index].as_new_size() as i64 - size;
                index += 1;
            }
            OpKind::Prefix => upper = i64::from(op.size()),
            _ => {}
        }
    }
    if ops.len().is_multiple_of(LIVE_STEP) {
        table.pop();
    }
    table.push(bytes);
    table
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_workload_does_its_operations_in_any_order_of_threads(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..900),
        thread_count in 1..6u32,
        turns in prop::collection::vec(any::<u32>(), 1..50),
        is_single: bool,
        skew in 0..60u32,
    ) {
        let operations = operations(&numbers, thread_count);
        let mode = Mode { is_single, has_times: true, skew: (skew > 0).then_some(skew) };
        let workload = compile(operations.iter().copied(), mode);
        let expected = stories_of(&operations, is_single);
        let mut player = Player::new(&workload);
        let mut turn = 0;
        let is_done = player.play(|count| {
            turn += 1;
            // One thread runs as far as it can, then another.
            let number = turns[turn / 7 % turns.len()] as usize;
            number % count
        });
        prop_assert!(is_done, "it hangs");
        prop_assert_eq!(&player.stories, &expected);
        let met = player.met.unwrap_or(workload.live_peak);
        prop_assert_eq!(met, workload.live_peak, "all met, but not at the peak");
        let full: BTreeMap<u32, u64> =
            player.slots.iter().map(|(slot, (_, size))| (*slot, *size)).collect();
        let left = workload.threads.iter().flat_map(|thread| thread.left.iter().copied());
        prop_assert_eq!(left.collect::<BTreeMap<u32, u64>>(), full);
        for thread in &workload.threads {
            prop_assert_eq!(&thread.live, &live_of(&thread.ops));
            prop_assert_eq!(thread.times.len(), thread.ops.len());
            prop_assert!(thread.times.is_sorted());
        }
        prop_assert_eq!(workload.live_peak, live_peak(&operations));
        let is_counted = |operation: &&Operation| {
            !matches!(operation.action, Action::EndPool { .. })
        };
        let count = operations.iter().filter(is_counted).count() as u64;
        prop_assert_eq!(workload.operation_count, count);
    }
}

fn live_peak(operations: &[Operation]) -> u64 {
    let (mut sizes, mut peak) = (BTreeMap::new(), 0);
    for operation in operations {
        match operation.action {
            Action::Allocate { object, size, .. } | Action::Reallocate { object, size, .. } => {
                sizes.insert(object, size);
            }
            Action::Free { object } => drop(sizes.remove(&object)),
            Action::EndPool { .. } => {}
        }
        peak = peak.max(sizes.values().sum());
    }
    peak
}

fn waits(workload: &Workload) -> usize {
    let ops = workload.threads.iter().flat_map(|thread| &thread.ops);
    ops.filter(|op| op.kind() == OpKind::Wait).count()
}

fn allocate(object: u32, thread: u32) -> Operation {
    let action = Action::Allocate { object, size: 8, alignment: 1, is_zeroed: false, pool: 0 };
    Operation { time: 0, thread, action }
}

fn free(object: u32, thread: u32) -> Operation {
    Operation { time: 0, thread, action: Action::Free { object } }
}

#[test]
fn an_edge_that_follows_from_others_is_left_out() {
    // `.rep.edge`: thread 2 waits for thread 1, which waited for all that thread 0 had done.
    let operations = [allocate(0, 0), allocate(1, 0), allocate(2, 1), free(1, 1), allocate(3, 1)];
    let then = [free(3, 2), free(0, 2), free(2, 2)];
    let workload = compile(operations.into_iter().chain(then), Mode::default());
    assert_eq!(waits(&workload), 2);
}

/// Threads that allocate one after another, and then free their objects.
fn phases(thread_count: u32, count: u32) -> Vec<Operation> {
    let of = |from: u32, thread| (from..from + count).map(move |object| (object, thread));
    let all = || (0..thread_count).flat_map(move |thread| of(thread * count, thread));
    let operations = all()
        .map(|(object, thread)| allocate(object, thread))
        .chain(all().map(|(object, thread)| free(object, thread)));
    let timed = operations.zip(0..).map(|(operation, time)| Operation { time, ..operation });
    timed.collect()
}

/// `.rep.skew`
#[test]
fn threads_stay_within_the_window_in_any_order() {
    let random = (0..4000u32).map(|time| Operation {
        time: u64::from(time),
        ..allocate(time, time.wrapping_mul(2_654_435_769) >> 13 & 3)
    });
    for operations in [phases(4, 200), random.collect()] {
        for (skew, seed) in [(2, 0), (6, 1), (16, 7), (64, 3), (1000, 2)] {
            let mode = Mode { skew: Some(skew), has_times: true, ..Mode::default() };
            let workload = compile(operations.iter().copied(), mode);
            let mut player = Player::new(&workload);
            assert!(player.play(|count| seed % count), "it hangs");
            // The bound is the rest of a stretch, and the next one.
            assert!(player.apart < u64::from(skew), "{skew}: {}", player.apart);
        }
    }
}

/// `.rep.skew`
#[test]
fn waits_of_thousands_of_threads_are_linear_in_the_threads() {
    const COUNT: u32 = 20_000;
    let mode = Mode { skew: Some(1024), ..Mode::default() };
    let workload = compile(phases(COUNT, 1), mode);
    assert_eq!(workload.operation_count, 2 * u64::from(COUNT));
    // Each operation has one wait of its thread for the hub, and one of a hub for it; the meeting
    // has two for each thread.
    let count = waits(&workload);
    assert!(count <= 6 * COUNT as usize, "{count} waits of {COUNT} threads");
}

/// `.rep.skew`
#[test]
fn all_threads_meet_where_the_most_bytes_are_live() {
    let operations = phases(3, 500);
    for seed in 0..40 {
        let mode = Mode { skew: Some(1 << 20), ..Mode::default() };
        let workload = compile(operations.iter().copied(), mode);
        let mut player = Player::new(&workload);
        assert!(player.play(|count| seed % count), "it hangs");
        assert_eq!(player.met, Some(workload.live_peak));
    }
}

#[test]
fn slots_that_another_thread_empties_are_reused() {
    // `.rep.slot`: thread 0 makes what thread 1 frees; a million objects, few at a time.
    let pairs = (0..1_000_000).flat_map(|object| [allocate(object, 0), free(object, 1)]);
    let workload = compile(pairs, Mode::default());
    assert!(workload.slot_count < 200_000, "{}", workload.slot_count);
    let waits_of_0 = workload.threads[0].ops.iter().filter(|op| op.kind() == OpKind::Wait);
    assert!(waits_of_0.count() < 100, "waits of thread 0");
    let back = (0..1000).flat_map(|object| [allocate(object, 0), free(object, 0)]);
    assert_eq!(compile(back, Mode::default()).slot_count, 1);
}
