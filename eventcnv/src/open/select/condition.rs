//! Conditions on events, and their evaluation.
//!
//! ```text
//!  Expression ── an event ──▶ true │ false │ neither: the event lacks a parameter
//!             └─ an event type ──▶ whether it can be true of an event: else none is read
//! ```
//!
//! `not` keeps "neither"; `and` and `or` use their other side (Kleene's logic). A comparison of two
//! units, as of bytes with ms, is neither.
//! Design: `.cnv.where` in `design/eventcnv.md`.

use eventdef::Sort;
use eventlog::reader::marks::{Unit, unit_of};
use eventlog::reader::{Event, EventType, Registry, Value};
use memchr::memmem;
use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    /// The operand exists and is not zero.
    Is(Operand),
    Compare(Operand, Operator, Operand),
    /// The comparison, in all event types but these: there its sides have two units.
    Except(Vec<Place>, Box<Expression>),
}

/// An event type of a log: the stream, the registry in it, the code.
type Place = (u16, u16, u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// The text on the left contains the text on the right.
    Contains,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A parameter, of any event type or of one.
    Param {
        of: Option<String>,
        name: String,
    },
    Fact(Fact),
    Int(u64),
    Real(f64),
    /// A number with a unit: as it was written, and in bytes or ns.
    Measure(String, Unit, Box<Operand>),
    Text(Vec<u8>),
    Bool(bool),
}

/// A property that every event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Event,
    Kind,
    Registry,
    Code,
    Thread,
    Ticks,
    Size,
    Buffer,
    Number,
}

impl Fact {
    pub(crate) const ALL: [(&str, Fact); 9] = [
        ("event", Fact::Event),
        ("kind", Fact::Kind),
        ("registry", Fact::Registry),
        ("code", Fact::Code),
        ("thread", Fact::Thread),
        ("ticks", Fact::Ticks),
        ("size", Fact::Size),
        ("buffer", Fact::Buffer),
        ("number", Fact::Number),
    ];

    pub(crate) fn named(name: &str) -> Option<Fact> {
        Fact::ALL.iter().find(|(known, _)| *known == name).map(|(_, fact)| *fact)
    }
}

/// The value of an operand for an event.
enum Datum<'a> {
    Int(u64),
    Real(f64),
    Text(&'a [u8]),
    /// A name in any case.
    Name(&'a str),
    Labelled(u64, Option<&'a [u8]>),
}

impl Operand {
    fn value<'a>(&'a self, event: &Event<'a, 'a>) -> Option<Datum<'a>> {
        Some(match self {
            Operand::Int(value) => Datum::Int(*value),
            Operand::Real(value) => Datum::Real(*value),
            Operand::Measure(_, _, number) => return number.value(event),
            Operand::Bool(value) => Datum::Int(u64::from(*value)),
            Operand::Text(text) => Datum::Text(text),
            Operand::Fact(fact) => fact.value(event),
            Operand::Param { of, name } => {
                if !is_named(event.event_type?, of.as_deref()) {
                    return None;
                }
                match event.param(name)? {
                    value @ (Value::P(word) | Value::A(word) | Value::W(word)) => {
                        let id = event.labels.label_id_of(value);
                        Datum::Labelled(word, id.and_then(|id| event.labels.string(id)))
                    }
                    Value::U(value) => Datum::Int(value.into()),
                    Value::B(value) => Datum::Int(value.into()),
                    Value::D(value) => Datum::Real(value),
                    Value::S(value) => Datum::Text(value),
                }
            }
        })
    }

    /// Returns the class of the operand in events of a type; `None` if they lack it. Events of
    /// unknown type have no parameters.
    fn class(&self, event_type: Option<&EventType>) -> Option<Class> {
        Some(match self {
            Operand::Int(_) | Operand::Real(_) | Operand::Bool(_) => Class::Number,
            Operand::Measure(..) => Class::Number,
            Operand::Text(_) => Class::Text,
            Operand::Fact(Fact::Event | Fact::Kind | Fact::Registry) => Class::Name,
            Operand::Fact(_) => Class::Number,
            Operand::Param { of, name } => {
                let event_type = event_type.filter(|row| is_named(row, of.as_deref()))?;
                match event_type.param(name)?.1.sort {
                    Sort::P | Sort::A | Sort::W => Class::Labelled,
                    Sort::U | Sort::B | Sort::D => Class::Number,
                    Sort::S => Class::Text,
                }
            }
        })
    }

    /// Returns the unit of the operand in events of a type, if that is stated.
    fn unit(&self, event_type: Option<&EventType>) -> Option<Unit> {
        match self {
            Operand::Measure(_, unit, _) => Some(*unit),
            Operand::Fact(Fact::Size) => Some(Unit::Bytes),
            Operand::Fact(Fact::Code | Fact::Thread | Fact::Buffer | Fact::Number) => {
                Some(Unit::Count)
            }
            Operand::Param { of, name } => {
                let row = event_type.filter(|row| is_named(row, of.as_deref()))?;
                unit_of(row, row.param(name)?.0)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Param { of: Some(of), name } => write!(f, "{of}.{name}"),
            Operand::Param { of: None, name } => f.write_str(name),
            Operand::Fact(fact) => {
                let known = Fact::ALL.iter().find(|(_, known)| known == fact);
                write!(f, "@{}", known.map_or("", |(name, _)| name))
            }
            Operand::Int(value) => write!(f, "{value}"),
            Operand::Real(value) => write!(f, "{value}"),
            Operand::Measure(text, ..) => f.write_str(text),
            Operand::Bool(value) => write!(f, "{value}"),
            Operand::Text(text) => write!(f, "{:?}", String::from_utf8_lossy(text)),
        }
    }
}

/// What a value is compared as: an address or word by its number or its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Number,
    Text,
    Name,
    Labelled,
}

