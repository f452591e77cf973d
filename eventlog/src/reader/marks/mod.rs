//! Marks: which event types begin, end, link and count.
//!
//! ```text
//!  TraceBegin=TraceEnd:trace ─────────┐ add
//!  [slice …] in a registry's doc ─────┼ add_declared ──▶ event types, parameters ──▶ Role of each
//!  [unit …] in an event type's doc ───┤
//!  names: XBegin and XEnd ────────────┘ add_named (pairs.rs)
//! ```
//!
//! This room knows only the model. Of each event type, the first mark of a form holds. Design:
//! `.cnv.marks` in `design/eventcnv.md`.

mod pairs;

pub use eventdef::marks::{Change, Form, Unit};

use crate::reader::model::event::{Event, Value};
use crate::reader::model::registry::{EventType, Registry};
use eventdef::Sort;
use eventdef::marks::{self, COUNT_MAX, KEY_COUNT_MAX, Mark};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use thiserror::Error;

/// The values that distinguish a pair from other pairs.
pub type Key = [u64; KEY_COUNT_MAX];

/// The role of an event type in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The pair, by its index in [`Marks::pairs`].
    pub pair: u32,
    /// Whether it is the second event type.
    pub is_end: bool,
    /// Indices of the parameters that distinguish pairs.
    key: [Option<u8>; KEY_COUNT_MAX],
}

impl Side {
    /// Returns the values of an event that distinguish its pair. A double gives its bits, a string
    /// a hash.
    #[inline]
    pub fn key(&self, event: &Event<'_, '_>) -> Key {
        let mut key = Key::default();
        for (place, index) in key.iter_mut().zip(self.key) {
            // The indices come first.
            let Some(index) = index else { break };
            *place = match event.param_at(index.into()) {
                Some(Value::D(value)) => value.to_bits(),
                Some(Value::S(bytes)) => FixedState::default().hash_one(bytes),
                value => value.and_then(|value| value.as_u64()).unwrap_or(0),
            };
        }
        key
    }

    /// Returns the indices of the parameters that distinguish pairs.
    pub fn params(&self) -> impl Iterator<Item = usize> {
        self.key.into_iter().flatten().map(usize::from)
    }

    /// Returns the first of these values.
    pub fn first<'e>(&self, event: &Event<'_, 'e>) -> Option<Value<'e>> {
        event.param_at(self.key.first().copied().flatten()?.into())
    }

    /// Returns whether any value distinguishes the pairs.
    pub fn has_key(&self) -> bool {
        self.key.iter().any(Option::is_some)
    }
}

/// What an event type does with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The counter, and what tells one from another.
    pub side: Side,
    /// What the event type does.
    pub change: Change,
    /// The index of the parameter with the amount; `None`: the amount is 1, or 0 if it states it.
    pub amount: Option<u8>,
}

/// The roles of an event type.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// Its role in a slice or span.
    pub part: Option<Side>,
    /// Its role in a flow.
    pub flow: Option<Side>,
    /// The counters that it changes, in the order of its marks.
    pub counts: Vec<Count>,
    /// The index of the parameter whose label names its slice or span, in place of the pair's name.
    pub name: Option<u8>,
    /// The units of parameters, by their indices; further ones have none.
    units: Vec<Option<Unit>>,
}

/// The role of an event type without marks.
static NONE: Role =
    Role { part: None, flow: None, counts: Vec::new(), name: None, units: Vec::new() };

impl Role {
    /// Returns the unit of the parameter with an index.
    pub fn unit(&self, param: usize) -> Option<Unit> {
        self.units.get(param).copied().flatten()
    }

    /// Returns whether the parameter with an index tells one slice, span, flow or counter from
    /// another, or names it.
    pub fn identifies(&self, param: usize) -> bool {
        let counts = self.counts.iter().map(|count| &count.side);
        let mut sides = self.part.iter().chain(&self.flow).chain(counts);
        self.name.map(usize::from) == Some(param)
            || sides.any(|side| side.params().any(|key| key == param))
    }
}

