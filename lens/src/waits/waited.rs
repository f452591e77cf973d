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
use crate::waits::model::{Cause, Did, Interrupter, Interrupts, Model, NEVER, NONE, Stretch, What};
use crate::waits::names::Names;
use crate::waits::parts::{Part, STEP, parts, ranges, side_by_side};
use foldhash::fast::RandomState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Waits that an answer keeps, at most: the longest.
const WAIT_COUNT_MAX: usize = 1 << 20;
/// Waits that a worker puts into groups at a time.
const CHUNK: usize = 1 << 14;
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

/// What a target waited for, and how long it ran.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The waits in order of time, thread by thread: the longest, 2^20 at most.
    pub all: Vec<Waited>,
    /// Those that are not kept.
    pub dropped: u64,
    /// How long the threads of each process ran, in ns.
    pub ran: HashMap<u32, u64, RandomState>,
    /// The part of that time which interrupts took, in ns.
    pub interrupted: BTreeMap<Interrupter, u64>,
    /// Waits that are over, though no row tells what ended them.
    pub unknown: u64,
}

/// The sums of some parts.
struct Sums<'m> {
    ran: HashMap<u32, u64, RandomState>,
    interrupted: BTreeMap<Interrupter, u64>,
    unknown: u64,
    interrupts: Interrupts<'m>,
}

/// The waits of a part in order of time, and whether any two begin at one time.
type Found = (Vec<Waited>, bool);

/// Returns the waits of windows.
pub fn waits_of(model: &Model, windows: &[Window], walker: &mut Walker<'_>) -> Waits {
    let parts = parts(model, windows, STEP);
    let sums = || Sums {
        ran: HashMap::default(),
        interrupted: BTreeMap::new(),
        unknown: 0,
        interrupts: model.interrupts(),
    };
    let (all, found) = walker.side_by_side(parts.len(), sums, |walker, sums, at| {
        let Some(part) = parts.get(at) else { return Found::default() };
        let (found, ran) = waits_in(model, part, walker, sums);
        let life = windows.get(part.window).and_then(|window| model.life(window.life));
        add(sums.ran.entry(life.map_or(0, |life| life.process)).or_default(), ran);
        found
    });
    let mut waits = Waits::default();
    for own in all {
        own.ran.into_iter().for_each(|(by, ns)| add(waits.ran.entry(by).or_default(), ns));
        for (by, ns) in own.interrupted {
            *waits.interrupted.entry(by).or_default() += ns;
        }
        waits.unknown += own.unknown;
    }
    (waits.all, waits.dropped) = in_order(model, windows, &parts, found);
    waits
}

fn add(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

/// Returns the waits of a part, and how long the thread ran in it, in ns.
fn waits_in(
    model: &Model,
    part: &Part,
    walker: &mut Walker<'_>,
    sums: &mut Sums<'_>,
) -> (Found, u64) {
    let mut all: Vec<Waited> = Vec::new();
    let (mut begin_of_last, mut cpu, mut ran) = (NEVER, NONE, 0u64);
    let (mut last, mut has_equal) = (NEVER, false);
    for (place, own) in part.backwards(model) {
        let (from, to) = (own.begin.max(part.from), own.end.min(part.to));
        let ns = to.saturating_sub(from);
        if own.what != What::Wait {
            cpu = own.cpu;
            if own.what == What::Run {
                add(&mut ran, ns);
                for (by, ns) in sums.interrupts.within(cpu, from, to) {
                    *sums.interrupted.entry(by).or_default() += ns;
                }
            }
            continue;
        }
        let is_over = own.woken != NEVER && own.before != NONE;
        sums.unknown += u64::from(own.cause == Cause::Unknown && is_over);
        let delay = own.delay().min(ns);
        // The waits come backwards: a try comes after the wait that it belongs to.
        if own.begin >= begin_of_last
            && let Some(last) = all.last_mut()
        {
            add(&mut last.ns, ns);
            add(&mut last.delay, delay);
            last.tries += 1;
            continue;
        }
        let begin = walker.start(own);
        begin_of_last = if begin < own.begin { begin } else { NEVER };
        has_equal |= own.begin == std::mem::replace(&mut last, own.begin);
        all.push(Waited { place, begin, ns, delay, tries: 1, cpu });
    }
    all.reverse();
    ((all, has_equal), ran)
}

/// Returns the waits of all parts in order of time, thread by thread, and how many are left out.
fn in_order(
    model: &Model,
    windows: &[Window],
    parts: &[Part],
    found: Vec<Found>,
) -> (Vec<Waited>, u64) {
    let count = found.iter().map(|(own, _)| own.len()).sum();
    let mut all: Vec<Waited> = Vec::with_capacity(count);
    let is_ordered = windows.is_sorted_by(|a, b| (a.life, a.to) <= (b.life, b.from));
    let has_equal = found.iter().any(|(_, has_equal)| *has_equal);
    let mut found: Vec<_> = parts.iter().map(|part| part.window).zip(found).collect();
    if is_ordered && count <= WAIT_COUNT_MAX && !has_equal {
        found.reverse();
        found.sort_by_key(|(window, _)| *window);
        found.into_iter().for_each(|(_, (own, _))| all.extend(own));
        return (all, 0);
    }
    // Of equals, the one that is found first comes first: they are found backwards.
    found.sort_by_key(|(window, _)| *window);
    found.into_iter().for_each(|(_, (own, _))| all.extend(own.into_iter().rev()));
    all.sort_by_key(|waited| Reverse(if count > WAIT_COUNT_MAX { waited.ns } else { 0 }));
    all.truncate(WAIT_COUNT_MAX);
    all.sort_by_cached_key(|waited| {
        let stretch = model.stretch(waited.place);
        stretch.map_or((0, 0), |stretch| (stretch.life, stretch.begin))
    });
    let dropped = count.saturating_sub(all.len());
    (all, dropped as u64)
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
    /// The number of the group among [`Groups::of`].
    pub number: u32,
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
        add(&mut self.ns, waited.ns);
        add(&mut self.delay, waited.delay);
        self.count += 1;
        if longest < waited.ns {
            self.longest = at;
        }
        for (all, bearer) in self.bearers.iter_mut().zip(bearers) {
            bear(all, bearer);
        }
    }

    /// Adds the sums of the same group in later waits.
    fn join(&mut self, other: &Group, longest: impl Fn(usize) -> u64) {
        add(&mut self.ns, other.ns);
        add(&mut self.delay, other.delay);
        self.count += other.count;
        if longest(self.longest) < longest(other.longest) {
            self.longest = other.longest;
        }
        for (all, others) in self.bearers.iter_mut().zip(&other.bearers) {
            others.iter().for_each(|bearer| bear(all, *bearer));
        }
    }
}

