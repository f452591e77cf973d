//! The names and values of slices.
//!
//! ```text
//!  tag of an edge ──▶ "/cart" NUL "7" ──▶ number of the name, number of the value ──▶ text
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

use crate::ask::pairs::reading::{UNSELECTED, VALUE_COUNT_MAX};
use foldhash::fast::RandomState;
use lens::slices::{Edge, Slice};
use std::collections::HashMap;
use std::sync::Arc;

/// The name and the value that stand for further ones, and such a value without a name.
const OTHERS: &str = "(others)\0(others)";
const OTHER_VALUES: &str = "\0(others)";

/// Numbers texts from 1.
#[derive(Default)]
struct Numbered {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32, RandomState>,
}

impl Numbered {
    fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        let number = self.texts.len() as u32;
        self.numbers.insert(text, number);
        number
    }

    /// Returns the text with a number; 0 is none.
    fn text(&self, number: u32) -> &str {
        number.checked_sub(1).and_then(|at| self.texts.get(at as usize)).map_or("", |text| text)
    }
}

/// The names and values of the slices of a log. The tag of an edge is the number of a pair of both.
#[derive(Default)]
pub(crate) struct Values {
    tags: Numbered,
    /// The numbers of name and value, by tag.
    pairs: Vec<(u32, u32)>,
    texts: Numbered,
    /// Tags with a value.
    valued_count: usize,
    /// Whether further names or values came.
    has_others: bool,
}

impl Values {
    /// Returns the number of the value of a slice: that of the beginning, else that of the end.
    pub(crate) fn of(&self, slice: &Slice<'_>) -> u32 {
        match self.of_edge(slice.begin) {
            0 => slice.end.map_or(0, |end| self.of_edge(end)),
            own => own,
        }
    }

    /// Returns the number of the value of an event.
    pub(crate) fn of_edge(&self, edge: &Edge) -> u32 {
        self.pair(edge).1
    }

    /// Returns the number of the name that an event gives to what it begins; 0 if it gives none.
    pub(crate) fn name_of(&self, edge: &Edge) -> u32 {
        self.pair(edge).0
    }

    /// Returns the number of the name of what an event begins; else of its value.
    pub(crate) fn shown(&self, edge: &Edge) -> u32 {
        let (name, value) = self.pair(edge);
        if name > 0 { name } else { value }
    }

    fn pair(&self, edge: &Edge) -> (u32, u32) {
        let place = (edge.tag & !UNSELECTED).checked_sub(1);
        place.and_then(|place| self.pairs.get(place as usize)).copied().unwrap_or_default()
    }

    /// Returns the name or value with a number; 0 is none.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.text(number)
    }

    /// Returns a note for the user about further names and values.
    pub(super) fn note(&self) -> Option<String> {
        self.has_others.then(|| {
            format!(
                "slices have more than {VALUE_COUNT_MAX} names or values: further ones are called \
                 (others); a selection has fewer"
            )
        })
    }

    /// Returns the tag of a name and a value, which a NUL parts.
    pub(super) fn tag(&mut self, text: &str) -> u32 {
        let is_new = !self.tags.numbers.contains_key(text);
        if is_new {
            let (name, value) = text.split_once('\0').unwrap_or(("", text));
            // Values, such as the keys of spans, leave room for names.
            let names_count = self.pairs.len() - self.valued_count;
            let count = if value.is_empty() { names_count } else { self.valued_count };
            if count >= VALUE_COUNT_MAX && ![OTHERS, OTHER_VALUES].contains(&text) {
                self.has_others = true;
                return self.tag(if name.is_empty() { OTHER_VALUES } else { OTHERS });
            }
            self.valued_count += usize::from(!value.is_empty());
            self.pairs.push((self.texts.number(name), self.texts.number(value)));
        }
        self.tags.number(text)
    }
}