/// A pair of event types, or a counter.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The form of its mark.
    pub form: Form,
    /// Its name.
    pub name: Box<str>,
    /// The name of the event type that begins, causes, adds, or states the value; of a counter of
    /// several event types, the first one.
    pub from: Box<str>,
    /// The name of the other event type, if the mark names two.
    pub to: Option<Box<str>>,
    /// Of a counter: what it counts.
    pub unit: Option<Unit>,
    /// Of a flow that may go from one stream to another: the first pair of the log with the same
    /// registry and event types. The mark of such a flow names its key, which has neither pointers
    /// nor addresses: these mean something in one process alone.
    pub group: Option<u32>,
}

/// The marks of a log.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Pairs and counters.
    pub pairs: Vec<Pair>,
    /// The counters that registries name, by stream, registry and name; each with the number of
    /// parameters of its key.
    counters: HashMap<(u16, u16, Box<str>), (u32, usize)>,
    /// By stream, registry and code.
    roles: HashMap<(u16, u16, u16), Role>,
    /// The first pairs of flows between streams, by registry and event types.
    groups: HashMap<[Box<str>; 3], u32>,
}

impl Marks {
    /// Returns the marks that registries declare, and those that follow from names.
    pub fn of(registries: &[Registry]) -> Marks {
        let mut marks = Marks::default();
        for registry in registries {
            marks.add_declared(registry);
            marks.add_named(registry);
        }
        marks
    }

    /// Adds a mark: BEGIN=END, EVENT.PARAM or EVENT.PARAM-EVENT.PARAM, with :PARAM,... at the end.
    pub fn add(
        &mut self,
        form: Form,
        text: &str,
        registries: &[Registry],
    ) -> Result<(), MarkError> {
        let mark = marks::pair(form, text).map_err(MarkError::Syntax)?;
        let taken: Vec<_> = registries.iter().map(|registry| self.take(&mark, registry)).collect();
        if taken.iter().any(Result::is_ok) {
            return Ok(());
        }
        for (name, _) in [Some(mark.from), mark.to].into_iter().flatten() {
            if registries.iter().all(|registry| row_named(registry, name).is_none()) {
                return Err(MarkError::EventType(name.to_owned()));
            }
        }
        let is_known = |why: &MarkError| !matches!(why, MarkError::EventType(_));
        Err(taken.into_iter().filter_map(Result::err).find(is_known).unwrap_or(MarkError::Apart))
    }

    /// Adds the marks in the doc strings of a registry. A mark that names nothing is prose.
    pub fn add_declared(&mut self, registry: &Registry) {
        let rows = &registry.event_types;
        // A counter has the units of parameters.
        for row in rows {
            self.add_names(registry, row);
        }
        let docs = rows.iter().map(|row| &row.doc);
        for doc in [&registry.doc].into_iter().chain(docs) {
            for mark in marks::in_doc(doc) {
                if let Ok(Mark::Pair(mark)) = mark {
                    let _ = self.take(&mark, registry);
                }
            }
        }
        for row in rows {
            for mark in marks::in_doc(&row.doc) {
                if let Ok(Mark::Count(mark)) = mark {
                    let _ = self.add_count(registry, row, &mark);
                }
            }
        }
    }

    /// Adds what the doc string of an event type tells about its parameters: a name, units.
    fn add_names(&mut self, registry: &Registry, row: &EventType) {
        for (index, unit) in told(row) {
            let role = self.roles.entry(place(registry, row)).or_default();
            if unit.is_none() {
                role.name.get_or_insert(index);
                continue;
            }
            if role.units.len() <= index.into() {
                role.units.resize(usize::from(index) + 1, None);
            }
            if let Some(of) = role.units.get_mut(usize::from(index)) {
                *of = of.or(unit);
            }
        }
    }

