//! The tables: those of every database, and one with a view for each event type.
//!
//! ```text
//!  PoolInit        event │ log │ thread │ time │ wall │ pool │ arena │ …
//!  EVENT_PoolInit  the same, the number, and the labels of that time: pool_label, arena_label
//! ```
//!
//! An event type of a registry has one table for all logs in which its parameters are the same.
//! Design: `.cnv.sql` in `design/eventcnv.md`.

use crate::export::sql::keys::NUMBER_BITS;
use crate::export::sql::refusal::Refusal;
use crate::export::sql::{labels, logs};
use crate::text::names::{PARAM_COUNT_MAX, Taken, clipped, note_of_cut, quoted};
use eventdef::Sort;
use eventlog::reader::{EventType, Log, Registry};
use roaring::RoaringTreemap;
use rusqlite::{Connection, params};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The tables of every database.
pub(crate) const FIXED: &str = "
CREATE TABLE logs(
  log INTEGER PRIMARY KEY, stream TEXT, beginning_size INTEGER, beginning INTEGER, file TEXT,
  format TEXT, version TEXT, host TEXT, program TEXT, pid INTEGER, parent_pid INTEGER,
  start INTEGER, parent TEXT, boot TEXT, producer TEXT, word_size INTEGER, big_endian INTEGER,
  clock_rate INTEGER, closed INTEGER);
CREATE TABLE registries(
  log INTEGER, registry INTEGER, name TEXT, major INTEGER, median INTEGER, minor INTEGER, doc TEXT,
  PRIMARY KEY(log, registry)) WITHOUT ROWID;
CREATE TABLE kinds(
  log INTEGER, registry INTEGER, kind INTEGER, name TEXT, doc TEXT,
  PRIMARY KEY(log, registry, kind)) WITHOUT ROWID;
CREATE TABLE types(
  log INTEGER, registry INTEGER, code INTEGER, name TEXT, kind INTEGER, always INTEGER,
  retired INTEGER, doc TEXT, event_table TEXT, PRIMARY KEY(log, registry, code)) WITHOUT ROWID;
CREATE TABLE parameters(
  log INTEGER, registry INTEGER, code INTEGER, position INTEGER, name TEXT, sort TEXT, doc TEXT,
  event_column TEXT, PRIMARY KEY(log, registry, code, position)) WITHOUT ROWID;
CREATE TABLE threads(
  log INTEGER, thread INTEGER, os_thread INTEGER, name TEXT,
  PRIMARY KEY(log, thread)) WITHOUT ROWID;
CREATE TABLE buffers(
  id INTEGER PRIMARY KEY, log INTEGER, buffer INTEGER, first INTEGER, registry INTEGER,
  kind INTEGER, thread INTEGER, UNIQUE(log, buffer, first));
CREATE TABLE labels(
  event INTEGER PRIMARY KEY, log INTEGER, sort TEXT, address INTEGER, since INTEGER, until INTEGER,
  string_id INTEGER, string);
CREATE INDEX labels_by_address ON labels(log, address, since);
CREATE TABLE event_tables(
  name TEXT PRIMARY KEY, event_view TEXT, registry TEXT, type TEXT, parameters TEXT);
CREATE TABLE unknown_events(
  event INTEGER, log INTEGER, thread INTEGER, time INTEGER, wall INTEGER,
  registry INTEGER, code INTEGER, bytes BLOB);
";

