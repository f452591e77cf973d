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
use crate::text::page::Page;
use clap::ValueEnum;
use eventlog::reader::{Event, Log};
use std::io::Write;
use std::time::{Duration, SystemTime};

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
    Seconds(Clocks<'l>),
    Wall(&'l Log),
}

impl<'l> Clock<'l> {
    /// Returns a clock of a form, or why the log does not have such times.
    pub(crate) fn new(form: Form, log: &'l Log) -> Result<Clock<'l>, String> {
        Ok(match form {
            Form::Ticks => Clock::Ticks,
            Form::Seconds => {
                let clocks = Clocks::new(log);
                clocks.check_seconds()?;
                Clock::Seconds(clocks)
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

    /// Writes the time of an event. Returns its ticks instead if a pen has to write them.
    #[inline(always)]
    pub(crate) fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        match self {
            Clock::Ticks => Some(event.ticks),
            _ => {
                page.write(|out| self.append_time(event, out));
                None
            }
        }
    }

    fn append_time(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match self {
            Clock::Ticks => Ok(()),
            Clock::Seconds(clocks) => match clocks.since_start(event.stream, event.ticks) {
                Some(ns) => {
                    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
                    let seconds = format!("{sign}{}", ns / 1_000_000_000);
                    write!(out, "{seconds:>6}.{:09}", ns % 1_000_000_000)
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