    /// Adds a change of a counter that all event types of the registry name alike.
    fn add_count(
        &mut self,
        registry: &Registry,
        row: &EventType,
        mark: &marks::Count<'_>,
    ) -> Result<(), MarkError> {
        let mut key = [None; KEY_COUNT_MAX];
        for (place, name) in key.iter_mut().zip(mark.key.iter().flatten()) {
            *place = Some(index_of(row, name.0)?);
        }
        if let ([first @ None, ..], true) = (&mut key, mark.amount != Some(mark.name)) {
            *first = index_of(row, mark.name).ok();
        }
        let amount = mark.amount.map(|name| index_of(row, name)).transpose()?;
        let sort = amount.and_then(|amount| row.params.get(usize::from(amount)));
        if !sort.is_none_or(|param| param.sort.is_number()) {
            return Err(MarkError::Apart);
        }
        if self.role_of(registry, row.code).counts.len() >= COUNT_MAX {
            return Err(MarkError::Taken(row.name.to_string()));
        }
        let named = (registry.stream, registry.index, mark.name.into());
        let (new, key_count) = (self.pairs.len() as u32, key.iter().flatten().count());
        let (pair, of_first) = *self.counters.entry(named).or_insert((new, key_count));
        if of_first != key_count {
            return Err(MarkError::Apart);
        }
        if pair == new {
            let (name, from) = (mark.name.into(), row.name.clone());
            let form = Form::Counter;
            self.pairs.push(Pair { form, name, from, to: None, unit: None, group: None });
        }
        let role = self.roles.entry(place(registry, row)).or_default();
        let unit = match (amount, mark.change) {
            (Some(amount), _) => role.unit(amount.into()),
            (None, Change::Is) => None,
            (None, _) => Some(Unit::Count),
        };
        let side = Side { pair, is_end: false, key };
        role.counts.push(Count { side, change: mark.change, amount });
        if let Some(pair) = self.pairs.get_mut(pair as usize) {
            pair.unit = pair.unit.or(unit);
        }
        Ok(())
    }

    /// Adds the marks that follow from the names of a registry's event types.
    pub fn add_named(&mut self, registry: &Registry) {
        pairs::by_names(registry, self);
    }

    /// Returns the roles of an event.
    pub fn role(&self, event: &Event<'_, '_>) -> &Role {
        event.event_type.map_or(&NONE, |row| self.role_of(event.registry, row.code))
    }

    /// Returns the roles of the events of a type.
    pub fn role_of(&self, registry: &Registry, code: u16) -> &Role {
        let place = (registry.stream, registry.index, code);
        self.roles.get(&place).unwrap_or(&NONE)
    }

    /// Returns the pair that stands for those of all streams, if the flows of a pair may go from
    /// one stream to another.
    pub fn group(&self, pair: u32) -> Option<u32> {
        self.pairs.get(pair as usize)?.group
    }

    /// Returns the name of a pair.
    pub fn name(&self, pair: u32) -> &str {
        self.pairs.get(pair as usize).map_or("?", |pair| &pair.name)
    }

    /// Adds a mark, if its event types have no mark of this form yet.
    fn take(&mut self, mark: &marks::Pair<'_>, registry: &Registry) -> Result<(), MarkError> {
        let (from, to) = sides(mark, registry)?;
        let name = match (mark.form, to) {
            (Form::Counter, Some(to)) => {
                let param = mark.from.1.unwrap_or_default();
                format!("{} {param}", common(&from.row.name, &to.row.name))
            }
            (Form::Counter, None) => format!("{}.{}", mark.from.0, mark.from.1.unwrap_or_default()),
            (_, Some(to)) => common(&from.row.name, &to.row.name).to_owned(),
            (_, None) => return Err(MarkError::Apart),
        };
        self.add_pair(registry, mark.form, name, from, to)?;
        if let (Form::Flow, Some(to), false) = (mark.form, to, mark.key == [None; _]) {
            self.join(registry, from, to);
        }
        Ok(())
    }

