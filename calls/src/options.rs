//! The options of a recording: the words between `+TURTLES` and `-TURTLES`.
//!
//! Design: `.calls.release` in `design/calls.md`.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use telemetry::__private::say;

const BEGIN: &str = "+TURTLES";
const END: &str = "-TURTLES";
/// The time from one flush to the next, unless `-intervalMillis` tells another.
const INTERVAL_DEFAULT: Duration = Duration::from_millis(30_000);
/// The sizes that a ring may have, in bytes: a reader of a running program copies 1 GiB at most.
const RING_SIZES: RangeInclusive<u64> = 1 << 20..=1 << 30;

/// When records go out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Commit {
    /// At once: they are recorded in a mapped file.
    Direct,
    /// When a block is full, and after each interval.
    Staged,
}

impl Commit {
    fn name(self) -> &'static str {
        match self {
            Commit::Direct => "direct",
            Commit::Staged => "staged",
        }
    }
}

/// Which code flushes after each interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Schedule {
    /// The program, which calls [`Released::tick`].
    EventLoop,
    /// A thread.
    Thread,
}

impl Schedule {
    fn name(self) -> &'static str {
        match self {
            Schedule::EventLoop => "ev",
            Schedule::Thread => "mt",
        }
    }
}

/// The options of a program's user, which [`release`](crate::release) takes out of the arguments.
/// For a program that has them from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(crate) enabled: bool,
    pub(crate) commit: Commit,
    pub(crate) interval: Duration,
    pub(crate) schedule: Schedule,
    pub(crate) directory: PathBuf,
    pub(crate) prefix: OsString,
    pub(crate) debug: bool,
    /// Of the direct mode: the newest calls alone are kept, in this number of bytes.
    pub(crate) ring_size: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enabled: false,
            commit: Commit::Staged,
            interval: INTERVAL_DEFAULT,
            schedule: Schedule::Thread,
            directory: PathBuf::from("."),
            prefix: OsString::from("turtles"),
            debug: false,
            ring_size: None,
        }
    }
}

impl Options {
    /// Reads the words between `+TURTLES` and `-TURTLES`. A wrong one is reported in one line, and
    /// nothing will be recorded.
    ///
    /// ```
    /// let words = ["-enabled", "-commitMode", "direct"].map(Into::into);
    /// let options = calls::Options::new(&words);
    /// assert_eq!(options.pairs()[1], ("commitMode", "direct".into()));
    /// ```
    #[must_use]
    pub fn new(words: &[OsString]) -> Options {
        parse(words).unwrap_or_else(|reason| {
            tell_failure(&reason);
            Options::default()
        })
    }

    /// Returns the names and values of the options of the original TURTLES, without the dash. A
    /// value of an option that is given or not is 1 or 0.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, OsString); 7] {
        let flag = |is_given: bool| OsString::from(if is_given { "1" } else { "0" });
        [
            ("enabled", flag(self.enabled)),
            ("commitMode", self.commit.name().into()),
            ("intervalMillis", self.interval.as_millis().to_string().into()),
            ("dbPath", self.directory.clone().into()),
            ("dbPrefix", self.prefix.clone()),
            ("scheduleMode", self.schedule.name().into()),
            ("debug", flag(self.debug)),
        ]
    }
}

pub(crate) fn tell_failure(reason: &str) {
    say(format_args!("+TURTLES: {reason}; calls are not recorded"));
}

/// Takes the words between `+TURTLES` and `-TURTLES` out of the arguments, and these words.
pub(crate) fn take_groups(arguments: &mut Vec<OsString>) -> Vec<OsString> {
    let mut taken = Vec::new();
    let position = |arguments: &[OsString], word| arguments.iter().position(|each| each == word);
    let mut from = 0;
    while let Some(begin) = position(&arguments[from..], BEGIN).map(|at| from + at)
        && let Some(end) = position(&arguments[begin..], END).map(|at| begin + at)
    {
        taken.extend(arguments.drain(begin..=end).filter(|word| word != BEGIN && word != END));
        from = begin;
    }
    taken
}

