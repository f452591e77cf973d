//! The rows of a registry that are about memory. They are found by name, so that other events of
//! the log do no harm.
//!
//! ```text
//!  Spec (below, mps.rs) ─┐
//!                        ├─▶ Rows ── event ──▶ MemoryEvent
//!  Registry of the log ──┘     by code: verb, places of parameters
//! ```
//!
//! Design: `.rep.source` in `design/replay.md`.

use super::output::Map;
use eventlog::reader::{Event, EventType, Registry};

/// The meaning of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Memory was handed out; address 0: the call failed.
    #[default]
    Allocate,
    AllocateZeroed,
    /// Memory is about to be reallocated.
    BeginReallocate,
    /// Memory was reallocated; address 0: the call failed.
    Reallocate,
    /// Memory is given up; size 0: the event has no size.
    Free,
    /// An arena gave memory to a pool.
    ArenaAllocate,
    /// A pool gave memory back to its arena; pool 0: the event does not name it.
    ArenaFree,
    /// The program reserved memory in a buffer; a commit hands it out.
    Reserve,
    Commit,
    /// A buffer got memory to allocate from.
    Fill,
    /// A buffer gave back its unused memory.
    Empty,
    /// The program asked for the size of memory.
    UsableSize,
    /// A buffer was made in a pool.
    BeginBuffer,
    BeginPool,
    EndPool,
    EndArena,
    /// Calls were not recorded: their number.
    Missed,
    /// A library was loaded whose calls are not recorded.
    Unreached,
    /// How much of a block was written: whether it was zeroed, bytes examined, bytes written.
    Touched,
    /// The resident memory of a process in bytes, and its user and system time in ns. The size is
    /// the recorder's part of the memory.
    Process,
    /// A thread ends.
    EndThread,
    /// The event lacks a parameter.
    Incomplete,
}

/// An event about memory: it has addresses, not objects. A value that it lacks is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryEvent {
    pub(crate) verb: Verb,
    /// The memory; else the buffer or the arena.
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// The address before a reallocation, if the event has it.
    pub(crate) old: Option<u64>,
    /// The pool of the memory or the buffer; the buffer that memory is in.
    pub(crate) pool: u64,
    pub(crate) stack: u32,
    /// The other values, in the order that [`Verb`] states.
    pub(crate) more: [u64; 3],
}

/// A row that a source knows by its name, with the names that its address may have; none: its
/// address is 0.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) verb: Verb,
    pub(crate) address: &'static [&'static str],
}

/// The index of a parameter in an event, if the row has it.
type Place = Option<u8>;

#[derive(Clone, Copy, Debug)]
struct Row {
    verb: Verb,
    /// Address, size, pool, count, alignment, old, stack, and three more.
    places: [Place; 10],
    /// The places that an event must have, a bit each.
    required: u16,
}

/// Bits of [`Row::required`].
const ADDRESS: u16 = 1 << 0;
const SIZE: u16 = 1 << 1;
const POOL: u16 = 1 << 2;
const MORE: u16 = 7 << 7;

/// The known rows of a registry, by code.
#[derive(Debug, Default)]
pub(crate) struct Rows(Map<u16, Row>);

impl Rows {
    /// Returns the rows of a registry that these specifications know, and whose verbs are wanted.
    pub(crate) fn new(registry: &Registry, specs: &[Spec], is_wanted: fn(Verb) -> bool) -> Rows {
        let known = |event_type: &EventType| {
            let spec = specs.iter().find(|spec| *spec.name == *event_type.name)?;
            is_wanted(spec.verb).then(|| (event_type.code, Row::new(event_type, spec)))
        };
        Rows(registry.event_types.iter().filter_map(known).collect())
    }

    /// Returns the meaning of an event, if its row is known.
    #[inline]
    pub(crate) fn decode(&self, event: &Event<'_, '_>) -> Option<MemoryEvent> {
        Some(self.0.get(&event.event_type?.code)?.decode(event))
    }
}

