//! Compares two workloads, thread by thread.
//!
//! ```text
//!  A: thread 0 ─ shapes ─┐            shapes: allocate 24, free, …   they pair the threads
//!  B: thread 1 ─ shapes ─┴─ equal ─▶ objects: the n-th of a thread is the n-th of the other
//!                                    then each operation must be on the same object
//! ```
//!
//! Two runs number threads and objects differently. Design: `.rep.truth`, `.rep.truth.compare` in
//! `design/replay.md`.

use crate::mark::Mark;
use crate::operation::{Action, Operation};
use foldhash::fast::FixedState;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

/// Stands for no object of the other side.
const NONE: u32 = u32::MAX;

/// An operation, without the numbers of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Allocate { size: u64, alignment: u64, is_zeroed: bool },
    Reallocate { size: u64 },
    Free,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Allocate { size, alignment, is_zeroed } => {
                write!(f, "allocates {size} bytes")?;
                if *alignment > 1 {
                    write!(f, " aligned to {alignment}")?;
                }
                if *is_zeroed { write!(f, ", zeroed") } else { Ok(()) }
            }
            Shape::Reallocate { size } => write!(f, "reallocates to {size} bytes"),
            Shape::Free => write!(f, "frees"),
        }
    }
}

/// An operation, its object and its pool.
#[derive(Clone, Copy, Debug)]
struct Item {
    shape: Shape,
    object: u32,
    pool: u32,
}

/// `compare --help` states the size of two of these.
const _: () = assert!(size_of::<Item>() <= 40);

/// All operations of a workload, by thread.
#[derive(Debug, Default)]
pub(crate) struct Side {
    threads: Vec<Vec<Item>>,
    object_count: u32,
    pool_count: u32,
    /// The range of operations that each thread played; none: it played nothing.
    stretches: Vec<Option<(usize, usize)>>,
}

impl Side {
    /// Reads all operations.
    #[cfg(test)]
    pub(crate) fn new(operations: impl Iterator<Item = Operation>) -> Side {
        let mut side = Side::default();
        operations.for_each(|operation| side.take(operation));
        side
    }

    /// Notes a mark before the next operation of its thread.
    pub(crate) fn mark(&mut self, mark: Mark) {
        let index = mark.thread as usize;
        let at = self.threads.get(index).map_or(0, Vec::len);
        if index >= self.stretches.len() {
            self.stretches.resize(index + 1, None);
        }
        match self.stretches.get_mut(index) {
            // A thread that was killed has no end mark: it played all that follows.
            Some(place) if mark.is_begin => *place = Some((at, usize::MAX)),
            Some(Some((_, end))) => *end = at,
            _ => {}
        }
    }

    /// Returns whether this is a recording of a replayer that played.
    pub(crate) fn is_marked(&self) -> bool {
        self.stretches.iter().any(Option::is_some)
    }

    /// Keeps only the operations between the marks.
    pub(crate) fn cut(&mut self) {
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let (begin, end) = self.stretches.get(index).copied().flatten().unwrap_or((0, 0));
            thread.truncate(end);
            thread.drain(..begin.min(thread.len()));
        }
    }

    pub(crate) fn take(&mut self, operation: Operation) {
        let item = match operation.action {
            Action::Allocate { object, size, alignment, is_zeroed, pool } => {
                self.object_count = self.object_count.max(object.saturating_add(1));
                self.pool_count = self.pool_count.max(pool.saturating_add(1));
                Item { shape: Shape::Allocate { size, alignment, is_zeroed }, object, pool }
            }
            Action::Reallocate { object, size, .. } => {
                Item { shape: Shape::Reallocate { size }, object, pool: 0 }
            }
            Action::Free { object } => Item { shape: Shape::Free, object, pool: 0 },
            Action::EndPool { .. } => return,
        };
        let thread = operation.thread as usize;
        if thread >= self.threads.len() {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.push(item);
        }
    }

    pub(crate) fn operation_count(&self) -> u64 {
        self.threads.iter().map(|thread| thread.len() as u64).sum()
    }

    /// Returns the number of threads with operations.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_empty()).count()
    }
}

/// The first difference between two threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The thread of A; none if only B has it.
    pub(crate) a: Option<u32>,
    /// The thread of B; none if only A has it.
    pub(crate) b: Option<u32>,
    /// The operation of the thread, from 0.
    pub(crate) index: usize,
    /// What each thread does there.
    pub(crate) texts: [String; 2],
}

/// Threads of A and B that belong together.
struct Pair {
    a: usize,
    b: Option<usize>,
}

