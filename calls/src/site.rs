//! Sites: a function's static facts, and the word that tells how its calls are recorded.
//!
//! ```text
//!  #[traced] fn ─ __site! ─▶ static Site ─ section `telemetry_sites_2` ─▶ all sites
//!  Function::new ──────────▶ leaked Site ─ list ────────────────────────▶ all sites
//!                              │ word: 0 until its first call, or until all sites are labelled
//!                              └ its address stands for the function in the log
//! ```
//!
//! Each program or shared library has its own section, and its own copy of this crate. Where the
//! linker has no such sections, a site is labelled at its first call, and functions that are never
//! called are missing. Design: `.calls.site` in `design/calls.md`.
#![expect(unsafe_code, reason = "a section of the linker; a list without a lock")]

use crate::decision::{self, Decision, word};
use crate::events::{CONTROL, Kinds};
use core::any::type_name;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use eventdef::field::P;
use telemetry::StringId;

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

    #[inline(always)]
    pub(crate) fn pointer(&self) -> P {
        P(core::ptr::from_ref(self).addr())
    }

    /// Returns the word, after asking the filter if no call did so before.
    pub(crate) fn decided_word(&'static self) -> usize {
        match self.word() {
            word::NEW => self.decide(),
            word => word,
        }
    }

    /// Asks the filter, and labels the site unless the function is excluded. Of threads that do it
    /// at once, one labels.
    fn decide(&'static self) -> usize {
        let word = decision::word_of(&[self.path()]);
        let printed = if PRINTED.load(Ordering::Relaxed) { word::PRINTED } else { 0 };
        let word = word | printed;
        // A function that is excluded has no label: it must not look as if it was never called.
        let is_known = word & word::CHOICE != word::NONE;
        let name = if is_known { telemetry::add_string(self.path()) } else { StringId::NONE };
        // Without a label the next call tries again: this one interrupted the runtime.
        if is_known && name == StringId::NONE {
            return word;
        }
        let decided = self.decision.set(word);
        if is_known && decided.is_ok() {
            telemetry::label(self, name);
            if !self.source.file.is_empty() {
                telemetry::source(self, self.source);
            }
        }
        decided.err().unwrap_or(word)
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
    if before == 0 {
        decision::report_invalid();
    }
    decision::tell_filter();
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
pub(crate) fn tell_all_muted() {
    all().for_each(Site::tell_muted);
}

/// Returns the path of the function in which the item stands, which is named `site`.
#[must_use]
pub fn path_of<F>(_: F) -> &'static str {
    let path = type_name::<F>();
    let path = path.strip_suffix("::site").unwrap_or(path);
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
            static SITE: $crate::__private::Site =
                $crate::__private::Site::new(site, $file, $place);
        }
        &SITE
    }};
}

/// Puts a site into the section. The program that a site is in does not know `has_sections`.
#[cfg(has_sections)]
#[doc(hidden)]
#[macro_export]
macro_rules! __collected {
    ($site:item) => {
        #[used]
        #[unsafe(link_section = "telemetry_sites_2")]
        $site
    };
}

#[cfg(not(has_sections))]
#[doc(hidden)]
#[macro_export]
macro_rules! __collected {
    ($site:item) => {
        $site
    };
}

/// A site that was made at run time, and the one made before it.
struct Made {
    site: Site,
    before: *const Made,
}

/// The newest site that was made. S2: each pointer in the list is null or to a leaked `Made`, which
/// nothing changes but the atomics of its site.
static NEWEST: AtomicPtr<Made> = AtomicPtr::new(ptr::null_mut());

/// Makes a site for a function that the program has found. It lives as long as the program.
pub(crate) fn make(path: &str, file: &str, line: u32) -> &'static Site {
    let leaked = |text: &str| -> &'static str { Box::leak(text.into()) };
    let source = telemetry::Source { line, column: 1, offset: 0, size: 0, file: leaked(file) };
    let site = Site::with(Path::Made(leaked(path)), source);
    let made = Box::into_raw(Box::new(Made { site, before: ptr::null() }));
    let mut before = NEWEST.load(Ordering::Relaxed);
    loop {
        // SAFETY: S2: leaked, and not in the list yet: this thread alone has it.
        unsafe { (*made).before = before };
        match NEWEST.compare_exchange_weak(before, made, Ordering::Release, Ordering::Relaxed) {
            // SAFETY: S2.
            Ok(_) => return unsafe { &(*made).site },
            Err(newer) => before = newer,
        }
    }
}

/// Returns all sites that were made, the newest first.
fn made() -> impl Iterator<Item = &'static Site> {
    // SAFETY: S2; the load shows what its maker wrote.
    let newest = unsafe { NEWEST.load(Ordering::Acquire).as_ref() };
    // SAFETY: S2.
    let each = core::iter::successors(newest, |made| unsafe { made.before.as_ref() });
    each.map(|made| &made.site)
}

/// Returns all sites.
fn all() -> impl Iterator<Item = &'static Site> {
    compiled().chain(made())
}

/// Returns the sites that the linker of this program or shared library found.
#[cfg(has_sections)]
fn compiled() -> impl Iterator<Item = &'static Site> {
    /// The section exists in each program, with or without sites.
    #[used]
    // SAFETY: S1: `__site!` alone puts statics into the section, all of them of the type `Site`.
    #[unsafe(link_section = "telemetry_sites_2")]
    static NO_SITES: [Site; 0] = [];

    // SAFETY: the linker defines both symbols, at the ends of a section that exists. Only their
    // addresses are used.
    unsafe extern "C" {
        #[link_name = "__start_telemetry_sites_2"]
        static START: u8;
        #[link_name = "__stop_telemetry_sites_2"]
        static STOP: u8;
    }
    // The compiler may not conclude that the section is as small as the symbol at its start.
    let start = core::hint::black_box((&raw const START).cast::<Site>());
    let size = (&raw const STOP).addr() - start.addr();
    // SAFETY: S1: the section is an array of sites, which are static and shared.
    let sites = unsafe { core::slice::from_raw_parts(start, size / size_of::<Site>()) };
    sites.iter()
}

/// Returns no sites: the linker has no sections that a program finds by their names.
#[cfg(not(has_sections))]
fn compiled() -> impl Iterator<Item = &'static Site> {
    core::iter::empty()
}
