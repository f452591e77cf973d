//! The calls of a log, and views with the names of the original TURTLES.
//!
//! ```text
//!  functions: function │ name │ proc_id │ file │ line │ defined ──▶ proc_ids ─┐
//!  calls: event │ function, caller │ begin, end │ duration, own ──▶ call_pts ─┴─▶ calls_by_…
//! ```
//!
//! Design: `.cnv.sql.calls` in `design/eventcnv.md`.

use crate::ask::calls::reading;
use crate::ask::calls::summary::demangled;
use crate::export::sql::Lenses;
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::Refusal;
use crate::export::wall::Wall;
use crate::open::input::threads;
use crate::open::select::Selection;
use eventlog::reader::{Clock, Faults, Log};
use lens::calls::{Call, Calls, Function, Functions, NONE, Told, identity};
use lens::slices::{Edge, Id};
use rusqlite::{Connection, OptionalExtension, Statement, params};
use std::collections::HashMap;

/// Tables and views of every database. The columns of the views are those of the original; times
/// there are µs since 1970.
pub(super) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS functions(
  function INTEGER PRIMARY KEY, name TEXT UNIQUE, proc_id INTEGER, file TEXT, line INTEGER,
  defined INTEGER, unrecorded INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS calls(
  event INTEGER PRIMARY KEY, log INTEGER, thread INTEGER, context INTEGER, task INTEGER,
  function INTEGER, caller INTEGER, depth INTEGER, begin INTEGER, end INTEGER, duration INTEGER,
  own INTEGER, verdict TEXT, unwound INTEGER, end_event INTEGER, begin_wall INTEGER,
  end_wall INTEGER, trace_id INTEGER);
CREATE VIEW IF NOT EXISTS proc_ids AS
  SELECT proc_id, min(name) AS proc_name, min(defined) / 1000 AS time_defined
  FROM functions GROUP BY proc_id;
CREATE VIEW IF NOT EXISTS call_pts AS
  SELECT ifnull(c.proc_id, 0) AS caller_id, f.proc_id AS callee_id, trace_id,
    begin_wall / 1000 AS time_enter,
    CASE WHEN duration IS NULL THEN NULL ELSE end_wall / 1000 END AS time_leave
  FROM calls JOIN functions AS f USING(function) LEFT JOIN functions AS c ON c.function = caller;
CREATE VIEW IF NOT EXISTS calls_by_caller_callee AS
  SELECT ifnull(c.proc_name, '') AS caller_name, f.proc_name AS callee_name, count(*) AS calls,
    sum(duration) / 1000 AS total_exec_micros, sum(duration) / 1000 / count(*) AS avg_exec_micros
  FROM calls JOIN functions AS callee USING(function)
  JOIN proc_ids AS f ON f.proc_id = callee.proc_id
  LEFT JOIN functions AS called_by ON called_by.function = caller
  LEFT JOIN proc_ids AS c ON c.proc_id = called_by.proc_id
  GROUP BY 1, 2 ORDER BY 4 DESC;
CREATE VIEW IF NOT EXISTS calls_by_callee AS
  SELECT callee_name, sum(calls) AS calls, sum(total_exec_micros) AS total_exec_micros,
    sum(total_exec_micros) / sum(calls) AS avg_exec_micros
  FROM calls_by_caller_callee GROUP BY 1 ORDER BY 3 DESC;
CREATE VIEW IF NOT EXISTS unused_procs AS
  SELECT proc_name AS callee_name FROM proc_ids
  WHERE proc_id NOT IN (SELECT callee_id FROM call_pts)
    AND proc_id NOT IN (SELECT proc_id FROM functions WHERE unrecorded > 0) ORDER BY 1;
";

/// The calls of a log so far.
pub(super) struct Lens {
    calls: Calls,
    /// The functions that the database has.
    numbers: HashMap<Function, Known>,
}

/// Adds the calls of a log that begin in a selection, those that the log so far left open and that
/// end in it, and all functions that the log knows. A call that the database has gets the end that
/// it lacks. Returns the faults of the events.
pub(super) fn add(
    connection: &Connection,
    log: &Log,
    streams: &[i64],
    selection: &Selection,
    lenses: &mut Lenses,
) -> Result<Faults, Refusal> {
    if !lens::calls::has_calls(log) {
        return Ok(Faults::default());
    }
    let (clock, marks) = (Clock::new(log), lens::calls::marks(log, false));
    let insert = connection.prepare(&format!(
        "INSERT INTO calls VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT(event) DO UPDATE SET end = excluded.end, duration = excluded.duration,
           own = excluded.own, verdict = excluded.verdict, unwound = excluded.unwound,
           end_event = excluded.end_event, begin_wall = excluded.begin_wall,
           end_wall = excluded.end_wall
         WHERE duration IS NULL AND (excluded.duration IS NOT NULL
           OR end IS NULL AND excluded.end IS NOT NULL) {}",
        if lenses.is_exact { "OR excluded.duration IS NOT NULL" } else { "" }
    ))?;
    let (part, has_times) = (selection.part(), lenses.has_times(&clock));
    let Lens { calls, numbers } = match &mut lenses.calls {
        Some(lens) => {
            lens.calls.go_on(log, (&clock, &marks), &part.known);
            lens
        }
        none => none.insert(Lens { calls: Calls::new(log, &marks), numbers: HashMap::new() }),
    };
    let os_threads = threads::recorded(log).into_iter().filter_map(|thread| {
        Some(((thread.stream, u32::try_from(thread.index).ok()?), thread.os_thread))
    });
    let mut rows = Rows {
        connection,
        streams,
        keys: Keys::load(connection, streams)?,
        wall: Wall::new(log),
        os_threads: os_threads.collect(),
        numbers,
        has_times,
        insert,
    };
    let mut add = |functions: &Functions, told: Told<'_>| match told {
        Told::Call(call) => rows.add(functions, &call),
        Told::Task(_) => Ok(()),
    };
    let faults = reading::advance(log, &clock, &marks, selection, calls, &mut add)?;
    let mut result = Ok(());
    calls.in_progress(&mut |functions, told| {
        let Told::Call(Call { begin: Edge { id: Id { stream, buffer, number }, .. }, .. }) = told
        else {
            return;
        };
        // The others have a row.
        if result.is_ok() && part.has(*stream, *buffer, *number) {
            result = add(functions, told);
        }
    });
    result?;
    rows.functions(calls)?;
    rows.keys.finish(connection)?;
    Ok(faults)
}