    /// Lets the flows of the last pair go from one stream to another, if their key permits that.
    fn join(&mut self, registry: &Registry, from: Half<'_>, to: Half<'_>) {
        let is_private = |half: &Half<'_>| {
            let params = half.key.iter().flatten().map(|at| half.row.params.get(usize::from(*at)));
            params.flatten().any(|param| matches!(param.sort, Sort::P | Sort::A))
        };
        if is_private(&from) || is_private(&to) {
            return;
        }
        let names = [&registry.name, &from.row.name, &to.row.name].map(Clone::clone);
        let last = (self.pairs.len() as u32).saturating_sub(1);
        let group = *self.groups.entry(names).or_insert(last);
        if let Some(pair) = self.pairs.last_mut() {
            pair.group = Some(group);
        }
    }

    /// Adds a pair of event types, or one event type that states a counter. An event type has one
    /// part of each form.
    fn add_pair(
        &mut self,
        registry: &Registry,
        form: Form,
        name: String,
        from: Half<'_>,
        to: Option<Half<'_>>,
    ) -> Result<(), MarkError> {
        let is_taken = |half: &&Half<'_>| {
            let role = self.role_of(registry, half.row.code);
            match form {
                Form::Slice | Form::Span => role.part.is_some(),
                Form::Flow => role.flow.is_some(),
                Form::Counter => !role.counts.is_empty(),
            }
        };
        if let Some(taken) = [Some(from), to].iter().flatten().find(is_taken) {
            return Err(MarkError::Taken(taken.row.name.to_string()));
        }
        if matches!(form, Form::Slice | Form::Span)
            && to.is_some_and(|to| to.row.code == from.row.code)
        {
            return Err(MarkError::Same);
        }
        let pair = self.pairs.len() as u32;
        let unit_of = |half: Option<&Half<'_>>| {
            half.and_then(|half| self.role_of(registry, half.row.code).unit(half.param?.into()))
        };
        let unit = unit_of(Some(&from)).or_else(|| unit_of(to.as_ref()));
        let [from_name, to_name] = [Some(&from), to.as_ref()].map(|half| Some(&*half?.row.name));
        self.pairs.push(Pair {
            form,
            name: name.into(),
            from: from_name.unwrap_or_default().into(),
            to: to_name.map(Box::from),
            unit,
            group: None,
        });
        for (half, is_end) in [(Some(from), false), (to, true)] {
            let Some(half) = half else { continue };
            let role = self.roles.entry(place(registry, half.row)).or_default();
            let side = Side { pair, is_end, key: half.key };
            match form {
                Form::Slice | Form::Span => role.part = Some(side),
                Form::Flow => role.flow = Some(side),
                Form::Counter => {
                    let change = match (is_end, to) {
                        (_, None) => Change::Is,
                        (false, _) => Change::Add,
                        (true, _) => Change::Subtract,
                    };
                    role.counts.push(Count { side, change, amount: half.param });
                }
            }
        }
        Ok(())
    }
}

/// An event type of a pair: its key, and the parameter of its counter.
#[derive(Clone, Copy)]
struct Half<'r> {
    row: &'r EventType,
    key: [Option<u8>; KEY_COUNT_MAX],
    param: Option<u8>,
}

/// Returns the place of an event type in a log.
fn place(registry: &Registry, row: &EventType) -> (u16, u16, u16) {
    (registry.stream, registry.index, row.code)
}

/// Returns the unit that an event type declares for the parameter with an index.
pub fn unit_of(row: &EventType, param: usize) -> Option<Unit> {
    told(row).find_map(|(index, unit)| unit.filter(|_| usize::from(index) == param))
}

/// Returns the parameters that the doc string of an event type tells of, by their indices: with a
/// unit, or as a name.
fn told(row: &EventType) -> impl Iterator<Item = (u8, Option<Unit>)> {
    marks::in_doc(&row.doc).filter_map(|mark| {
        let (param, unit) = match mark {
            Ok(Mark::Name(param)) => (param, None),
            Ok(Mark::Unit(unit, param)) => (param, Some(unit)),
            _ => return None,
        };
        Some((index_of(row, param).ok()?, unit))
    })
}

/// Returns the index of a parameter.
fn index_of(row: &EventType, name: &str) -> Result<u8, MarkError> {
    let index = row.param(name).and_then(|(index, _)| u8::try_from(index).ok());
    let (event_type, param) = (row.name.to_string(), name.to_owned());
    index.ok_or(MarkError::Param { event_type, param })
}

fn row_named<'r>(registry: &'r Registry, name: &str) -> Option<&'r EventType> {
    registry.event_types.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// Finds the event types of a mark in a registry.
