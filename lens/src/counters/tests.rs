//! Counters of random logs against a twin that sums in a list, and the odd cases one by one.
//!
//! ```text
//!  random steps ──▶ Maker ──▶ log ──▶ Source ──▶ Counters ─┐
//!            └──▶ Twin: a list of names with their values ─┴─ the same changes
//! ```
//!
//! Design: `.cnv.counters`.

use super::{Counters, Number, Source, Steps};
use crate::slices::Numbers;
use eventdef::field::P;
use eventdef::marks::Mark;
use eventdef::{Control, EventType, Kind, Param, ParamSink, Sort, Version};
use eventlog::reader::marks::{Marks, Unit};
use eventlog::reader::{Clock, Filter, Log, Order};
use eventlog::writer::{Cause, Maker, Origin};
use proptest::prelude::*;

mod play {
    eventdef::events! {
        /// Values over time.
        registry "play" version(1, 0, 0);
        kinds {
            /// Counters.
            Play = 0,
            /// Others.
            Aside = 1,
        }

        /// Things go into a box. [counter held += size:shelf] [counter puts += 1]
        /// [counter shelf += size] [unit bytes size]
        Put(1, always, Play) {
            /// the box
            shelf: P,
            /// how much
            size: W,
        }
        /// Things go out. [counter held -= size:shelf] [counter size += size]
        Take(2, always, Play) {
            /// the box
            shelf: P,
            /// how much
            size: W,
        }
        /// A level moved. [counter level += by] [counter moves = count:name]
        Move(3, always, Play) {
            /// how far
            by: D,
            /// how often so far
            count: U,
            /// what
            name: S,
        }
        /// A level was set. [counter level = to]
        Set(4, always, Play) {
            /// where
            to: D,
        }
        /// A box is emptied. [counter held = 0:shelf]
        Clear(5, always, Play) {
            /// the box
            shelf: P,
        }
        /// Nothing of interest.
        Noise(9, always, Aside) {}
    }
}
use play::{Clear, Move, Noise, Put, Set, Take};

mod other {
    eventdef::events! {
        /// Another part of the program.
        registry "other" version(1, 0, 0);
        kinds standard;

        /// Something came. [counter level += 1]
        Came(1, always, User) {}
    }
}

/// A change: title, value and least first value after it.
type Found = (String, Number, Option<Number>);

/// Returns the changes of all counters of a log.
fn changes(log: &Log) -> (Vec<Found>, Counters) {
    let (clock, marks) = (Clock::new(log), Marks::of(log.registries()));
    let (mut source, mut steps) = (Source::new(log, &marks), Steps::default());
    let mut counters = Counters::new(log, &marks, |_, _| true);
    let (mut found, mut numbers) = (Vec::new(), Numbers::new(log));
    log.events(Order::Time, &Filter::new().labels(true)).each(|event| {
        if let Some(gap) = numbers.note(event).and_then(|jump| numbers.gap(&jump)) {
            counters.gap(&gap);
        }
        source.add(event, || clock.ns(event.stream, event.ticks), &mut steps);
        counters.take(&mut steps, |counters, counter, step| {
            assert_eq!(step.id.number, event.number);
            found.push((counter.title.to_string(), counter.value, counters.least(counter)));
        });
    });
    (found, counters)
}

