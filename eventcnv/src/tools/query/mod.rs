//! Runs an SQL query on a log.
//!
//! ```text
//!  SELECT … ── prepare ──▶ the tables read ──▶ their events ──▶ a private database ──▶ rows
//! ```
//!
//! The database is in memory if it fits, else in a file without a name. Design: `.cnv.query`
//! in `design/eventcnv.md`.

#[cfg(feature = "sql")]
pub(crate) mod view;

use crate::export::sql::{Import, Lenses, Refusal, Wanted, begin_new, functions};
use crate::open::select::{BufferCounts, Select};
use crate::open::{Known, Reading, select};
use crate::tools::query::view::{Answer, Form};
use cli::Stop;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Error};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory for pages of the database, and as much for what SQLite sorts, in KiB.
const CACHE_KIB: i32 = 16 << 10;
/// Similar names in an error, at most.
const NEAR_COUNT_MAX: usize = 5;
/// The pragmas that only read.
const PRAGMAS: [&str; 12] = [
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "module_list",
    "pragma_list",
    "table_info",
    "table_xinfo",
];

const ABOUT: &str = "\
Runs an SQL query on a log. The tables and views are those of `eventcnv sql`, but no database is \
left behind.

The command reads only the events of the tables in the query.";

const EXAMPLES: &str = "\
A table for each event type has a row for each event: event, log, thread, time, wall, and each
parameter by its name. The view EVENT_NAME adds NAME_label, the label at that time. For the other
tables see eventcnv sql --help.

In addition to SQLite's functions, a query has those of mathematics (ceil, floor, trunc, sqrt, exp,
ln, log, log2, log10, pow, mod), median(x), percentile(x, 99), quantile(x, 0.99), which is
one of the values, and x REGEXP 'pattern' (with the syntax of the Rust crate regex).
A query can only read. In CSV, a text that a spreadsheet would take for a formula has an apostrophe
before it.

Examples:
  eventcnv query mpsio.log \"SELECT count(*), sum(size) FROM PoolAlloc\"
  eventcnv query mpsio.log \"SELECT pool_label, sum(size) FROM EVENT_PoolAlloc GROUP BY 1\"
  eventcnv query mpsio.log \"SELECT median(size), quantile(size, 0.99) FROM PoolAlloc\"
  eventcnv query mpsio.log \"SELECT name, event_table, doc FROM types\"
  eventcnv query mpsio.log \"SELECT name, quantile(duration, 0.99) FROM slices GROUP BY 1\"
  eventcnv query mpsio.log \"SELECT name, key, label, max(value) FROM counters GROUP BY 1, 2\"
  eventcnv query run.log \"SELECT * FROM calls_by_caller_callee\"
  eventcnv query run.log \"SELECT * FROM unused_procs\"
  eventcnv query run.log \"SELECT string, since, until FROM labels\" --csv
  eventcnv query run.log --events PoolInit --first 3 --json \"SELECT * FROM PoolInit\"";

/// Run an SQL query on a log, without a database
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
#[command(override_usage = "eventcnv query [OPTIONS] [LOG]... <SQL>")]
pub(crate) struct Query {
    /// The log, as for a dump, then the query in the SQL of SQLite. The default log is
    /// $MPS_TELEMETRY_FILENAME, else mpsio.log
    #[arg(value_name = "SQL", num_args = 1.., required = true)]
    words: Vec<OsString>,

    #[command(flatten)]
    known: Known,

    #[command(flatten)]
    select: Select,

    /// Print the answer as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Print the answer as JSON lines
    #[arg(long)]
    json: bool,
}

