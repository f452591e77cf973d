//! An answer of one or more tables in the form that a command line asks for.
//!
//! ```text
//!  Sheet: a table and its name ─┬─ CSV: one of them
//!  Around: lines, facts ────────┼─ JSON: { facts, "rows": […], "kinds": […] }
//!  --sort, --top ───────────────┴─ text: those with rows, one after the other
//! ```
//!
//! Design: `design/output.md`.

use super::Table;
use crate::Stop;
use crate::fields::escaped;
use crate::units::{self, number};
use serde_json::Value;
use std::io::{self, Write};

/// How a table is shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Form {
    /// The column by which rows are ordered: the greatest number first, texts by their letters
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,

    /// Print at most N rows
    #[arg(long, value_name = "N", alias = "limit")]
    pub top: Option<usize>,

    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Print JSON, for other programs
    #[arg(long)]
    pub json: bool,
}

/// What stands around the tables of an answer.
#[derive(Debug, Default)]
pub struct Around {
    /// Lines before the tables, for people.
    pub before: String,
    /// The line in place of empty tables.
    pub none: &'static str,
    /// Lines after the tables, for people.
    pub after: String,
    /// Members of the JSON next to the rows.
    pub facts: Value,
}

/// A table among others of an answer.
pub struct Sheet<'t> {
    /// The member of the JSON that its rows are.
    pub name: &'static str,
    /// The rows.
    pub table: Table<'t>,
    /// Lines before its columns, and after them.
    before: String,
    after: String,
    /// Rows for people, at most.
    most: usize,
    /// Whether its rows stay together, in their order.
    is_whole: bool,
}

impl<'t> Sheet<'t> {
    /// Returns a sheet whose rows are this member of the JSON. A line is empty before its columns.
    pub fn new(name: &'static str, table: Table<'t>) -> Sheet<'t> {
        let (before, after) = ("\n".to_owned(), String::new());
        Sheet { name, table, before, after, most: usize::MAX, is_whole: false }
    }

    /// Has these lines before its columns, and after them.
    pub fn between(self, before: String, after: String) -> Sheet<'t> {
        Sheet { before, after, ..self }
    }

    /// Shows people at most this number of rows.
    pub fn most(self, most: usize) -> Sheet<'t> {
        Sheet { most, ..self }
    }

    /// Has rows that `--sort` and `--top` leave as they are: the parts of a whole.
    pub fn whole(self) -> Sheet<'t> {
        Sheet { is_whole: true, ..self }
    }

    fn write(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let more = self.table.rows.len().saturating_sub(self.most);
        self.table.rows.truncate(self.most);
        out.extend_from_slice(self.before.as_bytes());
        self.table.write(out)?;
        if more > 0 {
            writeln!(out, "and {} more; --json prints all", number(more as u64))?;
        }
        out.extend_from_slice(self.after.as_bytes());
        Ok(())
    }
}

impl Form {
    /// Returns whether the answer is for people.
    pub fn is_text(&self) -> bool {
        !self.csv && !self.json
    }

    /// Orders the rows of a table, and leaves out those that are not wanted.
    ///
    /// # Errors
    ///
    /// The table lacks the column of `--sort`.
    pub fn arrange(&self, table: &mut Table<'_>) -> Result<(), Stop> {
        let is_sorted = self.sort.as_ref().is_none_or(|column| table.sort(column));
        table.rows.truncate(self.top.unwrap_or(usize::MAX));
        let wrong = || {
            let (name, names) = (self.sort.as_deref().unwrap_or_default(), table.names());
            Stop::Message(format!("--sort: the table has no column {name:?}, but {names}"))
        };
        if is_sorted { Ok(()) } else { Err(wrong()) }
    }

    /// Returns a table in this form.
    ///
    /// # Errors
    ///
    /// The table lacks the column of `--sort`.
    pub fn answer(&self, table: Table<'_>, around: Around) -> Result<Vec<u8>, Stop> {
        let sheet = Sheet::new("rows", table).between(String::new(), String::new());
        self.answer_all("rows", vec![sheet], around)
    }

    /// Returns tables in this form: CSV has the one of this name alone.
    ///
    /// # Errors
    ///
    /// None of them has the column of `--sort`.
    pub fn answer_all(
        &self,
        csv: &str,
        mut sheets: Vec<Sheet<'_>>,
        around: Around,
    ) -> Result<Vec<u8>, Stop> {
        if self.csv {
            sheets.retain(|sheet| sheet.name == csv);
        }
        let mut others = Vec::new();
        let (mut stop, mut is_sorted) = (None, false);
        for sheet in sheets.iter_mut().filter(|sheet| !sheet.is_whole) {
            match self.arrange(&mut sheet.table) {
                Ok(()) => is_sorted = true,
                Err(why) if sheet.name == csv => stop = Some(why),
                Err(_) => others.push(format!("{}: {}", sheet.name, sheet.table.names())),
            }
        }
        if let Some(Stop::Message(why)) = stop.filter(|_| !is_sorted) {
            let others = others.iter().map(|names| format!("; {names}")).collect::<String>();
            return Err(Stop::Message(why + &others));
        }
        if self.csv {
            return Ok(sheets.first().map(|sheet| sheet.table.csv()).unwrap_or_default());
        }
        if self.json {
            let mut all = around.facts;
            sheets.iter().for_each(|sheet| all[sheet.name] = sheet.table.json());
            return Ok(escaped(&format!("{all:#}\n")).into_bytes());
        }
        let mut text = around.before.into_bytes();
        sheets.retain(|sheet| !sheet.table.rows.is_empty());
        if sheets.is_empty() && !around.none.is_empty() {
            writeln!(text, "{}", around.none)?;
        }
        for mut sheet in sheets {
            sheet.write(&mut text)?;
        }
        text.extend_from_slice(around.after.as_bytes());
        Ok(if units::is_ascii_terminal() { units::ascii(&text) } else { text })
    }
}
