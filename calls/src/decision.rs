//! What the filter decided for a function: one word, and the counts of calls that it drops.
//!
//! ```text
//!  path ─ filter ─▶ word: all │ none │ slow, time │ some, n        dropped calls ─▶ CallsMuted
//! ```
//!
//! Sites have such words, and so do the functions of C that the library of `replay record` knows.
//! Design: `.calls.filter` in `design/calls.md`.

use crate::events::CallsMuted;
use crate::filter::{self, Choice};
use crate::word::{Name, Word};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use eventdef::field::P;
use std::io::Write;
use telemetry::__private::{say, with_environment};
use telemetry::event;

/// The word of a decision, by its low bits. The rest of the word is a number.
pub mod word {
    /// `NEW`: the filter has not been asked yet. `FRESH`: it was asked a moment ago.
    pub use crate::word::{FRESH, NEW};
    /// Record each call: the whole word, for the fast path.
    pub const ALL: usize = 1;
    /// Record none.
    pub const NONE: usize = 2;
    /// The number is the least time, in units of the filter.
    pub const SLOW: usize = 3;
    /// The number n: record each n-th call.
    pub const SOME: usize = 4;
    /// The bits of the choice.
    pub const CHOICE: usize = 7;
    /// Calls were muted that the log does not count yet.
    pub const MUTED: usize = 8;
    /// Calls are also printed.
    pub const PRINTED: usize = 16;
    /// The place of the number.
    pub const NUMBER_SHIFT: u32 = 6;
    const _: () = assert!(FRESH == 1 << (NUMBER_SHIFT - 1));
}

/// The decision for one function.
#[derive(Debug)]
#[repr(C)]
pub struct Decision {
    word: Word,
    /// Calls that the filter looked at, to select each n-th.
    asked: AtomicUsize,
    /// Calls that were not recorded: the filter selected another one, or they were too short.
    muted: AtomicUsize,
}

impl Decision {
    /// Makes a decision for which the filter has not been asked yet.
    #[expect(clippy::new_without_default, reason = "for statics alone")]
    #[must_use]
    pub const fn new() -> Decision {
        let [asked, muted] = [const { AtomicUsize::new(0) }; 2];
        Decision { word: Word::new(word::NEW), asked, muted }
    }

    /// Returns the word, with `FRESH` while it is so.
    #[inline(always)]
    pub fn word(&self) -> usize {
        self.word.get()
    }

    /// Returns the word without `FRESH`, for a caller that records an event after this.
    pub fn settle(&self) -> usize {
        self.word.settle()
    }

    /// Names the function, and sets the word, as [`Word::name`].
    pub(crate) fn name(&self, word: usize, tell: impl FnOnce(Name<'_>) -> bool) -> usize {
        self.word.name(word, tell)
    }

    /// Sets the word, once: the log has the name of the function, or never gets it.
    pub fn set(&self, word: usize) {
        self.word.set(word);
    }

    /// Makes it new: another function has its place.
    pub fn clear(&self) {
        self.word.clear();
        [&self.asked, &self.muted].into_iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Returns whether this is the n-th call that asks, for any multiple of n.
    pub fn is_selected(&self, n: usize) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(n)
    }

    /// Counts a call that is not recorded. The first one is told at once: so the log knows that the
    /// function is called.
    pub fn count_muted(&self, function: P) {
        let is_first = self.muted.fetch_add(1, Ordering::Relaxed) == 0;
        let word = self.word();
        // A word that is new stays so: the filter is still to be asked.
        if word != word::NEW && word & word::MUTED == 0 {
            self.word.insert(word::MUTED);
        }
        if is_first {
            self.tell_muted(function);
        }
    }

    /// Records the number of muted calls, if some are new.
    pub fn tell_muted(&self, function: P) {
        if self.word() & word::MUTED != 0 {
            self.word.remove(word::MUTED);
            let count = self.muted.load(Ordering::Relaxed);
            event!(CallsMuted { function: function, count: count });
        }
    }

    /// Has calls printed, or no longer.
    pub(crate) fn print(&self, wanted: bool) {
        if wanted {
            self.word.insert(word::PRINTED);
        } else {
            self.word.remove(word::PRINTED);
        }
    }
}

/// Asks the filter for the function with these paths: a pattern may fit either.
#[must_use]
pub fn word_of(paths: &[&str]) -> usize {
    let choice = with_environment(filter::VARIABLE, |patterns| {
        filter::choice(patterns.unwrap_or_default(), paths)
    });
    match choice {
        Choice::All => word::ALL,
        Choice::None => word::NONE,
        Choice::Slow(time) => word::SLOW | time << word::NUMBER_SHIFT,
        Choice::Some(count) => word::SOME | count << word::NUMBER_SHIFT,
    }
}

/// Reports invalid patterns, and tells the log the filter, each once.
pub(crate) fn tell_once() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_REPORTED.swap(true, Ordering::Relaxed) {
        report_invalid();
    }
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        IS_TOLD.store(tell_filter(), Ordering::Relaxed);
    }
}

/// Reports invalid patterns.
pub fn report_invalid() {
    with_environment(filter::VARIABLE, |patterns| {
        for (pattern, reason) in filter::invalid(patterns.unwrap_or_default()) {
            let pattern = pattern.escape_ascii();
            say(format_args!("MPS_TELEMETRY_CALLS: `{pattern}`: {reason}; the rest is used"));
        }
    });
}

/// Tells the log the filter, as a string: functions that it excludes are missing there.
/// Returns false if that must wait.
pub fn tell_filter() -> bool {
    with_environment(filter::VARIABLE, |patterns| {
        let patterns = patterns.unwrap_or_default().trim_ascii();
        patterns.is_empty() || {
            let mut text = [0; FILTER_SIZE_MAX];
            let mut rest = &mut text[..];
            let parts = [filter::VARIABLE.to_bytes(), b"=", patterns];
            // The end of a long filter is cut off.
            let _ = parts.iter().try_for_each(|part| rest.write_all(part));
            let size = FILTER_SIZE_MAX - rest.len();
            telemetry::add_string(&text[..size]) != telemetry::StringId::NONE
        }
    })
}

/// The size of a filter in the log, at most, in bytes.
const FILTER_SIZE_MAX: usize = 1024;