/// Makes a log; `add` adds its events.
fn log(add: impl FnOnce(&mut Maker<'_>)) -> Log {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&Origin::new()).unwrap();
    add(&mut maker);
    maker.finish().unwrap();
    Log::from_source(bytes).unwrap()
}

/// Sums, in the order of first changes: name and key, value, least value, whether a value was
/// stated, title.
#[derive(Default)]
struct Twin {
    sums: Vec<(String, Number, Option<f64>, bool, String)>,
    found: Vec<(String, Number, Option<f64>)>,
    /// The kind Play lost an event at any time.
    is_short: bool,
    /// Since when no buffer of the kind lacks an event, and when the next change is.
    from: u64,
    now: u64,
}

impl Twin {
    fn change(&mut self, title: String, by: f64, is_whole: bool, is_stated: bool) {
        let at = self.sums.iter().position(|sum| sum.0 == title).unwrap_or_else(|| {
            let is_relative = self.is_short && !is_stated;
            let shown = format!("{title}{}", if is_relative { " (relative)" } else { "" });
            self.sums.push((title, Number::Whole(0), None, false, shown));
            self.sums.len() - 1
        });
        let (_, value, low, was_stated, shown) = &mut self.sums[at];
        let before_it = value.as_f64();
        let before = if is_stated { 0.0 } else { before_it };
        *value = match (is_whole, *value) {
            (true, Number::Whole(_)) => Number::Whole((before + by) as i128),
            _ => Number::Real(before + by),
        };
        *was_stated |= is_stated;
        if !*was_stated && self.now >= self.from {
            *low = Some(low.unwrap_or(before_it).min(value.as_f64()));
        }
        let low = low.unwrap_or(0.0);
        let is_relative =
            if *was_stated { self.is_short && !is_stated } else { self.is_short || low < 0.0 };
        self.found.push((shown.clone(), *value, is_relative.then_some(-low)));
    }
}

const NAMES: [&str; 3] = ["left", "right", "up and down"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn counters_equal_the_sums_of_a_twin(
        steps in prop::collection::vec((0u8..40, 0u8..3, 0u8..3, 0u32..1000), 0..200),
    ) {
        // Of a buffer without any event, the log tells until when it may have had events.
        let begin = (0..3).map(|thread| (0, thread, 0, 0));
        let steps: Vec<_> = begin.chain(steps).collect();
        let is_lost = |(what, ..): &(u8, u8, u8, u32)| *what == 39;
        let mut twin = Twin { is_short: steps.iter().any(is_lost), ..Twin::default() };
        for (at, (_, thread, ..)) in steps.iter().enumerate().filter(|(_, step)| is_lost(step)) {
            let is_next = |(what, other, ..): &(u8, u8, u8, u32)| *what < 32 && other == thread;
            let next = steps[at..].iter().position(is_next).map_or(0, |next| 1000 + at + next);
            twin.from = twin.from.max(next as u64);
        }
        let log = log(|maker| {
            let string = maker.intern(1, b"first shelf").unwrap();
            maker.label(1, 1, string).unwrap();
            for (&(what, thread, item, size), ticks) in steps.iter().zip(1000u64..) {
                let (thread, shelf) = (u32::from(thread) + 1, P(usize::from(item)));
                let amount = f64::from(size);
                twin.now = ticks;
                let title = |name: &str| {
                    let label = if item == 1 { " first shelf" } else { "" };
                    format!("{name} 0x{item:x}{label}")
                };
                let name = NAMES[usize::from(item)];
                let size = size as usize;
                match what {
                    0..=12 => {
                        maker.add(thread, thread, ticks, &Put { shelf, size }).unwrap();
                        twin.change(title("held"), amount, true, false);
                        twin.change("puts".into(), 1.0, true, false);
                        twin.change(title("shelf"), amount, true, false);
                    }
                    13..=19 => {
                        maker.add(thread, thread, ticks, &Take { shelf, size }).unwrap();
                        twin.change(title("held"), -amount, true, false);
                        twin.change("size".into(), amount, true, false);
                    }
                    20..=27 => {
                        let event = Move::new(amount / 4.0 - 100.0, size as u32, name);
                        maker.add(thread, thread, ticks, &event).unwrap();
                        twin.change("level".into(), amount / 4.0 - 100.0, false, false);
                        twin.change(format!("moves {name}"), amount, true, true);
                    }
                    28..=29 => {
                        maker.add(thread, thread, ticks, &Set { to: amount }).unwrap();
                        twin.change("level".into(), amount, false, true);
                    }
                    30..=31 => {
                        maker.add(thread, thread, ticks, &Clear { shelf }).unwrap();
                        twin.change(title("held"), 0.0, true, true);
                    }
                    39 => maker.lose::<Take>(thread, thread, Cause::Io, 1).unwrap(),
                    _ => maker.add(thread + 10, thread, ticks, &Noise {}).unwrap(),
                }
            }
        });
        let (found, _) = changes(&log);
        let found: Vec<_> = found
            .into_iter()
            .map(|(title, value, least)| (title, value, least.map(Number::as_f64)))
            .collect();
        prop_assert_eq!(found, twin.found);
    }
}

/// Parts of marks, in any order.
const PARTS: [&str; 19] = [
    "[",
    "]",
    "[counter ",
    "[unit ",
    "[slice ",
    "[name ",
    "bytes ",
    "+=",
    "-=",
    "=",
    ":",
    ",",
    ".",
    "-",
    "a",
    "é",
    "1",
    " ",
    "xxxxxxxxxxxxxxxx",
];

proptest! {
    /// Brackets by the functions of `str`, and the parser's.
    #[test]
    fn text_of_any_kind_has_as_many_marks_as_brackets_with_their_words(
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40),
    ) {
        let text = parts.concat();
        let brackets = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        let words = brackets.filter_map(|(inside, _)| inside.split_once(' '));
        let known = ["counter", "unit", "slice", "name"];
        let count = words.filter(|(word, _)| known.contains(word)).count();
        prop_assert_eq!(eventdef::marks::in_doc(&text).count(), count);
        for mark in eventdef::marks::in_doc(&text).flatten() {
            if let Mark::Count(count) = mark {
                prop_assert!(!count.name.is_empty() && count.name.len() <= 31);
                prop_assert!(count.amount != Some("") && text.contains(count.name));
            }
        }
    }
}

