//! JSON, written by hand into a buffer.
//!
//! ```text
//!  b"a \"b\"\n" ──▶ "a \"b\"\n"        17 µs 250 ns ──▶ 17.250        P 7F00 ──▶ "0x7f00 label"
//! ```
//!
//! Design: `.cnv.chrome` in `design/eventcnv.md`.

use crate::text;
use eventlog::reader::{Event, Value};
use std::io::Write;

/// Appends a string; bytes that are no UTF-8 are replaced.
pub(super) fn string(out: &mut Vec<u8>, string: &str) {
    out.push(b'"');
    inside(out, string);
    out.push(b'"');
}

fn inside(out: &mut Vec<u8>, string: &str) {
    for &byte in string.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..b' ' => {
                out.extend_from_slice(b"\\u00");
                text::hex_zeros(out, byte.into(), 2);
            }
            _ => out.push(byte),
        }
    }
}

/// Appends ns as µs.
pub(super) fn micros(out: &mut Vec<u8>, ns: u64) {
    text::decimal(out, ns / 1000);
    let rest = ns % 1000;
    out.push(b'.');
    for scale in [100, 10, 1] {
        out.push(b'0' + (rest / scale % 10) as u8);
    }
}

/// Appends the value of a parameter: 64 bits as a string, since numbers of JSON have 53.
pub(super) fn value(out: &mut Vec<u8>, event: &Event<'_>, value: Value<'_>) {
    match value {
        Value::P(word) | Value::A(word) | Value::W(word) => {
            out.extend_from_slice(b"\"0x");
            let begin = out.len();
            text::hex(out, word);
            if let Some(digits) = out.get_mut(begin..) {
                digits.make_ascii_lowercase();
            }
            let is_place = !matches!(value, Value::W(_));
            let label = event.labels.label_id_of(value).filter(|_| is_place);
            if let Some(label) = label.and_then(|id| event.labels.string(id)) {
                out.push(b' ');
                inside(out, &String::from_utf8_lossy(label));
            }
            out.push(b'"');
        }
        Value::U(value) => text::decimal(out, value.into()),
        Value::B(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Value::D(value) => double(out, value),
        Value::S(value) => string(out, &String::from_utf8_lossy(value)),
    }
}

/// Appends a number; what is none in JSON, as a string.
pub(super) fn double(out: &mut Vec<u8>, value: f64) {
    // Writing into memory cannot fail.
    let _ = if value.is_finite() { write!(out, "{value:?}") } else { write!(out, "\"{value}\"") };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(append: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        append(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// `.cnv.chrome`
    #[test]
    fn strings_times_and_doubles_are_json() {
        assert_eq!(text(|out| string(out, "a\"\\\n\u{1}é")), r#""a\"\\\n\u0001é""#);
        for (ns, micro) in [(0, "0.000"), (999, "0.999"), (1256, "1.256"), (1_002_003, "1002.003")]
        {
            assert_eq!(text(|out| micros(out, ns)), micro);
        }
        for (value, number) in [(0.1, "0.1"), (1.0, "1.0"), (1e300, "1e300"), (f64::NAN, "\"NaN\"")]
        {
            assert_eq!(text(|out| double(out, value)), number);
        }
    }
}
