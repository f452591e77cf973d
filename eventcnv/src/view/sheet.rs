//! A table for people and for programs: text, CSV, JSON.
//!
//! ```text
//!  Sheet: heading │ rows of cells ──▶ aligned columns │ a,b,c │ [{"a": …}, …]
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`.

use super::csv;
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
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Sheet {
    pub(crate) fn new(left_count: usize, heading: &[&'static str]) -> Sheet {
        Sheet { heading: heading.to_vec(), left_count, rows: Vec::new() }
    }

    /// Removes columns of this name and all after it that count nothing.
    pub(crate) fn hide_zeros(&mut self, from: &str) {
        let first = self.heading.iter().position(|name| *name == from).unwrap_or(usize::MAX);
        let is_kept: Vec<bool> = (0..self.heading.len())
            .map(|at| {
                let is_zero = |row: &Vec<Cell>| matches!(row.get(at), Some(Cell::Number(0)));
                at < first || !self.rows.iter().all(is_zero)
            })
            .collect();
        let keep = |at: usize| is_kept.get(at).copied().unwrap_or(true);
        let mut at = 0..;
        self.heading.retain(|_| at.next().is_some_and(keep));
        for row in &mut self.rows {
            let mut at = 0..;
            row.retain(|_| at.next().is_some_and(keep));
        }
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
            Cell::Number(number) => json!(number),
            Cell::Real(value) => json!(value),
            Cell::Percentile(found) => json!(found.ns),
        };
        let row = |row: &Vec<Cell>| {
            let names = self.heading.iter().map(|name| name.replace(' ', "_"));
            Value::Object(names.zip(row.iter().map(value)).collect::<Map<_, _>>())
        };
        self.rows.iter().map(row).collect()
    }
}
