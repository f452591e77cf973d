//! Marks: what words in square brackets in a doc string declare.
//!
//! ```text
//!  "Memory was handed out. [counter live += size:pool] [unit bytes size]"
//!                           └─ in_doc ─▶ Mark::Count       └─▶ Mark::Unit
//! ```
//!
//! The compiler reads the marks of a registry by these functions, and so does a reader of its logs.
//! Design: `.cnv.marks` in `design/eventcnv.md`.

use crate::check::NAME_SIZE_MAX;
use crate::text::is_equal;

/// Parameters that tell one slice or counter of a mark from another, at most.
pub const KEY_COUNT_MAX: usize = 4;
/// Counters that one event type changes, at most.
pub const COUNT_MAX: usize = 8;
/// Counters that the marks of one registry name, at most.
pub const COUNTER_COUNT_MAX: usize = 256;

/// The relation of a mark's event types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// They begin and end an activity of a thread: slices nest.
    Slice,
    /// They begin and end a lifetime, in any threads.
    Span,
    /// The first causes the second.
    Flow,
    /// They add to a counter, subtract from it, or state its value.
    Counter,
}

impl Form {
    /// The word of each form, as in `[slice GcBegin=GcEnd]`.
    pub const ALL: [(&str, Form); 4] = [
        ("slice", Form::Slice),
        ("span", Form::Span),
        ("flow", Form::Flow),
        ("counter", Form::Counter),
    ];
}

/// What a number of an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Ns,
    /// Things.
    Count,
}

impl Unit {
    /// The word of each unit, as in `[unit bytes size]`.
    pub const ALL: [(&str, Unit); 3] =
        [("bytes", Unit::Bytes), ("ns", Unit::Ns), ("count", Unit::Count)];

    /// Returns the word.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Ns => "ns",
            Unit::Count => "count",
        }
    }
}

/// How an event changes a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It states the value.
    Is,
    /// It adds.
    Add,
    /// It subtracts.
    Subtract,
}

/// Names of the parameters of a key, in the first and in the second event type.
pub type Keys<'a> = [Option<(&'a str, &'a str)>; KEY_COUNT_MAX];

/// An event type, and the parameter that a counter takes from it.
pub type Place<'a> = (&'a str, Option<&'a str>);

/// A mark of two event types; or of one that states a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Its form.
    pub form: Form,
    /// The event type that begins, causes, adds, or states the value.
    pub from: Place<'a>,
    /// The other event type.
    pub to: Option<Place<'a>>,
    /// What tells one pair from another.
    pub key: Keys<'a>,
}

