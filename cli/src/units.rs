//! Numbers for people: three digits and a unit, or all digits.
//!
//! ```text
//!  1234567 ── count ─▶ 1,234,567    bytes ─▶ 1.18 MiB    nanoseconds ─▶ 1.23 ms
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use std::fmt::{self, Write};
use std::io::IsTerminal;

const BYTES: [(f64, &str); 7] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_125_899_906_842_624.0, "PiB"),
    (1_152_921_504_606_846_976.0, "EiB"),
];
const TIMES: [(f64, &str); 7] = [
    (1.0, "ns"),
    (1e3, "µs"),
    (1e6, "ms"),
    (1e9, "s"),
    (3.6e12, "h"),
    (8.64e13, "d"),
    (3.155_76e16, "y"),
];
const COUNTS: [(f64, &str); 7] =
    [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E")];
const RATIOS: [(f64, &str); 1] = [(1.0, "×")];
const ROUNDED: f64 = 0.9995;
/// Bytes of a [`Figure`]: the longest text and 16 more.
const FIGURE_SIZE: usize = 48;

/// The text for an unknown value.
pub const NOTHING: &str = "–";

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, in powers of 1024.
    Bytes,
    /// Times in ns, in units up to years.
    Nanoseconds,
    /// Counts, in powers of 1000.
    Count,
    /// A ratio, as in "1.25×".
    Ratio,
}

impl Unit {
    /// Returns a number with three digits: "1.50 MiB".
    pub fn text(self, value: f64) -> String {
        self.figure(value).to_string()
    }

    /// Returns what [`Unit::text`] returns, without allocation.
    pub fn figure(self, value: f64) -> Figure {
        let (size, name) = self.step(value);
        Figure::three_digits(value / size).named(name, self)
    }

    /// Returns a number with three digits, except that the smallest unit has no fractions.
    pub fn whole(self, value: f64) -> Figure {
        let (size, name) = self.step(value);
        let digits = if size > 1.0 { Figure::three_digits } else { Figure::whole };
        digits(value / size).named(name, self)
    }

    /// Returns a number with three digits, without zeros at the end: "1.5 MiB".
    pub fn round(self, value: f64) -> String {
        let (size, name) = self.step(value);
        let mut digits = Figure::three_digits(value / size);
        if digits.as_str().contains('.') {
            digits.size = digits.as_str().trim_end_matches('0').trim_end_matches('.').len();
        }
        digits.named(name, self).to_string()
    }

    /// Returns the size and the name of the unit for a value.
    pub fn step(self, value: f64) -> (f64, &'static str) {
        let steps: &[(f64, &str)] = match self {
            Unit::Bytes => &BYTES,
            Unit::Nanoseconds => &TIMES,
            Unit::Count => &COUNTS,
            Unit::Ratio => &RATIOS,
        };
        // A value that would be rounded to 1.00 of a unit gets that unit.
        let reached = steps.iter().rev().find(|(size, _)| value.abs() >= size * ROUNDED);
        reached.or(steps.first()).copied().unwrap_or((1.0, ""))
    }
}

/// A number as text, on the stack: a dump writes millions of them.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    bytes: [u8; FIGURE_SIZE],
    size: usize,
}

impl Figure {
    const EMPTY: Figure = Figure { bytes: [0; FIGURE_SIZE], size: 0 };

    /// Returns three digits, or all digits before the point; of 16 or more, three and the exponent.
    fn three_digits(value: f64) -> Figure {
        match value.abs() {
            0.0 => Figure::EMPTY.and("0"),
            size if size < 9.995 => Figure::fixed(value, 2),
            size if size < 99.95 => Figure::fixed(value, 1),
            _ => Figure::whole(value),
        }
    }

    fn whole(value: f64) -> Figure {
        Figure::fixed(value, 0)
    }

    /// Returns a number with this many digits after the point, or three digits and the exponent.
    fn fixed(value: f64, decimals: u32) -> Figure {
        let digits = rounded(value, decimals).filter(|_| value.abs() < 1e15);
        let Some(digits) = digits else {
            let mut figure = Figure::EMPTY;
            // Fits: "-1.56e290" is the longest.
            let _ = match value.is_finite() {
                true => write!(figure, "{value:.2e}"),
                false => figure.write_str(NOTHING),
            };
            return figure;
        };
        let one = 10_u64.pow(decimals);
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let figure = Figure::EMPTY.and(sign).and(itoa::Buffer::new().format(digits / one));
        if decimals == 0 {
            return figure;
        }
        // The point takes the place of a first digit, which keeps zeros after the point.
        let mut part = itoa::Buffer::new();
        figure.and(".").and(part.format(one + digits % one).get(1..).unwrap_or_default())
    }

    fn and(mut self, text: &str) -> Figure {
        let _ = self.write_str(text);
        self
    }

