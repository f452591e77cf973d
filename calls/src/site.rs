//! Sites: a function's static facts, and the word that tells how its calls are recorded.
//!
//! ```text
//!  #[traced] fn ─ __site! ─▶ static Site ─ section `telemetry_sites_3` ─▶ all sites
//!  Function::new ──────────▶ leaked Site ─ list ────────────────────────▶ all sites
//!                              │ word: 0 until its first call, or until all sites are labelled
//!                              └ its address stands for the function in the log
//! ```
//!
//! Each program or shared library has its own section, and its own copy of this crate. Where the
//! linker has no such sections, a site is labelled at its first call, and functions that are never
//! called are missing. Design: `.calls.site` in `design/calls.md`.
#![expect(unsafe_code, reason = "a section of the linker")]

use crate::decision::{self, Decision, word};
use crate::events::{CONTROL, Kinds};
use crate::list::{Link, Linked};
use crate::section::Section;
use crate::word::Name;
use core::any::type_name;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use eventdef::field::P;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use telemetry::__private::{Moment, Observer, observe};

/// A function's static facts. Its address stands for the function.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Site {
    decision: Decision,
    path: Path,
    source: telemetry::Source<'static>,
}

/// The path of a function.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// A call, because the compiler's path is not known in a constant.
    Compiled(fn() -> &'static str),
    Made(&'static str),
}

/// A program may link two versions of this crate: if the layout of a site changes, the number in
/// the section's name does too.
const _: () = assert!(usize::BITS != 64 || size_of::<Site>() == 80);

impl Site {
    /// Makes a site. For the code that `#[traced]` makes.
    #[must_use]
    pub const fn new(
        path: fn() -> &'static str,
        file: &'static str,
        [line, column, offset, size]: [u32; 4],
    ) -> Site {
        let source = telemetry::Source { line, column, offset, size, file };
        Site::with(Path::Compiled(path), source)
    }

    const fn with(path: Path, source: telemetry::Source<'static>) -> Site {
        Site { decision: Decision::new(), path, source }
    }

    #[inline(always)]
    pub(crate) fn word(&self) -> usize {
        self.decision.word()
    }

    pub(crate) fn path(&self) -> &'static str {
        match self.path {
            Path::Compiled(path) => path(),
            Path::Made(path) => path,
        }
    }

    pub(crate) fn file(&self) -> &'static str {
        self.source.file
    }

    #[inline(always)]
    pub(crate) fn pointer(&self) -> P {
        P(core::ptr::from_ref(self).addr())
    }

    /// Returns the word, after asking the filter if no call did so before. What the caller records
    /// then is later than the label.
    pub(crate) fn decided_word(&'static self) -> usize {
        match self.decision.settle() {
            word::NEW => self.decide(),
            word => word,
        }
    }

    /// Asks the filter, and labels the site unless the function is excluded. Of threads that do it
    /// at once, one labels, and the others wait for it.
    fn decide(&'static self) -> usize {
        let word = decision::word_of(&[self.path()]);
        let printed = if PRINTED.load(Ordering::Relaxed) { word::PRINTED } else { 0 };
        let word = word | printed;
        if word & word::CHOICE == word::NONE {
            // It has no label: it must not look as if it was never called.
            self.decision.set(word);
            return word;
        }
        let tell = |name: Name<'_>| name(self.pointer().0, self.path().as_bytes(), self.source);
        match self.decision.name(word, tell) {
            // The next call tries again: this one interrupted the runtime.
            word::NEW => word,
            decided => decided,
        }
    }

    /// Returns whether this is the n-th call that asks, for any multiple of n.
    pub(crate) fn is_selected(&self, n: usize) -> bool {
        self.decision.is_selected(n)
    }

    /// Counts a call that is not recorded.
    pub(crate) fn count_muted(&self) {
        self.decision.count_muted(self.pointer());
    }

    /// Records the number of muted calls, if some are new.
    pub(crate) fn tell_muted(&self) {
        self.decision.tell_muted(self.pointer());
    }
}

/// Registers `calls`, once: from then on calls are recorded while they are output. Returns false if
/// that must wait.
pub fn register() -> bool {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.load(Ordering::Relaxed) {
        return true;
    }
    let control = telemetry::control::of(&CONTROL);
    let is_registered = CONTROL.slot().load(Ordering::Acquire) != 0;
    if is_registered {
        control.record_while_output(Kinds::all());
        observe(&MUTED);
        DONE.store(true, Ordering::Relaxed);
    }
    is_registered
}

