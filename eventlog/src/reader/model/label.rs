//! The labels of pointers and addresses at the time that the reader has reached.
//!
//! ```text
//!  Intern (stringId, string) ──▶ strings ─┐
//!  Label (address, stringId) ──▶ labels ──┴──▶ value ──▶ string
//! ```
//!
//! An `Intern` precedes the labels that use it (`.store.before`). The reader feeds both formats'
//! events here, by name and parameters. A reading in order of time keeps only the labels of the
//! present. A reading in file order makes a first pass in order of time, which keeps all labels;
//! then it sets the time that it asks for. Design: `.store.intern`, `.store.label` in
//! `design/format.md`.

use super::event::{Event, Value};
use super::registry::{EventType, Registry, StringEnd};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Memory that the strings and labels of all streams may take, in bytes.
pub const LABEL_MEMORY_MAX: usize = 1 << 25;
/// Memory of an entry of a table of numbers, at most.
const ENTRY_SIZE: usize = 40;
/// Memory of a change in a history: half as much again while it is sorted, less with the directory
/// afterwards.
const CHANGE_SIZE: usize = size_of::<Change>() * 3 / 2;

/// What an event type tells the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Intern,
    Label,
    /// The label of a pointer. In an MPS log, it does not label the address of the same number.
    LabelPointer,
}

/// Returns whether a registry is the one of the MPS, whose events intern and label too
/// (`.mps.labels`).
pub(crate) fn is_mps(registry: &Registry) -> bool {
    registry.platform.string_end == StringEnd::Nul
        || *registry.name == *eventdef::mps::REGISTRY.name
}

/// Returns the role of an event type of a registry. In our streams, only registry 0 has roles
/// (`.store`).
pub(crate) fn role_in(registry: &Registry, event_type: &EventType) -> Option<Role> {
    if registry.index == 0 || is_mps(registry) { role(event_type) } else { None }
}

/// Returns the role of an event type, by its name and the sorts and names of its parameters.
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

/// A table by numbers. Its hash costs one multiplication, because a dump with names looks up every
/// pointer, and has a random secret, so that no log can force collisions.
type Numbered<T> = HashMap<u64, T, RandomState>;

/// From `ticks` on, the string `id` labels the value.
#[derive(Clone, Copy, Debug)]
struct Change {
    value: u64,
    ticks: u64,
    id: u64,
}

/// Returns the bucket of a value, of 2^bits buckets.
#[inline]
fn bucket(value: u64, bits: u32) -> usize {
    let product = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
}

/// The strings and labels of one stream. Clones share a finished history.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Where each string is in `text`: offset and size.
    strings: Arc<Numbered<(u32, u32)>>,
    text: Arc<Vec<u8>>,
    now: Numbered<u64>,
    /// All labels over time, if they are kept: finally sorted by bucket, value and ticks.
    history: Option<Arc<Vec<Change>>>,
    /// The index in the history where each bucket begins, and the end of the last bucket. Most
    /// values have no label: this tells so in one step.
    buckets: Arc<Vec<u32>>,
    /// Whether a number got another string later, which a history does not keep.
    is_replaced: bool,
    /// In a history: the time that the reader asks for.
    at: u64,
    /// The labels of pointers, if the log labels pointers and addresses separately.
    pointers: Option<Box<Labels>>,
}

impl Labels {
    /// Returns labels that keep all labels over time.
    pub(crate) fn with_history() -> Labels {
        Labels { history: Some(Arc::default()), ..Labels::default() }
    }

    /// Ends a history. Feed nothing after it.
    pub(crate) fn finish(&mut self) {
        if let Some(history) = &mut self.history {
            let bits = history.len().max(2).next_power_of_two().ilog2();
            let place = |change: &Change| bucket(change.value, bits);
            // Of equal ticks, the change that was fed last holds.
            let history = Arc::make_mut(history);
            history.sort_by_key(|change| (place(change), change.value, change.ticks));
            let begins = |at: usize| history.partition_point(|change| place(change) < at) as u32;
            self.buckets = Arc::new((0..=1 << bits).map(begins).collect());
        }
        if let Some(pointers) = &mut self.pointers {
            pointers.finish();
        }
    }

