//! The options of modifications, in the order of the command line.
//!
//! ```text
//!  --drop-size 4096.. --scale-size 1.5 ─▶ [Sizes(false, 4096..), ScaleSize(1.5)]
//! ```
//!
//! clap's derive knows no order among options, so this module asks clap for their places. Design:
//! `.rep.modify` in `design/replay.md`.

use super::Modification;
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use std::ops::RangeInclusive;

/// The modifications of a command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modify {
    pub(crate) list: Vec<Modification>,
}

impl Modify {
    /// Returns the modifications in words.
    pub(crate) fn words(&self) -> String {
        self.list.iter().map(Modification::to_string).collect::<Vec<String>>().join("; ")
    }
}

/// An option for a modification.
struct Choice {
    name: &'static str,
    value: &'static str,
    help: &'static str,
    parse: fn(&str) -> Result<Modification, String>,
}

const CHOICES: &[Choice] = &[
    Choice {
        name: "scale-size",
        value: "F",
        help: "Multiply sizes by F",
        parse: |text| factor(text).map(Modification::ScaleSize),
    },
    Choice {
        name: "round-size",
        value: "N",
        help: "Round sizes up to multiples of N",
        parse: |text| match size(text)? {
            0 => Err("must be above 0".to_owned()),
            multiple => Ok(Modification::RoundSize(multiple)),
        },
    },
    Choice {
        name: "align",
        value: "N",
        help: "Align everything to N at least, a power of two",
        parse: |text| match size(text)? {
            alignment if alignment.is_power_of_two() && alignment <= 1 << 31 => {
                // Every allocation is aligned to 16.
                Ok(Modification::Align(if alignment > 16 { alignment } else { 1 }))
            }
            _ => Err("must be a power of two up to 2 GiB".to_owned()),
        },
    },
    Choice {
        name: "keep-pool",
        value: "LIST",
        help: "Keep only the objects in these pools, numbered as by `show`: 0,2",
        parse: |text| Ok(Modification::Pools(true, numbers(text)?)),
    },
    Choice {
        name: "drop-pool",
        value: "LIST",
        help: "Drop the objects in these pools",
        parse: |text| Ok(Modification::Pools(false, numbers(text)?)),
    },
    Choice {
        name: "keep-size",
        value: "RANGES",
        help: "Keep only objects allocated with these sizes: 16, 1K..64K (without the end), 1M..",
        parse: |text| Ok(Modification::Sizes(true, ranges(text)?)),
    },
    Choice {
        name: "drop-size",
        value: "RANGES",
        help: "Drop objects allocated with these sizes",
        parse: |text| Ok(Modification::Sizes(false, ranges(text)?)),
    },
    Choice {
        name: "keep-thread",
        value: "LIST",
        help: "Keep only objects that these threads allocate, numbered as by `show`",
        parse: |text| Ok(Modification::Threads(true, numbers(text)?)),
    },
    Choice {
        name: "drop-thread",
        value: "LIST",
        help: "Drop objects that these threads allocate",
        parse: |text| Ok(Modification::Threads(false, numbers(text)?)),
    },
    Choice {
        name: "stretch",
        value: "F",
        help: "Multiply lifetimes by F, 1 or more: frees come later",
        parse: |text| match factor(text)? {
            factor if factor >= 1.0 => Ok(Modification::Stretch(factor)),
            _ => Err("must be at least 1: frees cannot come earlier".to_owned()),
        },
    },
    Choice {
        name: "delay-free",
        value: "N|TIME",
        help: "Free N operations later, or a time: 1000, 5us, 20ms, 1s",
        parse: delay,
    },
    Choice {
        name: "drop-free",
        value: "P",
        help: "Drop this part of the frees, as 0.05 or 5%: shows the cost of leaks",
        parse: |text| part(text).map(Modification::DropFree),
    },
    Choice {
        name: "copies",
        value: "N",
        help: "Play N copies of the program at once, each with threads of its own",
        parse: |text| match text.parse() {
            Ok(copies @ 1..=4096) => Ok(Modification::Copies(copies)),
            _ => Err("must be a number from 1 to 4096".to_owned()),
        },
    },
];

/// Parses a factor for sizes and times; a larger one is a mistake.
fn factor(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|value| *value > 0.0 && *value <= FACTOR_MAX)
        .ok_or_else(|| "must be a number above 0, up to a million".to_owned())
}

const FACTOR_MAX: f64 = 1e6;

/// Parses a size: bytes, or with the suffix K, M or G.
fn size(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (text.get(..text.len() - 1), 1 << 10),
        Some(b'M' | b'm') => (text.get(..text.len() - 1), 1 << 20),
        Some(b'G' | b'g') => (text.get(..text.len() - 1), 1 << 30),
        _ => (Some(text), 1),
    };
    let value = digits.and_then(|digits| digits.parse::<u64>().ok());
    let value = value.and_then(|value| value.checked_mul(factor));
    value.ok_or_else(|| format!("{text} is not a size; write a number, or 64K, 1M, 2G"))
}

fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let number = |text: &str| text.trim().parse().map_err(|_| format!("{text} is not a number"));
    text.split(',').map(number).collect()
}

