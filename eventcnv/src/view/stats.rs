//! How many events and bytes there are, of what, and what was lost (`--stats`).
//!
//! ```text
//!  Event ──▶ Stats: by event type ── summed ──▶ by kind
//!                   by thread
//!  Account ──▶ lost, by cause; Discarded events ──▶ what no buffer could count
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`; counts: `.block.discarded`, `.store.discarded` in
//! `design/format.md`.

use super::table::Table;
use eventlog::reader::{Account, Event, Registry, Stream, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// How many events, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    events: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.events += other.events;
        self.bytes += other.bytes;
    }
}

/// What was counted of one event type.
struct TypeCount {
    kind: String,
    name: String,
    count: Count,
}

/// Counts of the events seen.
#[derive(Default)]
pub(crate) struct Stats {
    /// By index of the registry and code; of several streams together.
    types: BTreeMap<(u16, u16), TypeCount>,
    /// By stream and thread.
    threads: BTreeMap<(u16, u32), Count>,
    thread_names: BTreeMap<(u16, u32), String>,
    /// The last that was said of events that no buffer could count: by stream, registry, kind,
    /// cause.
    discarded: BTreeMap<[u64; 4], u64>,
    /// Times of the first and last event, by stream.
    times: BTreeMap<u16, (u64, u64)>,
}

impl Stats {
    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        let one = Count { events: 1, bytes: event.bytes.len() as u64 };
        let key = (event.registry.index, event.code());
        let found = self.types.entry(key).or_insert_with(|| TypeCount {
            kind: kind_name(event.registry, event.kind),
            name: event.name().to_owned(),
            count: Count::default(),
        });
        found.count.add(one);
        self.threads.entry((event.stream, event.thread)).or_default().add(one);
        let times = self.times.entry(event.stream).or_insert((event.ticks, event.ticks));
        *times = (times.0.min(event.ticks), times.1.max(event.ticks));
        if event.registry.index == 0 {
            self.add_own(event);
        }
    }

    /// What the runtime says about itself.
    fn add_own(&mut self, event: &Event<'_>) {
        let number = |name| match event.param(name) {
            Some(Value::P(value) | Value::A(value) | Value::W(value)) => Some(value),
            Some(Value::U(value)) => Some(value.into()),
            _ => None,
        };
        let stream = event.stream;
        match event.name() {
            "Thread" => {
                let thread = number("thread").and_then(|thread| u32::try_from(thread).ok());
                let name = event.param("name");
                if let (Some(thread), Some(Value::S(name))) = (thread, name) {
                    let name = String::from_utf8_lossy(name).into_owned();
                    self.thread_names.insert((stream, thread), name);
                }
            }
            "Discarded" => {
                let of = [number("registry"), number("kind"), number("cause")];
                if let ([Some(registry), Some(kind), Some(cause)], Some(count)) =
                    (of, number("count"))
                {
                    self.discarded.insert([stream.into(), registry, kind, cause], count);
                }
            }
            _ => {}
        }
    }

    /// Writes what was counted.
    pub(crate) fn write(
        &self,
        streams: &[Stream],
        registries: &[Registry],
        accounts: &[Account],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut total = Count::default();
        self.types.values().for_each(|found| total.add(found.count));
        writeln!(out, "{} events, {} bytes", total.events, total.bytes)?;
        self.write_streams(streams, out)?;
        let mut kinds: BTreeMap<(u16, &str), Count> = BTreeMap::new();
        for (&(registry, _), found) in &self.types {
            kinds.entry((registry, &found.kind)).or_default().add(found.count);
        }
        let mut by_kind = Table::new(1, &["kind", "events", "bytes"]);
        for ((registry, kind), count) in kinds {
            by_kind.row(cells(of_registry(registry, kind), count));
        }
        let mut by_type = Table::new(1, &["event type", "events", "bytes"]);
        let mut types: Vec<_> = self.types.iter().collect();
        types.sort_by_key(|(_, found)| std::cmp::Reverse(found.count.events));
        for (&(registry, code), found) in types {
            let name = if found.name == "?" { format!("{code:04X}") } else { found.name.clone() };
            by_type.row(cells(of_registry(registry, &name), found.count));
        }
        let mut by_thread = Table::new(1, &["thread", "events", "bytes"]);
        for (&key, &count) in &self.threads {
            by_thread.row(cells(self.thread_name(key, streams.len() > 1), count));
        }
        for table in [by_kind, by_type, by_thread] {
            if !table.is_empty() {
                write!(out, "\n{table}")?;
            }
        }
        self.write_losses(registries, accounts, out)
    }

    fn thread_name(&self, key: (u16, u32), is_stream_shown: bool) -> String {
        let (stream, thread) = key;
        let name = match (self.thread_names.get(&key), thread) {
            (Some(name), _) => format!("{thread} {name:?}"),
            (None, 0) => "none".to_owned(),
            (None, _) => thread.to_string(),
        };
        if is_stream_shown { format!("stream {stream}: {name}") } else { name }
    }

    /// What each stream is, and how long it lasted.
    fn write_streams(&self, streams: &[Stream], out: &mut dyn Write) -> io::Result<()> {
        for (index, stream) in streams.iter().enumerate() {
            let by = if stream.program.is_empty() { &stream.producer } else { &stream.program };
            let platform = stream.platform;
            let order = if platform.big_endian { "big-endian" } else { "little-endian" };
            let width = platform.word_size * 8;
            let version = stream.version;
            write!(out, "stream {index}: {by}, format {version}, {width}-bit {order}")?;
            if stream.pid > 0 {
                write!(out, ", process {}", stream.pid)?;
            }
            let times = u16::try_from(index).ok().and_then(|index| self.times.get(&index));
            if let Some(&(first, last)) = times {
                write!(out, ", {} ticks", last - first)?;
                if let Some(seconds) = seconds(stream, last - first) {
                    write!(out, " ({seconds:.6} s)")?;
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// What was requested and is not here, by cause.
    fn write_losses(
        &self,
        registries: &[Registry],
        accounts: &[Account],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let causes = ["full", "nested", "large", "io", "lost", "overwritten"];
        let mut lost: BTreeMap<(u16, String), [u64; 6]> = BTreeMap::new();
        for account in accounts {
            let Some(registry) = registries.get(account.registry as usize) else { continue };
            let key = (registry.index, kind_name(registry, account.kind));
            let counts = [
                account.discarded_full.into(),
                account.discarded_nested.into(),
                account.discarded_large.into(),
                account.discarded_io.into(),
                account.lost,
                account.overwritten,
            ];
            let sums = lost.entry(key).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (&[stream, registry, kind, cause], &count) in &self.discarded {
            let found = registries.iter().find(|found| {
                u64::from(found.stream) == stream && u64::from(found.index) == registry
            });
            let kind = u8::try_from(kind).unwrap_or(u8::MAX);
            let kind = found.map_or_else(|| kind.to_string(), |found| kind_name(found, kind));
            let index = u16::try_from(registry).unwrap_or(u16::MAX);
            let sums = lost.entry((index, kind)).or_default();
            if let Some(sum) = usize::try_from(cause).ok().and_then(|cause| sums.get_mut(cause)) {
                *sum += count;
            }
        }
        lost.retain(|_, counts| counts.iter().any(|&count| count > 0));
        if lost.is_empty() {
            return writeln!(out, "\nnothing is known to be lost");
        }
        let mut table = Table::new(1, &[&["not in the log"], causes.as_slice()].concat());
        for ((registry, kind), counts) in lost {
            let mut row = vec![of_registry(registry, &kind)];
            row.extend(counts.map(|count| count.to_string()));
            table.row(row);
        }
        write!(out, "\n{table}")
    }
}

/// How long so many ticks are, if the stream says it: by the clock syncs farthest apart, else by
/// the stated rate.
fn seconds(stream: &Stream, ticks: u64) -> Option<f64> {
    let (first, last) = (stream.syncs.first()?, stream.syncs.last()?);
    let sync_ticks = last.ticks.saturating_sub(first.ticks);
    let nanoseconds = last.monotonic.saturating_sub(first.monotonic);
    if sync_ticks > 0 && nanoseconds > 0 {
        return Some(ticks as f64 * (nanoseconds as f64 / sync_ticks as f64) / 1e9);
    }
    (stream.clock_rate > 0).then(|| ticks as f64 / stream.clock_rate as f64)
}

fn kind_name(registry: &Registry, kind: u8) -> String {
    registry.kind(kind).map_or_else(|| "?".to_owned(), |kind| kind.name.to_string())
}

/// A name, with the index of its registry where there may be another of that name.
fn of_registry(registry: u16, name: &str) -> String {
    if registry > 1 { format!("{registry}:{name}") } else { name.to_owned() }
}

fn cells(name: String, count: Count) -> Vec<String> {
    vec![name, count.events.to_string(), count.bytes.to_string()]
}
