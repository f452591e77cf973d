//! Adds a log to an SQLite database.
//!
//! ```text
//!  eventcnv sql LOG -o DB ──▶ events ── export/sql ──▶ a new file with a temporary name ──▶ DB
//!                                             └──▶ one transaction of an existing DB
//! ```
//!
//! Design: `.cnv.sql` in `design/eventcnv.md`.

use crate::export::sql::{Counts, Import, Lenses, Refusal, Wanted, begin_new};
use crate::open::select::{BufferCounts, Select};
use crate::open::{Input, Reading};
use cli::Stop;
use cli::output::{self, Pending};
use eventlog::format::text::OneLine;
use eventlog::reader::marks::Marks;
use rusqlite::Connection;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The environment variable that names the database, as for MPS's own tool.
const DATABASE_VARIABLE: &str = "MPS_TELEMETRY_DATABASE";
const DATABASE_DEFAULT: &str = "mpsevent.db";
/// Memory for pages of the database, in KiB.
const CACHE_KIB: i32 = 64 << 10;

const ABOUT: &str = "\
Adds the events of a log to an SQLite database, a table for each event type.

Adding the same log again adds only its new events. A database may have many logs.";

const EXAMPLES: &str = "\
Tables:
  PoolInit        and so on: a row for each event. Columns: event (its key), log, thread, time (in
                  ticks), wall (ns since 1970 UTC, if the log states it), each parameter by its
                  name
  EVENT_PoolInit  and so on: views of these, with the column number (of the event in its buffer),
                  and NAME_label for each pointer and address: its label at that time
  logs, registries, kinds, types, parameters, threads
  buffers         the parts of keys: a key is (buffers.id << 40) + number
  labels          labels of addresses, with the times of their beginning and end
  losses          requested events that are not in the log, by kind: cause (full, nested, large,
                  io, lost; overwritten, which is not a loss), count
  slices          what begins and ends (eventcnv pairs): name, key, thread, begin and end (in
                  ticks), duration (in ns), begin_event and end_event (their keys), log, verdict
                  (whole, crossing, doubtful, again, unfinished); the last three have no duration
  counters        changes of counters, by the marks of the registries: event (its key), place (of
                  several changes by one event), log, thread, time (in ticks), name, key, label,
                  unit (bytes, ns, count), value (after it), change, least (NULL: values are
                  absolute; else they are relative to a first value of at least that much),
                  registry (its name)
  calls           calls of functions (eventcnv calls): event (the key of its beginning), log,
                  thread, context, task, function, caller, depth, begin and end (in ticks),
                  duration and own (in ns), verdict, unwound, end_event, begin_wall, end_wall,
                  trace_id
  functions       function, name, proc_id (a hash of the name), file, line, defined
  proc_ids, call_pts, calls_by_caller_callee, calls_by_callee, unused_procs
                  views of calls and functions, as the original TURTLES has them: times in µs
                  since 1970
  unknown_events  events of unknown type
If the name of an event type is taken, its table is REGISTRY_NAME; types.event_table has the name.
Integers from 2^63 on are negative, as SQLite has only signed ones: printf('%X', pool) prints them.
To print a wall time: strftime('%F %T', wall / 1e9, 'unixepoch').

Examples:
  eventcnv sql mpsio.log                    into mpsevent.db
  eventcnv sql mpsio.log -o run.db          into run.db
  eventcnv sql run.log -o run.db            add another log to the same database
  eventcnv sql mpsio.log -o pools.db --kinds Pool --force   a new database of one kind

Pool name and creation time, as in the manual of the MPS:
  SELECT I.string, P.time FROM EVENT_PoolInit AS P, EVENT_Label AS L, EVENT_Intern AS I
    WHERE I.stringId = L.stringId AND L.address = P.pool;
The same, with the label of the pool at its creation, or the label of its class:
  SELECT ifnull(pool_label, poolClass_label), time FROM EVENT_PoolInit;

