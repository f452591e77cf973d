//! A page that shows a log: one file, which needs no other.
//!
//! ```text
//!  Overview, Sample ──▶ JSON, counts in base64 ───────┐
//!  calls.rs, source.rs, threads.rs, waitflame.rs ─────┤
//!  tables of `stats`, labels, the markup of a plan ───┼──▶ the kit of `cli` ──▶ page.html
//!  events.html, page.{css,js}, calls.{css,js}, … ─────┘
//! ```
//!
//! Design: `.cnv.report` in `design/eventcnv.md`.

pub(crate) mod calls;
pub(crate) mod counters;
pub(crate) mod durations;
mod encoded;
pub(crate) mod source;
pub(crate) mod threads;
pub(crate) mod waitflame;
pub(crate) mod weights;

pub(crate) use crate::page::view::calls::{Calls, SPAN_COUNT_MAX};
use crate::page::view::encoded::{counts, encoded, end_of};
pub(crate) use crate::page::view::source::Lines;
pub(crate) use crate::page::view::threads::{Ids, Threads, wanted};
use crate::page::view::waitflame::WaitFlame;

use crate::ask::stats::summary::overview::{
    Identity, Overview, find_registry, identity, kind_name, prefixes,
};
use crate::ask::stats::view;
use crate::page::flame::Flame;
use crate::page::sample::{Axis, KIND_CELL_COUNT, Key, Sample};
use crate::page::waited::Waited;
use crate::show;
use crate::text;
use cli::page::{self, Page, chart};
use cli::table::{self, Cell, Table, time};
use cli::units::{Unit, counted_in_groups, nanoseconds, number, or_nothing};
use eventlog::reader::{Event, Registry, Value as Param};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

const EVENTS: &str = include_str!("events.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const CALLS_STYLE: &str = include_str!("calls.css");
const CALLS_SCRIPT: &str = concat!(include_str!("graph.js"), include_str!("calls.js"));
/// The flame graph of calls, of slices and of waits.
const GRAPH_STYLE: &str = include_str!("flamegraph.css");
const GRAPH_SCRIPT: &str = include_str!("flamegraph.js");

/// What all tabs use.
const TABS_STYLE: &str = include_str!("tabs.css");
const TABS_SCRIPT: &str = include_str!("tabs.js");

const COUNTERS_STYLE: &str = include_str!("counters.css");
const COUNTERS_SCRIPT: &str = include_str!("counters.js");

const THREADS_STYLE: &str = concat!(include_str!("threads.css"), include_str!("durations.css"));
const THREADS_SCRIPT: &str =
    concat!(include_str!("lanes.js"), include_str!("threads.js"), include_str!("durations.js"));

const WAIT_FLAME_STYLE: &str = include_str!("waitflame.css");
const WAIT_FLAME_SCRIPT: &str = concat!(
    include_str!("waitstacks.js"),
    include_str!("waitmerged.js"),
    include_str!("waitflame.js")
);

const SOURCE_STYLE: &str = include_str!("source.css");
const SOURCE_SCRIPT: &str = include_str!("source.js");

const PLAN_STYLE: &str = include_str!("plan.css");

/// Bytes of the page for the parameters of one event, at most.
const TEXT_SIZE_MAX: usize = 160;
/// Rows of a table, at most.
const ROW_COUNT_MAX: usize = 1000;

/// The contents of the page.
pub(crate) struct Report<'a> {
    pub(crate) name: &'a str,
    pub(crate) overview: &'a Overview<'a>,
    pub(crate) registries: &'a [Registry],
    pub(crate) axis: &'a Axis,
    pub(crate) sample: &'a Sample,
    /// Labels: the string, the address, and the time of the event.
    pub(crate) labels: &'a [(String, String, f64)],
    /// The calls, if the log can have any.
    pub(crate) calls: Option<Calls<'a>>,
    /// The statements, if the log has any.
    pub(crate) source: Option<Lines<'a>>,
    /// What threads did, if the log has slices or flows.
    pub(crate) threads: Option<Threads<'a>>,
    /// Values over time, as [`counters::data`] returns them.
    pub(crate) counters: Option<&'a Value>,
    /// What a target waited for, if the log tells it.
    pub(crate) waited: Option<&'a Waited>,
    /// The pseudo-stacks, if the log has any.
    pub(crate) flame: Option<&'a Flame>,
    /// The markup of a plan of paths, if one is shown with the log.
    pub(crate) plan: Option<Markup>,
}