/// Runs the query. Returns whether the log was read completely.
pub(crate) fn run(args: &Query) -> Result<bool, Stop> {
    let Some((sql, logs)) = args.words.split_last() else {
        return Err(Stop::Message("query: the query is missing".to_owned()));
    };
    let Some(sql) = sql.to_str() else {
        return Err(Stop::Message("query: the query is not UTF-8".to_owned()));
    };
    // The user may have left out the query, or used an empty variable.
    let what = match sql.trim() {
        "" => Some("query: the query is empty".to_owned()),
        name if logs.is_empty() && Path::new(name).exists() => {
            Some(format!("query: {name} is a file; add the query after it"))
        }
        _ => None,
    };
    if let Some(what) = what {
        return Err(Stop::Message(format!("{what}; usage: eventcnv query LOG \"SELECT …\"")));
    }
    let logs: Vec<PathBuf> = logs.iter().map(PathBuf::from).collect();
    let reading = Reading::open_paths(&logs, &args.known)?;
    let selection = reading.select(&args.select, false)?;
    let refused = |refusal: Refusal| Stop::Message(format!("query: {refusal}"));
    let broken = |error: Error| refused(error.into());
    // Without a name, SQLite makes a file when memory is full, and removes it with the connection.
    let mut connection = Connection::open("").map_err(broken)?;
    functions::add(&connection).map_err(broken)?;
    begin_new(&connection).map_err(refused)?;
    let import = Import::begin(&connection, &reading.log, &reading.name, CACHE_KIB);
    let mut import = import.map_err(refused)?;
    let read = tables_read(&mut connection, sql)?;
    // The table of buffers comes from the events.
    let is_read = |table: &str| read.contains(table) || read.contains("buffers");
    let has_any = import.choose(is_read);
    let added = has_any.then(|| import.add(&connection, &selection, false));
    let (great, event_faults) = match added.transpose().map_err(refused)? {
        Some((counts, faults)) => (counts.note(), Some(faults)),
        None => (None, None),
    };
    let mut lenses = Lenses::default();
    let [slices, counters] = ["slices", "counters"].map(|table| read.contains(table));
    let wanted = Wanted { slices, counters };
    let has_marked = slices || counters;
    let slices =
        has_marked.then(|| import.add_slices(&connection, &selection, &mut lenses, wanted));
    let slices = slices.transpose().map_err(refused)?;
    let has_calls = ["calls", "functions"].iter().any(|table| read.contains(*table));
    let calls = has_calls.then(|| import.add_calls(&connection, &selection, &mut lenses));
    let call_faults = calls.transpose().map_err(refused)?;
    let (note, none) = (import.note(), BufferCounts::new());
    if read.contains("losses") {
        // Reading the tables of the query may have met only some of the damage.
        let faults = reading.log.verify(None).faults;
        import.add_losses(&connection, &faults, &none).map_err(refused)?;
    }
    import.finish(&connection, &none).map_err(refused)?;
    let namesakes = namesakes(&connection, &read).map_err(broken)?;
    reading.finish();
    reading.note(note.into_iter().chain(great).chain(namesakes));
    reading.note(slices.iter().flat_map(|found| found.notes.clone()));
    let form = match (args.csv, args.json) {
        (true, _) => Form::Csv,
        (_, true) => Form::Json,
        _ => Form::Columns,
    };
    answer(&mut connection, sql, form)?;
    Ok(match event_faults.or(slices.map(|found| found.faults)).or(call_faults) {
        Some(faults) => reading.end(&faults),
        None => reading.end_unread(),
    })
}

/// Returns notes on the tables of a query whose event types have namesakes in tables that the query
/// does not read.
fn namesakes(connection: &Connection, read: &HashSet<String>) -> Result<Vec<String>, Error> {
    let sql = "SELECT a.name, b.name FROM event_tables AS a JOIN event_tables AS b
        ON a.type = b.type AND a.name <> b.name";
    let mut find = connection.prepare(sql)?;
    let pairs = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in pairs {
        let (name, other): (String, String) = pair?;
        if read.contains(&name) && !read.contains(&other) {
            found.entry(name).or_default().push(other);
        }
    }
    let note = |(name, others): (String, Vec<String>)| {
        format!(
            "{name} lacks the events of that name of other registries, or with other parameters: \
             they are in {}",
            others.join(", ")
        )
    };
    Ok(found.into_iter().map(note).collect())
}

/// The actions of a query, which SQLite reports while it prepares the query.
#[derive(Default)]
struct Actions {
    /// The tables that the query reads, directly or by a view.
    tables: HashSet<String>,
    /// Whether the query would do anything but read.
    has_others: bool,
}

/// Permits only queries that read. Some statements take effect while SQLite prepares them, and
/// ATTACH makes files.
fn guard(connection: &mut Connection) -> Result<Arc<Mutex<Actions>>, Error> {
    let actions = Arc::new(Mutex::new(Actions::default()));
    let noted = actions.clone();
    let judge = move |context: AuthContext<'_>| {
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        match context.action {
            AuthAction::Read { table_name, .. } => {
                noted.tables.insert(table_name.to_owned());
            }
            AuthAction::Select | AuthAction::Recursive | AuthAction::Function { .. } => {}
            AuthAction::Pragma { pragma_name, .. }
                if PRAGMAS.iter().any(|known| pragma_name.eq_ignore_ascii_case(known)) => {}
            _ => {
                noted.has_others = true;
                return Authorization::Deny;
            }
        }
        Authorization::Allow
    };
    connection.authorizer(Some(judge))?;
    Ok(actions)
}