    fn named(self, name: &str, unit: Unit) -> Figure {
        let space = if name.is_empty() || unit == Unit::Ratio { "" } else { " " };
        self.and(space).and(name)
    }

    /// Returns the text in ASCII.
    pub fn ascii(mut self) -> Figure {
        if self.as_str().ends_with("µs") {
            self.size -= "µs".len();
            return self.and("us");
        }
        self
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.bytes.get(..self.size).unwrap_or_default()).unwrap_or_default()
    }

    /// Returns the bytes of the text, with 16 others after them, and its size.
    pub fn padded(&self) -> (&[u8], usize) {
        (&self.bytes, self.size)
    }
}

impl Write for Figure {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.size + text.len();
        if end + 16 > FIGURE_SIZE {
            return Err(fmt::Error);
        }
        let place = self.bytes.get_mut(self.size..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.size = end;
        Ok(())
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Returns the size of a number times a power of ten, rounded as the standard formatter rounds: the
/// exact product to the nearest whole number, halves to the even one. `None`: the number is 2⁵² or
/// more, or the power or the result too large.
#[inline]
pub fn rounded(value: f64, power: u32) -> Option<u64> {
    const FRACTION_BITS: u32 = 52;
    let bits = value.abs().to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    // Subnormal numbers lack the implied bit; they round to 0 with it, too.
    let one = if bits == 0 { 0 } else { 1 << FRACTION_BITS };
    let product = u128::from(fraction | one) * u128::from(10_u64.checked_pow(power)?);
    let exponent = (bits >> FRACTION_BITS) as u32;
    // The point of the product is before this many bits. It has at most 117.
    let shift = (1023 + FRACTION_BITS).checked_sub(exponent).filter(|&shift| shift > 0)?;
    let shift = shift.min(127);
    let (whole, rest) = (product >> shift, product & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    let is_up = rest > half || rest == half && whole % 2 == 1;
    u64::try_from(whole + u128::from(is_up)).ok()
}

/// Returns three digits, or all digits before the point; of 16 or more, three and the exponent.
pub fn three_digits(value: f64) -> String {
    Figure::three_digits(value).to_string()
}

/// Returns all digits of a number, in groups: "1,234,567".
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with a noun: `1 fault`, `2 faults`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns the same with grouped digits: `1,234 faults`.
pub fn counted_in_groups(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// Returns bytes with their unit. A byte has no fractions.
pub fn bytes(value: f64) -> String {
    Unit::Bytes.whole(value).to_string()
}

/// Returns a time in ns with its unit.
pub fn nanoseconds(value: f64) -> String {
    Unit::Nanoseconds.text(value)
}

/// Returns a latency with its unit. Latencies are whole ns.
pub fn latency(ns: f64) -> String {
    Unit::Nanoseconds.whole(ns).to_string()
}

/// Returns a time in ms with its unit.
pub fn wait(ms: u64) -> String {
    match ms {
        0 => "at once".to_owned(),
        _ => Unit::Nanoseconds.round(ms as f64 * 1e6),
    }
}

/// Returns whether standard output is a terminal whose locale has other text than UTF-8.
pub fn is_ascii_terminal() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|locale| !locale.is_empty()));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    let is_utf8 = ["utf-8", "utf8"].iter().any(|name| locale.contains(name));
    !is_utf8 && std::io::stdout().is_terminal()
}

/// Returns text whose units and marks are ASCII; names of a log stay as they are.
pub fn ascii(text: &[u8]) -> Vec<u8> {
    let letter = |c: char| match c {
        'µ' => 'u',
        '≤' => '<',
        '≥' => '>',
        '×' => 'x',
        '–' => '-',
        '±' => '~',
        '▁'..='█' => '#',
        c => c,
    };
    String::from_utf8_lossy(text).chars().map(letter).collect::<String>().into_bytes()
}

/// Returns the text of a value, or [`NOTHING`].
pub fn or_nothing<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), text)
}

#[cfg(test)]
mod tests {
    use super::{
        Figure, NOTHING, Unit, bytes, latency, nanoseconds, number, or_nothing, rounded, wait,
    };

    /// Three digits by the standard formatter.
    fn formatted(value: f64) -> String {
        match value.abs() {
            size if !size.is_finite() => NOTHING.to_owned(),
            0.0 => "0".to_owned(),
            1e15.. => format!("{value:.2e}"),
            99.95.. => format!("{value:.0}"),
            9.995.. => format!("{value:.1}"),
            _ => format!("{value:.2}"),
        }
    }

