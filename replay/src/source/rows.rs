//! What the rows of a registry say of memory: found by name, so that what a log has beside does no
//! harm.
//!
//! ```text
//!  Spec (malloc.rs, alloc.rs, mps.rs) ─┐
//!                                      ├─▶ Rows ── event ──▶ Told
//!  Registry of the log ────────────────┘     by code: verb, which parameters
//! ```
//!
//! Design: `.rep.source` in `design/replay.md`.

use eventlog::reader::{Event, EventType, Registry};

/// What an event says: of addresses still, not of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Memory was handed out; address 0: it was not. Pool 0: none.
    Allocate { address: u64, size: u64, alignment: u64, is_zeroed: bool, pool: u64, stack: u32 },
    /// Memory is about to change its size.
    Begin { address: u64 },
    /// It has; or, address 0, it has not.
    Reallocate { old: Option<u64>, address: u64, size: u64, stack: u32 },
    /// Memory is given up; size 0: it is not said how much.
    Free { address: u64, pool: u64, size: u64 },
    /// It is asked how large memory is.
    Ask,
    /// A pool was handed memory by its arena.
    Give { address: u64, size: u64, pool: u64 },
    /// A pool gave memory back to its arena.
    Take { address: u64, size: u64, pool: u64 },
    /// Memory in a buffer is the program's to fill; it is handed out once that is committed.
    Reserve { buffer: u64 },
    /// Memory in a buffer was handed out.
    Commit { address: u64, size: u64, buffer: u64 },
    /// A buffer was given memory to allocate from.
    Fill { address: u64, size: u64, buffer: u64 },
    /// A buffer gave back what was left of that.
    Empty { buffer: u64, spare: u64 },
    /// A buffer was made.
    BeginBuffer { buffer: u64, pool: u64 },
    /// A pool was made.
    BeginPool { pool: u64, arena: u64 },
    /// A pool ends.
    EndPool { pool: u64 },
    /// An arena ends.
    EndArena { arena: u64 },
    /// Of a block so many bytes were looked at, and so many of them were written.
    Touched { size: u64, is_zeroed: bool, looked: u64, touched: u64 },
    /// What a process took.
    Process { resident: u64, user: u64, system: u64 },
    /// Calls were not recorded.
    Miss { count: u64 },
    /// Something that is said has a parameter too few.
    Short,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Allocate,
    AllocateZeroed,
    Begin,
    Reallocate,
    Free,
    Give,
    Take,
    Reserve,
    Commit,
    Fill,
    Empty,
    Ask,
    BeginBuffer,
    BeginPool,
    EndPool,
    EndArena,
    Miss,
    Touched,
    Process,
}

/// A row that a source knows: by name, and with the names that its parameters may have.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) verb: Verb,
    pub(crate) address: &'static [&'static str],
}

/// Where in an event a parameter is, if it has it.
type Place = Option<u8>;

/// A row of a log's registry that says something.
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
    /// What only Touched and Process have, in the order of `Told`.
    more: [Place; 3],
}

/// The rows of a registry that say something, by code.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Index in `rows`, from 1, of each code from `code_min` up; 0: none.
    by_code: Vec<u16>,
    code_min: u16,
    rows: Vec<Row>,
}

/// Codes in a table, at most: all there are.
const CODE_COUNT_MAX: usize = 1 << 16;

impl Rows {
    /// The rows of a registry that these specifications know, if their verbs are asked for.
    pub(crate) fn new(registry: &Registry, specs: &[Spec], is_asked: fn(Verb) -> bool) -> Rows {
        let known = |event_type: &EventType| {
            let spec = specs.iter().find(|spec| *spec.name == *event_type.name)?;
            is_asked(spec.verb).then(|| (event_type.code, Row::new(event_type, spec)))
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

    /// What an event says, if its row is one of these.
    #[inline]
    pub(crate) fn told(&self, event: &Event<'_, '_>) -> Option<Told> {
        let place = event.event_type?.code.checked_sub(self.code_min)?;
        let index = *self.by_code.get(usize::from(place))?;
        let row = self.rows.get(usize::from(index.checked_sub(1)?))?;
        Some(row.told(event).unwrap_or(Told::Short))
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
                .filter(|_| matches!(spec.verb, Verb::AllocateZeroed | Verb::Miss)),
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

    /// What an event of this row says; nothing if it lacks what it must have.
    #[inline]
    fn told(&self, event: &Event<'_, '_>) -> Option<Told> {
        let at = |place: Place| event.param_at(usize::from(place?))?.as_u64();
        let stack = || at(self.stack).unwrap_or(0) as u32;
        let pool = || at(self.pool).unwrap_or(0);
        let size = || Some(at(self.size)?.saturating_mul(at(self.count).unwrap_or(1)));
        Some(match self.verb {
            Verb::Allocate | Verb::AllocateZeroed => Told::Allocate {
                address: at(self.address)?,
                size: size()?,
                alignment: at(self.alignment).unwrap_or(1),
                is_zeroed: self.verb == Verb::AllocateZeroed,
                pool: pool(),
                stack: stack(),
            },
            Verb::Begin => Told::Begin { address: at(self.address)? },
            Verb::Reallocate => Told::Reallocate {
                old: at(self.old),
                address: at(self.address)?,
                size: size()?,
                stack: stack(),
            },
            Verb::Free => Told::Free {
                address: at(self.address)?,
                pool: pool(),
                size: at(self.size).unwrap_or(0),
            },
            Verb::Ask => Told::Ask,
            Verb::Give => Told::Give { address: at(self.address)?, size: size()?, pool: pool() },
            Verb::Take => Told::Take { address: at(self.address)?, size: size()?, pool: pool() },
            Verb::Reserve => Told::Reserve { buffer: at(self.address)? },
            Verb::Commit => {
                Told::Commit { address: at(self.address)?, size: size()?, buffer: at(self.pool)? }
            }
            Verb::Fill => {
                Told::Fill { address: at(self.address)?, size: size()?, buffer: at(self.pool)? }
            }
            Verb::Empty => Told::Empty { buffer: at(self.address)?, spare: size()? },
            Verb::BeginBuffer => {
                Told::BeginBuffer { buffer: at(self.address)?, pool: at(self.pool)? }
            }
            Verb::BeginPool => {
                Told::BeginPool { pool: at(self.pool)?, arena: at(self.address).unwrap_or(0) }
            }
            Verb::EndPool => Told::EndPool { pool: at(self.pool)? },
            Verb::Miss => Told::Miss { count: at(self.count)? },
            Verb::Touched => Told::Touched {
                size: size()?,
                is_zeroed: at(self.more[0])? != 0,
                looked: at(self.more[1])?,
                touched: at(self.more[2])?,
            },
            Verb::Process => Told::Process {
                resident: at(self.more[0])?,
                user: at(self.more[1])?,
                system: at(self.more[2])?,
            },
            Verb::EndArena => Told::EndArena { arena: at(self.address)? },
        })
    }
}
