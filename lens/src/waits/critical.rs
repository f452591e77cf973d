//! What took the time of a thread: backwards along wakes, each ns once.
//!
//! ```text
//!  A ├ run ┤ wait            ├ delay ├ run ┤       pieces, the last first:
//!              ▲ woken by B  │                     A runs · A is ready · B runs · a disk …
//!  B …  wait ├ run ──────────┘                     never before A's wait began
//!         ▲ disk
//! ```
//!
//! A wait belongs to what its waker did within it; a wait of the waker within it, to what its own
//! waker did, and so on. The walk is a loop with a stack of its own. Design: `.waits.critical`,
//! `.waits.stack` in `design/waits.md`.

use crate::waits::model::{Cause, Did, Model, NEVER, NONE, Stretch, What};
use crate::waits::parts::{self, Part};
pub use crate::waits::shares::Share;

/// Waits in waits, at most; what lies deeper waits for another path.
const DEPTH_MAX: usize = 64;
/// Waits that count as one, at most.
const GROUP_COUNT_MAX: usize = 1 << 12;
/// Stretches that all walks of one answer visit, at most; then waits for threads stay as they are.
const STEP_COUNT_MAX: u64 = 1 << 28;
/// Waits in which pieces lie, at most; what lies in further ones is not followed.
const LINK_COUNT_MAX: usize = 1 << 22;

/// A piece of time with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When it begins, in ns.
    pub from: u64,
    /// When it ends, in ns.
    pub to: u64,
    /// The stretch that took the time; [`NONE`] if that is not kept.
    pub place: u32,
    /// What it is spent on.
    pub share: Share,
    /// How many waits lie between it and the target: 0 is the target's own.
    pub depth: u32,
    /// The innermost of these waits, by its place in [`Walker::links`]; [`NONE`] if it lies in
    /// none, or if the walker keeps no links.
    pub within: u32,
}

/// A wait of a pseudo-stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The wait around it, by its place among the links; [`NONE`] for a wait of the target.
    pub parent: u32,
    /// The stretch.
    pub wait: u32,
}

/// The time in which work for a wait lies: the fit rule.
#[derive(Clone, Copy, Debug)]
struct Fit {
    begins: u64,
    ends: u64,
}

impl Fit {
    /// Everything fits.
    const ALL: Fit = Fit { begins: 0, ends: NEVER };

    fn has(self, work: &Stretch) -> bool {
        work.begin >= self.begins && work.end <= self.ends
    }
}

/// A thread that is being followed backwards.
#[derive(Clone, Copy, Debug)]
struct Frame {
    place: u32,
    to: u64,
    /// Time before this is not its own.
    floor: u64,
    /// A stretch of a child lies in this.
    fit: Fit,
    /// The wait that it is followed in.
    link: u32,
    /// Where the wait began that the last one ends, and who worked meanwhile.
    group: u64,
    resumed: Option<Resumed>,
}

/// A child that goes on in an earlier part of its parent's wait.
#[derive(Clone, Copy, Debug)]
struct Resumed {
    place: u32,
    fit: Fit,
}

/// Follows threads backwards.
#[derive(Debug)]
pub struct Walker<'m> {
    model: &'m Model,
    grace: u64,
    left: u64,
    frames: Vec<Frame>,
    links: Vec<Link>,
    has_links: bool,
}

impl<'m> Walker<'m> {
    /// Returns a walker. A child may begin and end `grace` ns outside of its parent.
    pub fn new(model: &'m Model, grace: u64) -> Walker<'m> {
        let (frames, links) = (Vec::new(), Vec::new());
        Walker { model, grace, left: STEP_COUNT_MAX, frames, links, has_links: false }
    }

    /// Makes the walker keep the waits in which pieces lie, 2^22 at most. Returns it.
    #[must_use]
    pub fn with_links(mut self) -> Walker<'m> {
        self.has_links = true;
        self
    }

    /// Returns the waits in which pieces lie.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the number of a wait within another one.
    fn link(&mut self, parent: u32, wait: u32) -> u32 {
        if !self.has_links {
            return NONE;
        }
        if self.links.len() >= LINK_COUNT_MAX {
            self.left = 0;
            return parent;
        }
        self.links.push(Link { parent, wait });
        self.links.len() as u32 - 1
    }

    /// Does `count` pieces of work on all processors: each worker has a walker without links, and a
    /// state. If they visit more stretches than one walker does, one worker does all of it again.
    /// Returns the states, and the results in the order of the work.
    pub(crate) fn side_by_side<S: Send, R: Send>(
        &mut self,
        count: usize,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut Walker<'m>, &mut S, usize) -> R + Sync,
    ) -> (Vec<S>, Vec<R>) {
        let new = || Walker { left: self.left, ..Walker::new(self.model, self.grace) };
        let (all, results) = parts::side_by_side(
            count,
            || (new(), state()),
            |(walker, state), at| work(walker, state, at),
        );
        let visited = all.iter().map(|(own, _)| self.left - own.left).fold(0, u64::saturating_add);
        if visited < self.left {
            self.left -= visited;
            return (all.into_iter().map(|(_, state)| state).collect(), results);
        }
        let (mut walker, mut state) = (new(), state());
        let results = (0..count).map(|at| work(&mut walker, &mut state, at)).collect();
        self.left = walker.left;
        (vec![state], results)
    }

