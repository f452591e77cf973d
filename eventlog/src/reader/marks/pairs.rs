//! Pairs of event types that follow from names and parameters.
//!
//! ```text
//!  TraceFlipBegin(trace, arena) ─┐ the same except for the ending
//!  TraceFlipEnd  (trace, arena) ─┴──▶ slice "TraceFlip", told apart by trace and arena
//! ```
//!
//! Design: `.cnv.marks` in `design/eventcnv.md`.

use super::{Form, Half, Marks};
use crate::reader::model::registry::{EventType, Param, Registry};
use eventdef::Sort;
use eventdef::marks::KEY_COUNT_MAX;
use std::collections::HashMap;

/// The endings of the names of pairs.
const ENDINGS: [(Form, &str, &str); 12] = [
    (Form::Slice, "Begin", "End"),
    (Form::Slice, "Enter", "Leave"),
    (Form::Slice, "Enter", "Exit"),
    (Form::Span, "Start", "End"),
    (Form::Span, "Start", "Finish"),
    (Form::Span, "Start", "Stop"),
    (Form::Span, "Create", "Destroy"),
    (Form::Span, "Init", "Finish"),
    (Form::Span, "Open", "Close"),
    (Form::Flow, "Send", "Receive"),
    (Form::Flow, "Enqueue", "Dequeue"),
    (Form::Counter, "Alloc", "Free"),
];

/// Parameters that state a size. They do not distinguish pairs.
const SIZES: [&str; 3] = ["size", "bytes", "count"];

/// Adds the pairs that follow from the names of a registry.
pub(super) fn by_names(registry: &Registry, marks: &mut Marks) {
    // Of two event types with one name, the first one counts.
    let rows = registry.event_types.iter().rev();
    let named: HashMap<&str, &EventType> = rows.map(|row| (&*row.name, row)).collect();
    for (form, begin, end) in ENDINGS {
        for from in &registry.event_types {
            let Some(name) = from.name.strip_suffix(begin) else { continue };
            let Some(&to) = named.get(&*format!("{name}{end}")) else { continue };
            let called = if name.is_empty() { &*from.name } else { name };
            if form == Form::Counter {
                count(registry, called, from, to, marks);
                continue;
            }
            let (from_key, to_key) = shared(from, to);
            if form == Form::Flow && from_key == [None; KEY_COUNT_MAX] {
                continue;
            }
            let from = Half { row: from, key: from_key, param: None };
            let to = Half { row: to, key: to_key, param: None };
            // Of two marks, the first holds.
            let _ = marks.add_pair(registry, form, called.to_owned(), from, Some(to));
        }
    }
}

/// Adds a counter, if both event types state a size, and their first parameter is the same pointer.
fn count(registry: &Registry, name: &str, from: &EventType, to: &EventType, marks: &mut Marks) {
    let size = |row: &EventType| {
        SIZES
            .iter()
            .find_map(|size| row.param(size))
            .filter(|(_, param)| is_number(param))
            .map(|(index, param)| (u8::try_from(index).unwrap_or(u8::MAX), param.name.clone()))
    };
    let (Some((from_size, called)), Some((to_size, to_called))) = (size(from), size(to)) else {
        return;
    };
    if called != to_called {
        return;
    }
    let is_of_one = match (from.params.first(), to.params.first()) {
        (Some(a), Some(b)) => a.sort == Sort::P && b.sort == Sort::P && a.name == b.name,
        _ => false,
    };
    let mut key = [None; KEY_COUNT_MAX];
    if let Some(first) = key.first_mut().filter(|_| is_of_one) {
        *first = Some(0);
    }
    let half = |row, param| Half { row, key, param: Some(param) };
    let (from, to) = (half(from, from_size), half(to, to_size));
    // Of two marks, the first holds.
    let _ = marks.add_pair(registry, Form::Counter, format!("{name} {called}"), from, Some(to));
}

fn is_number(param: &Param) -> bool {
    matches!(param.sort, Sort::W | Sort::U)
}

/// The indices of the shared parameters that distinguish pairs: all pointers and addresses; without
/// these, the first number that is not a size.
pub(super) type Shared = ([Option<u8>; KEY_COUNT_MAX], [Option<u8>; KEY_COUNT_MAX]);

pub(super) fn shared(from: &EventType, to: &EventType) -> Shared {
    let both = || {
        from.params.iter().enumerate().filter_map(|(at, param)| {
            let (in_to, of_to) = to.param(&param.name)?;
            let is_same = param.sort == of_to.sort;
            is_same.then_some((u8::try_from(at).ok()?, u8::try_from(in_to).ok()?, param))
        })
    };
    let is_place = |param: &Param| matches!(param.sort, Sort::P | Sort::A);
    let is_which = |param: &Param| is_number(param) && !SIZES.contains(&&*param.name);
    let mut places: Vec<_> = both().filter(|(_, _, param)| is_place(param)).collect();
    if places.is_empty() {
        places.extend(both().find(|(_, _, param)| is_which(param)));
    }
    let mut keys: Shared = Default::default();
    for (index, (at, in_to, _)) in places.into_iter().take(KEY_COUNT_MAX).enumerate() {
        if let (Some(a), Some(b)) = (keys.0.get_mut(index), keys.1.get_mut(index)) {
            (*a, *b) = (Some(at), Some(in_to));
        }
    }
    keys
}
