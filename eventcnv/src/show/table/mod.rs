//! The table that a command answers with, and how it is shown: text, CSV, JSON.
//!
//! ```text
//!  Column: name, unit │ rows of cells ─ --sort, --top ─┬▶ aligned text    own        p99
//!                                                      │                  1.20 ms    40.1 µs
//!                                                      ├▶ CSV             own_ns,p99_ns
//!                                                      └▶ JSON            [{"own_ns": …}, …]
//! ```
//!
//! Design: `design/output.md`.

pub(crate) mod cell;

pub(crate) use crate::show::table::cell::Cell;

use crate::show::{csv, json};
use cli::Stop;
use cli::units::number;
use eventlog::reader::ClockBase;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Text, aligned to the left.
    Text,
    /// A count, a number, a number without a unit.
    Number,
    /// A time in ns; in ticks, if the log does not state their length.
    Time,
    /// A part of a whole.
    Percent,
    /// A number for each second.
    Rate,
}

/// In which tables for people a column is; tables for programs have all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Always,
    /// If a row has something in it.
    IfAny,
    Never,
}

/// A column: its name in words, and what its values are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'t> {
    name: &'t str,
    title: Option<&'t str>,
    unit: Unit,
    shown: Shown,
}

/// Returns a column of text.
pub(crate) const fn text(name: &str) -> Column<'_> {
    Column { name, title: None, unit: Unit::Text, shown: Shown::Always }
}

/// Returns a column of counts.
pub(crate) const fn count(name: &str) -> Column<'_> {
    Column { unit: Unit::Number, ..text(name) }
}

/// Returns a column of times.
pub(crate) const fn time(name: &str) -> Column<'_> {
    Column { unit: Unit::Time, ..text(name) }
}

/// Returns a column of parts of a whole.
pub(crate) const fn percent(name: &str) -> Column<'_> {
    Column { unit: Unit::Percent, ..text(name) }
}

/// Returns a column of numbers for each second.
pub(crate) const fn rate(name: &str) -> Column<'_> {
    Column { unit: Unit::Rate, ..text(name) }
}

impl<'t> Column<'t> {
    /// Has another title than its name in a table for people.
    pub(crate) const fn titled(self, title: &'t str) -> Column<'t> {
        Column { title: Some(title), ..self }
    }

    /// Is in a table for people only if a row has something in it.
    pub(crate) const fn if_any(self) -> Column<'t> {
        Column { shown: Shown::IfAny, ..self }
    }

    /// Is in tables for programs alone.
    pub(crate) const fn for_programs(self) -> Column<'t> {
        Column { shown: Shown::Never, ..self }
    }

    fn title(&self) -> String {
        match (self.title, self.unit) {
            (Some(title), _) => title.to_owned(),
            (None, Unit::Percent) => format!("{} %", self.name),
            (None, Unit::Rate) => format!("{}/s", self.name),
            (None, _) => self.name.to_owned(),
        }
    }

    /// Returns the name for programs: `without beginning` is `without_beginning`, a time has the
    /// suffix of its unit.
    fn field(&self, is_ticks: bool) -> String {
        let suffix = match self.unit {
            Unit::Text | Unit::Number => "",
            Unit::Time if is_ticks => "_ticks",
            Unit::Time => "_ns",
            Unit::Percent => "_percent",
            Unit::Rate => "_per_s",
        };
        // A time that has no other name is called by its unit.
        (snake(self.name) + suffix).trim_start_matches('_').to_owned()
    }
}

fn snake(name: &str) -> String {
    name.replace([' ', '.'], "_").to_lowercase()
}

