//! Saved operations: a log of a registry of its own, without addresses, names or stacks.
//!
//! ```text
//!  Operation ─ save ─▶ Allocate, Free, … in one buffer ─▶ log ─ Saved ─▶ Operation
//! ```
//!
//! Design: `.rep.file` in `design/replay.md`.

use super::output::{Map, Moment, Output};
use super::pools::POOL_COUNT_MAX;
use super::skipped::Cause;
use super::track::Tracker;
use crate::facts::{self, Facts};
use crate::operation::{Action, Operation};
use eventdef::Event as _;
use eventlog::reader::{Event, Log};
use eventlog::writer::{Made, MakeError, Maker, Origin};
use std::io::{self, Write};

pub(crate) const NAME: &str = "operations";

eventdef::events! {
    /// What a program asked of its memory manager. Objects, threads and pools are numbers. The log
    /// has no addresses, names or stacks.
    registry "operations" version(1, 0, 0);
    kinds {
        /// All events. They are in one buffer, so that those of one time keep their order.
        Operation = 0,
    }

    /// A thread allocated an object, without a pool, of the usual alignment.
    Allocate(0x0001, always, Operation) {
        /// the thread
        thread: U,
        /// the new object
        object: U,
        /// its size in bytes
        size: W,
    }
    /// A thread allocated an object in a pool, aligned, or zeroed.
    AllocateIn(0x0002, always, Operation) {
        /// the thread
        thread: U,
        /// the new object
        object: U,
        /// its size in bytes
        size: W,
        /// the pool; 0 is also that of objects without a pool
        pool: U,
        /// the binary logarithm of its alignment; 0: as any allocation has
        alignment_log2: U,
        /// whether it is filled with zeros
        zeroed: B,
    }
    /// A thread changed the size of an object.
    Reallocate(0x0003, always, Operation) {
        /// the thread
        thread: U,
        /// the object
        object: U,
        /// its new size in bytes
        size: W,
        /// whether it need no longer be aligned as before
        unaligned: B,
    }
    /// A thread freed an object.
    Free(0x0004, always, Operation) {
        /// the thread
        thread: U,
        /// the object
        object: U,
    }
    /// A thread ended a pool.
    EndPool(0x0005, always, Operation) {
        /// the thread
        thread: U,
        /// the pool
        pool: U,
    }
    /// How much of blocks of a class of sizes was written.
    Touched(0x0006, always, Operation) {
        /// the class: four times the binary logarithm of the size, and the next two bits
        class: U,
        /// whether the blocks were zeroed
        zeroed: B,
        /// bytes that were examined
        examined: W,
        /// bytes of them that were written
        written: W,
    }
    /// Memory and processor time of the program.
    Program(0x0007, always, Operation) {
        /// the peak of resident memory, in bytes
        resident: W,
        /// processor time in user mode, in ns
        user: W,
        /// processor time in the kernel, in ns
        system: W,
        /// the recorder's own part of the resident memory, in bytes
        recorder: W,
    }
}

const BUFFER: u32 = 1;
/// Small blocks: a recording of a few operations has a small file.
const BLOCK_SIZE_LOG2: u8 = 14;

/// Saves operations as a log, with the facts of the recording, which `facts` returns after the last
/// operation.
///
/// # Errors
///
/// Fails if the output does.
pub fn save<I: Iterator<Item = Operation>>(
    mut operations: I,
    facts: impl FnOnce(&I) -> Facts,
    out: &mut dyn Write,
) -> io::Result<Made> {
    make(&mut operations, facts, out).map_err(|error| match error {
        MakeError::Io(error) => error,
        error => io::Error::other(error),
    })
}

