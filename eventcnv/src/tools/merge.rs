//! Writes several logs as one.
//!
//! ```text
//!  A, B, … ── each event once ── eventlog::writer ──▶ stream after stream, in one log
//! ```
//!
//! Design: `.cnv.merge` in `design/eventcnv.md`.

use crate::open::output::Output;
use crate::open::{Known, Reading};
use crate::tools::recover::write_all;
use cli::{Stop, complain};
use eventlog::reader::{Log, Stream};
use std::path::PathBuf;

const ABOUT: &str = "\
Writes several logs as one: volumes of a stream, pieces cut out of a log, logs of several \
processes and hosts. Each stream keeps its identity, and each event appears once. Events of one \
boot of one host come in order of their common clock; events of different clocks in order of the \
time of day, by their clock syncs. The command reports how far the clocks agree.";

const EXAMPLES: &str = "\
Examples:
  eventcnv merge mpsio.log run.log -o both.log     two programs of one host
  eventcnv merge run.log run.log -o once.log       each event once";

/// Write several logs as one: pieces, volumes, processes, hosts
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The logs
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    known: Known,
}

/// Writes logs as one. Returns whether all were read completely.
pub(crate) fn run(args: &Merge) -> Result<bool, Stop> {
    if args.logs.len() > 1 && args.logs.iter().any(|log| log.as_os_str() == "-") {
        return Err(Stop::Message("cannot merge standard input; name a file".into()));
    }
    let reading = Reading::open_paths(&args.logs, &args.known)?;
    let is_whole = write_all(&reading, &args.output, &args.logs)?;
    report_clocks(&args.output, &reading.log)?;
    Ok(is_whole)
}

/// Reports how the clocks of streams relate: one clock on standard output, different clocks on
/// standard error.
fn report_clocks(output: &Output, log: &Log) -> Result<(), Stop> {
    let streams = log.streams();
    let Some(first) = streams.first() else { return Ok(()) };
    for (index, stream) in streams.iter().enumerate().skip(1) {
        let pair = format!("{} and {}", stream_name(first, 0), stream_name(stream, index));
        if log.is_comparable(0, index as u16) {
            output.print(&format!("{pair} have one clock: their events are in order of time"))?;
            continue;
        }
        let is_one_boot = first.boot_id == stream.boot_id && first.boot_id != [0; 16];
        let agreement = match (uncertainty(first), uncertainty(stream)) {
            (Some(a), Some(b)) if is_one_boot => {
                format!("the times agree within {} us by their syncs", (a + b).div_ceil(1000))
            }
            (Some(a), Some(b)) => format!(
                "the times of day agree within {} us by their syncs, if those of the hosts agree",
                (a + b).div_ceil(1000)
            ),
            _ => "nothing relates the clocks".to_owned(),
        };
        let order = match log.is_aligned() {
            true if is_one_boot => "their events are in order of the time since boot",
            true => "their events are in order of the time of day",
            false => "one stream comes after the other",
        };
        complain(&format!("eventcnv: {pair} have different clocks: {order}; {agreement}\n"));
    }
    Ok(())
}

/// Returns the name of a stream: program, process and host, as far as known.
fn stream_name(stream: &Stream, index: usize) -> String {
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

/// Returns the uncertainty of the wall times of a stream in ns, by its syncs.
fn uncertainty(stream: &Stream) -> Option<u64> {
    let syncs = stream.syncs.iter().filter(|sync| sync.realtime != 0);
    syncs.map(|sync| u64::from(sync.uncertainty)).max()
}
