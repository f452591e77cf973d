//! The atomics of the models: loom's inside a model, core's outside.
//!
//! ```text
//!  src/rings/ring/mod.rs:171  head.store(…, Release) ─▶ site ─ weakened? ─▶ Relaxed
//!                                                 └ no ─────────▶ Release ─▶ loom
//! ```
//!
//! Replaces `src/os/atomic.rs`. An atomic becomes one of loom's at its first use in an execution.
//! Models use their atomics before their threads begin: loom reports a race if two threads may both
//! make the first use. Design: `.sol.ordering` in `design/telemetry.md`.

use core::any::Any;
use core::panic::Location;
use core::sync::atomic;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(crate) use crate::offered::Source;
pub(crate) use core::sync::atomic::{Ordering, compiler_fence};

/// A place in the source that uses a stronger ordering than relaxed.
pub(crate) type Site = (&'static str, u32);

thread_local! {
    /// Whether this thread runs a model.
    static IS_IN_MODEL: Cell<bool> = const { Cell::new(false) };
    /// The site that is relaxed.
    static WEAKENED: Cell<Option<Site>> = const { Cell::new(None) };
    /// Whether sites are collected; the sites that a model passed.
    static ARE_SITES_ASKED: Cell<bool> = const { Cell::new(false) };
    static SITES: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    /// The model of each atomic in this execution, by address: no atomic moves after its first use.
    static MODELS: RefCell<BTreeMap<usize, Rc<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns whether this thread runs a model.
pub(crate) fn is_in_model() -> bool {
    IS_IN_MODEL.get()
}

/// Begins an execution of a model.
pub(crate) fn begin() {
    MODELS.take();
    IS_IN_MODEL.set(true);
}

/// Calls a function with one site relaxed.
pub(crate) fn with_weakened<T>(site: Option<Site>, what: impl FnOnce() -> T) -> T {
    WEAKENED.set(site);
    let result = what();
    WEAKENED.set(None);
    IS_IN_MODEL.set(false);
    result
}

/// Calls a function, and returns the sites that it passed. Collecting them takes time.
pub(crate) fn with_sites<T>(what: impl FnOnce() -> T) -> (T, BTreeSet<Site>) {
    ARE_SITES_ASKED.set(true);
    let result = what();
    ARE_SITES_ASKED.set(false);
    (result, SITES.take())
}

/// Returns the ordering that applies at a site.
#[track_caller]
fn at_site(ordering: Ordering) -> Ordering {
    if ordering == Ordering::Relaxed {
        return ordering;
    }
    let caller = Location::caller();
    // Lines are compared first: a model makes millions of calls.
    let is_here = |(file, line): Site| line == caller.line() && file == caller.file();
    if WEAKENED.get().is_some_and(is_here) {
        return Ordering::Relaxed;
    }
    if ARE_SITES_ASKED.get() {
        SITES.with_borrow_mut(|sites| sites.insert((caller.file(), caller.line())));
    }
    ordering
}

/// Executes a fence, unless the site is relaxed.
#[track_caller]
pub(crate) fn fence(ordering: Ordering) {
    let ordering = at_site(ordering);
    if is_in_model() && ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(ordering);
    }
}

/// Returns a time that passes quickly, as the words of `calls` take it from here.
pub(crate) fn monotonic() -> u64 {
    crate::block::clock::monotonic()
}

/// Does nothing: each step of a model is done before the next.
pub(crate) fn wait_for_loads() {}

/// Does work that names things, as the runtime's function of this name.
pub(crate) fn naming<T>(
    work: impl FnOnce(&mut dyn FnMut(usize, &[u8], Source<'_>) -> bool) -> T,
) -> Option<T> {
    crate::store::intern::names::naming(&crate::os::entry::Entry::new(), work)
}

/// Lets other threads run.
pub(crate) fn spin_loop() {
    if is_in_model() { loom::thread::yield_now() } else { core::hint::spin_loop() }
}

/// Stands before every operation on an atomic. Loom reorders two operations only if no other one
/// touched the atomic between them: it would miss a load by one thread and a store by another that
/// loads first. Turns follow one another, and hide nothing.
type Turn = loom::sync::atomic::AtomicBool;

fn take_turn(turn: &Turn) {
    let relaxed = Ordering::Relaxed;
    assert_eq!(turn.compare_exchange(true, true, relaxed, relaxed), Err(false));
}

/// An atomic within an execution.
pub(crate) struct Modelled<T> {
    turn: Turn,
    pub(crate) value: T,
}

macro_rules! atomic {
    ($name:ident $(<$param:ident>)?, $value:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name $(<$param>)? {
            /// The value outside of models, and the first value within one.
            plain: atomic::$name $(<$param>)?,
            is_quiet: bool,
        }

        #[allow(dead_code, reason = "not all are used with each type")]
        impl $(<$param: 'static>)? $name $(<$param>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self { plain: atomic::$name::new(value), is_quiet: false }
            }

            /// Makes an atomic that loom does not watch: no result depends on its order.
            pub(crate) fn quiet(value: $value) -> Self {
                Self { is_quiet: true, ..Self::new(value) }
            }

            /// Returns loom's atomic, for one operation.
            pub(crate) fn model(
                &self,
            ) -> Option<Rc<Modelled<loom::sync::atomic::$name $(<$param>)?>>> {
                if !is_in_model() || self.is_quiet {
                    return None;
                }
                let place = core::ptr::from_ref(self).addr();
                let found = MODELS.with_borrow(|models| models.get(&place).cloned());
                let model = found.unwrap_or_else(|| {
                    let value = loom::sync::atomic::$name::new(self.plain.load(Ordering::Relaxed));
                    let model: Rc<dyn Any> = Rc::new(Modelled { turn: Turn::new(false), value });
                    MODELS.with_borrow_mut(|models| models.insert(place, Rc::clone(&model)));
                    model
                });
                let model: Rc<Modelled<_>> = model.downcast().expect("an atomic moved");
                take_turn(&model.turn);
                Some(model)
            }

            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                let ordering = at_site(ordering);
                match self.model() {
                    Some(model) => model.value.load(ordering),
                    None => self.plain.load(ordering),
                }
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                let ordering = at_site(ordering);
                match self.model() {
                    Some(model) => model.value.store(value, ordering),
                    None => self.plain.store(value, ordering),
                }
            }
        }
    };
}

macro_rules! changes {
    ($name:ident $(<$param:ident>)?, $value:ty $(, $add:ident)*) => {
        #[allow(dead_code, reason = "not all are used with each type")]
        impl $(<$param: 'static>)? $name $(<$param>)? {
            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (at_site(success), at_site(failure));
                match self.model() {
                    Some(model) => model.value.compare_exchange(old, new, success, failure),
                    None => self.plain.compare_exchange(old, new, success, failure),
                }
            }

            /// Never fails for no reason, as a weak exchange may: its callers try again.
            #[track_caller]
            pub(crate) fn compare_exchange_weak(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(old, new, success, failure)
            }

            $(
                #[track_caller]
                pub(crate) fn $add(&self, value: $value, ordering: Ordering) -> $value {
                    let ordering = at_site(ordering);
                    match self.model() {
                        Some(model) => model.value.$add(value, ordering),
                        None => self.plain.$add(value, ordering),
                    }
                }
            )*
        }
    };
}

atomic!(AtomicBool, bool);
changes!(AtomicBool, bool, swap);
atomic!(AtomicUsize, usize);
changes!(AtomicUsize, usize, fetch_add, fetch_or, fetch_and);
atomic!(AtomicU32, u32);
changes!(AtomicU32, u32, swap, fetch_add, fetch_sub, fetch_or, fetch_and);
atomic!(AtomicU64, u64);
changes!(AtomicU64, u64, fetch_add, fetch_sub);
atomic!(AtomicPtr<T>, *mut T);
changes!(AtomicPtr<T>, *mut T);