    /// Returns numbers of all sizes, whole and not, halves, edges of units, and their neighbours.
    fn numbers() -> impl Iterator<Item = f64> {
        let random = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        let bits = (0..4000).map(move |n| f64::from_bits(random(n)));
        let usual = (0..4000).map(move |n| (random(n) >> (n % 64)) as f64);
        let halves = (0..2000).map(|n| f64::from(n) / 8.0);
        let hundredths = (0..3000).map(|n| f64::from(n) / 100.0);
        let powers = (-330..308).flat_map(|n| [1.0, 0.9995, 9.995].map(|of| of * 10_f64.powi(n)));
        let twos = (-1074..1024).map(|n| 2_f64.powi(n));
        let edges = [0.0, 1000.0, 999.5, 1e15, f64::MAX, f64::INFINITY, f64::NAN];
        let all = bits.chain(usual).chain(halves).chain(hundredths).chain(powers).chain(twos);
        let around = |value: f64| [value.next_down(), value, value.next_up(), value * 1024.0];
        all.chain(edges).flat_map(around).flat_map(|value| [value, -value])
    }

    /// `.dumper.text`
    #[test]
    fn figures_equal_the_texts_of_the_standard_formatter() {
        for value in numbers() {
            assert_eq!(Figure::three_digits(value).as_str(), formatted(value), "{value:e}");
            for unit in [Unit::Bytes, Unit::Nanoseconds] {
                let (size, name) = unit.step(value);
                let expected = format!("{} {name}", formatted(value / size));
                assert_eq!(unit.text(value), expected, "{value:e}");
                assert_eq!(unit.figure(value).ascii().as_str(), expected.replace('µ', "u"));
            }
            let whole = |limit, name| (value.abs() < limit).then(|| format!("{value:.0} {name}"));
            let expected = whole(1000.0, "B").unwrap_or_else(|| Unit::Bytes.text(value));
            assert_eq!(bytes(value), expected, "{value:e}");
            let expected = whole(999.5, "ns").unwrap_or_else(|| nanoseconds(value));
            assert_eq!(latency(value), expected, "{value:e}");
        }
    }

    #[test]
    fn numbers_are_rounded_as_the_standard_formatter_rounds() {
        for value in numbers().filter(|value| value.is_finite()) {
            for power in [0, 1, 2, 9, 19] {
                let Some(found) = rounded(value, power) else { continue };
                let digits = format!("{:.*}", power as usize, value.abs()).replace('.', "");
                assert_eq!(digits.parse(), Ok(found), "{value:e} {power}");
            }
        }
        assert!((0..20).all(|power| rounded(0.5, power).is_some()));
        assert_eq!([rounded(1.0, 20), rounded(2e10, 9), rounded(f64::NAN, 0)], [None; 3]);
    }

    /// `.rep.report`
    #[test]
    fn a_number_has_three_digits_and_the_unit_that_fits() {
        let times = [0.0, 0.28, 9.996, 999.4, 999.6, 1e3, 999_600.0, 1e12, 3.6e12, 1e14];
        let texts = ["0 ns", "0.28 ns", "10.0 ns", "999 ns", "1.00 µs", "1.00 µs", "1.00 ms"];
        let longer = ["1000 s", "1.00 h", "1.16 d"];
        let expected: Vec<&str> = texts.into_iter().chain(longer).collect();
        assert_eq!(times.map(nanoseconds).to_vec(), expected);
        let sizes = [0.0, 1.0, 999.0, 1023.0, 1024.0, 1_048_575.0, 1e12, 1e18].map(bytes);
        let expected =
            ["0 B", "1 B", "999 B", "1023 B", "1.00 KiB", "1.00 MiB", "931 GiB", "888 PiB"];
        assert_eq!(sizes, expected);
        assert_eq!(Unit::Count.text(34.0), "34.0");
        assert_eq!(Unit::Count.text(34_200_000.0), "34.2 M");
        assert_eq!(Unit::Count.round(30_000_000.0), "30 M");
        assert_eq!(Unit::Ratio.text(1.254), "1.25×");
        assert_eq!(Unit::Ratio.text(f64::NAN), "–×");
        assert_eq!([-5e9, -99.96, -1.5].map(nanoseconds), ["-5.00 s", "-100 ns", "-1.50 ns"]);
        assert_eq!([-5_242_880.0, -7.0].map(bytes), ["-5.00 MiB", "-7 B"]);
        assert_eq!([f64::MAX, f64::MIN].map(bytes), ["1.56e290 EiB", "-1.56e290 EiB"]);
        assert_eq!([0, 1000, 1500].map(wait), ["at once", "1 s", "1.5 s"]);
        assert_eq!(or_nothing(None, nanoseconds), "–");
    }

    /// `.rep.report`
    #[test]
    fn digits_stand_in_groups_of_three() {
        let counts = [0, 12, 123, 1_234, 12_345, 1_000_000_000_000].map(number);
        assert_eq!(counts, ["0", "12", "123", "1,234", "12,345", "1,000,000,000,000"]);
    }
}
