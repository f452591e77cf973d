//! A word that is set once the log has the name of what it belongs to: so no event of another
//! thread is earlier than the name that it needs.
//!
//! ```text
//!  0 ─ the store's lock: name, place ─▶ set, fresh ─ a moment later, at a use ─▶ set
//!                                        │ slow: the counter is read after the word
//!                                        └─────────── fast: the processor may read it before ◀──┘
//! ```
//!
//! A processor may read its counter before it is done with an earlier load of the word, by the time
//! that memory takes. So an event may have ticks from before the word was set, and from before the
//! name. While the word is fresh, its uses wait for the load. Design: `.calls.site` in
//! `design/calls.md`.

use crate::atomic::{AtomicUsize, Ordering, Source, monotonic, naming, wait_for_loads};

/// The value of a word that was not set.
pub const NEW: usize = 0;
/// The word was set a moment ago.
pub const FRESH: usize = 32;

/// The time for which a word is fresh, in ns: no load takes as long.
const FRESH_TIME: usize = 100_000;

/// When a word was set last, in ns.
static SET: AtomicUsize = AtomicUsize::new(0);

/// Names the thing at an address, with its place.
pub(crate) type Name<'a> = &'a mut dyn FnMut(usize, &[u8], Source<'_>) -> bool;

/// The word.
#[derive(Debug)]
pub(crate) struct Word(AtomicUsize);

impl Word {
    pub(crate) const fn new(word: usize) -> Word {
        Word(AtomicUsize::new(word))
    }

    /// Returns the word as it is. If it was set, this thread sees that the log has the name.
    #[inline(always)]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Has the log name what the word belongs to, and sets the word. Of threads that do it at once,
    /// one names it, and the others wait for that. `tell` returns whether the log has the name.
    /// Returns the word as [`settle`](Word::settle) does: `NEW` if this call interrupts the
    /// runtime.
    #[cold]
    pub(crate) fn name(&self, word: usize, tell: impl FnOnce(Name<'_>) -> bool) -> usize {
        naming(|name| {
            if self.get() == NEW && tell(name) {
                self.set(word);
            }
        });
        self.settle()
    }

    /// Sets the word of what needs no name, or has it, once.
    pub(crate) fn set(&self, word: usize) {
        SET.store(monotonic() as usize, Ordering::Relaxed);
        let (order, failure) = (Ordering::Release, Ordering::Relaxed);
        // Another thread may have set it.
        let _ = self.0.compare_exchange(NEW, word | FRESH, order, failure);
    }

    /// Returns the word without `FRESH`. What the caller records then is later than the name.
    #[inline]
    pub(crate) fn settle(&self) -> usize {
        let word = self.get();
        if word & FRESH != 0 { self.settle_fresh(word) } else { word }
    }

    #[cold]
    fn settle_fresh(&self, word: usize) -> usize {
        wait_for_loads();
        let age = (monotonic() as usize).wrapping_sub(SET.load(Ordering::Relaxed));
        if age > FRESH_TIME {
            self.remove(FRESH);
        }
        word & !FRESH
    }

    /// Sets bits of the word.
    pub(crate) fn insert(&self, bits: usize) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// Clears bits of the word.
    pub(crate) fn remove(&self, bits: usize) {
        self.0.fetch_and(!bits, Ordering::Relaxed);
    }

    /// Makes it new again.
    pub(crate) fn clear(&self) {
        self.0.store(NEW, Ordering::Relaxed);
    }
}