/// Rows of cells in columns.
pub(crate) struct Table<'t> {
    columns: Vec<Column<'t>>,
    is_ticks: bool,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl<'t> Table<'t> {
    /// Returns a table whose times are in ns.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column<'t>>) -> Table<'t> {
        Table { columns: columns.into_iter().collect(), is_ticks: false, rows: Vec::new() }
    }

    /// Has the times of a log with this clock.
    pub(crate) fn of(mut self, base: ClockBase) -> Table<'t> {
        self.is_ticks = base == ClockBase::Ticks;
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row = Vec::with_capacity(self.columns.len());
        row.extend(cells);
        self.rows.push(row);
    }

    /// Returns the names of the columns for programs.
    fn fields(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.field(self.is_ticks)).collect()
    }

    /// Puts the rows in the order of a column: the greatest number first, and texts by their
    /// letters. Empty cells come last, and equal ones stay in their order.
    fn sort(&mut self, name: &str) -> Result<(), String> {
        let (fields, wanted) = (self.fields(), snake(name));
        let by_name = || self.columns.iter().position(|column| snake(column.name) == wanted);
        let found = fields.iter().position(|field| *field == wanted).or_else(by_name);
        let at = found.ok_or_else(|| {
            format!("--sort: the table has no column {name:?}, but {}", fields.join(", "))
        })?;
        self.rows.sort_by(|a, b| match (a.get(at), b.get(at)) {
            (Some(Cell::Text(a)), Some(Cell::Text(b))) => cell::compare(a, b),
            (a, b) => {
                let number = |cell: Option<&Cell>| cell.and_then(Cell::number);
                let [a, b] = [a, b].map(|cell| number(cell).unwrap_or(f64::NEG_INFINITY));
                b.total_cmp(&a)
            }
        });
        Ok(())
    }

    /// Returns the columns that a table for people has.
    fn shown(&self) -> Vec<usize> {
        let is_shown = |at: usize, column: &Column<'_>| match column.shown {
            Shown::Always => true,
            Shown::IfAny => {
                self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_nothing()))
            }
            Shown::Never => false,
        };
        let columns = self.columns.iter().enumerate();
        columns.filter(|(at, column)| is_shown(*at, column)).map(|(at, _)| at).collect()
    }

    /// Writes aligned columns. The rows' memory is free before the text takes its own.
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        let shown = self.shown();
        let columns: Vec<&Column<'_>> =
            shown.iter().filter_map(|at| self.columns.get(*at)).collect();
        let is_left = |column: &&Column<'_>| column.unit == Unit::Text;
        let left_count = columns.iter().take_while(|column| is_left(column)).count();
        let titles: Vec<String> = columns.iter().map(|column| column.title()).collect();
        let mut table = cli::table::Table::new(left_count, &titles);
        if columns.last().is_some_and(is_left) {
            table.end_left();
        }
        for row in self.rows {
            let cell = |(at, column): (&usize, &&Column<'_>)| {
                row.get(*at).map_or_else(String::new, |cell| cell.shown(column.unit, self.is_ticks))
            };
            table.row(shown.iter().zip(&columns).map(cell));
        }
        write!(out, "{table}")
    }

    /// Returns a line of names, and a line for each row.
    pub(crate) fn csv(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, field) in self.fields().iter().enumerate() {
            out.extend((at > 0).then_some(b','));
            csv::field(&mut out, field.as_bytes());
        }
        out.push(b'\n');
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                out.extend((at > 0).then_some(b','));
                cell.csv(&mut out);
            }
            out.push(b'\n');
        }
        out
    }

    /// Returns an object for each row.
    pub(crate) fn json(&self) -> Value {
        let fields = self.fields();
        let row = |row: &Vec<Cell>| {
            let values = fields.iter().cloned().zip(row.iter().map(Cell::json));
            Value::Object(values.collect::<Map<_, _>>())
        };
        self.rows.iter().map(row).collect()
    }
}

/// How a table is shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Form {
    /// The column by which rows are ordered: the greatest number first, texts by their letters
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,

    /// Print at most N rows
    #[arg(long, value_name = "N", alias = "limit")]
    pub(crate) top: Option<usize>,

    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    /// Print JSON, for other programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// What stands around the tables of an answer.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Lines before the tables, for people.
    pub(crate) before: String,
    /// The line in place of empty tables.
    pub(crate) none: &'static str,
    /// Lines after the tables, for people.
    pub(crate) after: String,
    /// Members of the JSON next to the rows.
    pub(crate) facts: Value,
}

