//! The values of the parameters of event types.
//!
//! ```text
//!  W, U, D ──▶ histogram.rs ──▶ least, mean, percentiles, greatest
//!  all sorts ─▶ top.rs ───────▶ the most frequent values, with their labels
//! ```
//!
//! Design: `.cnv.params` in `design/eventcnv.md`.

use crate::ask::stats::summary::histogram::{EXACT_MAX, Histogram, PAGE_COUNT_MAX, rank};
use crate::ask::stats::summary::top::Top;
use eventdef::Sort;
use eventlog::reader::{Event, Value};
use std::collections::BTreeMap;

/// Parameters of a summary, at most: those whose event types occur first.
const PARAM_COUNT_MAX: usize = 512;
const STRING_SIZE_MAX: usize = 80;

#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    pub(crate) count: u64,
    pub(crate) numbers: Histogram,
    pub(crate) top: TopOf,
}

/// The most frequent values.
#[derive(Clone, Debug)]
pub(crate) enum TopOf {
    /// Whole numbers, and the bits of doubles.
    Numbers(Top<u64>),
    Strings(Top<Box<[u8]>>),
}

impl Default for TopOf {
    fn default() -> TopOf {
        TopOf::Numbers(Top::default())
    }
}

impl Distribution {
    fn add(&mut self, event: &Event<'_, '_>, value: Value<'_>, room: &mut usize) {
        self.count += 1;
        match value {
            Value::W(value) => self.numbers.add(value as f64, room),
            Value::U(value) => self.numbers.add(value.into(), room),
            Value::D(value) => self.numbers.add(value, room),
            Value::P(_) | Value::A(_) | Value::B(_) | Value::S(_) => {}
        }
        let number = match value {
            Value::D(value) => Some(value.to_bits()),
            value => value.as_u64(),
        };
        match (&mut self.top, value) {
            (TopOf::Numbers(top), value) if number.is_some() => {
                let id = event.labels.label_id_of(value);
                let label = id.and_then(|id| event.labels.string(id));
                top.add(number.unwrap_or_default(), label);
            }
            (TopOf::Strings(top), Value::S(string)) => {
                top.add(string.get(..STRING_SIZE_MAX).unwrap_or(string).into(), None);
            }
            (top @ TopOf::Numbers(_), Value::S(_)) => {
                *top = TopOf::Strings(Top::default());
                self.count -= 1;
                self.add(event, value, room);
            }
            _ => {}
        }
    }

    /// Returns the least number that `percent` of all do not exceed, and whether it is exact, for a
    /// parameter of this sort; `None` if it has no numbers, or a number had no page.
    pub(crate) fn percentile(&self, percent: f64, sort: Sort) -> Option<(f64, bool)> {
        let count = self.numbers.count();
        if count > 0
            && let TopOf::Numbers(top) = &self.top
            && let Some(all) = top.all()
        {
            // No number is -0.
            let number = |value| match sort {
                Sort::D => f64::from_bits(value) + 0.0,
                _ => value as f64,
            };
            let all = all.map(|(&value, count)| (number(value), count));
            let mut all: Vec<(f64, u64)> = all.filter(|(number, _)| !number.is_nan()).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut seen, rank) = (0, rank(count, percent));
            let is_reached = |(_, count): &&(f64, u64)| {
                seen += count;
                seen >= rank
            };
            return all.iter().find(is_reached).map(|(number, _)| (*number, true));
        }
        let found = self.numbers.percentile(percent)?;
        Some((found, sort != Sort::D && found <= EXACT_MAX))
    }

    pub(super) fn merge(&mut self, other: Distribution) {
        self.numbers.merge(&other.numbers);
        match (&mut self.top, other.top) {
            (TopOf::Numbers(own), TopOf::Numbers(top)) => own.merge(top),
            (TopOf::Strings(own), TopOf::Strings(top)) => own.merge(top),
            (own, top) if self.count == 0 => *own = top,
            _ => {}
        }
        self.count += other.count;
    }
}

/// Stream and index of the registry, index of the event type in it.
type Key = (u16, u16, u16);

/// The values of the parameters of all event types.
#[derive(Clone, Debug)]
pub(crate) struct Params {
    types: BTreeMap<Key, Vec<Distribution>>,
    /// Room for further parameters, and for pages of histograms.
    param_room: usize,
    page_room: usize,
    /// Whether parameters are left out.
    pub(crate) is_cut: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            types: BTreeMap::new(),
            param_room: PARAM_COUNT_MAX,
            page_room: PAGE_COUNT_MAX,
            is_cut: false,
        }
    }
}

impl Params {
    pub(super) fn add(&mut self, event: &Event<'_, '_>, place: u16) {
        let key = (event.registry.stream, event.registry.index, place);
        let Params { types, param_room, page_room, is_cut } = self;
        let distributions = types.entry(key).or_insert_with(|| {
            let count = event.event_type.map_or(0, |event_type| event_type.params.len());
            *is_cut |= count > *param_room;
            let count = count.min(*param_room);
            *param_room -= count;
            vec![Distribution::default(); count]
        });
        for ((_, value), distribution) in event.params().zip(distributions) {
            distribution.add(event, value, page_room);
        }
    }

    /// Adds the values of another summary.
    pub(super) fn merge(&mut self, other: Params) {
        self.is_cut |= other.is_cut;
        for (key, others) in other.types {
            let own = self.types.entry(key).or_default();
            if own.len() < others.len() {
                own.resize_with(others.len(), Distribution::default);
            }
            own.iter_mut().zip(others).for_each(|(own, other)| own.merge(other));
        }
    }

    /// Returns the values of the parameters of an event type, if it occurred.
    pub(crate) fn get(&self, stream: u16, registry: u16, place: usize) -> &[Distribution] {
        let place = u16::try_from(place).unwrap_or(u16::MAX);
        self.types.get(&(stream, registry, place)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.params`: exact while all values have counters, or up to 127; else marked.
    #[test]
    fn a_percentile_is_that_of_the_sorted_list_or_marked() {
        for (sort, step, count, expected) in [
            (Sort::W, 1_000_003, 256, true),
            (Sort::D, 1_000_003, 256, true),
            (Sort::W, 1_000_003, 257, false),
            (Sort::D, 1_000_003, 3000, false),
            (Sort::D, 1, 127, true),
            (Sort::W, 0, 5000, true),
        ] {
            let mut values: Vec<f64> =
                (0..count).map(|at| f64::from(at) * f64::from(step) / 4.0).collect();
            if sort == Sort::W {
                values.iter_mut().for_each(|value| *value = value.floor());
            }
            let mut found = Distribution::default();
            let (mut top, mut room) = (Top::default(), PAGE_COUNT_MAX);
            for &value in values.iter().rev() {
                found.numbers.add(value, &mut room);
                top.add(if sort == Sort::D { value.to_bits() } else { value as u64 }, None);
            }
            found.top = TopOf::Numbers(top);
            for percent in [1.0, 50.0, 99.0] {
                let exact = values[rank(values.len() as u64, percent) as usize - 1];
                let (number, is_exact) = found.percentile(percent, sort).unwrap();
                assert!(number <= exact && exact - number <= exact / 64.0, "{number} {exact}");
                assert_eq!(is_exact, expected, "{sort:?} {count} {percent}");
                assert!(!is_exact || number == exact, "{number} {exact}");
            }
        }
        assert_eq!(Distribution::default().percentile(50.0, Sort::P), None);
    }
}
