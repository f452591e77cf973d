//! Functions with `#[path]`: their graphs, once in the log, and the letters of each call.
//!
//! ```text
//!  first call ─▶ numbers; graph and plan ─▶ strings of the store, which are never overwritten
//!  Frame::enter ─ Witness first │ at(n) ─ Witness first + n │ drop ─ Witness first + 1, or Unwound
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

use core::sync::atomic::{AtomicUsize, Ordering};
use eventdef::path::{GRAPH, Unwound, Witness};
use std::io::Write;
use std::thread::panicking;
use telemetry::{StringId, event};

/// Bytes of a string of a graph, at most.
const PART_SIZE_MAX: usize = 2048;
/// Bytes of the path of a function, at most.
const NAME_SIZE_MAX: usize = 1024;
/// The number that the next function gets. 0 is the number of none.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A function's static facts.
#[derive(Debug)]
pub struct Marked {
    /// The number of its first element; 0: it has not run yet.
    first: AtomicUsize,
    path: fn() -> &'static str,
    count: u32,
    text: &'static str,
}

impl Marked {
    /// Makes the facts: the compiler's path, the number of elements, the graph and the plan.
    #[must_use]
    pub const fn new(path: fn() -> &'static str, count: u32, text: &'static str) -> Marked {
        Marked { first: AtomicUsize::new(0), path, count, text }
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        match self.first.load(Ordering::Acquire) {
            0 => self.begin(),
            first => first as u32,
        }
    }

    /// Gives the function its numbers, and tells the log its graph. Of threads that do it at once,
    /// one wins; the strings of the others stand for numbers that no event has.
    #[cold]
    #[inline(never)]
    fn begin(&self) -> u32 {
        let first = NEXT.fetch_add(self.count as usize, Ordering::Relaxed);
        // It interrupts the runtime, or the store is full: the next call tries again, and the
        // letters of this one have no graph.
        if !self.tell(first) {
            return first as u32;
        }
        match self.first.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => first as u32,
            Err(first) => first as u32,
        }
    }

    fn tell(&self, first: usize) -> bool {
        let path = (self.path)();
        let path = path.get(path.len().saturating_sub(NAME_SIZE_MAX)..).unwrap_or("?");
        let parts = self.text.as_bytes().chunks(PART_SIZE_MAX);
        let count = parts.len();
        parts.enumerate().all(|(part, text)| {
            let mut string = [0; PART_SIZE_MAX + NAME_SIZE_MAX + 128];
            let size = string.len();
            let mut rest = &mut string[..];
            let written = writeln!(rest, "{GRAPH}{first} {part} {count} {path}");
            let written = written.and_then(|()| rest.write_all(text));
            let size = size - rest.len();
            written.is_ok() && telemetry::add_string(&string[..size]) != StringId::NONE
        })
    }
}

/// A call of such a function. Its drop ends it.
#[derive(Debug)]
#[must_use]
pub struct Frame {
    first: u32,
    /// Whether the thread was unwinding at the beginning.
    was_unwinding: bool,
}

impl Frame {
    /// Begins a call.
    #[inline(always)]
    pub fn enter(function: &'static Marked) -> Frame {
        let first = function.first();
        event!(Witness, first);
        Frame { first, was_unwinding: panicking() }
    }

    /// Records a witness.
    #[inline(always)]
    pub fn at(&self, number: u32) {
        event!(Witness, self.first.wrapping_add(number));
    }

    /// Records the witness after a value, and returns the value.
    #[inline(always)]
    pub fn around<T>(_before: (), value: T, frame: &Frame, number: u32) -> T {
        frame.at(number);
        value
    }
}

impl Drop for Frame {
    #[inline(always)]
    fn drop(&mut self) {
        if panicking() && !self.was_unwinding {
            event!(Unwound, self.first);
        } else {
            self.at(1);
        }
    }
}

/// Makes the facts of the function that it stands in.
#[doc(hidden)]
#[macro_export]
macro_rules! __marked {
    ($count:literal, $text:literal) => {{
        fn site() -> &'static str {
            $crate::__private::path_of(site)
        }
        $crate::__private::Marked::new(site, $count, $text)
    }};
}
