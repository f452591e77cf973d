//! Turns logs into operations, whatever recorded them.
//!
//! ```text
//!  Log ── registries: malloc │ alloc │ mps and its like ──▶ Rows
//!   ├─ events, in order of time ── Rows ──▶ MemoryEvent ── Tracker ──▶ Operation
//!   └─ saved operations ── Saved ──────────────────────────────────────▶ Operation
//! ```
//!
//! Design: `.rep.source`, `.rep.operation` in `design/replay.md`.

pub(crate) mod input;
mod mps;
mod output;
mod pools;
mod rows;
mod saved;
mod skipped;
#[cfg(test)]
mod tests;
mod track;

use crate::facts::Facts;
use crate::operation::Operation;
use eventlog::format::text::OneLine;
use eventlog::reader::{
    Clock, ClockBase, Event, Events, Faults, Filter, Log, Order, Registry, StringEnd, Value,
};
use output::Moment;
use rows::{Rows, Spec, Verb};
use saved::Saved;
use std::fmt;
use track::Tracker;

pub use saved::save;
#[cfg(test)]
use skipped::Cause;
pub(crate) use skipped::Skipped;

/// The registries with events about memory; the one nearest to the program comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The MPS, and memory managers whose events have the same names.
    Mps,
    /// The global allocator of a Rust program (`telemetry::alloc`).
    Alloc,
    /// The C library's calls (`replay record`).
    Malloc,
    /// Operations that `replay compile` saved.
    Operations,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Mps, Kind::Alloc, Kind::Malloc, Kind::Operations];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Mps => "mps",
            Kind::Alloc => rows::ALLOC,
            Kind::Malloc => rows::MALLOC,
            Kind::Operations => saved::NAME,
        }
    }

    /// Returns the kind of a registry, if it has events about memory.
    fn of(registry: &Registry) -> Option<Kind> {
        if registry.index == 0 && registry.platform.string_end == StringEnd::Padding {
            // That of the runtime itself.
            return None;
        }
        let has = |name: &str| registry.event_types.iter().any(|row| *row.name == *name);
        match &*registry.name {
            rows::MALLOC if has("Free") => Some(Kind::Malloc),
            rows::ALLOC if has("Free") => Some(Kind::Alloc),
            saved::NAME if has("Free") => Some(Kind::Operations),
            _ => mps::MARKS.iter().any(|mark| has(mark)).then_some(Kind::Mps),
        }
    }

    fn specs(self) -> &'static [Spec] {
        match self {
            Kind::Mps => mps::SPECS,
            Kind::Alloc => rows::ALLOC_SPECS,
            Kind::Malloc => rows::MALLOC_SPECS,
            Kind::Operations => &[],
        }
    }
}

/// The error of a log that has nothing to replay: no registry of it is about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSource {
    found: Vec<String>,
    wanted: Option<Kind>,
}

impl fmt::Display for NoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wanted {
            Some(kind) => write!(f, "has no events of the registry {}", kind.name())?,
            None => write!(f, "has no events of allocation")?,
        }
        match self.found.len() {
            0 => write!(f, " (it has no registry at all)")?,
            _ => write!(f, " (it has the registries {})", self.found.join(", "))?,
        }
        write!(
            f,
            "; record the program with `replay record`, with telemetry::alloc and kind Object on, \
             or with the MPS"
        )
    }
}

/// A log, and the registries in it that have events about memory.
#[derive(Debug)]
pub struct Source {
    log: Log,
    kind: Kind,
    has_objects: bool,
    others: Vec<Kind>,
}

