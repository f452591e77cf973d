//! The waits of a target, and waits of one kind together.
//!
//! ```text
//!  windows ──▶ Waited: a wait, and earlier ones that belong to it
//!                └──▶ Group: of one name, call, object, cause, waker's name, event
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::waits::account::Window;
use crate::waits::critical::Walker;
use crate::waits::model::{Cause, Did, Model, NEVER, NONE, Stretch, What};
use crate::waits::names::Names;
use foldhash::fast::RandomState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Waits that an answer keeps, at most: the longest.
const WAIT_COUNT_MAX: usize = 1 << 20;
/// Threads that a group counts, at most.
const BEARER_COUNT_MAX: usize = 1 << 12;

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
    /// The processor on which the thread then ran.
    pub cpu: u32,
}

/// Returns the waits of windows in order of time, thread by thread, and the number of those that
/// are not kept.
pub fn waits_of(model: &Model, windows: &[Window], walker: &mut Walker<'_>) -> (Vec<Waited>, u64) {
    let (mut all, mut dropped) = (Vec::new(), 0);
    for window in windows {
        let stretches = model
            .backwards(window.life)
            .skip_while(|(_, stretch)| stretch.begin >= window.to)
            .take_while(|(_, stretch)| stretch.end > window.from);
        let (mut begin_of_last, mut cpu) = (NEVER, NONE);
        for (place, wait) in stretches {
            if wait.what != What::Wait {
                cpu = wait.cpu;
                continue;
            }
            let (from, to) = (wait.begin.max(window.from), wait.end.min(window.to));
            let ns = to.saturating_sub(from);
            let delay = wait.delay().min(ns);
            // The waits come backwards: a try comes after the wait that it belongs to.
            if wait.begin >= begin_of_last
                && let Some(last) = all.last_mut()
            {
                let last: &mut Waited = last;
                last.ns = last.ns.saturating_add(ns);
                last.delay = last.delay.saturating_add(delay);
                last.tries += 1;
                continue;
            }
            let begin = walker.start(wait);
            begin_of_last = if begin < wait.begin { begin } else { NEVER };
            all.push(Waited { place, begin, ns, delay, tries: 1, cpu });
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
    /// The object of the call, as [`Names::object_id`] numbers it.
    pub object: u64,
    /// The process and the name of the thread that waited, as [`Names::kind`] numbers them.
    pub kind: u32,
    /// What ended the wait.
    pub cause: Cause,
    /// What the other end of a socket did.
    pub did: Did,
    /// The device, the socket or the interrupt; [`NONE`] if none, or unknown.
    pub by: u32,
    /// The process and the name of the thread that ended the wait; [`NONE`] if none did.
    pub waker: u32,
    /// The event that was open, or those around, and the same of the waker: the caller's numbers.
    pub events: [[u32; 2]; 2],
}

/// Waits of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they have in common.
    pub key: Key,
    /// The process of the threads that waited.
    pub process: u32,
    /// Their time in ns.
    pub ns: u64,
    /// The part of it from wakes to runs, in ns.
    pub delay: u64,
    /// Their number.
    pub count: u64,
    /// The longest, by its index.
    pub longest: usize,
    /// The bearers of names that waited, and those that ended the waits, in order: 4,096 at most.
    pub bearers: [Vec<u32>; 2],
}

impl Group {
    fn add(&mut self, at: usize, waited: &Waited, bearers: [u32; 2], longest: u64) {
        self.ns = self.ns.saturating_add(waited.ns);
        self.delay = self.delay.saturating_add(waited.delay);
        self.count += 1;
        if longest < waited.ns {
            self.longest = at;
        }
        for (all, bearer) in self.bearers.iter_mut().zip(bearers) {
            if let Err(place) = all.binary_search(&bearer)
                && bearer != NONE
                && all.len() < BEARER_COUNT_MAX
            {
                all.insert(place, bearer);
            }
        }
    }
}

/// Waits in groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The groups, the longest first.
    pub all: Vec<Group>,
    /// The key of each wait, by its index.
    pub keys: Vec<Option<Key>>,
}

/// Returns waits by what they have in common. `events` gives the numbers of the events around a
/// wait, and around its waker, by the wait's index.
pub fn groups(
    model: &Model,
    names: &Names<'_>,
    waits: &[Waited],
    events: impl Fn(usize) -> [[u32; 2]; 2],
) -> Groups {
    let mut groups: HashMap<Key, Group, RandomState> = HashMap::default();
    let mut keys = Vec::with_capacity(waits.len());
    for (at, waited) in waits.iter().enumerate() {
        let Some(wait) = model.stretch(waited.place) else {
            keys.push(None);
            continue;
        };
        let bearers = [names.bearer(wait.life, wait.begin), names.waker(wait)];
        let key = key_of(model, names, wait, bearers, events(at));
        keys.push(Some(key));
        let new = || Group {
            key,
            process: model.life(wait.life).map_or(0, |life| life.process),
            ns: 0,
            delay: 0,
            count: 0,
            longest: at,
            bearers: [Vec::new(), Vec::new()],
        };
        let group = groups.entry(key).or_insert_with(new);
        let longest = waits.get(group.longest).map_or(0, |longest| longest.ns);
        group.add(at, waited, bearers, longest);
    }
    let mut all: Vec<Group> = groups.into_values().collect();
    all.sort_by_key(|group| (Reverse(group.ns), group.key));
    Groups { all, keys }
}

fn key_of(
    model: &Model,
    names: &Names<'_>,
    wait: &Stretch,
    [own, waker]: [u32; 2],
    events: [[u32; 2]; 2],
) -> Key {
    let wake = model.network_wakes.get(wait.aid as usize);
    let wake = wake.filter(|_| wait.cause == Cause::Network);
    Key {
        call: model.calls.get(wait.call as usize).map_or(NONE, |call| call.number),
        object: names.object_id(wait),
        kind: names.kind(own),
        cause: wait.cause,
        did: wake.map_or(Did::Unknown, |wake| wake.did),
        by: match wait.cause {
            Cause::Disk => {
                let operation = model.operations.get(wait.aid as usize);
                operation.map_or(NONE, |operation| operation.device)
            }
            Cause::Network => wake.map_or(NONE, |wake| wake.socket),
            Cause::Hardware => wait.aid,
            _ => NONE,
        },
        waker: names.kind(waker),
        events,
    }
}
