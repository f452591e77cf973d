//! Pseudo-stacks: threads above the threads that wait for them; and control paths.
//!
//! ```text
//!  path 0, the target     A ├ run ┤ wait ───────────────────┤ run ┤
//!                         B       ├ run ┤ wait ───┤ other ──┤         other: see path 1
//!                         C             ├ run ────┤
//!  path 1, work that      D    ├ run ────────────────────┤             begun before B waited
//!  does not fit a wait
//! ```
//!
//! The pieces are those of the walk (`critical`), each with the waits in which it lies. So a stack
//! is of one rule with the shares, and only its top runs. Work that does not fit a wait has a path
//! of its own, from where its thread was set to work; so has work that a target caused, and that
//! nothing waited for. Paths are found round by round, without recursion. Design: `.waits.stack` in
//! `design/waits.md`.

mod rows;

use crate::waits::account::Window;
use crate::waits::critical::{Link, Piece, Share, Walker};
use crate::waits::model::{Cause, Model, NEVER, NONE, Stretch, What};
use foldhash::fast::RandomState;
use rows::give_rows;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Parts of all paths, at most.
const PART_COUNT_MAX: usize = 1 << 20;
/// Control paths, at most.
const PATH_COUNT_MAX: usize = 1 << 14;

/// Why a control path exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is a thread of the target.
    Own,
    /// A wait lasted until its work was done, and the work does not fit the wait.
    Other,
    /// A target caused its work, and no wait lasted until it was done.
    Unawaited,
}

/// A control path: the time of a thread, with all that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPath {
    /// Why the path exists.
    pub kind: Kind,
    /// The thread at the bottom of its stacks.
    pub life: u32,
    /// When it begins, in ns.
    pub from: u64,
    /// When it ends, in ns.
    pub to: u64,
    /// The path with the wait for it, or with its cause; [`NONE`] for a target.
    pub parent: u32,
    /// The life that set its thread to work; [`NONE`] if that is not known.
    pub waker: u32,
    /// The row to draw it in: no two paths of a row overlap.
    pub row: u32,
}

/// A part of a path: one pseudo-stack for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The path, by its place among the paths.
    pub path: u32,
    /// When it begins, in ns.
    pub from: u64,
    /// When it ends, in ns.
    pub to: u64,
    /// The stretch that took the time, the top of the stack; [`NONE`] if that is not kept.
    pub place: u32,
    /// What the time is spent on.
    pub share: Share,
    /// The innermost wait below it, by its place among the links; [`NONE`] for the bottom.
    pub within: u32,
    /// The waits below it.
    pub depth: u32,
    /// If the work is of another path: that path; [`NONE`] if it is not known.
    pub other: u32,
}

/// The pseudo-stacks of a target.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// The paths: first one for each window of the target.
    pub paths: Vec<ControlPath>,
    /// The parts, by path, then in order of time. The parts of a path tile its time.
    pub parts: Vec<Part>,
    /// The waits of the stacks.
    pub links: Vec<Link>,
    /// Whether all paths are complete.
    pub is_complete: bool,
}

impl Stacks {
    /// Returns the waits below a part, the outermost first.
    pub fn waits(&self, within: u32) -> Vec<u32> {
        let mut waits = Vec::new();
        let mut next = within;
        // A parent comes before its children: no circle can arise.
        while let Some(link) = self.links.get(next as usize) {
            waits.push(link.wait);
            next = if link.parent < next { link.parent } else { NONE };
        }
        waits.reverse();
        waits
    }
}

/// Work that does not fit a wait: its stretch, and the path of the wait.
#[derive(Clone, Copy, Debug)]
struct Request {
    place: u32,
    path: u32,
    /// The waits below it, on the path of the wait.
    depth: u32,
}

/// Paths that are being made.
struct Making<'m, 'w> {
    model: &'m Model,
    walker: &'w mut Walker<'m>,
    stacks: Stacks,
    /// The times with a path: life and end, to beginning and path.
    covers: BTreeMap<(u32, u64), (u64, u32)>,
    /// The windows of the lives of the target, by their beginnings.
    targets: HashMap<u32, Vec<Window>, RandomState>,
    /// The path on which a stretch took time, by its place: rather not one of the target.
    tops: Vec<u32>,
}

/// Returns the pseudo-stacks of windows. The walker has to keep links:
/// [`Walker::with_links`].
pub fn stacks<'m>(model: &'m Model, windows: &[Window], walker: &mut Walker<'m>) -> Stacks {
    let mut targets: HashMap<u32, Vec<Window>, RandomState> = HashMap::default();
    for window in windows {
        targets.entry(window.life).or_default().push(*window);
    }
    targets.values_mut().for_each(|own| own.sort_by_key(|window| window.from));
    let stacks = Stacks { is_complete: true, ..Stacks::default() };
    let tops = vec![NONE; model.stretches.len()];
    let mut making = Making { model, walker, stacks, covers: BTreeMap::new(), targets, tops };
    let mut requests = Vec::new();
    for Window { life, from, to } in windows.iter().copied() {
        let own =
            ControlPath { kind: Kind::Own, life, from, to, parent: NONE, waker: NONE, row: 0 };
        requests.extend(making.walk(own));
    }
    making.follow(requests, Kind::Other);
    let requests = making.unawaited();
    making.follow(requests, Kind::Unawaited);
    making.finish()
}