/// A table among others of an answer.
pub(crate) struct Sheet<'t> {
    /// The member of the JSON that its rows are.
    name: &'static str,
    table: Table<'t>,
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
    pub(crate) fn new(name: &'static str, table: Table<'t>) -> Sheet<'t> {
        let (before, after) = ("\n".to_owned(), String::new());
        Sheet { name, table, before, after, most: usize::MAX, is_whole: false }
    }

    /// Has these lines before its columns, and after them.
    pub(crate) fn between(self, before: String, after: String) -> Sheet<'t> {
        Sheet { before, after, ..self }
    }

    /// Shows people at most this number of rows.
    pub(crate) fn most(self, most: usize) -> Sheet<'t> {
        Sheet { most, ..self }
    }

    /// Has rows that `--sort` and `--top` leave as they are: the parts of a whole.
    pub(crate) fn whole(self) -> Sheet<'t> {
        Sheet { is_whole: true, ..self }
    }

    fn write(mut self, out: &mut Vec<u8>) -> io::Result<()> {
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
    pub(crate) fn is_text(&self) -> bool {
        !self.csv && !self.json
    }

    /// Orders the rows of a table, and leaves out those that are not wanted.
    pub(crate) fn arrange(&self, table: &mut Table<'_>) -> Result<(), Stop> {
        let sorted = self.sort.as_ref().map_or(Ok(()), |column| table.sort(column));
        table.rows.truncate(self.top.unwrap_or(usize::MAX));
        sorted.map_err(Stop::Message)
    }

    /// Returns a table in this form.
    pub(crate) fn answer(&self, table: Table<'_>, around: Around) -> Result<Vec<u8>, Stop> {
        let sheet = Sheet::new("rows", table).between(String::new(), String::new());
        self.answer_all("rows", vec![sheet], around)
    }

    /// Returns tables in this form: CSV has the one of this name alone. Only that one must have the
    /// column of `--sort`.
    pub(crate) fn answer_all(
        &self,
        csv: &str,
        mut sheets: Vec<Sheet<'_>>,
        around: Around,
    ) -> Result<Vec<u8>, Stop> {
        for sheet in sheets.iter_mut().filter(|sheet| !sheet.is_whole) {
            match self.arrange(&mut sheet.table) {
                Err(stop) if sheet.name == csv => return Err(stop),
                Err(_) | Ok(()) => {}
            }
        }
        if self.csv {
            let sheet = sheets.iter().find(|sheet| sheet.name == csv);
            return Ok(sheet.map(|sheet| sheet.table.csv()).unwrap_or_default());
        }
        if self.json {
            let mut all = around.facts;
            sheets.iter().for_each(|sheet| all[sheet.name] = sheet.table.json());
            return Ok(json::escaped(&format!("{all:#}\n")).into_bytes());
        }
        let mut text = around.before.into_bytes();
        sheets.retain(|sheet| !sheet.table.rows.is_empty());
        if sheets.is_empty() && !around.none.is_empty() {
            writeln!(text, "{}", around.none)?;
        }
        for sheet in sheets {
            sheet.write(&mut text)?;
        }
        text.extend_from_slice(around.after.as_bytes());
        Ok(text)
    }
}

/// Returns the line about the clock of a table's times.
pub(crate) fn clock(base: ClockBase) -> &'static str {
    match base {
        ClockBase::Monotonic => "times by CLOCK_MONOTONIC",
        ClockBase::Realtime => "times by CLOCK_REALTIME",
        ClockBase::Start => "times by the rate that the log states",
        ClockBase::Ticks => "times in ticks: the log does not state their length",
    }
}

#[cfg(test)]
mod tests {
    use super::cell::compare;
    use super::{Cell, Table, count, percent, rate, text, time};
    use eventlog::reader::ClockBase;
    use lens::slices::Percentile;

    fn made() -> Table<'static> {
        let columns = [
            text("place"),
            time("own"),
            percent("own"),
            time("p99.9"),
            rate("calls"),
            count("without beginning").if_any(),
            text("line"),
        ];
        let mut table = Table::new(columns);
        let about = Percentile { ns: 4_000, is_exact: false };
        let cells: [[Cell; 7]; 2] = [
            ["a.rs:10", "x = 1"].map(|text| Cell::from(text.to_owned())),
            ["a.rs:9", "=2"].map(|text| Cell::from(text.to_owned())),
        ]
        .map(|[place, line]| {
            let zero = 0u64.into();
            [place, 1_500_000u64.into(), 12.5.into(), about.into(), 3.0.into(), zero, line]
        });
        cells.into_iter().for_each(|row| table.row(row));
        table
    }

    #[test]
    fn text_csv_and_json_have_the_columns_of_one_table() {
        let mut out = Vec::new();
        made().write(&mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        assert_eq!(
            lines,
            "place        own  own %     p99.9  calls/s  line\n\
             a.rs:10  1.50 ms   12.5  ~4.00 µs     3.00  x = 1\n\
             a.rs:9   1.50 ms   12.5  ~4.00 µs     3.00  =2\n"
        );
        let fields = "place,own_ns,own_percent,p99_9_ns,calls_per_s,without_beginning,line";
        let csv = String::from_utf8(made().csv()).unwrap();
        assert!(csv.starts_with(&format!("{fields}\na.rs:10,1500000,12.5,4000,3,0,x = 1\n")));
        let json = made().json();
        for field in fields.split(',') {
            assert!(!json[0][field].is_null(), "{field}");
        }
        let ticks = String::from_utf8(made().of(ClockBase::Ticks).csv()).unwrap();
        assert!(ticks.starts_with("place,own_ticks,own_percent,p99_9_ticks,"), "{ticks}");
    }

    #[test]
    fn numbers_in_texts_sort_by_value() {
        let mut table = made();
        table.sort("place").unwrap();
        assert!(matches!(&table.rows[0][0], Cell::Text(text) if text == "a.rs:9"));
        table.sort("own percent").unwrap();
        let wrong = table.sort("length").unwrap_err();
        assert!(wrong.contains("no column \"length\", but place, own_ns, own_percent"), "{wrong}");
        let texts = ["a", "a1", "a01b", "a2", "a10", "b"];
        assert!(texts.is_sorted_by(|a, b| compare(a, b).is_lt()));
    }
}
