//! The model of names: two threads meet a thing at once, one of them names it, and both record
//! events of it.
//!
//! ```text
//!  naming: the store's lock ─▶ name, if the word is new ─▶ set the word      ∥ another thread
//!  event:  the word is set ─▶ the name is in the store, once
//! ```
//!
//! Design: `.calls.site` in `design/calls.md`; `.sol.ordering` in `design/telemetry.md`.

use crate::block::memory::{change, keep, look};
use crate::offered::Source;
use crate::os::{entry::Entry, sync::Locked};
use crate::word::{NEW, Name, Word};
use eventdef::{Event, store};
use loom::cell::UnsafeCell;
use loom::thread;
use std::cell::Cell;

/// The store: it counts the labels in a cell that loom watches.
pub(crate) struct Store(&'static UnsafeCell<u64>);

impl Store {
    pub(crate) fn record<E: Event>(&mut self, _: &Entry, _: &E) -> bool {
        if E::CODE == store::Label::CODE {
            change(self.0, |count| count + 1);
        }
        true
    }
}

thread_local! {
    static STORE: Cell<Option<&'static Locked<Store>>> = const { Cell::new(None) };
}

pub(crate) fn locked<T>(entry: &Entry, work: impl FnOnce(&mut Store) -> T) -> Option<T> {
    let store = STORE.get().expect("the model set it");
    Some(work(&mut *store.lock(entry)?))
}

pub(crate) fn record<E: Event>(entry: &Entry, event: E) -> bool {
    locked(entry, |store| store.record(entry, &event)).unwrap_or(false)
}

/// `.calls.site`, `.store.before`
pub(crate) fn a_name_precedes_the_events_of_each_thread() {
    const ALL: usize = 1;
    let labels: &'static UnsafeCell<u64> = keep(UnsafeCell::new(0));
    STORE.set(Some(keep(Locked::new(Store(labels)))));
    let word: &'static Word = keep(Word::new(NEW));
    // The first uses, before the threads begin.
    assert_eq!((word.get(), locked(&Entry::new(), |_| ())), (NEW, Some(())));
    let meet = move || {
        let tell = |name: Name<'_>| name(16, b"played::b", Source::default());
        let is_met = word.settle() != NEW || word.name(ALL, tell) != NEW;
        assert!(is_met && look(labels) == 1, "a thread records an event");
    };
    let other = thread::spawn(move || {
        // A call: the fast path, or the cold one.
        if word.get() == ALL { assert_eq!(look(labels), 1) } else { meet() }
    });
    meet();
    other.join().unwrap();
    assert_eq!(look(labels), 1, "one thread names it");
}
