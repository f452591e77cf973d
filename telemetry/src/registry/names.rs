//! The syntax of the environment variables: masks in a list of kinds, and the name of a log.
//!
//! ```text
//!  "Pool arena 0x40"  ─ words ─▶  Pool | Arena | 1 << 6     numbers as in C; names in any case
//!  "log-%p-%%.io"     ──────────▶ "log-4711-%.io"
//! ```
//!
//! Design: `.control.env` in `design/telemetry.md`.

use crate::os::report;
use crate::os::sync::Locked;
use crate::registry::registration::{self, Registered};
use core::fmt;
use eventdef::{Kind, Registry};
use std::io::Write;

const ALL: &[u8] = b"all";

pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

pub(crate) fn mask(word: &[u8], registry: &Registry) -> Option<u64> {
    bits(word).or_else(|| kind(word, registry).map(|kind| 1 << kind.index))
}

/// Returns the kinds that a word means in every registry: a number, or all.
pub(crate) fn bits(word: &[u8]) -> Option<u64> {
    if word.eq_ignore_ascii_case(ALL) { Some(u64::MAX) } else { number(word) }
}

pub(crate) fn kind<'a>(word: &[u8], registry: &'a Registry) -> Option<&'a Kind> {
    registry.kinds.iter().find(|kind| kind.name.as_bytes().eq_ignore_ascii_case(word))
}

/// Parses a number in C notation: decimal, hexadecimal after 0x, octal after 0.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    // The library accepts a sign, C notation for a mask does not.
    if !digits.first()?.is_ascii_alphanumeric() {
        return None;
    }
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, radix).ok()
}

/// Writes the name of a log: `%p` is the process identifier, `%%` a percent sign. Returns `None` if
/// `name` is too small; it is full then.
pub(crate) fn file_name<'a>(text: &[u8], pid: u64, name: &'a mut [u8]) -> Option<&'a [u8]> {
    let room = name.len();
    let mut out = &mut *name;
    let mut rest = text;
    loop {
        rest = match rest {
            [b'%', b'p', after @ ..] => {
                write!(out, "{pid}").ok()?;
                after
            }
            [b'%', b'%', after @ ..] | [_, after @ ..] => {
                out.write_all(&rest[..1]).ok()?;
                after
            }
            [] => break,
        };
    }
    let size = room - out.len();
    name.get(..size)
}

/// Returns whether the name of a log has the process identifier in it.
pub(crate) fn has_pid(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = match rest {
            [b'%', b'p', ..] => return true,
            [b'%', b'%', after @ ..] | [_, after @ ..] => after,
            [] => return false,
        };
    }
}

/// The names of all kinds of chosen registries.
pub(crate) struct KindNames<'a>(pub(crate) &'a dyn Fn(&Registered) -> bool);

impl fmt::Display for KindNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = || registration::all().skip(1).filter(|each| (self.0)(each));
        let all = || chosen().flat_map(|each| each.control.registry.kinds);
        for (index, kind) in all().enumerate() {
            if all().take(index).all(|before| before.name != kind.name) {
                f.write_str(if index == 0 { "" } else { ", " })?;
                f.write_str(kind.name)?;
            }
        }
        Ok(())
    }
}

/// The words of an environment variable that were reported, a bit each: each is reported once.
pub(crate) struct Reported(Locked<u64>);

impl Reported {
    /// The greatest number of words that are remembered.
    pub(crate) const WORD_COUNT_MAX: usize = u64::BITS as usize;

    pub(crate) const fn new() -> Reported {
        Reported(Locked::new(0))
    }

    /// Reports a message about the word with this index, the first time.
    pub(crate) fn say(&self, index: usize, message: fmt::Arguments<'_>) {
        let Some(mut reported) = self.0.lock_waiting() else { return };
        if *reported & 1 << index == 0 {
            *reported |= 1 << index;
            report::say(message);
        }
    }
}

/// Returns whether a word is a number, `all`, or the name of a kind of a registered registry.
pub(crate) fn is_known(word: &[u8]) -> bool {
    registration::all().skip(1).any(|each| mask(word, each.control.registry).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventdef::{Kinds, Version};

    static REGISTRY: Registry = Registry {
        name: "heap",
        version: Version { major: 1, median: 0, minor: 0 },
        doc: "",
        kinds: Kinds::LIST,
        event_types: &[],
    };

    #[test]
    fn the_control_variable_is_read_as_numbers_and_names() {
        let table: &[(&str, Option<u64>)] = &[
            ("Pool", Some(2)),
            ("pOOL", Some(2)),
            ("USER", Some(64)),
            ("all", Some(u64::MAX)),
            ("ALL", Some(u64::MAX)),
            ("0", Some(0)),
            ("3", Some(3)),
            ("0x40", Some(64)),
            ("0XfF", Some(255)),
            ("017", Some(15)),
            ("18446744073709551615", Some(u64::MAX)),
            ("0xFFFFFFFFFFFFFFFF", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("08", None),
            ("0x", None),
            ("0x+1", None),
            ("+1", None),
            ("-1", None),
            ("Poo", None),
            ("Pools", None),
            ("1Pool", None),
            ("P\u{f6}\u{f6}l", None),
        ];
        for (word, expected) in table {
            assert_eq!(mask(word.as_bytes(), &REGISTRY), *expected, "{word}");
        }
        assert_eq!(mask(b"\xff", &REGISTRY), None);
    }

    #[test]
    fn any_number_of_spaces_separates_words() {
        let all: Vec<_> = words(b"  Pool arena\t0x1  ").collect();
        assert_eq!(all, [&b"Pool"[..], b"arena", b"0x1"]);
        assert_eq!(words(b"").count() + words(b"   ").count(), 0);
    }

    #[test]
    fn percent_p_is_the_process_identifier() {
        let mut name = [0; 32];
        let table = [
            ("mpsio.log", "mpsio.log"),
            ("log-%p.io", "log-4711.io"),
            ("%p%p", "47114711"),
            ("100%%-%p", "100%-4711"),
            ("%d%", "%d%"),
        ];
        for (text, expected) in table {
            let result = file_name(text.as_bytes(), 4711, &mut name);
            assert_eq!(result, Some(expected.as_bytes()), "{text}");
        }
        let with_pid = table.map(|(text, _)| has_pid(text.as_bytes()));
        assert_eq!(with_pid, [false, true, true, true, false]);
        assert!(!has_pid(b"%%p") && has_pid(b"%%%p"));
        assert_eq!(file_name(b"%p", 0, &mut name), Some(&b"0"[..]));
        assert_eq!(file_name(b"%p", u64::MAX, &mut [0; 19]), None, "it does not fit");
    }
}
