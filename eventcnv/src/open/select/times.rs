//! Converts times on the command line to ticks of each stream.
//!
//! ```text
//!  0000178EA03C2825 · 0x178EA03C2825   ticks, as the dump prints them
//!  +1.5s · 200ms                       after the start of the log      -2s   before its end
//!  #1000                               the time of an event, by its number from 0
//!  2026-11-22T10:00:00.5Z              time of day, UTC
//! ```
//!
//! Design: `.cnv.time` in `design/eventcnv.md`.

use eventlog::reader::{Filter, Log, Order, Stream};
use std::cell::Cell;
use std::time::{Duration, SystemTime};

/// Ticks of a clock a second, at most.
const CLOCK_RATE_MAX: f64 = 1e12;

/// A time as the user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Ticks(u64),
    /// After the start of the log, in ns.
    AfterStart(u64),
    /// Before its end, in ns.
    BeforeEnd(u64),
    /// The time of an event, by its number in order of time.
    Event(u64),
    /// ns since 1970.
    Wall(u64),
}

pub(crate) fn parse(text: &str) -> Result<Time, String> {
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let ticks = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => hex(digits),
        None if text.len() == 16 => hex(text),
        None => None,
    };
    let time = if let Some(ticks) = ticks {
        Some(Time::Ticks(ticks))
    } else if let Some(number) = text.strip_prefix('#') {
        number.parse().ok().map(Time::Event)
    } else if let Some(text) = text.strip_prefix('-') {
        duration(text).map(Time::BeforeEnd)
    } else if let Some(ns) = duration(text.strip_prefix('+').unwrap_or(text)) {
        Some(Time::AfterStart(ns))
    } else {
        wall(text).map(Time::Wall)
    };
    time.ok_or_else(|| {
        "not a time: use a clock value as in the dump (16 hexadecimal digits, or 0x…), +1.5s \
         after the start, -200ms before the end, #1000 for the time of an event by its number, or \
         2026-11-22T10:00:00Z"
            .to_owned()
    })
}

/// Parses a number with a unit: returns its value by the scale of the unit.
fn scaled(text: &str, scale: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    Some(number.parse::<f64>().ok()? * scale(unit)?)
}

/// Parses 1.5s, 200ms, 3us, 10ns, 2m, 1h: returns ns.
fn duration(text: &str) -> Option<u64> {
    let scale = |unit: &str| match unit {
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        "m" | "min" => Some(60e9),
        "h" => Some(3600e9),
        _ => None,
    };
    let ns = scaled(text, scale)?;
    (ns.is_finite() && ns < u64::MAX as f64).then_some(ns.round() as u64)
}

/// Parses the rate of a clock, 2.1GHz or 1000000Hz: returns ticks a second.
pub(crate) fn clock_rate(text: &str) -> Result<u64, String> {
    let scale = |unit: &str| match unit.to_ascii_lowercase().as_str() {
        "hz" => Some(1.0),
        "khz" => Some(1e3),
        "mhz" => Some(1e6),
        "ghz" => Some(1e9),
        _ => None,
    };
    let rate = scaled(text, scale).filter(|rate| (1.0..=CLOCK_RATE_MAX).contains(rate));
    let wrong = || "not a rate from 1Hz to 1000GHz, such as 2.1GHz or 1000000Hz".to_owned();
    rate.map(|rate| rate.round() as u64).ok_or_else(wrong)
}

fn wall(text: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

std::thread_local! {
    /// The clock syncs around the last event: those of the next one on this processor, mostly.
    static NEAR: Cell<usize> = const { Cell::new(0) };
}

/// The clocks of a log, with the times in which its history begins and ends (`.cnv.history`).
pub(crate) struct Clocks<'l> {
    log: &'l Log,
    /// Ticks of the first and last event, by stream.
    spans: Vec<Option<(u64, u64)>>,
    /// Times of the first and last event in ns since 1970, if all streams state them.
    walls: Option<(u64, u64)>,
}