impl Source {
    /// Opens a log to read the wanted registry, or the one nearest to the program.
    pub fn new(log: Log, wanted: Option<Kind>) -> Result<Source, NoSource> {
        let mut kinds: Vec<Kind> = log.registries().iter().filter_map(Kind::of).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| has_events(&log, *kind));
        let kind = match wanted {
            None => kinds.first().copied(),
            Some(wanted) => kinds.iter().copied().find(|kind| *kind == wanted),
        };
        let Some(kind) = kind else {
            let mut found: Vec<String> =
                log.registries().iter().map(|registry| registry.name.to_string()).collect();
            found.sort_unstable();
            found.dedup();
            return Err(NoSource { found, wanted });
        };
        kinds.retain(|other| *other != kind);
        let has_objects = kind != Kind::Mps || mps::has_objects(&log);
        Ok(Source { log, kind, has_objects, others: kinds })
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the kind of the registry that is read.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the operations in order of time.
    pub fn operations(&self) -> Operations<'_> {
        Operations::new(self)
    }

    /// Returns notes for the user: which events are read, and which are missing.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let name = self.kind.name();
        for other in &self.others {
            let other = other.name();
            notes.push(format!(
                "it has events of {name} and of {other}; replay reads those of {name} (--registry \
                 {other} selects the others)"
            ));
        }
        if !self.has_objects {
            notes.push(
                "it has no events of objects (kind Object was not output); replay reads the \
                 memory that arenas gave to pools"
                    .to_owned(),
            );
        }
        if Clock::new(&self.log).base == ClockBase::Ticks {
            notes.push(
                "the rate of its clock is not known; replay takes a tick for a nanosecond"
                    .to_owned(),
            );
        }
        if self.log.streams().iter().any(|stream| stream.volumes.0 > 0) {
            notes.push("its first volumes are missing; expect frees of unknown objects".to_owned());
        }
        let lost = self.lost();
        if lost > 0 {
            notes.push(format!(
                "{lost} requested events of {name} are missing from it; expect frees of unknown \
                 objects, and objects that are never freed"
            ));
        }
        notes
    }

    /// Returns the number of requested events that are missing from the log.
    pub fn lost(&self) -> u64 {
        let is_it = |registry: &Registry| Kind::of(registry) == Some(self.kind);
        let of = |registry: &Registry| (registry.stream, registry.index);
        let ours: Vec<(u16, u16)> =
            self.log.registries().iter().filter(|registry| is_it(registry)).map(of).collect();
        let losses = self.log.losses_by_kind(&Faults::default()).into_iter();
        let losses = losses.filter(|((stream, index, _), _)| ours.contains(&(*stream, *index)));
        losses.map(|(_, losses)| losses.total() + losses.overwritten).sum()
    }

    /// Returns the rows of each registry, by stream and index.
    fn rows(&self) -> Vec<Vec<Rows>> {
        let mut rows: Vec<Vec<Rows>> = self.log.streams().iter().map(|_| Vec::new()).collect();
        let is_wanted = match self.has_objects {
            true => |verb| verb != Verb::ArenaAllocate,
            false => |verb| {
                use Verb::{Allocate, Commit, Empty, Fill, Free};
                !matches!(verb, Allocate | Commit | Empty | Fill | Free)
            },
        };
        for registry in self.log.registries() {
            if Kind::of(registry) != Some(self.kind) {
                continue;
            }
            let (stream, index) = (usize::from(registry.stream), usize::from(registry.index));
            let Some(of_stream) = rows.get_mut(stream) else { continue };
            if of_stream.len() <= index {
                of_stream.resize_with(index + 1, Rows::default);
            }
            of_stream[index] = Rows::new(registry, self.kind.specs(), is_wanted);
        }
        rows
    }
}

/// Returns whether a log has an event of this kind of registry that hands memory out.
fn has_events(log: &Log, kind: Kind) -> bool {
    if kind == Kind::Mps {
        return log.events(Order::File, &mps::only(mps::MARKS)).next().is_some();
    }
    let is_it = |index: u32| log.registries().get(index as usize).and_then(Kind::of) == Some(kind);
    log.accounts().iter().any(|account| account.found > 0 && is_it(account.registry))
}

/// Returns the library whose calls are not in the log, and why.
fn unreached(event: &Event<'_, '_>) -> String {
    let library = match event.param("library") {
        Some(Value::S(path)) => OneLine(path).to_string(),
        _ => String::new(),
    };
    let is_apart = event.param("namespace").and_then(|value| value.as_u64()) == Some(1);
    let way = if is_apart { "by dlmopen" } else { "with RTLD_DEEPBIND" };
    format!("{library} ({way})")
}