/// Returns the first difference of each pair of threads: none if the workloads are the same.
pub(crate) fn compare(a: &Side, b: &Side) -> Vec<Difference> {
    let pairs = matched(a, b);
    let counterparts = Counterparts::new(a, b, &pairs);
    let differences = pairs.iter().filter_map(|pair| difference(a, b, pair, &counterparts));
    let mut differences: Vec<Difference> = differences.collect();
    let is_known = |index: &usize| pairs.iter().any(|pair| pair.b == Some(*index));
    let rest = b.threads.iter().enumerate().filter(|(index, _)| !is_known(index));
    for (index, thread) in rest.filter(|(_, thread)| !thread.is_empty()) {
        let texts = ["has no such thread".to_owned(), format!("{} operations", thread.len())];
        differences.push(Difference { a: None, b: Some(index as u32), index: 0, texts });
    }
    differences
}

/// The objects and pools of B for those of A.
struct Counterparts {
    objects: Vec<u32>,
    /// None if a side has only one pool.
    pools: Option<Vec<u32>>,
}

impl Counterparts {
    fn new(a: &Side, b: &Side, pairs: &[Pair]) -> Counterparts {
        let mut objects = vec![NONE; a.object_count as usize];
        let mut pools = vec![NONE; a.pool_count as usize];
        let both = |pair| {
            let [of_a, of_b] = items(a, b, pair);
            of_a.iter().zip(of_b)
        };
        for (item, other) in pairs.iter().flat_map(both) {
            let is_allocated = |item: &Item| matches!(item.shape, Shape::Allocate { .. });
            if !is_allocated(item) || !is_allocated(other) {
                continue;
            }
            if let Some(place) = objects.get_mut(item.object as usize) {
                *place = other.object;
            }
            if let Some(place) = pools.get_mut(item.pool as usize).filter(|pool| **pool == NONE) {
                *place = other.pool;
            }
        }
        let has_pools = a.pool_count > 1 && b.pool_count > 1;
        Counterparts { objects, pools: has_pools.then_some(pools) }
    }

    fn is_same_object(&self, item: &Item, other: &Item) -> bool {
        self.objects.get(item.object as usize) == Some(&other.object)
    }

    fn is_same_pool(&self, item: &Item, other: &Item) -> bool {
        let pools = self.pools.as_ref().filter(|_| matches!(item.shape, Shape::Allocate { .. }));
        pools.is_none_or(|pools| pools.get(item.pool as usize) == Some(&other.pool))
    }
}

/// Returns the operations of a pair of threads.
fn items<'s>(a: &'s Side, b: &'s Side, pair: &Pair) -> [&'s [Item]; 2] {
    let of = |side: &'s Side, thread: Option<usize>| {
        thread.and_then(|thread| side.threads.get(thread)).map_or(&[][..], Vec::as_slice)
    };
    [of(a, Some(pair.a)), of(b, pair.b)]
}

fn difference(a: &Side, b: &Side, pair: &Pair, counterparts: &Counterparts) -> Option<Difference> {
    let [of_a, of_b] = items(a, b, pair);
    let difference = |index, texts| {
        let thread = pair.b.map(|thread| thread as u32);
        Some(Difference { a: Some(pair.a as u32), b: thread, index, texts })
    };
    if pair.b.is_none() {
        let texts = [format!("{} operations", of_a.len()), "has no such thread".to_owned()];
        return difference(0, texts);
    }
    for (index, (item, other)) in of_a.iter().zip(of_b).enumerate() {
        if item.shape != other.shape {
            return difference(index, [item.shape.to_string(), other.shape.to_string()]);
        }
        if !counterparts.is_same_pool(item, other) {
            let of = |item: &Item| format!("{} in its pool {}", item.shape, item.pool);
            return difference(index, [of(item), format!("{}: another pool", of(other))]);
        }
        if !counterparts.is_same_object(item, other) {
            let of = |item: &Item, which: &str| {
                format!("{} {which} (its object {})", item.shape, item.object)
            };
            return difference(index, [of(item, "an object"), of(other, "another one")]);
        }
    }
    let (count_a, count_b) = (of_a.len(), of_b.len());
    let end = |is_end: bool| if is_end { "ends" } else { "goes on" }.to_owned();
    let index = count_a.min(count_b);
    match count_a == count_b {
        true => None,
        false => difference(index, [end(count_a == index), end(count_b == index)]),
    }
}