/// A mark of an event type that changes a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<'a> {
    /// The name of the counter.
    pub name: &'a str,
    /// What the event type does with it.
    pub change: Change,
    /// The parameter with the amount; `None`: it adds or subtracts 1, or states 0.
    pub amount: Option<&'a str>,
    /// What tells one counter from another.
    pub key: Keys<'a>,
}

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// `[slice A=B:key]`, also `span` and `flow`; `[counter A.p-B.q:key]` and `[counter A.p:key]`.
    Pair(Pair<'a>),
    /// `[counter name += p:key]`, also `-=` and `=`.
    Count(Count<'a>),
    /// `[name p]`: p names what the event type begins.
    Name(&'a str),
    /// `[unit bytes p]`.
    Unit(Unit, &'a str),
}

/// Returns the marks in a doc string. Text in brackets that does not begin with the word of a mark
/// is prose; of other text the reason why it is not a mark is returned.
pub fn in_doc(doc: &str) -> impl Iterator<Item = Result<Mark<'_>, &'static str>> {
    let mut rest = doc;
    core::iter::from_fn(move || {
        loop {
            let (word, text, after) = next(rest)?;
            rest = after;
            if let Some(mark) = parse(word, text) {
                return Some(mark);
            }
        }
    })
}

/// Returns the first word and the rest of the first text in brackets, and what follows.
pub(crate) const fn next(mut doc: &str) -> Option<(&str, &str, &str)> {
    loop {
        let Some((_, inside)) = split(doc, b'[') else { return None };
        doc = inside;
        let Some((inside, _)) = split(inside, b']') else { return None };
        // The text of the innermost brackets counts.
        if split(inside, b'[').is_none()
            && let Some((word, text)) = split(inside, b' ')
        {
            return Some((word, text, doc));
        }
    }
}

/// Returns the mark of a word and a text, or why it is none; `None` if the word is not one of a
/// mark.
pub(crate) const fn parse<'a>(word: &str, text: &'a str) -> Option<Result<Mark<'a>, &'static str>> {
    let mut index = 0;
    while index < Form::ALL.len() {
        if is_equal(Form::ALL[index].0, word) {
            let form = Form::ALL[index].1;
            return Some(match (form, count(text)) {
                (Form::Counter, Some(mark)) => mark,
                _ => match pair(form, text) {
                    Ok(mark) => Ok(Mark::Pair(mark)),
                    Err(why) => Err(why),
                },
            });
        }
        index += 1;
    }
    if is_equal(word, "name") {
        return Some(Ok(Mark::Name(text.trim_ascii())));
    }
    if is_equal(word, "unit") { Some(unit(text)) } else { None }
}

/// Parses `BEGIN=END`, `EVENT.PARAM` or `EVENT.PARAM-EVENT.PARAM`, with `:PARAM,…` at the end.
///
/// # Errors
///
/// Says what the text should be.
pub const fn pair(form: Form, text: &str) -> Result<Pair<'_>, &'static str> {
    let (of, keys) = keys_of(text);
    let key = match keys {
        Ok(key) => key,
        Err(why) => return Err(why),
    };
    if matches!(form, Form::Counter) {
        let why = "a counter is EVENT.PARAM or EVENT.PARAM-EVENT.PARAM";
        let (from, to) = match split(of, b'-') {
            Some((from, to)) => (place(from), Some(place(to))),
            None => (place(of), None),
        };
        return match (from, to) {
            (Some(from), None) => Ok(Pair { form, from, to: None, key }),
            (Some(from), Some(Some(to))) => Ok(Pair { form, from, to: Some(to), key }),
            _ => Err(why),
        };
    }
    if let Some((from, to)) = split(of, b'=') {
        let (from, to) = (from.trim_ascii(), to.trim_ascii());
        if !from.is_empty() && !to.is_empty() {
            return Ok(Pair { form, from: (from, None), to: Some((to, None)), key });
        }
    }
    Err("a pair is BEGIN=END, or BEGIN=END:PARAM,...")
}

/// Parses `NAME += PARAM`, with `:PARAM,…` at the end. `None`: no sign of equality is before the
/// colon.
const fn count(text: &str) -> Option<Result<Mark<'_>, &'static str>> {
    let (of, keys) = keys_of(text);
    let Some((name, amount)) = split(of, b'=') else { return None };
    let (name, change) = match name.as_bytes() {
        [.., b'+'] => (name.split_at(name.len() - 1).0, Change::Add),
        [.., b'-'] => (name.split_at(name.len() - 1).0, Change::Subtract),
        _ => (name, Change::Is),
    };
    let (name, amount) = (name.trim_ascii(), amount.trim_ascii());
    let is_is = matches!(change, Change::Is);
    let (is_number, is_literal) =
        (starts_with_digit(amount), is_equal(amount, if is_is { "0" } else { "1" }));
    if name.is_empty() || amount.is_empty() || (is_number && !is_literal) {
        let why = "a counter is NAME += PARAM, NAME -= PARAM or NAME = PARAM; a number is += 1, \
                   -= 1 or = 0";
        return Some(Err(why));
    }
    if is_is && ends_as_operator(name) {
        return Some(Err("the sign before `=` is + or -: a counter is NAME += PARAM"));
    }
    if name.len() > NAME_SIZE_MAX {
        return Some(Err("the name of a counter has at most 31 bytes"));
    }
    let key = match keys {
        Ok(key) => key,
        Err(why) => return Some(Err(why)),
    };
    let amount = if is_literal { None } else { Some(amount) };
    Some(Ok(Mark::Count(Count { name, change, amount, key })))
}

const fn starts_with_digit(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9', ..])
}

/// Returns whether a name ends with a sign that makes another operator of the `=` behind it.
const fn ends_as_operator(name: &str) -> bool {
    let signs = b"*/%&|^<>!~+-";
    let (mut index, Some(last)) = (0, name.as_bytes().last()) else { return false };
    while index < signs.len() {
        if signs[index] == *last {
            return true;
        }
        index += 1;
    }
    false
}

const fn unit(text: &str) -> Result<Mark<'_>, &'static str> {
    if let Some((word, param)) = split(text.trim_ascii(), b' ') {
        let mut index = 0;
        while index < Unit::ALL.len() {
            if is_equal(Unit::ALL[index].0, word) {
                return Ok(Mark::Unit(Unit::ALL[index].1, param.trim_ascii()));
            }
            index += 1;
        }
    }
    Err("a unit is bytes PARAM, ns PARAM or count PARAM")
}

/// Splits `EVENT.PARAM`.
const fn place(text: &str) -> Option<Place<'_>> {
    let Some((name, param)) = split(text.trim_ascii(), b'.') else { return None };
    let (name, param) = (name.trim_ascii(), param.trim_ascii());
    if name.is_empty() || param.is_empty() { None } else { Some((name, Some(param))) }
}

/// Splits a mark into what is before its colon, and its key.
const fn keys_of(text: &str) -> (&str, Result<Keys<'_>, &'static str>) {
    let Some((of, mut rest)) = split(text, b':') else { return (text, Ok([None; _])) };
    let (mut keys, mut count) = ([None; KEY_COUNT_MAX], 0);
    loop {
        let (name, after) = match split(rest, b',') {
            Some((name, after)) => (name, Some(after)),
            None => (rest, None),
        };
        let name = name.trim_ascii();
        if !name.is_empty() {
            if count == KEY_COUNT_MAX {
                return (of, Err("at most 4 parameters tell one from another"));
            }
            keys[count] = Some(match split(name, b'=') {
                Some((from, to)) => (from.trim_ascii(), to.trim_ascii()),
                None => (name, name),
            });
            count += 1;
        }
        match after {
            Some(after) => rest = after,
            None => return (of, Ok(keys)),
        }
    }
}

/// Splits a text at the first of these characters, which are ASCII.
const fn split(text: &str, at: u8) -> Option<(&str, &str)> {
    let (mut index, mut rest) = (0, text.as_bytes());
    // The compiler counts branches, and long doc strings have few of these characters.
    while let [a, b, c, d, e, f, g, h, after @ ..] = rest {
        let [ab, cd] = [(*a == at) | (*b == at), (*c == at) | (*d == at)];
        let [ef, gh] = [(*e == at) | (*f == at), (*g == at) | (*h == at)];
        if ab | cd | ef | gh {
            break;
        }
        (index, rest) = (index + 8, after);
    }
    while let [first, after @ ..] = rest {
        if *first == at {
            let (before, after) = text.split_at(index);
            return Some((before, after.split_at(1).1));
        }
        (index, rest) = (index + 1, after);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.marks`
    #[test]
    fn marks_parse_to_pairs_and_counters() {
        let keys = |of: &[(&'static str, &'static str)]| {
            let mut keys = Keys::default();
            keys.iter_mut().zip(of).for_each(|(key, of)| *key = Some(*of));
            keys
        };
        let slice = pair(Form::Slice, "GcBegin=GcEnd:gc,heap=of").unwrap();
        assert_eq!((slice.from, slice.to), (("GcBegin", None), Some(("GcEnd", None))));
        assert_eq!(slice.key, keys(&[("gc", "gc"), ("heap", "of")]));
        let counter = pair(Form::Counter, "Alloc.size-Free.bytes:pool").unwrap();
        assert_eq!(counter.from, ("Alloc", Some("size")));
        assert_eq!(counter.to, Some(("Free", Some("bytes"))));
        assert_eq!(pair(Form::Counter, "Load.level").unwrap().to, None);
        for (form, text) in [
            (Form::Slice, "GcBegin"),
            (Form::Slice, "=GcEnd"),
            (Form::Flow, "a=b:p,q,r,s,t"),
            (Form::Counter, "Alloc"),
            (Form::Counter, "Alloc.size-Free"),
            (Form::Counter, ".size"),
            (Form::Counter, "live += size"),
        ] {
            assert!(pair(form, text).is_err(), "{text}");
        }
    }

    #[test]
    fn marks_stand_in_brackets_in_a_doc_string() {
        let doc = "Begins [slice A=B:p] a [thing] of [flow C=D], [counter E.f] and [slice x].";
        let found: [_; 4] = core::array::from_fn(|index| in_doc(doc).nth(index).unwrap());
        let pair = |form, text| pair(form, text).map(Mark::Pair);
        assert_eq!(found[0], pair(Form::Slice, "A=B:p"));
        assert_eq!(found[1], pair(Form::Flow, "C=D"));
        assert_eq!(found[2], pair(Form::Counter, "E.f"));
        assert!(found[3].is_err() && in_doc(doc).nth(4).is_none());
        let doc = "A [name [name function] of a [name] and [names x], a [ä] [name  other ] [name";
        assert!(in_doc(doc).eq([Ok(Mark::Name("function")), Ok(Mark::Name("other"))]));
    }

    #[test]
    fn counters_add_subtract_and_state() {
        let count = |name, change, amount, key| {
            let mut keys = Keys::default();
            keys[0] = key;
            Ok(Mark::Count(Count { name, change, amount, key: keys }))
        };
        let key = Some(("pool", "pool"));
        for (text, mark) in [
            ("[counter live += size:pool]", count("live", Change::Add, Some("size"), key)),
            ("[counter in-flight-=1]", count("in-flight", Change::Subtract, None, None)),
            ("[counter in - flight = n]", count("in - flight", Change::Is, Some("n"), None)),
            ("[counter live = 0:pool]", count("live", Change::Is, None, key)),
            ("[unit bytes size]", Ok(Mark::Unit(Unit::Bytes, "size"))),
            ("[unit  ns  wait ]", Ok(Mark::Unit(Unit::Ns, "wait"))),
        ] {
            assert_eq!(in_doc(text).next(), Some(mark), "{text}");
        }
        let operators = ["a *= n", "a /= n", "a |= n", "a <= n", "a != n", "a + = n", "a - = n"];
        for text in ["+= n", "a = ", "a = 1", "a += 0", "a -= 2", "a += n:a,b,c,d,e"]
            .into_iter()
            .chain(operators)
        {
            assert!(parse("counter", text).unwrap().is_err(), "{text}");
        }
        for text in ["", "bytes", "Bytes size", "seconds t"] {
            assert!(parse("unit", text).unwrap().is_err(), "{text}");
        }
        assert_eq!(parse("counters", "a += b"), None);
    }
}
