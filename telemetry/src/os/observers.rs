//! Observers: recorders that keep sums outside the rings, and tell them as events in time.
//!
//! ```text
//!  observe ─▶ list        flush ─ end of a thread ─ exit ─▶ each observer records its sums
//!                         fork, in the child ─────────────▶ each observer forgets its parent's
//! ```
//!
//! One thread at a time is told, so what is recorded last is newest. Design: `.sol.observer` in
//! `design/telemetry.md`.

use crate::offered::Moment;
use crate::os::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::os::entry::Entry;
use crate::os::link::Link;
use crate::os::{depth, sync};
use core::marker::PhantomData;

/// Code that keeps sums, and records them when it is told to.
#[derive(Debug)]
pub struct Observer {
    tell: fn(Moment),
    is_known: AtomicBool,
    next: Link<Observer>,
}

static NEWEST: Link<Observer> = Link::none();
/// The [`depth::place`] of the thread whose turn it is; 0: none.
static TURN: AtomicUsize = AtomicUsize::new(0);

impl Observer {
    /// Makes an observer, for a static.
    #[must_use]
    pub const fn new(tell: fn(Moment)) -> Observer {
        Observer { tell, is_known: AtomicBool::new(false), next: Link::none() }
    }
}

/// Has an observer told from now on. It may be called again, and anywhere.
pub fn observe(observer: &'static Observer) {
    if observer.is_known.swap(true, Ordering::Relaxed) {
        return;
    }
    loop {
        let newest = NEWEST.get();
        observer.next.set(newest);
        if NEWEST.replace(newest, Some(observer)) {
            return;
        }
    }
}

/// The right to record sums. Its drop gives it up.
#[derive(Debug)]
#[must_use]
pub struct Turn {
    // Not Send: it belongs to its thread.
    here: PhantomData<*const ()>,
}

/// Takes the turn, if no thread has it.
pub fn try_turn() -> Option<Turn> {
    let taken = TURN.compare_exchange(0, depth::place(), Ordering::Acquire, Ordering::Relaxed);
    // Made only if it is taken: a drop gives it up.
    taken.is_ok().then(|| Turn { here: PhantomData })
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURN.store(0, Ordering::Release);
    }
}

/// Waits for the turn; `None` if this thread has it already, in the code that was interrupted.
fn turn() -> Option<Turn> {
    let mut turn = None;
    sync::wait_until(|| {
        turn = try_turn();
        turn.is_some() || TURN.load(Ordering::Relaxed) == depth::place()
    });
    turn
}

/// Tells the observers, outside any entry. A nested call does nothing, except at the exit, which
/// has no other chance.
pub(crate) fn tell(moment: Moment) {
    if NEWEST.get().is_none() || moment != Moment::Exit && Entry::new().is_nested() {
        return;
    }
    if let Some(_turn) = turn() {
        each(moment);
    }
}

/// Tells the observers of a forked child, where no other thread exists.
pub(crate) fn tell_forked() {
    if TURN.load(Ordering::Relaxed) != depth::place() {
        TURN.store(0, Ordering::Relaxed);
    }
    each(Moment::Forked);
}

fn each(moment: Moment) {
    let all = core::iter::successors(NEWEST.get(), |observer| observer.next.get());
    all.for_each(|observer| (observer.tell)(moment));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_attempt_leaves_the_turn_to_its_holder() {
        let turn = turn().expect("this thread does not have it");
        let has_other = || std::thread::spawn(|| try_turn().is_some()).join().unwrap();
        assert_eq!([(); 3].map(|()| has_other()), [false; 3]);
        assert!(try_turn().is_none(), "it has it already");
        drop(turn);
        // Tests in other threads may take it for a moment.
        while !has_other() {}
    }
}
