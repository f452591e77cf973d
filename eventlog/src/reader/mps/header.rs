//! The registry of another version of the MPS, from its `eventdef.h`.
//!
//! ```text
//!  #define EVENT_VERSION_MAJOR ((unsigned)2)                      ─┐
//!  EVENT(X, PoolAlloc, 0x002a, TRUE, Object)                       ├──▶ Registry
//!  #define EVENT_PoolAlloc_PARAMS(PARAM, X) PARAM(X, 0, P, pool, "…") ─┘
//! ```
//!
//! The reader needs no C compiler: it reads only these three forms, in a time linear in the size.
//! Layout: `.mps.header` in `design/format.md`; design: `.req.back`, `.req.share` in
//! `design/telemetry.md`.

use super::platform::{PLATFORMS, of_version};
use crate::reader::model::registry::clean;
use crate::reader::model::registry::{EventType, Kind, Param, Registry};
use eventdef::{Sort, Version};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// Why a text is not an `eventdef.h`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: {what}")]
pub struct HeaderError {
    /// The event type or macro with the error.
    name: String,
    what: String,
}

impl Registry {
    /// Parses the registry in an `eventdef.h` of the Memory Pool System (`.mps.header`), for
    /// [`super::super::Options::mps_registry`].
    pub fn from_mps_header(text: &str) -> Result<Registry, HeaderError> {
        let text = &plain(text);
        let macros = definitions(text);
        let part = |name| version_part(&macros, name);
        let mut registry = Registry::new(&eventdef::mps::REGISTRY, PLATFORMS[0]);
        registry.doc = Box::default();
        registry.version = Version {
            major: part("EVENT_VERSION_MAJOR")?,
            median: part("EVENT_VERSION_MEDIAN")?,
            minor: part("EVENT_VERSION_MINOR")?,
        };
        registry.event_types.clear();
        let mut seen = Seen::default();
        for args in calls(text, "EVENT") {
            let mut event_type = event_type(&macros, &args, &registry.kinds)?;
            seen.check(&event_type)?;
            // The column tells the hot variety before 2.0, and since then whether the event type is
            // used.
            let is_true = event_type.always;
            event_type.always = is_true || registry.version.major >= 2;
            event_type.retired = !is_true && registry.version.major >= 2;
            registry.event_types.push(event_type);
        }
        if registry.event_types.is_empty() {
            return Err(error("EVENT", "no event types found; pass an eventdef.h"));
        }
        registry.lay_out(of_version(PLATFORMS[0], registry.version));
        Ok(registry)
    }
}

fn error(name: &str, what: impl Into<String>) -> HeaderError {
    HeaderError { name: name.to_owned(), what: what.into() }
}

/// The event types so far. Each name and each code occurs once.
#[derive(Default)]
struct Seen {
    names: HashSet<Box<str>>,
    by_code: HashMap<u16, Box<str>>,
}

impl Seen {
    fn check(&mut self, event_type: &EventType) -> Result<(), HeaderError> {
        let name = &event_type.name;
        if !self.names.insert(name.clone()) {
            return Err(error(name, "two event types have this name"));
        }
        match self.by_code.insert(event_type.code, name.clone()) {
            Some(other) => Err(error(
                name,
                format!("its code {:#06x} is also the code of {other}", event_type.code),
            )),
            None => Ok(()),
        }
    }
}

/// Removes comments, and joins continued lines.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\\\n", " ");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    plain + rest
}

/// The definition of each macro: the rest of its line. Of two definitions, the first one counts.
type Macros<'t> = HashMap<&'t str, &'t str>;

fn definitions(text: &str) -> Macros<'_> {
    let mut macros = Macros::new();
    for line in text.lines() {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix("define")) else { continue };
        let rest = rest.trim_start();
        let end = rest.find(|c| !is_identifier(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        macros.entry(name).or_insert(rest);
    }
    macros
}

fn version_part(macros: &Macros<'_>, name: &str) -> Result<u16, HeaderError> {
    let value = macros.get(name).ok_or_else(|| {
        error(name, "is not defined: is this an eventdef.h of the Memory Pool System?")
    })?;
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| error(name, "is not a number"))
}