fn ranges(text: &str) -> Result<Vec<RangeInclusive<u64>>, String> {
    text.split(',').map(range).collect()
}

/// Parses a size, or a range of sizes: without its end, unless `..=` precedes it.
fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let Some((from, to)) = text.split_once("..") else {
        return size(text).map(|size| size..=size);
    };
    let from = if from.is_empty() { 0 } else { size(from)? };
    let to = match to.strip_prefix('=') {
        Some(to) => Some(size(to)?),
        None if to.is_empty() => Some(u64::MAX),
        None => size(to)?.checked_sub(1),
    };
    let range = to.map(|to| from..=to).filter(|range| !range.is_empty());
    range.ok_or_else(|| format!("{text} contains no size"))
}

fn delay(text: &str) -> Result<Modification, String> {
    let units = [("ns", 1u64), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    for (unit, ns) in units {
        if let Some(number) = text.strip_suffix(unit)
            && number.ends_with(|last: char| last.is_ascii_digit())
        {
            let time = factor(number)? * ns as f64;
            return Ok(Modification::DelayTime(time as u64));
        }
    }
    let count = text.parse().map_err(|_| "must be a number, or a time such as 5us".to_owned());
    count.map(Modification::DelayOperations)
}

fn part(text: &str) -> Result<f64, String> {
    let (digits, of) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let part = digits.parse::<f64>().ok().map(|value| value / of);
    let part = part.filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "must be from 0 to 1, or from 0% to 100%".to_owned())
}

impl clap::Args for Modify {
    fn augment_args(command: Command) -> Command {
        CHOICES.iter().fold(command, |command, choice| {
            let argument = Arg::new(choice.name)
                .long(choice.name)
                .value_name(choice.value)
                .help(choice.help)
                .help_heading("Modifications, done in the order of the command line")
                .action(ArgAction::Append)
                .value_parser(choice.parse);
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Modify::augment_args(command)
    }
}

impl clap::FromArgMatches for Modify {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Modify, Error> {
        let mut found: Vec<(usize, Modification)> = Vec::new();
        for choice in CHOICES {
            let places = matches.indices_of(choice.name).into_iter().flatten();
            let values = matches.get_many::<Modification>(choice.name).into_iter().flatten();
            found.extend(places.zip(values.cloned()));
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(Modify { list: found.into_iter().map(|(_, modification)| modification).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Modify::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parse(words: &[&str]) -> Result<Modify, String> {
        let command = Modify::augment_args(Command::new("replay").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Ok(Modify::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn modifications_keep_the_order_of_the_command_line() {
        // `.rep.modify`
        let words = ["--align=64", "--drop-size", "4K..,0", "--align", "8", "--drop-free=5%"];
        let found = parse(&words).unwrap();
        let expected = [
            Modification::Align(64),
            Modification::Sizes(false, vec![4096..=u64::MAX, 0..=0]),
            Modification::Align(1),
            Modification::DropFree(0.05),
        ];
        assert_eq!(found.list, expected);
        let words = found.words();
        let expected = "aligned to 64 at least; without sizes 4K.., 0; with the usual alignment; \
                        5 % of the frees dropped";
        assert_eq!(words, expected);
        let words = ["--delay-free=7", "--delay-free=2us", "--keep-size=16..32,1M..=2M"];
        let expected = [
            Modification::DelayOperations(7),
            Modification::DelayTime(2000),
            Modification::Sizes(true, vec![16..=31, 1 << 20..=2 << 20]),
        ];
        assert_eq!(parse(&words).unwrap().list, expected);
    }

    #[test]
    fn modifications_are_printed_as_on_the_command_line() {
        for (argument, expected) in [
            ("--drop-size=..64", "without sizes ..64"),
            ("--drop-size=0..64", "without sizes ..64"),
            ("--keep-size=16,1K..64K,1M..", "only sizes 16, 1K..64K, 1M.."),
            ("--keep-size=1M..=2M,0..", "only sizes 1M..=2M, 0.."),
            ("--keep-size=..=2M,7..=8", "only sizes ..=2M, 7..9"),
            ("--delay-free=1500ns", "frees 1500ns later"),
            ("--delay-free=20000us", "frees 20ms later"),
        ] {
            let found = parse(&[argument]).unwrap();
            assert_eq!(found.words(), expected);
            let ranges =
                expected.strip_prefix("only sizes ").map(|expected| expected.replace(", ", ","));
            if let Some(ranges) = ranges {
                assert_eq!(parse(&[&format!("--keep-size={ranges}")]).unwrap().list, found.list);
            }
        }
    }

    #[test]
    fn an_invalid_value_is_refused_with_a_reason() {
        for (word, reason) in [
            ("--scale-size=-1", "number above 0"),
            ("--scale-size=NaN", "number above 0"),
            ("--align=48", "must be a power of two"),
            ("--round-size=0", "above 0"),
            ("--stretch=0.5", "cannot come earlier"),
            ("--drop-free=101%", "from 0% to 100%"),
            ("--keep-size=9..9", "contains no size"),
            ("--keep-pool=a", "not a number"),
            ("--delay-free=5h", "or a time such as 5us"),
            ("--copies=0", "from 1 to 4096"),
        ] {
            let message = parse(&[word]).unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }
}
