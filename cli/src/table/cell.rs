//! A value of a table: its text for people, and its value for programs.
//!
//! Design: `.output.fields` in `design/output.md`.

use super::Of;
use crate::fields::{Real, csv_field};
use crate::units::{self, Figure, NOTHING, bytes, latency, three_digits};
use eventlog::format::text::OneLine;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// A value of a row.
#[derive(Clone, Debug)]
pub enum Cell {
    /// A value that does not exist, or is not known.
    None,
    /// A text.
    Text(String),
    /// A count, or a whole number of a unit.
    Number(u64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Truth(bool),
    /// A number that is not exact; `~` marks it.
    About(Box<Cell>),
    /// A time that is at most so long; `≤` marks it.
    Bound(u64),
    /// A number with its own unit, in the text of this function.
    Scaled(f64, fn(f64) -> Figure),
    /// A change; its sign is shown.
    Change(f64),
    /// A value that people read in words.
    Words(String, Value),
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

impl From<u128> for Cell {
    fn from(number: u128) -> Cell {
        Cell::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Real(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        Cell::Truth(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::None, Into::into)
    }
}

impl Cell {
    /// Returns a number, which is marked unless it is exact.
    pub fn exact_if(is_exact: bool, number: impl Into<Cell>) -> Cell {
        if is_exact { number.into() } else { Cell::About(Box::new(number.into())) }
    }

    /// Returns what orders it among numbers.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number as f64),
            Cell::About(number) => number.number(),
            // What is too short to be measured has no rank.
            Cell::Bound(_) => Some(0.0),
            Cell::Real(value) | Cell::Change(value) | Cell::Scaled(value, _) => Some(*value),
            Cell::Truth(value) => Some(f64::from(u8::from(*value))),
            Cell::Words(_, value) => value.as_f64(),
            Cell::None | Cell::Text(_) => None,
        }
    }

    /// Returns whether it has nothing to tell.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Cell::None | Cell::Number(0) => true,
            Cell::Text(text) => text.is_empty(),
            _ => false,
        }
    }

    /// Returns the text for people.
    pub(super) fn shown(&self, of: Of, is_ticks: bool) -> String {
        let value = |value: f64| match of {
            Of::Time if !is_ticks => latency(value),
            Of::Time => format!("{value:.0}"),
            Of::Bytes => bytes(value),
            Of::Ratio => units::Unit::Ratio.text(value),
            Of::Percent => format!("{value:.1}"),
            Of::Rate => three_digits(value),
            // A small number has its digits: a probability, a distance.
            Of::Text | Of::Number if value != 0.0 && value.abs() < 0.001 => format!("{value:.2e}"),
            Of::Text | Of::Number if value.fract() != 0.0 => format!("{value:.3}"),
            Of::Text | Of::Number if value.abs() >= 1e15 => format!("{value:.4e}"),
            Of::Text | Of::Number => format!("{value}"),
        };
        let is_scaled = of == Of::Bytes || of == Of::Time && !is_ticks;
        let whole = |number: u64| match is_scaled {
            true => value(number as f64),
            false => number.to_string(),
        };
        match self {
            Cell::None => String::new(),
            Cell::Text(text) | Cell::Words(text, _) => OneLine(text.as_bytes()).to_string(),
            Cell::Truth(truth) => (if *truth { "yes" } else { "no" }).to_owned(),
            Cell::Real(real) | Cell::Scaled(real, _) if !real.is_finite() => NOTHING.to_owned(),
            Cell::Number(number) => whole(*number),
            Cell::Real(real) => value(*real),
            Cell::Scaled(number, scale) => scale(*number).to_string(),
            Cell::Bound(number) => format!("≤{}", whole(*number)),
            Cell::About(number) => format!("~{}", number.shown(of, is_ticks)),
            Cell::Change(change) => {
                let sign = if *change < 0.0 { '-' } else { '+' };
                let number = of == Of::Number;
                let size = change.abs();
                if number { format!("{sign}{size}") } else { format!("{sign}{}", value(size)) }
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Cell::None => Value::Null,
            Cell::Text(text) => json!(text),
            Cell::Number(number) | Cell::Bound(number) => json!(number),
            Cell::About(number) => number.json(),
            Cell::Truth(truth) => json!(truth),
            Cell::Real(value) | Cell::Scaled(value, _) => json!(Real(*value)),
            Cell::Change(value) if value.fract() == 0.0 => json!(*value as i64),
            Cell::Change(value) => json!(Real(*value)),
            Cell::Words(_, value) => value.clone(),
        }
    }

    pub(super) fn csv(&self, out: &mut Vec<u8>) {
        match self {
            Cell::None | Cell::Words(_, Value::Null) => {}
            Cell::About(number) => number.csv(out),
            Cell::Text(text)
            | Cell::Words(_, Value::String(text))
            | Cell::Words(text, Value::Array(_)) => csv_field(out, text.as_bytes()),
            Cell::Real(value) | Cell::Scaled(value, _) => {
                out.extend(value.to_string().bytes());
            }
            cell => out.extend(cell.json().to_string().bytes()),
        }
    }
}

/// Compares two cells of a column that orders the rows: the greatest number first, then texts by
/// their letters, then cells that are empty.
pub(super) fn order(a: Option<&Cell>, b: Option<&Cell>) -> Ordering {
    match [a, b].map(Key::of) {
        [Key::Number(a, whole), Key::Number(b, other)] => {
            b.total_cmp(&a).then_with(|| other.cmp(&whole))
        }
        [Key::Text(a), Key::Text(b)] => compare(a, b),
        keys => {
            let [a, b] = keys.map(|key| match key {
                Key::Number(..) => 0,
                Key::Text(_) => 1,
                Key::Nothing => 2,
            });
            a.cmp(&b)
        }
    }
}

/// What orders a cell.
enum Key<'c> {
    /// A number, and its digits beyond those of a double.
    Number(f64, u64),
    Text(&'c str),
    Nothing,
}

impl Key<'_> {
    fn of(cell: Option<&Cell>) -> Key<'_> {
        let whole = match cell {
            Some(Cell::About(number)) => return Key::of(Some(&**number)),
            Some(Cell::Number(number)) => *number,
            Some(Cell::Words(_, value)) => value.as_u64().unwrap_or(0),
            _ => 0,
        };
        match (cell, cell.and_then(Cell::number)) {
            (_, Some(number)) if !number.is_nan() => Key::Number(number, whole),
            (Some(Cell::Text(text) | Cell::Words(_, Value::String(text))), _)
                if !text.is_empty() =>
            {
                Key::Text(text)
            }
            _ => Key::Nothing,
        }
    }
}

/// Compares two texts, their numbers by value: `a.rs:9` comes before `a.rs:10`.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    while let ([first, a_rest @ ..], [other, b_rest @ ..]) = (a, b) {
        let sizes @ [size, other_size] = [digits(a), digits(b)];
        let order = if sizes.contains(&0) {
            (a, b) = (a_rest, b_rest);
            first.cmp(other)
        } else {
            let ((own, a_rest), (others, b_rest)) = (a.split_at(size), b.split_at(other_size));
            (a, b) = (a_rest, b_rest);
            let plain =
                |digits: &[u8]| digits.iter().position(|byte| *byte != b'0').unwrap_or(size);
            let [own, others] = [own, others].map(|own| own.get(plain(own)..).unwrap_or_default());
            own.len().cmp(&others.len()).then_with(|| own.cmp(others))
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}
