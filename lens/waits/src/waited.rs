//! The waits of a target, and waits of one kind together.
//!
//! ```text
//!  windows ──▶ Waited: a wait, and earlier ones that belong to it
//!                └──▶ Group: of one call, object, cause, waker, event
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::account::Window;
use crate::critical::Walker;
use crate::model::{Cause, Model, NEVER, NONE, Stretch, What};
use foldhash::fast::RandomState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Waits that an answer keeps, at most: the longest.
const WAIT_COUNT_MAX: usize = 1 << 20;

/// A wait of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The last stretch of it.
    pub place: u32,
    /// When it began, in ns: waits that timed out, and were tried again, belong to it.
    pub begin: u64,
    /// The time in which the thread did not run, in ns, as far as it lies in the window.
    pub ns: u64,
    /// The part of it from the wake to the run.
    pub delay: u64,
    /// Waits that it consists of.
    pub tries: u32,
}

/// Returns the waits of windows in order of time, thread by thread, and the number of those that
/// are not kept.
pub fn waits_of(model: &Model, windows: &[Window], walker: &mut Walker<'_>) -> (Vec<Waited>, u64) {
    let (mut all, mut dropped) = (Vec::new(), 0);
    for window in windows {
        let stretches: Vec<(u32, &Stretch)> = model
            .backwards(window.life)
            .skip_while(|(_, stretch)| stretch.begin >= window.to)
            .take_while(|(_, stretch)| stretch.end > window.from)
            .filter(|(_, stretch)| stretch.what == What::Wait)
            .collect();
        let mut begin_of_last = NEVER;
        for (place, wait) in stretches {
            let (from, to) = (wait.begin.max(window.from), wait.end.min(window.to));
            let ns = to.saturating_sub(from);
            let delay = wait.delay().min(ns);
            // The waits come backwards: a try comes after the wait that it belongs to.
            if wait.begin >= begin_of_last
                && let Some(last) = all.last_mut()
            {
                let last: &mut Waited = last;
                last.ns = last.ns.saturating_add(ns);
                last.tries += 1;
                continue;
            }
            let begin = walker.start(wait);
            begin_of_last = if begin < wait.begin { begin } else { NEVER };
            all.push(Waited { place, begin, ns, delay, tries: 1 });
        }
        if all.len() > 2 * WAIT_COUNT_MAX {
            dropped += keep_longest(&mut all);
        }
    }
    if all.len() > WAIT_COUNT_MAX {
        dropped += keep_longest(&mut all);
    }
    all.sort_by_key(|waited| {
        let stretch = model.stretch(waited.place);
        stretch.map_or((0, 0), |stretch| (stretch.life, stretch.begin))
    });
    (all, dropped)
}

fn keep_longest(all: &mut Vec<Waited>) -> u64 {
    let before = all.len();
    all.sort_by_key(|waited| Reverse(waited.ns));
    all.truncate(WAIT_COUNT_MAX);
    (before - all.len()) as u64
}

/// What waits of one kind have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The number of the system call; [`NONE`] if it is unknown.
    pub call: u32,
    /// The object of the call, if it names one.
    pub object: u64,
    /// The process of the thread that waited.
    pub process: u32,
    /// What ended the wait.
    pub cause: Cause,
    /// The life that did; the device, the socket or the interrupt; [`NONE`] if it is unknown.
    pub by: u32,
    /// The event that was open, and the one of the waker: the caller's numbers.
    pub events: [u32; 2],
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they have in common.
    pub key: Key,
    /// Their time in ns.
    pub ns: u64,
    /// The part of it from wakes to runs, in ns.
    pub delay: u64,
    /// Their number.
    pub count: u64,
    /// The longest, by its index.
    pub longest: usize,
}

/// Returns what waits have in common, the longest group first. `events` gives the numbers of the
/// open events of a wait by its index.
pub fn groups(
    model: &Model,
    waits: &[Waited],
    events: impl Fn(usize) -> [u32; 2],
    is_object: impl Fn(u32) -> bool,
) -> Vec<Group> {
    let mut groups: HashMap<Key, Group, RandomState> = HashMap::default();
    for (at, waited) in waits.iter().enumerate() {
        let Some(wait) = model.stretch(waited.place) else { continue };
        let call = model.calls.get(wait.call as usize);
        let number = call.map_or(NONE, |call| call.number);
        let key = Key {
            call: number,
            object: call.filter(|_| is_object(number)).map_or(0, |call| call.object),
            process: model.life(wait.life).map_or(0, |life| life.process),
            cause: wait.cause,
            by: by_of(model, wait),
            events: events(at),
        };
        let group =
            groups.entry(key).or_insert(Group { key, ns: 0, delay: 0, count: 0, longest: at });
        group.ns = group.ns.saturating_add(waited.ns);
        group.delay = group.delay.saturating_add(waited.delay);
        group.count += 1;
        if waits.get(group.longest).is_none_or(|longest| longest.ns < waited.ns) {
            group.longest = at;
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| (Reverse(group.ns), group.key));
    groups
}

/// Returns what ended a wait: a life, a device, a socket, an interrupt.
fn by_of(model: &Model, wait: &Stretch) -> u32 {
    match wait.cause {
        Cause::Thread | Cause::Forked => wait.aid,
        Cause::Disk => {
            let operation = model.operations.get(wait.aid as usize);
            operation.map_or(NONE, |operation| operation.device)
        }
        Cause::Network => {
            let wake = model.network_wakes.get(wait.aid as usize);
            wake.map_or(NONE, |wake| wake.socket)
        }
        Cause::Hardware => wait.aid,
        _ => NONE,
    }
}