fn sides<'r>(
    mark: &marks::Pair<'_>,
    registry: &'r Registry,
) -> Result<(Half<'r>, Option<Half<'r>>), MarkError> {
    let half = |(name, param): (&str, Option<&str>), is_end: bool| {
        let unknown = || MarkError::EventType(name.to_owned());
        let row = row_named(registry, name).ok_or_else(unknown)?;
        let mut key = [None; KEY_COUNT_MAX];
        for (place, (of_from, of_to)) in key.iter_mut().zip(mark.key.iter().flatten()) {
            *place = Some(index_of(row, if is_end { of_to } else { of_from })?);
        }
        let param = param.map(|param| index_of(row, param)).transpose()?;
        let counted = param.and_then(|param| row.params.get(usize::from(param)));
        if let Some(param) = counted.filter(|param| !param.sort.is_number()) {
            let (event_type, param) = (row.name.to_string(), param.name.to_string());
            return Err(MarkError::Sort { event_type, param });
        }
        Ok(Half { row, key, param })
    };
    let mut from = half(mark.from, false)?;
    let mut to = mark.to.map(|to| half(to, true)).transpose()?;
    if let (Some(to), true) = (&mut to, mark.key == [None; _] && mark.form != Form::Counter) {
        (from.key, to.key) = pairs::shared(from.row, to.row);
    }
    Ok((from, to))
}

/// Returns the common beginning of two names up to the end of a word; otherwise the first name.
fn common<'a>(from: &'a str, to: &str) -> &'a str {
    let same = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    let is_end = |at: &usize| {
        from.get(*at..).is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()))
    };
    let end = (1..=same).rev().find(is_end).unwrap_or(from.len());
    from.get(..end).unwrap_or(from).trim_end_matches('_')
}

/// Why a mark cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MarkError {
    /// The mark does not parse, for this reason.
    #[error("{0}")]
    Syntax(&'static str),
    /// No registry has an event type of this name.
    #[error("no event type is called {0:?}")]
    EventType(String),
    /// An event type has no parameter of this name.
    #[error("no parameter of {event_type} is called {param:?}")]
    Param {
        /// The event type.
        event_type: String,
        /// The parameter.
        param: String,
    },
    /// The parameter of a counter has a sort that does not count.
    #[error("{param} of {event_type} has another sort than W, U or D: only these count")]
    Sort {
        /// The event type.
        event_type: String,
        /// The parameter.
        param: String,
    },
    /// The two event types are in different registries.
    #[error("no registry has both event types")]
    Apart,
    /// An earlier mark of this form has the event type.
    #[error("{0} already has a part in an earlier mark")]
    Taken(String),
    /// An event type cannot begin and end the same thing.
    #[error("the same event type cannot begin and end a slice")]
    Same,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An option that cannot hold is an error, not silence. `.cnv.marks`
    #[test]
    fn a_mark_that_cannot_hold_is_refused() {
        let log = include_bytes!("../../../tests/golden/mps/mpmss-cut.log");
        let log = crate::reader::Log::from_source(&log[..]).unwrap();
        let mut marks = Marks::default();
        let mut add = |form, text| marks.add(form, text, log.registries());
        assert_eq!(add(Form::Slice, "PoolInit=PoolFinish:pool"), Ok(()));
        for (form, text) in [
            (Form::Slice, "PoolInit=ArenaDestroy"),
            (Form::Span, "ArenaCreateVM=poolinit:"),
            (Form::Slice, "PoolInit=PoolFinish:pool"),
        ] {
            assert_eq!(add(form, text), Err(MarkError::Taken("PoolInit".to_owned())), "{text}");
        }
        assert_eq!(add(Form::Span, "ArenaDestroy=ArenaDestroy"), Err(MarkError::Same));
        // Another form, and an event that follows itself.
        assert_eq!(add(Form::Flow, "PoolInit=PoolFinish:pool"), Ok(()));
        assert_eq!(add(Form::Flow, "ArenaDestroy=ArenaDestroy:arena"), Ok(()));
        // What a registry declares or its names state stays silent: the option holds.
        let count = marks.pairs.len();
        log.registries().iter().for_each(|registry| marks.add_named(registry));
        assert!(marks.pairs.len() > count);
    }

    #[test]
    fn a_pair_gets_the_common_beginning_of_its_names() {
        for (from, to, name) in [
            ("TraceFlipBegin", "TraceFlipEnd", "TraceFlip"),
            ("gc_Begin", "gc_End", "gc"),
            ("Begin", "End", "Begin"),
            ("Load", "Lord", "Load"),
        ] {
            assert_eq!(common(from, to), name);
        }
    }
}
