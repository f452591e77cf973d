//! Parses the values of options of `replay play`.
//!
//! ```text
//!  "x2.5" ─ speed ─▶ Pace(Some(2.5))    "free" ─ skew ─▶ Skew(None)    "0.5" ─ seconds ─▶ 500 ms
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use clap::ValueEnum;
use std::time::Duration;

/// The threads that play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Threads {
    /// As many as were there at a time: a thread that began after another had ended has its place
    Recorded,
    /// As many as were recorded, all from the beginning to the end
    All,
    /// One thread plays all
    One,
}

/// The multiple of the recorded speed; none: as fast as possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace(pub(crate) Option<f64>);

/// How far threads may be apart; none: any distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Skew(pub(crate) Option<u32>);

pub(super) fn skew(text: &str) -> Result<Skew, String> {
    match (text, text.parse()) {
        ("free", _) => Ok(Skew(None)),
        (_, Ok(count @ 1..)) => Ok(Skew(Some(count))),
        _ => Err("must be a number of operations above 0, or free".to_owned()),
    }
}

pub(super) fn speed(text: &str) -> Result<Pace, String> {
    let times = text.strip_prefix(['x', '×']).and_then(|times| times.parse::<f64>().ok());
    match (text, times) {
        ("max", _) => Ok(Pace(None)),
        ("recorded", _) => Ok(Pace(Some(1.0))),
        (_, Some(times)) if times.is_finite() && times > 0.0 => Ok(Pace(Some(times))),
        _ => Err("must be max, recorded, or a multiple of the recorded speed above 0, as x2.5"
            .to_owned()),
    }
}

/// The maximum time: a longer one is a mistake.
const SECONDS_MAX: f64 = 1e6;

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=SECONDS_MAX).contains(&number) => Ok(Duration::from_secs_f64(number)),
        _ => Err("must be a number of seconds, up to a million".to_owned()),
    }
}

pub(super) fn seconds_above_0(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("must be above 0: each heap would be ended at once".to_owned()),
        time => Ok(time),
    }
}
