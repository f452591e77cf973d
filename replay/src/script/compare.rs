//! Whether two workloads are the same, thread by thread.
//!
//! ```text
//!  A: thread 0 ─ shapes ─┐            shapes: allocate 24, free, …   which thread is which
//!  B: thread 1 ─ shapes ─┴─ equal ─▶ objects: the n-th that is allocated here is the n-th there
//!                                    then each operation: of the same object?
//! ```
//!
//! Numbers of threads and objects are those of a run: two runs number them otherwise. Design:
//! `.rep.truth`, `.rep.truth.compare` in `design/replay.md`.

use crate::mark::Mark;
use crate::operation::{Action, Operation};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

/// No object of the other side.
const NONE: u32 = u32::MAX;

/// An operation, without what is of its run.
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

/// An operation, and of which object it is.
#[derive(Clone, Copy, Debug)]
struct Item {
    shape: Shape,
    object: u32,
    pool: u32,
}

/// What `compare --help` says that an operation takes.
const _: () = assert!(size_of::<Item>() <= 40);

/// All operations of a workload, by thread.
#[derive(Debug, Default)]
pub(crate) struct Side {
    threads: Vec<Vec<Item>>,
    object_count: u32,
    pool_count: u32,
    /// Of each thread where what it played begins and ends; none: it played nothing.
    stretches: Vec<Option<(usize, usize)>>,
}

impl Side {
    /// Reads all of it.
    #[cfg(test)]
    pub(crate) fn new(operations: impl Iterator<Item = Operation>) -> Side {
        let mut side = Side::default();
        operations.for_each(|operation| side.take(operation));
        side
    }

    /// The next of what it has was marked.
    pub(crate) fn mark(&mut self, mark: Mark) {
        let index = mark.thread as usize;
        let at = self.threads.get(index).map_or(0, Vec::len);
        if index >= self.stretches.len() {
            self.stretches.resize(index + 1, None);
        }
        match self.stretches.get_mut(index) {
            // Without an end it was killed: all that there is was played.
            Some(place) if mark.is_begin => *place = Some((at, usize::MAX)),
            Some(Some((_, end))) => *end = at,
            _ => {}
        }
    }

    /// Whether a replayer was recorded, and played.
    pub(crate) fn is_marked(&self) -> bool {
        self.stretches.iter().any(Option::is_some)
    }

    /// Keeps what was played.
    pub(crate) fn cut(&mut self) {
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let (begin, end) = self.stretches.get(index).copied().flatten().unwrap_or((0, 0));
            thread.truncate(end);
            thread.drain(..begin.min(thread.len()));
        }
    }

    /// Takes an operation.
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

    /// How many operations there are.
    pub(crate) fn operation_count(&self) -> u64 {
        self.threads.iter().map(|thread| thread.len() as u64).sum()
    }

    /// How many threads have any.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_empty()).count()
    }
}

/// Where two threads part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    /// The thread of A; none if only B has it.
    pub(crate) a: Option<u32>,
    /// The thread of B; none if only A has it.
    pub(crate) b: Option<u32>,
    /// The operation of the thread, from 0.
    pub(crate) index: usize,
    /// What each does there.
    pub(crate) what: [String; 2],
}

/// A thread of A, and where in which thread of B its operations should be.
struct Pair {
    a: usize,
    b: Option<usize>,
    from: usize,
}

/// Where the threads of two workloads part: nowhere if they are the same. With `is_within` B may do
/// more before and after, in any thread.
pub(crate) fn compare(a: &Side, b: &Side, is_within: bool) -> Vec<Parting> {
    let pairs = if is_within { within(a, b) } else { matched(a, b) };
    let mut partings = Vec::new();
    let others = Others::new(a, b, &pairs);
    for pair in &pairs {
        partings.extend(first_parting(a, b, pair, &others, is_within));
    }
    if !is_within {
        let known = |index: &usize| pairs.iter().any(|pair| pair.b == Some(*index));
        let rest = b.threads.iter().enumerate().filter(|(index, _)| !known(index));
        for (index, thread) in rest.filter(|(_, thread)| !thread.is_empty()) {
            let what = ["has no such thread".to_owned(), format!("{} operations", thread.len())];
            partings.push(Parting { a: None, b: Some(index as u32), index: 0, what });
        }
    }
    partings
}