/// Tables that databases of earlier versions lack.
pub(crate) const FIXED_LATER: &str = "
CREATE TABLE IF NOT EXISTS losses(
  log INTEGER, registry INTEGER, kind INTEGER, cause TEXT, count INTEGER,
  PRIMARY KEY(log, registry, kind, cause)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS slices(
  name TEXT, key, thread INTEGER, begin INTEGER, end INTEGER, duration INTEGER,
  begin_event INTEGER PRIMARY KEY, end_event INTEGER, log INTEGER, verdict TEXT);
CREATE TABLE IF NOT EXISTS counters(
  event INTEGER, place INTEGER, log INTEGER, thread INTEGER, time INTEGER, name TEXT, key,
  label TEXT, unit TEXT, value, change, least, registry TEXT,
  PRIMARY KEY(event, place)) WITHOUT ROWID;
";

/// Adds columns that databases of earlier versions lack.
pub(crate) fn add_columns(connection: &Connection) -> Result<(), Refusal> {
    if connection.prepare("SELECT registry FROM counters").is_err() {
        connection.execute_batch("ALTER TABLE counters ADD COLUMN registry TEXT")?;
    }
    Ok(())
}

/// Columns of an event in addition to its parameters: those of its table, then one of its view.
pub(crate) const COLUMNS: [&str; 5] = ["event", "log", "thread", "time", "wall"];
const NUMBER_COLUMN: &str = "number";
/// Tables that are made even without events, at most.
const EMPTY_TABLE_COUNT_MAX: usize = 2000;
/// The indices of the tables of unknown events and of labels.
pub(crate) const UNKNOWN: usize = 0;
pub(crate) const LABELS: usize = 1;

/// The table of an event type.
pub(crate) struct Table {
    pub(crate) name: String,
    /// Whether the import adds its events.
    pub(crate) is_chosen: bool,
    /// Whether its events may be labels.
    pub(crate) is_label: bool,
    view: String,
    /// The written columns before those of the parameters.
    written: &'static [&'static str],
    /// Sort and column of each parameter, and the column of its label in the view.
    columns: Vec<(Sort, String, Option<String>)>,
    /// The number of parameters, if not all have columns.
    cut: Option<usize>,
}

/// The existing tables and views: by registry, event type and parameters.
struct ExistingTables(HashMap<[String; 3], (String, String)>);

impl ExistingTables {
    /// Loads all at once: a search for each would take n² steps.
    fn load(connection: &Connection) -> Result<ExistingTables, Refusal> {
        let sql = "SELECT registry, type, parameters, name, event_view FROM event_tables";
        let mut find = connection.prepare(sql)?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok(([row.get(0)?, row.get(1)?, row.get(2)?], (row.get(3)?, row.get(4)?)))
        };
        Ok(ExistingTables(find.query_map([], row)?.collect::<Result<_, _>>()?))
    }
}

/// The tables for the events of a log.
pub(crate) struct Tables {
    pub(crate) all: Vec<Table>,
    /// The index of the table of each code, for each registry of the log.
    codes: Vec<Vec<u32>>,
}

impl Tables {
    /// Finds the tables of a log's event types, or names new ones.
    pub(crate) fn new(
        connection: &Connection,
        log: &Log,
        streams: &[i64],
    ) -> Result<Tables, Refusal> {
        let mut names = connection.prepare(
            "SELECT name FROM sqlite_schema UNION SELECT name \
            FROM event_tables UNION SELECT event_view FROM event_tables",
        )?;
        let names = names.query_map([], |row| row.get::<_, String>(0))?;
        let mut taken = Taken::new(names.collect::<Result<Vec<_>, _>>()?);
        let all = vec![Table::unknown(), Table::labels()];
        let mut tables = Tables { all, codes: Vec::new() };
        let existing = ExistingTables::load(connection)?;
        let mut known = HashMap::new();
        for (registry, users) in log.registries().iter().zip(logs::users(log, streams)) {
            let highest = registry.event_types.last().map_or(0, |row| usize::from(row.code) + 1);
            let mut codes = vec![UNKNOWN as u32; highest];
            for event_type in &registry.event_types {
                let key = (clipped(&registry.name), &*event_type.name, parameters(event_type));
                let index = match known.get(&key) {
                    Some(&index) => index,
                    None => {
                        let table =
                            Table::new(connection, registry, event_type, &existing, &mut taken)?;
                        tables.all.push(table);
                        let index = tables.all.len() - 1;
                        known.insert(key, index);
                        index
                    }
                };
                codes[usize::from(event_type.code)] = index as u32;
                for &user in &users {
                    tables.all[index].describe(connection, user, registry, event_type)?;
                }
            }
            tables.codes.push(codes);
        }
        for table in tables.all.iter().take(EMPTY_TABLE_COUNT_MAX) {
            table.make(connection)?;
        }
        Ok(tables)
    }

    pub(crate) fn make(&self, connection: &Connection, index: usize) -> Result<(), Refusal> {
        self.all.get(index).map_or(Ok(()), |table| table.make(connection))
    }

