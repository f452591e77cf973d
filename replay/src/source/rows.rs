//! The rows of a registry that are about memory. They are found by name, so that other events of
//! the log do no harm.
//!
//! ```text
//!  Spec (calls.rs, mps.rs) ─┐
//!                           ├─▶ Rows ── event ──▶ MemoryEvent
//!  Registry of the log ─────┘     by code: verb, places of parameters
//! ```
//!
//! Design: `.rep.source` in `design/replay.md`.

use eventlog::reader::{Event, EventType, Registry};

/// An event about memory: it has addresses, not objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryEvent {
    /// Memory was handed out; address 0: the call failed. Pool 0: none.
    Allocate {
        address: u64,
        size: u64,
        alignment: u64,
        is_zeroed: bool,
        pool: u64,
        stack: u32,
    },
    /// Memory is about to be reallocated.
    BeginReallocate {
        address: u64,
    },
    /// Memory was reallocated; address 0: the call failed.
    Reallocate {
        old: Option<u64>,
        address: u64,
        size: u64,
        stack: u32,
    },
    /// Memory is given up; size 0: the event has no size.
    Free {
        address: u64,
        pool: u64,
        size: u64,
    },
    /// The program asked for the size of memory.
    UsableSize,
    /// An arena gave memory to a pool.
    ArenaAllocate {
        address: u64,
        size: u64,
        pool: u64,
    },
    /// A pool gave memory back to its arena; pool 0: the event does not name it.
    ArenaFree {
        address: u64,
        size: u64,
        pool: u64,
    },
    /// The program reserved memory in a buffer; a commit hands it out.
    Reserve {
        buffer: u64,
    },
    /// The program committed memory in a buffer.
    Commit {
        address: u64,
        size: u64,
        buffer: u64,
    },
    /// A buffer got memory to allocate from.
    Fill {
        address: u64,
        size: u64,
        buffer: u64,
    },
    /// A buffer gave back its unused memory.
    Empty {
        buffer: u64,
        spare: u64,
    },
    /// A buffer was made.
    BeginBuffer {
        buffer: u64,
        pool: u64,
    },
    /// A pool was made.
    BeginPool {
        pool: u64,
        arena: u64,
    },
    EndPool {
        pool: u64,
    },
    EndArena {
        arena: u64,
    },
    /// The bytes of a block that were examined, and those of them that were written.
    Touched {
        size: u64,
        is_zeroed: bool,
        examined: u64,
        written: u64,
    },
    /// Memory and processor time of a process.
    Process {
        resident: u64,
        user: u64,
        system: u64,
    },
    /// The number of calls that were not recorded.
    Missed {
        count: u64,
    },
    /// An event that lacks a parameter.
    Incomplete,
}

/// The meaning of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Allocate,
    AllocateZeroed,
    BeginReallocate,
    Reallocate,
    Free,
    ArenaAllocate,
    ArenaFree,
    Reserve,
    Commit,
    Fill,
    Empty,
    UsableSize,
    BeginBuffer,
    BeginPool,
    EndPool,
    EndArena,
    Missed,
    Touched,
    Process,
}

/// A row that a source knows by its name, with the names that its address may have.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) verb: Verb,
    pub(crate) address: &'static [&'static str],
}

/// The index of a parameter in an event, if the row has it.
type Place = Option<u8>;

/// A row of a log's registry.
#[derive(Clone, Copy, Debug)]
struct Row {
    verb: Verb,
    address: Place,
    size: Place,
    count: Place,
    alignment: Place,
    old: Place,
    pool: Place,
    stack: Place,
    /// The parameters of Touched and Process, in the order of `MemoryEvent`.
    more: [Place; 3],
}

/// The known rows of a registry, by code.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The index in `rows`, from 1, of each code from `code_min` on; 0: none.
    by_code: Vec<u16>,
    code_min: u16,
    rows: Vec<Row>,
}

/// The maximum size of the table: the number of all codes.
const CODE_COUNT_MAX: usize = 1 << 16;

impl Rows {
    /// Returns the rows of a registry that these specifications know, and whose verbs are wanted.
    pub(crate) fn new(registry: &Registry, specs: &[Spec], is_wanted: fn(Verb) -> bool) -> Rows {
        let known = |event_type: &EventType| {
            let spec = specs.iter().find(|spec| *spec.name == *event_type.name)?;
            is_wanted(spec.verb).then(|| (event_type.code, Row::new(event_type, spec)))
        };
        let known: Vec<(u16, Row)> = registry.event_types.iter().filter_map(known).collect();
        let codes = || known.iter().map(|(code, _)| *code);
        let (Some(code_min), Some(code_max)) = (codes().min(), codes().max()) else {
            return Rows::default();
        };
        let mut by_code = vec![0; (usize::from(code_max - code_min) + 1).min(CODE_COUNT_MAX)];
        for (index, code) in codes().enumerate() {
            if let Some(place) = by_code.get_mut(usize::from(code - code_min)) {
                *place = index as u16 + 1;
            }
        }
        Rows { by_code, code_min, rows: known.into_iter().map(|(_, row)| row).collect() }
    }