impl Row {
    fn new(event_type: &EventType, spec: &Spec) -> Row {
        use Verb::{
            Allocate, AllocateZeroed, ArenaAllocate, ArenaFree, BeginBuffer, BeginPool, Commit,
            Empty, EndPool, EndThread, Fill, Missed, Process, Reallocate, Touched, Unreached,
            UsableSize,
        };
        let place = |names: &[&str]| {
            let index = names.iter().find_map(|name| event_type.param(name))?.0;
            u8::try_from(index).ok()
        };
        let size: &[&str] = match spec.verb {
            Process => &["recorder"],
            Fill => &["filled"],
            Empty => &["spare"],
            _ => &["size"],
        };
        let pool: &[&str] = if let Commit | Fill = spec.verb { &["buffer"] } else { &["pool"] };
        let count: &[&str] = if let AllocateZeroed = spec.verb { &["count"] } else { &[] };
        let more: [&[&str]; 3] = match spec.verb {
            Touched => [&["zeroed"], &["looked"], &["touched"]],
            Process => [&["resident"], &["user"], &["system"]],
            Missed => [&["count"], &[], &[]],
            _ => [&[]; 3],
        };
        let rest: [&[&str]; 3] = [&["alignment"], &["old"], &["stack"]];
        let [alignment, old, stack] = rest;
        let [first, second, third] = more;
        let names = [spec.address, size, pool, count, alignment, old, stack, first, second, third];
        let required = match spec.verb {
            Allocate | AllocateZeroed | Reallocate | ArenaAllocate | ArenaFree | Empty => {
                ADDRESS | SIZE
            }
            Commit | Fill => ADDRESS | SIZE | POOL,
            BeginBuffer => ADDRESS | POOL,
            BeginPool | EndPool => POOL,
            Touched => SIZE | MORE,
            Process => MORE,
            Missed => MORE & !(MORE << 1),
            UsableSize | EndThread | Unreached => 0,
            _ => ADDRESS,
        };
        let required = if spec.address.is_empty() { required & !ADDRESS } else { required };
        Row { verb: spec.verb, places: names.map(place), required }
    }

    #[inline]
    fn decode(&self, event: &Event<'_, '_>) -> MemoryEvent {
        let (mut values, mut found) = ([0; 10], 0);
        for (index, (value, place)) in values.iter_mut().zip(self.places).enumerate() {
            let param = place.and_then(|place| event.param_at(usize::from(place))?.as_u64());
            if let Some(param) = param {
                (*value, found) = (param, found | 1 << index);
            }
        }
        if found & self.required != self.required {
            return MemoryEvent { verb: Verb::Incomplete, ..MemoryEvent::default() };
        }
        let has = |index: u32| found >> index & 1 != 0;
        let [address, size, pool, count, alignment, old, stack, first, second, third] = values;
        MemoryEvent {
            verb: self.verb,
            address,
            size: if has(3) { size.saturating_mul(count) } else { size },
            alignment,
            old: has(5).then_some(old),
            pool,
            stack: stack as u32,
            more: [first, second, third],
        }
    }
}

/// The registry of the calls of any program (`interpose`).
pub(crate) const MALLOC: &str = "malloc";
/// The registry of the global allocator of a Rust program (`telemetry::alloc`).
pub(crate) const ALLOC: &str = "alloc";
/// The event that a process records at its end.
pub(crate) const PROCESS: &str = "Process";
/// The event that names the library with its malloc.
pub(crate) const ALLOCATOR: &str = "Allocator";

const fn row(name: &'static str, verb: Verb) -> Spec {
    Spec { name, verb, address: &["address"] }
}

pub(crate) const MALLOC_SPECS: &[Spec] = &[
    row("Malloc", Verb::Allocate),
    row("MallocLarge", Verb::Allocate),
    row("Calloc", Verb::AllocateZeroed),
    row("AlignedAlloc", Verb::Allocate),
    row("PosixMemalign", Verb::Allocate),
    row("Memalign", Verb::Allocate),
    row("Valloc", Verb::Allocate),
    row("Pvalloc", Verb::Allocate),
    row("ReallocBegin", Verb::BeginReallocate),
    row("Realloc", Verb::Reallocate),
    row("ReallocLarge", Verb::Reallocate),
    row("Free", Verb::Free),
    row("UsableSize", Verb::UsableSize),
    row("Touched", Verb::Touched),
    row(PROCESS, Verb::Process),
    row("Missed", Verb::Missed),
    row("ThreadEnd", Verb::EndThread),
    row("Unreached", Verb::Unreached),
];

pub(crate) const ALLOC_SPECS: &[Spec] = &[
    row("Allocate", Verb::Allocate),
    row("AllocateZeroed", Verb::AllocateZeroed),
    row("ReallocateBegin", Verb::BeginReallocate),
    row("Reallocate", Verb::Reallocate),
    row("Free", Verb::Free),
    Spec { name: "AllocateFailed", verb: Verb::Allocate, address: &[] },
    Spec { name: "ReallocateFailed", verb: Verb::Reallocate, address: &[] },
];
