//! SQL functions in addition to SQLite's: mathematics, quantiles, regular expressions.
//!
//! ```text
//!  log2(size)   quantile(size, 0.99)   median(size)   percentile(size, 99)   name REGEXP '^Pool'
//! ```
//!
//! SQLite's build leaves out the mathematical functions; these serve statistics. Design:
//! `.cnv.query` in `design/eventcnv.md`; sqlite.org/lang_mathfunc.html, sqlite.org/percentile.html.

use regex::bytes::Regex;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A function of one number, with its name.
type OfOne = (&'static str, fn(f64) -> f64);
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Functions of one number. The result is NULL for other values, and if it is not finite.
const OF_ONE: [OfOne; 6] = [
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("sqrt", f64::sqrt),
];

/// Functions that return an integer unchanged.
const ROUNDING: [OfOne; 4] =
    [("ceil", f64::ceil), ("ceiling", f64::ceil), ("floor", f64::floor), ("trunc", f64::trunc)];

const OF_TWO: [OfTwo; 4] = [
    ("log", |base, x| x.log(base)),
    ("mod", |x, y| x % y),
    ("pow", f64::powf),
    ("power", f64::powf),
];

/// The functions of [`Quantile`], with their number of arguments.
const QUANTILES: [(&str, i32, Form); 3] = [
    ("median", 1, Form::Median),
    ("percentile", 2, Form::Percentile),
    ("quantile", 2, Form::Quantile),
];

pub(crate) fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, function) in OF_ONE {
        let result = move |c: &mut Context<'_>| Ok(real(number(c.get_raw(0)).map(function)));
        connection.create_scalar_function(name, 1, flags, result)?;
    }
    for (name, function) in ROUNDING {
        let result = move |c: &mut Context<'_>| match c.get_raw(0) {
            ValueRef::Integer(value) => Ok(Value::Integer(value)),
            value => Ok(real(number(value).map(function))),
        };
        connection.create_scalar_function(name, 1, flags, result)?;
    }
    for (name, function) in OF_TWO {
        let result = move |c: &mut Context<'_>| {
            let both = number(c.get_raw(0)).zip(number(c.get_raw(1)));
            Ok(real(both.map(|(a, b)| function(a, b))))
        };
        connection.create_scalar_function(name, 2, flags, result)?;
    }
    connection.create_scalar_function("regexp", 2, flags, is_match)?;
    for (name, count, form) in QUANTILES {
        connection.create_aggregate_function(name, count, flags, Quantile { name, form })?;
    }
    Ok(())
}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(value) => Some(value as f64),
        ValueRef::Real(value) => Some(value),
        ValueRef::Text(text) => str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn real(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, Value::Real)
}

fn wrong(what: String) -> Error {
    Error::UserFunctionError(what.into())
}

/// Implements `text REGEXP pattern`, which SQLite translates to `regexp(pattern, text)`.
fn is_match(context: &mut Context<'_>) -> Result<Option<bool>> {
    let text: Cow<'_, [u8]> = match context.get_raw(1) {
        ValueRef::Null => return Ok(None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.into(),
        ValueRef::Integer(value) => value.to_string().into_bytes().into(),
        ValueRef::Real(value) => format!("{value:?}").into_bytes().into(),
    };
    if context.get_raw(0) == ValueRef::Null {
        return Ok(None);
    }
    let pattern = context.get_or_create_aux(0, |pattern: ValueRef<'_>| {
        let pattern = pattern.as_str().map_err(|error| wrong(format!("regexp: {error}")))?;
        Regex::new(pattern).map_err(|error| wrong(format!("regexp: {error}")))
    })?;
    Ok(Some(pattern.is_match(&text)))
}

fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (a, b) => number(a.into()).partial_cmp(&number(b.into())).unwrap_or(Ordering::Equal),
    }
}

/// The value that a function returns for a group.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The middle value, or the mean of the two in the middle.
    Median,
    /// The value above P percent of all; it may lie between two values.
    Percentile,
    /// The least value that the part p of all does not exceed.
    Quantile,
}

/// Keeps the values of a group, 32 bytes each, until all are known.
struct Quantile {
    name: &'static str,
    form: Form,
}

#[derive(Default)]
struct Values {
    values: Vec<Value>,
    /// The part of the values below the result.
    part: f64,
}

impl Aggregate<Values, Value> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> Result<Values> {
        Ok(Values::default())
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Values) -> Result<()> {
        if values.values.is_empty() {
            values.part = self.part(context)?;
        }
        values.values.push(match context.get(0)? {
            Value::Null => return Ok(()),
            value @ (Value::Integer(_) | Value::Real(_)) => value,
            _ => return Err(wrong(format!("{}: its values must be numbers", self.name))),
        });
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Values>) -> Result<Value> {
        let Values { mut values, part } = values.unwrap_or_default();
        values.sort_unstable_by(order);
        let at = |index: usize| values.get(index.min(values.len().saturating_sub(1)));
        if let Form::Quantile = self.form {
            let place = (part * values.len() as f64).ceil() as usize;
            return Ok(at(place.saturating_sub(1)).cloned().unwrap_or(Value::Null));
        }
        let place = part * values.len().saturating_sub(1) as f64;
        let number = |index: f64| number(at(index as usize)?.into());
        let both = number(place.floor()).zip(number(place.ceil()));
        Ok(real(both.map(|(below, above)| below + (above - below) * place.fract())))
    }
}

impl Quantile {
    /// Returns the part from the second argument.
    fn part(&self, context: &Context<'_>) -> Result<f64> {
        let most = match self.form {
            Form::Median => return Ok(0.5),
            Form::Percentile => 100.0,
            Form::Quantile => 1.0,
        };
        let part = number(context.get_raw(1)).filter(|part| (0.0..=most).contains(part));
        let what =
            || wrong(format!("{}: the second argument must be between 0 and {most}", self.name));
        part.map(|part| part / most).ok_or_else(what)
    }
}
