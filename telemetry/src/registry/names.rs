//! What `MPS_TELEMETRY_CONTROL` says, as masks; and what `MPS_TELEMETRY_FILENAME` says, as a name.
//!
//! ```text
//!  "Pool arena 0x40"  ─ words ─▶  Pool | Arena | 1 << 6     numbers as in C; names in any case
//!  "log-%p-%%.io"     ──────────▶ "log-4711-%.io"
//! ```
//!
//! Pure. Design: `.control.env` in `design/telemetry.md`.

use crate::registry::registration::{self, Registered};
use core::fmt;
use eventdef::{Kind, Registry};

/// The word that stands for all kinds.
const ALL: &[u8] = b"all";

/// The words of the text, which are separated by spaces.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The kinds that a word stands for in a registry, if it stands for any.
pub(crate) fn mask(word: &[u8], registry: &Registry) -> Option<u64> {
    bits(word).or_else(|| kind(word, registry).map(|kind| 1 << kind.index))
}

/// The kinds that a word stands for in any registry, being a number, or all.
pub(crate) fn bits(word: &[u8]) -> Option<u64> {
    if word.eq_ignore_ascii_case(ALL) { Some(u64::MAX) } else { number(word) }
}

/// The kind that a word is the name of.
pub(crate) fn kind<'a>(word: &[u8], registry: &'a Registry) -> Option<&'a Kind> {
    registry.kinds.iter().find(|kind| kind.name.as_bytes().eq_ignore_ascii_case(word))
}

/// A number in C notation: decimal, hexadecimal after 0x, octal after 0.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    // A sign is no digit, though the library takes it for one.
    if !digits.first()?.is_ascii_alphanumeric() {
        return None;
    }
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, radix).ok()
}

/// Puts the name of a file together: `%p` is the process identifier, `%%` a percent sign. `None` if
/// it does not fit: then `name` is full.
pub(crate) fn file_name<'a>(text: &[u8], pid: u64, name: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut size = 0;
    let mut put = |bytes: &[u8]| {
        let fitting = bytes.len().min(name.len() - size);
        name[size..size + fitting].copy_from_slice(&bytes[..fitting]);
        size += fitting;
        (fitting == bytes.len()).then_some(())
    };
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = match rest {
            [b'%', b'p', after @ ..] => {
                put(decimal(pid, &mut [0; 20]))?;
                after
            }
            [b'%', b'%', after @ ..] => {
                put(b"%")?;
                after
            }
            _ => {
                put(&[*first])?;
                after
            }
        };
    }
    name.get(..size)
}

/// Whether the process identifier is in the name of a file.
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

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// The names of all kinds that chosen registries have.
pub(crate) struct KindNames<'a>(pub(crate) &'a dyn Fn(&Registered) -> bool);

impl fmt::Display for KindNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = || registration::all().skip(1).filter(|each| (self.0)(each));
        let all = || chosen().flat_map(|each| each.control.registry.kinds);
        for (index, kind) in all().enumerate() {
            if all().take(index).all(|before| before.name != kind.name) {
                f.write_str(if index == 0 { "" } else { " " })?;
                f.write_str(kind.name)?;
            }
        }
        Ok(())
    }
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
    fn words_are_separated_by_spaces_of_any_number() {
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
