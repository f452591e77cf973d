//! A table for people and for programs: text, CSV, JSON.
//!
//! ```text
//!  Sheet: heading │ rows of cells ──▶ aligned columns │ a,b,c │ [{"a": …}, …]
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`.

use super::csv;
use crate::text::Real;
use cli::table::Table;
use eventlog::format::text::OneLine;
use serde_json::{Map, Value, json};
use slices::Percentile;
use std::fmt;
use std::io::{self, Write};

/// A value of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    None,
    Text(String),
    Number(u64),
    Real(f64),
    /// A time; `~` marks one that is not exact.
    Percentile(Percentile),
    /// A time that is at most so long; `≤` marks it.
    Bound(u64),
    /// A change, with this number of digits.
    Change(f64, usize),
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Number(number)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::None, Into::into)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Real(value)
    }
}

impl From<Percentile> for Cell {
    fn from(value: Percentile) -> Cell {
        Cell::Percentile(value)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::None => Ok(()),
            Cell::Text(text) => write!(f, "{}", OneLine(text.as_bytes())),
            Cell::Number(number) => write!(f, "{number}"),
            Cell::Bound(number) => write!(f, "≤{number}"),
            Cell::Change(value, digits) => write!(f, "{value:+.digits$}"),
            Cell::Real(value) => write!(f, "{value:.1}"),
            Cell::Percentile(Percentile { ns, is_exact: true }) => write!(f, "{ns}"),
            Cell::Percentile(Percentile { ns, .. }) => write!(f, "~{ns}"),
        }
    }
}

/// Rows of cells below a heading.
pub(crate) struct Sheet {
    heading: Vec<&'static str>,
    /// Number of columns, from the first, that are aligned to the left.
    left_count: usize,
    /// Whether the last column is text.
    is_end_left: bool,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Sheet {
    pub(crate) fn new(left_count: usize, heading: &[&'static str]) -> Sheet {
        Sheet { heading: heading.to_vec(), left_count, is_end_left: false, rows: Vec::new() }
    }

    /// Aligns the last column to the left.
    pub(crate) fn end_left(mut self) -> Sheet {
        self.is_end_left = true;
        self
    }

    /// Removes columns of this name and all after it that count nothing.
    pub(crate) fn hide_zeros(&mut self, from: &str) {
        let first = self.heading.iter().position(|name| *name == from).unwrap_or(usize::MAX);
        let is_zero = |cell: Option<&Cell>| matches!(cell, Some(Cell::Number(0)));
        self.hide(|at, _, rows| at >= first && rows.iter().all(|row| is_zero(row.get(at))));
    }

    /// Removes columns of these names in which no row has anything.
    pub(crate) fn hide_empty(&mut self, names: &[&str]) {
        let is_empty = |cell: Option<&Cell>| match cell {
            None | Some(Cell::None | Cell::Number(0)) => true,
            Some(Cell::Text(text)) => text.is_empty(),
            _ => false,
        };
        self.hide(|at, name, rows| {
            names.contains(&name) && rows.iter().all(|row| is_empty(row.get(at)))
        });
    }

    /// Removes the columns for which `is_hidden` is true: by index, name, and rows.
    pub(crate) fn hide(&mut self, is_hidden: impl Fn(usize, &str, &[Vec<Cell>]) -> bool) {
        let columns = self.heading.iter().enumerate();
        let is_kept: Vec<bool> =
            columns.map(|(at, name)| !is_hidden(at, name, &self.rows)).collect();
        let left = is_kept.get(..self.left_count).unwrap_or(&is_kept);
        self.left_count = left.iter().filter(|is_kept| **is_kept).count();
        self.is_end_left &= is_kept.last() == Some(&true);
        let keep = |at: usize| is_kept.get(at).copied().unwrap_or(true);
        let mut at = 0..;
        self.heading.retain(|_| at.next().is_some_and(keep));
        for row in &mut self.rows {
            let mut at = 0..;
            row.retain(|_| at.next().is_some_and(keep));
        }
    }

    /// Puts the rows in the order of a column: the greatest number first, and texts by their
    /// letters. Equal ones stay in their order.
    pub(crate) fn sort(&mut self, column: &str) -> Result<(), String> {
        let is_it = |name: &str| name.replace(' ', "_") == column.replace(' ', "_");
        let Some(at) = self.heading.iter().position(|name| is_it(name)) else {
            return Err(format!(
                "the table has no column {column:?}, but {}",
                self.heading.join(", ")
            ));
        };
        let number = |row: &Vec<Cell>| match row.get(at) {
            Some(Cell::Number(number) | Cell::Bound(number)) => *number as f64,
            Some(Cell::Percentile(found)) => found.ns as f64,
            Some(Cell::Real(value) | Cell::Change(value, _)) => *value,
            Some(Cell::Text(_) | Cell::None) | None => f64::NEG_INFINITY,
        };
        let text = |row: &Vec<Cell>| match row.get(at) {
            Some(Cell::Text(text)) => text.clone(),
            _ => String::new(),
        };
        self.rows
            .sort_by(|a, b| number(b).total_cmp(&number(a)).then_with(|| text(a).cmp(&text(b))));
        Ok(())
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row = Vec::with_capacity(self.heading.len());
        row.extend(cells);
        self.rows.push(row);
    }

    /// Writes aligned columns; `none` if there are no rows. The rows' memory is free before the
    /// text takes its own.
    pub(crate) fn write(self, none: &str, out: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return writeln!(out, "{none}");
        }
        let mut table = Table::new(self.left_count, &self.heading);
        if self.is_end_left {
            table.end_left();
        }
        self.rows.into_iter().for_each(|row| table.row(row.iter().map(Cell::to_string)));
        write!(out, "{table}")
    }

    pub(crate) fn csv(&self) -> Vec<u8> {
        let mut out = self.heading.join(",").replace(' ', "_").into_bytes();
        out.push(b'\n');
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                match cell {
                    Cell::Text(text) => csv::field(&mut out, text.as_bytes()),
                    Cell::Percentile(found) => out.extend(found.ns.to_string().bytes()),
                    Cell::Bound(number) => out.extend(number.to_string().bytes()),
                    Cell::Change(value, digits) => out.extend(format!("{value:.digits$}").bytes()),
                    Cell::Real(value) => out.extend(value.to_string().bytes()),
                    cell => out.extend(cell.to_string().bytes()),
                }
            }
            out.push(b'\n');
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let value = |cell: &Cell| match cell {
            Cell::None => Value::Null,
            Cell::Text(text) => json!(text),
            Cell::Number(number) | Cell::Bound(number) => json!(number),
            Cell::Real(value) => json!(Real(*value)),
            Cell::Change(value, 0) => json!(*value as i64),
            Cell::Change(value, _) => json!(Real(*value)),
            Cell::Percentile(found) => json!(found.ns),
        };
        let row = |row: &Vec<Cell>| {
            let names = self.heading.iter().map(|name| name.replace(' ', "_"));
            Value::Object(names.zip(row.iter().map(value)).collect::<Map<_, _>>())
        };
        self.rows.iter().map(row).collect()
    }
}