/// Parses a row of the list and its parameters. *always* is the row's third column.
fn event_type(
    macros: &Macros<'_>,
    args: &[&str],
    kinds: &[Kind],
) -> Result<EventType, HeaderError> {
    let &[_, name, code, flag, kind, ..] = args else {
        return Err(error("EVENT", "a row needs a name, a code, TRUE or FALSE, and a kind"));
    };
    if !is_name(name) {
        return Err(error("EVENT", format!("{name:?} is not a name of an event type")));
    }
    let code = code.strip_prefix("0x").and_then(|code| u16::from_str_radix(code, 16).ok());
    let kind = kinds.iter().find(|known| *known.name == *kind);
    let params = macros.get(format!("EVENT_{name}_PARAMS").as_str());
    let params = params.ok_or_else(|| error(name, "its parameters are not defined"))?;
    let params = calls(params, "PARAM").enumerate().map(|(index, args)| param(name, index, &args));
    let params = params.collect::<Result<Vec<_>, _>>()?;
    if params.iter().rev().skip(1).any(|param| param.sort == Sort::S) {
        return Err(error(name, "a string is not its last parameter"));
    }
    if !["TRUE", "FALSE"].contains(&flag) {
        return Err(error(name, "its third column is neither TRUE nor FALSE"));
    }
    Ok(EventType {
        name: name.into(),
        code: code.ok_or_else(|| error(name, "its code is not a hexadecimal number"))?,
        kind: kind.ok_or_else(|| error(name, "its kind is not one of the MPS"))?.index,
        always: flag == "TRUE",
        retired: false,
        coarse: false,
        doc: Box::default(),
        params,
        size_min: 0,
    })
}

fn param(event_type: &str, index: usize, args: &[&str]) -> Result<Param, HeaderError> {
    let &[_, number, sort, name, ref doc @ ..] = args else {
        return Err(error(event_type, "a parameter needs an index, a sort and a name"));
    };
    if number.parse() != Ok(index) {
        return Err(error(event_type, format!("parameter {index} has another index: {number}")));
    }
    let &[letter] = sort.as_bytes() else {
        return Err(error(event_type, "a parameter has an unknown sort"));
    };
    let sort = Sort::from_letter(letter);
    let sort = sort.ok_or_else(|| error(event_type, "a parameter has an unknown sort"))?;
    if !is_name(name) {
        return Err(error(event_type, format!("{name:?} is not a name of a parameter")));
    }
    let doc = doc.first().map_or("", |doc| doc.trim_matches('"'));
    Ok(Param { sort, offset: 0, mask: u8::MAX, name: name.into(), doc: clean(doc.as_bytes()) })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_identifier)
}

fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the arguments of each use of a macro.
fn calls<'t>(text: &'t str, name: &'static str) -> impl Iterator<Item = Vec<&'t str>> {
    text.match_indices(name).filter_map(move |(at, _)| {
        let is_name = !text.get(..at)?.ends_with(is_identifier);
        let rest = text.get(at + name.len()..)?.strip_prefix('(')?;
        is_name.then(|| arguments(rest))?
    })
}