impl Making<'_, '_> {
    /// Adds a path with its parts. Returns the work that does not fit its waits.
    fn walk(&mut self, path: ControlPath) -> Vec<Request> {
        let Stacks { paths, parts, is_complete, .. } = &mut self.stacks;
        if paths.len() >= PATH_COUNT_MAX || parts.len() >= PART_COUNT_MAX {
            *is_complete = false;
            return Vec::new();
        }
        let number = paths.len() as u32;
        let first = parts.len();
        let tops = &mut self.tops;
        let is_own = path.kind == Kind::Own;
        self.walker.walk(path.life, path.from, path.to, |piece| {
            let Piece { from, to, place, share, within, depth } = *piece;
            if parts.len() < PART_COUNT_MAX {
                let (path, other) = (number, NONE);
                parts.push(Part { path, from, to, place, share, within, depth, other });
            } else {
                *is_complete = false;
            }
            if share != Share::OtherPath
                && let Some(top) = tops.get_mut(place as usize)
                && (*top == NONE || !is_own)
            {
                *top = number;
            }
        });
        let others = parts.get(first..).unwrap_or_default().iter();
        let others = others.filter(|part| part.share == Share::OtherPath);
        let request = |part: &Part| {
            let (place, path) = (self.model.worker(part.place), number);
            Request { place, path, depth: part.depth }
        };
        let mut requests: Vec<Request> = others.map(request).collect();
        requests.dedup_by_key(|request| request.place);
        // The last parts are kept: an earlier beginning is not on the path.
        let kept = parts.get(first..).and_then(<[Part]>::last).map_or(path.to, |part| part.from);
        paths.push(ControlPath { from: path.from.max(kept), ..path });
        self.covers.insert((path.life, path.to), (path.from, number));
        requests
    }

    /// Returns the path that has the time of a life just before a moment.
    fn path_at(&self, life: u32, ns: u64) -> Option<u32> {
        let (_, (from, path)) = self.covers.range((life, ns)..=(life, u64::MAX)).next()?;
        (*from < ns).then_some(*path)
    }

    /// Returns the path on which a stretch fits, if that is not one of the target.
    fn other_path(&self, place: u32) -> Option<u32> {
        let path = *self.tops.get(place as usize)?;
        let own = self.stacks.paths.get(path as usize)?;
        (own.kind != Kind::Own).then_some(path)
    }

    /// Makes the paths of work that does not fit a wait, and of work that does not fit theirs.
    fn follow(&mut self, mut round: Vec<Request>, mut kind: Kind) {
        while !round.is_empty() {
            let key = |request: &Request| {
                let own = self.model.stretch(request.place);
                own.map_or((NONE, Reverse(0)), |own| (own.life, Reverse(own.end)))
            };
            // What a target waits for comes before what that waits for, which may fit there. The
            // latest work of a thread comes first: its path may have the earlier work, too.
            round.sort_by_key(|request| (request.depth, key(request), request.path));
            let mut next = Vec::new();
            for request in round {
                let Some(own) = self.model.stretch(request.place).copied() else { continue };
                let is_on_path = self.other_path(request.place).is_some();
                if is_on_path || self.path_at(own.life, own.end).is_some() {
                    continue;
                }
                let (from, waker) = self.beginning(request);
                let path = ControlPath {
                    kind,
                    life: own.life,
                    from,
                    to: own.end,
                    parent: request.path,
                    waker,
                    row: 0,
                };
                next.extend(self.walk(path));
            }
            (round, kind) = (next, Kind::Other);
        }
    }

    /// Returns where a thread was set to work, and the life that did so.
    fn beginning(&mut self, request: Request) -> (u64, u32) {
        let Some(mut own) = self.model.stretch(request.place).copied() else { return (0, NONE) };
        let paths = &self.stacks.paths;
        let parent = paths.get(request.path as usize).map_or(NONE, |path| path.life);
        let earlier = self.covers.range((own.life, 0)..(own.life, own.end)).next_back();
        let floor = earlier.map_or(0, |((_, to), _)| *to);
        loop {
            if own.begin <= floor {
                return (own.begin.max(floor), NONE);
            }
            let before = self.model.stretch(own.before).copied();
            // A place that was used again leads forward.
            let Some(before) = before.filter(|before| before.end <= own.begin) else {
                return (own.begin, NONE);
            };
            match before.what {
                What::Run => own = before,
                What::Wait if self.is_set_to_work(&before, parent) => {
                    let woken = before.woken.clamp(before.begin, before.end);
                    return (woken.max(floor), self.model.waker(&before));
                }
                What::Wait => {
                    own = before;
                    let start = self.walker.start(&before);
                    while start < own.begin
                        && let Some(before) = self.model.stretch(own.before)
                    {
                        own = *before;
                    }
                }
                What::Unknown | What::Lost => return (own.begin, NONE),
            }
        }
    }

