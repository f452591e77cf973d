//! The answer to a query: aligned columns, CSV, or JSON lines.
//!
//! ```text
//!  name     count │ name,count  │ {"name":"symbols","count":3}
//!  symbols      3 │ symbols,3   │
//! ```
//!
//! The first rows decide how wide columns are. Design: `.cnv.query` in `design/eventcnv.md`; CSV:
//! RFC 4180; JSON: RFC 8259.

use crate::show::json;
use crate::text;
use cli::fields::csv_field;
use eventlog::format::text::OneLine;
use rusqlite::types::ValueRef;
use std::io::{self, Write};

/// Rows that decide the width of columns, and the bytes that they may take.
const ROW_COUNT: usize = 1000;
const SIZE_MAX: usize = 1 << 22;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Columns,
    Csv,
    Json,
}

/// Prints rows.
pub(crate) struct Answer<'o> {
    form: Form,
    names: Vec<String>,
    out: &'o mut dyn Write,
    line: Vec<u8>,
    /// The first rows of aligned columns: the cells, and whether they are numbers.
    first: Vec<Vec<(String, bool)>>,
    first_size: usize,
    /// The width of each column, and whether it is aligned to the right, once decided.
    columns: Option<Vec<(usize, bool)>>,
}

impl<'o> Answer<'o> {
    /// Begins an answer with these columns.
    pub(crate) fn new(
        form: Form,
        names: Vec<String>,
        out: &'o mut dyn Write,
    ) -> io::Result<Answer<'o>> {
        let (first, line) = (Vec::new(), Vec::new());
        let mut answer = Answer { form, names, out, line, first, first_size: 0, columns: None };
        if form == Form::Csv {
            let names: Vec<_> = answer.names.iter().map(|name| name.as_bytes().to_vec()).collect();
            answer.csv(names.iter().map(|name| ValueRef::Text(name)))?;
        }
        Ok(answer)
    }

    /// Prints a row, or keeps it until the widths of the columns are decided.
    pub(crate) fn row<'r>(&mut self, values: impl Iterator<Item = ValueRef<'r>>) -> io::Result<()> {
        match self.form {
            Form::Csv => self.csv(values),
            Form::Json => self.json(values),
            Form::Columns => {
                let row: Vec<(String, bool)> = values.map(cell).collect();
                if let Some(columns) = &self.columns {
                    return aligned(self.out, &row, columns, &mut self.line);
                }
                self.first_size += row.iter().map(|(cell, _)| cell.len() + 32).sum::<usize>();
                self.first.push(row);
                let is_enough = self.first.len() >= ROW_COUNT || self.first_size >= SIZE_MAX;
                if is_enough { self.print_first() } else { Ok(()) }
            }
        }
    }

    /// Prints the rows that were kept.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.form == Form::Columns && self.columns.is_none() {
            self.print_first()?;
        }
        self.out.flush()
    }

    fn print_first(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.first);
        let column = |(index, name): (usize, &String)| {
            let cells = || rows.iter().filter_map(|row| row.get(index));
            let width = cells().map(|(cell, _)| cell.chars().count()).max().unwrap_or(0);
            (width.max(name.chars().count()), cells().all(|(_, is_number)| *is_number))
        };
        let columns: Vec<_> = self.names.iter().enumerate().map(column).collect();
        let names: Vec<_> =
            self.names.iter().map(|name| (OneLine(name.as_bytes()).to_string(), true)).collect();
        aligned(self.out, &names, &columns, &mut self.line)?;
        for row in &rows {
            aligned(self.out, row, &columns, &mut self.line)?;
        }
        self.columns = Some(columns);
        Ok(())
    }

    fn csv<'r>(&mut self, values: impl Iterator<Item = ValueRef<'r>>) -> io::Result<()> {
        self.line.clear();
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.line.push(b',');
            }
            match value {
                ValueRef::Null => {}
                ValueRef::Text(text) => csv_field(&mut self.line, text),
                value => self.line.extend_from_slice(cell(value).0.as_bytes()),
            }
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    fn json<'r>(&mut self, values: impl Iterator<Item = ValueRef<'r>>) -> io::Result<()> {
        self.line.clear();
        for (index, (value, name)) in values.zip(&self.names).enumerate() {
            self.line.push(if index == 0 { b'{' } else { b',' });
            json::string(&mut self.line, name.as_bytes());
            self.line.push(b':');
            match value {
                ValueRef::Text(text) => json::string(&mut self.line, text),
                ValueRef::Null => self.line.extend_from_slice(b"null"),
                ValueRef::Real(value) => json::real(&mut self.line, value),
                ValueRef::Blob(_) => json::string(&mut self.line, cell(value).0.as_bytes()),
                value => self.line.extend_from_slice(cell(value).0.as_bytes()),
            }
        }
        self.line.extend_from_slice(b"}\n");
        self.out.write_all(&self.line)
    }
}

/// Returns a value as text, and whether it is a number or NULL.
fn cell(value: ValueRef<'_>) -> (String, bool) {
    match value {
        ValueRef::Null => ("NULL".to_owned(), true),
        ValueRef::Integer(value) => (value.to_string(), true),
        ValueRef::Real(value) => (format!("{value:?}"), true),
        ValueRef::Text(text) => (OneLine(text).to_string(), false),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            (hex, false)
        }
    }
}

fn aligned(
    out: &mut dyn Write,
    row: &[(String, bool)],
    columns: &[(usize, bool)],
    line: &mut Vec<u8>,
) -> io::Result<()> {
    line.clear();
    for (index, ((cell, _), (width, is_right))) in row.iter().zip(columns).enumerate() {
        let space = width.saturating_sub(cell.chars().count());
        text::pad(line, if index > 0 { 2 } else { 0 } + if *is_right { space } else { 0 });
        line.extend_from_slice(cell.as_bytes());
        text::pad(line, if *is_right { 0 } else { space });
    }
    let end = line.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    line.truncate(end);
    line.push(b'\n');
    out.write_all(line)
}
