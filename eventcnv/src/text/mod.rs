//! Appends numbers and strings as text to a buffer.
//!
//! ```text
//!  u64 ── digits of text/hex.rs ──▶ hexadecimal, padded or not
//!  f64 ── ten digits, correctly rounded ──▶ %.10G (numeric form) ──▶ %#8.3g (named form)
//!  string ── quoted, as the MPS quotes ──▶ "a \"b\" \\c"
//! ```
//!
//! Hand-written, because a dump is as fast as this file. Forms: `.dumper` in `design/telemetry.md`.

pub(crate) mod hex;
pub(crate) mod names;
pub(crate) mod page;

use cli::units::rounded;
use eventlog::format::text::is_steering;
use std::io::Write;

/// Appends a value as 16 upper-case hexadecimal digits.
#[inline]
pub(crate) fn hex16(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&hex::digits(value));
}

/// Appends a value as upper-case hexadecimal without leading zeros.
#[inline]
pub(crate) fn hex(out: &mut Vec<u8>, value: u64) {
    let (digits, count) = hex::left(value);
    // Appends all sixteen and cuts the rest: one store of a fixed size and no branch.
    let end = out.len() + count;
    out.extend_from_slice(&digits);
    out.truncate(end);
}

#[inline]
pub(crate) fn pad(out: &mut Vec<u8>, count: usize) {
    if count <= 16 {
        let end = out.len() + count;
        out.extend_from_slice(&[b' '; 16]);
        out.truncate(end);
    } else {
        out.resize(out.len() + count, b' ');
    }
}

#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Returns ns as seconds with nine digits after the point, whose whole seconds fill `width` columns
/// (16 at most), and the size of the text. A pen takes the text sixteen bytes at a time.
#[inline]
pub(crate) fn seconds(ns: i64, width: usize) -> ([u8; 64], usize) {
    let (mut text, mut digits) = ([b' '; 64], itoa::Buffer::new());
    let whole = digits.format(ns.unsigned_abs() / 1_000_000_000).as_bytes();
    let is_negative = ns < 0;
    let mut at = width.min(16).saturating_sub(whole.len() + usize::from(is_negative));
    let mut put = |bytes: &[u8]| {
        let begin = at;
        at += bytes.len();
        text.get_mut(begin..at).into_iter().for_each(|place| place.copy_from_slice(bytes));
        begin
    };
    if is_negative {
        put(b"-");
    }
    put(whole);
    // Ten digits: the point takes the place of the first.
    let part = 1_000_000_000 + ns.unsigned_abs() % 1_000_000_000;
    let point = put(itoa::Buffer::new().format(part).as_bytes());
    text.get_mut(point).into_iter().for_each(|place| *place = b'.');
    (text, at)
}

/// Appends a string in quotation marks, with a backslash before each quotation mark and backslash.
///
/// The MPS writes all other bytes as they are. This function writes the bytes of characters that
/// steer a terminal as `\xHH`: an event stays on its line, and no terminal obeys the log
/// (`.dumper.quoted`).
pub(crate) fn quoted(out: &mut Vec<u8>, string: &[u8]) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    out.push(b'"');
    // No early end: a vector tests sixteen bytes at once.
    if string.iter().fold(true, |all, &byte| all & is_plain(byte)) {
        out.extend_from_slice(string);
    } else {
        for piece in string.chunk_by(|&a, &b| is_plain(a) == is_plain(b)) {
            match piece.first() {
                Some(&first) if is_plain(first) => out.extend_from_slice(piece),
                _ => with_escapes(out, piece),
            }
        }
    }
    out.push(b'"');
}

fn with_escapes(out: &mut Vec<u8>, string: &[u8]) {
    for piece in string.utf8_chunks() {
        for c in piece.valid().chars() {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            match c {
                '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
                c if is_steering(c) => bytes.for_each(|byte| escaped(out, byte)),
                _ => out.extend(bytes),
            }
        }
        for &byte in piece.invalid() {
            // A terminal may interpret it as a control character of Latin-1.
            if matches!(byte, 0x80..=0x9F) { escaped(out, byte) } else { out.push(byte) }
        }
    }
}

fn escaped(out: &mut Vec<u8>, byte: u8) {
    let _ = write!(out, "\\x{byte:02X}");
}

/// Appends a double as C's `%.10G` does.
pub(crate) fn double_general(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() { general(out, value, 10, false) } else { not_finite(out, value, true) }
}

