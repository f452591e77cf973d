//! Records the calls of a program's own functions: callers, counts, times.
//!
//! A program depends on it by one line, here next to a checkout of the repository:
//!
//! ```toml
//! [dependencies]
//! calls = { package = "mps-calls", path = "../event-log/calls" }
//! ```
//!
//! ```
//! use calls::traced;
//!
//! #[traced]
//! mod shop {
//!     pub fn sell(count: u32) -> u32 {
//!         price() * count
//!     }
//!
//!     fn price() -> u32 {
//!         3
//!     }
//! }
//!
//! fn main() {
//!     let mut arguments: Vec<_> = std::env::args_os().collect();
//!     let _turtles = calls::release(&mut arguments);
//!     assert_eq!(shop::sell(2), 6);
//! }
//! ```
//!
//! ```text
//!  #[traced] ─▶ a Site and a guard in each function
//!                │ off: load, test, branch
//!                └ on ─▶ CallEnter … CallLeave ─▶ telemetry, kind `Call` ─▶ log
//! ```
//!
//! Calls are recorded while the kind `Call` is output: by `MPS_TELEMETRY_CONTROL=Call`, by
//! [`release`], by [`control`], or by `eventcnv control`. The log names all functions of
//! the program that the filter includes, also those that were never called, with their files and
//! lines.
//!
//! # Statements
//!
//! [`profiled`] counts and times each statement of a function, in addition:
//!
//! ```
//! #[calls::profiled]
//! fn total(prices: &[u32]) -> u32 {
//!     let mut sum = 0;
//!     for price in prices {
//!         sum += price;
//!     }
//!     sum
//! }
//!
//! assert_eq!(total(&[1, 2]), 3);
//! ```
//!
//! # Paths
//!
//! [`path`](macro@path) records which branches a function took, by the cheapest events that tell
//! it. `eventcnv paths walk LOG -o path.log` finds the path:
//!
//! ```
//! #[calls::path]
//! fn words(text: &[u8]) -> u32 {
//!     let (mut count, mut is_inside) = (0, false);
//!     for byte in text {
//!         if byte.is_ascii_whitespace() {
//!             is_inside = false;
//!         } else if !is_inside {
//!             is_inside = true;
//!             count += 1;
//!         }
//!     }
//!     count
//! }
//!
//! assert_eq!(words(b"to be"), 2);
//! ```
//!
//! # Filter
//!
//! `MPS_TELEMETRY_CALLS` has patterns of paths. The last pattern that fits a function decides:
//!
//! | pattern | records |
//! |---|---|
//! | `shop::*` | each call |
//! | `-shop::hash` | no call |
//! | `db::*>=10us` | calls that took at least that long, when they end; also `ns`, `ms`, `s` |
//! | `net::*%64` | each 64th call, with all calls in it; the others are counted |
//!
//! A function that no pattern fits is not recorded, unless all patterns exclude. A call above a
//! threshold has no beginning in the log: while it runs, the log lacks it.
//!
//! # Platforms
//!
//! Those of `telemetry`, and like it the crate compiles to nothing elsewhere. The linkers of Linux,
//! Android and the BSDs collect all functions; elsewhere the log lacks those that were never
//! called. So it does with those parts of a static library that the linker leaves out:
//! `-Wl,--whole-archive` has a linker take all.
//!
//! The least Rust version is 1.91. The crate has no features.
//!
//! Design: `design/calls.md`.
#![deny(missing_debug_implementations)]

mod atomic;
mod block;
mod body;
mod decision;
mod dynamic;
pub mod events;
mod filter;
mod function;
mod guard;
mod list;
mod marked;
mod options;
pub mod profile;
mod release;
mod row;
mod section;
mod site;
mod statement;
mod switch;
mod table;
mod task;
mod word;

pub use block::Block;
pub use calls_macros::{path, profiled, traced};
pub use dynamic::Statement;
pub use function::Function;
pub use guard::{Call, Current, switch};
pub use options::Options;
pub use profile::pause;
pub use release::{Released, control, release};

/// The code behind [`traced`], [`profiled`] and [`path`](macro@path), and behind the library that
/// `replay` records with.
/// Not an API: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::block::{Block, block};
    pub use crate::body::{apart, is_profiled, is_traced};
    pub use crate::decision::{Decision, report_invalid, tell_filter, word, word_of};
    pub use crate::filter::TIME_UNIT;
    pub use crate::guard::{Call, call};
    pub use crate::marked::{Frame, Marked};
    pub use crate::site::{Site, path_of, register};
    pub use crate::statement::{Place, Statements};
    pub use crate::task::{Task, task};
}