/// Splits the text before the closing parenthesis at commas outside of strings. It stops at the end
/// of the line and at another parenthesis, so the time stays linear.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let mut arguments = Vec::new();
    let (mut start, mut is_string, mut is_escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        let is_plain = !is_escaped;
        is_escaped = c == '\\' && is_plain;
        match c {
            '"' if is_plain => is_string = !is_string,
            ',' | ')' if !is_string => {
                arguments.push(text.get(start..at)?.trim());
                start = at + 1;
                if c == ')' {
                    return Some(arguments);
                }
            }
            '(' if !is_string => return None,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"/* A comment with EVENT(X, Nothing, 0x1, TRUE, Arena) */
#define EVENT_VERSION_MAJOR  ((unsigned)1)
#define EVENT_VERSION_MEDIAN ((unsigned)6)
#define EVENT_VERSION_MINOR  ((unsigned)1)
#define EVENT_LIST(EVENT, X) \
  EVENT(X, PoolAlloc   , 0x0015,  TRUE, Object) \
  EVENT(X, Gone        , 0x0016, FALSE, Seg)
#define EVENT_PoolAlloc_PARAMS(PARAM, X) \
  PARAM(X,  0, P, pool, "its pool, (or \"none\")") \
  PARAM(X,  1, U, count)
#define EVENT_Gone_PARAMS(PARAM, X)
"#;

    #[test]
    fn a_header_gives_another_versions_registry() {
        let registry = Registry::from_mps_header(HEADER).unwrap();
        assert_eq!(registry.version, Version { major: 1, median: 6, minor: 1 });
        assert_eq!(registry.event_types.len(), 2);
        let alloc = registry.event_type(0x15).unwrap();
        assert_eq!((&*alloc.name, alloc.always), ("PoolAlloc", true));
        assert_eq!(registry.kind(alloc.kind).map(|kind| &*kind.name), Some("Object"));
        let params: Vec<_> = alloc.params.iter().map(|p| (p.sort, &*p.name, &*p.doc)).collect();
        let doc = "its pool, (or \\\"none\\\")";
        assert_eq!(params, [(Sort::P, "pool", doc), (Sort::U, "count", "")]);
        // The third column tells the hot variety before 2.0, and use since then.
        let gone = registry.event_type(0x16).unwrap();
        assert_eq!((gone.always, gone.retired, gone.params.len()), (false, false, 0));
        let text = HEADER.replace(
            "((unsigned)1)\n#define EVENT_VERSION_MEDIAN",
            "2\n# define EVENT_VERSION_MEDIAN",
        );
        let registry = Registry::from_mps_header(&text).unwrap();
        let gone = registry.event_type(0x16).unwrap();
        assert_eq!((gone.always, gone.retired, gone.params.len()), (true, true, 0));
    }

    #[test]
    fn an_error_names_the_place_in_a_header() {
        for (from, to, expected) in [
            ("0x0015", "15", "PoolAlloc: its code is not a hexadecimal number"),
            ("Object", "Subject", "PoolAlloc: its kind is not one of the MPS"),
            ("0, P,", "0, Q,", "PoolAlloc: a parameter has an unknown sort"),
            ("EVENT_Gone_PARAMS", "EVENT_Gine_PARAMS", "Gone: its parameters are not defined"),
            ("0, P,", "1, P,", "PoolAlloc: parameter 0 has another index: 1"),
            ("0, P,", "0, S,", "PoolAlloc: a string is not its last parameter"),
            (" TRUE,", " MAYBE,", "PoolAlloc: its third column is neither TRUE nor FALSE"),
            ("0x0016", "0x0015", "Gone: its code 0x0015 is also the code of PoolAlloc"),
            ("Gone  ", "PoolAlloc", "PoolAlloc: two event types have this name"),
            ("Gone  ", "Go\x1Bne", "EVENT: \"Go\\u{1b}ne\" is not a name of an event type"),
            ("P, pool", "P, ", "PoolAlloc: \"\" is not a name of a parameter"),
            (", Seg)", ")", "EVENT: a row needs a name, a code, TRUE or FALSE, and a kind"),
            ("1, U, count", "1, U", "PoolAlloc: a parameter needs an index, a sort and a name"),
            ("((unsigned)6)", "six", "EVENT_VERSION_MEDIAN: is not a number"),
            (
                "EVENT_VERSION_MINOR",
                "MINOR",
                "EVENT_VERSION_MINOR: is not defined: is this an eventdef.h of the Memory Pool \
                 System?",
            ),
            ("EVENT(X", "NONE(X", "EVENT: no event types found; pass an eventdef.h"),
        ] {
            let text = HEADER.replace(from, to);
            let found = Registry::from_mps_header(&text).unwrap_err();
            assert_eq!(found.to_string(), expected);
        }
    }

    #[test]
    fn a_damaged_header_is_read_or_refused() {
        let mut random = crate::reader::mps::tests::random(1);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..3000 {
            let mut text = HEADER.as_bytes().to_vec();
            for _ in 0..1 + random(4) {
                let at = random(text.len());
                match random(3) {
                    0 => text[at] = b"(),\"\\#/* \n0SE\xFF"[random(14)],
                    1 => drop(text.drain(at..(at + 1 + random(40)).min(text.len()))),
                    _ => {
                        let piece = HEADER.as_bytes()[random(HEADER.len() - 60)..][..60].to_vec();
                        drop(text.splice(at..at, piece));
                    }
                }
            }
            match Registry::from_mps_header(&String::from_utf8_lossy(&text)) {
                Ok(registry) => read += usize::from(!registry.event_types.is_empty()),
                Err(error) => refused += usize::from(!error.to_string().is_empty()),
            }
        }
        assert_eq!(read + refused, 3000);
        assert!(read > 300 && refused > 300, "{read} read, {refused} refused");
    }

    #[test]
    fn a_header_is_read_in_linear_time() {
        let version = HEADER.split_inclusive('\n').take(4).collect::<String>();
        for piece in [
            "EVENT(",
            "EVENT(\"",
            "EVENT(\"\\\"",
            "/*",
            "#define A\n",
            "EVENT(X,",
            "\\\n",
            "(",
            "\"",
        ] {
            let text = version.clone() + &piece.repeat((1 << 20) / piece.len());
            // A quadratic parser would take hours.
            let found = Registry::from_mps_header(&text).unwrap_err();
            assert!(found.to_string().starts_with("EVENT: no event types found"), "{piece}");
        }
        let name = "A".repeat(1 << 16);
        let rows = format!("#define EVENT_{name}_PARAMS\nEVENT(X,{name},0x1,TRUE,Seg)").repeat(8);
        assert!(Registry::from_mps_header(&(version + &rows)).is_err());
    }
}