impl<'l> Clocks<'l> {
    pub(crate) fn new(log: &'l Log) -> Clocks<'l> {
        let spans = log.history().spans().to_vec();
        let mut walls: Option<(u64, u64)> = None;
        let mut are_known = true;
        for (stream, span) in log.streams().iter().zip(&spans) {
            let Some((first, last)) = *span else { continue };
            match (stream.wall_time(first), stream.wall_time(last)) {
                (Some(first), Some(last)) => {
                    let (first, last) = (first.realtime, last.realtime);
                    walls = Some(walls.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
                }
                _ => are_known = false,
            }
        }
        Clocks { log, spans, walls: walls.filter(|_| are_known) }
    }

    /// Returns the ticks of a time in each stream, or why they are unknown.
    pub(crate) fn ticks(&self, time: Time) -> Result<Vec<u64>, String> {
        let number = match time {
            Time::Event(number) => Some(self.ticks_of_event(number)?),
            _ => None,
        };
        let streams = self.log.streams().iter().zip(&self.spans);
        let ticks = streams.map(|(stream, span)| match time {
            Time::Ticks(ticks) => Ok(ticks),
            Time::Event(_) => Ok(number.unwrap_or(u64::MAX)),
            Time::Wall(ns) => stream.ticks_at(ns).ok_or_else(|| Clocks::unknown("the time of day")),
            Time::AfterStart(ns) => {
                let wall = self.walls.map(|(first, _)| first.saturating_add(ns));
                self.relative(stream, wall, span.map(|(first, _)| (first, i128::from(ns))))
            }
            Time::BeforeEnd(ns) => {
                let wall = self.walls.map(|(_, last)| last.saturating_sub(ns));
                self.relative(stream, wall, span.map(|(_, last)| (last, -i128::from(ns))))
            }
        });
        ticks.collect()
    }

    /// Returns the ticks of a wall time, or the ticks a number of ns after other ticks.
    fn relative(
        &self,
        stream: &Stream,
        wall: Option<u64>,
        from: Option<(u64, i128)>,
    ) -> Result<u64, String> {
        if let Some(ticks) = wall.and_then(|wall| stream.ticks_at(wall)) {
            return Ok(ticks);
        }
        let Some((ticks, ns)) = from else { return Ok(0) };
        if stream.clock_rate == 0 {
            return Err(Clocks::unknown("seconds"));
        }
        let distance = ns * i128::from(stream.clock_rate) / 1_000_000_000;
        let ticks = (i128::from(ticks) + distance).max(0);
        Ok(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    pub(crate) fn check_seconds(&self) -> Result<(), String> {
        let is_known = |stream: &Stream| stream.clock_rate > 0;
        match self.walls.is_some() || self.log.streams().iter().all(is_known) {
            true => Ok(()),
            false => Err(Clocks::unknown("seconds")),
        }
    }

    pub(crate) fn unknown(what: &str) -> String {
        let rate = if what == "seconds" { "state it with --clock-rate 2.1GHz, or " } else { "" };
        format!("the log does not relate its clock to {what}; {rate}use clock values")
    }

    fn ticks_of_event(&self, number: u64) -> Result<u64, String> {
        if self.log.streams().len() > 1 {
            return Err("events have no numbers in a log of several streams".to_owned());
        }
        let mut events = self.log.events(Order::Time, &Filter::default());
        let mut count = 0;
        while let Some(event) = events.next() {
            if count == number {
                return Ok(event.ticks);
            }
            count += 1;
        }
        Err(format!("no event #{number}: the log has {count} events"))
    }

    /// Returns the time of the last event, in ns after the history begins.
    pub(crate) fn last(&self) -> Option<i64> {
        let ends = (0..).zip(&self.spans).filter_map(|(at, span)| Some((at, (*span)?.1)));
        ends.filter_map(|(stream, ticks)| self.since_start(stream, ticks)).max()
    }

    /// Returns the time of an event, in ns after the history begins; less than 0 before that.
    pub(crate) fn since_start(&self, stream: u16, ticks: u64) -> Option<i64> {
        let at = self.log.streams().get(usize::from(stream))?;
        let mut near = NEAR.get();
        let wall = at.wall_time_near(ticks, &mut near);
        NEAR.set(near);
        if let (Some((first, _)), Some(wall)) = (self.walls, wall) {
            return i64::try_from(i128::from(wall.realtime) - i128::from(first)).ok();
        }
        let (first, _) = (*self.spans.get(usize::from(stream))?)?;
        let distance = (i128::from(ticks) - i128::from(first)) * 1_000_000_000;
        i64::try_from(distance.checked_div(i128::from(at.clock_rate))?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.time`
    #[test]
    fn a_clock_rate_has_a_unit_and_a_limit() {
        for (text, rate) in
            [("2.1GHz", 2_100_000_000), ("24mhz", 24_000_000), ("32.768kHz", 32768), ("1Hz", 1)]
        {
            assert_eq!(clock_rate(text), Ok(rate), "{text}");
        }
        for text in ["", "2.1", "GHz", "0Hz", "0.4Hz", "-1GHz", "1e9Hz", "2..1GHz", "1001GHz", "1s"]
        {
            assert!(clock_rate(text).unwrap_err().starts_with("not a rate"), "{text}");
        }
    }

    #[test]
    fn times_are_ticks_or_relative_or_of_day() {
        for (text, expected) in [
            ("0000178EA03C2825", Time::Ticks(0x178E_A03C_2825)),
            ("0x1f", Time::Ticks(31)),
            ("+1.5s", Time::AfterStart(1_500_000_000)),
            ("200ms", Time::AfterStart(200_000_000)),
            ("-2m", Time::BeforeEnd(120_000_000_000)),
            ("#1000", Time::Event(1000)),
            ("1970-01-01T00:00:01.5Z", Time::Wall(1_500_000_000)),
            ("1970-01-02 00:00:00", Time::Wall(86_400_000_000_000)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in ["", "17", "1.s.", "1x", "#", "#-1", "--1s", "1e400s", "yesterday", "0x"] {
            assert!(parse(text).unwrap_err().starts_with("not a time"), "{text}");
        }
    }
}
