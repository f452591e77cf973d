//! Forked processes: which calls of its ancestors a process had made, and had in progress.
//!
//! ```text
//!  parent   main ─ sell ─┐ fork ─ …           the child is a copy: `main` is in progress in both
//!  child                 └ first event ─ …    its view: the parent up to there, and its own
//! ```
//!
//! Design: `.calls.family` in `design/calls.md`.

use crate::slices::Track;
use eventlog::reader::{Filter, Log, Order, Stream};
use std::collections::BTreeSet;

/// A process and its ancestors, in the streams of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The last ticks of each stream that the process shares; `None` of a stream that is none of
    /// its ancestors.
    pub until: Vec<Option<u64>>,
    /// The UUID of a parent that the log lacks.
    pub missing: Option<[u8; 16]>,
    /// Whether the parents form a circle.
    pub is_circular: bool,
    /// By stream: the parent, and the index of the thread that forked.
    forks: Vec<Option<(u16, u32)>>,
}

impl Family {
    /// Returns the family of the process that wrote a stream.
    pub fn of(log: &Log, stream: u16) -> Family {
        let count = log.streams().len();
        let mut family = Family {
            until: vec![None; count],
            missing: None,
            is_circular: false,
            forks: vec![None; count],
        };
        let (mut at, mut until, mut seen) = (stream, u64::MAX, BTreeSet::from([stream]));
        while let Some(own) = log.streams().get(usize::from(at)) {
            if let Some(place) = family.until.get_mut(usize::from(at)) {
                *place = Some(until);
            }
            if own.parent == [0; 16] {
                break;
            }
            let is_parent = |(_, other): &(u16, &Stream)| other.uuid == own.parent;
            let Some((parent, _)) = (0..).zip(log.streams()).find(is_parent) else {
                family.missing = Some(own.parent);
                break;
            };
            if !log.is_comparable(at, parent) {
                family.missing = Some(own.parent);
                break;
            }
            if !seen.insert(parent) {
                family.is_circular = true;
                break;
            }
            let (first, thread) = beginning(log, at, own.pid);
            if let Some(place) = family.forks.get_mut(usize::from(at)) {
                *place = thread.map(|thread| (parent, thread));
            }
            until = until.min(first.unwrap_or(u64::MAX).saturating_sub(1));
            at = parent;
        }
        family
    }

    /// Returns the track of a thread: that of the ancestor's thread as which it began.
    #[inline]
    pub fn track(&self, (mut stream, thread): Track) -> Track {
        // No stream has two children in a family, and the oldest one has no parent.
        while let Some(Some((parent, forked))) = self.forks.get(usize::from(stream))
            && *forked == thread
        {
            stream = *parent;
        }
        (stream, thread)
    }
}

/// Returns the ticks of the first event of a stream, and the index of its process's first thread,
/// which has the number of the process.
fn beginning(log: &Log, stream: u16, pid: u64) -> (Option<u64>, Option<u32>) {
    let first = log.span(stream).map(|(first, _)| first);
    let mut thread = None;
    log.events(Order::File, &Filter::new().event("Thread")).each(|event| {
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        if event.stream == stream && event.registry.index == 0 && number("osThread") == Some(pid) {
            thread = thread.or(number("thread").and_then(|index| u32::try_from(index).ok()));
        }
    });
    (first, thread)
}
