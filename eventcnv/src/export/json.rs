//! Appends values as JSON.
//!
//! ```text
//!  17 µs 250 ns ──▶ 17.250        P 7F00 ──▶ "0x7f00 label"
//! ```
//!
//! Design: `.cnv.chrome` in `design/eventcnv.md`.

use crate::text;
use crate::view::json::string;
use eventlog::reader::{Event, Value};
use std::io::Write;

/// Appends ns as µs.
pub(super) fn micros(out: &mut Vec<u8>, ns: u64) {
    text::decimal(out, ns / 1000);
    let rest = ns % 1000;
    out.push(b'.');
    for scale in [100, 10, 1] {
        out.push(b'0' + (rest / scale % 10) as u8);
    }
}

/// The largest number that readers of JSON keep exactly.
const WHOLE_MAX: u64 = 1 << 53;

/// Appends the value of a parameter. Pointers, addresses and large words are strings.
pub(super) fn value(out: &mut Vec<u8>, event: &Event<'_, '_>, value: Value<'_>) {
    match value {
        Value::W(word) if word <= WHOLE_MAX => text::decimal(out, word),
        Value::P(word) | Value::A(word) | Value::W(word) => {
            let mut text = b"0x".to_vec();
            text::hex(&mut text, word);
            text.make_ascii_lowercase();
            let is_address = !matches!(value, Value::W(_));
            let label = event.labels.label_id_of(value).filter(|_| is_address);
            if let Some(label) = label.and_then(|id| event.labels.string(id)) {
                text.push(b' ');
                text.extend_from_slice(label);
            }
            string(out, &text);
        }
        Value::U(value) => text::decimal(out, value.into()),
        Value::B(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Value::D(value) => double(out, value),
        Value::S(value) => string(out, value),
    }
}

/// Appends a number; as a string, if JSON lacks it.
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
    fn times_and_doubles_are_json() {
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
