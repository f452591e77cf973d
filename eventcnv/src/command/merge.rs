//! Several logs as one.
//!
//! ```text
//!  A, B, … ── each event once ── eventlog::writer ──▶ stream after stream, in one log
//! ```
//!
//! Design: `.cnv.merge` in `design/eventcnv.md`.

use super::recover::write_all;
use crate::output::log::Output;
use crate::reading::Reading;
use crate::stop::{Stop, complain};
use eventlog::reader::{Format, Log, Stream};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Writes several logs as one: volumes of a stream, pieces that were cut out of one, logs of other \
processes and other hosts. Each stream keeps its identity, and each event is there once. Events \
of one boot of one host are read in order of time, by the clock that they share; those of \
different clocks by the time of day, as their syncs say it. How far these agree is told.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  eventcnv merge mpsio.log run.log -o both.log     two programs of one host
  eventcnv merge run.log run.log -o once.log       each event once

Exit status:
  0  the logs were read whole
  1  faults were found; what could be had was written
  2  a log could not be read, or the new one not be written";

/// Which logs are merged, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Merge {
    /// The logs
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    #[command(flatten)]
    output: Output,

    /// The eventdef.h of the MPS that wrote the logs, if it is not of telemetry version 2.0.0
    #[arg(long, value_name = "FILE")]
    eventdef: Option<PathBuf>,
}

/// Writes logs as one. Whether all were read whole.
pub(crate) fn run(args: &Merge) -> Result<bool, Stop> {
    let eventdef = args.eventdef.as_deref();
    let reading = match args.logs.as_slice() {
        [one] => Reading::of(std::slice::from_ref(one), eventdef)?,
        several => {
            check_formats(several, eventdef)?;
            Reading::of(several, eventdef)?
        }
    };
    let is_whole = write_all(&reading, &args.output, &args.logs)?;
    tell_clocks(&args.output, &reading.log)?;
    Ok(is_whole)
}

/// Raw MPS logs and ours cannot be read as one.
fn check_formats(logs: &[PathBuf], eventdef: Option<&std::path::Path>) -> Result<(), Stop> {
    let mut first = None;
    for log in logs {
        if log.as_os_str() == "-" {
            return Err(Stop::Message("standard input cannot be merged: name a file".into()));
        }
        let reading = Reading::of(std::slice::from_ref(log), eventdef)?;
        let format = reading.log.format();
        if *first.get_or_insert(format) != format {
            let (name, what) = match format {
                Format::Mps => (log, "is a raw log of the MPS, and the others are not"),
                Format::Stream => (&logs[0], "is a raw log of the MPS, and others are not"),
            };
            return Err(Stop::Message(format!(
                "{0}: {what}: make a log of ours of it first, with eventcnv cut {0} -o NEW",
                name.display()
            )));
        }
    }
    Ok(())
}

/// Tells how the clocks of the streams of a log are to each other: that they are one on standard
/// output, that they are not on standard error.
fn tell_clocks(output: &Output, log: &Log) -> Result<(), Stop> {
    let streams = log.streams();
    let Some(first) = streams.first() else { return Ok(()) };
    for (index, stream) in streams.iter().enumerate().skip(1) {
        let who = |stream: &Stream| format!("{} {} on {}", stream.program, stream.pid, stream.host);
        let pair = format!("{} and {}", who(first), who(stream));
        if log.is_comparable(0, index as u16) {
            output.tell(&format!("{pair} have one clock: their events are in order of time"))?;
            continue;
        }
        let agreement = match (uncertainty(first), uncertainty(stream)) {
            (Some(a), Some(b)) => format!(
                "their times of day agree within {} us by their syncs, as far as the clocks of \
                 their hosts do",
                (a + b).div_ceil(1000)
            ),
            _ => "nothing tells how they are to each other".to_owned(),
        };
        let order = match log.is_aligned() {
            true => "their events are in order of the time of day",
            false => "one comes after the other",
        };
        complain(&format!("eventcnv: {pair} have clocks of their own: {order}; {agreement}\n"));
    }
    Ok(())
}

/// How far off the wall times of a stream may be, in ns, by what its syncs say.
fn uncertainty(stream: &Stream) -> Option<u64> {
    let syncs = stream.syncs.iter().filter(|sync| sync.realtime != 0);
    syncs.map(|sync| u64::from(sync.uncertainty)).max()
}