fn make<I: Iterator<Item = Operation>>(
    operations: &mut I,
    facts: impl FnOnce(&I) -> Facts,
    out: &mut dyn Write,
) -> Result<Made, MakeError> {
    let mut maker = Maker::new(out);
    let mut origin = Origin::new();
    origin.block_size_log2 = BLOCK_SIZE_LOG2;
    maker.begin(&origin)?;
    maker.registry(&REGISTRY)?;
    let mut last = 0;
    for Operation { time, thread, action } in operations.by_ref() {
        match action {
            Action::Allocate { object, size, alignment: 1, is_zeroed: false, pool: 0 } => {
                let size = size as usize;
                maker.add(BUFFER, 0, time, &Allocate { thread, object, size })?;
            }
            Action::Allocate { object, size, alignment, is_zeroed: zeroed, pool } => {
                let (size, alignment_log2) = (size as usize, alignment.max(1).ilog2());
                let event = AllocateIn { thread, object, size, pool, alignment_log2, zeroed };
                maker.add(BUFFER, 0, time, &event)?;
            }
            Action::Reallocate { object, size, is_unaligned: unaligned } => {
                let size = size as usize;
                maker.add(BUFFER, 0, time, &Reallocate { thread, object, size, unaligned })?;
            }
            Action::Free { object } => maker.add(BUFFER, 0, time, &Free { thread, object })?,
            Action::EndPool { pool } => maker.add(BUFFER, 0, time, &EndPool { thread, pool })?,
        }
        last = time;
    }
    let facts = facts(operations);
    for (zeroed, class, examined, written) in facts.touched.rows() {
        let (class, examined, written) = (class.into(), examined as usize, written as usize);
        maker.add(BUFFER, 0, last, &Touched { class, zeroed, examined, written })?;
    }
    if let Some(program) = facts.program() {
        let [resident, user, system, recorder] =
            [program.resident_peak, program.user_ns, program.system_ns, program.recorder]
                .map(|value| value as usize);
        maker.add(BUFFER, 0, last, &Program { resident, user, system, recorder })?;
    }
    maker.finish()
}

/// The new number of an object, and of its pool.
type Known = (u32, u32);

/// Stands for no object.
const NONE: Known = (u32::MAX, 0);

/// The live objects of a stream.
#[derive(Debug, Default)]
struct Objects {
    /// By number; [`save`] writes numbers from 0 on without gaps.
    dense: Vec<Known>,
    /// The bound of these numbers: all streams together take no more memory than the log.
    dense_max: u64,
    /// The objects with higher numbers, which a false or damaged log may have.
    sparse: Map<u64, Known>,
}

impl Objects {
    /// Puts an object, or [`NONE`], in the place of another, and returns that.
    #[inline]
    fn replace(&mut self, object: u64, known: Known) -> Option<Known> {
        let before = match object < self.dense_max {
            true => {
                let place = object as usize;
                if place >= self.dense.len() {
                    self.dense.resize(place + 1, NONE);
                }
                std::mem::replace(&mut self.dense[place], known)
            }
            false if known == NONE => self.sparse.remove(&object)?,
            false => self.sparse.insert(object, known)?,
        };
        (before != NONE).then_some(before)
    }

    fn get(&self, object: u64) -> Option<Known> {
        let known = match object < self.dense_max {
            true => self.dense.get(object as usize),
            false => self.sparse.get(&object),
        };
        known.copied().filter(|known| *known != NONE)
    }

    /// Removes the objects of a pool.
    fn end_pool(&mut self, pool: u32) -> Vec<u32> {
        let of_pool = |known: &Known| *known != NONE && known.1 == pool;
        let dense = self.dense.iter_mut().filter(|known| of_pool(known));
        let dense = dense.map(|known| std::mem::replace(known, NONE).0);
        dense
            .chain(self.sparse.extract_if(|_, known| of_pool(known)).map(|(_, known)| known.0))
            .collect()
    }
}

/// The objects and pools of saved operations so far. A damaged log may lack some.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    /// By stream.
    objects: Vec<Objects>,
    pools: Map<(u16, u64), u32>,
    /// The number of live objects in each pool.
    pool_sizes: Vec<u32>,
}

impl Saved {
    pub(super) fn new(log: &Log) -> Saved {
        let streams = log.streams();
        let dense_max = log.size() / 8 / streams.len().max(1) as u64;
        let objects = streams.iter().map(|_| Objects { dense_max, ..Objects::default() });
        Saved { objects: objects.collect(), ..Saved::default() }
    }

