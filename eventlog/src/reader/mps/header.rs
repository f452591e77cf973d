//! The registry of another version of the MPS, from its `eventdef.h`.
//!
//! ```text
//!  #define EVENT_VERSION_MAJOR ((unsigned)2)                      ─┐
//!  EVENT(X, PoolAlloc, 0x002a, TRUE, Object)                       ├──▶ Registry
//!  #define EVENT_PoolAlloc_PARAMS(PARAM, X) PARAM(X, 0, P, pool, "…") ─┘
//! ```
//!
//! No C compiler is needed: of the file only these three forms are read. Design: `.req.back`,
//! `.req.share` in `design/telemetry.md`.

use super::platform::PLATFORMS;
use crate::reader::registry::{EventType, Kind, Param, Registry};
use eventdef::{Sort, Version};
use std::fmt;

/// Why a text is not an `eventdef.h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderError {
    /// The event type or macro that it is about.
    name: String,
    what: &'static str,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for HeaderError {}

impl Registry {
    /// The registry that an `eventdef.h` of the Memory Pool System declares, for
    /// [`super::super::Options::mps_registry`].
    pub fn from_mps_header(text: &str) -> Result<Registry, HeaderError> {
        let text = &plain(text);
        let mut registry = Registry::new(&eventdef::mps::REGISTRY, PLATFORMS[0]);
        registry.doc = Box::default();
        registry.version = Version {
            major: version_part(text, "EVENT_VERSION_MAJOR")?,
            median: version_part(text, "EVENT_VERSION_MEDIAN")?,
            minor: version_part(text, "EVENT_VERSION_MINOR")?,
        };
        let rows =
            calls(text, "EVENT").into_iter().map(|args| event_type(text, &args, &registry.kinds));
        registry.event_types = rows.collect::<Result<_, _>>()?;
        if registry.event_types.is_empty() {
            return Err(error("EVENT", "there are no event types: is this an eventdef.h?"));
        }
        registry.lay_out(PLATFORMS[0]);
        Ok(registry)
    }
}

fn error(name: &str, what: &'static str) -> HeaderError {
    HeaderError { name: name.to_owned(), what }
}

/// The text without comments, and with continued lines joined.
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

/// The rest of the line that defines a macro.
fn definition<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rests = text.lines().filter_map(|line| line.trim_start().strip_prefix("#define"));
    let mut rests = rests.filter_map(|rest| rest.trim_start().strip_prefix(name));
    rests.find(|rest| !rest.starts_with(is_identifier))
}

fn version_part(text: &str, name: &str) -> Result<u16, HeaderError> {
    let value = definition(text, name).ok_or_else(|| error(name, "is not defined"))?;
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| error(name, "is not a number"))
}

fn event_type(text: &str, args: &[&str], kinds: &[Kind]) -> Result<EventType, HeaderError> {
    let &[_, name, code, used, kind, ..] = args else {
        return Err(error("EVENT", "a row needs a name, a code, whether it is used, and a kind"));
    };
    let code = code.strip_prefix("0x").and_then(|code| u16::from_str_radix(code, 16).ok());
    let kind = kinds.iter().find(|known| *known.name == *kind);
    let params = definition(text, &format!("EVENT_{name}_PARAMS"));
    let params = params.ok_or_else(|| error(name, "its parameters are not defined"))?;
    let params = calls(params, "PARAM").into_iter().map(|args| param(name, &args));
    Ok(EventType {
        name: name.into(),
        code: code.ok_or_else(|| error(name, "its code is not a hexadecimal number"))?,
        kind: kind.ok_or_else(|| error(name, "its kind is none of the MPS's"))?.index,
        always: true,
        retired: used == "FALSE",
        doc: Box::default(),
        params: params.collect::<Result<_, _>>()?,
        size_min: 0,
    })
}

fn param(event_type: &str, args: &[&str]) -> Result<Param, HeaderError> {
    let &[_, _, sort, name, ref doc @ ..] = args else {
        return Err(error(event_type, "a parameter needs an index, a sort and a name"));
    };
    let sort = sort.as_bytes().first().and_then(|&letter| Sort::from_letter(letter));
    let sort = sort.ok_or_else(|| error(event_type, "a parameter has an unknown sort"))?;
    let doc = doc.first().map_or("", |doc| doc.trim_matches('"'));
    Ok(Param { sort, offset: 0, name: name.into(), doc: doc.into() })
}

fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The arguments of each use of a macro: what stands in parentheses after its name.
fn calls<'t>(text: &'t str, name: &str) -> Vec<Vec<&'t str>> {
    let mut calls = Vec::new();
    for (at, _) in text.match_indices(name) {
        let is_name = !text.get(..at).unwrap_or_default().ends_with(is_identifier);
        let rest = text.get(at + name.len()..).unwrap_or_default();
        if let Some(rest) = rest.strip_prefix('(').filter(|_| is_name) {
            calls.extend(arguments(rest));
        }
    }
    calls
}

/// What stands before the closing parenthesis, split at commas; commas in strings do not count.
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
    fn another_versions_registry_is_read_from_its_header() {
        let registry = Registry::from_mps_header(HEADER).unwrap();
        assert_eq!(registry.version, Version { major: 1, median: 6, minor: 1 });
        assert_eq!(registry.event_types.len(), 2);
        let alloc = registry.event_type(0x15).unwrap();
        assert_eq!((&*alloc.name, alloc.retired), ("PoolAlloc", false));
        assert_eq!(registry.kind(alloc.kind).map(|kind| &*kind.name), Some("Object"));
        let params: Vec<_> = alloc.params.iter().map(|p| (p.sort, &*p.name, &*p.doc)).collect();
        let doc = "its pool, (or \\\"none\\\")";
        assert_eq!(params, [(Sort::P, "pool", doc), (Sort::U, "count", "")]);
        let gone = registry.event_type(0x16).unwrap();
        assert!(gone.retired && gone.params.is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_header_is_named() {
        for (from, to, expected) in [
            ("0x0015", "15", "PoolAlloc: its code is not a hexadecimal number"),
            ("Object", "Subject", "PoolAlloc: its kind is none of the MPS's"),
            ("0, P,", "0, Q,", "PoolAlloc: a parameter has an unknown sort"),
            ("EVENT_Gone_PARAMS", "EVENT_Gine_PARAMS", "Gone: its parameters are not defined"),
            ("EVENT_VERSION_MINOR", "MINOR", "EVENT_VERSION_MINOR: is not defined"),
            ("EVENT(X", "NONE(X", "EVENT: there are no event types: is this an eventdef.h?"),
        ] {
            let text = HEADER.replace(from, to);
            let found = Registry::from_mps_header(&text).unwrap_err();
            assert_eq!(found.to_string(), expected);
        }
    }
}