/// Which objects and pools of B those of A are.
struct Others {
    objects: Vec<u32>,
    /// None if one side has no pools.
    pools: Option<Vec<u32>>,
}

impl Others {
    fn new(a: &Side, b: &Side, pairs: &[Pair]) -> Others {
        let mut objects = vec![NONE; a.object_count as usize];
        let mut pools = vec![NONE; a.pool_count as usize];
        for (item, other) in pairs.iter().flat_map(|pair| zip(a, b, pair)) {
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
        Others { objects, pools: has_pools.then_some(pools) }
    }

    fn is_same_object(&self, item: &Item, other: &Item) -> bool {
        self.objects.get(item.object as usize) == Some(&other.object)
    }

    fn is_same_pool(&self, item: &Item, other: &Item) -> bool {
        let pools = self.pools.as_ref().filter(|_| matches!(item.shape, Shape::Allocate { .. }));
        pools.is_none_or(|pools| pools.get(item.pool as usize) == Some(&other.pool))
    }
}

/// The operations of a thread of A, each with that of B.
fn zip<'s>(
    a: &'s Side,
    b: &'s Side,
    pair: &Pair,
) -> impl Iterator<Item = (&'s Item, &'s Item)> + use<'s> {
    let of = |side: &'s Side, thread: Option<usize>, from: usize| {
        let thread = thread.and_then(|thread| side.threads.get(thread));
        thread.and_then(|thread| thread.get(from..)).unwrap_or_default()
    };
    of(a, Some(pair.a), 0).iter().zip(of(b, pair.b, pair.from))
}

fn first_parting(
    a: &Side,
    b: &Side,
    pair: &Pair,
    others: &Others,
    is_within: bool,
) -> Option<Parting> {
    let parting = |index, what| {
        let thread = pair.b.map(|thread| thread as u32);
        Some(Parting { a: Some(pair.a as u32), b: thread, index, what })
    };
    let size = |side: &Side, thread: Option<usize>| {
        thread.and_then(|thread| side.threads.get(thread)).map_or(0, Vec::len)
    };
    let (count_a, count_b) = (size(a, Some(pair.a)), size(b, pair.b) - pair.from);
    if pair.b.is_none() {
        let other = if is_within { "does not do these one after the other" } else { "lacks it" };
        return parting(0, [format!("{count_a} operations"), other.to_owned()]);
    }
    for (index, (item, other)) in zip(a, b, pair).enumerate() {
        if item.shape != other.shape {
            return parting(index, [item.shape.to_string(), other.shape.to_string()]);
        }
        if !others.is_same_pool(item, other) {
            let of = |item: &Item| format!("{} in its pool {}", item.shape, item.pool);
            return parting(index, [of(item), format!("{}: another one", of(other))]);
        }
        if !others.is_same_object(item, other) {
            let of = |item: &Item, which: String| format!("{} {which}", item.shape);
            let one = of(item, format!("its object {}", item.object));
            let another = format!("another one (its object {})", other.object);
            return parting(index, [one, of(other, another)]);
        }
    }
    let end = |is_end: bool| if is_end { "ends" } else { "goes on" }.to_owned();
    let is_more = count_b > count_a && !is_within || count_a > count_b;
    let index = count_a.min(count_b);
    if !is_more {
        return None;
    }
    parting(index, [end(count_a == index), end(count_b == index)])
}

/// Threads of A and B that do the same; those that are left, in order.
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
        // Threads that do the same are told apart by their order.
        let is_same = |place: &usize| digests.get(*place) == Some(&own) && is_free[*place];
        let found = (0..is_free.len()).find(is_same);
        if let Some(found) = found {
            is_free[found] = false;
        }
        pairs.push(Pair { a: index, b: found, from: 0 });
    }
    for pair in pairs.iter_mut().filter(|pair| pair.b.is_none()) {
        pair.b = is_free.iter().position(|is_free| *is_free);
        if let Some(found) = pair.b {
            is_free[found] = false;
        }
    }
    pairs
}