    /// Returns the keys of the events of these logs in the database.
    pub(crate) fn known(
        &self,
        connection: &Connection,
        logs: &[i64],
    ) -> Result<RoaringTreemap, Refusal> {
        let mut tables =
            connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        let tables = tables.query_map([], |row| row.get(0))?;
        let tables = tables.collect::<Result<HashSet<String>, _>>()?;
        let logs: BTreeSet<String> = logs.iter().map(i64::to_string).collect();
        let logs = logs.into_iter().collect::<Vec<_>>().join(", ");
        let mut known = RoaringTreemap::new();
        let has_events = |(index, table): &(usize, &Table)| {
            *index != LABELS && table.is_chosen && tables.contains(&table.name)
        };
        for (_, table) in self.all.iter().enumerate().filter(has_events) {
            let name = quoted(&table.name);
            let sql = format!("SELECT event FROM {name} WHERE log IN ({logs})");
            let mut find = connection.prepare(&sql)?;
            let mut rows = find.query([])?;
            while let Some(row) = rows.next()? {
                known.insert(row.get::<_, i64>(0)? as u64);
            }
        }
        Ok(known)
    }

    /// Chooses the tables for which a function is true. Returns whether any is.
    pub(crate) fn choose(&mut self, is_chosen: impl Fn(&str) -> bool) -> bool {
        self.all.iter_mut().for_each(|table| table.is_chosen = is_chosen(&table.name));
        self.all.iter().any(|table| table.is_chosen)
    }

    /// Returns a note about chosen tables that lack columns for some parameters.
    pub(crate) fn note(&self) -> Option<String> {
        let cut = self.all.iter().filter(|table| table.is_chosen);
        note_of_cut(cut.filter_map(|table| Some((&*table.name, table.cut?))))
    }

    /// Returns the table of a code of a registry, by the index of the registry in the log.
    #[inline]
    pub(crate) fn index(&self, registry: usize, code: u16) -> usize {
        let codes = self.codes.get(registry);
        codes.and_then(|codes| codes.get(usize::from(code))).map_or(UNKNOWN, |&at| at as usize)
    }
}

/// Returns the parameters of an event type as text, which identifies its table.
fn parameters(event_type: &EventType) -> String {
    let params =
        event_type.params.iter().map(|param| format!("{} {}", param.sort.letter(), param.name));
    params.collect::<Vec<_>>().join(", ")
}

impl Table {
    fn unknown() -> Table {
        let name = "unknown_events".to_owned();
        let columns = [(Sort::U, "registry"), (Sort::U, "code"), (Sort::S, "bytes")];
        let columns = columns.map(|(sort, name)| (sort, name.to_owned(), None)).into();
        let (view, written) = (String::new(), &COLUMNS);
        Table { name, is_chosen: true, is_label: false, view, written, columns, cut: None }
    }

    fn labels() -> Table {
        let (view, written) = (String::new(), &labels::COLUMNS);
        let (name, columns) = ("labels".to_owned(), Vec::new());
        Table { name, is_chosen: true, is_label: false, view, written, columns, cut: None }
    }

    fn new(
        connection: &Connection,
        registry: &Registry,
        event_type: &EventType,
        existing: &ExistingTables,
        taken: &mut Taken,
    ) -> Result<Table, Refusal> {
        let mut columns = Taken::new(COLUMNS.iter().chain([&NUMBER_COLUMN]));
        let params = event_type.params.iter().take(PARAM_COUNT_MAX);
        let mut params: Vec<_> =
            params.map(|param| (param.sort, columns.column(&param.name), None)).collect();
        for (sort, name, label) in &mut params {
            if matches!(sort, Sort::P | Sort::A) {
                *label = Some(columns.column(&format!("{name}_label")));
            }
        }
        let (is_chosen, is_label) = (true, labels::is_label(&event_type.name));
        let (columns, written) = (params, &COLUMNS);
        let cut = Some(event_type.params.len()).filter(|&count| count > PARAM_COUNT_MAX);
        let key = (clipped(&registry.name), &*event_type.name, parameters(event_type));
        let found = [key.0, key.1, &key.2].map(str::to_owned);
        if let Some((name, view)) = existing.0.get(&found).cloned() {
            return Ok(Table { name, is_chosen, is_label, view, written, columns, cut });
        }
        let long = format!("{}_{}", key.0, key.1);
        let name = taken.take([key.1, &long]);
        let view = taken.take([&*format!("EVENT_{}", key.1), &format!("EVENT_{long}")]);
        connection
            .prepare_cached("INSERT INTO event_tables VALUES(?, ?, ?, ?, ?)")?
            .execute(params![name, view, key.0, key.1, key.2])?;
        Ok(Table { name, is_chosen, is_label, view, written, columns, cut })
    }

