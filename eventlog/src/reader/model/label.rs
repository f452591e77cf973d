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
use super::registry::{EventType, Registry, StringEnd};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// Memory that the strings and labels of all streams may take, in bytes.
pub const LABEL_MEMORY_MAX: usize = 1 << 25;
/// What one number takes in a table by numbers, at most.
const ENTRY_SIZE: usize = 40;
/// What one change takes in a history, half as much again while it is sorted, and less for the
/// directory after that.
const CHANGE_SIZE: usize = size_of::<Change>() * 3 / 2;

/// What an event type is to the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Intern,
    Label,
    /// The label of a pointer, which in an MPS log says nothing of the address of the same number.
    LabelPointer,
}

/// Whether a registry is that of the MPS, whose events name things too (`.mps.labels`).
pub(crate) fn is_mps(registry: &Registry) -> bool {
    registry.platform.string_end == StringEnd::Nul
        || *registry.name == *eventdef::mps::REGISTRY.name
}

/// The role of an event type of a registry, if it has one. In our streams, the event types of
/// registry 0 alone have one (`.store`).
pub(crate) fn role_in(registry: &Registry, event_type: &EventType) -> Option<Role> {
    if registry.index == 0 || is_mps(registry) { role(event_type) } else { None }
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

/// A table by numbers, with a hash that costs one multiplication: a named dump asks it for every
/// pointer.
type Numbered<T> = HashMap<u64, T, NumberHash>;

/// Makes [`NumberHasher`]s, all with one secret, so that no log can be made to collide.
#[derive(Clone, Debug)]
struct NumberHash {
    secret: u64,
}

impl Default for NumberHash {
    fn default() -> NumberHash {
        NumberHash { secret: RandomState::new().hash_one(0) }
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher { state: self.secret }
    }
}

/// Multiplies, and folds the high half of the product into the low half.
struct NumberHasher {
    state: u64,
}

impl Hasher for NumberHasher {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(number ^ self.state) * 0x9E37_79B9_7F4A_7C15;
        self.state = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

/// Since when a value has had which string.
#[derive(Clone, Copy, Debug)]
struct Change {
    value: u64,
    ticks: u64,
    id: u64,
}

/// Which of 2^bits buckets a value is in.
#[inline]
fn bucket(value: u64, bits: u32) -> usize {
    let product = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
}

/// Strings, and what they label, in one stream. A finished history is shared by its clones.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Where each string is in `text`: offset and size.
    strings: Arc<Numbered<(u32, u32)>>,
    text: Arc<Vec<u8>>,
    now: Numbered<u64>,
    /// If all that ever held is kept: in the end by bucket, value and ticks.
    history: Option<Arc<Vec<Change>>>,
    /// Where in the history each bucket of values begins, and the last one ends: most values are
    /// called nothing, and that costs one look.
    buckets: Arc<Vec<u32>>,
    /// Whether a number came to stand for another string, which a history does not keep.
    is_replaced: bool,
    /// The time that is asked for, in a history.
    at: u64,
    /// The labels of pointers, where the log labels them apart from addresses.
    pointers: Option<Box<Labels>>,
}

impl Labels {
    /// Labels that remember all that ever held.
    pub(crate) fn with_history() -> Labels {
        Labels { history: Some(Arc::default()), ..Labels::default() }
    }

    /// Ends a history: nothing more is fed.
    pub(crate) fn finish(&mut self) {
        if let Some(history) = &mut self.history {
            let bits = history.len().max(2).next_power_of_two().ilog2();
            let place = |change: &Change| bucket(change.value, bits);
            // Of equal ticks the one that was fed last holds.
            let history = Arc::make_mut(history);
            history.sort_by_key(|change| (place(change), change.value, change.ticks));
            let begins = |at: usize| history.partition_point(|change| place(change) < at) as u32;
            self.buckets = Arc::new((0..=1 << bits).map(begins).collect());
        }
        if let Some(pointers) = &mut self.pointers {
            pointers.finish();
        }
    }

    /// Whether this is a history that says the same as labels that are read in order of time.
    pub(crate) fn is_exact(&self) -> bool {
        self.history.is_some() && !self.is_replaced
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
        let (offset, size) = *self.strings.get(&id)?;
        self.text.get(offset as usize..)?.get(..size as usize)
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
    #[inline]
    pub fn label_id(&self, value: u64) -> Option<u64> {
        let id = match &self.history {
            None => self.now.get(&value).copied(),
            Some(history) => {
                let bits = self.buckets.len().checked_ilog2()?;
                let at = bucket(value, bits);
                let (begin, end) = (*self.buckets.get(at)?, *self.buckets.get(at + 1)?);
                if begin == end {
                    return None;
                }
                self.id_then(value, history.get(begin as usize..end as usize)?)
            }
        };
        id.filter(|&id| id != 0)
    }

    /// Of the changes of a bucket, what the last one before the time that is asked for says.
    fn id_then(&self, value: u64, changes: &[Change]) -> Option<u64> {
        let is_past = |at: &Change| (at.value, at.ticks) <= (value, self.at);
        let change = changes.get(changes.partition_point(is_past).checked_sub(1)?);
        change.filter(|change| change.value == value).map(|change| change.id)
    }

    /// What a pointer, address or word is called now.
    pub fn label(&self, value: u64) -> Option<&[u8]> {
        self.string(self.label_id(value)?)
    }

    /// Takes an event of a role in, and what memory it takes off `room`. Says whether there was
    /// enough.
    pub(crate) fn feed(&mut self, role: Role, event: &Event<'_, '_>, room: &mut usize) -> bool {
        match (role, event.param_at(0), event.param_at(1)) {
            (Role::Intern, Some(Value::W(id)), Some(Value::S(string))) => {
                self.intern(id, string, room)
            }
            (
                Role::Label,
                Some(Value::P(value) | Value::A(value) | Value::W(value)),
                Some(Value::W(id)),
            ) => self.set(event.ticks, value, id, room),
            (
                Role::LabelPointer,
                Some(Value::P(value) | Value::A(value) | Value::W(value)),
                Some(Value::W(id)),
            ) => {
                let history = self.history.as_ref().map(|_| Arc::default());
                let new = || Box::new(Labels { history, ..Labels::default() });
                self.pointers.get_or_insert_with(new).set(event.ticks, value, id, room)
            }
            _ => true,
        }
    }

    fn intern(&mut self, id: u64, string: &[u8], room: &mut usize) -> bool {
        if self.string(id) == Some(string) {
            return true;
        }
        // A string that is replaced leaves its bytes behind.
        let (Ok(offset), Ok(size)) = (u32::try_from(self.text.len()), u32::try_from(string.len()))
        else {
            return false;
        };
        let entry = if self.strings.contains_key(&id) { 0 } else { ENTRY_SIZE };
        if !charge(room, string.len() + entry) {
            return false;
        }
        Arc::make_mut(&mut self.text).extend_from_slice(string);
        self.is_replaced |= Arc::make_mut(&mut self.strings).insert(id, (offset, size)).is_some();
        true
    }

    fn set(&mut self, ticks: u64, value: u64, id: u64, room: &mut usize) -> bool {
        if let Some(history) = &mut self.history {
            let is_kept = charge(room, CHANGE_SIZE);
            if is_kept {
                Arc::make_mut(history).push(Change { value, ticks, id });
            }
            return is_kept;
        }
        if id == 0 {
            if self.now.remove(&value).is_some() {
                *room += ENTRY_SIZE;
            }
            return true;
        }
        if !self.now.contains_key(&value) && !charge(room, ENTRY_SIZE) {
            return false;
        }
        self.now.insert(value, id);
        true
    }
}

/// Takes memory off what is left of it, if there is enough.
fn charge(room: &mut usize, size: usize) -> bool {
    let rest = room.checked_sub(size);
    *room = rest.unwrap_or(*room);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these calls there is room for.
    fn count(mut call: impl FnMut(u64, &mut usize) -> bool) -> u64 {
        let mut room = LABEL_MEMORY_MAX;
        (1..).find(|&n| !call(n, &mut room)).unwrap_or(0) - 1
    }

    #[test]
    fn strings_and_labels_end_where_the_memory_does() {
        let (mut now, mut history) = (Labels::default(), Labels::with_history());
        let memory = LABEL_MEMORY_MAX as u64;
        assert_eq!(count(|n, room| now.set(n, n, n, room)), memory / 40);
        assert_eq!(count(|n, room| history.set(n, n, n, room)), memory / 36);
        assert_eq!(count(|n, room| now.intern(n, b"", room)), memory / 40);
        let long = vec![b'x'; 60_000];
        assert_eq!(count(|n, room| history.intern(n, &long, room)), memory / 60_040);
        // The same string under another number each time leaves what it replaces behind.
        let mut one = Labels::default();
        let names = [&long[1..], &long];
        assert_eq!(count(|n, room| one.intern(7, names[n as usize % 2], room)), memory / 60_000);
    }

    #[test]
    fn what_is_said_again_or_taken_back_takes_no_memory() {
        let (mut labels, mut room) = (Labels::default(), 200);
        for n in 0..1000 {
            assert!(labels.intern(1, b"one", &mut room));
            assert!(labels.set(n, n, 1, &mut room));
            assert_eq!(labels.label(n), Some(&b"one"[..]));
            assert!(labels.set(n, n, 0, &mut room));
            assert_eq!(labels.label(n), None);
        }
    }

    #[test]
    fn a_history_knows_each_value_apart_and_of_equal_ticks_the_last() {
        let (mut labels, mut room) = (Labels::with_history(), LABEL_MEMORY_MAX);
        for (ticks, value, id) in [(5, 2, 20), (5, 1, 10), (5, 2, 21), (7, 2, 0), (9, 2, 22)] {
            assert!(labels.set(ticks, value, id, &mut room));
        }
        labels.finish();
        let found = [4, 5, 6, 7, 8, 9, u64::MAX].map(|ticks| {
            labels.set_time(ticks);
            (labels.label_id(1), labels.label_id(2), labels.label_id(3))
        });
        let [one, two, last] = [Some(10), Some(21), Some(22)];
        let expected = [None, two, two, None, None, last, last].map(|two| (one, two, None));
        assert_eq!(found[1..], expected[1..]);
        assert_eq!(found[0], (None, None, None));
    }

    /// Each partition of a log that is read side by side has labels of its own: not their tables.
    #[test]
    fn a_history_is_shared_by_its_clones() {
        let (mut labels, mut room) = (Labels::with_history(), LABEL_MEMORY_MAX);
        assert!(labels.intern(1, b"one", &mut room) && labels.set(5, 2, 1, &mut room));
        labels.finish();
        let clone = labels.clone();
        assert!(Arc::ptr_eq(&labels.strings, &clone.strings));
        assert!(Arc::ptr_eq(&labels.text, &clone.text));
        assert!(Arc::ptr_eq(&labels.buckets, &clone.buckets));
        assert!(labels.history.iter().zip(&clone.history).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert!(clone.history.is_some() && clone.now.capacity() == 0);
    }
}