/// The operations of a log, in order of time.
pub struct Operations<'s> {
    events: Events<'s>,
    rows: Vec<Vec<Rows>>,
    clock: Clock,
    /// The last line of the clock, by stream.
    near: Vec<usize>,
    saved: Option<Saved>,
    tracker: Tracker,
    /// The time of the first operation, by the clock; before there is one, of the last event.
    first: u64,
    has_begun: bool,
    last: u64,
}

impl<'s> Operations<'s> {
    fn new(source: &'s Source) -> Operations<'s> {
        let mut tracker = Tracker::default();
        tracker.output.has_objects = source.has_objects;
        tracker.is_of_c = source.kind == Kind::Malloc;
        if source.kind == Kind::Mps && source.has_objects {
            tracker.set_logged(mps::logged(&source.log));
        }
        for registry in source.log.registries() {
            let has_figures = registry.event_types.iter().any(|row| &*row.name == rows::PROCESS);
            if has_figures && Kind::of(registry) == Some(source.kind) {
                tracker.output.facts.expect(registry.stream);
            }
        }
        Operations {
            events: source.log.events(Order::Time, &Filter::default()),
            rows: source.rows(),
            clock: Clock::new(&source.log),
            near: vec![0; source.log.streams().len()],
            saved: (source.kind == Kind::Operations).then(|| Saved::new(&source.log)),
            tracker,
            first: 0,
            has_begun: false,
            last: 0,
        }
    }

    /// Keeps the stack that allocated each object; to be called before the first operation.
    pub fn keep_stacks(&mut self) {
        self.tracker.output.stacks = Some(Vec::new());
    }

    /// Gives a thread that begins after another one has ended the number of that thread; to be
    /// called before the first operation.
    pub(crate) fn share_threads(&mut self) {
        self.tracker.is_sharing = true;
    }

    /// Returns the stack that asked for an object last; number 0: none, or stacks are not kept.
    pub fn stack_of(&self, object: u32) -> stacks::Stack {
        let stacks = self.tracker.output.stacks.as_deref().unwrap_or_default();
        stacks.get(object as usize).copied().unwrap_or_default()
    }

    /// Returns the skipped events and added operations so far.
    pub(crate) fn skipped(&self) -> &Skipped {
        &self.tracker.output.skipped
    }

    /// Returns the other facts in the log so far.
    pub fn facts(&self) -> &Facts {
        &self.tracker.output.facts
    }

    /// Returns the faults that were found in the log so far.
    pub fn faults(&self) -> &Faults {
        self.events.faults()
    }
}

impl Iterator for Operations<'_> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        loop {
            if let Some(operation) = self.tracker.output.found.pop_front() {
                return Some(operation);
            }
            let Some(event) = self.events.next() else {
                self.tracker.end();
                return None;
            };
            // Raw streams of the MPS share the registry of the first.
            let of_stream = self.rows.get(usize::from(event.registry.stream));
            let rows = of_stream.and_then(|rows| rows.get(usize::from(event.registry.index)));
            let decoded = rows.and_then(|rows| rows.decode(&event));
            let saved = self.saved.as_mut().filter(|_| &*event.registry.name == saved::NAME);
            if decoded.is_none() && saved.is_none() {
                let path = event.param("path").filter(|_| event.name() == rows::ALLOCATOR);
                if let Some(Value::S(path)) = path {
                    self.tracker.output.facts.take_library(event.stream, path);
                }
                continue;
            }
            if decoded.is_some_and(|decoded| decoded.verb == Verb::Unreached) {
                self.tracker.output.skipped.count_unreached(unreached(&event));
                continue;
            }
            let Some(near) = self.near.get_mut(usize::from(event.stream)) else { continue };
            let now = self.clock.ns_near(event.stream, event.ticks, near);
            if !self.has_begun {
                self.first = now;
            }
            // Clocks may disagree by their uncertainty: the order of events decides.
            self.last = now.saturating_sub(self.first).max(self.last);
            let at = Moment { time: self.last, stream: event.stream, thread: event.thread };
            match (decoded, saved) {
                (Some(decoded), _) => self.tracker.take(decoded, at),
                (None, Some(saved)) => saved.take(&event, at, &mut self.tracker),
                (None, None) => {}
            }
            self.has_begun |= !self.tracker.output.found.is_empty();
        }
    }
}
