//! Numbers for people: three digits and a unit, or all digits.
//!
//! ```text
//!  1234567 ── count ─▶ 1,234,567    bytes ─▶ 1.18 MiB    nanoseconds ─▶ 1.23 ms
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

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
        let (size, name) = self.step(value);
        with_name(&three_digits(value / size), name, self)
    }

    /// Returns a number with three digits, without zeros at the end: "1.5 MiB".
    pub fn round(self, value: f64) -> String {
        let (size, name) = self.step(value);
        let digits = three_digits(value / size);
        let digits = if digits.contains('.') {
            digits.trim_end_matches('0').trim_end_matches('.')
        } else {
            &digits
        };
        with_name(digits, name, self)
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

fn with_name(digits: &str, name: &str, unit: Unit) -> String {
    if name.is_empty() || unit == Unit::Ratio {
        format!("{digits}{name}")
    } else {
        format!("{digits} {name}")
    }
}

/// Returns three digits, or all digits before the point; of 16 or more, three and the exponent.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => NOTHING.to_owned(),
        0.0 => "0".to_owned(),
        1e15.. => format!("{value:.2e}"),
        99.95.. => format!("{value:.0}"),
        9.995.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
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

/// Returns bytes with their unit.
pub fn bytes(value: f64) -> String {
    // A byte has no fractions.
    if value.abs() < 1000.0 { format!("{value:.0} B") } else { Unit::Bytes.text(value) }
}

/// Returns a time in ns with its unit.
pub fn nanoseconds(value: f64) -> String {
    Unit::Nanoseconds.text(value)
}

/// Returns a latency with its unit. Latencies are whole ns.
pub fn latency(ns: f64) -> String {
    if ns.abs() < 999.5 { format!("{ns:.0} ns") } else { nanoseconds(ns) }
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
    use super::{Unit, bytes, nanoseconds, number, or_nothing, wait};

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
