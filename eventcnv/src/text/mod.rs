//! Numbers and strings to text, into a buffer that is used again.
//!
//! ```text
//!  u64 ── digits of text/hex.rs ──▶ hexadecimal, padded or not
//!  f64 ── ten digits, correctly rounded ──▶ %.10G (numeric form) ──▶ %#8.3g (named form)
//!  string ── quoted, as the MPS quotes ──▶ "a \"b\" \\c"
//! ```
//!
//! By hand, because a dump is as fast as this file. Forms: `.dumper` in `design/telemetry.md`.

use eventlog::format::text::is_steering;
use std::io::Write;

pub(crate) mod hex;
pub(crate) mod page;

/// Appends a value as 16 upper-case hexadecimal digits.
#[inline]
pub(crate) fn hex16(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&hex::digits(value));
}

/// Appends a value as upper-case hexadecimal without leading zeros.
#[inline]
pub(crate) fn hex(out: &mut Vec<u8>, value: u64) {
    let (digits, count) = hex::left(value);
    // All sixteen are appended, then the rest is cut: one store of a fixed size and no branch.
    let end = out.len() + count;
    out.extend_from_slice(&digits);
    out.truncate(end);
}

/// Appends a value as upper-case hexadecimal with zeros before it up to `width` (at most 16)
/// digits.
#[inline]
pub(crate) fn hex_zeros(out: &mut Vec<u8>, value: u64, width: usize) {
    let count = hex::count(value).max(width.min(16));
    let end = out.len() + count;
    // A shift by 64 cannot be: count is at least 1.
    out.extend_from_slice(&hex::digits(value << ((16 - count) * 4)));
    out.truncate(end);
}

/// Appends a value as upper-case hexadecimal with spaces before it up to `width` (at most 16)
/// columns.
#[inline]
pub(crate) fn hex_spaces(out: &mut Vec<u8>, value: u64, width: usize) {
    pad(out, width.saturating_sub(hex::count(value)));
    hex(out, value);
}

/// Appends spaces.
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

/// Appends a value in decimal.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    for place in digits.iter_mut().rev() {
        *place = b'0' + (value % 10) as u8;
        value /= 10;
        start -= 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// Appends a string in quotation marks, with a backslash before each quotation mark and backslash.
///
/// The MPS writes all other bytes as they are. Here the bytes of what steers a terminal are written
/// as `\xHH`, so that an event stays on its line and a terminal does not obey the log
/// (`.dumper.quoted`).
pub(crate) fn quoted(out: &mut Vec<u8>, string: &[u8]) {
    out.push(b'"');
    if string.iter().all(|&byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(string);
    } else {
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
                // A terminal may take it for a control character of Latin-1.
                if matches!(byte, 0x80..=0x9F) { escaped(out, byte) } else { out.push(byte) }
            }
        }
    }
    out.push(b'"');
}

fn escaped(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(b"\\x");
    hex_zeros(out, byte.into(), 2);
}

/// Appends a double as C's `%.10G` does.
pub(crate) fn double_general(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        return not_finite(out, value, true);
    }
    let (digits, exponent) = Digits::of(value, 10);
    general(out, value.is_sign_negative(), digits.without_zeros(), exponent, 10, false);
}

/// Appends a double as C's `%#8.3g` does, after it went through `%.10G`: the named form is made
/// from the numeric.
pub(crate) fn double_short(out: &mut Vec<u8>, value: f64) {
    let start = out.len();
    let mut numeric = Vec::with_capacity(24);
    double_general(&mut numeric, value);
    // Ten digits of the greatest doubles are rounded up to infinity: so they are in C.
    let numeric = str::from_utf8(&numeric).ok().and_then(|numeric| numeric.parse().ok());
    let value: f64 = numeric.filter(|_| !value.is_nan()).unwrap_or(value);
    if value.is_finite() {
        let (digits, exponent) = Digits::of(value, 3);
        general(out, value.is_sign_negative(), digits.all(), exponent, 3, true);
    } else {
        not_finite(out, value, false);
    }
    align_right(out, start, 8);
}

/// Moves what was appended since `start` right, so that it fills `width` columns.
pub(crate) fn align_right(out: &mut Vec<u8>, start: usize, width: usize) {
    let missing = width.saturating_sub(out.len().saturating_sub(start));
    if missing > 0 {
        pad(out, missing);
        if let Some(tail) = out.get_mut(start..) {
            tail.rotate_right(missing);
        }
    }
}

/// The 16 decimal digits of a value below 10^16.
#[inline]
pub(crate) fn decimal16(value: u64) -> [u8; 16] {
    (decimal_values(value) | u128::from_ne_bytes([b'0'; 16])).to_le_bytes()
}

/// The decimal digits of a value below 10^16, without leading zeros, and how many they are.
#[inline]
pub(crate) fn decimal_digits(value: u64) -> ([u8; 16], usize) {
    let values = decimal_values(value);
    // 0 has one digit.
    let zeros = (values | 1 << 120).trailing_zeros() / 8;
    let digits = values | u128::from_ne_bytes([b'0'; 16]);
    ((digits >> (zeros * 8)).to_le_bytes(), 16 - zeros as usize)
}

