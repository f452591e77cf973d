//! Events to changes of counters.
//!
//! ```text
//!  event ── registry, type ──▶ marks ──▶ Step { pair, key, change, by, time }, one a mark
//! ```
//!
//! Design: `.cnv.counters` in `design/eventcnv.md`.

use super::model::{NameId, Number, Step, Steps};
use crate::slices::Id;
use eventlog::format::text::OneLine;
use eventlog::reader::marks::{Change, Count, Marks};
use eventlog::reader::{Event, Log, Value};
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::sync::Arc;

/// Strings that name counters, at most.
pub(super) const NAME_COUNT_MAX: usize = 1 << 16;
/// The size of such a string, at most, in bytes.
const NAME_SIZE_MAX: usize = 128;

/// The counters that an event type changes.
type Counts = Box<[Count]>;

/// Makes steps of the events of a log. A clone serves another thread.
#[derive(Clone, Debug)]
pub struct Source {
    /// By the index of the registry in the log, and of the event type in the registry.
    counts: Arc<[Box<[Counts]>]>,
    /// The strings that the steps had.
    named: HashSet<NameId, RandomState>,
}

impl Source {
    /// Returns the source for a log and marks.
    pub fn new(log: &Log, marks: &Marks) -> Source {
        let counts = log.registries().iter().map(|registry| {
            let rows = registry.event_types.iter();
            rows.map(|row| marks.role_of(registry, row.code).counts.as_slice().into()).collect()
        });
        Source { counts: counts.collect(), named: HashSet::default() }
    }

    /// Returns whether no event type of the log changes a counter.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().flatten().all(|counts| counts.is_empty())
    }

    /// Adds the changes by an event of the log, at a time in ns. The names of counters need the
    /// labels of events.
    #[inline]
    pub fn add(&mut self, event: &Event<'_, '_>, ns: impl FnOnce() -> u64, steps: &mut Steps) {
        let counts = self.counts.get(event.registry_index as usize);
        let counts = counts.and_then(|counts| counts.get(usize::from(event.event_type_index)));
        if counts.is_some_and(|counts| !counts.is_empty()) {
            self.add_some(event, ns(), steps);
        }
    }

    fn add_some(&mut self, event: &Event<'_, '_>, ns: u64, steps: &mut Steps) {
        let counts = Arc::clone(&self.counts);
        let counts = counts.get(event.registry_index as usize);
        let counts = counts.and_then(|counts| counts.get(usize::from(event.event_type_index)));
        let counts = counts.into_iter().flatten();
        for (Count { side, change, amount }, place) in counts.zip(0..) {
            let by = match amount.map(|amount| event.param_at(amount.into())) {
                None => Number::Whole(i128::from(*change != Change::Is)),
                Some(Some(Value::D(by))) => Number::Real(by),
                // An event that is too short has no amount.
                Some(by) => match by.and_then(|by| by.as_u64()) {
                    Some(by) => Number::Whole(by.into()),
                    None => continue,
                },
            };
            let key = side.key(event);
            let id = Id { stream: event.stream, buffer: event.buffer, number: event.number };
            let first = side.first(event);
            let name = first.and_then(|value| self.name(event, value, key[0], &mut steps.names));
            steps.steps.push(Step {
                key,
                id,
                ticks: event.ticks,
                ns,
                by,
                change: *change,
                pair: side.pair,
                thread: event.thread,
                registry: event.registry.index,
                kind: event.kind,
                place,
                tag: 0,
                name,
            });
        }
    }

    /// Returns the string that names a value. A string is added when it is met for the first time.
    fn name(
        &mut self,
        event: &Event<'_, '_>,
        value: Value<'_>,
        hash: u64,
        names: &mut Vec<(NameId, Box<str>)>,
    ) -> Option<NameId> {
        let (id, text) = match value {
            Value::S(text) => ((event.stream, true, hash), Some(text)),
            value => {
                let id = event.labels.label_id_of(value)?;
                ((event.stream, false, id), None)
            }
        };
        if self.named.contains(&id) {
            return Some(id);
        }
        let text = text.or_else(|| event.labels.string(id.2))?;
        if self.named.len() >= NAME_COUNT_MAX {
            return None;
        }
        self.named.insert(id);
        names.push((id, OneLine(text.get(..NAME_SIZE_MAX).unwrap_or(text)).to_string().into()));
        Some(id)
    }
}
