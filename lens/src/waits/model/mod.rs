//! Runs, waits, unknowns: what the threads of a kernel did.
//!
//! ```text
//!  rows ── building ──▶ lives:      ├ run ┤ wait ┤ delay ├ run ┤ lost ┤ run ┤   each ns once
//!                       operations: disk, network      calls, files, symbols
//! ```
//!
//! A life is a thread from its beginning to its end; its number may be used again by another life.
//! A stretch is a run, a wait or an unknown part of a life. The stretches of a life follow each
//! other without a hole. Memory: 64 bytes for each stretch that is kept, about 200 for each thread;
//! every table has a maximum. Design: `.waits.model` in `design/waits.md`.

mod batches;
mod building;
mod causes;
mod counts;
mod files;
mod implied;
mod interrupts;
mod life;
mod lifetimes;
mod numbers;
mod operations;
pub mod rows;
mod samples;
mod sockets;
mod state;
mod things;
mod threads;

pub use batches::{Batch, Builder, Source};
pub use building::{kernel_streams, read};
pub use counts::{Counts, Has};
pub use files::{Files, OpenFile};
pub use interrupts::Interrupts;
pub(crate) use interrupts::partition_near;
pub use life::Life;
pub use things::{Did, Interrupt, Interrupter, NetworkOperation, NetworkWake, Operation, Socket};

use crate::waits::calls;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A place without anything.
pub const NONE: u32 = u32::MAX;
/// The time of something that did not happen.
pub const NEVER: u64 = u64::MAX;

/// Stretches that are kept, at most. The further ones of a thread take turns in one place.
const STRETCH_COUNT_MAX: usize = 1 << 24;
/// Samples with a stack that are kept, at most.
const SAMPLE_COUNT_MAX: usize = 1 << 22;
/// Lives, at most. Further threads are left out, and counted.
const LIFE_COUNT_MAX: usize = 1 << 22;

/// How a kernel log is understood.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A sample belongs to a run that ended at most this long before, in ns.
    pub sample_grace: u64,
    /// A child may begin and end this long outside of its parent, in ns.
    pub grace: u64,
    /// Stretches that are kept, at most.
    pub stretch_count_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        let (sample_grace, grace) = (20_000, 100_000);
        Options { sample_grace, grace, stretch_count_max: STRETCH_COUNT_MAX }
    }
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// It ran.
    Run,
    /// It did not run.
    Wait,
    /// The log does not tell.
    Unknown,
    /// The log does not tell, as events were lost.
    Lost,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// It is not known.
    Unknown,
    /// The thread was switched out while it could run.
    Preempted,
    /// A thread woke it.
    Thread,
    /// The thread was made: it waits for its first run.
    Forked,
    /// Its sleep was over.
    Slept,
    /// The time that it was willing to wait was over.
    TimedOut,
    /// A timer of the kernel that is not of a sleep.
    Timer,
    /// An operation of a block device.
    Disk,
    /// Data for a socket.
    Network,
    /// An interrupt of hardware.
    Hardware,
    /// It was not over at the end of the log.
    Open,
    /// A signal or a debugger had stopped it, until a thread let it go on.
    Stopped,
}

impl Cause {
    /// The name of each cause.
    pub const ALL: [(&str, Cause); 12] = [
        ("unknown", Cause::Unknown),
        ("preempted", Cause::Preempted),
        ("woken by a thread", Cause::Thread),
        ("new thread", Cause::Forked),
        ("slept", Cause::Slept),
        ("timed out", Cause::TimedOut),
        ("timer", Cause::Timer),
        ("disk", Cause::Disk),
        ("network", Cause::Network),
        ("hardware", Cause::Hardware),
        ("not over", Cause::Open),
        ("stopped", Cause::Stopped),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Cause::ALL.iter().find(|(_, cause)| *cause == self).map_or("?", |(name, _)| name)
    }

    /// Returns whether a timer ended the wait.
    pub fn is_timeout(self) -> bool {
        matches!(self, Cause::Slept | Cause::TimedOut)
    }
}

/// A part of a life: a run, a wait, or an unknown part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins, in ns.
    pub begin: u64,
    /// When it ends, in ns.
    pub end: u64,
    /// Of a wait: when the thread was woken, in ns; [`NEVER`] if it was not.
    pub woken: u64,
    /// The life.
    pub life: u32,
    /// The stretch of the same life before; [`NONE`] before the first.
    pub before: u32,
    /// Of a wait: the stretch of the thread that woke it; [`NONE`] if that is not known.
    pub from: u32,
    /// Of a wait: the waker's life, or the disk's operation, the wake by network, the interrupt, by
    /// its cause; else [`NONE`].
    pub aid: u32,
    /// Of a wait: the system call, by its index in [`Model::calls`]; else [`NONE`].
    pub call: u32,
    /// The processor: of a wait, the last one.
    pub cpu: u32,
    /// The stack of a wait, or of the last sample of a run; 0 unknown.
    pub stack: u32,
    /// Samples of a run.
    pub samples: u32,
    /// What the thread did.
    pub what: What,
    /// Of a wait: what ended it.
    pub cause: Cause,
    /// Of a run: whether another program of the same thread ran before.
    pub is_exec: bool,
}