/// The 16 decimal digits of a value below 10^16 as the bytes of a word, the first in the lowest.
#[inline]
fn decimal_values(value: u64) -> u128 {
    const HALF: u64 = 100_000_000;
    u128::from(decimal_values8(value / HALF)) | u128::from(decimal_values8(value % HALF)) << 64
}

/// The eight of a value below 10^8: it is halved three times, the parts side by side in one word.
#[inline]
fn decimal_values8(value: u64) -> u64 {
    let (high, low) = (value / 10_000, value % 10_000);
    let x = high | low << 32;
    // A hundredth of what is below 10^4, and a tenth of what is below 100.
    let hundreds = (x * 10_486) >> 20 & 0x0000_007F_0000_007F;
    let x = hundreds | (x - hundreds * 100) << 16;
    let tens = (x * 103) >> 10 & 0x000F_000F_000F_000F;
    tens | (x - tens * 10) << 8
}

/// The first significant digits of a double, as ASCII.
struct Digits {
    bytes: [u8; 10],
    count: usize,
}

impl Digits {
    /// `count` (at most 10) digits of a finite value, correctly rounded, and the exponent of the
    /// first.
    fn of(value: f64, count: usize) -> (Digits, i32) {
        let mut text = [0_u8; 32];
        let mut rest = text.as_mut_slice();
        // "-1.234567890e-308" needs 17 bytes: the write cannot fail.
        let _ = write!(rest, "{:.*e}", count - 1, value.abs());
        let unused = rest.len();
        let text = text.get(..32 - unused).unwrap_or_default();
        let (mantissa, exponent) = match text.iter().position(|&byte| byte == b'e') {
            Some(at) => text.split_at(at),
            None => (text, [].as_slice()),
        };
        let mut digits = Digits { bytes: [b'0'; 10], count };
        let found = mantissa.iter().filter(|byte| byte.is_ascii_digit());
        for (place, &digit) in digits.bytes.iter_mut().zip(found) {
            *place = digit;
        }
        let exponent = str::from_utf8(exponent.get(1..).unwrap_or_default());
        (digits, exponent.ok().and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    fn all(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }

    /// Without the zeros at the end, but for the first digit.
    fn without_zeros(&self) -> &[u8] {
        let last = self.all().iter().rposition(|&digit| digit != b'0').unwrap_or(0);
        self.bytes.get(..=last).unwrap_or_default()
    }
}

/// C's `%g`: digits and exponent laid out. `short` is the alternative form `%#g`, in lower case.
fn general(
    out: &mut Vec<u8>,
    negative: bool,
    digits: &[u8],
    exponent: i32,
    precision: i32,
    short: bool,
) {
    if negative {
        out.push(b'-');
    }
    let scientific = exponent < -4 || exponent >= precision;
    // How many digits stand before the point; where there are none, how many zeros come after it.
    let before = if scientific { 1 } else { (exponent + 1).max(0) as usize };
    let zeros = if scientific { 0 } else { (-1 - exponent).max(0) as usize };
    if before == 0 {
        out.push(b'0');
    }
    for index in 0..before {
        out.push(digits.get(index).copied().unwrap_or(b'0'));
    }
    let after = digits.get(before..).unwrap_or_default();
    if !after.is_empty() || short {
        out.push(b'.');
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(after);
    }
    if scientific {
        out.push(if short { b'e' } else { b'E' });
        out.push(if exponent < 0 { b'-' } else { b'+' });
        if exponent.unsigned_abs() < 10 {
            out.push(b'0');
        }
        decimal(out, exponent.unsigned_abs().into());
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

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"<".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap().split_off(1)
    }

    /// Values around every power of two: where a digit comes or goes.
    fn edges() -> impl Iterator<Item = u64> {
        (0..64)
            .flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])
            .chain([u64::MAX, 0x0123_4567_89AB_CDEF])
    }

    #[test]
    fn hexadecimal_agrees_with_the_standard_formatter() {
        for value in edges() {
            assert_eq!(text(|out| hex(out, value)), format!("{value:X}"));
            assert_eq!(text(|out| hex16(out, value)), format!("{value:016X}"));
            for width in [1, 4, 8, 16] {
                assert_eq!(text(|out| hex_zeros(out, value, width)), format!("{value:0width$X}"));
                assert_eq!(text(|out| hex_spaces(out, value, width)), format!("{value:width$X}"));
            }
        }
    }

    #[test]
    fn decimal_agrees_with_the_standard_formatter() {
        for value in edges() {
            assert_eq!(text(|out| decimal(out, value)), value.to_string());
        }
    }

    #[test]
    fn doubles_are_printed_as_c_prints_them() {
        // What printf("%.10G") and, of what scanf reads of that, printf("%#8.3g") print. But for
        // 999.5, of which glibc prints " 1.e+03": it loses the zeros, which the C standard wants.
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

    #[test]
    fn what_is_aligned_right_fills_its_columns() {
        for (string, expected) in [("", "    "), ("ab", "  ab"), ("abcde", "abcde")] {
            let aligned = text(|out| {
                let start = out.len();
                out.extend_from_slice(string.as_bytes());
                align_right(out, start, 4);
            });
            assert_eq!(aligned, expected);
        }
    }
}
