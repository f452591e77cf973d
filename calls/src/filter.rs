//! `MPS_TELEMETRY_CALLS`: which functions are recorded, and how.
//!
//! ```text
//!  shop::* -shop::hash db::*>=10us net::*%64      the last pattern that fits a function decides
//!  │       │           │           └ each 64th call, with all calls in it
//!  │       │           └ calls of at least 10 µs, recorded when they end
//!  │       └ not these
//!  └ these
//! ```
//!
//! Pure, and without allocation: the first call may come from anywhere. Design: `.calls.filter` in
//! `design/calls.md`.

use core::ffi::CStr;
use core::str::FromStr;

/// The environment variable with the patterns.
pub(crate) const VARIABLE: &CStr = c"MPS_TELEMETRY_CALLS";

/// What the filter says of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Record each call.
    All,
    /// Record none.
    None,
    /// Record calls that take at least this number of [`TIME_UNIT`]s.
    Slow(usize),
    /// Record each n-th call, and all calls in it.
    Some(usize),
}

/// The greatest number in a choice. A site has it in one word, next to six bits.
pub(crate) const NUMBER_MAX: usize = usize::MAX >> 6;

/// The unit of thresholds, in ns: so that a site of 32-bit words has thresholds up to 67 s.
pub const TIME_UNIT: u64 = if usize::BITS == 64 { 1 } else { 1_000 };

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pattern<'a> {
    path: &'a [u8],
    choice: Choice,
}

/// Returns the choice for the function with these paths: a pattern may fit either.
pub(crate) fn choice(patterns: &[u8], paths: &[&str]) -> Choice {
    let valid = || words(patterns).filter_map(|word| parse(word).ok());
    // With exclusions alone, all other functions are recorded. An invalid pattern counts too: a
    // mistake in the only pattern must not record everything.
    let has_inclusion = words(patterns).any(|word| !word.starts_with(b"-"));
    let other = if has_inclusion { Choice::None } else { Choice::All };
    let fits = |pattern: &Pattern<'_>| paths.iter().any(|path| pattern.fits(path));
    valid().filter(fits).last().map_or(other, |pattern| pattern.choice)
}

/// Returns the invalid patterns, each with the reason.
pub(crate) fn invalid(patterns: &[u8]) -> impl Iterator<Item = (&[u8], &'static str)> {
    words(patterns).filter_map(|word| Some((word, parse(word).err()?)))
}

fn words(patterns: &[u8]) -> impl Iterator<Item = &[u8]> {
    patterns.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn parse(word: &[u8]) -> Result<Pattern<'_>, &'static str> {
    let (path, choice) = if let Some(path) = word.strip_prefix(b"-") {
        (path, Choice::None)
    } else if let Some((path, time)) = split(word, b">=") {
        (path, Choice::Slow(time_units(time)?))
    } else if let Some((path, count)) = split(word, b"%") {
        const WRONG: &str = "after `%` comes a number, 1 or more";
        let count = number(count).filter(|count| (1..=NUMBER_MAX).contains(count));
        (path, Choice::Some(count.ok_or(WRONG)?))
    } else {
        (word, Choice::All)
    };
    let is_path = |byte: &u8| !b"%=".contains(byte);
    match path {
        [] => Err("it names no function; `*` stands for all"),
        path if !path.iter().all(is_path) => Err("it has more than one `>=` or `%`"),
        path => Ok(Pattern { path, choice }),
    }
}

fn split<'a>(word: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = word.windows(mark.len()).rposition(|part| part == mark)?;
    Some((&word[..at], &word[at + mark.len()..]))
}

fn number<N: FromStr>(digits: &[u8]) -> Option<N> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