impl Class {
    /// Returns whether an operator compares two classes, as [`compare`] does.
    fn can_compare(self, operator: Operator, other: Class) -> bool {
        use Class::{Labelled, Name, Number, Text};
        match (self, other) {
            (Number | Labelled, Number | Labelled) => operator != Operator::Contains,
            (Text | Name, Text | Name) | (Labelled, Text) | (Text, Labelled) => true,
            _ => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Number => "a number",
            Class::Text | Class::Name => "a string",
            Class::Labelled => "an address or word",
        }
    }
}

/// Returns the units of two sides, if both are stated and they differ.
fn apart(sides: [&Operand; 2], event_type: Option<&EventType>) -> Option<[Unit; 2]> {
    match sides.map(|side| side.unit(event_type)) {
        [Some(a), Some(b)] if a != b => Some([a, b]),
        _ => None,
    }
}

/// Returns a unit in words, and numbers that have it.
fn words(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Bytes => ("bytes", "bytes, such as 4096, 4K or 4KiB"),
        Unit::Ns => ("a time", "a time, such as 5ms, 2s or 5000 (ns)"),
        Unit::Count => ("a count", "a number without a unit, such as 4096, 4K or 5e6"),
    }
}

fn is_named(event_type: &EventType, name: Option<&str>) -> bool {
    name.is_none_or(|name| event_type.name.eq_ignore_ascii_case(name))
}

impl Fact {
    fn value<'a>(self, event: &Event<'a, 'a>) -> Datum<'a> {
        match self {
            Fact::Event => Datum::Name(event.name()),
            Fact::Kind => {
                Datum::Name(event.registry.kind(event.kind).map_or("?", |kind| &kind.name))
            }
            Fact::Registry => Datum::Name(&event.registry.name),
            Fact::Code => Datum::Int(event.code().into()),
            Fact::Thread => Datum::Int(event.thread.into()),
            Fact::Ticks => Datum::Int(event.ticks),
            Fact::Size => Datum::Int(event.bytes.len() as u64),
            Fact::Buffer => Datum::Int(event.buffer.into()),
            Fact::Number => Datum::Int(event.number),
        }
    }
}

impl Expression {
    /// Returns whether the condition holds for an event; `None` if the event lacks an operand.
    pub(crate) fn holds(&self, event: &Event<'_, '_>) -> Option<bool> {
        match self {
            Expression::And(terms) => all(terms.iter().map(|term| term.holds(event)), true),
            Expression::Or(terms) => all(terms.iter().map(|term| term.holds(event)), false),
            Expression::Not(term) => term.holds(event).map(|holds| !holds),
            Expression::Is(operand) => match operand.value(event)? {
                Datum::Int(value) | Datum::Labelled(value, _) => Some(value != 0),
                Datum::Real(value) => Some(value != 0.0),
                Datum::Text(text) => Some(!text.is_empty()),
                Datum::Name(name) => Some(!name.is_empty()),
            },
            Expression::Compare(left, operator, right) => {
                compare(&left.value(event)?, *operator, &right.value(event)?)
            }
            Expression::Except(places, term) => {
                let place = (event.stream, event.registry.index, event.code());
                if places.contains(&place) { None } else { term.holds(event) }
            }
        }
    }

