//! Writes a log as Parquet data sets.
//!
//! ```text
//!  eventcnv parquet LOG -o DIR ──▶ all processors: events ──▶ rows
//!                 rows ── export/parquet ──▶ a temporary directory ──▶ DIR
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::Shape;
use crate::ask::pairs::reading::{Found, Marked, Open, Told, Values, key_text};
use crate::ask::pairs::summary::slice_name;
use crate::export::parquet;
use crate::export::parquet::{Failure, Piece, RowBuffer, Sets};
use crate::open::parallel::Emit;
use crate::open::select::{Select, Selected, Selection};
use crate::open::{Input, Reading, parallel};
use cli::Stop;
use cli::output::{self, PendingDirectory};
use eventdef::Sort;
use eventlog::format::text::OneLine;
use eventlog::reader::marks::{Key, Marks};
use eventlog::reader::{Clock, Filter, Log, Order, Pick, Stream};
use lens::counters::{Counter, Counters, Step};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Writes the events of a log as Parquet data sets, one for each event type, for DuckDB, DataFusion, \
Spark, pandas and Polars.";

const EXAMPLES: &str = "\
The files are DIR/EVENT/host=HOST/process=PROGRAM-PID/kind=KIND/part-N.parquet, in order of time.
A log of the MPS names no process: its directories are process=FILE, or FILE-0, FILE-1 if a file has
several runs.
Columns:
  time        in ticks, unsigned
  timestamp   a time of day in µs, UTC; NULL if the log does not state it
  wall        the same as an integer: ns since 1970, UTC
  stream      index of the stream in the log
  thread, thread_name       the thread that recorded the event
  buffer, number            with stream, the key of the event
  and each parameter by its name: pointers, addresses, words and integers unsigned, doubles,
  Booleans, strings. If the log has labels, NAME_label is the label of a pointer or address at that
  time. A string that is not UTF-8 is NULL, and its bytes are in NAME_bytes.
Events of unknown type are in unknown_events. What begins and ends (see eventcnv pairs) is in
slices: the columns of the beginning, and name, key, verdict, begin and end in ticks, end_buffer and
end_number (the key of the event that ends it), duration in ns. Changes of counters are in counters:
the columns of the event, and name, registry, key, label, unit, value after it, change, relative (to
a first value that is unknown, and at least least); exact_value and exact_change for integers of 64
bits.

Examples:
  eventcnv parquet mpsio.log -o events
  eventcnv parquet run.log -o pools --kinds Pool --force
  eventcnv parquet old.log -o old.data

In DuckDB:
  SELECT kind, pool_label, sum(size)
    FROM read_parquet('events/PoolAlloc/**/*.parquet', hive_partitioning = true) GROUP BY ALL;

In Python, by Polars:
  import polars
  table = polars.scan_parquet('events/PoolAlloc/**/*.parquet', hive_partitioning=True)
  print(table.collect())";

/// Write the events of a log as Parquet data sets
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Parquet {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// The directory to write
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: PathBuf,

    /// Leave out the slices and the counters, which take another pass
    #[arg(long)]
    no_slices: bool,

    /// Replace an existing directory
    #[arg(long)]
    force: bool,
}

