//! A statement that a program finds while it runs: that of a script.
//!
//! ```text
//!  Statement::new("::shop::sell", "shop.tcl", …) ─▶ a place    begin() ─▶ a block of it
//! ```
//!
//! Design: `.statements.made` in `design/statements.md`.

use crate::block::{self, Block};
use crate::statement::{self, Statements};

/// A statement that the compiler does not know. Its facts stay in memory as long as the program
/// runs: so make it once for each place.
///
/// ```
/// // The function, the file; line, column, offset and size.
/// let sell = calls::Statement::new("::shop::sell", "shop.tcl", [7, 5, 120, 11]).expect("room");
/// let open = sell.begin();
/// // The statement runs.
/// drop(open);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    statements: &'static Statements,
    index: usize,
}

impl Statement {
    /// Makes a statement of a function in a file. Its place is a line and a column from 1, an
    /// offset and a size in bytes; a size of 0 is unknown. Without a file the function's name
    /// names the statement, and the place counts for nothing. Returns `None` if the tables of
    /// threads have no row for it: a program has at least 1,000 for such statements, and 65,000 if
    /// it has no others.
    #[must_use]
    pub fn new(function: &str, file: &str, place: [u32; 4]) -> Option<Statement> {
        Some(Statement { statements: statement::make(function, file, place)?, index: 0 })
    }

    /// Begins the statement. The drop of the result ends it.
    #[inline]
    pub fn begin(self) -> Block {
        block::block(self.statements, self.index)
    }

    /// Returns one of a function's statements.
    pub(crate) fn of(statements: &'static Statements, index: usize) -> Statement {
        Statement { statements, index }
    }
}