/// For each thread of A a thread of B that does the same somewhere, one after the other; longer
/// threads first, each stretch of B once.
fn within(a: &Side, b: &Side) -> Vec<Pair> {
    let mut threads: Vec<usize> = (0..a.threads.len()).collect();
    threads.retain(|thread| !a.threads[*thread].is_empty());
    threads.sort_by_key(|thread| Reverse(a.threads[*thread].len()));
    let mut taken: Vec<(usize, usize, usize)> = Vec::new();
    let mut pairs = Vec::new();
    for index in threads {
        let wanted = &a.threads[index];
        let mut pair = Pair { a: index, b: None, from: 0 };
        for (other, thread) in b.threads.iter().enumerate() {
            let is_free = |from: usize| {
                let end = from + wanted.len();
                taken
                    .iter()
                    .all(|(place, begin, to)| *place != other || end <= *begin || from >= *to)
            };
            if let Some(from) = find(wanted, thread, is_free) {
                taken.push((other, from, from + wanted.len()));
                pair = Pair { a: index, b: Some(other), from };
                break;
            }
        }
        pairs.push(pair);
    }
    pairs.sort_by_key(|pair| pair.a);
    pairs
}

/// Where operations of these shapes are, one after the other (Knuth, Morris, Pratt).
fn find(wanted: &[Item], list: &[Item], is_it: impl Fn(usize) -> bool) -> Option<usize> {
    let mut borders = vec![0; wanted.len()];
    let mut border = 0;
    for index in 1..wanted.len() {
        while border > 0 && wanted[index].shape != wanted[border].shape {
            border = borders[border - 1];
        }
        border += usize::from(wanted[index].shape == wanted[border].shape);
        borders[index] = border;
    }
    let mut found = 0;
    for (index, item) in list.iter().enumerate() {
        while found > 0 && item.shape != wanted[found].shape {
            found = borders[found - 1];
        }
        found += usize::from(item.shape == wanted[found].shape);
        if found == wanted.len() {
            let from = index + 1 - found;
            if is_it(from) {
                return Some(from);
            }
            found = borders[found - 1];
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::twin;
    use super::*;
    use crate::script::renumber::Renumber;

    fn side(operations: &[Operation]) -> Side {
        Side::new(operations.iter().copied())
    }

    /// The operations of several threads, and the same as another run would give them: other
    /// numbers, and another order between threads where none is needed.
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
        // A thread that comes late in the one and first in the other.
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
    fn two_runs_that_do_the_same_compare_equal_whatever_their_numbers() {
        // `.rep.truth`
        let [one, other] = runs();
        assert_ne!(one, other);
        assert_eq!(compare(&side(&one), &side(&other), false), []);
        assert_eq!(compare(&side(&one), &side(&other), true), []);
    }

    #[test]
    fn where_they_part_is_told_by_thread_and_operation() {
        let [one, other] = runs();
        let frees = |run: &[Operation]| {
            let is_free = |operation: &&Operation| matches!(operation.action, Action::Free { .. });
            run.iter().filter(is_free).count()
        };
        assert!(frees(&one) > 20);
        let last = other.iter().rposition(|it| matches!(it.action, Action::Free { .. })).unwrap();
        let mut less = other.clone();
        less.remove(last);
        assert_eq!(compare(&side(&one), &side(&less), false).len(), 1);
        assert!(!compare(&side(&less), &side(&other), false).is_empty());
        // The free of another object is a difference, though the shapes are the same.
        let mut wrong = one.clone();
        let first = wrong.iter().position(|it| matches!(it.action, Action::Free { .. })).unwrap();
        wrong[first].action = Action::Free { object: one.len() as u32 };
        let partings = compare(&side(&one), &side(&wrong), false);
        assert_eq!(partings.len(), 1);
        assert!(partings[0].what[1].contains("another one"), "{partings:?}");
    }

    #[test]
    fn what_another_run_does_before_and_after_is_passed_over_if_that_is_asked_for() {
        let [one, other] = runs();
        let more = |object, thread| {
            let action =
                Action::Allocate { object, size: 7, alignment: 1, is_zeroed: true, pool: 0 };
            Operation { time: 0, thread, action }
        };
        let mut longer: Vec<Operation> = (0..50).map(|n| more(5000 + n, n % 4)).collect();
        longer.extend(&other);
        longer.extend((0..50).map(|n| more(6000 + n, n % 5)));
        assert_eq!(compare(&side(&one), &side(&longer), true), []);
        assert!(!compare(&side(&one), &side(&longer), false).is_empty());
        assert!(!compare(&side(&longer), &side(&one), true).is_empty());
    }
}
