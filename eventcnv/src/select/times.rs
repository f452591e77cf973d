//! Times on the command line, as ticks of each stream.
//!
//! ```text
//!  0000178EA03C2825 · 0x178EA03C2825   ticks, as the dump prints them
//!  +1.5s · 200ms                       after the start of the log      -2s   before its end
//!  #1000                               of the event of this number in order of time, from 0
//!  2026-11-22T10:00:00.5Z              of day, UTC
//! ```
//!
//! Design: `.cnv.time` in `design/eventcnv.md`.

use eventlog::reader::{Filter, Log, Order, Stream};
use std::time::{Duration, SystemTime};

/// No clock ticks more often in a second.
const CLOCK_RATE_MAX: f64 = 1e12;

/// A time, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Ticks(u64),
    /// After the start of the log, in ns.
    AfterStart(u64),
    /// Before its end, in ns.
    BeforeEnd(u64),
    /// Of an event, by its number in order of time.
    Event(u64),
    /// ns since 1970.
    Wall(u64),
}

/// Reads a time.
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
        "it is no time: a clock value as the dump prints it (16 hexadecimal digits, or 0x…), +1.5s \
         after the start, -200ms before the end, #1000 for the time of an event by its \
         number, or 2026-11-22T10:00:00Z"
            .to_owned()
    })
}

/// 1.5s, 200ms, 3us, 10ns, 2m, 1h: in ns.
fn duration(text: &str) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let ns = number * scale;
    (ns.is_finite() && ns < u64::MAX as f64).then_some(ns.round() as u64)
}

/// Reads how fast a clock ticks: 2.1GHz, 1000000Hz; in ticks a second.
pub(crate) fn clock_rate(text: &str) -> Result<u64, String> {
    let rate = || {
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = text.split_at_checked(unit_at)?;
        let scale = match unit.to_ascii_lowercase().as_str() {
            "hz" => 1.0,
            "khz" => 1e3,
            "mhz" => 1e6,
            "ghz" => 1e9,
            _ => return None,
        };
        let rate = number.parse::<f64>().ok()? * scale;
        (1.0..=CLOCK_RATE_MAX).contains(&rate).then_some(rate.round() as u64)
    };
    rate().ok_or_else(|| "it is no rate from 1Hz to 1000GHz: 2.1GHz, 1000000Hz".to_owned())
}

fn wall(text: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// The clocks of a log, its first event, and its last.
pub(crate) struct Clocks<'l> {
    log: &'l Log,
    /// By stream.
    spans: Vec<Option<(u64, u64)>>,
    /// When the first event was, and the last, in ns since 1970, if all streams say it.
    walls: Option<(u64, u64)>,
}

impl<'l> Clocks<'l> {
    pub(crate) fn new(log: &'l Log) -> Clocks<'l> {
        let indices = 0..log.streams().len();
        let spans: Vec<_> =
            indices.map(|index| u16::try_from(index).ok().and_then(|i| log.span(i))).collect();
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

    /// The ticks of a time in each stream. Else why they cannot be known.
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

    /// The ticks of a wall time, or of so many ns after ticks.
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
        let way = ns * i128::from(stream.clock_rate) / 1_000_000_000;
        let ticks = (i128::from(ticks) + way).max(0);
        Ok(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// Whether times in seconds can be had. Else why not.
    pub(crate) fn check_seconds(&self) -> Result<(), String> {
        let is_known = |stream: &Stream| stream.clock_rate > 0;
        match self.walls.is_some() || self.log.streams().iter().all(is_known) {
            true => Ok(()),
            false => Err(Clocks::unknown("seconds")),
        }
    }

    /// What is said where times cannot be had.
    pub(crate) fn unknown(what: &str) -> String {
        let rate = if what == "seconds" { ": --clock-rate 2.1GHz states it" } else { "" };
        format!(
            "the log does not say how its clock relates to {what}{rate}; times are clock values"
        )
    }

    fn ticks_of_event(&self, number: u64) -> Result<u64, String> {
        if self.log.streams().len() > 1 {
            return Err("of a log of several streams no event has a number".to_owned());
        }
        let mut events = self.log.events(Order::Time, &Filter::default());
        let mut count = 0;
        while let Some(event) = events.next() {
            if count == number {
                return Ok(event.ticks);
            }
            count += 1;
        }
        Err(format!("there is no event #{number}: the log has {count}"))
    }

    /// When an event was, in ns after the first one.
    pub(crate) fn since_start(&self, stream: u16, ticks: u64) -> Option<u64> {
        let at = self.log.streams().get(usize::from(stream))?;
        if let (Some((first, _)), Some(wall)) = (self.walls, at.wall_time(ticks)) {
            return Some(wall.realtime.saturating_sub(first));
        }
        let (first, _) = (*self.spans.get(usize::from(stream))?)?;
        let way = u128::from(ticks.checked_sub(first)?) * 1_000_000_000;
        let ns = way.checked_div(u128::from(at.clock_rate))?;
        u64::try_from(ns).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.time`
    #[test]
    fn a_clock_rate_has_a_unit_and_is_possible() {
        for (text, rate) in
            [("2.1GHz", 2_100_000_000), ("24mhz", 24_000_000), ("32.768kHz", 32768), ("1Hz", 1)]
        {
            assert_eq!(clock_rate(text), Ok(rate), "{text}");
        }
        for text in ["", "2.1", "GHz", "0Hz", "0.4Hz", "-1GHz", "1e9Hz", "2..1GHz", "1001GHz", "1s"]
        {
            assert!(clock_rate(text).unwrap_err().starts_with("it is no rate"), "{text}");
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
            assert!(parse(text).unwrap_err().starts_with("it is no time"), "{text}");
        }
    }
}