pub(crate) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (styles, scripts): (Vec<_>, Vec<_>) = report.tabs().into_iter().unzip();
    let page = Page {
        title: file(report.name),
        about: &report.programs(),
        styles: &[&[STYLE], &styles[..]].concat(),
        scripts: &[&scripts[..], &[SCRIPT]].concat(),
        body: report.body(),
        data: Some(report.data()),
    };
    page.write(out)
}

/// Returns the last part of a path.
fn file(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Writes the page of a plan of paths, from its markup.
#[cfg(feature = "paths")]
pub(crate) fn write_plan(title: &str, plan: Markup, out: &mut dyn Write) -> io::Result<()> {
    let body = html! { div #planTab { (plan) } };
    let title = file(title);
    Page { title, about: "", styles: &[chart::STYLE, PLAN_STYLE], scripts: &[], body, data: None }
        .write(out)
}

/// Appends the parameters of an event: words in decimal, pointers and addresses in hexadecimal with
/// their labels.
pub(crate) fn params(event: &Event<'_, '_>, out: &mut Vec<u8>) {
    for (param, value) in event.params() {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(param.name.as_bytes());
        out.push(b':');
        match value {
            Param::W(value) => text::decimal(out, value),
            Param::U(value) => text::decimal(out, value.into()),
            Param::P(word) | Param::A(word) => {
                text::hex(out, word);
                let id = event.labels.label_id_of(value);
                if let Some(label) = id.and_then(|id| event.labels.string(id)) {
                    out.push(b'[');
                    text::quoted(out, label);
                    out.push(b']');
                }
            }
            Param::B(value) => out.extend_from_slice(if value { b"True" } else { b"False" }),
            Param::D(value) => text::double_general(out, value),
            Param::S(value) => text::quoted(out, value),
        }
        if out.len() > TEXT_SIZE_MAX {
            break;
        }
    }
    clip(out);
}

/// Cuts off what takes more than [`TEXT_SIZE_MAX`] bytes in the page.
fn clip(out: &mut Vec<u8>) {
    if let Some(mut end) = end_of(out.iter(), TEXT_SIZE_MAX) {
        while end > 0 && out.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        out.truncate(end);
        out.extend_from_slice("…".as_bytes());
    }
}

impl Report<'_> {
    /// Returns the style and the script of each tab; that of source looks like that of calls.
    fn tabs(&self) -> [(&'static str, &'static str); 9] {
        let has_any = self.calls.is_some()
            || self.source.is_some()
            || self.threads.is_some()
            || self.counters.is_some()
            || self.waited.is_some();
        let tools = has_any.then_some((TABS_STYLE, TABS_SCRIPT));
        let has_calls = self.calls.is_some() || self.source.is_some();
        let calls = has_calls.then_some((CALLS_STYLE, CALLS_SCRIPT));
        let source = self.source.as_ref().map(|_| (SOURCE_STYLE, SOURCE_SCRIPT));
        let threads = self.threads.as_ref().map(|_| (THREADS_STYLE, THREADS_SCRIPT));
        let wait_flame = self.wait_flame().map(|_| (WAIT_FLAME_STYLE, WAIT_FLAME_SCRIPT));
        let graph = calls.or(threads).map(|_| (GRAPH_STYLE, GRAPH_SCRIPT));
        let plan = self.plan.as_ref().map(|_| (PLAN_STYLE, ""));
        let counters = self.counters.map(|_| (COUNTERS_STYLE, COUNTERS_SCRIPT));
        let charts = plan.map(|_| (chart::STYLE, ""));
        [tools, graph, calls, source, counters, threads, wait_flame, charts, plan]
            .map(Option::unwrap_or_default)
    }

    /// Returns the pseudo-stacks; their rows are threads of the log.
    fn wait_flame(&self) -> Option<WaitFlame<'_>> {
        let threads = self.threads.as_ref()?;
        Some(WaitFlame { flame: self.flame?, threads })
    }

    /// Returns what is in the page below its title, for the scripts to fill.
    fn body(&self) -> Markup {
        html! {
            div.row.tabs #tabs role="tablist" aria-label="Parts of the page" hidden {}
            div #waitsTab hidden {
                @if let Some(waited) = self.waited { (waits(waited)) }
            }
            div #eventsTab {
                p.lead { (self.gist()) }
                (page::facts(self.facts()))
                (PreEscaped(EVENTS))
                div.columns #more { (self.tables()) }
            }
            @for tab in ["calls", "source", "counters", "durations", "threads", "waitFlame"] {
                div id={ (tab) "Tab" } hidden {}
            }
            div #planTab hidden { @if let Some(plan) = &self.plan { (plan) } }
        }
    }

    fn facts(&self) -> Vec<(String, String, bool)> {
        let Report { overview, axis, .. } = self;
        let before = overview.longest_before(axis.is_seconds).map(|length| {
            let reason = overview.reason().unwrap_or("missing");
            (format!("before: {reason}"), self.length(length), false)
        });
        let fact = |name: &str, value| (name.to_owned(), value, false);
        let named =
            |name: &str, count: u64| name[..name.len() - usize::from(count == 1)].to_owned();
        let count = |name: &str, count: u64| (named(name, count), number(count), false);
        let loss = |name: &str, count: u64| (name.to_owned(), number(count), count > 0);
        let rate = overview.rates.map(|(events, _)| events);
        let facts = [
            count("events", overview.total.events),
            fact("bytes", Unit::Count.text(overview.total.bytes as f64)),
            fact("duration", self.length(overview.seconds.unwrap_or(axis.length))),
            fact("events/s", or_nothing(rate, |rate| Unit::Count.text(rate))),
            count("event types", overview.types.len() as u64),
            count("threads", self.thread_count()),
            loss("lost", overview.all_losses().total()),
            (
                named("faults", overview.fault_count),
                number(overview.fault_count),
                overview.fault_count > 0,
            ),
        ];
        // Logs of the MPS have no threads.
        let has_threads = self.thread_count() > 0;
        let facts = facts.into_iter().filter(|(name, ..)| has_threads || name != "threads");
        before.into_iter().chain(facts).collect()
    }

    /// Returns the number of threads that recorded events.
    fn thread_count(&self) -> u64 {
        let is_one = |(_, thread): &&(u16, u32)| !matches!(*thread, 0 | u32::MAX);
        self.overview.thread_places.keys().filter(is_one).count() as u64
    }

    /// Returns what the log has, in a sentence.
    fn gist(&self) -> String {
        let Report { overview, axis, .. } = self;
        let all = overview.total.events;
        if all == 0 {
            return "The log has no events, or none is selected.".to_owned();
        }
        let threads = match self.thread_count() {
            0 => String::new(),
            count => format!(" of {}", counted_in_groups(count, "thread")),
        };
        let time = self.length(overview.seconds.unwrap_or(axis.length));
        let share = |count: u64| 100.0 * count as f64 / all as f64;
        let types = overview.types.iter().map(|row| (share(row.count.events), &row.name));
        let most = types.take(3).filter(|(share, _)| *share >= 1.0);
        let most: Vec<String> =
            most.map(|(share, name)| format!("{share:.0}\u{202f}% {name}")).collect();
        format!("{}{threads} in {time}: {}", counted_in_groups(all, "event"), most.join(", "))
    }

    /// Returns a time of the axis in its unit.
    fn length(&self, length: f64) -> String {
        match self.axis.is_seconds {
            true => nanoseconds(length * 1e9),
            false if length == 1.0 => "1 tick".to_owned(),
            false => format!("{} ticks", Unit::Count.text(length)),
        }
    }

    /// Returns the tables that need no script: those of `stats`, the labels, the streams.
    fn tables(&self) -> Markup {
        let mut tables: Vec<(&str, Table<'_>)> = vec![("Labels", self.labels())];
        for sheet in view::sheets(self.overview) {
            let title = match sheet.name {
                "threads" => "Threads",
                "gaps" => "Longest gaps",
                "holes" => "Missing events",
                "losses" => "Not in the log",
                _ => continue,
            };
            tables.push((title, sheet.table));
        }
        tables.push(("Streams", self.streams()));
        tables.iter_mut().for_each(|(_, table)| table.rows.truncate(ROW_COUNT_MAX));
        tables.retain(|(_, table)| !table.rows.is_empty());
        html! {
            @for (title, table) in &tables { (page::section(title, table)) }
        }
    }

    fn data(&self) -> Value {
        let Report { overview, .. } = self;
        let by_name = |name: fn(&Registry, u16) -> String, series: &BTreeMap<Key, Vec<u32>>| {
            self.by_name(name, series)
        };
        let kinds = by_name(|registry, kind| kind_name(registry, kind as u8), &self.sample.kinds);
        let types = by_name(type_name, &self.sample.types);
        let kinds = overview.kinds.iter().filter_map(|row| {
            let cells = counts(kinds.get(&row.name)?);
            let late = row.late.and_then(|late| self.axis.time(late.stream, late.at));
            let events = row.count.events;
            Some(json!({ "name": row.name, "events": events, "cells": cells, "late": late }))
        });
        let types = overview.types.iter().take(ROW_COUNT_MAX).map(|row| {
            json!({
                "name": row.name, "kind": row.kind, "events": row.count.events,
                "bytes": row.count.bytes, "cells": types.get(&row.name).map(|cells| counts(cells)),
            })
        });
        let (sample, names, thread_names) = self.sample();
        json!({
            "events": overview.total.events,
            "length": self.axis.length,
            "isSeconds": self.axis.is_seconds,
            "cellCount": KIND_CELL_COUNT,
            "kinds": kinds.collect::<Value>(),
            "types": types.collect::<Value>(),
            "reason": overview.reason(),
            "sample": sample,
            "names": names,
            "threadNames": thread_names,
            "calls": self.calls.as_ref().map(Calls::data),
            "source": self.source.as_ref().map(Lines::data),
            "lanes": self.threads.as_ref().map(Threads::data),
            "counters": self.counters,
            "durations": self.threads.as_ref().map(|threads| threads.durations),
            "waits": self.waited.is_some(),
            "sampleOfType": self.sample.count_of_type(),
            "waitFlame": self.wait_flame().map(|flame| flame.data()),
            "plan": self.plan.is_some(),
        })
    }

    /// Returns series by the names of their kinds or event types.
    fn by_name(
        &self,
        name: fn(&Registry, u16) -> String,
        series: &BTreeMap<Key, Vec<u32>>,
    ) -> HashMap<String, Vec<u32>> {
        let prefixes = prefixes(self.registries);
        let mut found: HashMap<String, Vec<u32>> = HashMap::new();
        for (key, counts) in series {
            let name = self.name_of(*key, name, &prefixes);
            let own = found.entry(name).or_insert_with(|| vec![0; counts.len()]);
            own.iter_mut().zip(counts).for_each(|(own, count)| *own = own.saturating_add(*count));
        }
        found
    }

    fn name_of(
        &self,
        (stream, index, number): Key,
        name: fn(&Registry, u16) -> String,
        prefixes: &HashMap<Identity, String>,
    ) -> String {
        let found = find_registry(self.registries, stream, index);
        let Some(registry) = found else { return "?".to_owned() };
        let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
        format!("{prefix}{}", name(registry, number))
    }

    /// Returns the sample, the names of its event types, and the names of threads.
    fn sample(&self) -> (Value, Vec<String>, Vec<String>) {
        let prefixes = prefixes(self.registries);
        let events = self.sample.events();
        let mut places: HashMap<Key, usize> = HashMap::new();
        let (mut names, mut coarse) = (Vec::new(), Vec::new());
        let mut thread_names: Vec<String> = vec!["?".to_owned()];
        thread_names.extend(self.overview.threads.iter().map(|row| row.name.clone()));
        let (mut of_names, mut threads, mut texts) = (Vec::new(), Vec::new(), String::new());
        for event in &events {
            of_names.push(*places.entry(event.of).or_insert_with(|| {
                names.push(self.name_of(event.of, type_name, &prefixes));
                coarse.push(self.name_of(event.of, coarse_mark, &HashMap::new()));
                names.len() - 1
            }));
            let thread = self.overview.thread_places.get(&(event.stream, event.thread));
            threads.push(thread.map_or(0, |place| place + 1));
            let separator = if threads.len() > 1 { "\n" } else { "" };
            texts += separator;
            texts += &String::from_utf8_lossy(&event.text);
        }
        let times = encoded(&events, |event| event.time.to_le_bytes().to_vec());
        let sample = json!({
            "times": times, "names": of_names, "coarse": coarse, "threads": threads,
            "texts": texts,
        });
        (sample, names, thread_names)
    }

    fn time(&self, at: f64) -> String {
        if self.axis.is_seconds { format!("{at:.6} s") } else { format!("{at} ticks") }
    }

    fn programs(&self) -> String {
        let mut programs: Vec<String> = Vec::new();
        for stream in self.overview.streams.iter().take(3) {
            let by = if stream.program.is_empty() { &stream.producer } else { &stream.program };
            let host = if stream.host.is_empty() { "" } else { " on " };
            programs.push(format!("{by}{host}{}", stream.host));
        }
        if self.overview.streams.len() > programs.len() {
            programs.push("…".to_owned());
        }
        programs.join(", ")
    }

    fn labels(&self) -> Table<'static> {
        let mut table = Table::new([table::text("label"), table::text("of"), time("from")]);
        for (label, of, at) in self.labels {
            let shown = self.time(*at);
            let at = Cell::Words(shown, json!(at));
            table.row([label.clone().into(), of.clone().into(), at]);
        }
        table
    }

    fn streams(&self) -> Table<'static> {
        let names = ["program", "written by", "platform", "process", "end"].map(table::text);
        let mut table = Table::new([table::count("stream")].into_iter().chain(names));
        for (index, stream) in (0u64..).zip(self.overview.streams).take(20) {
            let platform = stream.platform;
            let order = if platform.big_endian { "big-endian" } else { "little-endian" };
            let process = (stream.pid > 0).then(|| format!("{} on {}", stream.pid, stream.host));
            table.row([
                index.into(),
                stream.program.to_string().into(),
                format!("{}, format {}", stream.producer, stream.version).into(),
                format!("{}-bit {order}", platform.word_size * 8).into(),
                process.into(),
                (if stream.closed { "closed" } else { "not closed" }).to_owned().into(),
            ]);
        }
        table
    }
}