    /// Takes an event; its operations are then in the output of `tracker`, which numbers threads.
    #[inline]
    pub(super) fn take(&mut self, event: &Event<'_, '_>, mut at: Moment, tracker: &mut Tracker) {
        // A later version has further parameters behind these.
        let mut params = [0; 6];
        for (to, (_, value)) in params.iter_mut().zip(event.params()) {
            *to = value.as_u64().unwrap_or(0);
        }
        let output = &mut tracker.output;
        match event.code() {
            Touched::CODE => {
                let [class, zeroed, examined, written, ..] = params;
                let touched = &mut output.facts.touched;
                return touched.add_class(zeroed != 0, class as u8, examined, written);
            }
            Program::CODE => {
                let [resident_peak, user_ns, system_ns, recorder, ..] = params;
                let program = facts::Program { resident_peak, user_ns, system_ns, recorder };
                return output.facts.take(at.stream, program);
            }
            _ => {}
        }
        let [thread, object, size, ..] = params;
        at.thread = tracker.number(at.stream, thread as u32);
        let output = &mut tracker.output;
        let Some(objects) = self.objects.get_mut(usize::from(at.stream)) else { return };
        match event.code() {
            Free::CODE => match objects.replace(object, NONE) {
                Some((object, pool)) => {
                    self.pool_sizes[pool as usize] -= 1;
                    output.push(at, Action::Free { object });
                }
                None => output.skipped.count(Cause::UnknownFree),
            },
            Allocate::CODE | AllocateIn::CODE => self.allocate(at, params, output),
            Reallocate::CODE => match objects.get(object) {
                Some((object, _)) => {
                    let is_unaligned = params[3] != 0;
                    output.push(at, Action::Reallocate { object, size, is_unaligned });
                }
                None => {
                    output.skipped.count(Cause::UnknownReallocate);
                    self.allocate(at, [thread, object, size, 0, 0, 0], output);
                }
            },
            EndPool::CODE => {
                let number = self.pool(at.stream, object);
                self.pools.remove(&(at.stream, object));
                if std::mem::take(&mut self.pool_sizes[number as usize]) > 0 {
                    // The last pool may have objects of several streams.
                    for object in self.objects.iter_mut().flat_map(|all| all.end_pool(number)) {
                        output.skipped.count(Cause::EndedWithPool);
                        output.push(at, Action::Free { object });
                    }
                }
                if number + 1 < POOL_COUNT_MAX {
                    output.push(at, Action::EndPool { pool: number });
                }
            }
            _ => {}
        }
    }

    /// Allocates an object, as the parameters of AllocateIn say.
    #[inline]
    fn allocate(&mut self, at: Moment, params: [u64; 6], output: &mut Output) {
        let [_, number, size, pool, alignment_log2, zeroed] = params;
        let pool = self.pool(at.stream, pool);
        let Some(object) = output.object(at, 0) else { return };
        let Some(objects) = self.objects.get_mut(usize::from(at.stream)) else { return };
        self.pool_sizes[pool as usize] += 1;
        if let Some((before, pool)) = objects.replace(number, (object, pool)) {
            self.pool_sizes[pool as usize] -= 1;
            output.skipped.count(Cause::HandedOutTwice);
            output.push(at, Action::Free { object: before });
        }
        let (alignment, is_zeroed) = (1 << (alignment_log2 & 31), zeroed != 0);
        output.push(at, Action::Allocate { object, size, alignment, is_zeroed, pool });
    }

    /// Returns the number of a pool.
    fn pool(&mut self, stream: u16, pool: u64) -> u32 {
        let next = (self.pool_sizes.len() as u32).min(POOL_COUNT_MAX - 1);
        let number = *self.pools.entry((stream, pool)).or_insert(next);
        if number as usize == self.pool_sizes.len() {
            self.pool_sizes.push(0);
        }
        number
    }
}