/// A function: its number in the database, its number in the original, its line.
type Known = (i64, u64, u32);

/// Inserts rows.
struct Rows<'c, 'l, 'n> {
    connection: &'c Connection,
    streams: &'c [i64],
    keys: Keys,
    wall: Wall<'l>,
    os_threads: HashMap<(u16, u32), u64>,
    numbers: &'n mut HashMap<Function, Known>,
    has_times: bool,
    insert: Statement<'c>,
}

impl Rows<'_, '_, '_> {
    fn log(&self, stream: u16) -> i64 {
        self.streams.get(usize::from(stream)).copied().unwrap_or(-1)
    }

    /// Adds the functions that the log knows, called or not.
    fn functions(&mut self, calls: &Calls) -> Result<(), Refusal> {
        let functions = calls.functions();
        for (function, facts) in functions.iter() {
            let unrecorded = calls.alone(function).saturating_add(calls.muted(function));
            if !facts.is_stated && unrecorded == 0 {
                continue;
            }
            let (number, ..) = self.function(functions, function)?;
            if unrecorded > 0 {
                let sql = "UPDATE functions SET unrecorded = max(unrecorded, ?) WHERE function = ?";
                let count = i64::try_from(unrecorded).unwrap_or(i64::MAX);
                self.connection.prepare_cached(sql)?.execute(params![count, number])?;
            }
        }
        Ok(())
    }

    /// Returns the row of a function, which is made if necessary.
    fn function(&mut self, functions: &Functions, function: Function) -> Result<Known, Refusal> {
        if let Some(known) = self.numbers.get(&function) {
            return Ok(*known);
        }
        let Some(facts) = functions.facts(function) else { return Ok((0, 0, 0)) };
        let name = match facts.stream {
            // An address is one function in its own stream alone.
            Some(stream) => format!("{} of log {}", facts.name, self.log(stream)),
            None => demangled(&*facts.name).into_owned(),
        };
        let hash = identity::of_name(&name);
        let defined = facts.since.and_then(|(stream, ticks)| self.wall.time(stream, ticks));
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO functions(name, proc_id, file, line, defined) VALUES(?, ?, ?, ?, ?)
             ON CONFLICT(name) DO UPDATE SET
               file = ifnull(file, excluded.file), line = ifnull(line, excluded.line),
               defined = min(ifnull(defined, excluded.defined), ifnull(excluded.defined, defined))",
        )?;
        let line = Some(facts.line).filter(|line| *line > 0);
        let defined = defined.map(|ns| ns as i64);
        insert.execute(params![name, hash as i64, facts.file, line, defined])?;
        let mut find =
            self.connection.prepare_cached("SELECT function FROM functions WHERE name = ?")?;
        let number = find.query_row([&name], |row| row.get(0)).optional()?.unwrap_or(0);
        let known = (number, hash, facts.line);
        self.numbers.insert(function, known);
        Ok(known)
    }

    fn add(&mut self, functions: &Functions, call: &Call<'_>) -> Result<(), Refusal> {
        let begin = call.begin;
        let log = self.log(begin.id.stream);
        let (function, callee_id, line) = self.function(functions, call.function)?;
        let caller = match call.caller {
            NONE => None,
            caller => Some(self.function(functions, caller)?),
        };
        let keys = &mut self.keys;
        let mut event = |edge: &Edge| {
            let of = || (edge.registry, edge.kind, edge.thread);
            keys.key_of(log, edge.id.buffer, edge.id.number, of)
        };
        let (begin_event, end_event) = (event(begin), call.end.map(&mut event));
        let mut wall = |edge: &Edge| self.wall.time(edge.id.stream, edge.ticks);
        let end_wall = call.end.and_then(&mut wall);
        // The beginning of a call that states its time alone has the ticks of its end.
        let is_one = call.end.is_some_and(|end| end.id == begin.id);
        let earlier = call.duration.filter(|_| is_one).unwrap_or(0);
        let begin_wall = wall(begin).map(|ns| ns.saturating_sub(earlier));
        let thread = self.os_threads.get(&(begin.id.stream, begin.thread)).copied();
        let place = [
            thread.unwrap_or(begin.thread.into()),
            call.depth.into(),
            caller.map_or(0, |(_, id, _)| id),
            line.into(),
            callee_id,
        ];
        self.insert.execute(params![
            begin_event,
            log,
            begin.thread,
            call.context as i64,
            call.task.map(|task| task as i64),
            function,
            caller.map(|(caller, ..)| caller),
            call.depth,
            begin.ticks as i64,
            call.end.map(|end| end.ticks as i64),
            call.duration.filter(|_| self.has_times).map(|ns| ns as i64),
            call.own.filter(|_| self.has_times).map(|ns| ns as i64),
            call.verdict.name(),
            call.is_unwound,
            end_event,
            begin_wall.map(|ns| ns as i64),
            end_wall.map(|ns| ns as i64),
            identity::of_numbers(place) as i64,
        ])?;
        Ok(())
    }
}