/// Appends a double as C's `%#8.3g` formats the output of `%.10G`: the MPS makes the named form
/// from the numeric form.
pub(crate) fn double_short(out: &mut Vec<u8>, value: f64) {
    let start = out.len();
    let mut numeric = Vec::with_capacity(24);
    double_general(&mut numeric, value);
    // As in C, ten digits of the greatest doubles round up to infinity.
    let numeric = str::from_utf8(&numeric).ok().and_then(|numeric| numeric.parse().ok());
    let value: f64 = numeric.filter(|_| !value.is_nan()).unwrap_or(value);
    if value.is_finite() {
        general(out, value, 3, true)
    } else {
        not_finite(out, value, false)
    }
    align_right(out, start, 8);
}

/// Returns a UUID as text: 8-4-4-4-12 hexadecimal digits.
pub(crate) fn uuid(bytes: &[u8; 16]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    groups.map(|group| digits.get(group).unwrap_or_default()).join("-")
}

/// Moves the text from `start` on to the right, so that it fills `width` columns.
pub(crate) fn align_right(out: &mut Vec<u8>, start: usize, width: usize) {
    let missing = width.saturating_sub(out.len().saturating_sub(start));
    if missing > 0 {
        pad(out, missing);
        if let Some(tail) = out.get_mut(start..) {
            tail.rotate_right(missing);
        }
    }
}

/// Returns the first `count` (at most 10) digits of a finite value, correctly rounded, and the
/// exponent of the first digit.
fn significant(value: f64, count: usize, text: &mut [u8; 32]) -> (&[u8], i32) {
    // The exponent of 2, less the bias, times log₁₀ 2: the exponent, or one less.
    let least = (((value.abs().to_bits() >> 52) as i32 - 1023) * 1233) >> 12;
    let least = if value == 0.0 { 0 } else { least };
    for exponent in [least, least + 1] {
        let power = u32::try_from(count as i32 - 1 - exponent);
        let Some(digits) = power.ok().and_then(|power| rounded(value, power)) else { break };
        let above = 10_u64.pow(count as u32);
        if digits < above {
            // The digit in front keeps the zeros of 0.
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(above + digits).as_bytes().get(1..).unwrap_or_default();
            let place = text.get_mut(..digits.len()).unwrap_or_default();
            place.copy_from_slice(digits);
            return (place, exponent);
        }
    }
    significant_formatted(value, count, text)
}

/// Does the same by the standard formatter, which covers very large and small values.
#[cold]
fn significant_formatted(value: f64, count: usize, text: &mut [u8; 32]) -> (&[u8], i32) {
    let mut rest = text.as_mut_slice();
    // "1.234567890e-308" needs 16 bytes: the write cannot fail.
    let _ = write!(rest, "{:.*e}", count - 1, value.abs());
    let end = 32 - rest.len();
    // The first digit moves to the place of the point.
    text.swap(0, 1);
    let exponent = str::from_utf8(text.get(count + 2..end).unwrap_or_default());
    let exponent = exponent.ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    (text.get(1..=count).unwrap_or_default(), exponent)
}

/// Appends a finite double as C's `%G` does; `short` is the alternative form `%#g`, in lower case.
fn general(out: &mut Vec<u8>, value: f64, precision: usize, short: bool) {
    let mut text = [0; 32];
    let (digits, exponent) = significant(value, precision, &mut text);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let scientific = exponent < -4 || exponent >= precision as i32;
    // The digits before the point; if none, the zeros after the point.
    let before = if scientific { 1 } else { (exponent + 1).max(0) as usize };
    let zeros = if scientific { 0 } else { (-1 - exponent).max(0) as usize };
    let (whole, mut after) = digits.split_at_checked(before).unwrap_or_default();
    while let [rest @ .., b'0'] = after
        && !short
    {
        after = rest;
    }
    out.extend_from_slice(if before == 0 { b"0" } else { whole });
    if !after.is_empty() || short {
        out.push(b'.');
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(after);
    }
    if scientific {
        let letter = if short { 'e' } else { 'E' };
        let _ = write!(out, "{letter}{exponent:+03}");
    }
}