fn parse(words: &[OsString]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.to_string_lossy();
        let mut value = || words.next().ok_or(format!("`{name}` needs a value"));
        let wrong = |value: &OsStr, valid: &str| {
            let value = value.to_string_lossy();
            format!("`{name} {value}` is invalid (valid: {valid})")
        };
        match &*name {
            "-enabled" => options.enabled = true,
            "-debug" => options.debug = true,
            "-commitMode" => {
                options.commit = match value()? {
                    word if word == "direct" => Commit::Direct,
                    word if word == "staged" => Commit::Staged,
                    other => return Err(wrong(other, "direct, staged")),
                };
            }
            "-scheduleMode" => {
                options.schedule = match value()? {
                    word if word == "ev" => Schedule::EventLoop,
                    word if word == "mt" => Schedule::Thread,
                    other => return Err(wrong(other, "ev, mt")),
                };
            }
            "-intervalMillis" => {
                let value = value()?;
                let count = value.to_str().and_then(|text| text.parse().ok());
                let count = count.filter(|count| *count != 0);
                let count = count.ok_or_else(|| wrong(value, "1 or more"))?;
                options.interval = Duration::from_millis(count);
            }
            "-ringSize" => {
                let value = value()?;
                let size = value.to_str().and_then(bytes);
                let size = size.filter(|size| RING_SIZES.contains(size));
                let valid = "1M to 1G; units: K, M, G";
                options.ring_size = Some(size.ok_or_else(|| wrong(value, valid))?);
            }
            "-dbPath" => options.directory = value()?.into(),
            "-dbPrefix" => {
                let prefix = value()?;
                if prefix.as_encoded_bytes().contains(&b'/') {
                    return Err(wrong(prefix, "a name without `/`"));
                }
                options.prefix = prefix.clone();
            }
            _ => {
                let valid = "-enabled -commitMode -intervalMillis -scheduleMode -dbPath -dbPrefix \
                             -debug -ringSize";
                return Err(format!("`{name}` is not an option (options: {valid})"));
            }
        }
    }
    if options.ring_size.is_some() && options.commit != Commit::Direct {
        return Err("`-ringSize` needs `-commitMode direct`".to_owned());
    }
    Ok(options)
}

/// Reads a size: a number, and K, M or G for powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::path_of;
    use std::path::Path;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(Into::into).collect()
    }

    /// T7: several groups, anywhere; a group without its end stays.
    #[test]
    fn each_group_is_taken_out_of_the_arguments() {
        for (arguments, left, taken) in [
            ("a b", "a b", ""),
            ("a +TURTLES -enabled -TURTLES b", "a b", "-enabled"),
            ("+TURTLES x -TURTLES a +TURTLES y z -TURTLES", "a", "x y z"),
            ("+TURTLES -TURTLES", "", ""),
            ("a +TURTLES -enabled", "a +TURTLES -enabled", ""),
            ("-TURTLES a +TURTLES x -TURTLES", "-TURTLES a", "x"),
            ("+TURTLES x -TURTLES -TURTLES +TURTLES y", "-TURTLES +TURTLES y", "x"),
            ("+TURTLES +TURTLES x -TURTLES b", "b", "x"),
        ] {
            let mut rest = words(arguments);
            assert_eq!(take_groups(&mut rest), words(taken), "{arguments}");
            assert_eq!(rest, words(left), "{arguments}");
        }
    }

    /// T8, T9, T10, T11: the options and their defaults.
    #[test]
    fn options_have_the_defaults_of_the_original() {
        let options = parse(&words("")).unwrap();
        assert_eq!(options, Options::default());
        assert_eq!(options.interval.as_millis(), 30000);
        assert_eq!((options.commit, options.schedule), (Commit::Staged, Schedule::Thread));
        assert_eq!(path_of(options.prefix, 7), Path::new("turtles-7.log"));
        let text = "-commitMode direct -scheduleMode ev -intervalMillis 5 -dbPath d -dbPrefix p \
                    -debug -enabled -ringSize 8M";
        let options = parse(&words(text)).unwrap();
        let expected = Options {
            enabled: true,
            commit: Commit::Direct,
            interval: Duration::from_millis(5),
            schedule: Schedule::EventLoop,
            directory: "d".into(),
            prefix: "p".into(),
            debug: true,
            ring_size: Some(8 << 20),
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn a_wrong_option_is_an_error_that_names_it() {
        for wrong in [
            "-enable",
            "-commitMode",
            "-commitMode now",
            "-scheduleMode x",
            "-intervalMillis 0",
            "-intervalMillis soon",
            "-dbPrefix a/b",
            "-dbPath",
            "-ringSize",
            "-ringSize 1K",
            "-ringSize 2G",
            "-ringSize 8X",
            "-ringSize 99999999999999G",
            "-ringSize 8M -commitMode staged",
        ] {
            let reason = parse(&words(wrong)).unwrap_err();
            assert!(reason.contains(wrong.split(' ').next().unwrap()), "{wrong}: {reason}");
        }
    }
}
