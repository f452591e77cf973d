//! Turns addresses into objects, for each stream.
//!
//! ```text
//!  MemoryEvent ─▶ Tracker ─┬─ the address has an object ─▶ its number ─▶ Operation
//!                          └─ the event does not fit ─▶ counted, and made to fit
//! ```
//!
//! Design: `.rep.operation`, `.rep.skipped` in `design/replay.md`.

use super::output::{FREED, Map, Moment, Output};
use super::pools::{Pools, Target};
use super::rows::{MemoryEvent, Verb};
use super::skipped::{Cause, Skipped};
use crate::facts::Program;
use crate::operation::Action;
use stacks::Stack;

const ALIGNMENT_USUAL: u64 = 16;
/// The highest alignment of an operation.
const ALIGNMENT_MAX: u64 = 1 << 31;

/// The object at each address that a process was ever given; [`FREED`] after its free.
#[derive(Debug, Default)]
struct Space(Map<u64, u32>);

impl Space {
    /// Puts an object at an address. Returns the object that was still there.
    #[inline]
    fn put(&mut self, address: u64, object: u32) -> Option<u32> {
        self.0.insert(address, object).filter(|before| *before != FREED)
    }

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

/// The state after the events so far.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    spaces: Vec<Space>,
    pools: Pools,
    numbers: Map<(u16, u32), u32>,
    last: Option<((u16, u32), u32)>,
    /// Whether a thread gets the number of one that has ended.
    pub(crate) is_sharing: bool,
    /// The numbers of threads that have ended, as far as no other thread has them.
    ended: Vec<u32>,
    /// Objects with more than the usual alignment, which a reallocation in C does not keep.
    aligned: Map<u32, ()>,
    /// Whether reallocations are those of C, which keep no alignment.
    pub(crate) is_of_c: bool,
    /// The address that each thread is reallocating, and its object if one is known.
    pending: Vec<Option<(u64, Option<u32>)>>,
    pub(crate) output: Output,
}

impl Tracker {
    /// Takes an event; its operations are then in `output`.
    #[inline]
    pub(crate) fn take(&mut self, event: MemoryEvent, mut at: Moment) {
        let (skipped, facts) = (&mut self.output.skipped, &mut self.output.facts);
        match event.verb {
            Verb::Incomplete => return skipped.count(Cause::Incomplete),
            Verb::Missed => return skipped.add(Cause::Missed, event.more[0]),
            Verb::UsableSize => return skipped.count(Cause::UsableSize),
            Verb::Touched => {
                let [is_zeroed, examined, written] = event.more;
                return facts.touched.add(event.size, is_zeroed != 0, examined, written);
            }
            Verb::Process => {
                let ([resident_peak, user_ns, system_ns], recorder) = (event.more, event.size);
                let program = Program { resident_peak, user_ns, system_ns, recorder };
                return facts.take(at.stream, program);
            }
            Verb::EndThread => {
                let number = self.numbers.get(&(at.stream, at.thread));
                return self.ended.extend(number.filter(|_| self.is_sharing));
            }
            _ => {}
        }
        at.thread = self.number(at.stream, at.thread);
        match (event.verb, event.pool) {
            (Verb::Allocate | Verb::AllocateZeroed, 0) => self.allocate(at, event),
            (Verb::Free, 0) => self.free(at, event.address),
            (Verb::BeginReallocate, _) => self.begin_reallocate(at, event.address),
            (Verb::Reallocate, _) => self.reallocate(at, event),
            _ => self.pools.take(&mut Target { at, output: &mut self.output }, event),
        }
    }

    pub(crate) fn end(&mut self) {
        for pending in self.pending.iter_mut().filter_map(Option::take) {
            if pending.1.is_some() {
                self.output.skipped.count(Cause::Unfinished);
            }
        }
        self.pools.end_of_log(&mut self.output);
        let without_figures = self.output.facts.drop_missing();
        self.output.skipped.add(Cause::NoFigures, without_figures);
    }

