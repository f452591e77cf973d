//! Text from a log, made safe for a terminal.
//!
//! ```text
//!  "a\u{1b}[2Jb\tc\u{202e}d" ── OneLine ──▶ "a\u{fffd}[2Jb c\u{fffd}d"
//! ```
//!
//! Names, labels, paths, answers and messages pass through here. Design: `.dumper` in
//! `design/telemetry.md`.

use core::fmt::{self, Write};

/// Returns whether a character steers the terminal that it is printed to: a control character (C0,
/// DEL or C1), an end of a line, or a change of the direction of text.
#[inline]
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
}

/// Bytes as one line of text. A tab or an end of a line becomes a space; other characters that
/// steer a terminal, and bytes that are not UTF-8, become U+FFFD.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(
    /// The bytes.
    pub &'a [u8],
);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.utf8_chunks() {
            OneLineWriter(f).write_str(piece.valid())?;
            if !piece.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

/// Passes text on as one line, as [`OneLine`] does.
pub struct OneLineWriter<'a, W: fmt::Write + ?Sized>(
    /// The destination.
    pub &'a mut W,
);

impl<W: fmt::Write + ?Sized> fmt::Debug for OneLineWriter<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneLineWriter").finish_non_exhaustive()
    }
}

impl<W: fmt::Write + ?Sized> fmt::Write for OneLineWriter<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(is_steering) {
            let (before, from) = rest.split_at(at);
            self.0.write_str(before)?;
            let mut letters = from.chars();
            let is_space = matches!(letters.next(), Some('\t' | '\n' | '\r'));
            self.0.write_char(if is_space { ' ' } else { char::REPLACEMENT_CHARACTER })?;
            rest = letters.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_steer_a_terminal() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            (b"a\tb\r\nc", "a b  c"),
            (b"\x1b[2J\x7f", "\u{fffd}[2J\u{fffd}"),
            ("a\u{9b}2J\u{85}".as_bytes(), "a\u{fffd}2J\u{fffd}"),
            (
                "\u{202e}b\u{2066}c\u{61c}d\u{200f}\u{2028}".as_bytes(),
                "\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}\u{fffd}",
            ),
            (b"\x9b2J", "\u{fffd}2J"),
            ("größe 👩‍🚀".as_bytes(), "größe 👩‍🚀"),
        ] {
            assert_eq!(OneLine(bytes).to_string(), expected);
        }
    }
}
