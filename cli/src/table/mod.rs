//! The table that a command answers with, and how it is shown: text, CSV, JSON, page.
//!
//! ```text
//!  Column: name, unit │ rows of cells ─ --sort, --top ─┬▶ aligned text    own        p99
//!                                                      │                  1.20 ms    40.1 µs
//!                                                      ├▶ CSV             own_ns,p99_ns
//!                                                      ├▶ JSON            [{"own_ns": …}, …]
//!                                                      └▶ page            <th data-field="own_ns">
//! ```
//!
//! Design: `design/output.md`.

mod answer;
mod cell;

pub use answer::{Around, Form, Sheet};
pub use cell::Cell;

use crate::fields::csv_field;
use eventlog::reader::ClockBase;
use maud::{Markup, html};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::{self, Write};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Text, aligned to the left.
    Text,
    /// A count, a number, a number without a unit.
    Number,
    /// A time in ns; in ticks, if the log does not state their length.
    Time,
    /// A size in bytes.
    Bytes,
    /// A number of times.
    Ratio,
    /// A part of a whole.
    Percent,
    /// A number for each second.
    Rate,
}

/// In which tables for people a column is; tables for programs have all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Always,
    /// If a row has something in it.
    IfAny,
    Never,
    /// In no table for programs: a drawing of what other columns have.
    Alone,
}

/// A column: its name in words, and what its values are.
#[derive(Clone, Copy, Debug)]
pub struct Column<'t> {
    name: &'t str,
    title: Option<&'t str>,
    of: Of,
    shown: Shown,
}

/// Returns a column of text.
pub const fn text(name: &str) -> Column<'_> {
    Column { name, title: None, of: Of::Text, shown: Shown::Always }
}

/// Returns a column of counts.
pub const fn count(name: &str) -> Column<'_> {
    Column { of: Of::Number, ..text(name) }
}

/// Returns a column of times.
pub const fn time(name: &str) -> Column<'_> {
    Column { of: Of::Time, ..text(name) }
}

/// Returns a column of sizes in bytes.
pub const fn size(name: &str) -> Column<'_> {
    Column { of: Of::Bytes, ..text(name) }
}

/// Returns a column of numbers of times.
pub const fn ratio(name: &str) -> Column<'_> {
    Column { of: Of::Ratio, ..text(name) }
}

/// Returns a column of parts of a whole.
pub const fn percent(name: &str) -> Column<'_> {
    Column { of: Of::Percent, ..text(name) }
}

/// Returns a column of numbers for each second.
pub const fn rate(name: &str) -> Column<'_> {
    Column { of: Of::Rate, ..text(name) }
}

impl<'t> Column<'t> {
    /// Has another title than its name in a table for people.
    pub const fn titled(self, title: &'t str) -> Column<'t> {
        Column { title: Some(title), ..self }
    }

    /// Is in a table for people only if a row has something in it.
    pub const fn if_any(self) -> Column<'t> {
        Column { shown: Shown::IfAny, ..self }
    }

    /// Is in tables for programs alone.
    pub const fn for_programs(self) -> Column<'t> {
        Column { shown: Shown::Never, ..self }
    }

    /// Is in tables for people alone: a bar.
    pub const fn for_people(self) -> Column<'t> {
        Column { shown: Shown::Alone, ..self }
    }

    fn title(&self) -> String {
        match (self.title, self.of) {
            (Some(title), _) => title.to_owned(),
            (None, Of::Percent) => format!("{} %", self.name),
            (None, Of::Rate) => format!("{}/s", self.name),
            (None, _) => self.name.to_owned(),
        }
    }

    /// Returns the name for programs: `without beginning` is `without_beginning`, a time has the
    /// suffix of its unit.
    fn field(&self, is_ticks: bool) -> String {
        let suffix = match self.of {
            Of::Text | Of::Number | Of::Ratio => "",
            Of::Time if is_ticks => "_ticks",
            Of::Time => "_ns",
            Of::Bytes => "_bytes",
            Of::Percent => "_percent",
            Of::Rate => "_per_s",
        };
        // A time that has no other name is called by its unit.
        (snake(self.name) + suffix).trim_start_matches('_').to_owned()
    }
}

fn snake(name: &str) -> String {
    name.replace([' ', '.'], "_").to_lowercase()
}

/// A column, and what it has of a row.
pub type Each<'t, 'f, R> = (Column<'t>, &'f dyn Fn(&R) -> Cell);

/// Rows of cells in columns.
pub struct Table<'t> {
    columns: Vec<Column<'t>>,
    is_ticks: bool,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