/// Returns the tables that a query reads, directly or by a view; or what is wrong with the query.
fn tables_read(connection: &mut Connection, sql: &str) -> Result<HashSet<String>, Stop> {
    let broken = |error| Stop::Message(format!("query: {error}"));
    let actions = guard(connection).map_err(broken)?;
    let is_reading = connection.prepare(sql).map(|query| query.readonly());
    let nothing = None::<fn(AuthContext<'_>) -> Authorization>;
    connection.authorizer(nothing).map_err(broken)?;
    let mut actions = actions.lock().unwrap_or_else(PoisonError::into_inner);
    match is_reading {
        Ok(true) if !actions.has_others => Ok(std::mem::take(&mut actions.tables)),
        Err(error) if !actions.has_others => Err(Stop::Message(explain(connection, sql, &error))),
        _ => Err(Stop::Message(
            "query: only read-only queries are allowed; eventcnv sql makes a database".to_owned(),
        )),
    }
}

/// Runs the query and prints its rows.
fn answer(connection: &mut Connection, sql: &str, form: Form) -> Result<(), Stop> {
    if let Err(error) = guard(connection) {
        return Err(Stop::Message(format!("query: {error}")));
    }
    let broken = |error: Error| Stop::Message(explain(connection, sql, &error));
    let mut query = connection.prepare(sql).map_err(broken)?;
    let names: Vec<String> = query.column_names().map(str::to_owned).collect();
    let count = names.len();
    let out = &mut BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut answer = Answer::new(form, names, out)?;
    let mut rows = query.query([]).map_err(broken)?;
    while let Some(row) = rows.next().map_err(broken)? {
        answer.row((0..count).filter_map(|index| row.get_ref(index).ok()))?;
    }
    Ok(answer.finish()?)
}

/// Returns what is wrong with a query, where, and similar names.
fn explain(connection: &Connection, sql: &str, error: &Error) -> String {
    let (what, offset) = match error {
        Error::SqlInputError { msg, offset, .. } => (msg.clone(), usize::try_from(*offset).ok()),
        Error::MultipleStatement => ("one query at a time".to_owned(), None),
        Error::SqliteFailure(_, Some(message)) => (message.clone(), None),
        error => (error.to_string(), None),
    };
    let mut text = format!("query: {what}");
    if let Some((before, rest)) = offset.and_then(|offset| sql.split_at_checked(offset)) {
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let before = &before[begin..];
        let line = format!("{before}{}", rest.lines().next().unwrap_or_default());
        text += &format!("\n  {line}\n  {}^", " ".repeat(before.chars().count()));
    }
    let near = |name: &str, known: &[String]| {
        let mut near = select::near(name, known.iter().map(|name| &**name));
        near.truncate(NEAR_COUNT_MAX);
        near.join(" or ")
    };
    let tables = names(connection, TABLE_NAMES).unwrap_or_default();
    let near = match what.split_once(": ") {
        Some(("no such table", name)) => near(name, &tables),
        Some(("no such column", name)) => {
            let columns = columns(connection, sql, &tables);
            let near = near(name.rsplit('.').next().unwrap_or_default(), &columns);
            if near.is_empty() && !columns.is_empty() {
                text += &format!("\n  columns: {}", columns.join(", "));
            }
            near
        }
        _ => return text,
    };
    if !near.is_empty() {
        text += &format!("\n  did you mean {near}?");
    }
    text + "\n  tables: eventcnv sql --help, and \"SELECT name FROM sqlite_schema\""
}

/// Returns the columns of the tables that a query names.
fn columns(connection: &Connection, sql: &str, tables: &[String]) -> Vec<String> {
    let words: HashSet<&str> = sql.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_named = |table: &&String| words.iter().any(|word| word.eq_ignore_ascii_case(table));
    let mut columns = Vec::new();
    for table in tables.iter().filter(is_named) {
        let sql = format!("SELECT name FROM pragma_table_info('{}')", table.replace('\'', "''"));
        let found = names(connection, &sql).unwrap_or_default();
        columns
            .extend(found.into_iter().filter(|name| !columns.contains(name)).collect::<Vec<_>>());
    }
    columns
}

const TABLE_NAMES: &str = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
fn names(connection: &Connection, sql: &str) -> Result<Vec<String>, Error> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}
