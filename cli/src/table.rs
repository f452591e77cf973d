//! A table whose columns are as wide as their cells.
//!
//! ```text
//!  kind     events    bytes
//!  Arena       120     4800      the first column to the left, numbers to the right
//! ```

use std::fmt::{Display, Formatter, Result, Write};

/// Rows of cells; the first row is the heading.
pub struct Table {
    /// All cells, one after the other: a table may have a million rows.
    cells: String,
    /// Where each cell ends in `cells`.
    cell_ends: Vec<usize>,
    /// Where each row ends in `cell_ends`.
    row_ends: Vec<usize>,
    /// Number of columns, from the first, that are aligned to the left.
    left_count: usize,
    /// Whether the last column is aligned to the left too.
    is_end_left: bool,
}

impl Table {
    /// Returns a table with a heading, whose first `left_count` columns are aligned to the left.
    pub fn new(left_count: usize, heading: &[impl AsRef<str>]) -> Table {
        let mut table = Table {
            cells: String::new(),
            cell_ends: Vec::new(),
            row_ends: Vec::new(),
            left_count,
            is_end_left: false,
        };
        table.row(heading);
        table
    }

    /// Aligns the last column to the left.
    pub fn end_left(&mut self) {
        self.is_end_left = true;
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        for cell in cells {
            self.cells.push_str(cell.as_ref());
            self.cell_ends.push(self.cells.len());
        }
        self.row_ends.push(self.cell_ends.len());
    }

    /// Returns whether the table has no row below its heading.
    pub fn is_empty(&self) -> bool {
        self.row_ends.len() <= 1
    }

    /// Returns the cells of each row.
    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        let (mut cell_begin, mut row_begin) = (0, 0);
        self.row_ends.iter().map(move |&row_end| {
            let ends = self.cell_ends.get(row_begin..row_end).unwrap_or_default();
            let mut begin = cell_begin;
            (cell_begin, row_begin) = (ends.last().copied().unwrap_or(cell_begin), row_end);
            ends.iter().map(move |&end| {
                self.cells.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default()
            })
        })
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut widths: Vec<usize> = Vec::new();
        for row in self.rows() {
            for (column, cell) in row.enumerate() {
                let width = cell.chars().count();
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        let mut line = String::new();
        for row in self.rows() {
            line.clear();
            for (column, (cell, &width)) in row.zip(&widths).enumerate() {
                let is_end = column + 1 == widths.len();
                if column < self.left_count || self.is_end_left && is_end {
                    write!(line, "{cell:<width$}  ")?;
                } else {
                    write!(line, "{cell:>width$}  ")?;
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