/// Pairs threads of A and B that do the same, and the remaining ones in their order.
fn matched(a: &Side, b: &Side) -> Vec<Pair> {
    let hash = FixedState::default();
    let digest = |thread: &Vec<Item>| {
        let mut state = hash.build_hasher();
        thread.iter().for_each(|item| item.shape.hash(&mut state));
        state.finish()
    };
    let digests: Vec<u64> = b.threads.iter().map(digest).collect();
    let mut is_free: Vec<bool> = b.threads.iter().map(|thread| !thread.is_empty()).collect();
    let mut pairs = Vec::new();
    for (index, thread) in a.threads.iter().enumerate().filter(|(_, thread)| !thread.is_empty()) {
        let own = digest(thread);
        // The first free thread is taken of several that do the same.
        let is_same = |place: &usize| digests.get(*place) == Some(&own) && is_free[*place];
        let found = (0..is_free.len()).find(is_same);
        if let Some(found) = found {
            is_free[found] = false;
        }
        pairs.push(Pair { a: index, b: found });
    }
    for pair in pairs.iter_mut().filter(|pair| pair.b.is_none()) {
        pair.b = is_free.iter().position(|is_free| *is_free);
        if let Some(found) = pair.b {
            is_free[found] = false;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::twin;
    use super::*;
    use crate::script::renumber::Renumber;

    fn side(operations: &[Operation]) -> Side {
        Side::new(operations.iter().copied())
    }

    /// Returns the operations of several threads, twice: the second time with the numbers of
    /// another run, and another order of threads that need not wait for each other.
    fn runs() -> [Vec<Operation>; 2] {
        let number = |index: u32| (index * 37 % 251) as u8;
        let random = |index: u32| index.wrapping_mul(2_654_435_769) >> 7;
        let numbers: Vec<(u8, u32, u8)> =
            (0..600).map(|index| (number(index), random(index), 0)).collect();
        let first = twin::operations(&numbers, 3);
        let alone = |object, thread, time| {
            let action =
                Action::Allocate { object, size: 7, alignment: 1, is_zeroed: false, pool: 0 };
            Operation { time, thread, action }
        };
        // A thread that comes late in the one run and first in the other.
        let mut one = first.clone();
        one.extend((0..20).map(|index| alone(1000 + index, 9, 1 << 40)));
        let mut other: Vec<Operation> = (0..20).map(|index| alone(1000 + index, 9, 0)).collect();
        other.extend(first);
        [one, other].map(|run| {
            let mut renumber = Renumber::default();
            run.into_iter().map(|operation| renumber.apply(operation)).collect()
        })
    }

    #[test]
    fn two_runs_that_do_the_same_compare_equal() {
        // `.rep.truth`
        let [one, other] = runs();
        assert_ne!(one, other);
        assert_eq!(compare(&side(&one), &side(&other)), []);
    }

    #[test]
    fn a_difference_names_its_thread_and_operation() {
        let [one, other] = runs();
        let frees = |run: &[Operation]| {
            let is_free = |operation: &&Operation| matches!(operation.action, Action::Free { .. });
            run.iter().filter(is_free).count()
        };
        assert!(frees(&one) > 20);
        let last = other.iter().rposition(|it| matches!(it.action, Action::Free { .. })).unwrap();
        let mut less = other.clone();
        less.remove(last);
        assert_eq!(compare(&side(&one), &side(&less)).len(), 1);
        assert!(!compare(&side(&less), &side(&other)).is_empty());
        // A free of another object is a difference, even with the same shapes.
        let mut wrong = one.clone();
        let first = wrong.iter().position(|it| matches!(it.action, Action::Free { .. })).unwrap();
        wrong[first].action = Action::Free { object: one.len() as u32 };
        let differences = compare(&side(&one), &side(&wrong));
        assert_eq!(differences.len(), 1);
        assert!(differences[0].texts[1].contains("another one"), "{differences:?}");
    }

    /// `.rep.truth.mark`
    #[test]
    fn operations_outside_of_the_marks_do_not_count() {
        let [one, other] = runs();
        let own = |object, thread| {
            let action =
                Action::Allocate { object, size: 7, alignment: 1, is_zeroed: true, pool: 0 };
            Operation { time: 0, thread, action }
        };
        let (mut longer, threads) = (Side::default(), 0..5);
        threads.clone().for_each(|thread| longer.take(own(5000 + thread, thread)));
        threads.clone().for_each(|thread| longer.mark(Mark { thread, is_begin: true }));
        other.iter().for_each(|operation| longer.take(*operation));
        threads.clone().for_each(|thread| longer.mark(Mark { thread, is_begin: false }));
        threads.for_each(|thread| longer.take(own(6000 + thread, thread)));
        assert!(!compare(&side(&one), &longer).is_empty());
        longer.cut();
        assert_eq!(compare(&side(&one), &longer), []);
    }
}