fn time_units(time: &[u8]) -> Result<usize, &'static str> {
    const WRONG: &str = "after `>=` comes a time: 500ns, 10us, 2ms or 1s";
    let end = time.iter().position(|byte| !byte.is_ascii_digit()).ok_or(WRONG)?;
    let (digits, unit) = time.split_at(end);
    let scale = match unit {
        b"ns" => 1,
        b"us" => 1_000,
        b"ms" => 1_000_000,
        b"s" => 1_000_000_000,
        _ => return Err(WRONG),
    };
    let count: u64 = number(digits).ok_or(WRONG)?;
    let units = count.checked_mul(scale).map(|time| time.div_ceil(TIME_UNIT));
    let units = units.and_then(|units| usize::try_from(units).ok());
    units.filter(|units| *units <= NUMBER_MAX).ok_or("the time is too long")
}

impl Pattern<'_> {
    /// Returns whether the pattern fits a path. A method of a trait has a path such as
    /// `<shop::Cart as shop::Basket>::add`, which also fits without its first character.
    fn fits(&self, path: &str) -> bool {
        let inner = path.strip_prefix('<').unwrap_or(path);
        [path, inner].iter().any(|path| matches(self.path, path.as_bytes()))
    }
}

/// Returns whether a pattern matches a whole text; `*` stands for any characters.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    // The newest star, and where the text after its match begins.
    let mut star = None;
    while in_text < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, in_text));
            at += 1;
        } else if pattern.get(at) == Some(&text[in_text]) {
            (at, in_text) = (at + 1, in_text + 1);
        } else if let Some((star_at, matched)) = star {
            star = Some((star_at, matched + 1));
            (at, in_text) = (star_at + 1, matched + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.calls.filter`
    #[test]
    fn the_last_pattern_that_fits_decides() {
        let patterns = b"shop::* -shop::hash db::*>=10us net::*%64";
        for (path, expected) in [
            ("shop::sell", Choice::All),
            ("shop::cart::add", Choice::All),
            ("shop::hash", Choice::None),
            ("shop::hash2", Choice::All),
            ("db::read", Choice::Slow(10_000 / TIME_UNIT as usize)),
            ("net::send", Choice::Some(64)),
            ("main", Choice::None),
            ("<shop::Cart as core::fmt::Debug>::fmt", Choice::All),
        ] {
            assert_eq!(choice(patterns, &[path]), expected, "{path}");
        }
        assert_eq!(choice(b"", &["main"]), Choice::All);
        assert_eq!(choice(b"-db::*", &["main"]), Choice::All);
        assert_eq!(choice(b"-db::* db::read", &["db::read"]), Choice::All);
        assert_eq!(choice(b"-db::* db::read", &["main"]), Choice::None);
    }

    #[test]
    fn an_invalid_pattern_is_reported_and_the_rest_is_used() {
        let patterns = b"a>=10 b>=us c% d%0 - x>=1us%3 >=1s e>=99999999999999999999s f";
        assert_eq!(invalid(patterns).count(), 8);
        assert_eq!(choice(patterns, &["f"]), Choice::All);
        assert_eq!(choice(patterns, &["a"]), Choice::None);
        assert_eq!(choice(b"a>=10", &["main"]), Choice::None, "an inclusion, though invalid");
        assert_eq!(choice(b"-a -", &["main"]), Choice::All);
        assert_eq!(invalid(b"a b>=1ns c>=2ms d>=10s e%1 -f *::g").count(), 0);
    }

    /// A naive twin: a star matches any beginning.
    fn twin(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            ([b'*', rest @ ..], text) => (0..=text.len()).any(|at| twin(rest, &text[at..])),
            ([first, rest @ ..], [same, text @ ..]) => first == same && twin(rest, text),
            _ => false,
        }
    }

    #[test]
    fn stars_match_as_those_of_a_naive_twin() {
        let texts = |count: u32, letters: &'static [u8]| {
            (0..=6u32).flat_map(move |size| {
                let all = (letters.len() as u32).pow(size).min(count);
                (0..all).map(move |n| {
                    let letter =
                        |at| letters[(n / (letters.len() as u32).pow(at)) as usize % letters.len()];
                    (0..size).map(letter).collect::<Vec<u8>>()
                })
            })
        };
        for pattern in texts(729, b"ab*") {
            for text in texts(64, b"ab") {
                assert_eq!(matches(&pattern, &text), twin(&pattern, &text), "{pattern:?} {text:?}");
            }
        }
    }
}
