//! The laws of marks: what a mark names exists, and the rows of one counter agree.
//!
//! Design: `.reg.marks` in `design/telemetry.md`.

use crate::marks::{
    COUNT_MAX, COUNTER_COUNT_MAX, Change, Count, Form, KEY_COUNT_MAX, Mark, Place, Unit, next,
    parse,
};
use crate::text::{Text, is_equal};
use crate::{EventType, Param, Row};

/// A mark, for a message: a message takes long to write, and few marks need one.
#[derive(Clone, Copy)]
struct Site<'a> {
    owner: &'a str,
    name: &'a str,
    word: &'a str,
    text: &'a str,
}

impl Site<'_> {
    const fn text(self) -> Text {
        let text = Text::new(self.owner).quoted(self.name).then(": mark `[").then(self.word);
        text.then(" ").then(self.text).then("]`")
    }

    const fn and(self, row: &str) -> Text {
        self.text().then(", and ").quoted(row)
    }

    #[track_caller]
    const fn says(self, what: &str) -> ! {
        self.text().says(what)
    }
}

/// Checks the marks of a doc string: that of a row, or of the registry.
#[track_caller]
pub(super) const fn check<'a>(
    (owner, name, doc): (&str, &str, &'a str),
    own: Option<&'a EventType>,
    rows: &[Row],
    counters: &mut Counters<'a>,
) {
    let (mut rest, mut count) = (doc, 0);
    while let Some((word, text, after)) = next(rest) {
        rest = after;
        let who = Site { owner, name, word, text };
        match (parse(word, text), own) {
            (None, _) => {}
            (Some(Err(why)), _) => who.says(why),
            (Some(Ok(Mark::Pair(pair))), _) => {
                let from = event_type(who, pair.from, rows);
                check_params(who, from, pair.from.1, &pair.key, false);
                if let Some(to) = pair.to {
                    let to_type = event_type(who, to, rows);
                    check_params(who, to_type, to.1, &pair.key, true);
                    if matches!(pair.form, Form::Slice | Form::Span) && from.code == to_type.code {
                        who.says("the same event type cannot begin and end a slice")
                    }
                }
            }
            (Some(_), None) => who.says("it belongs to the doc string of an event type"),
            (Some(Ok(Mark::Name(name))), Some(row)) => {
                param(who, row, name);
            }
            (Some(Ok(Mark::Unit(unit, name))), Some(row)) => check_unit(who, row, unit, name),
            (Some(Ok(Mark::Count(mark))), Some(row)) => {
                count += 1;
                if count > COUNT_MAX {
                    who.says("an event type changes at most 8 counters")
                }
                check_count(who, row, &mark, counters);
            }
        }
    }
}

#[track_caller]
const fn check_unit(who: Site<'_>, row: &EventType, unit: Unit, name: &str) {
    number(who, row, name);
    // The first mark gives the unit.
    if let Some(first) = unit_of(row, name)
        && first as u8 != unit as u8
    {
        who.says("an earlier mark gives this parameter another unit")
    }
}

/// Checks a change of a counter: by itself, and against the rows before.
#[track_caller]
const fn check_count<'a>(
    who: Site<'_>,
    row: &'a EventType,
    mark: &Count<'a>,
    counters: &mut Counters<'a>,
) {
    if let Some(name) = mark.amount {
        number(who, row, name);
    }
    let mut index = 0;
    while index < KEY_COUNT_MAX {
        if let Some((name, other)) = mark.key[index] {
            if !is_equal(name, other) {
                who.says("a key of one event type is PARAM,...")
            }
            param(who, row, name);
        }
        index += 1;
    }
    counters.agree(who, row, mark);
}

/// A counter, as the first row that names it changes it.
#[derive(Clone, Copy)]
struct Counter<'a> {
    name: &'a str,
    row: &'a str,
    key_count: usize,
    /// Of the first row that states it.
    unit: Option<Unit>,
}

/// The counters that the rows so far named.
pub(super) struct Counters<'a> {
    all: [Option<Counter<'a>>; COUNTER_COUNT_MAX],
    count: usize,
}