    /// Returns whether the condition can be true of an event of a type, and whether it can be
    /// false.
    fn can_be(&self, event_type: Option<&EventType>) -> (bool, bool) {
        let of = |terms: &[Expression]| -> Vec<(bool, bool)> {
            terms.iter().map(|term| term.can_be(event_type)).collect()
        };
        match self {
            Expression::And(terms) => {
                let of = of(terms);
                (of.iter().all(|(yes, _)| *yes), of.iter().any(|(_, no)| *no))
            }
            Expression::Or(terms) => {
                let of = of(terms);
                (of.iter().any(|(yes, _)| *yes), of.iter().all(|(_, no)| *no))
            }
            Expression::Not(term) => {
                let (yes, no) = term.can_be(event_type);
                (no, yes)
            }
            Expression::Is(operand) => [operand.class(event_type).is_some(); 2].into(),
            Expression::Compare(left, operator, right) => {
                let classes = left.class(event_type).zip(right.class(event_type));
                let is_fit = classes.is_some_and(|(a, b)| a.can_compare(*operator, b));
                [is_fit && apart([left, right], event_type).is_none(); 2].into()
            }
            Expression::Except(_, term) => term.can_be(event_type),
        }
    }

    /// Returns whether the condition can be true of an event of a type; `None` is an unknown type.
    pub(crate) fn can_hold(&self, event_type: Option<&EventType>) -> bool {
        self.can_be(event_type).0
    }

    /// Adds the strings that parameters must equal.
    pub(crate) fn labels(&self, to: &mut Vec<Vec<u8>>) {
        match self {
            Expression::And(terms) | Expression::Or(terms) => {
                terms.iter().for_each(|term| term.labels(to));
            }
            Expression::Compare(Operand::Param { .. }, Operator::Equal, Operand::Text(text))
            | Expression::Compare(Operand::Text(text), Operator::Equal, Operand::Param { .. }) => {
                to.push(text.clone());
            }
            Expression::Except(_, term) => term.labels(to),
            Expression::Not(_) | Expression::Is(_) | Expression::Compare(..) => {}
        }
    }

    pub(crate) fn operands<'a>(&'a self, each: &mut dyn FnMut(&'a Operand)) {
        self.leaves(&mut |leaf| match leaf {
            Expression::Is(operand) => each(operand),
            Expression::Compare(left, _, right) => {
                each(left);
                each(right);
            }
            _ => {}
        });
    }

    /// Passes the terms to `each` that combine no others.
    fn leaves<'a>(&'a self, each: &mut dyn FnMut(&'a Expression)) {
        match self {
            Expression::And(terms) | Expression::Or(terms) => {
                terms.iter().for_each(|term| term.leaves(each));
            }
            Expression::Not(term) | Expression::Except(_, term) => term.leaves(each),
            leaf => each(leaf),
        }
    }

    /// Leaves the event types out of each comparison in which its sides have two units.
    pub(crate) fn without_units_apart(self, registries: &[Registry]) -> Expression {
        let each = |term: Expression| term.without_units_apart(registries);
        match self {
            Expression::And(terms) => Expression::And(terms.into_iter().map(each).collect()),
            Expression::Or(terms) => Expression::Or(terms.into_iter().map(each).collect()),
            Expression::Not(term) => Expression::Not(Box::new(each(*term))),
            Expression::Compare(left, operator, right) => {
                let mut places = Vec::new();
                for registry in registries {
                    let rows = registry.event_types.iter();
                    let rows = rows.filter(|row| apart([&left, &right], Some(row)).is_some());
                    places.extend(rows.map(|row| (registry.stream, registry.index, row.code)));
                }
                let term = Expression::Compare(left, operator, right);
                match places.is_empty() {
                    true => term,
                    false => Expression::Except(places, Box::new(term)),
                }
            }
            term => term,
        }
    }

    /// Returns the error of a comparison that is neither true nor false of any of these event
    /// types, because it compares a number with a string, or a time with bytes.
    pub(crate) fn misfit<'a>(
        &self,
        event_types: impl Iterator<Item = &'a EventType> + Clone,
    ) -> Option<String> {
        let mut misfit = None;
        self.leaves(&mut |leaf| {
            let Expression::Compare(left, operator, right) = leaf else { return };
            let rows = event_types.clone().map(Some).chain([None]);
            let mut sides = rows.filter_map(|row| {
                Some((left.class(row)?, right.class(row)?, apart([left, right], row)))
            });
            let Some(first) = sides.next() else { return };
            let is_fit = |(a, b, apart): (Class, Class, Option<[Unit; 2]>)| {
                a.can_compare(*operator, b) && apart.is_none()
            };
            if misfit.is_some() || is_fit(first) || sides.any(is_fit) {
                return;
            }
            let (a, b, apart) = first;
            let is_number = |side: &Operand| {
                matches!(side, Operand::Int(_) | Operand::Real(_) | Operand::Measure(..))
            };
            let hint = match (apart, [left, right].into_iter().find(|side| is_number(side))) {
                _ if *operator == Operator::Contains => "; ~ finds text in a string".to_owned(),
                (Some([unit, _]), Some(_)) if is_number(right) => {
                    format!("; write {}", words(unit).1)
                }
                (Some([_, unit]), Some(_)) => format!("; write {}", words(unit).1),
                (None, Some(number)) => format!("; a string has quotes: \"{number}\""),
                _ => String::new(),
            };
            let [a, b] = match apart.filter(|_| a.can_compare(*operator, b)) {
                Some(units) => units.map(|unit| words(unit).0),
                None => [a, b].map(Class::name),
            };
            misfit = Some(format!("cannot compare {left} ({a}) with {right} ({b}){hint}"));
        });
        misfit
    }
}