    /// Returns whether all walks so far were complete.
    pub fn is_complete(&self) -> bool {
        self.left > 0
    }

    /// Passes the pieces of a life's time between `from` and `to`, the last first. They tile it.
    pub fn walk(&mut self, life: u32, from: u64, to: u64, each: impl FnMut(&Piece)) {
        let place = self.model.life(life).map_or(NONE, |life| life.last);
        self.walk_part(&Part { window: 0, place, from, to }, each);
    }

    /// Passes the pieces of a part of a window.
    pub fn walk_part(&mut self, part: &Part, mut each: impl FnMut(&Piece)) {
        let Part { place, from, to, .. } = *part;
        self.frames.clear();
        self.frames.push(Frame {
            place,
            to,
            floor: from,
            fit: Fit::ALL,
            link: NONE,
            group: NEVER,
            resumed: None,
        });
        while let Some(frame) = self.frames.last().copied() {
            if frame.to <= frame.floor {
                self.leave(&frame);
                continue;
            }
            self.left = self.left.saturating_sub(1);
            let depth = self.frames.len() as u32 - 1;
            let within = frame.link;
            let Some(own) = self.model.stretch(frame.place).copied() else {
                let (from, to) = (frame.floor, frame.to);
                each(&Piece { from, to, place: NONE, share: Share::Unknown, depth, within });
                self.turn(NONE, frame.floor);
                continue;
            };
            let begin = own.begin.clamp(frame.floor, frame.to);
            let end = own.end.clamp(begin, frame.to);
            if end < frame.to {
                // A thread that ended, or that was not there.
                let (from, to) = (end, frame.to);
                each(&Piece { from, to, place: NONE, share: Share::Unknown, depth, within });
            }
            // The rest of a stretch may be asked for later.
            let is_rest = own.begin < begin;
            self.turn(if is_rest { frame.place } else { own.before }, begin);
            if begin < end {
                let part = Taken { place: frame.place, depth, begin, end };
                self.take(&frame, &own, part, &mut each);
            }
        }
    }

    /// Sets what the innermost thread did before.
    fn turn(&mut self, place: u32, to: u64) {
        if let Some(frame) = self.frames.last_mut() {
            (frame.place, frame.to) = (place, to);
        }
    }

    /// Goes back to the thread that waited for the innermost one.
    fn leave(&mut self, left: &Frame) {
        self.frames.pop();
        if let Some(parent) = self.frames.last_mut().filter(|parent| parent.group < parent.to) {
            parent.resumed = Some(Resumed { place: left.place, fit: left.fit });
        }
    }

    /// Passes the pieces of a stretch, or follows the thread that ended a wait.
    fn take(&mut self, frame: &Frame, own: &Stretch, part: Taken, each: &mut impl FnMut(&Piece)) {
        let Taken { begin, end, .. } = part;
        // Only work has to fit: a thread may have waited for long before it was called.
        let is_child = own.what != What::Run || frame.fit.has(own);
        let within = frame.link;
        let mut pass = |from: u64, to: u64, share: Share| {
            let share = if is_child || share == Share::Lost { share } else { Share::OtherPath };
            if from < to {
                each(&Piece { from, to, place: part.place, share, depth: part.depth, within });
            }
        };
        match own.what {
            What::Run if own.samples > 0 => pass(begin, end, Share::Understood),
            What::Run => pass(begin, end, Share::Unsampled),
            What::Unknown => pass(begin, end, Share::Unknown),
            What::Lost => pass(begin, end, Share::Lost),
            What::Wait => {
                let woken = own.woken.clamp(begin, end);
                let is_preempted = own.cause == Cause::Preempted;
                let ready = if is_preempted { Share::Involuntary } else { Share::Scheduler };
                pass(woken, end, ready);
                if let Some((to, from)) = own_part(self.model, own, begin, woken, &mut pass)
                    && !self.follow(frame, own, part, to, from)
                {
                    pass(begin, to, Share::OtherPath);
                }
                if let Some((to, false)) = self.earlier(own, part, woken) {
                    pass(begin, to, Share::TimedOut);
                }
            }
        }
    }

    /// Follows the thread whose stretch is `from`, backwards from `to`. Returns false if that is
    /// not possible.
    fn follow(&mut self, frame: &Frame, own: &Stretch, part: Taken, to: u64, from: u32) -> bool {
        if from == NONE || self.frames.len() >= DEPTH_MAX || self.left == 0 {
            return false;
        }
        // The stretch that woke: it began before the wake.
        if self.model.stretch(from).is_none_or(|waker| waker.begin > to || waker.life == own.life) {
            return false;
        }
        let (start, fit) = self.fit(own);
        let link = self.link(frame.link, part.place);
        if let Some(parent) = self.frames.last_mut() {
            parent.group = if start < own.begin { start } else { NEVER };
            parent.resumed = None;
        }
        self.frames.push(Frame {
            place: from,
            to,
            floor: part.begin.max(frame.floor),
            // What fits a child fits its parent too.
            fit: Fit {
                begins: fit.begins.max(frame.fit.begins),
                ends: fit.ends.min(frame.fit.ends),
            },
            link,
            group: NEVER,
            resumed: None,
        });
        true
    }

