//! Filters: which events of a log to give.
//!
//! ```text
//!  Filter: kinds, event types ──▶ per registry: a mask of kinds, an action for each row
//!          threads, times     ──▶ per segment: whether it is read, and from when to when
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::reader::index::segment::{KIND_MIXED, Segment};
use crate::reader::model::event::Event;
use crate::reader::model::label::{Role, role_in};
use crate::reader::model::registry::{EventType, Registry, StringEnd};
use crate::reader::stream::block;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A name or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// By name; case does not matter.
    Name(String),
    /// By number: the index of a kind, the code of an event type.
    Number(u16),
    /// By number, only in the registry of this index.
    NumberIn(u16, u16),
}

impl Pick {
    /// Returns whether this selects a name and number of a registry.
    pub fn matches(&self, registry: u16, name: &str, number: u16) -> bool {
        match self {
            Pick::Name(picked) => picked.eq_ignore_ascii_case(name),
            Pick::Number(picked) => *picked == number,
            Pick::NumberIn(index, picked) => (*index, *picked) == (registry, number),
        }
    }
}

/// The order of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By ticks (`.event.monotone`); of equal ticks, by buffer and number (`.time.order`).
    #[default]
    Time,
    /// As in the file: block by block, in each the oldest event first. In a parts block: buffer by
    /// buffer. In an MPS log: by offset.
    File,
}

/// Which events to give. The default is all events, without labels.
///
/// ```
/// use eventlog::reader::Filter;
///
/// let filter = Filter::new().event("PoolAlloc").kinds(["Pool", "Object"]).labels(true);
/// assert_eq!(filter.kinds.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Filter {
    /// The kinds to give; if empty, all.
    pub kinds: Vec<Pick>,
    /// The event types to give; if empty, all.
    pub event_types: Vec<Pick>,
    /// The threads whose events to give, by stream and index; if empty, all.
    pub threads: Vec<(u16, u32)>,
    /// The times to give, in ticks: of each stream, by its index in the log, and of no stream
    /// beyond them. If empty, all times.
    pub times: Vec<RangeInclusive<u64>>,
    /// How many events of a buffer are known, by stream and buffer: segments that have none but
    /// these are not read. Others are given whole.
    pub known: BTreeMap<(u16, u32), u64>,
    /// Only segments that have any of this number of first events of a buffer of the stream, and
    /// these whole; if `None`, all.
    pub beginning: Option<u64>,
    /// Whether to fill in [`Event::labels`](crate::reader::Event::labels). The reader then reads
    /// all labels of the log.
    pub labels: bool,
}

impl From<&str> for Pick {
    fn from(name: &str) -> Pick {
        Pick::Name(name.into())
    }
}

impl From<u16> for Pick {
    fn from(number: u16) -> Pick {
        Pick::Number(number)
    }
}

impl Filter {
    /// Returns a filter for all events, without labels.
    pub fn new() -> Filter {
        Filter::default()
    }

    /// Adds an event type, by name or code.
    pub fn event(self, event_type: impl Into<Pick>) -> Filter {
        self.events([event_type])
    }

    /// Adds event types, by name or code.
    pub fn events(mut self, event_types: impl IntoIterator<Item: Into<Pick>>) -> Filter {
        self.event_types.extend(event_types.into_iter().map(Into::into));
        self
    }

    /// Adds kinds, by name or index.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item: Into<Pick>>) -> Filter {
        self.kinds.extend(kinds.into_iter().map(Into::into));
        self
    }

    /// Adds threads, by stream and index.
    pub fn threads(mut self, threads: impl IntoIterator<Item = (u16, u32)>) -> Filter {
        self.threads.extend(threads);
        self
    }

    /// Adds the times of the next stream, in its ticks.
    pub fn times(mut self, ticks: RangeInclusive<u64>) -> Filter {
        self.times.push(ticks);
        self
    }

    /// Leaves out the segments that only have the first events of a buffer: that number of events
    /// by stream and buffer. For `eventcnv`, which adds a log to a database that has its beginning.
    #[doc(hidden)]
    pub fn known(mut self, counts: BTreeMap<(u16, u32), u64>) -> Filter {
        self.known = counts;
        self
    }

    /// Gives only the segments that have any of the first `count` events of a buffer. For
    /// `eventcnv`, which tells logs without a UUID apart by their first events.
    #[doc(hidden)]
    pub fn beginning(mut self, count: u64) -> Filter {
        self.beginning = Some(count);
        self
    }

    /// Sets whether to fill in labels.
    pub fn labels(mut self, are_wanted: bool) -> Filter {
        self.labels = are_wanted;
        self
    }
}

