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
use eventdef::Version;
use eventlog::reader::{Account, Event, Registry, Stream, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Write};

/// A registry, whatever its index in a stream: name and version.
type Identity = (String, Version);

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
    registry: Identity,
    kind: String,
    name: String,
    count: Count,
}

/// Counts of the events seen.
#[derive(Default)]
pub(crate) struct Stats {
    /// By index of the registry, code and stream.
    types: BTreeMap<(u16, u16, u16), TypeCount>,
    /// By stream, buffer and thread: a thread may have the buffer of one that ended.
    buffers: BTreeMap<(u16, u32, u32), Count>,
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
        let key = (event.registry.index, event.code(), event.stream);
        let found = self.types.entry(key).or_insert_with(|| TypeCount {
            registry: identity(event.registry),
            kind: kind_name(event.registry, event.kind),
            name: event.name().to_owned(),
            count: Count::default(),
        });
        found.count.add(one);
        self.buffers.entry((event.stream, event.buffer, event.thread)).or_default().add(one);
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

    /// The account of a buffer all of whose events were asked for: what the headers promised and
    /// is not here counts as lost.
    pub(crate) fn settled(&self, account: &Account) -> Account {
        let (stream, buffer) = (account.stream, account.buffer);
        let threads = self.buffers.range((stream, buffer, 0)..=(stream, buffer, u32::MAX));
        let found: u64 = threads.map(|(_, count)| count.events).sum();
        let missing = account.found.saturating_sub(found);
        Account { lost: account.lost.saturating_add(missing), ..*account }
    }

    /// Writes what was counted, and what is lost by these accounts; `fault_count` faults were
    /// found.
    pub(crate) fn write(
        &self,
        streams: &[Stream],
        registries: &[Registry],
        accounts: &[Account],
        fault_count: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut total = Count::default();
        self.types.values().for_each(|found| total.add(found.count));
        writeln!(out, "{} events, {} bytes", total.events, total.bytes)?;
        self.write_streams(streams, out)?;
        let prefixes = prefixes(registries);
        let prefix = |registry: &Identity| prefixes.get(registry).map_or("", String::as_str);
        let mut kinds: BTreeMap<(u16, &str, &str), Count> = BTreeMap::new();
        let mut types: Vec<(String, Count)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (&(index, code, _), found) in &self.types {
            let prefix = prefix(&found.registry);
            kinds.entry((index, prefix, &found.kind)).or_default().add(found.count);
            let code = (found.name == "?").then(|| format!("{code:04X}"));
            let name = format!("{prefix}{}", code.as_ref().unwrap_or(&found.name));
            let place = *places.entry(name.clone()).or_insert(types.len());
            match types.get_mut(place) {
                Some((_, count)) => count.add(found.count),
                None => types.push((name, found.count)),
            }
        }
        let mut by_kind = Table::new(1, &["kind", "events", "bytes"]);
        for ((_, prefix, kind), count) in kinds {
            by_kind.row(cells(format!("{prefix}{kind}"), count));
        }
        let mut by_type = Table::new(1, &["event type", "events", "bytes"]);
        types.sort_by_key(|(_, count)| std::cmp::Reverse(count.events));
        types.into_iter().for_each(|(name, count)| by_type.row(cells(name, count)));
        for table in [by_kind, by_type, self.by_thread(streams.len() > 1)] {
            if !table.is_empty() {
                write!(out, "\n{table}")?;
            }
        }
        self.write_losses(registries, accounts, fault_count, out)
    }

