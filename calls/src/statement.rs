//! The statements of a function: their places in the source text, labels, and rows.
//!
//! ```text
//!  #[profiled] fn ─ __statements! ─▶ static Statements ─ section of the linker ─▶ all statements
//!                                      │ places: the address of each stands for its statement
//!                                      └ rows: numbers in the tables, from its first block on
//!  Statement::new ──▶ leaked Statements, with one place
//! ```
//!
//! Design: `.statements.identity` in `design/statements.md`.
#![expect(unsafe_code, reason = "a section of the linker")]

use crate::decision::{self, word};
use crate::list::{Link, Linked};
use crate::section::Section;
use crate::site::{self, Site};
use crate::word::{NEW, Name, Word};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use eventdef::field::P;
use std::io::Write;
use telemetry::Source;

/// The place of a statement in its file. Its address stands for the statement.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Place {
    /// From 1; 0: the statement is not in the program, since a `cfg` excludes it.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// In bytes, from 0.
    pub offset: u32,
    /// In bytes; 0: unknown. With [`WAITS`](Self::WAITS): the times of the statement contain
    /// waiting.
    pub size: u32,
}

impl Place {
    /// The bit of `size` that says so.
    pub const WAITS: u32 = 1 << 31;

    /// Makes a place: line, column, offset and size.
    #[must_use]
    pub const fn new([line, column, offset, size]: [u32; 4]) -> Place {
        Place { line, column, offset, size }
    }

    pub(crate) fn waits(&self) -> bool {
        self.size & Place::WAITS != 0
    }

    pub(crate) fn pointer(&self) -> P {
        P(core::ptr::from_ref(self).addr())
    }
}

/// The statements of a function.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Statements {
    site: &'static Site,
    places: &'static [Place],
    /// The row of the first statement, or one of the values below.
    first: AtomicUsize,
    /// `NEW`, or `LABELLED`: the log has the labels.
    labels: Word,
    next: Link<Statements>,
}

/// If the layout changes, the number in the section's name does too.
const _: () = assert!(usize::BITS != 64 || size_of::<Statements>() == 48);

/// No row has these numbers, or one that follows them.
const UNDECIDED: usize = usize::MAX >> 1;
const EXCLUDED: usize = UNDECIDED + (1 << 24);

const LABELLED: usize = 1;

/// The rows of the statements that measure the recorder; the others follow.
pub(crate) const OWN_ROW_COUNT: usize = 9;
static ROW_NEXT: AtomicUsize = AtomicUsize::new(OWN_ROW_COUNT);
/// The rows where the linker does not tell how many statements the program has. Miri looks at all
/// memory again and again.
const ROW_COUNT_UNKNOWN: usize = if cfg!(miri) { 1 << 6 } else { 1 << 16 };
/// Threads that meet a function at once each take rows for it. One of them uses its rows.
const ROW_COUNT_SPARE: usize = 1024;

/// Those that have rows.
static DECIDED: Link<Statements> = Link::none();

impl Linked for Statements {
    fn next(&self) -> &Link<Statements> {
        &self.next
    }
}

impl Statements {
    /// Makes them. For the code that `#[profiled]` makes.
    #[must_use]
    pub const fn new(site: &'static Site, places: &'static [Place]) -> Statements {
        Statements::with_rows(site, places, UNDECIDED, NEW)
    }

    /// Makes those that measure the recorder, which no log has.
    pub(crate) const fn own(site: &'static Site, places: &'static [Place]) -> Statements {
        Statements::with_rows(site, places, 0, LABELLED)
    }

    const fn with_rows(
        site: &'static Site,
        places: &'static [Place],
        first: usize,
        labels: usize,
    ) -> Statements {
        let (first, labels) = (AtomicUsize::new(first), Word::new(labels));
        Statements { site, places, first, labels, next: Link::none() }
    }