/// A filter applied to single events of a log, for a reader that needs the other events too.
#[derive(Clone, Debug)]
pub struct Picker {
    /// By the index of the registry in the log.
    plans: Arc<[Plan]>,
}

impl Picker {
    /// Returns the picker of a filter for a log with these registries.
    pub fn new(filter: &Filter, registries: &[Registry]) -> Picker {
        Picker {
            plans: registries.iter().map(|registry| Plan::new(filter, registry, false)).collect(),
        }
    }

    /// Returns whether the filter lets any events of a type through: the type of this index, in
    /// the registry of this index in the log.
    pub fn has_type(&self, registry: usize, event_type: usize) -> bool {
        let Some(plan) = self.plans.get(registry) else { return false };
        let Some(actions) = &plan.actions else { return plan.kinds != 0 };
        actions.get(event_type).is_some_and(|action| action.give)
    }

    /// Returns whether the filter lets an event of the log through. It has no regard to
    /// [`Filter::known`] and [`Filter::beginning`].
    pub fn has(&self, event: &Event<'_, '_>) -> bool {
        let Some(plan) = self.plans.get(event.registry_index as usize) else { return false };
        let is_row = match (&plan.actions, event.event_type) {
            (None, Some(_)) => true,
            (Some(actions), Some(_)) => {
                actions.get(usize::from(event.event_type_index)).is_some_and(|action| action.give)
            }
            (_, None) => plan.unknown(event.kind, event.code()),
        };
        is_row && plan.times_in(event.stream, event.thread).contains(&event.ticks)
    }
}

/// A filter applied to one registry.
#[derive(Debug)]
pub(crate) struct Plan {
    kinds: u64,
    /// What to do with each row; `None` if all events are given and none feeds the labels.
    pub(crate) actions: Option<Arc<[Action]>>,
    /// Whether it has rows that feed the labels.
    is_labelling: bool,
    /// Codes to give that the registry lacks; `None` if all.
    codes: Option<Vec<u16>>,
    /// Whether all kinds are given, unknown ones too.
    all_kinds: bool,
    /// Threads to give, by index in the stream; `None` if all.
    threads: Option<Vec<u32>>,
    /// Times to give in ticks, of this stream and the next ones; `None` if all.
    times: Option<(u16, Box<[RangeInclusive<u64>]>)>,
    /// Events of each buffer that are known.
    known: BTreeMap<u32, u64>,
}

const ALL_TIMES: RangeInclusive<u64> = 0..=u64::MAX;
#[expect(clippy::reversed_empty_ranges, reason = "it is empty")]
const NO_TIMES: RangeInclusive<u64> = 1..=0;

/// What to do with the events of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) give: bool,
    pub(crate) role: Option<Role>,
}

impl Plan {
    pub(crate) fn new(filter: &Filter, registry: &Registry, with_roles: bool) -> Plan {
        let name = |index: u8| registry.kind(index).map_or("", |kind| &*kind.name);
        let is_kind = |index: u8| {
            filter.kinds.is_empty()
                || filter
                    .kinds
                    .iter()
                    .any(|pick| pick.matches(registry.index, name(index), u16::from(index)))
        };
        let kinds =
            (0..64u8).filter(|&index| is_kind(index)).fold(0, |mask, index| mask | 1 << index);
        let is_type = |event_type: &EventType| {
            let matches =
                |pick: &Pick| pick.matches(registry.index, &event_type.name, event_type.code);
            filter.event_types.is_empty() || filter.event_types.iter().any(matches)
        };
        let action = |event_type: &EventType| Action {
            give: is_kind(event_type.kind) && is_type(event_type),
            role: if with_roles { role_in(registry, event_type) } else { None },
        };
        let actions: Arc<[Action]> = registry.event_types.iter().map(action).collect();
        let is_labelling = actions.iter().any(|action| action.role.is_some());
        let is_plain = actions.iter().all(|action| action.give) && !is_labelling;
        let code = |pick: &Pick| match pick {
            Pick::Number(code) => Some(*code),
            Pick::NumberIn(index, code) => Some(*code).filter(|_| *index == registry.index),
            Pick::Name(_) => None,
        };
        let codes: Vec<u16> = filter.event_types.iter().filter_map(code).collect();
        // If the filter selects none of its types or missing codes, the registry needs no reading.
        let has_any = filter.event_types.is_empty()
            || !codes.is_empty()
            || actions.iter().any(|action| action.give);
        let kinds = if has_any { kinds } else { 0 };
        let threads = filter.threads.iter().filter(|(stream, _)| *stream == registry.stream);
        // Raw streams of the MPS share the registry of the first one.
        let from = usize::from(registry.stream);
        let is_shared = registry.platform.string_end == StringEnd::Nul;
        let end = if is_shared { filter.times.len() } else { from + 1 };
        let times = || filter.times.get(from..end).unwrap_or_default().into();
        let times = (!filter.times.is_empty()).then(|| (registry.stream, times()));
        Plan {
            threads: Some(threads.map(|(_, thread)| *thread).collect())
                .filter(|_| !filter.threads.is_empty()),
            times,
            known: filter
                .known
                .range((registry.stream, 0)..=(registry.stream, u32::MAX))
                .map(|(&(_, buffer), &count)| (buffer, count))
                .collect(),
            kinds,
            is_labelling,
            codes: Some(codes).filter(|_| !filter.event_types.is_empty()),
            all_kinds: filter.kinds.is_empty(),
            actions: Some(actions).filter(|_| !is_plain || !filter.event_types.is_empty()),
        }
    }