    fn by_thread(&self, is_stream_shown: bool) -> Table {
        let mut threads: BTreeMap<(u16, u32), Count> = BTreeMap::new();
        for (&(stream, _, thread), &count) in &self.buffers {
            threads.entry((stream, thread)).or_default().add(count);
        }
        let mut by_thread = Table::new(1, &["thread", "events", "bytes"]);
        for (key, count) in threads {
            by_thread.row(cells(self.thread_name(key, is_stream_shown), count));
        }
        by_thread
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
            if stream.parent != [0; 16] {
                let parent = Uuid(&stream.parent);
                write!(out, ", forked by process {} with stream {parent}", stream.parent_pid)?;
            }
            let times = u16::try_from(index).ok().and_then(|index| self.times.get(&index));
            if let Some(&(first, last)) = times {
                write!(out, ", {} ticks", last - first)?;
                if let Some(seconds) = seconds(stream, first, last) {
                    write!(out, " ({seconds:.6} s)")?;
                }
            }
            write_volumes(stream, out)?;
            if let Some(next) = stream.next_volume {
                write!(out, "; goes on in volume {next}")?;
            } else if !stream.closed {
                // `.read.end`: no fault, but worth knowing of a program that was killed.
                write!(out, "; not closed: the program was stopped, or still runs")?;
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
        fault_count: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let prefixes = prefixes(registries);
        let name = |registry: &Registry, kind: u8| {
            let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
            (registry.index, format!("{prefix}{}", kind_name(registry, kind)))
        };
        let causes = ["full", "nested", "large", "io", "lost", "overwritten"];
        let mut lost: BTreeMap<(u16, String), [u64; 6]> = BTreeMap::new();
        for account in accounts {
            let Some(registry) = registries.get(account.registry as usize) else { continue };
            let counts = [
                account.discarded_full.into(),
                account.discarded_nested.into(),
                account.discarded_large.into(),
                account.discarded_io.into(),
                account.lost,
                account.overwritten,
            ];
            let sums = lost.entry(name(registry, account.kind)).or_default();
            let sums = sums.iter_mut().zip(counts);
            sums.for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
        for (&[stream, registry, kind, cause], &count) in &self.discarded {
            let found = registries.iter().find(|found| {
                u64::from(found.stream) == stream && u64::from(found.index) == registry
            });
            let kind = u8::try_from(kind).unwrap_or(u8::MAX);
            let unknown = || (u16::MAX, format!("{registry}:{kind}"));
            let sums = lost.entry(found.map_or_else(unknown, |found| name(found, kind)));
            let cause = usize::try_from(cause).unwrap_or(usize::MAX);
            if let Some(sum) = sums.or_default().get_mut(cause) {
                *sum = sum.saturating_add(count);
            }
        }
        lost.retain(|_, counts| counts.iter().any(|&count| count > 0));
        if lost.is_empty() {
            return match fault_count {
                0 => writeln!(out, "\nnothing is known to be lost"),
                1 => writeln!(out, "\n1 fault was found, which may have cost events"),
                _ => writeln!(out, "\n{fault_count} faults were found, which may have cost events"),
            };
        }
        let mut table = Table::new(1, &[&["not in the log"], causes.as_slice()].concat());
        for ((_, kind), counts) in lost {
            let mut row = vec![kind];
            row.extend(counts.map(|count| count.to_string()));
            table.row(row);
        }
        write!(out, "\n{table}")
    }
}

/// A UUID as it is written: 8-4-4-4-12 hexadecimal digits.
struct Uuid<'a>(&'a [u8; 16]);

impl std::fmt::Display for Uuid<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// How long it is from one time to another, if the stream says it: by its clock syncs, else by the
/// Which volumes of a stream are here, if it has several (`.header.volume`).
fn write_volumes(stream: &Stream, out: &mut dyn Write) -> io::Result<()> {
    match stream.volumes {
        (0, 0) if stream.next_volume.is_none() => Ok(()),
        (first, last) if first == last => write!(out, ", volume {first}"),
        (first, last) => write!(out, ", volumes {first} to {last}"),
    }
}

/// stated rate.
fn seconds(stream: &Stream, first: u64, last: u64) -> Option<f64> {
    if let (Some(first), Some(last)) = (stream.wall_time(first), stream.wall_time(last)) {
        return Some(last.realtime.checked_sub(first.realtime)? as f64 / 1e9);
    }
    (stream.clock_rate > 0).then(|| (last - first) as f64 / stream.clock_rate as f64)
}

fn identity(registry: &Registry) -> Identity {
    (registry.name.to_string(), registry.version)
}

/// What stands before the names of each registry, where there may be others of those names: its
/// index, if it has the same in all streams and shares it with none, else its name and version.
fn prefixes(registries: &[Registry]) -> HashMap<Identity, String> {
    let mut indices: HashMap<Identity, BTreeSet<u16>> = HashMap::new();
    let mut sharers: HashMap<u16, HashSet<Identity>> = HashMap::new();
    for registry in registries {
        indices.entry(identity(registry)).or_default().insert(registry.index);
        sharers.entry(registry.index).or_default().insert(identity(registry));
    }
    let prefix = |(registry, indices): (Identity, BTreeSet<u16>)| {
        let is_shared = |index| sharers.get(index).is_some_and(|sharers| sharers.len() > 1);
        let prefix = match indices.first() {
            _ if indices.len() > 1 || indices.iter().any(is_shared) => {
                format!("{} {}:", registry.0, registry.1)
            }
            Some(&index) if index > 1 => format!("{index}:"),
            _ => String::new(),
        };
        (registry, prefix)
    };
    indices.into_iter().map(prefix).collect()
}

fn kind_name(registry: &Registry, kind: u8) -> String {
    registry.kind(kind).map_or_else(|| "?".to_owned(), |kind| kind.name.to_string())
}

fn cells(name: String, count: Count) -> Vec<String> {
    vec![name, count.events.to_string(), count.bytes.to_string()]
}