/// Returns what a target waited for: the sentences, and where its time went.
fn waits(waited: &Waited) -> Markup {
    let columns = [time("").titled("time"), table::percent("").titled("%"), table::count("pieces")];
    let mut shares = Table::new([table::text("share")].into_iter().chain(columns));
    let total = waited.shares.iter().map(|(_, ns, _)| *ns as f64).sum::<f64>().max(1.0);
    for (name, ns, count) in &waited.shares {
        let percent = *ns as f64 * 100.0 / total;
        shares.row([name.clone().into(), (*ns).into(), percent.into(), (*count).into()]);
    }
    html! {
        @if let Some((target, all)) = waited.sentences.split_first() {
            section aria-label="What it waited for" {
                h2 { "What it waited for" }
                p.lead { (target) }
                ol #sentences { @for sentence in all { li { (sentence) } } }
                @if all.is_empty() { p.note { "It never waited." } }
            }
        }
        (page::section("Where the time went", &shares))
    }
}

/// Returns what stands behind the times of a coarse event type.
fn coarse_mark(registry: &Registry, code: u16) -> String {
    show::coarse_mark(registry.event_type(code)).to_owned()
}

fn type_name(registry: &Registry, code: u16) -> String {
    let known = registry.event_type(code).map(|row| row.name.to_string());
    known.unwrap_or_else(|| format!("{code:04X}"))
}
