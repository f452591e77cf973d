//! Writes folded stacks for flame graphs: a line for each stack, with its weight.
//!
//! ```text
//!  nested slices      shop;teller 2;Deposit;Lock 1250      ns in the slice itself
//!  a parameter        main;run;alloc 4096                  "main;run;alloc", weight of its events
//! ```
//!
//! A full table is written and begins empty again; readers add the lines of one stack. Design:
//! `.cnv.folded` in `design/eventcnv.md`.

use crate::export::timeline::{Action, Timeline};
use crate::open::select::Selected;
use crate::text;
use eventdef::Sort;
use eventlog::format::text::is_steering;
use eventlog::reader::{Event, Log, Value};
use lens::slices::Track;
use std::collections::HashMap;
use std::io::{self, Write};

/// Names of parameters that are stacks.
const STACKS: [&str; 4] = ["stack", "backtrace", "traceback", "frames"];

/// Bytes of the table, at most.
const TABLE_SIZE_MAX: usize = 1 << 23;
/// Bytes of a stack in the table in addition to its text.
const ENTRY_SIZE: usize = 64;
/// Slices of a stack, at most; deeper slices count for the last of these.
const DEPTH_MAX: usize = 256;
/// Coroutines, at most; further ones count as stacks of their threads.
const COROUTINE_COUNT_MAX: usize = 1 << 20;
/// In the stream of a track: it is that of a coroutine. A log has fewer streams.
const COROUTINE: u16 = 1 << 15;

/// The options for folded stacks.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Folded stacks")]
pub(crate) struct Options {
    /// The string parameter that is a stack: frames from the outermost one, separated by ;
    /// [default: stack, backtrace, traceback or frames; without such a parameter, slices]
    #[arg(long, value_name = "PARAM")]
    stack: Option<String>,

    /// The parameter that is the weight of a stack [default: 1 for each event with a stack; the
    /// time in ns for slices]
    #[arg(long, value_name = "PARAM")]
    weight: Option<String>,
}

impl Options {
    /// Returns whether any option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.stack.is_some() || self.weight.is_some()
    }

    /// Returns the names of the given parameters.
    pub(crate) fn params(&self) -> impl Iterator<Item = &str> {
        self.stack.iter().chain(&self.weight).map(String::as_str)
    }

    fn stack_of(&self, log: &Log) -> Option<&str> {
        if let Some(stack) = &self.stack {
            return Some(stack);
        }
        let mut rows = log.registries().iter().flat_map(|registry| &registry.event_types);
        rows.find_map(|row| {
            let is_string = |name: &&str| row.param(name).is_some_and(|(_, p)| p.sort == Sort::S);
            STACKS.into_iter().find(is_string)
        })
    }
}

/// Writes a line for each stack. Returns notes for the user.
pub(crate) fn write(
    log: &Log,
    timeline: &mut Timeline,
    options: &Options,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let mut table = Table::default();
    let weight = options.weight.as_deref();
    if let Some(stack) = options.stack_of(log) {
        while let Some(event) = events.next() {
            let Some(Value::S(stack)) = event.param(stack) else { continue };
            table.add(&line(&String::from_utf8_lossy(stack)), weigh(&event, weight), out)?;
        }
    } else {
        slices(timeline, weight, events, &mut table, out)?;
    }
    table.write(out)?;
    out.flush()?;
    Ok(table.notes())
}

fn weigh(event: &Event<'_, '_>, weight: Option<&str>) -> u64 {
    match weight {
        None => 1,
        Some(param) => event.param(param).and_then(|value| value.as_u64()).unwrap_or(0),
    }
}

/// Returns a stack on one line. Its last space comes before the weight.
fn line(stack: &str) -> String {
    stack.trim().replace(is_steering, " ")
}

fn frame(name: &str) -> String {
    line(name).replace(';', ":")
}

/// The coroutine of a `Switch` of the registry `calls`; 0: the thread's own stack.
fn context_of(event: &Event<'_, '_>) -> Option<u64> {
    let is_switch = &*event.registry.name == "calls" && event.name() == "Switch";
    is_switch.then(|| event.param("context")?.as_u64())?
}

/// The open slices of a thread, or of a coroutine.
#[derive(Default)]
struct Thread {
    /// The stack: process, thread, slices.
    stack: String,
    /// The offset of each slice in `stack`.
    begins: Vec<usize>,
    /// The time from which the innermost slice runs itself.
    since: u64,
    /// Whether its thread left it for another one.
    is_waiting: bool,
}

impl Thread {
    fn begin(&mut self, name: &str) {
        self.begins.push(self.stack.len());
        if self.begins.len() <= DEPTH_MAX {
            self.stack.push(';');
            self.stack += &frame(name);
        }
    }

    /// Ends the innermost slices.
    fn end(&mut self, count: usize) {
        let left = self.begins.len().saturating_sub(count);
        let size = self.begins.get(left).copied().unwrap_or(self.stack.len());
        self.stack.truncate(size);
        self.begins.truncate(left);
    }

    /// Adds a weight for the current stack.
    fn add_to(&self, table: &mut Table, weight: u64, out: &mut dyn Write) -> io::Result<()> {
        if self.begins.is_empty() {
            return Ok(());
        }
        table.deep_count += u64::from(self.begins.len() > DEPTH_MAX && weight > 0);
        table.add(&self.stack, weight, out)
    }
}