    /// Returns the plan that gives no event and feeds the labels.
    pub(crate) fn labels_alone(registry: &Registry) -> Plan {
        // No name has a NUL.
        Plan::new(&Filter::new().event("\0"), registry, true)
    }

    /// Returns whether a segment must be read, for its events or for labels.
    pub(crate) fn wants(&self, segment: &Segment) -> bool {
        if self.is_labelling {
            return true;
        }
        let end = segment.first.saturating_add(u64::from(segment.count));
        // If numbers were left out, the last number is unknown.
        let is_known = self.known.get(&segment.buffer).is_some_and(|&known| end <= known);
        if is_known && segment.flags & block::NUMBERED == 0 {
            return false;
        }
        let times = self.times_of(segment);
        if times.is_empty()
            || segment.ticks_min > *times.end()
            || segment.ticks_max < *times.start()
        {
            return false;
        }
        if segment.kind == KIND_MIXED && self.kinds != 0 {
            return true;
        }
        1u64.checked_shl(u32::from(segment.kind)).is_some_and(|bit| self.kinds & bit != 0)
    }

    /// Returns the times of the events of a segment to give.
    pub(crate) fn times_of(&self, segment: &Segment) -> RangeInclusive<u64> {
        self.times_in(segment.stream, segment.thread)
    }

    /// Returns the times of the events of a thread to give.
    fn times_in(&self, stream: u16, thread: u32) -> RangeInclusive<u64> {
        let is_asked = |threads: &Vec<u32>| threads.contains(&thread);
        if !self.threads.as_ref().is_none_or(is_asked) {
            return NO_TIMES;
        }
        let Some((from, times)) = &self.times else { return ALL_TIMES };
        let place = stream.checked_sub(*from).map(usize::from);
        place.and_then(|place| times.get(place)).cloned().unwrap_or(NO_TIMES)
    }

    /// Returns whether events feed the labels.
    pub(crate) fn is_labelling(&self) -> bool {
        self.is_labelling
    }

    /// Returns whether to give an event whose code the registry lacks.
    pub(crate) fn unknown(&self, kind: u8, code: u16) -> bool {
        let bit = 1u64.checked_shl(u32::from(kind)).unwrap_or(0);
        let is_kind = self.all_kinds || self.kinds & bit != 0;
        let is_code = self.codes.as_ref().is_none_or(|codes| codes.contains(&code));
        is_kind && is_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Event, Log};

    #[test]
    fn a_picker_has_the_events_of_its_filter() {
        let logs: [&[u8]; 2] = [
            include_bytes!("../../../tests/golden/log/heap-2.log"),
            include_bytes!("../../../tests/golden/mps/mpmss-cut.log"),
        ];
        for log in logs {
            let log = Log::from_source(log.to_vec()).unwrap();
            let (first, last) = log.span(0).unwrap();
            let late = first / 2 + last / 2..=last;
            for filter in [
                Filter::new(),
                Filter::new().event("PoolAlloc").event(Pick::Number(0x7FFF)),
                Filter::new().kinds(["Pool", "Trace"]),
                Filter::new().threads([(0, 1), (0, 0)]),
                Filter::new().times(late.clone()),
                Filter::new().times(late.clone()).kinds(["Pool", "Object"]).threads([(0, 1)]),
            ] {
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                let told = |event: &Event<'_, '_>| (event.offset, event.number);
                log.events(Order::Time, &filter).each(|event| expected.push(told(event)));
                let picker = Picker::new(&filter, log.registries());
                log.events(Order::Time, &Filter::new()).each(|event| {
                    if picker.has(event) {
                        found.push(told(event));
                    }
                });
                assert!(found == expected, "{filter:?}: {} {}", found.len(), expected.len());
            }
        }
    }
}
