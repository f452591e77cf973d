//! Several logs as one.
//!
//! ```text
//!  A, B, … ── each event once ── eventlog::writer ──▶ stream after stream, in one log
//! ```
//!
//! Design: `.cnv.merge` in `design/eventcnv.md`.

use super::output::Output;
use super::recover::write_all;
use crate::reading::{Known, Reading};
use cli::{Stop, complain};
use eventlog::reader::{Log, Stream};
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

    #[command(flatten)]
    known: Known,
}

/// Writes logs as one. Whether all were read whole.
pub(crate) fn run(args: &Merge) -> Result<bool, Stop> {
    if args.logs.len() > 1 && args.logs.iter().any(|log| log.as_os_str() == "-") {
        return Err(Stop::Message("standard input cannot be merged: name a file".into()));
    }
    let reading = Reading::of(&args.logs, &args.known)?;
    let is_whole = write_all(&reading, &args.output, &args.logs)?;
    tell_clocks(&args.output, &reading.log)?;
    Ok(is_whole)
}

/// Tells how the clocks of the streams of a log are to each other: that they are one on standard
/// output, that they are not on standard error.
fn tell_clocks(output: &Output, log: &Log) -> Result<(), Stop> {
    let streams = log.streams();
    let Some(first) = streams.first() else { return Ok(()) };
    for (index, stream) in streams.iter().enumerate().skip(1) {
        let pair = format!("{} and {}", who(first, 0), who(stream, index));
        if log.is_comparable(0, index as u16) {
            output.tell(&format!("{pair} have one clock: their events are in order of time"))?;
            continue;
        }
        let is_one_boot = first.boot_id == stream.boot_id && first.boot_id != [0; 16];
        let agreement = match (uncertainty(first), uncertainty(stream)) {
            (Some(a), Some(b)) if is_one_boot => {
                format!("these agree within {} us by their syncs", (a + b).div_ceil(1000))
            }
            (Some(a), Some(b)) => format!(
                "their times of day agree within {} us by their syncs, as far as the clocks of \
                 their hosts do",
                (a + b).div_ceil(1000)
            ),
            _ => "nothing tells how they are to each other".to_owned(),
        };
        let order = match log.is_aligned() {
            true if is_one_boot => "their events are in order of the times since they booted",
            true => "their events are in order of the time of day",
            false => "one comes after the other",
        };
        complain(&format!("eventcnv: {pair} have clocks of their own: {order}; {agreement}\n"));
    }
    Ok(())
}

/// What a stream is called: program, process and host, as far as they are known.
fn who(stream: &Stream, index: usize) -> String {
    let mut name = match &*stream.program {
        "" => format!("stream {index} ({})", stream.producer),
        program => program.to_owned(),
    };
    if stream.pid > 0 {
        name += &format!(" {}", stream.pid);
    }
    if !stream.host.is_empty() {
        name += &format!(" on {}", stream.host);
    }
    name
}

/// How far off the wall times of a stream may be, in ns, by what its syncs say.
fn uncertainty(stream: &Stream) -> Option<u64> {
    let syncs = stream.syncs.iter().filter(|sync| sync.realtime != 0);
    syncs.map(|sync| u64::from(sync.uncertainty)).max()
}