/// Returns the conjunction of all terms; if `unit` is false, the disjunction.
fn all(terms: impl Iterator<Item = Option<bool>>, unit: bool) -> Option<bool> {
    let mut result = Some(unit);
    for term in terms {
        if term == Some(!unit) {
            return term;
        }
        result = result.and(term);
    }
    result
}

fn compare(left: &Datum<'_>, operator: Operator, right: &Datum<'_>) -> Option<bool> {
    use Datum::{Int, Labelled, Name, Real, Text};
    let ordering = match (left, right) {
        (Int(a) | Labelled(a, _), Int(b) | Labelled(b, _)) => Some(a.cmp(b)),
        (Int(a) | Labelled(a, _), Real(b)) => exact(*a, *b),
        (Real(a), Int(b) | Labelled(b, _)) => exact(*b, *a).map(Ordering::reverse),
        (Real(a), Real(b)) => a.partial_cmp(b),
        (Text(a), Text(b)) => return text(a, operator, b),
        (Name(a), Name(b)) => return name(a.as_bytes(), operator, b.as_bytes()),
        (Name(a), Text(b)) => return name(a.as_bytes(), operator, b),
        (Text(a), Name(b)) => return name(a, operator, b.as_bytes()),
        // A value without a label differs from every string.
        (Labelled(_, None), Text(_)) | (Text(_), Labelled(_, None)) => {
            return Some(operator == Operator::Unequal);
        }
        (Labelled(_, Some(label)), Text(b)) => return text(label, operator, b),
        (Text(a), Labelled(_, Some(label))) => return text(a, operator, label),
        _ => return None,
    };
    let is = |wanted: &[Ordering]| ordering.map(|ordering| wanted.contains(&ordering));
    match operator {
        Operator::Equal => is(&[Ordering::Equal]),
        // For a NaN, which has no order, only this comparison is true.
        Operator::Unequal => Some(ordering != Some(Ordering::Equal)),
        Operator::Less => is(&[Ordering::Less]),
        Operator::AtMost => is(&[Ordering::Less, Ordering::Equal]),
        Operator::Greater => is(&[Ordering::Greater]),
        Operator::AtLeast => is(&[Ordering::Greater, Ordering::Equal]),
        Operator::Contains => None,
    }
}

/// Compares a whole number with a real one: a double has fewer digits than a word.
fn exact(a: u64, b: f64) -> Option<Ordering> {
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    match b {
        _ if b.is_nan() => None,
        _ if b < 0.0 => Some(Ordering::Greater),
        _ if b >= BEYOND => Some(Ordering::Less),
        _ if b.fract() > 0.0 => Some(a.cmp(&(b as u64)).then(Ordering::Less)),
        _ => Some(a.cmp(&(b as u64))),
    }
}

fn text(a: &[u8], operator: Operator, b: &[u8]) -> Option<bool> {
    Some(match operator {
        Operator::Equal => a == b,
        Operator::Unequal => a != b,
        Operator::Less => a < b,
        Operator::AtMost => a <= b,
        Operator::Greater => a > b,
        Operator::AtLeast => a >= b,
        Operator::Contains => memmem::find(a, b).is_some(),
    })
}

fn name(a: &[u8], operator: Operator, b: &[u8]) -> Option<bool> {
    text(&a.to_ascii_lowercase(), operator, &b.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.where`: neither is rounded to the sort of the other.
    #[test]
    fn a_word_and_a_double_compare_by_all_digits() {
        use Ordering::{Equal, Greater, Less};
        let odd = (1 << 53) + 1;
        for (a, b, expected) in [
            (odd, 2f64.powi(53), Some(Greater)),
            (odd - 1, 2f64.powi(53), Some(Equal)),
            (u64::MAX, 2f64.powi(64), Some(Less)),
            (u64::MAX, 2f64.powi(64).next_down(), Some(Greater)),
            (u64::MAX, f64::INFINITY, Some(Less)),
            (0, -0.5, Some(Greater)),
            (0, -0.0, Some(Equal)),
            (0, 5e-324, Some(Less)),
            (1536, 1536.0, Some(Equal)),
            (1536, 1535.5, Some(Greater)),
            (1, f64::NAN, None),
        ] {
            assert_eq!(exact(a, b), expected, "{a} {b}");
        }
    }
}