#[test]
fn a_counter_below_zero_began_with_an_unknown_value() {
    let shelf = P(7);
    let log = log(|maker| {
        maker.add(1, 1, 10, &Put { shelf, size: 3 }).unwrap();
        maker.add(1, 1, 11, &Take { shelf, size: 8 }).unwrap();
        maker.add(1, 1, 12, &Put { shelf, size: 1 }).unwrap();
    });
    let (found, counters) = changes(&log);
    let held: Vec<_> = found.iter().filter(|found| found.0 == "held 0x7").collect();
    let values = held.iter().map(|found| (found.1, found.2)).collect::<Vec<_>>();
    let (five, whole) = (Some(Number::Whole(5)), Number::Whole);
    assert_eq!(values, [(whole(3), None), (whole(-5), five), (whole(-4), five)]);
    let units: Vec<_> = counters.all().iter().map(|one| (counters.name(one), one.unit)).collect();
    let bytes = Some(Unit::Bytes);
    assert_eq!(
        units,
        [("held", bytes), ("puts", Some(Unit::Count)), ("shelf", bytes), ("size", None)]
    );
}

/// `.cnv.counters.begin`: an idle thread has its first events, a busy one lost them.
#[test]
fn a_sum_is_certain_from_the_latest_beginning_on() {
    let shelf = P(7);
    let log = log(|maker| {
        for ticks in 10..15 {
            maker.add(1, 1, ticks, &Put { shelf, size: 20 }).unwrap();
        }
        // 1000 are put and lost, then 1000 are taken.
        maker.lose::<Take>(2, 2, Cause::Io, 1).unwrap();
        for ticks in 100..110 {
            maker.add(2, 2, ticks, &Take { shelf, size: 100 }).unwrap();
        }
    });
    let (found, counters) = changes(&log);
    let held: Vec<_> = found.iter().filter(|found| found.0.starts_with("held 0x7")).collect();
    // The truth goes from 0 to 100, 1100 and 100.
    let values = |at: usize| (held[at].1, held[at].2);
    assert_eq!(values(4), (Number::Whole(100), Some(Number::Whole(0))));
    assert_eq!(values(14), (Number::Whole(-900), Some(Number::Whole(900))));
    assert_eq!(counters.certain_from(), [(0, 100)].into());
}

#[test]
fn great_sums_are_exact_and_what_is_no_number_is_left_out() {
    let shelf = P(7);
    let log = log(|maker| {
        for ticks in 0..4 {
            maker.add(1, 1, ticks, &Put { shelf, size: usize::MAX }).unwrap();
        }
        for (ticks, by) in (10..).zip([f64::MAX, f64::MAX, f64::NAN, f64::INFINITY, -f64::MAX]) {
            maker.add(1, 1, ticks, &Move::new(by, 1u32, "x")).unwrap();
        }
    });
    let (found, counters) = changes(&log);
    let last = |title: &str| found.iter().rfind(|found| found.0 == title).unwrap().1;
    assert_eq!(last("held 0x7"), Number::Whole(4 * i128::from(u64::MAX)));
    assert_eq!(last("held 0x7").as_i64(), None);
    assert_eq!(last("level"), Number::Real(0.0));
    assert_eq!(counters.refused().overflow, 3);
}