/// Adds a bearer to those of a group.
fn bear(all: &mut Vec<u32>, bearer: u32) {
    if let Err(place) = all.binary_search(&bearer)
        && bearer != NONE
        && all.len() < BEARER_COUNT_MAX
    {
        all.insert(place, bearer);
    }
}

/// Waits in groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The groups, the longest first.
    pub all: Vec<Group>,
    /// The number of each wait's group, by the wait's index; [`NONE`] without one.
    pub of: Vec<u32>,
}

/// Returns waits by what they have in common. `events` gives the numbers of the events around a
/// wait, and around its waker, by the wait's index.
pub fn groups(
    model: &Model,
    names: &Names<'_>,
    waits: &[Waited],
    events: impl Fn(usize) -> [[u32; 2]; 2] + Sync,
) -> Groups {
    let chunks = ranges(waits.len(), CHUNK);
    let (_, found) = side_by_side(
        chunks.len(),
        || (),
        |(), at| {
            let chunk = chunks.get(at).cloned().unwrap_or_default();
            groups_of(model, names, waits, chunk, &events)
        },
    );
    let mut joined = joined(waits, found);
    let is_full = |own: &Group| own.bearers.iter().any(|all| all.len() >= BEARER_COUNT_MAX);
    if joined.all.iter().any(is_full) {
        // Which bearers are left out depends on the order of all waits.
        joined = groups_of(model, names, waits, 0..waits.len(), &events);
    }
    joined.all.sort_by_key(|group| (Reverse(group.ns), group.key));
    joined
}

/// Returns the groups of all waits from those of the chunks, in the order of their first waits.
fn joined(waits: &[Waited], found: Vec<Groups>) -> Groups {
    let mut places: HashMap<Key, u32, RandomState> = HashMap::default();
    let mut joined = Groups { all: Vec::new(), of: Vec::with_capacity(waits.len()) };
    let longest = |at: usize| waits.get(at).map_or(0, |longest| longest.ns);
    for chunk in found {
        let numbers = chunk.all.into_iter().map(|group| {
            let number = *places.entry(group.key).or_insert(joined.all.len() as u32);
            match joined.all.get_mut(number as usize) {
                Some(own) => own.join(&group, longest),
                None => joined.all.push(Group { number, ..group }),
            }
            number
        });
        let numbers: Vec<u32> = numbers.collect();
        let number = |own: &u32| numbers.get(*own as usize).copied().unwrap_or(NONE);
        joined.of.extend(chunk.of.iter().map(number));
    }
    joined
}

/// Returns the groups of some waits, in the order of their first waits.
fn groups_of(
    model: &Model,
    names: &Names<'_>,
    waits: &[Waited],
    chunk: Range<usize>,
    events: impl Fn(usize) -> [[u32; 2]; 2],
) -> Groups {
    let mut places: HashMap<Key, u32, RandomState> = HashMap::default();
    let mut groups = Groups { all: Vec::new(), of: Vec::with_capacity(chunk.len()) };
    for (at, waited) in chunk.clone().zip(waits.get(chunk).unwrap_or_default()) {
        let Some(wait) = model.stretch(waited.place) else {
            groups.of.push(NONE);
            continue;
        };
        let bearers = [names.bearer(wait.life, wait.begin), names.waker(wait)];
        let key = key_of(model, names, wait, bearers, events(at));
        let number = *places.entry(key).or_insert(groups.all.len() as u32);
        groups.of.push(number);
        if number as usize == groups.all.len() {
            groups.all.push(Group {
                key,
                number,
                process: model.life(wait.life).map_or(0, |life| life.process),
                ns: 0,
                delay: 0,
                count: 0,
                longest: at,
                bearers: [Vec::new(), Vec::new()],
            });
        }
        if let Some(group) = groups.all.get_mut(number as usize) {
            let longest = waits.get(group.longest).map_or(0, |longest| longest.ns);
            group.add(at, waited, bearers, longest);
        }
    }
    groups
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
