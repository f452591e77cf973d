//! Which events of a log to give.
//!
//! ```text
//!  Filter: kinds, event types ──▶ per registry: a mask of kinds, an action for each row
//!          threads, times     ──▶ per segment: whether it is read, and from when to when
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::reader::index::segment::{KIND_MIXED, Segment};
use crate::reader::model::label::{Role, role_in};
use crate::reader::model::registry::{EventType, Registry, StringEnd};
use crate::reader::stream::block;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A name, or the number that stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// By name; case does not matter.
    Name(String),
    /// By number: the index of a kind, the code of an event type.
    Number(u16),
    /// By number, in the registry of this index alone.
    NumberIn(u16, u16),
}

impl Pick {
    /// Whether what has this name and number in the registry of this index is picked.
    pub fn matches(&self, registry: u16, name: &str, number: u16) -> bool {
        match self {
            Pick::Name(picked) => picked.eq_ignore_ascii_case(name),
            Pick::Number(picked) => *picked == number,
            Pick::NumberIn(index, picked) => (*index, *picked) == (registry, number),
        }
    }
}

/// The order in which events are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By ticks, whatever the order in a buffer (`.event.monotone`); of equal ticks, by buffer and
    /// number (`.time.order`).
    #[default]
    Time,
    /// As in the file: block by block, in each the oldest event first (of a parts block, buffer by
    /// buffer); in an MPS log, by offset.
    File,
}

/// Which events to give. The default is all, without labels.
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
    /// Only events of these kinds; if empty, of all.
    pub kinds: Vec<Pick>,
    /// Only events of these types; if empty, of all.
    pub event_types: Vec<Pick>,
    /// Only events that these threads recorded, by stream and index; if empty, of all.
    pub threads: Vec<(u16, u32)>,
    /// Only events of these times, in ticks: of each stream, by its index in the log, and of those
    /// beyond none. If empty, of all times.
    pub times: Vec<RangeInclusive<u64>>,
    /// How many events of a buffer are known, by stream and buffer: segments that have none but
    /// these are not read. Others are given whole.
    pub known: BTreeMap<(u16, u32), u64>,
    /// Only segments that have any of the first so many events of a buffer that there are in its
    /// stream, and these whole; if `None`, all.
    pub beginning: Option<u64>,
    /// Whether [`Event::labels`](crate::reader::Event::labels) is wanted, which takes reading what
    /// labels there are, given or not.
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
    /// All events, without labels.
    pub fn new() -> Filter {
        Filter::default()
    }

    /// Adds an event type to those that are given: by name, or by code.
    pub fn event(self, event_type: impl Into<Pick>) -> Filter {
        self.events([event_type])
    }

    /// Adds event types to those that are given.
    pub fn events(mut self, event_types: impl IntoIterator<Item: Into<Pick>>) -> Filter {
        self.event_types.extend(event_types.into_iter().map(Into::into));
        self
    }

    /// Adds kinds to those that are given: by name, or by index.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item: Into<Pick>>) -> Filter {
        self.kinds.extend(kinds.into_iter().map(Into::into));
        self
    }

    /// Adds threads to those that are given, by stream and index.
    pub fn threads(mut self, threads: impl IntoIterator<Item = (u16, u32)>) -> Filter {
        self.threads.extend(threads);
        self
    }

    /// Adds the times that are given of the next stream, in its ticks.
    pub fn times(mut self, ticks: RangeInclusive<u64>) -> Filter {
        self.times.push(ticks);
        self
    }

    /// Leaves out segments that have none but the first events of a buffer, so many by stream and
    /// buffer.
    pub fn known(mut self, counts: BTreeMap<(u16, u32), u64>) -> Filter {
        self.known = counts;
        self
    }

    /// Gives only segments that have any of the first so many events of a buffer.
    pub fn beginning(mut self, count: u64) -> Filter {
        self.beginning = Some(count);
        self
    }

    /// Sets whether labels are wanted.
    pub fn labels(mut self, are_wanted: bool) -> Filter {
        self.labels = are_wanted;
        self
    }
}

/// What a filter means for one registry.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The kinds to give.
    kinds: u64,
    /// What to do with each row; none if all are given and none feeds the labels.
    pub(crate) actions: Option<Arc<[Action]>>,
    /// Whether it has rows that feed the labels.
    is_labelling: bool,
    /// Codes to give that are not in the registry; none if all are.
    codes: Option<Vec<u16>>,
    /// Whether all kinds are given, also unknown ones.
    all_kinds: bool,
    /// Threads whose events are given, by their index in the stream; none if all.
    threads: Option<Vec<u32>>,
    /// The times to give, in ticks, of the streams from this one on; none if all.
    times: Option<(u16, Box<[RangeInclusive<u64>]>)>,
    /// Events of each buffer that are known.
    known: BTreeMap<u32, u64>,
}

/// All times, in ticks.
const ALL_TIMES: RangeInclusive<u64> = 0..=u64::MAX;
/// No time.
#[expect(clippy::reversed_empty_ranges, reason = "it is empty")]
const NO_TIMES: RangeInclusive<u64> = 1..=0;

/// What to do with an event.
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
        // None of its types is asked for, nor a code that it lacks: nothing of it is read.
        let has_any = filter.event_types.is_empty()
            || !codes.is_empty()
            || actions.iter().any(|action| action.give);
        let kinds = if has_any { kinds } else { 0 };
        let threads = filter.threads.iter().filter(|(stream, _)| *stream == registry.stream);
        // Raw streams of the MPS share the registry of the first of them.
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

    /// Gives nothing, and feeds the labels.
    pub(crate) fn labels_alone(registry: &Registry) -> Plan {
        let action = |row: &EventType| Action { give: false, role: role_in(registry, row) };
        let actions: Arc<[Action]> = registry.event_types.iter().map(action).collect();
        Plan {
            kinds: 0,
            is_labelling: actions.iter().any(|action| action.role.is_some()),
            actions: Some(actions),
            codes: Some(Vec::new()),
            all_kinds: false,
            threads: None,
            times: None,
            known: BTreeMap::new(),
        }
    }

    /// Whether any event of a segment may be given, or feeds the labels: else it is skipped whole.
    pub(crate) fn wants(&self, segment: &Segment) -> bool {
        if self.is_labelling {
            return true;
        }
        let end = segment.first.saturating_add(u64::from(segment.count));
        // Where numbers were left out, the last may be any.
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

    /// The times of which events of a segment are given.
    pub(crate) fn times_of(&self, segment: &Segment) -> RangeInclusive<u64> {
        let is_asked = |threads: &Vec<u32>| threads.contains(&segment.thread);
        if !self.threads.as_ref().is_none_or(is_asked) {
            return NO_TIMES;
        }
        let Some((from, times)) = &self.times else { return ALL_TIMES };
        let place = segment.stream.checked_sub(*from).map(usize::from);
        place.and_then(|place| times.get(place)).cloned().unwrap_or(NO_TIMES)
    }

    /// Whether events feed the labels.
    pub(crate) fn is_labelling(&self) -> bool {
        self.is_labelling
    }

    /// Whether to give an event whose code the registry lacks.
    pub(crate) fn unknown(&self, kind: u8, code: u16) -> bool {
        let bit = 1u64.checked_shl(u32::from(kind)).unwrap_or(0);
        let is_kind = self.all_kinds || self.kinds & bit != 0;
        let is_code = self.codes.as_ref().is_none_or(|codes| codes.contains(&code));
        is_kind && is_code
    }
}
