//! Conditions on events, and their evaluation.
//!
//! ```text
//!  Expression ── an event ──▶ true │ false │ neither: the event lacks a parameter
//!             └─ an event type ──▶ whether it can be true of an event: else none is read
//! ```
//!
//! `not` keeps "neither"; `and` and `or` use their other side (Kleene's logic).
//! Design: `.cnv.where` in `design/eventcnv.md`.

use eventlog::reader::{Event, EventType, Value};
use memchr::memmem;
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    /// The operand exists and is not zero.
    Is(Operand),
    Compare(Operand, Operator, Operand),
}

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

    /// Returns whether events of a type have the operand. Events of unknown type have no
    /// parameters.
    fn exists_in(&self, event_type: Option<&EventType>) -> bool {
        match self {
            Operand::Param { of, name } => event_type.is_some_and(|event_type| {
                is_named(event_type, of.as_deref()) && event_type.param(name).is_some()
            }),
            _ => true,
        }
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
            Expression::Is(operand) => [operand.exists_in(event_type); 2].into(),
            Expression::Compare(left, _, right) => {
                [left.exists_in(event_type) && right.exists_in(event_type); 2].into()
            }
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
            Expression::Not(_) | Expression::Is(_) | Expression::Compare(..) => {}
        }
    }

    pub(crate) fn operands<'a>(&'a self, each: &mut dyn FnMut(&'a Operand)) {
        match self {
            Expression::And(terms) | Expression::Or(terms) => {
                terms.iter().for_each(|term| term.operands(each));
            }
            Expression::Not(term) => term.operands(each),
            Expression::Is(operand) => each(operand),
            Expression::Compare(left, _, right) => {
                each(left);
                each(right);
            }
        }
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
        (Int(a) | Labelled(a, _), Real(b)) => (*a as f64).partial_cmp(b),
        (Real(a), Int(b) | Labelled(b, _)) => a.partial_cmp(&(*b as f64)),
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