    /// Returns whether this history gives the same labels as a reading in order of time.
    pub(crate) fn is_exact(&self) -> bool {
        self.history.is_some() && !self.is_replaced
    }

    /// Sets the time that the reader asks for. Without a history this has no effect.
    #[inline]
    pub(crate) fn set_time(&mut self, ticks: u64) {
        self.at = ticks;
        if let Some(pointers) = &mut self.pointers {
            pointers.at = ticks;
        }
    }

    /// Returns the string with this number.
    pub fn string(&self, id: u64) -> Option<&[u8]> {
        let (offset, size) = *self.strings.get(&id)?;
        self.text.get(offset as usize..)?.get(..size as usize)
    }

    /// Returns the number of the string that labels a value now. An MPS log labels pointers and
    /// addresses separately.
    #[inline]
    pub fn label_id_of(&self, value: Value<'_>) -> Option<u64> {
        match value {
            Value::P(value) => self.pointers.as_deref().unwrap_or(self).label_id(value),
            Value::A(value) | Value::W(value) => self.label_id(value),
            _ => None,
        }
    }

    /// Returns the number of the string that labels a pointer, address or word now. In an MPS log,
    /// the value is an address.
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

    /// Returns the number that the last change of a bucket, up to the time asked for, gives to a
    /// value. Out of line: most values have no label, and their early return must stay short.
    #[inline(never)]
    fn id_then(&self, value: u64, changes: &[Change]) -> Option<u64> {
        let is_past = |at: &Change| (at.value, at.ticks) <= (value, self.at);
        let change = changes.get(changes.partition_point(is_past).checked_sub(1)?);
        change.filter(|change| change.value == value).map(|change| change.id)
    }

    /// Returns the label of a pointer, address or word now.
    pub fn label(&self, value: u64) -> Option<&[u8]> {
        self.string(self.label_id(value)?)
    }

    /// Takes an event in, and takes its memory off `room`. Returns false if there is not enough
    /// room.
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
        // A string that is replaced keeps its bytes.
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

/// Takes memory off `room`. Returns false if there is not enough.
fn charge(room: &mut usize, size: usize) -> bool {
    let rest = room.checked_sub(size);
    *room = rest.unwrap_or(*room);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the calls that there is room for.
    fn count(mut call: impl FnMut(u64, &mut usize) -> bool) -> u64 {
        let mut room = LABEL_MEMORY_MAX;
        (1..).find(|&n| !call(n, &mut room)).unwrap_or(0) - 1
    }

    #[test]
    fn strings_and_labels_have_a_memory_limit() {
        let (mut now, mut history) = (Labels::default(), Labels::with_history());
        let memory = LABEL_MEMORY_MAX as u64;
        assert_eq!(count(|n, room| now.set(n, n, n, room)), memory / 40);
        assert_eq!(count(|n, room| history.set(n, n, n, room)), memory / 36);
        assert_eq!(count(|n, room| now.intern(n, b"", room)), memory / 40);
        let long = vec![b'x'; 60_000];
        assert_eq!(count(|n, room| history.intern(n, &long, room)), memory / 60_040);
        // Two strings that replace each other under one number leave their bytes behind.
        let mut one = Labels::default();
        let names = [&long[1..], &long];
        assert_eq!(count(|n, room| one.intern(7, names[n as usize % 2], room)), memory / 60_000);
    }

    #[test]
    fn repeated_and_removed_labels_take_no_memory() {
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
    fn a_history_keeps_the_last_label_of_equal_ticks() {
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

    /// Each partition has its own labels, but all partitions share their tables.
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