impl Stretch {
    /// Returns its length in ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// Returns the part of a wait from the wake to the end, in ns.
    pub fn delay(&self) -> u64 {
        if self.what != What::Wait || self.woken == NEVER {
            return 0;
        }
        self.end.saturating_sub(self.woken.max(self.begin))
    }
}

/// A system call of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: u32,
    /// Its first argument.
    pub object: u64,
    /// Its second argument.
    pub value: u64,
}

/// A fork, an exec, a wake, or the return from an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A run woke the thread.
    Wake(u32),
    /// A run made the thread.
    Fork(u32),
    /// The run before, of the same thread and another program.
    Exec(u32),
    /// The run before, of the same thread: an interrupt, a timer or a preemption lies between.
    Horizontal(u32),
}

/// What the threads of a kernel did.
#[derive(Debug, Default)]
pub struct Model {
    /// When the log begins, in ns.
    pub begin: u64,
    /// When the log ends, in ns.
    pub end: u64,
    /// The ELF machine number of the kernel; 0 unknown.
    pub architecture: u16,
    /// The threads.
    pub lives: Vec<Life>,
    /// The stretches of all lives; each names the one before it in its life.
    pub stretches: Vec<Stretch>,
    /// The system calls in which threads waited.
    pub calls: Vec<Call>,
    /// Finished operations of block devices.
    pub operations: Vec<Operation>,
    /// Sockets.
    pub sockets: Vec<Socket>,
    /// Operations of the network, from the last send to the last receive.
    pub network: Vec<NetworkOperation>,
    /// Wakes by network.
    pub network_wakes: Vec<NetworkWake>,
    /// Interrupts by name.
    pub irqs: Vec<Box<[u8]>>,
    /// The time that interrupts took, by processor and time.
    pub interrupts: Vec<Interrupt>,
    /// The children of each process, by the numbers that it has for them: each first one's life.
    pub children: HashMap<(u32, u32), Vec<u32>, RandomState>,
    /// Which file each number of a process was, and when.
    pub files: Files,
    /// Names of functions, by address.
    pub symbols: HashMap<u64, Box<[u8]>, RandomState>,
    /// Frames: caller and address, by number minus 1.
    pub frames: Vec<(u32, u64)>,
    /// Samples with a stack: the place of the run and the stack, ordered by place, then by time.
    pub samples: Vec<(u32, u32)>,
    /// What could not be understood.
    pub counts: Counts,
    /// Which rows the log has.
    pub has: Has,
}

impl Model {
    /// Returns the stretch at a place.
    #[inline]
    pub fn stretch(&self, place: u32) -> Option<&Stretch> {
        self.stretches.get(place as usize)
    }

    /// Returns a life.
    pub fn life(&self, life: u32) -> Option<&Life> {
        self.lives.get(life as usize)
    }

    /// Returns the stretches of a life with their places, the last one first.
    pub fn backwards(&self, life: u32) -> impl Iterator<Item = (u32, &Stretch)> {
        self.backwards_from(self.life(life).map_or(NONE, |life| life.last))
    }

    /// Returns the stretches of a life up to the one at this place, the last one first.
    pub(crate) fn backwards_from(&self, last: u32) -> impl Iterator<Item = (u32, &Stretch)> {
        let mut next = last;
        std::iter::from_fn(move || {
            let place = next;
            let stretch = self.stretch(place)?;
            // A place that was used again leads forward: the rest was not kept.
            next = if stretch.before < place { stretch.before } else { NONE };
            Some((place, stretch))
        })
    }

    /// Returns the stretches of a life with their places, in order of time.
    pub fn of_life(&self, life: u32) -> Vec<(u32, &Stretch)> {
        let mut all: Vec<_> = self.backwards(life).collect();
        all.reverse();
        all
    }

    /// Returns what led to a run.
    pub fn link(&self, run: u32) -> Option<Link> {
        let own = self.stretch(run).filter(|stretch| stretch.what == What::Run)?;
        if own.is_exec {
            return Some(Link::Exec(own.before));
        }
        let wait = self.stretch(own.before).filter(|stretch| stretch.what == What::Wait)?;
        match wait.cause {
            Cause::Thread | Cause::Network if wait.from != NONE => Some(Link::Wake(wait.from)),
            Cause::Forked if wait.from != NONE => Some(Link::Fork(wait.from)),
            Cause::Thread | Cause::Forked => None,
            _ => Some(Link::Horizontal(wait.before)).filter(|_| wait.before != NONE),
        }
    }

    /// Returns the name of a system call.
    pub fn call_name(&self, call: u32) -> Option<&'static str> {
        let call = self.calls.get(call as usize)?;
        calls::name(self.architecture, call.number)
    }
}