    /// Returns whether a wait ends because its thread gets new work: a timer or an interrupt ends
    /// it; or the thread that ends it is of the target, or waits for this work, or has work that
    /// does not fit the wait.
    fn is_set_to_work(&mut self, wait: &Stretch, parent: u32) -> bool {
        match wait.cause {
            Cause::Thread | Cause::Forked | Cause::Network => {
                let Some(work) = self.model.stretch(wait.from) else { return true };
                let is_near = work.life == parent || self.targets.contains_key(&work.life);
                is_near || work.life == wait.life || !self.walker.is_fit(wait, work)
            }
            Cause::Preempted | Cause::Stopped | Cause::Disk => false,
            _ => true,
        }
    }

    /// Returns the last runs of work that a target caused, and that is on no path.
    fn unawaited(&mut self) -> Vec<Request> {
        let mut found = Vec::new();
        for life in 0..self.model.lives.len() as u32 {
            if self.targets.contains_key(&life) {
                continue;
            }
            // Backwards: the last run since the last wait for work, and whether any is on a path.
            let (mut last, mut is_seen) = (NONE, false);
            for (place, own) in self.model.backwards(life) {
                match own.what {
                    What::Run => {
                        last = if last == NONE { place } else { last };
                        is_seen |= self.tops.get(place as usize).is_some_and(|path| *path != NONE);
                        is_seen |= self.path_at(life, own.end).is_some();
                    }
                    What::Wait if self.is_set_to_work(own, NONE) => {
                        let path = self.cause_of(own);
                        if let (Some(path), false, true) = (path, is_seen, last != NONE) {
                            found.push(Request { place: last, path, depth: 0 });
                        }
                        (last, is_seen) = (NONE, false);
                    }
                    What::Wait => {}
                    What::Unknown | What::Lost => (last, is_seen) = (NONE, false),
                }
            }
        }
        found
    }

    /// Returns the path of the target that ended a wait.
    fn cause_of(&self, wait: &Stretch) -> Option<u32> {
        let waker = self.model.waker(wait);
        let windows = self.targets.get(&waker)?;
        let at = windows.partition_point(|window| window.from <= wait.woken).checked_sub(1)?;
        let window = windows.get(at).filter(|window| wait.woken <= window.to)?;
        self.path_at(waker, wait.woken.max(window.from.saturating_add(1)).min(window.to))
    }

    /// Puts parts in order, names the paths of other work, and gives paths their rows.
    fn finish(self) -> Stacks {
        let Making { model, walker, mut stacks, covers, tops, .. } = self;
        stacks.parts.sort_unstable_by_key(|part| (part.path, part.from));
        for part in &mut stacks.parts {
            if part.share != Share::OtherPath {
                continue;
            }
            let Some(own) = model.stretch(model.worker(part.place)) else { continue };
            let cover =
                covers.range((own.life, own.end.min(part.to))..=(own.life, u64::MAX)).next();
            let cover = cover.filter(|(_, (from, _))| *from <= part.from.max(own.begin));
            let top = tops.get(model.worker(part.place) as usize).copied().unwrap_or(NONE);
            part.other = cover.map_or(top, |(_, (_, path))| *path);
        }
        give_rows(&mut stacks.paths);
        stacks.links = walker.links().to_vec();
        stacks.is_complete &= walker.is_complete();
        stacks
    }
}

impl Model {
    /// Returns the work behind a stretch: of a wait that a thread ended, the run that ended it.
    fn worker(&self, place: u32) -> u32 {
        let own = self.stretch(place).filter(|own| own.what == What::Wait);
        own.map_or(place, |wait| wait.from)
    }

    /// Returns when a thread did what ended a wait, in ns.
    pub fn ended(&self, wait: &Stretch) -> u64 {
        match (wait.cause, self.network_wakes.get(wait.aid as usize)) {
            (Cause::Network, Some(wake)) if wake.sent != NEVER => wake.sent,
            (Cause::Forked, _) => wait.begin,
            _ => wait.woken,
        }
    }

    /// Returns the life that ended a wait; [`NONE`] if no thread did, or if that is not known.
    pub fn waker(&self, wait: &Stretch) -> u32 {
        match wait.cause {
            Cause::Thread | Cause::Forked | Cause::Stopped => wait.aid,
            Cause::Network => {
                let wake = self.network_wakes.get(wait.aid as usize);
                wake.map_or(NONE, |wake| wake.peer)
            }
            _ => NONE,
        }
    }
}