/// Viewers take counters with one title for one.
#[test]
fn counters_of_one_name_in_two_registries_have_two_titles() {
    let log = log(|maker| {
        maker.add(1, 1, 10, &Set { to: 2.5 }).unwrap();
        maker.add(2, 1, 11, &other::Came {}).unwrap();
        maker.add(1, 1, 12, &Put { shelf: P(7), size: 3 }).unwrap();
    });
    let (found, counters) = changes(&log);
    let titles: Vec<&str> = found.iter().map(|found| &*found.0).collect();
    assert_eq!(titles[..3], ["level of play", "level of other", "held 0x7"]);
    assert_eq!(counters.name(&counters.all()[1]), "level of other");
}

#[test]
fn changes_of_counters_beyond_the_limit_are_counted() {
    let log = log(|maker| {
        for item in 0..10 {
            maker.add(1, 1, item as u64, &Put { shelf: P(item), size: 1 }).unwrap();
        }
    });
    let marks = Marks::of(log.registries());
    let (mut source, mut steps) = (Source::new(&log, &marks), Steps::default());
    let mut counters = Counters::new(&log, &marks, |_, _| true).at_most(4);
    log.events(Order::Time, &Filter::default()).each(|event| {
        source.add(event, || 0, &mut steps);
        counters.take(&mut steps, |_, _, _| {});
    });
    let titles: Vec<&str> = counters.all().iter().map(|counter| &*counter.title).collect();
    assert_eq!(titles, ["held 0x0", "puts", "shelf 0x0", "held 0x1"]);
    // 9 of held and shelf, less the one that has room.
    assert_eq!(counters.refused().full, 9 + 9 - 1);
}

/// A registry that no compiler has checked.
static HOSTILE: eventdef::Registry = eventdef::Registry {
    name: "hostile",
    version: Version { major: 1, median: 0, minor: 0 },
    doc: "[counter x += 1] [unit bytes n] [slice A=]",
    kinds: KINDS,
    event_types: &[ODD],
};
const KINDS: &[Kind] = &[Kind { index: 0, name: "Odd", doc: "Odd." }];
const ODD: EventType = EventType {
    name: "Odd",
    code: 1,
    kind: 0,
    always: true,
    retired: false,
    coarse: false,
    doc: "[counter \u{1b}[2J\n<b>x += n:m] [counter a += missing] [counter a += n:missing] \
          [counter b += s] [unit bytes missing] [unit inches n] [counter c = 1] [counter +=] \
          [counter d += n] [counter d += n:n] [unit bytes n] [unit ns n] [name missing] [counter \
          [counter e\u{1b}]0;t\u{7} += 1] [counter 1 += 1] [counter 2 += 1] [counter 3 += 1] \
          [counter 4 += 1] [counter 5 += 1] [counter 6 += 1] [counter 7 += 1] [counter 8 += 1]",
    params: &[
        Param { sort: Sort::W, name: "n", doc: "n" },
        Param { sort: Sort::S, name: "s", doc: "s" },
    ],
};
static CONTROL: Control = Control::new(&HOSTILE);

/// An event of it.
#[derive(Clone, Copy)]
struct Odd;

impl eventdef::Event for Odd {
    const TYPE: &'static EventType = &ODD;
    const KINDS: &'static [Kind] = KINDS;
    const FIXED_SIZE: usize = 16;

    fn control() -> &'static Control {
        &CONTROL
    }

    fn size(&self) -> usize {
        24
    }

    fn encode(&self, sink: &mut impl ParamSink) {
        sink.put_u64(8, 5);
        sink.put_u8(23, 7);
    }
}

#[test]
fn a_mark_of_a_log_that_names_nothing_is_prose() {
    let log = log(|maker| maker.add(1, 1, 10, &Odd).unwrap());
    let (found, counters) = changes(&log);
    let titles: Vec<&str> = found.iter().map(|found| &*found.0).collect();
    assert_eq!(titles.len(), 8, "{titles:?}");
    assert_eq!(titles[0], "d");
    assert!(titles.iter().all(|title| !title.contains(char::is_control)), "{titles:?}");
    assert_eq!(found[0].1, Number::Whole(5));
    assert_eq!(counters.all()[0].unit, Some(Unit::Bytes));
}