Environment:
  MPS_TELEMETRY_DATABASE  the database if none is named (default: mpsevent.db)";

/// Add the events of a log to an SQLite database
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Sql {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// The database [default: $MPS_TELEMETRY_DATABASE, else mpsevent.db]
    #[arg(short = 'o', long = "output", value_name = "DB")]
    output: Option<PathBuf>,

    /// Leave out the slices and the counters, which take another pass
    #[arg(long)]
    no_slices: bool,

    /// Also add what its ancestors recorded before they forked the process of the first log. Their
    /// logs are found in its folder. Calls are joined, slices are not
    #[arg(long)]
    family: bool,

    /// Replace an existing database
    #[arg(long)]
    force: bool,
}

/// Adds the log. Returns whether it was read completely.
pub(crate) fn run(args: &Sql) -> Result<bool, Stop> {
    let path = match (&args.output, std::env::var_os(DATABASE_VARIABLE)) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) if !path.is_empty() => path.into(),
        _ => PathBuf::from(DATABASE_DEFAULT),
    };
    output::refuse_inputs(&path, args.input.logs())?;
    let reading = match args.family {
        true => Reading::open_family(&args.input)?,
        false => Reading::open(&args.input)?,
    };
    if path.exists() && !args.force {
        return add(args, &reading, &path, || Connection::open(&path).map_err(Refusal::from));
    }
    let pending = Pending::new(&path, args.force)?;
    let is_whole = add(args, &reading, &path, || {
        let connection = Connection::open(pending.temporary_path())?;
        begin_new(&connection)?;
        Ok(connection)
    })?;
    pending.finish()?;
    Ok(is_whole)
}

/// Adds the selected events of the log.
fn add(
    args: &Sql,
    reading: &Reading,
    path: &Path,
    open: impl FnOnce() -> Result<Connection, Refusal>,
) -> Result<bool, Stop> {
    let refused = |refusal: Refusal| Stop::Message(format!("{}: {refusal}", path.display()));
    let has_labels = !args.select.is_given() && !args.family;
    let has_slices = !args.no_slices && !Marks::of(reading.log.registries()).pairs.is_empty();
    let has_calls = lens::calls::has_calls(&reading.log);
    reading.expect_passes(1 + u64::from(has_slices) + u64::from(has_calls));
    let mut selection = reading.select(&args.select, has_labels)?;
    if args.family {
        reading.restrict_to_family(&mut selection);
    }
    let connection = open().map_err(refused)?;
    let mut import =
        Import::begin(&connection, &reading.log, &reading.name, CACHE_KIB).map_err(refused)?;
    let (counts, faults) = import.add(&connection, &selection, has_labels).map_err(refused)?;
    let mut lenses = Lenses::default();
    has_slices.then(|| reading.begin_pass());
    let slices = (!args.no_slices)
        .then(|| import.add_slices(&connection, &selection, &mut lenses, Wanted::ALL));
    let slices = slices.transpose().map_err(refused)?.unwrap_or_default();
    has_calls.then(|| reading.begin_pass());
    import.add_calls(&connection, &selection, &mut lenses).map_err(refused)?;
    reading.step("adding labels and losses");
    let note = import.note();
    let none = BufferCounts::new();
    let losses = import.add_losses(&connection, &faults, &none).map_err(refused)?;
    import.finish(&connection, &none).map_err(refused)?;
    reading.step("writing the database");
    connection.close().map_err(|(_, error)| refused(error.into()))?;
    let is_whole = reading.end(&faults);
    reading.note(note.into_iter().chain(counts.note()));
    reading.note(slices.notes);
    reading.note_losses(&losses);
    let Counts { read, added, .. } = counts;
    let path = OneLine(path.as_os_str().as_encoded_bytes());
    writeln!(io::stdout(), "{path}: {added} events added, {} existed already", read - added)?;
    Ok(is_whole)
}