    /// Sets the buffers that log their objects, so that their fillings count for nothing.
    pub(crate) fn set_logged(&mut self, buffers: Map<(u16, u64), ()>) {
        self.pools.logged = buffers;
    }

    #[inline]
    pub(crate) fn number(&mut self, stream: u16, thread: u32) -> u32 {
        let key = (stream, thread);
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let next = self.pending.len() as u32;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let ended = self.ended.pop();
            self.output.skipped.add(Cause::SharedThread, u64::from(ended.is_some()));
            ended.unwrap_or(next)
        });
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
    fn allocate(&mut self, at: Moment, allocation: MemoryEvent) {
        if allocation.address == 0 {
            return self.output.skipped.count(Cause::Failed);
        }
        let alignment = usual(allocation.alignment, &mut self.output.skipped);
        let Some(object) = self.output.object(at, allocation.stack) else { return };
        self.put(at, allocation.address, object);
        if alignment > 1 && self.is_of_c {
            self.aligned.insert(object, ());
        }
        let (size, is_zeroed) = (allocation.size, allocation.verb == Verb::AllocateZeroed);
        self.output.push(at, Action::Allocate { object, size, alignment, is_zeroed, pool: 0 });
    }

    /// Puts an object at an address that should be free.
    #[inline]
    fn put(&mut self, at: Moment, address: u64, object: u32) {
        if let Some(before) = self.space(at.stream).put(address, object) {
            self.output.skipped.count(Cause::HandedOutTwice);
            self.push_free(at, before);
        }
    }

    #[inline]
    fn push_free(&mut self, at: Moment, object: u32) {
        if !self.aligned.is_empty() {
            self.aligned.remove(&object);
        }
        self.output.push(at, Action::Free { object });
    }

    #[inline]
    fn free(&mut self, at: Moment, address: u64) {
        if address == 0 {
            return;
        }
        match self.space(at.stream).take(address) {
            Ok(object) => self.push_free(at, object),
            Err(cause) => self.output.skipped.count(cause),
        }
    }

    fn begin_reallocate(&mut self, at: Moment, address: u64) {
        let object = self.space(at.stream).take(address).ok();
        let before = self.pending[at.thread as usize].replace((address, object));
        if before.is_some_and(|(_, object)| object.is_some()) {
            self.output.skipped.count(Cause::Unfinished);
        }
    }

    fn reallocate(&mut self, at: Moment, event: MemoryEvent) {
        let (old, allocation) = (event.old, MemoryEvent { alignment: 1, ..event });
        let begun = self.pending[at.thread as usize].take();
        let begun = begun.filter(|(begun, _)| old.is_none_or(|old| old == *begun));
        // If the event of the beginning was lost, the old address alone must do.
        let (old, object) = match (begun, old) {
            (Some((old, object)), _) => (Some(old), object),
            (None, Some(old)) => (Some(old), self.space(at.stream).take(old).ok()),
            (None, None) => (None, None),
        };
        match (object, allocation.address) {
            (None, 0) if allocation.size == 0 => {}
            (None, address) => {
                if old != Some(0) && address != 0 {
                    self.output.skipped.count(Cause::UnknownReallocate);
                }
                self.allocate(at, allocation);
            }
            // The C library frees the memory then.
            (Some(object), 0) if allocation.size == 0 => self.push_free(at, object),
            (Some(object), 0) => {
                self.output.skipped.count(Cause::Failed);
                self.put(at, old.unwrap_or(0), object);
            }
            (Some(object), address) => {
                self.put(at, address, object);
                let is_unaligned = self.aligned.remove(&object).is_some();
                let size = allocation.size;
                let stacks = self.output.stacks.as_mut();
                if let Some(place) = stacks.and_then(|list| list.get_mut(object as usize)) {
                    *place = Stack { stream: at.stream, number: allocation.stack };
                }
                self.output.push(at, Action::Reallocate { object, size, is_unaligned });
            }
        }
    }
}

/// Returns the alignment of an operation: 1 for no more than any allocation has.
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
