//! What is called what, as of the time read so far.
//!
//! ```text
//!  Intern (stringId, string) ──▶ strings ─┐
//!  Label (address, stringId) ──▶ labels ──┴──▶ value ──▶ string
//! ```
//!
//! An Intern comes before the labels that use it (`.store.before`). Fed with events by name and
//! parameters, of either format. Read in order of time, only what holds now is kept. Read in file
//! order, a first pass in order of time keeps all that ever held, and the reader says which time it
//! asks for. Design: `.store.intern`, `.store.label` in `design/format.md`.

use super::event::{Event, Value};
use super::registry::EventType;
use std::collections::HashMap;

/// Strings and labels that are kept, at most, each.
pub const LABEL_COUNT_MAX: usize = 1 << 20;
/// Bytes of strings that are kept, at most.
pub const LABEL_SIZE_MAX: usize = 1 << 24;

/// What an event type is to the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Intern,
    Label,
    /// The label of a pointer, which in an MPS log says nothing of the address of the same number.
    LabelPointer,
}

/// The role of an event type, if it has one: by its name and the sorts and names of its parameters.
pub(crate) fn role(event_type: &EventType) -> Option<Role> {
    let is = |index: usize, sorts: &str, name: &str| {
        let param = event_type.params.get(index);
        param.is_some_and(|param| sorts.contains(param.sort.letter()) && *param.name == *name)
    };
    match &*event_type.name {
        "Intern" if is(0, "W", "stringId") && is(1, "S", "string") => Some(Role::Intern),
        "Label" if is(0, "PAW", "address") && is(1, "W", "stringId") => Some(Role::Label),
        "LabelPointer" if is(0, "PAW", "pointer") && is(1, "W", "stringId") => {
            Some(Role::LabelPointer)
        }
        _ => None,
    }
}

/// Strings, and what they label, in one stream.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    strings: HashMap<u64, Box<[u8]>>,
    strings_size: usize,
    now: HashMap<u64, u64>,
    /// If all that ever held is kept: of each value, since when it has had which string.
    history: Option<HashMap<u64, Vec<(u64, u64)>>>,
    history_count: usize,
    /// The time that is asked for, in a history.
    at: u64,
    /// The labels of pointers, where the log labels them apart from addresses.
    pointers: Option<Box<Labels>>,
}

impl Labels {
    /// Labels that remember all that ever held.
    pub(crate) fn with_history() -> Labels {
        Labels { history: Some(HashMap::new()), ..Labels::default() }
    }

    /// Sets the time that is asked for; of no effect without a history.
    #[inline]
    pub(crate) fn set_time(&mut self, ticks: u64) {
        self.at = ticks;
        if let Some(pointers) = &mut self.pointers {
            pointers.at = ticks;
        }
    }

    /// The string with this number.
    pub fn string(&self, id: u64) -> Option<&[u8]> {
        self.strings.get(&id).map(|string| &**string)
    }

    /// The number of the string that a value is called by now: an MPS log labels pointers apart
    /// from addresses.
    #[inline]
    pub fn label_id_of(&self, value: Value<'_>) -> Option<u64> {
        match value {
            Value::P(value) => self.pointers.as_deref().unwrap_or(self).label_id(value),
            Value::A(value) | Value::W(value) => self.label_id(value),
            _ => None,
        }
    }

    /// The number of the string that a pointer, address or word (of an MPS log: an address) is
    /// called by now.
    pub fn label_id(&self, value: u64) -> Option<u64> {
        let id = match &self.history {
            None => self.now.get(&value).copied(),
            Some(history) => {
                let changes = history.get(&value)?;
                let count = changes.partition_point(|(ticks, _)| *ticks <= self.at);
                changes.get(count.checked_sub(1)?).map(|(_, id)| *id)
            }
        };
        id.filter(|&id| id != 0)
    }

    /// What a pointer, address or word is called now.
    pub fn label(&self, value: u64) -> Option<&[u8]> {
        self.string(self.label_id(value)?)
    }

    /// Takes an event of a role in. Says whether there was room.
    pub(crate) fn feed(&mut self, role: Role, event: &Event<'_>) -> bool {
        match (role, event.param_at(0), event.param_at(1)) {
            (Role::Intern, Some(Value::W(id)), Some(Value::S(string))) => self.intern(id, string),
            (
                Role::Label,
                Some(Value::P(value) | Value::A(value) | Value::W(value)),
                Some(Value::W(id)),
            ) => self.set(event.ticks, value, id),
            (
                Role::LabelPointer,
                Some(Value::P(value) | Value::A(value) | Value::W(value)),
                Some(Value::W(id)),
            ) => {
                let history = self.history.as_ref().map(|_| HashMap::new());
                let new = || Box::new(Labels { history, ..Labels::default() });
                self.pointers.get_or_insert_with(new).set(event.ticks, value, id)
            }
            _ => true,
        }
    }

    fn intern(&mut self, id: u64, string: &[u8]) -> bool {
        let before = self.strings.get(&id).map_or(0, |string| string.len());
        let size = self.strings_size - before + string.len();
        let is_full = self.strings.len() >= LABEL_COUNT_MAX && !self.strings.contains_key(&id);
        if size > LABEL_SIZE_MAX || is_full {
            return false;
        }
        self.strings_size = size;
        self.strings.insert(id, string.into());
        true
    }

    fn set(&mut self, ticks: u64, value: u64, id: u64) -> bool {
        if let Some(history) = &mut self.history {
            if self.history_count >= LABEL_COUNT_MAX {
                return false;
            }
            self.history_count += 1;
            history.entry(value).or_default().push((ticks, id));
            return true;
        }
        if id == 0 {
            self.now.remove(&value);
            return true;
        }
        if self.now.len() >= LABEL_COUNT_MAX && !self.now.contains_key(&value) {
            return false;
        }
        self.now.insert(value, id);
        true
    }
}