/// Writes the data sets. Returns whether the log was read completely.
pub(crate) fn run(args: &Parquet) -> Result<bool, Stop> {
    output::refuse_inputs(&args.output, args.input.logs())?;
    let reading = Reading::open(&args.input)?;
    let with_labels = has_labels(&reading.log);
    let marks = Marks::of(reading.log.registries());
    let has_marks = !args.no_slices && !marks.pairs.is_empty();
    reading.expect_passes(1 + u64::from(has_marks));
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
    let sets = Sets::new(&reading.log, with_labels, file_of).map_err(refused)?;
    let work = |events: &mut Selected<'_>, emit: Emit<'_, Piece>| {
        let mut rows = RowBuffer::new(&reading.log, &sets);
        events.each_while(|event| {
            rows.push(event);
            !rows.is_full() || emit(rows.take())
        });
        emit(rows.take());
    };
    let progress = reading.progress();
    let written = parquet::write(&sets, create, |take| {
        // After a failure to write, which is the error to report, no more rows are taken.
        let mut take = |piece| if take(piece) { Ok(()) } else { Err(Stop::Closed) };
        let faults = parallel::run(&reading.log, &selection, Order::Time, work, &mut take)?;
        has_marks.then(|| progress.begin_pass());
        let marked = has_marks.then(|| write_marked(&reading.log, &sets, &selection, take));
        let (found, counts) = marked.transpose()?.unwrap_or_default();
        Ok::<_, Stop>((faults, found, counts))
    });
    let written = written.map_err(refused)?;
    let (faults, found, counts) = written.result?;
    reading.step("writing to the disk");
    pending.finish()?;
    let is_whole = reading.end(&faults);
    reading.note(sets.note());
    reading.note(found.notes);
    reading.note_losses(&reading.log.losses(&faults));
    let of_marks = counts.iter().sum();
    let (count, file_count) = (written.row_count.saturating_sub(of_marks), written.file_count);
    let path = OneLine(args.output.as_os_str().as_encoded_bytes());
    let others: String = counts
        .iter()
        .zip(["slices", "changes of counters"])
        .filter(|(count, _)| **count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    writeln!(io::stdout(), "{path}: {count} events{others} in {file_count} files")?;
    Ok(is_whole)
}

/// Passes the rows of the slices that begin in a selection to `take`, and of the changes of
/// counters in it. Returns what the reading found, and their numbers.
fn write_marked(
    log: &Log,
    sets: &Sets,
    selection: &Selection,
    mut take: impl FnMut(Piece) -> Result<(), Stop>,
) -> Result<(Found, [u64; 2]), Stop> {
    let (clock, marks) = (Clock::new(log), Marks::of(log.registries()));
    let marked = Marked { log, clock: &clock, marks: &marks };
    let has_marks = marked.has_beginnings(selection);
    if !has_marks && !marked.has_changes(selection) {
        return Ok((Found::default(), [0; 2]));
    }
    let (sorts, rows) = (marked.key_sorts(), RefCell::new(RowBuffer::new(log, sets)));
    let take = RefCell::new(&mut take);
    let flush = || {
        let mut rows = rows.borrow_mut();
        if rows.is_full() { take.borrow_mut()(rows.take()) } else { Ok(()) }
    };
    let shapes = Shape::of(log.registries(), &marks);
    let key_of = |key: &Key, sorts: &[Sort]| (!sorts.is_empty()).then(|| key_text(key, sorts));
    let [mut slice_count, mut change_count] = [0; 2];
    let mut add = |told: Told<'_>, values: &Values| {
        let (Told::Slice(slice) | Told::GaveWay(slice)) = told else { return Ok(()) };
        let sorts = sorts.get(slice.begin.pair as usize).map_or(&[][..], Vec::as_slice);
        let key = key_of(&slice.begin.key, sorts);
        let is_apart = shapes.get(slice.begin.pair as usize).is_some_and(Shape::is_apart);
        let name = values.text(values.name_of(slice.begin));
        let name = slice_name(marks.name(slice.begin.pair), name, is_apart);
        rows.borrow_mut().push_slice(&slice, &name, key.as_deref());
        slice_count += 1;
        flush()
    };
    let (mut open, mut counters) = (Open::new(&marked), marked.counters());
    let change = |counters: &Counters, counter: &Counter, step: &Step| {
        let key = key_of(&counter.key, counters.sorts(counter));
        let counted = (counter, counters.least(counter));
        let names = [counters.name(counter), counters.registry(counter)];
        rows.borrow_mut().push_change(counted, step, names, key.as_deref());
        change_count += 1;
        flush()
    };
    let found = marked.advance_counting(selection, &mut open, &mut add, &mut counters, change)?;
    let mut result = Ok(());
    open.each(|slice, values| {
        if result.is_ok() {
            result = add(Told::Slice(slice), values);
        }
    });
    result?;
    let last = rows.borrow_mut().take();
    take.borrow_mut()(last)?;
    Ok((found, [slice_count, change_count]))
}

fn has_labels(log: &Log) -> bool {
    let picks = ["Label", "LabelPointer"].map(|name| Pick::Name(name.into()));
    let filter = Filter::new().events(picks);
    log.events(Order::File, &filter).next().is_some()
}
