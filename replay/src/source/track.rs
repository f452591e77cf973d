//! Addresses to objects: what is where, stream by stream.
//!
//! ```text
//!  Told ─▶ Tracker ─┬─ the address has an object ─▶ its number ─▶ Operation
//!                   └─ it does not fit ─▶ counted, and made fit
//! ```
//!
//! Design: `.rep.operation`, `.rep.skipped` in `design/replay.md`.

use super::pools::Pools;
use super::rows::Told;
use super::skipped::{Cause, Skipped};
use crate::facts::{Facts, Program};
use crate::mark::Mark;
use crate::operation::{Action, Operation};
use foldhash::fast::FixedState;
use stacks::Stack;
use std::collections::{HashMap, VecDeque};

/// No object: what was at the address was freed.
const FREED: u32 = u32::MAX;

/// What any allocation is aligned to, without being asked.
const ALIGNMENT_USUAL: u64 = 16;
/// The highest alignment that an operation has.
const ALIGNMENT_MAX: u64 = 1 << 31;

/// A map whose keys nobody chooses to do harm.
pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// The object at each address of a process that was ever handed out; [`FREED`] if it is no longer
/// there.
#[derive(Debug, Default)]
struct Space(Map<u64, u32>);

impl Space {
    /// Puts an object at an address; the one that is there, if one is.
    #[inline]
    fn put(&mut self, address: u64, object: u32) -> Option<u32> {
        self.0.insert(address, object).filter(|before| *before != FREED)
    }

    /// Takes the object away that is at an address.
    #[inline]
    fn take(&mut self, address: u64) -> Result<u32, Cause> {
        match self.0.get_mut(&address) {
            None => Err(Cause::UnknownFree),
            Some(place) => match std::mem::replace(place, FREED) {
                FREED => Err(Cause::DoubleFree),
                object => Ok(object),
            },
        }
    }
}

/// Where and when something is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) time: u64,
    pub(crate) stream: u16,
    pub(crate) thread: u32,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    address: u64,
    size: u64,
    alignment: u64,
    is_zeroed: bool,
    stack: u32,
}

/// What is made of what was said.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Objects so far.
    objects: u32,
    /// Operations that were not given yet.
    pub(crate) found: VecDeque<Operation>,
    pub(crate) skipped: Skipped,
    pub(crate) facts: Facts,
    /// Marks that nobody took yet: after all operations that were given.
    pub(crate) marks: Vec<Mark>,
    /// Whether the log has events of objects, and not only of what arenas give to pools.
    pub(crate) has_objects: bool,
    /// Of each object the stream and the stack that asked for it last, if that is asked for.
    pub(crate) stacks: Option<Vec<Stack>>,
}

impl Output {
    /// An operation; `at` has the number of its thread.
    #[inline]
    pub(crate) fn push(&mut self, at: At, action: Action) {
        self.found.push_back(Operation { time: at.time, thread: at.thread, action });
    }

    /// A new object.
    #[inline]
    pub(crate) fn object(&mut self, at: At, stack: u32) -> Option<u32> {
        let object = self.objects;
        if object == FREED {
            self.skipped.count(Cause::Beyond);
            return None;
        }
        self.objects += 1;
        if let Some(stacks) = &mut self.stacks {
            stacks.push(Stack { stream: at.stream, number: stack });
        }
        Some(object)
    }
}

/// What is known after the events so far.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    spaces: Vec<Space>,
    pools: Pools,
    /// Of each thread of a stream its number.
    numbers: Map<(u16, u32), u32>,
    last: Option<((u16, u32), u32)>,
    /// Objects that are aligned to more than usual, where a reallocation has them so no longer.
    aligned: Map<u32, ()>,
    /// Whether reallocations are those of C, which know no alignment.
    pub(crate) is_of_c: bool,
    /// What each thread is reallocating: the address, and the object if there is one.
    pending: Vec<Option<(u64, Option<u32>)>>,
    pub(crate) output: Output,
}

impl Tracker {
    /// Takes what an event says; the operations that follow are in `output`.
    #[inline]
    pub(crate) fn take(&mut self, told: Told, mut at: At) {
        match told {
            Told::Short => return self.output.skipped.count(Cause::Short),
            Told::Miss { count } => return self.output.skipped.add(Cause::Missed, count),
            Told::Ask => return self.output.skipped.count(Cause::Asked),
            Told::Touched { size, is_zeroed, looked, touched } => {
                return self.output.facts.touched.add(size, is_zeroed, looked, touched);
            }
            Told::Process { resident, user, system } => {
                let program = Program { resident_peak: resident, user_ns: user, system_ns: system };
                return self.output.facts.take(at.stream, program);
            }
            _ => {}
        }
        at.thread = self.number(at.stream, at.thread);
        match told {
            Told::Allocate { address, size, alignment, is_zeroed, pool: 0, stack } => {
                self.allocate(at, Wanted { address, size, alignment, is_zeroed, stack });
            }
            Told::Free { address, pool: 0, .. } => self.free(at, address),
            Told::Begin { address } => self.begin(at, address),
            Told::Reallocate { old, address, size, stack } => {
                let wanted = Wanted { address, size, alignment: 1, is_zeroed: false, stack };
                self.reallocate(at, old, wanted);
            }
            told => self.pools.take(told, at, &mut self.output),
        }
    }

