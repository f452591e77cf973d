//! Values for other programs: fields of CSV, doubles and text in JSON.
//!
//! ```text
//!  =1+2 ── csv_field ─▶ '=1+2     NaN ── Real ─▶ "NaN"     "\u{1b}" ── escaped ─▶ "\u001b"
//! ```
//!
//! No field of CSV is a formula, and none steers a terminal. CSV: RFC 4180, with lines that end in
//! LF; JSON: RFC 8259. Design: `.cnv.styles` in `design/eventcnv.md`.

use eventlog::format::text::is_steering;
use serde::ser::{Serialize, Serializer};
use std::fmt::Write;

/// A spreadsheet takes a cell for a formula that begins with one of these.
const FORMULA: [u8; 6] = *b"=+-@\t\r";

/// A double in JSON: a number, or a string if JSON lacks the number.
#[derive(Clone, Copy, Debug)]
pub struct Real(
    /// The double.
    pub f64,
);

impl Real {
    /// Returns the string of a number that JSON lacks, as protocol buffers have it in JSON.
    pub fn string(&self) -> Option<&'static str> {
        match self.0 {
            value if value.is_finite() => None,
            value if value.is_nan() => Some("NaN"),
            value if value > 0.0 => Some("Infinity"),
            _ => Some("-Infinity"),
        }
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.string() {
            None => serializer.serialize_f64(self.0),
            Some(string) => serializer.serialize_str(string),
        }
    }
}

/// Appends text to a line of CSV, in quotation marks if necessary. Puts an apostrophe before a
/// formula that is not a number. Replaces characters that steer a terminal by U+FFFD, except tabs
/// and ends of lines.
pub fn csv_field(out: &mut Vec<u8>, bytes: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'"');
    let is_formula = bytes.first().is_some_and(|first| FORMULA.contains(first))
        && !str::from_utf8(bytes).is_ok_and(|text| text.parse::<f64>().is_ok());
    if !is_formula && bytes.iter().all(is_plain) {
        return out.extend_from_slice(bytes);
    }
    let is_quoted = bytes.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    out.extend_from_slice(if is_quoted { b"\"" } else { b"" });
    out.extend_from_slice(if is_formula { b"'" } else { b"" });
    for piece in bytes.utf8_chunks() {
        let mut letters = piece.valid().chars().peekable();
        while let Some(letter) = letters.next() {
            let is_end = letter == '\r' && letters.peek() == Some(&'\n');
            match letter {
                '"' => out.extend_from_slice(b"\"\""),
                c if is_steering(c) && !matches!(c, '\t' | '\n') && !is_end => replace(out),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !piece.invalid().is_empty() {
            replace(out);
        }
    }
    out.extend_from_slice(if is_quoted { b"\"" } else { b"" });
}

fn replace(out: &mut Vec<u8>) {
    out.extend_from_slice("\u{FFFD}".as_bytes());
}

/// Returns JSON with the characters escaped that steer a terminal, except ends of lines, which
/// stand outside of strings.
pub fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if is_steering(c) && c != '\n' => {
                let _ = write!(escaped, "\\u{:04x}", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
