//! A log as data sets of Parquet.
//!
//! ```text
//!  eventcnv parquet LOG -o DIR ──▶ all processors: events ──▶ rows
//!                 rows ── export/parquet ──▶ a temporary directory ──▶ DIR
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::{self, Failure, Piece, Sets, Sheet};
use crate::reading::parallel::{self, Emit};
use crate::reading::{Input, Reading};
use crate::select::{Select, Selected};
use cli::Stop;
use cli::output::PendingDirectory;
use eventlog::format::text::OneLine;
use eventlog::reader::{Filter, Log, Order, Pick, Stream};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Writes the events of a log as data sets of Parquet, one for each event type, for DuckDB, \
DataFusion, Spark, pandas and Polars.";

pub(crate) const EXAMPLES: &str = "\
The files are DIR/EVENT/host=HOST/process=PROGRAM-PID/kind=KIND/part-N.parquet, in order of time.
A log of the MPS names no process: there it is process=FILE, or FILE-0, FILE-1 if a file has several
runs.
Columns:
  time        in ticks, unsigned
  timestamp   a time of day in µs, UTC; NULL where the log does not tell
  wall        the same as an integer: ns since 1970, UTC
  stream      which stream of the log it is of, from 0
  thread, thread_name       which thread recorded it
  buffer, number            with stream, they are of one event alone
  and each parameter by its name: pointers, addresses, words and integers unsigned, doubles,
  Booleans, strings. Where the log has labels, NAME_label is what a pointer or address was called
  at that time. A string that is not UTF-8 is NULL, and its bytes are in NAME_bytes.
Events that no registry of the log has are in unknown_events.

Examples:
  eventcnv parquet mpsio.log -o events
  eventcnv parquet run.log -o pools --kinds Pool --force
  eventcnv parquet old.log -o old.data

In DuckDB:
  SELECT kind, pool_label, sum(size)
    FROM read_parquet('events/PoolAlloc/**/*.parquet', hive_partitioning = true) GROUP BY ALL;

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was written
  2  the log could not be read, or the directory not be written";

/// Which log, and where its data sets are put.
#[derive(Debug, clap::Args)]
pub(crate) struct Parquet {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// The directory to write
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: PathBuf,

    /// Replace a directory that is there
    #[arg(long)]
    force: bool,
}

/// Writes the data sets. Whether the log was read whole.
pub(crate) fn run(args: &Parquet) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    let with_labels = has_labels(&reading.log);
    let selection = reading.select(&args.select, with_labels)?;
    let pending = PendingDirectory::new(&args.output, args.force)?;
    let create = |path: &Path| {
        let path = pending.path().join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create_new(path)
    };
    let path = args.output.display();
    let refused = |failure: Failure| Stop::Message(format!("{path}: {failure}"));
    let file_of = |stream: &Stream| reading.file_of(stream);
    let sets = Sets::of(&reading.log, with_labels, file_of).map_err(refused)?;
    let work = |events: &mut Selected<'_>, emit: Emit<'_, Piece>| {
        let mut sheet = Sheet::new(&reading.log, &sets);
        events.each_while(|event| {
            sheet.push(event);
            !sheet.is_full() || emit(sheet.take())
        });
        emit(sheet.take());
    };
    let written = parquet::write(&sets, create, |take| {
        // Nothing more is taken once writing has failed, and that is what is told.
        let take = |piece| if take(piece) { Ok(()) } else { Err(Stop::Closed) };
        parallel::run(&reading.log, &selection, Order::Time, work, take)
    });
    let written = written.map_err(refused)?;
    let faults = written.result?;
    pending.finish()?;
    let is_whole = reading.end(&faults);
    reading.note(sets.note());
    reading.note_losses(&reading.log.losses(&faults));
    let (count, file_count) = (written.event_count, written.file_count);
    let path = OneLine(args.output.as_os_str().as_encoded_bytes());
    writeln!(io::stdout(), "{path}: {count} events in {file_count} files")?;
    Ok(is_whole)
}

/// Whether anything in the log is called anything.
fn has_labels(log: &Log) -> bool {
    let picks = ["Label", "LabelPointer"].map(|name| Pick::Name(name.into()));
    let filter = Filter::new().events(picks);
    log.events(Order::File, &filter).next().is_some()
}
