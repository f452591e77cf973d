//! Some of the objects, or several of each.
//!
//! ```text
//!  allocate 7 ─ not wanted ─▶ nothing, nor of what is done with 7 until it is freed
//! ```
//!
//! Design: `.rep.modify.choose`, `.rep.modify.copies` in `design/replay.md`.

use super::Step;
use crate::operation::{Action, Operation};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Only the objects that are wanted.
struct Choose<W> {
    is_wanted: W,
    /// Of each object that is there: whether it is wanted, and the thread that allocated it.
    objects: HashMap<u32, (bool, u32)>,
    /// Threads that do nothing any more: what they did to the others' objects, these do.
    gone: Option<(bool, Vec<u32>)>,
    /// Who did something last.
    last: Option<u32>,
}

/// An allocation: by which thread, in which pool, of which size.
struct Asked {
    thread: u32,
    pool: u32,
    size: u64,
}

fn choose(
    is_wanted: impl Fn(&Asked) -> bool + 'static,
    gone: Option<(bool, Vec<u32>)>,
) -> Box<dyn Step> {
    Box::new(Choose { is_wanted, objects: HashMap::new(), gone, last: None })
}

/// Only objects in these pools, or in others.
pub(super) fn pools(is_kept: bool, pools: Vec<u32>) -> Box<dyn Step> {
    choose(move |asked| pools.contains(&asked.pool) == is_kept, None)
}

/// Only objects of these sizes, or of others.
pub(super) fn sizes(is_kept: bool, sizes: Vec<RangeInclusive<u64>>) -> Box<dyn Step> {
    let has = move |size| sizes.iter().any(|range| range.contains(&size));
    choose(move |asked| has(asked.size) == is_kept, None)
}

/// Only what these threads allocated, or others.
pub(super) fn threads(is_kept: bool, threads: Vec<u32>) -> Box<dyn Step> {
    let gone = Some((is_kept, threads.clone()));
    choose(move |asked| threads.contains(&asked.thread) == is_kept, gone)
}

impl<W: Fn(&Asked) -> bool> Choose<W> {
    fn is_gone(&self, thread: u32) -> bool {
        self.gone.as_ref().is_some_and(|(is_kept, list)| list.contains(&thread) != *is_kept)
    }
}

impl<W: Fn(&Asked) -> bool> Step for Choose<W> {
    fn take(&mut self, mut operation: Operation, give: &mut dyn FnMut(Operation)) {
        let thread = operation.thread;
        let known = match operation.action {
            Action::Allocate { object, size, pool, .. } => {
                let known = ((self.is_wanted)(&Asked { thread, pool, size }), thread);
                self.objects.insert(object, known);
                Some(known)
            }
            Action::Reallocate { object, .. } => self.objects.get(&object).copied(),
            Action::Free { object } => self.objects.remove(&object),
            // Also of what has nothing any more: that does no harm.
            Action::EndPool { .. } => self.last.map(|last| (true, last)),
        };
        let Some((true, by)) = known else { return };
        if self.is_gone(thread) {
            operation.thread = by;
        }
        self.last = Some(operation.thread);
        give(operation);
    }
}

/// Several copies of the program at once, each with threads and objects of its own, in the same
/// pools.
pub(super) struct Copies(pub(super) u32);

impl Step for Copies {
    fn take(&mut self, operation: Operation, give: &mut dyn FnMut(Operation)) {
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
                give(Operation { time: operation.time, thread, action });
            }
        }
    }
}