    /// Returns what an earlier wait of a group means: `None` if a timer did not end the wait; else
    /// the end of its part, and whether the child of the last wait of its group is followed there.
    fn earlier(&mut self, own: &Stretch, part: Taken, woken: u64) -> Option<(u64, bool)> {
        if own.cause != Cause::TimedOut {
            return None;
        }
        let parent = self.frames.last()?;
        let is_grouped = parent.group <= own.begin;
        let around = parent.link;
        let Some(resumed) = parent.resumed.filter(|_| is_grouped) else {
            return Some((woken, false));
        };
        let link = self.link(around, part.place);
        self.frames.push(Frame {
            place: resumed.place,
            to: woken,
            floor: part.begin,
            fit: resumed.fit,
            link,
            group: NEVER,
            resumed: None,
        });
        Some((woken, true))
    }

    /// Returns where a wait really began, and the time in which work for it lies.
    fn fit(&mut self, wait: &Stretch) -> (u64, Fit) {
        let start = self.start(wait);
        let begins = start.saturating_sub(self.grace);
        (start, Fit { begins, ends: wait.end.saturating_add(self.grace) })
    }

    /// Returns whether work fits a wait.
    pub fn is_fit(&mut self, wait: &Stretch, work: &Stretch) -> bool {
        self.fit(wait).1.has(work)
    }

    /// Returns where a wait really began: waits that a timer ended, of one call and stack, with
    /// runs of less than the grace between, belong to it.
    pub fn start(&mut self, wait: &Stretch) -> u64 {
        if wait.cause.is_timeout() || wait.call == NONE && wait.stack == 0 {
            return wait.begin;
        }
        let (mut start, mut before) = (wait.begin, wait.before);
        for _ in 0..GROUP_COUNT_MAX {
            self.left = self.left.saturating_sub(1);
            let Some(run) = self.model.stretch(before) else { break };
            let Some(earlier) = self.model.stretch(run.before) else { break };
            // The cheapest question comes first: to compare calls reads two places far away.
            let is_short = run.what == What::Run && run.ns() < self.grace;
            let is_wait = earlier.what == What::Wait && earlier.cause == Cause::TimedOut;
            let is_same = || earlier.stack == wait.stack && is_same_call(self.model, earlier, wait);
            if !(is_short && is_wait && is_same()) {
                break;
            }
            (start, before) = (earlier.begin, earlier.before);
        }
        start
    }
}

/// The part of a stretch that a thread takes.
#[derive(Clone, Copy, Debug)]
struct Taken {
    place: u32,
    depth: u32,
    begin: u64,
    end: u64,
}

/// Returns whether two waits are in the same call, with the same object.
fn is_same_call(model: &Model, a: &Stretch, b: &Stretch) -> bool {
    let call = |stretch: &Stretch| {
        let call = model.calls.get(stretch.call as usize);
        call.map(|call| (call.number, call.object))
    };
    call(a) == call(b)
}

/// Passes the pieces of a wait until it is woken, as far as no other thread is to follow. Returns
/// the time and the stretch from which to follow one.
fn own_part(
    model: &Model,
    own: &Stretch,
    begin: u64,
    woken: u64,
    pass: &mut impl FnMut(u64, u64, Share),
) -> Option<(u64, u32)> {
    match own.cause {
        Cause::Thread | Cause::Forked => return Some((woken, own.from)),
        Cause::Network => {
            let wake = model.network_wakes.get(own.aid as usize);
            let sent = wake.map_or(NEVER, |wake| wake.sent);
            if begin < sent && sent <= woken {
                pass(sent, woken, Share::Hardware);
                return Some((sent, own.from));
            }
            // What was sent before was under way; a sender may also be unknown.
            let is_known = wake.is_some_and(|wake| wake.did != Did::Unknown);
            let share = if is_known { Share::Hardware } else { Share::Unknown };
            pass(begin, woken, share);
        }
        Cause::Disk => match model.operations.get(own.aid as usize) {
            Some(operation) => {
                let issued = operation.issued.clamp(begin, woken);
                let inserted = operation.inserted.clamp(begin, issued);
                pass(issued, woken, Share::Disk);
                pass(inserted, issued, Share::DiskQueue);
                pass(begin, inserted, Share::Unknown);
            }
            None => pass(begin, woken, Share::Disk),
        },
        Cause::Slept => pass(begin, woken, Share::Sleep),
        Cause::Timer => pass(begin, woken, Share::TimedOut),
        Cause::Hardware => pass(begin, woken, Share::Hardware),
        Cause::Preempted | Cause::Stopped => pass(begin, woken, Share::Involuntary),
        Cause::Unknown | Cause::Open => pass(begin, woken, Share::Unknown),
        // The caller decides: it may be a part of a longer wait.
        Cause::TimedOut => {}
    }
    None
}