    /// Adds the event type and its parameters to the tables of facts.
    fn describe(
        &self,
        connection: &Connection,
        log: i64,
        registry: &Registry,
        row: &EventType,
    ) -> Result<(), Refusal> {
        connection
            .prepare_cached("INSERT OR REPLACE INTO types VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                log,
                registry.index,
                row.code,
                row.name,
                row.kind,
                row.always,
                row.retired,
                row.doc,
                self.name
            ])?;
        let mut insert = connection
            .prepare_cached("INSERT OR REPLACE INTO parameters VALUES(?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (position, param) in row.params.iter().enumerate() {
            let column = self.columns.get(position).map(|(_, column, _)| column);
            insert.execute(params![
                log,
                registry.index,
                row.code,
                position as i64,
                param.name,
                param.sort.letter().to_string(),
                param.doc,
                column
            ])?;
        }
        Ok(())
    }

    /// Makes the table if it does not exist.
    pub(crate) fn make_alone(&self, connection: &Connection) -> Result<(), Refusal> {
        let mut columns =
            "event INTEGER, log INTEGER, thread INTEGER, time INTEGER, wall INTEGER".to_owned();
        for (sort, column, _) in &self.columns {
            let declared = match sort {
                Sort::D => "REAL",
                Sort::S => "TEXT",
                _ => "INTEGER",
            };
            columns += &format!(", {} {declared}", quoted(column));
        }
        let name = quoted(&self.name);
        connection.execute_batch(&format!("CREATE TABLE IF NOT EXISTS {name}({columns})"))?;
        Ok(())
    }

    /// Makes the table and its view if they do not exist.
    fn make(&self, connection: &Connection) -> Result<(), Refusal> {
        if !self.has_view() {
            return Ok(());
        }
        self.make_alone(connection)?;
        // A table of an earlier version has the number too.
        let number = (1_u64 << NUMBER_BITS) - 1;
        let mut shown = format!("e.*, e.event & {number} AS {NUMBER_COLUMN}");
        for (sort, column, label) in &self.columns {
            if let Some(label) = label {
                shown +=
                    &format!(
                    ", (SELECT l.string FROM labels AS l WHERE l.log = e.log AND l.address = e.{}
                     AND l.since <= e.time AND l.sort IN ('PA', '{}')
                     ORDER BY l.since DESC, l.event DESC LIMIT 1) AS {}",
                    quoted(column), sort.letter(), quoted(label)
                );
            }
        }
        let (name, view) = (quoted(&self.name), quoted(&self.view));
        connection.execute_batch(&format!(
            "CREATE VIEW IF NOT EXISTS {view} AS SELECT {shown} FROM {name} AS e"
        ))?;
        Ok(())
    }

    /// Returns whether it is the table of an event type, with a view.
    pub(crate) fn has_view(&self) -> bool {
        !self.view.is_empty()
    }

    pub(crate) fn column_count(&self) -> usize {
        self.written.len() + self.columns.len()
    }

    /// Returns the statement that inserts `row_count` rows. An existing label stays as it is.
    pub(crate) fn insertion(&self, row_count: usize) -> String {
        let params = self.columns.iter().map(|(_, column, _)| quoted(column));
        let columns = self.written.iter().map(|column| (*column).to_owned()).chain(params);
        let columns: Vec<String> = columns.collect();
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        let rows = vec![row; row_count].join(", ");
        format!(
            "INSERT OR IGNORE INTO {}({}) VALUES {rows}",
            quoted(&self.name),
            columns.join(", ")
        )
    }
}
