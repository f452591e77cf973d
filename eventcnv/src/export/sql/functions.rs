//! SQL functions in addition to SQLite's: mathematics, quantiles, regular expressions.
//!
//! ```text
//!  log2(size)   quantile(size, 0.99)   median(size)   percentile(size, 99)   name REGEXP '^Pool'
//! ```
//!
//! The mathematical functions are those that SQLite's build leaves out. Design:
//! `.cnv.query` in `design/eventcnv.md`; sqlite.org/lang_mathfunc.html, sqlite.org/percentile.html.

use regex::bytes::Regex;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use std::cmp::Ordering;

/// A function of one number, with its name.
type OfOne = (&'static str, fn(f64) -> f64);
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Functions of one number. The result is NULL for other values, and if it is not finite.
const OF_ONE: [OfOne; 23] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("cbrt", f64::cbrt),
    ("exp2", f64::exp2),
    ("log1p", f64::ln_1p),
];

/// Functions that return an integer unchanged.
const ROUNDING: [OfOne; 4] =
    [("ceil", f64::ceil), ("ceiling", f64::ceil), ("floor", f64::floor), ("trunc", f64::trunc)];

const OF_TWO: [OfTwo; 5] = [
    ("atan2", f64::atan2),
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
        let result = move |c: &Context<'_>| Ok(real(number(c.get_raw(0)).map(function)));
        connection.create_scalar_function(name, 1, flags, result)?;
    }
    for (name, function) in ROUNDING {
        let result = move |c: &Context<'_>| match c.get_raw(0) {
            ValueRef::Integer(value) => Ok(Value::Integer(value)),
            value => Ok(real(number(value).map(function))),
        };
        connection.create_scalar_function(name, 1, flags, result)?;
    }
    for (name, function) in OF_TWO {
        let result = move |c: &Context<'_>| {
            let both = number(c.get_raw(0)).zip(number(c.get_raw(1)));
            Ok(real(both.map(|(a, b)| function(a, b))))
        };
        connection.create_scalar_function(name, 2, flags, result)?;
    }
    connection.create_scalar_function("pi", 0, flags, |_| Ok(std::f64::consts::PI))?;
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
fn is_match(context: &Context<'_>) -> Result<Option<bool>> {
    let number;
    let text = match context.get_raw(1) {
        ValueRef::Null => return Ok(None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        ValueRef::Integer(value) => {
            number = value.to_string();
            number.as_bytes()
        }
        ValueRef::Real(value) => {
            number = format!("{value:?}");
            number.as_bytes()
        }
    };
    if context.get_raw(0) == ValueRef::Null {
        return Ok(None);
    }
    let pattern = context.get_or_create_aux(0, |pattern: ValueRef<'_>| {
        let pattern = pattern.as_str().map_err(|error| wrong(format!("regexp: {error}")))?;
        Regex::new(pattern).map_err(|error| wrong(format!("regexp: {error}")))
    })?;
    Ok(Some(pattern.is_match(text)))
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    fn order(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.cmp(b),
            (a, b) => a.as_f64().total_cmp(&b.as_f64()),
        }
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

/// Keeps the values of a group, 16 bytes each, until all are known.
struct Quantile {
    name: &'static str,
    form: Form,
}

#[derive(Default)]
struct Values {
    values: Vec<Number>,
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
        values.values.push(match context.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Integer(value) => Number::Integer(value),
            ValueRef::Real(value) => Number::Real(value),
            _ => return Err(wrong(format!("{}: its values must be numbers", self.name))),
        });
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Values>) -> Result<Value> {
        let Values { mut values, part } = values.unwrap_or_default();
        values.sort_unstable_by(Number::order);
        let at = |index: usize| values.get(index.min(values.len().saturating_sub(1))).copied();
        let value = if let Form::Quantile = self.form {
            match at(((part * values.len() as f64).ceil() as usize).saturating_sub(1)) {
                None => Value::Null,
                Some(Number::Integer(value)) => Value::Integer(value),
                Some(Number::Real(value)) => Value::Real(value),
            }
        } else {
            let place = part * values.len().saturating_sub(1) as f64;
            let both = at(place.floor() as usize).zip(at(place.ceil() as usize));
            let both = both.map(|(below, above)| (below.as_f64(), above.as_f64()));
            real(both.map(|(below, above)| below + (above - below) * place.fract()))
        };
        Ok(value)
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