fn not_finite(out: &mut Vec<u8>, value: f64, upper: bool) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    out.extend_from_slice(match (value.is_nan(), upper) {
        (true, true) => b"NAN",
        (true, false) => b"nan",
        (false, true) => b"INF",
        (false, false) => b"inf",
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_bytes(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = b"<".to_vec();
        write(&mut out);
        out.split_off(1)
    }

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        String::from_utf8(text_bytes(write)).unwrap()
    }

    /// Returns the values around every power of two, where the number of digits changes.
    fn edges() -> impl Iterator<Item = u64> {
        (0..64)
            .flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])
            .chain([u64::MAX, 0x0123_4567_89AB_CDEF])
    }

    #[test]
    fn numbers_agree_with_the_standard_formatter() {
        for value in edges() {
            assert_eq!(text(|out| hex(out, value)), format!("{value:X}"));
            assert_eq!(text(|out| hex16(out, value)), format!("{value:016X}"));
        }
    }

    #[test]
    fn doubles_are_printed_as_c_prints_them() {
        // The output of printf("%.10G"), and of printf("%#8.3g") for the number that scanf reads
        // from it. For 999.5 glibc prints " 1.e+03", without the zeros that the C standard
        // requires.
        for (value, numeric, named) in [
            (0.0, "0", "    0.00"),
            (-0.0, "-0", "   -0.00"),
            (0.45, "0.45", "   0.450"),
            (1.0, "1", "    1.00"),
            (100.0, "100", "    100."),
            (1000.0, "1000", "1.00e+03"),
            (999.5, "999.5", "1.00e+03"),
            (998.5, "998.5", "    998."),
            (0.1234567890123, "0.123456789", "   0.123"),
            (0.0001, "0.0001", "0.000100"),
            (0.00001, "1E-05", "1.00e-05"),
            (-0.00001, "-1E-05", "-1.00e-05"),
            (1234567890.0, "1234567890", "1.23e+09"),
            (12345678901.0, "1.23456789E+10", "1.23e+10"),
            (1.235e300, "1.235E+300", "1.24e+300"),
            (5e-324, "4.940656458E-324", "4.94e-324"),
            (f64::MAX, "1.797693135E+308", "     inf"),
            (f64::INFINITY, "INF", "     inf"),
            (f64::NEG_INFINITY, "-INF", "    -inf"),
            (f64::NAN, "NAN", "     nan"),
        ] {
            assert_eq!(text(|out| double_general(out, value)), numeric);
            assert_eq!(text(|out| double_short(out, value)), named, "{value}");
        }
    }

    /// `.dumper.text`
    #[test]
    fn doubles_equal_those_of_the_standard_formatter() {
        let random = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        let bits = (0..20_000).map(|n| f64::from_bits(random(n)));
        let usual = (0..20_000).map(|n| (random(n) >> (n % 64)) as f64 / 1e6);
        let ties = (0..2000).map(|n| f64::from(n) / 8.0 + 123_456_789.0);
        let powers = (-330..308).flat_map(|n| [1.0, 0.999_999_999_95].map(|of| of * 10f64.powi(n)));
        for value in bits.chain(usual).chain(ties).chain(powers).chain([0.0, 5e-324, f64::MAX]) {
            for value in [value.next_down(), value, value.next_up()] {
                for count in [3, 10] {
                    let (mut found, mut expected) = ([0; 32], [0; 32]);
                    let found = significant(value, count, &mut found);
                    let expected = significant_formatted(value, count, &mut expected);
                    assert!(found == expected || !value.is_finite(), "{value:e}: {found:?}");
                }
            }
        }
    }

    /// `.dumper.quoted`
    #[test]
    fn a_string_in_pieces_equals_the_whole() {
        let alphabet = ["a", " ", "\"", "\\", "\n", "é", "\u{9b}", "\u{202e}", "語"];
        let mut bytes: Vec<Vec<u8>> = alphabet.map(|text| text.as_bytes().to_vec()).to_vec();
        bytes.extend([vec![0x9B], vec![0xE2, 0x80], vec![0xFF]]);
        for n in 0..12_usize.pow(4) {
            let at = |place: u32| bytes[n / 12_usize.pow(place) % 12].as_slice();
            let string = [at(0), at(1), at(2), at(3)].concat();
            let expected = text_bytes(|out| with_escapes(out, &string));
            let found = text_bytes(|out| quoted(out, &string));
            assert_eq!(found, [b"\"", expected.as_slice(), b"\""].concat());
        }
    }

    #[test]
    fn a_string_is_quoted_and_stays_on_its_line() {
        assert_eq!(text(|out| quoted(out, b"")), "\"\"");
        assert_eq!(text(|out| quoted(out, "a \"b\" \\c é".as_bytes())), r#""a \"b\" \\c é""#);
        assert_eq!(text(|out| quoted(out, b"a\nb\x1b[2J\x7f")), r#""a\x0Ab\x1B[2J\x7F""#);
        let (string, expected) = ("\u{9b}é\u{202e}", r#""\xC2\x9Bé\xE2\x80\xAE""#);
        assert_eq!(text(|out| quoted(out, string.as_bytes())), expected);
        let mut latin = Vec::new();
        quoted(&mut latin, b"\x9b\xe9");
        assert_eq!(latin, b"\"\\x9B\xe9\"");
    }
}