/// The attempts to label all sites: one that interrupted the runtime labels none.
const ATTEMPT_COUNT_MAX: usize = 8;

/// Labels all sites, once, and reports invalid patterns. One thread does it; until it is done, each
/// other thread labels the sites that it calls.
pub(crate) fn tell_all() {
    /// Whether all sites are labelled, or a thread is at it.
    static TOLD: AtomicBool = AtomicBool::new(false);
    static ATTEMPT_COUNT: AtomicUsize = AtomicUsize::new(0);
    if TOLD.swap(true, Ordering::Acquire) {
        return;
    }
    let before = ATTEMPT_COUNT.fetch_add(1, Ordering::Relaxed);
    decision::tell_once();
    all().for_each(|site| _ = site.decided_word());
    let is_done = all().all(|site| site.word() != word::NEW);
    TOLD.store(is_done || before + 1 >= ATTEMPT_COUNT_MAX, Ordering::Release);
}

/// Whether calls are also printed, on standard error.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Has calls printed from now on, or no longer.
pub(crate) fn print(wanted: bool) {
    PRINTED.store(wanted, Ordering::Relaxed);
    for site in all().filter(|site| site.word() != word::NEW) {
        site.decision.print(wanted);
    }
}

/// Records the numbers of muted calls that are new.
static MUTED: Observer = Observer::new(|moment| match moment {
    Moment::Flush | Moment::Exit => all().for_each(Site::tell_muted),
    // A forked child goes on with the counts of its parent.
    Moment::ThreadEnd | Moment::Forked => {}
});

/// Returns the path of the function in which the item stands, which is named `site`.
#[must_use]
pub fn path_of<F>(_: F) -> &'static str {
    let path = type_name::<F>();
    let path = path.strip_suffix("::site").unwrap_or(path);
    let path = path.trim_end_matches("::__STATEMENTS").trim_end_matches("::__PATH");
    path.trim_end_matches("::{{closure}}")
}

/// Makes the site of the function that it stands in. The facts are the file, and the line, column,
/// offset and size of the function.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($file:literal $place:tt) => {{
        fn site() -> &'static str {
            $crate::__private::path_of(site)
        }
        $crate::__collected! {
            sites static SITE: $crate::__private::Site =
                $crate::__private::Site::new(site, $file, $place);
        }
        &SITE
    }};
}

/// A site that was made at run time.
struct Made {
    site: Site,
    next: Link<Made>,
}

impl Linked for Made {
    fn next(&self) -> &Link<Made> {
        &self.next
    }
}

/// The sites that were made.
static MADE: Link<Made> = Link::none();

/// Makes a site for a function that the program has found. It lives as long as the program.
pub(crate) fn make(path: &str, file: &str, line: u32) -> &'static Site {
    let made: &Made =
        Box::leak(Box::new(Made { site: found(path, file, line), next: Link::none() }));
    MADE.push(made);
    &made.site
}

fn found(path: &str, file: &str, line: u32) -> Site {
    let leaked = |text: &str| -> &'static str { Box::leak(text.into()) };
    let source = telemetry::Source { line, column: 1, offset: 0, size: 0, file: leaked(file) };
    Site::with(Path::Made(leaked(path)), source)
}

/// Returns the site of a path in a file for statements that the program has found. It is not
/// among the functions.
pub(crate) fn shared(path: &str, file: &str) -> &'static Site {
    type Sites = HashMap<(Box<str>, Box<str>), &'static Site>;
    static SHARED: Mutex<Option<Sites>> = Mutex::new(None);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared
        .get_or_insert_default()
        .entry((path.into(), file.into()))
        .or_insert_with(|| Box::leak(Box::new(found(path, file, 0))))
}

/// Returns all sites.
fn all() -> impl Iterator<Item = &'static Site> {
    // SAFETY: S1: `__site!` alone puts statics into the section, all of them of the type `Site`,
    // whose size is a multiple of its alignment.
    let compiled: &[Site] = unsafe { Section::Sites.all() };
    compiled.iter().chain(MADE.iter().map(|made| &made.site))
}