impl<'a> Counters<'a> {
    pub(super) const fn new() -> Counters<'a> {
        Counters { all: [None; _], count: 0 }
    }

    /// Checks a change of a counter against earlier changes of the same one.
    #[track_caller]
    const fn agree(&mut self, who: Site<'_>, row: &'a EventType, mark: &Count<'a>) {
        let (key_count, unit) = (key_count(row, mark), unit_of_count(row, mark));
        let mut index = 0;
        while index < self.count {
            if let Some(first) = &mut self.all[index]
                && is_equal(first.name, mark.name)
            {
                if first.key_count != key_count {
                    who.and(first.row).says(
                        "the changes of one counter have equally many parameters as their key",
                    )
                }
                match (first.unit, unit) {
                    (Some(of_first), Some(unit)) if of_first as u8 != unit as u8 => {
                        who.and(first.row).says("the changes of one counter have one unit")
                    }
                    (None, Some(_)) => first.unit = unit,
                    _ => {}
                }
                return;
            }
            index += 1;
        }
        if index == COUNTER_COUNT_MAX {
            who.says("a registry names at most 256 counters")
        }
        self.all[index] = Some(Counter { name: mark.name, row: row.name, key_count, unit });
        self.count += 1;
    }
}

/// Returns the number of parameters that tell the counters of a mark apart. A counter whose name is
/// another parameter than its amount has one for each of its values.
const fn key_count(row: &EventType, mark: &Count<'_>) -> usize {
    let mut count = 0;
    while count < KEY_COUNT_MAX && mark.key[count].is_some() {
        count += 1;
    }
    let is_own = match mark.amount {
        Some(amount) => is_equal(amount, mark.name),
        None => false,
    };
    if count == 0 && !is_own && find(row.params, mark.name).is_some() { 1 } else { count }
}

/// Returns the unit of what a mark adds: things, if it adds 1. That of 0 is any.
const fn unit_of_count(row: &EventType, mark: &Count<'_>) -> Option<Unit> {
    match (mark.amount, mark.change) {
        (Some(name), _) => unit_of(row, name),
        (None, Change::Is) => None,
        (None, _) => Some(Unit::Count),
    }
}

/// Returns the unit that a row's first mark gives a parameter.
const fn unit_of(row: &EventType, name: &str) -> Option<Unit> {
    let mut rest = row.doc;
    while let Some((word, text, after)) = next(rest) {
        rest = after;
        if let Some(Ok(Mark::Unit(unit, of))) = parse(word, text)
            && is_equal(of, name)
        {
            return Some(unit);
        }
    }
    None
}

#[track_caller]
const fn event_type<'r>(who: Site<'_>, place: Place<'_>, rows: &'r [Row]) -> &'r EventType {
    let mut index = 0;
    while index < rows.len() {
        if rows[index].event_type.name.eq_ignore_ascii_case(place.0) {
            return &rows[index].event_type;
        }
        index += 1;
    }
    who.text().then(": no event type is called ").quoted(place.0).breaks_a_law()
}

/// Checks that an event type has the parameters of a pair: that of its counter, and its key.
#[track_caller]
const fn check_params(
    who: Site<'_>,
    row: &EventType,
    of: Option<&str>,
    keys: &[Option<(&str, &str)>; KEY_COUNT_MAX],
    is_end: bool,
) {
    if let Some(name) = of {
        number(who, row, name);
    }
    let mut index = 0;
    while index < KEY_COUNT_MAX {
        if let Some((from, to)) = keys[index] {
            param(who, row, if is_end { to } else { from });
        }
        index += 1;
    }
}

const fn find<'r>(params: &'r [Param], name: &str) -> Option<&'r Param> {
    let mut index = 0;
    while index < params.len() {
        if is_equal(params[index].name, name) {
            return Some(&params[index]);
        }
        index += 1;
    }
    None
}

#[track_caller]
const fn param<'r>(who: Site<'_>, row: &'r EventType, name: &str) -> &'r Param {
    match find(row.params, name) {
        Some(param) => param,
        None => {
            let what = who.text().then(": no parameter of ").quoted(row.name);
            what.then(" is called ").quoted(name).breaks_a_law()
        }
    }
}

/// Checks that a parameter is a number.
#[track_caller]
const fn number(who: Site<'_>, row: &EventType, name: &str) {
    if !param(who, row, name).sort.is_number() {
        who.text()
            .then(": ")
            .quoted(name)
            .then(" has another sort than W, U or D: only these count")
            .breaks_a_law()
    }
}