    /// Returns the site of the function.
    #[must_use]
    #[inline(always)]
    pub const fn site(&self) -> &'static Site {
        self.site
    }

    /// Returns whether they measure the recorder.
    pub(crate) fn is_own(&self) -> bool {
        self.row(0) == 0
    }

    /// Returns the row of a statement, if it has one.
    #[inline(always)]
    pub(crate) fn row(&self, statement: usize) -> usize {
        self.first.load(Ordering::Relaxed).wrapping_add(statement)
    }

    #[inline(always)]
    pub(crate) fn place(&self, statement: usize) -> Option<&'static Place> {
        self.places.get(statement)
    }

    /// Returns the places with their rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, &'static Place)> {
        self.places.iter().enumerate().map(|(statement, place)| (self.row(statement), place))
    }

    fn is_excluded_by_filter(&self) -> bool {
        decision::word_of(&[self.site.path()]) & word::CHOICE == word::NONE
    }

    /// Asks the filter, and gives the statements rows, if no block did so before. Returns whether
    /// they have rows.
    #[cold]
    pub(crate) fn decide(&'static self) -> bool {
        if self.first.load(Ordering::Relaxed) == UNDECIDED {
            let first = match self.is_excluded_by_filter() {
                true => EXCLUDED,
                false => ROW_NEXT.fetch_add(self.places.len(), Ordering::Relaxed),
            };
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            let decided = self.first.compare_exchange(UNDECIDED, first, success, failure);
            if decided.is_ok() && first != EXCLUDED {
                DECIDED.push(self);
            }
        }
        let has_rows = self.first.load(Ordering::Relaxed) < UNDECIDED;
        if has_rows {
            self.label();
        }
        has_rows
    }

    /// Labels the statements, once. Returns whether the log has the labels: it lacks them if this
    /// call interrupts the runtime. What the caller records then is later than the labels.
    pub(crate) fn label(&self) -> bool {
        let tell = |name: Name<'_>| self.places.iter().all(|place| self.tell(place, name));
        self.labels.settle() != NEW || self.labels.name(LABELLED, tell) != NEW
    }

    /// Labels one statement, unless it is not in the program. Returns false if that must wait.
    fn tell(&self, place: &Place, name: Name<'_>) -> bool {
        let (path, file) = (self.site.path(), self.site.file());
        let Place { line, column, offset, size } = *place;
        if file.is_empty() {
            return name(place.pointer().0, path.as_bytes(), Source::default());
        }
        let source = Source { line, column, offset, size: size & !Place::WAITS, file };
        line == 0 || with_label(path, line, column, |label| name(place.pointer().0, label, source))
    }
}

/// Passes on `path:line:column`, with the end of a long path cut off.
fn with_label<T>(path: &str, line: u32, column: u32, work: impl FnOnce(&[u8]) -> T) -> T {
    const SIZE_MAX: usize = 1024;
    const PLACE_SIZE_MAX: usize = 22;
    let mut text = [0; SIZE_MAX];
    let mut rest = &mut text[..];
    let path = &path[..path.floor_char_boundary(SIZE_MAX - PLACE_SIZE_MAX)];
    // There is room for it.
    let _ = write!(rest, "{path}:{line}:{column}");
    let size = SIZE_MAX - rest.len();
    work(&text[..size])
}

/// Returns the statements that have rows.
pub(crate) fn decided() -> impl Iterator<Item = &'static Statements> {
    DECIDED.iter()
}

fn all() -> impl Iterator<Item = &'static Statements> {
    // SAFETY: S1: `__statements!` alone puts statics into the section, all of them of the type
    // `Statements`, whose size is a multiple of its alignment.
    let compiled: &[Statements] = unsafe { Section::Statements.all() };
    compiled.iter()
}

/// Returns the number of rows of a table.
pub(crate) fn row_count() -> usize {
    match all().map(|statements| statements.places.len()).sum() {
        0 => ROW_COUNT_UNKNOWN,
        count => OWN_ROW_COUNT + 2 * count + ROW_COUNT_SPARE,
    }
}

/// Labels the statements of all functions that the filter includes, once.
pub(crate) fn label_all() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.load(Ordering::Relaxed) {
        return;
    }
    let is_included = |statements: &&Statements| match statements.first.load(Ordering::Relaxed) {
        UNDECIDED => !statements.is_excluded_by_filter(),
        first => first < UNDECIDED,
    };
    let others = all().filter(is_included);
    let is_done = others.fold(true, |all, statements| all & statements.label());
    IS_DONE.store(is_done, Ordering::Relaxed);
}

/// Makes the statements of a function that the program has found: one at a place. `None`: no table
/// has a row for it.
pub(crate) fn make(function: &str, file: &str, place: [u32; 4]) -> Option<&'static Statements> {
    if ROW_NEXT.load(Ordering::Relaxed) >= row_count() {
        return None;
    }
    let site = site::shared(function, file);
    let places = core::slice::from_ref(&*Box::leak(Box::new(Place::new(place))));
    Some(Box::leak(Box::new(Statements::new(site, places))))
}

/// Makes the statements of the function that it stands in: `__statements!(SITE_EXPRESSION, [[line,
/// column, offset, size], …])` is an expression of the type `&'static Statements`.
#[doc(hidden)]
#[macro_export]
macro_rules! __statements {
    ($site:expr, [$($place:tt),* $(,)?]) => {{
        // A static: the compiler may give equal constants one address, and so would mix the
        // statements of functions that one macro makes.
        static PLACES: [$crate::__private::Place; [$($place),*].len()] =
            [$($crate::__private::Place::new($place)),*];
        $crate::__collected! {
            statements static __STATEMENTS: $crate::__private::Statements =
                $crate::__private::Statements::new($site, &PLACES);
        }
        &__STATEMENTS
    }};
}
