//! Keeps some of the objects, or makes several copies.
//!
//! ```text
//!  allocate 7 ─ not wanted ─▶ dropped, with all operations on 7 until its free
//! ```
//!
//! Design: `.rep.modify.choose`, `.rep.modify.copies` in `design/replay.md`.

use super::Step;
use crate::operation::{Action, Operation};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Keeps the wanted objects.
struct Choose<W> {
    is_wanted: W,
    /// For each live object, whether it is wanted, and the thread that allocated it.
    objects: HashMap<u32, (bool, u32)>,
    /// The list of kept or dropped threads: what a dropped thread does to a kept object, the
    /// allocating thread does.
    dropped: Option<(bool, Vec<u32>)>,
    /// The thread of the last operation.
    last: Option<u32>,
}

/// An allocation: its thread, pool and size.
struct Allocation {
    thread: u32,
    pool: u32,
    size: u64,
}

fn choose(
    is_wanted: impl Fn(&Allocation) -> bool + 'static,
    dropped: Option<(bool, Vec<u32>)>,
) -> Box<dyn Step> {
    Box::new(Choose { is_wanted, objects: HashMap::new(), dropped, last: None })
}

/// Keeps the objects in these pools, or in others.
pub(super) fn pools(is_kept: bool, pools: Vec<u32>) -> Box<dyn Step> {
    choose(move |allocation| pools.contains(&allocation.pool) == is_kept, None)
}

/// Keeps the objects of these sizes, or of others.
pub(super) fn sizes(is_kept: bool, sizes: Vec<RangeInclusive<u64>>) -> Box<dyn Step> {
    let has = move |size| sizes.iter().any(|range| range.contains(&size));
    choose(move |allocation| has(allocation.size) == is_kept, None)
}

/// Keeps the objects that these threads allocated, or others.
pub(super) fn threads(is_kept: bool, threads: Vec<u32>) -> Box<dyn Step> {
    let dropped = Some((is_kept, threads.clone()));
    choose(move |allocation| threads.contains(&allocation.thread) == is_kept, dropped)
}

impl<W: Fn(&Allocation) -> bool> Choose<W> {
    fn is_dropped(&self, thread: u32) -> bool {
        self.dropped.as_ref().is_some_and(|(is_kept, list)| list.contains(&thread) != *is_kept)
    }
}

impl<W: Fn(&Allocation) -> bool> Step for Choose<W> {
    fn take(&mut self, mut operation: Operation, emit: &mut dyn FnMut(Operation)) {
        let thread = operation.thread;
        let known = match operation.action {
            Action::Allocate { object, size, pool, .. } => {
                let known = ((self.is_wanted)(&Allocation { thread, pool, size }), thread);
                self.objects.insert(object, known);
                Some(known)
            }
            Action::Reallocate { object, .. } => self.objects.get(&object).copied(),
            Action::Free { object } => self.objects.remove(&object),
            // A pool without objects may end, too.
            Action::EndPool { .. } => self.last.map(|last| (true, last)),
        };
        let Some((true, by)) = known else { return };
        if self.is_dropped(thread) {
            operation.thread = by;
        }
        self.last = Some(operation.thread);
        emit(operation);
    }
}

/// Makes several copies of the program, each with its own threads and objects, in the same pools.
pub(super) struct Copies(pub(super) u32);

impl Step for Copies {
    fn take(&mut self, operation: Operation, emit: &mut dyn FnMut(Operation)) {
        let copies = self.0;
        for copy in 0..copies {
            let of_copy = |number: u32| number.checked_mul(copies)?.checked_add(copy);
            let action = match operation.action {
                Action::Allocate { object, size, alignment, is_zeroed, pool } => of_copy(object)
                    .map(|object| Action::Allocate { object, size, alignment, is_zeroed, pool }),
                Action::Reallocate { object, size, is_unaligned } => {
                    of_copy(object).map(|object| Action::Reallocate { object, size, is_unaligned })
                }
                Action::Free { object } => of_copy(object).map(|object| Action::Free { object }),
                Action::EndPool { .. } => Some(operation.action).filter(|_| copy + 1 == copies),
            };
            if let (Some(action), Some(thread)) = (action, of_copy(operation.thread)) {
                emit(Operation { time: operation.time, thread, action });
            }
        }
    }
}
