//! Functions that a program finds while it runs: the procedures of an interpreter.
//!
//! ```text
//!  Function::new("::shop::sell") ─▶ a site, labelled        function.call() ─▶ a call in progress
//! ```
//!
//! Design: `.calls.function` in `design/calls.md`.

use crate::events::CallEnter;
use crate::guard::{self, Call};
use crate::site::{self, Site};
use telemetry::__private::is_recorded;

/// A function that the compiler does not know. Its facts stay in memory as long as the program
/// runs: so make it once for each name.
///
/// ```
/// let sell = calls::Function::new("::shop::sell", Some(("shop.tcl", 7)));
/// let call = sell.call();
/// // The procedure runs.
/// drop(call);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Function(&'static Site);

impl Function {
    /// Makes a function with this path, and its file and line if they are known. If calls are
    /// recorded, the log knows it from now on, called or not.
    #[must_use]
    pub fn new(path: &str, place: Option<(&str, u32)>) -> Function {
        let (file, line) = place.unwrap_or_default();
        let site = site::make(path, file, line);
        if is_recorded::<CallEnter>() {
            guard::decided(site);
        }
        Function(site)
    }

    /// Returns the path.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.0.path()
    }

    /// Begins a call. Calls of one stack end in the reverse order of their beginnings.
    pub fn call(self) -> Call {
        guard::call(self.0)
    }
}