    /// Returns the meaning of an event, if its row is known.
    #[inline]
    pub(crate) fn decode(&self, event: &Event<'_, '_>) -> Option<MemoryEvent> {
        let place = event.event_type?.code.checked_sub(self.code_min)?;
        let index = *self.by_code.get(usize::from(place))?;
        let row = self.rows.get(usize::from(index.checked_sub(1)?))?;
        Some(row.decode(event).unwrap_or(MemoryEvent::Incomplete))
    }
}

impl Row {
    fn new(event_type: &EventType, spec: &Spec) -> Row {
        let place = |names: &[&str]| {
            let index = names.iter().find_map(|name| event_type.param(name))?.0;
            u8::try_from(index).ok()
        };
        Row {
            verb: spec.verb,
            address: place(spec.address),
            size: place(match spec.verb {
                Verb::Fill => &["filled"],
                Verb::Empty => &["spare"],
                _ => &["size"],
            }),
            count: place(&["count"])
                .filter(|_| matches!(spec.verb, Verb::AllocateZeroed | Verb::Missed)),
            alignment: place(&["alignment"]),
            old: place(&["old"]),
            pool: place(match spec.verb {
                Verb::Commit | Verb::Fill => &["buffer"],
                _ => &["pool"],
            }),
            stack: place(&["stack"]),
            more: match spec.verb {
                Verb::Touched => [place(&["zeroed"]), place(&["looked"]), place(&["touched"])],
                Verb::Process => [place(&["resident"]), place(&["user"]), place(&["system"])],
                _ => [None; 3],
            },
        }
    }

    /// Returns the meaning of an event of this row; `None` if the event lacks a required parameter.
    #[inline]
    fn decode(&self, event: &Event<'_, '_>) -> Option<MemoryEvent> {
        let at = |place: Place| event.param_at(usize::from(place?))?.as_u64();
        let stack = || at(self.stack).unwrap_or(0) as u32;
        let pool = || at(self.pool).unwrap_or(0);
        let size = || Some(at(self.size)?.saturating_mul(at(self.count).unwrap_or(1)));
        Some(match self.verb {
            Verb::Allocate | Verb::AllocateZeroed => MemoryEvent::Allocate {
                address: at(self.address)?,
                size: size()?,
                alignment: at(self.alignment).unwrap_or(1),
                is_zeroed: self.verb == Verb::AllocateZeroed,
                pool: pool(),
                stack: stack(),
            },
            Verb::BeginReallocate => MemoryEvent::BeginReallocate { address: at(self.address)? },
            Verb::Reallocate => MemoryEvent::Reallocate {
                old: at(self.old),
                address: at(self.address)?,
                size: size()?,
                stack: stack(),
            },
            Verb::Free => MemoryEvent::Free {
                address: at(self.address)?,
                pool: pool(),
                size: at(self.size).unwrap_or(0),
            },
            Verb::UsableSize => MemoryEvent::UsableSize,
            Verb::ArenaAllocate => MemoryEvent::ArenaAllocate {
                address: at(self.address)?,
                size: size()?,
                pool: pool(),
            },
            Verb::ArenaFree => {
                MemoryEvent::ArenaFree { address: at(self.address)?, size: size()?, pool: pool() }
            }
            Verb::Reserve => MemoryEvent::Reserve { buffer: at(self.address)? },
            Verb::Commit => MemoryEvent::Commit {
                address: at(self.address)?,
                size: size()?,
                buffer: at(self.pool)?,
            },
            Verb::Fill => MemoryEvent::Fill {
                address: at(self.address)?,
                size: size()?,
                buffer: at(self.pool)?,
            },
            Verb::Empty => MemoryEvent::Empty { buffer: at(self.address)?, spare: size()? },
            Verb::BeginBuffer => {
                MemoryEvent::BeginBuffer { buffer: at(self.address)?, pool: at(self.pool)? }
            }
            Verb::BeginPool => MemoryEvent::BeginPool {
                pool: at(self.pool)?,
                arena: at(self.address).unwrap_or(0),
            },
            Verb::EndPool => MemoryEvent::EndPool { pool: at(self.pool)? },
            Verb::Missed => MemoryEvent::Missed { count: at(self.count)? },
            Verb::Touched => MemoryEvent::Touched {
                size: size()?,
                is_zeroed: at(self.more[0])? != 0,
                examined: at(self.more[1])?,
                written: at(self.more[2])?,
            },
            Verb::Process => MemoryEvent::Process {
                resident: at(self.more[0])?,
                user: at(self.more[1])?,
                system: at(self.more[2])?,
            },
            Verb::EndArena => MemoryEvent::EndArena { arena: at(self.address)? },
        })
    }
}