    /// The log is at its end.
    pub(crate) fn end(&mut self) {
        for pending in self.pending.iter_mut().filter_map(Option::take) {
            if pending.1.is_some() {
                self.output.skipped.count(Cause::Unfinished);
            }
        }
        self.pools.end_of_log(&mut self.output);
        let untold = self.output.facts.give_up();
        self.output.skipped.add(Cause::Untold, untold);
    }

    /// What these buffers are filled with is known by their objects.
    pub(crate) fn set_logged(&mut self, buffers: Map<(u16, u64), ()>) {
        self.pools.logged = buffers;
    }

    /// How many pools there were.
    pub(crate) fn pool_count(&self) -> u32 {
        self.pools.count()
    }

    /// The number of a thread of a stream.
    #[inline]
    fn number(&mut self, stream: u16, thread: u32) -> u32 {
        let key = (stream, thread);
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.pending.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.pending.push(None);
        }
        let streams = usize::from(stream) + 1;
        if streams > self.spaces.len() {
            self.spaces.resize_with(streams, Space::default);
        }
        self.last = Some((key, number));
        number
    }

    fn space(&mut self, stream: u16) -> &mut Space {
        &mut self.spaces[usize::from(stream)]
    }

    #[inline]
    fn allocate(&mut self, at: At, wanted: Wanted) {
        if wanted.address == 0 {
            return match Mark::of(wanted.size, at.thread) {
                Some(mark) => self.output.marks.push(mark),
                None => self.output.skipped.count(Cause::Failed),
            };
        }
        let alignment = usual(wanted.alignment, &mut self.output.skipped);
        let Some(object) = self.output.object(at, wanted.stack) else { return };
        self.put(at, wanted.address, object);
        if alignment > 1 && self.is_of_c {
            self.aligned.insert(object, ());
        }
        let Wanted { size, is_zeroed, .. } = wanted;
        self.output.push(at, Action::Allocate { object, size, alignment, is_zeroed, pool: 0 });
    }

    /// Puts an object at an address, where none should be.
    #[inline]
    fn put(&mut self, at: At, address: u64, object: u32) {
        if let Some(before) = self.space(at.stream).put(address, object) {
            self.output.skipped.count(Cause::HandedOutTwice);
            self.push_free(at, before);
        }
    }

    #[inline]
    fn push_free(&mut self, at: At, object: u32) {
        if !self.aligned.is_empty() {
            self.aligned.remove(&object);
        }
        self.output.push(at, Action::Free { object });
    }

    #[inline]
    fn free(&mut self, at: At, address: u64) {
        if address == 0 {
            return;
        }
        match self.space(at.stream).take(address) {
            Ok(object) => self.push_free(at, object),
            Err(cause) => self.output.skipped.count(cause),
        }
    }

    fn begin(&mut self, at: At, address: u64) {
        let object = self.space(at.stream).take(address).ok();
        let before = self.pending[at.thread as usize].replace((address, object));
        if before.is_some_and(|(_, object)| object.is_some()) {
            self.output.skipped.count(Cause::Unfinished);
        }
    }

    fn reallocate(&mut self, at: At, old: Option<u64>, wanted: Wanted) {
        let begun = self.pending[at.thread as usize].take();
        let begun = begun.filter(|(begun, _)| old.is_none_or(|old| old == *begun));
        // Without its beginning, which was lost, what it was before is all there is to go by.
        let (old, object) = match (begun, old) {
            (Some((old, object)), _) => (Some(old), object),
            (None, Some(old)) => (Some(old), self.space(at.stream).take(old).ok()),
            (None, None) => (None, None),
        };
        match (object, wanted.address) {
            (None, 0) if wanted.size == 0 => {}
            (None, address) => {
                if old != Some(0) && address != 0 {
                    self.output.skipped.count(Cause::UnknownReallocate);
                }
                self.allocate(at, wanted);
            }
            // As the C library has it, nothing is left to be handed out.
            (Some(object), 0) if wanted.size == 0 => self.push_free(at, object),
            (Some(object), 0) => {
                self.output.skipped.count(Cause::Failed);
                self.put(at, old.unwrap_or(0), object);
            }
            (Some(object), address) => {
                self.put(at, address, object);
                let is_unaligned = self.aligned.remove(&object).is_some();
                let size = wanted.size;
                let stacks = self.output.stacks.as_mut();
                if let Some(place) = stacks.and_then(|list| list.get_mut(object as usize)) {
                    *place = Stack { stream: at.stream, number: wanted.stack };
                }
                self.output.push(at, Action::Reallocate { object, size, is_unaligned });
            }
        }
    }
}

/// The alignment of an operation: 1 where it is no more than any allocation has.
#[inline]
fn usual(alignment: u64, skipped: &mut Skipped) -> u64 {
    if alignment <= ALIGNMENT_USUAL {
        return 1;
    }
    let fitting = alignment.min(ALIGNMENT_MAX).next_power_of_two();
    if fitting != alignment {
        skipped.count(Cause::Alignment);
    }
    fitting
}
