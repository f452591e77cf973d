//! Marks: which event types begin, end, link and count.
//!
//! ```text
//!  TraceBegin=TraceEnd:trace ─────────┐ add
//!  [slice …] in a registry's doc ─────┼ add_declared ──▶ event types, parameters ──▶ Role of each
//!  [name …] in an event type's doc ───┤
//!  names: XBegin and XEnd ────────────┘ add_named (pairs.rs)
//! ```
//!
//! This room knows only the model. Of each event type, the first mark of a form holds. Design:
//! `.cnv.marks` in `design/eventcnv.md`.

mod pairs;
mod syntax;

use crate::reader::model::event::{Event, Value};
use crate::reader::model::registry::{EventType, Registry};
use eventdef::Sort;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use syntax::{Mark, in_doc, named_in_doc, parse};
use thiserror::Error;

/// Parameters that distinguish pairs of one mark, at most.
const KEY_COUNT_MAX: usize = 4;

/// The values that distinguish a pair from other pairs.
pub type Key = [u64; KEY_COUNT_MAX];

/// The relation of a mark's two event types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// They begin and end an activity of a thread: slices nest.
    Slice,
    /// They begin and end a lifetime, in any threads.
    Span,
    /// The first causes the second.
    Flow,
    /// They add to a counter and subtract from it; or one event type states its value.
    Counter,
}

impl Form {
    /// The word of each form, as in `[slice GcBegin=GcEnd]`.
    pub const ALL: [(&str, Form); 4] = [
        ("slice", Form::Slice),
        ("span", Form::Span),
        ("flow", Form::Flow),
        ("counter", Form::Counter),
    ];
}

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

/// How an event type changes a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The parameter is the counter's value.
    Is,
    /// The parameter is added to the counter.
    Add,
    /// The parameter is subtracted from the counter.
    Subtract,
}

/// The roles of an event type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Role {
    /// Its role in a slice or span.
    pub part: Option<Side>,
    /// Its role in a flow.
    pub flow: Option<Side>,
    /// Its role in a counter, with the index of the parameter.
    pub counter: Option<(Side, Change, u8)>,
    /// The index of the parameter whose label names its slice or span, in place of the pair's name.
    pub name: Option<u8>,
}

/// A pair of event types, or a counter.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The form of its mark.
    pub form: Form,
    /// Its name.
    pub name: Box<str>,
    /// The name of the event type that begins, causes, adds, or states the value.
    pub from: Box<str>,
    /// The name of the other event type, if the pair has two.
    pub to: Option<Box<str>>,
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
        let mark = parse(form, text).map_err(MarkError::Syntax)?;
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

    /// Adds the marks in the doc strings of a registry.
    pub fn add_declared(&mut self, registry: &Registry) {
        for row in &registry.event_types {
            let named = named_in_doc(&row.doc).find_map(|name| row.param(name));
            let Some(index) = named.and_then(|(index, _)| u8::try_from(index).ok()) else {
                continue;
            };
            let place = (registry.stream, registry.index, row.code);
            self.roles.entry(place).or_default().name.get_or_insert(index);
        }
        let docs = registry.event_types.iter().map(|row| &row.doc);
        for doc in [&registry.doc].into_iter().chain(docs) {
            for mark in in_doc(doc) {
                // A mark that names no event type is prose; an earlier mark holds.
                let _ = self.take(&mark, registry);
            }
        }
    }

    /// Adds the marks that follow from the names of a registry's event types.
    pub fn add_named(&mut self, registry: &Registry) {
        pairs::by_names(registry, self);
    }

    /// Returns the roles of an event.
    pub fn role(&self, event: &Event<'_, '_>) -> Role {
        event.event_type.map_or(Role::default(), |row| self.role_of(event.registry, row.code))
    }

    /// Returns the roles of the events of a type.
    pub fn role_of(&self, registry: &Registry, code: u16) -> Role {
        let place = (registry.stream, registry.index, code);
        self.roles.get(&place).copied().unwrap_or_default()
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
    fn take(&mut self, mark: &Mark<'_>, registry: &Registry) -> Result<(), MarkError> {
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
        if let (Form::Flow, Some(to), false) = (mark.form, to, mark.key.is_empty()) {
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
        let place = |half: &Half<'_>| (registry.stream, registry.index, half.row.code);
        let is_taken = |half: &&Half<'_>| {
            let role = self.roles.get(&place(half)).copied().unwrap_or_default();
            match form {
                Form::Slice | Form::Span => role.part.is_some(),
                Form::Flow => role.flow.is_some(),
                Form::Counter => role.counter.is_some(),
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
        let [from_name, to_name] = [Some(&from), to.as_ref()].map(|half| Some(&*half?.row.name));
        self.pairs.push(Pair {
            form,
            name: name.into(),
            from: from_name.unwrap_or_default().into(),
            to: to_name.map(Box::from),
            group: None,
        });
        for (half, is_end) in [(Some(from), false), (to, true)] {
            let Some(half) = half else { continue };
            let role = self.roles.entry(place(&half)).or_default();
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
                    role.counter = half.param.map(|param| (side, change, param));
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

fn row_named<'r>(registry: &'r Registry, name: &str) -> Option<&'r EventType> {
    registry.event_types.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// Finds the event types of a mark in a registry.
fn sides<'r>(
    mark: &Mark<'_>,
    registry: &'r Registry,
) -> Result<(Half<'r>, Option<Half<'r>>), MarkError> {
    let index = |row: &EventType, name: &str| {
        let index = row.param(name).and_then(|(index, _)| u8::try_from(index).ok());
        let (event_type, param) = (row.name.to_string(), name.to_owned());
        index.ok_or(MarkError::Param { event_type, param })
    };
    let half = |(name, param): (&str, Option<&str>), is_end: bool| {
        let unknown = || MarkError::EventType(name.to_owned());
        let row = row_named(registry, name).ok_or_else(unknown)?;
        let mut key = [None; KEY_COUNT_MAX];
        for (place, (of_from, of_to)) in key.iter_mut().zip(&mark.key) {
            *place = Some(index(row, if is_end { of_to } else { of_from })?);
        }
        let param = param.map(|param| index(row, param)).transpose()?;
        Ok(Half { row, key, param })
    };
    let mut from = half(mark.from, false)?;
    let mut to = mark.to.map(|to| half(to, true)).transpose()?;
    if let (Some(to), true) = (&mut to, mark.key.is_empty() && mark.form != Form::Counter) {
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
    Syntax(String),
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
