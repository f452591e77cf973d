//! Times of events as text: ticks, seconds since the start, or the time of day.
//!
//! ```text
//!  ticks     0000178EA03C2825
//!  seconds   12.345678901, since the history of the program begins; less than 0 before
//!  wall      2026-11-22T10:00:00.123456789Z
//! ```
//!
//! Design: `.cnv.time` in `design/eventcnv.md`.

use crate::open::select::times::Clocks;
use crate::text;
use crate::text::page::{Page, Pen};
use clap::ValueEnum;
use eventlog::reader::{Event, Log};
use std::io::Write;
use std::time::{Duration, SystemTime};

/// Columns of whole seconds.
const WIDTH: usize = 6;

/// How times are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Ticks of the clock, 16 hexadecimal digits
    #[default]
    Ticks,
    /// Seconds since the start of the log
    Seconds,
    /// The time of day, UTC
    Wall,
}

/// Prints the times of events of a log.
pub(crate) enum Clock<'l> {
    Ticks,
    /// With the columns of whole seconds.
    Seconds(Clocks<'l>, usize),
    Wall(&'l Log),
}

/// The time of an event that a pen has yet to write.
pub(crate) enum Stamp {
    None,
    Ticks(u64),
    /// ns, and the columns of whole seconds.
    Seconds(i64, usize),
}

impl Stamp {
    #[inline(always)]
    pub(crate) fn write(&self, pen: &mut Pen<'_>) {
        match *self {
            Stamp::None => {}
            Stamp::Ticks(ticks) => pen.hex16(ticks),
            Stamp::Seconds(ns, width) => {
                let (text, size) = text::seconds(ns, width);
                pen.text(&text, 0, size);
            }
        }
    }
}

impl<'l> Clock<'l> {
    /// Returns a clock of a form, or why the log does not have such times.
    pub(crate) fn new(form: Form, log: &'l Log) -> Result<Clock<'l>, String> {
        Ok(match form {
            Form::Ticks => Clock::Ticks,
            Form::Seconds => {
                let clocks = Clocks::new(log);
                clocks.check_seconds()?;
                Clock::Seconds(clocks, WIDTH)
            }
            Form::Wall => {
                if log.streams().iter().any(|stream| stream.wall_time(0).is_none()) {
                    return Err(Clocks::unknown("the time of day"));
                }
                Clock::Wall(log)
            }
        })
    }

    #[inline]
    pub(crate) fn append(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        match self {
            Clock::Ticks => text::hex16(out, event.ticks),
            _ => self.append_time(event, out),
        }
    }

    /// Returns a clock for people: seconds, in as few columns as the last one needs; ticks, if the
    /// log does not relate them to seconds.
    pub(crate) fn for_people(log: &'l Log) -> Clock<'l> {
        let clocks = Clocks::new(log);
        if clocks.check_seconds().is_err() {
            return Clock::Ticks;
        }
        let last = clocks.last().map_or(0, |ns| ns / 1_000_000_000);
        // Two of them hold a sign: the runtime's own events precede the history.
        Clock::Seconds(clocks, last.to_string().len().max(2))
    }

    /// Writes the time of an event, or returns it if a pen has to write it.
    #[inline(always)]
    pub(crate) fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        match self {
            Clock::Ticks => return Stamp::Ticks(event.ticks),
            Clock::Seconds(clocks, width) => {
                if let Some(ns) = clocks.since_start(event.stream, event.ticks) {
                    return Stamp::Seconds(ns, *width);
                }
            }
            Clock::Wall(_) => {}
        }
        page.write(|out| self.append_time(event, out));
        Stamp::None
    }

    fn append_time(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match self {
            Clock::Ticks => Ok(()),
            Clock::Seconds(clocks, width) => match clocks.since_start(event.stream, event.ticks) {
                Some(ns) => {
                    let (text, size) = text::seconds(ns, *width);
                    out.write_all(text.get(..size).unwrap_or_default())
                }
                None => write!(out, "-"),
            },
            Clock::Wall(log) => {
                let stream = log.streams().get(usize::from(event.stream));
                match stream.and_then(|stream| stream.wall_time(event.ticks)) {
                    Some(wall) => {
                        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(wall.realtime);
                        write!(out, "{}", humantime::format_rfc3339_nanos(time))
                    }
                    None => write!(out, "-"),
                }
            }
        };
    }
}