impl<'t> Table<'t> {
    /// Returns a table whose times are in ns.
    pub fn new(columns: impl IntoIterator<Item = Column<'t>>) -> Table<'t> {
        Table { columns: columns.into_iter().collect(), is_ticks: false, rows: Vec::new() }
    }

    /// Returns a table of columns, with what each has of each of the rows.
    pub fn of_each<R>(rows: impl Iterator<Item = R>, columns: &[Each<'t, '_, R>]) -> Table<'t> {
        let mut table = Table::new(columns.iter().map(|(column, _)| *column));
        rows.for_each(|row| table.row(columns.iter().map(|(_, cell)| cell(&row))));
        table
    }

    /// Has the times of a log with this clock.
    pub fn of(mut self, base: ClockBase) -> Table<'t> {
        self.is_ticks = base == ClockBase::Ticks;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row = Vec::with_capacity(self.columns.len());
        row.extend(cells);
        self.rows.push(row);
    }

    /// Returns the columns for programs: their places and names.
    fn fields(&self) -> Vec<(usize, String)> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| column.shown != Shown::Alone);
        columns.map(|(at, column)| (at, column.field(self.is_ticks))).collect()
    }

    /// Puts the rows in the order of a column: the greatest number first, and texts by their
    /// letters. Empty cells come last, and equal ones stay in their order. Returns whether the
    /// table has the column.
    fn sort(&mut self, name: &str) -> bool {
        let (fields, wanted) = (self.fields(), snake(name));
        let is_it =
            |column: &Column<'_>| snake(column.name) == wanted || snake(&column.title()) == wanted;
        let by_name = || self.columns.iter().position(is_it);
        let found = fields.iter().find(|(_, field)| *field == wanted).map(|(at, _)| *at);
        let at = found.or_else(by_name);
        if let Some(at) = at {
            self.rows.sort_by(|a, b| cell::order(a.get(at), b.get(at)));
        }
        at.is_some()
    }

    /// Returns the names that [`Table::sort`] takes: those for programs, and titles that differ.
    fn names(&self) -> String {
        let name = |(at, field): (usize, String)| {
            let column = self.columns.get(at);
            match column.and_then(|column| column.title).filter(|title| !title.is_empty()) {
                Some(title) if snake(title) != field => format!("{field} ({title})"),
                _ => field,
            }
        };
        self.fields().into_iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the columns that a table for people has, and their places.
    fn shown(&self) -> Vec<(usize, Column<'t>)> {
        let has_any = |at: usize| {
            self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_nothing()))
        };
        let is_shown = |(at, column): &(usize, Column<'_>)| match column.shown {
            Shown::Always | Shown::Alone => true,
            Shown::IfAny => has_any(*at),
            Shown::Never => false,
        };
        self.columns.iter().copied().enumerate().filter(is_shown).collect()
    }

    /// Returns the texts of a row in the columns that are shown.
    fn texts(&self, row: &[Cell], shown: &[(usize, Column<'_>)]) -> impl Iterator<Item = String> {
        shown.iter().map(|(at, column)| {
            row.get(*at).map_or_else(String::new, |cell| cell.shown(column.of, self.is_ticks))
        })
    }

    /// Writes aligned columns: texts before the first number and at the end to the left.
    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        let shown = self.shown();
        let mut widths = vec![0; shown.len()];
        // All cells, one after the other, and the end of each: a table may have a million rows.
        let (mut cells, mut ends) = (String::new(), Vec::new());
        let mut add = |texts: &mut dyn Iterator<Item = String>| {
            for (text, width) in texts.zip(&mut widths) {
                *width = text.chars().count().max(*width);
                cells.push_str(&text);
                ends.push(cells.len());
            }
        };
        add(&mut shown.iter().map(|(_, column)| column.title()));
        // The memory of the rows is free before the lines take theirs.
        for row in std::mem::take(&mut self.rows) {
            add(&mut self.texts(&row, &shown));
        }
        let is_left = |(_, column): &(usize, Column<'_>)| column.of == Of::Text;
        let left_count = shown.iter().take_while(|column| is_left(column)).count();
        let (mut line, mut begin) = (String::new(), 0);
        for ends in ends.chunks(shown.len().max(1)) {
            line.clear();
            for (at, (&end, &width)) in ends.iter().zip(&widths).enumerate() {
                let cell = cells.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default();
                let is_last = at + 1 == shown.len() && shown.last().is_some_and(is_left);
                // Writing to a string cannot fail.
                let _ = match at < left_count || is_last {
                    true => write!(line, "{cell:<width$}  "),
                    false => write!(line, "{cell:>width$}  "),
                };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Returns a line of names, and a line for each row.
    pub fn csv(&self) -> Vec<u8> {
        let (mut out, fields) = (Vec::new(), self.fields());
        for (index, (_, name)) in fields.iter().enumerate() {
            out.extend((index > 0).then_some(b','));
            csv_field(&mut out, name.as_bytes());
        }
        for row in &self.rows {
            out.push(b'\n');
            for (index, (at, _)) in fields.iter().enumerate() {
                out.extend((index > 0).then_some(b','));
                row.get(*at).into_iter().for_each(|cell| cell.csv(&mut out));
            }
        }
        out.push(b'\n');
        out
    }

    /// Returns an object for each row.
    pub fn json(&self) -> Value {
        let fields = self.fields();
        let row = |row: &Vec<Cell>| {
            let value = |at: usize| row.get(at).map_or(Value::Null, Cell::json);
            let members = fields.iter().map(|(at, name)| (name.clone(), value(*at)));
            Value::Object(members.collect::<Map<_, _>>())
        };
        self.rows.iter().map(row).collect()
    }

    /// Returns the table in a page, whose script sorts its rows. `class` returns the classes of a
    /// row.
    pub fn markup(&self, class: impl Fn(usize) -> String) -> Markup {
        let shown = self.shown();
        let class_of = |column: &Column<'_>| (column.of == Of::Text).then_some("left");
        let value = |row: &[Cell], at: usize| row.get(at).and_then(Cell::number);
        html! {
            table.sorted {
                thead {
                    tr {
                        @for (_, column) in &shown {
                            th scope="col" class=[class_of(column)]
                                data-field=(column.field(self.is_ticks)) { (column.title()) }
                        }
                    }
                }
                tbody {
                    @for (index, row) in self.rows.iter().enumerate() {
                        tr class=(class(index)) {
                            @for ((at, column), text) in shown.iter().zip(self.texts(row, &shown)) {
                                td class=[class_of(column)] data-value=[value(row, *at)] { (text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the line about the clock of a table's times.
pub fn clock(base: ClockBase) -> &'static str {
    match base {
        ClockBase::Monotonic => "times by CLOCK_MONOTONIC",
        ClockBase::Realtime => "times by CLOCK_REALTIME",
        ClockBase::Start => "times by the rate that the log states",
        ClockBase::Ticks => "times in ticks: the log does not state their length",
    }
}

#[cfg(test)]
mod tests {
    use super::cell::{compare, order};
    use super::{Cell, Of, Table, count, percent, rate, text, time};
    use eventlog::reader::ClockBase;

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
        let about = Cell::exact_if(false, 4_000u64);
        let cells: [[Cell; 7]; 2] = [
            ["a.rs:10", "x = 1"].map(|text| Cell::from(text.to_owned())),
            ["a.rs:9", "=2"].map(|text| Cell::from(text.to_owned())),
        ]
        .map(|[place, line]| {
            let zero = 0u64.into();
            [place, 1_500_000u64.into(), 12.5.into(), about.clone(), 3.0.into(), zero, line]
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

    /// `.output.options`: a column of `index` has kinds in some rows, and nothing in others.
    #[test]
    fn numbers_sort_before_texts_and_empty_cells_last() {
        let text = |text: &str| Cell::from(text.to_owned());
        let numbers = [(1 << 60) + 1, 1 << 60, 7].map(Cell::Number);
        let texts = [text("Object"), Cell::Words("  Pool".to_owned(), "Pool".into()), text("Seg")];
        let empty = [Cell::None, text(""), Cell::from(f64::NAN)];
        let cells: Vec<Cell> = numbers.into_iter().chain(texts).chain(empty).collect();
        for (at, a) in cells.iter().enumerate() {
            for (other, b) in cells.iter().enumerate() {
                let expected = at.min(6).cmp(&other.min(6));
                assert_eq!(order(Some(a), Some(b)), expected, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_number_that_is_not_finite_has_no_unit() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let cell = Cell::Scaled(value, |value| crate::units::Unit::Bytes.whole(value));
            assert_eq!(cell.shown(Of::Number, false), "–");
        }
    }

    #[test]
    fn numbers_in_texts_sort_by_value() {
        let mut table = made();
        assert!(table.sort("place"));
        assert!(matches!(&table.rows[0][0], Cell::Text(text) if text == "a.rs:9"));
        assert!(table.sort("own percent") && !table.sort("length"));
        assert!(table.names().starts_with("place, own_ns, own_percent, "), "{}", table.names());
        let texts = ["a", "a1", "a01b", "a2", "a10", "b"];
        assert!(texts.is_sorted_by(|a, b| compare(a, b).is_lt()));
    }
}