fn slices(
    timeline: &mut Timeline,
    weight: Option<&str>,
    events: &mut Selected<'_>,
    table: &mut Table,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut processes = timeline.processes.clone();
    let mut threads: HashMap<Track, Thread> = HashMap::new();
    let mut coroutines: HashMap<(u16, u64), Track> = HashMap::new();
    let mut ns_last = 0;
    while let Some(event) = events.next() {
        let moment = timeline.moment(&event);
        let place = processes.place(event.stream, event.thread);
        ns_last = moment.ns.max(ns_last);
        let is_instant = moment.action == Action::Instant;
        let context = if is_instant { context_of(&event) } else { None };
        let before = timeline.stack(place);
        if let Some(context) = context {
            let (key, count) = ((place.0, context), coroutines.len());
            let has_room = count < COROUTINE_COUNT_MAX || coroutines.contains_key(&key);
            let stack = if context == 0 || !has_room {
                place
            } else {
                *coroutines.entry(key).or_insert((place.0 | COROUTINE, count as u32))
            };
            if let Some(thread) = threads.get_mut(&before).filter(|_| weight.is_none()) {
                thread.add_to(table, moment.ns.saturating_sub(thread.since), out)?;
                thread.is_waiting = true;
            }
            timeline.stacks.insert(place, stack);
        }
        let stack = timeline.stack(place);
        let thread = threads.entry(stack).or_insert_with(|| {
            let (tid, _) = processes.thread(&event);
            let process = processes.by_stream.get(usize::from(event.stream));
            let process = process.map_or(String::new(), |process| frame(&process.name));
            let name = processes.threads.get(&place).map_or("", |thread| &thread.name);
            let name = if name.is_empty() { format!("thread {tid}") } else { frame(name) };
            Thread { stack: format!("{process};{name}"), ..Thread::default() }
        });
        let is_change = matches!(moment.action, Action::Begin { .. } | Action::End { .. });
        if weight.is_none() && is_change {
            thread.add_to(table, moment.ns.saturating_sub(thread.since), out)?;
        }
        if let Action::Begin { pair } = moment.action {
            thread.begin(&timeline.name(&event, &moment.label, pair));
        }
        let own = if weight.is_some() { weigh(&event, weight) } else { 0 };
        thread.add_to(table, own, out)?;
        if let Action::End { within, .. } = moment.action {
            thread.end(within as usize + 1);
        }
        if is_change || context.is_some() {
            (thread.since, thread.is_waiting) = (moment.ns, false);
        }
    }
    // An open slice lasts to the end, unless its coroutine waits.
    let running = threads.values().filter(|thread| !thread.is_waiting);
    for thread in running.filter(|_| weight.is_none()) {
        thread.add_to(table, ns_last.saturating_sub(thread.since), out)?;
    }
    Ok(())
}

/// Stacks and their weights.
#[derive(Default)]
struct Table {
    weights: HashMap<Box<str>, u64>,
    size: usize,
    has_any: bool,
    /// Whether it was full and written before the end.
    is_split: bool,
    /// Weights of stacks that are too deep.
    deep_count: u64,
}

impl Table {
    fn add(&mut self, stack: &str, weight: u64, out: &mut dyn Write) -> io::Result<()> {
        if stack.is_empty() || weight == 0 {
            return Ok(());
        }
        self.has_any = true;
        if let Some(sum) = self.weights.get_mut(stack) {
            *sum = sum.saturating_add(weight);
            return Ok(());
        }
        if self.size + stack.len() + ENTRY_SIZE > TABLE_SIZE_MAX {
            self.is_split = true;
            self.write(out)?;
        }
        self.size += stack.len() + ENTRY_SIZE;
        self.weights.insert(stack.into(), weight);
        Ok(())
    }

    /// Writes all stacks in alphabetical order, and empties the table.
    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines: Vec<(Box<str>, u64)> = self.weights.drain().collect();
        lines.sort_unstable();
        self.size = 0;
        let mut bytes = Vec::new();
        for (stack, weight) in lines {
            bytes.extend_from_slice(stack.as_bytes());
            bytes.push(b' ');
            text::decimal(&mut bytes, weight);
            bytes.push(b'\n');
        }
        out.write_all(&bytes)
    }

    fn notes(&self) -> Vec<String> {
        let none = "no selected event has a stack or is in a slice; use --stack or --slice";
        let split = format!(
            "the stacks took more than {} MiB; some have several lines, which readers add",
            TABLE_SIZE_MAX >> 20
        );
        let deep = format!(
            "{} weights are of slices nested deeper than {DEPTH_MAX}, and count for the slice at \
             that depth",
            self.deep_count
        );
        let all =
            [(!self.has_any, none.to_owned()), (self.is_split, split), (self.deep_count > 0, deep)];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.folded`
    #[test]
    fn a_full_table_is_written_and_begins_empty() {
        let (mut table, mut out) = (Table::default(), Vec::new());
        let long = "x".repeat(1 << 20);
        for number in 0..20 {
            for _ in 0..3 {
                table.add(&format!("{number};{long}"), 2, &mut out).unwrap();
                table.add("a;b", 1, &mut out).unwrap();
            }
        }
        assert!(out.len() > 10 << 20 && table.size < TABLE_SIZE_MAX);
        assert_eq!(table.notes().len(), 1);
        assert!(table.notes()[0].contains("more than 8 MiB; some have several lines"));
        table.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let weight = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        let of = |begin: &str| -> u64 {
            text.lines().filter(|line| line.starts_with(begin)).map(weight).sum()
        };
        assert_eq!((of("a;b"), of("7;")), (60, 6));
        assert!(text.lines().filter(|line| line.starts_with("a;b")).count() > 1);
    }

    #[test]
    fn a_stack_is_one_line_and_a_frame_has_no_semicolon() {
        assert_eq!(line(" a;b c\n;d\t"), "a;b c ;d");
        assert_eq!(frame("a;b"), "a:b");
    }
}
