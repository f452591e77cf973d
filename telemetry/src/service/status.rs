//! The state of the runtime: `status()` returns it, and `eventcnv control PID status` prints it.
//!
//! ```text
//!  stream ─ rings ─ threads ─ clock ─ losses ─▶ Status ─▶ key: value ⏎ …
//!  each registry: its masks, its losses       ─▶ RegistryStatus
//! ```
//!
//! It waits for no lock, so it answers even while the host accepts nothing; and allocates nothing.
//! Design: `.control.status` in `design/telemetry.md`.

use crate::block::{clock, identity, memory};
use crate::offered::Losses;
use crate::os::sys;
use crate::plinth::PlinthError;
use crate::registry::registration::{self, Registered};
use crate::rings::thread;
use crate::service::flush;
use crate::store::intern;
use crate::stream::{self, account, volume, writer};
use core::fmt::{self, Write};
use core::sync::atomic::Ordering;
use eventdef::Registry;
use eventlog::format::text::{OneLine, OneLineWriter};

pub use crate::stream::Standing;
pub use eventlog::format::ClockSource;

/// The longest shown part of a registry's name, in bytes.
const NAME_SIZE_MAX: usize = 256;

/// The state of the runtime: see [`status`]. The counts of several threads are read one after the
/// other while the threads go on, so they may differ by the latest events.
///
/// Its text is lines of key and value (`.control.status`), including those of all registries.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The process identifier.
    pub pid: u64,
    /// The file name of the program, padded with zeros.
    pub program: [u8; 128],
    /// The UUID of the stream, or of the next one.
    pub uuid: [u8; 16],
    /// The state of the stream.
    pub standing: Standing,
    /// The number of the current file, if the stream is in several files.
    pub volume: u64,
    /// The size of a block, in bytes.
    pub block_size: usize,
    /// The number of event blocks that the host accepted whole.
    pub block_count: u64,
    /// The bytes that the host accepted, in blocks and otherwise.
    pub size: u64,
    /// The number of the host's failures.
    pub error_count: u64,
    /// The last failure.
    pub last_error: Option<LastError>,
    /// The events of all registries, and the losses by cause.
    pub losses: Losses,
    /// The same for interned strings, labels and the rest of the store.
    pub store_losses: Losses,
    /// The number of threads that recorded, including threads that ended.
    pub thread_count: u32,
    /// The rings of all threads.
    pub rings: Rings,
    /// The source of ticks.
    pub clock_source: ClockSource,
    /// Ticks per second, if the platform states it; else 0.
    pub clock_rate: u64,
    /// What writes full blocks.
    pub writer: Writer,
}

/// A failure of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastError {
    /// The failure.
    pub error: PlinthError,
    /// Its time, in ns since 1970-01-01 00:00:00 UTC.
    pub time: u64,
}

/// The rings of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rings {
    /// The number of rings: one for each thread and kind that it records.
    pub count: usize,
    /// The number of rings whose threads ended, which wait for new threads.
    pub free_count: usize,
    /// The number of their blocks.
    pub block_count: usize,
    /// The size of these blocks, in bytes.
    pub size: usize,
}

/// What writes full blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writer {
    /// The thread that fills them.
    None,
    /// A thread of the runtime.
    Thread,
}

/// The state of a registry: see [`Status::registries`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RegistryStatus {
    /// Its index in the stream.
    pub index: u16,
    /// The registry.
    pub registry: &'static Registry,
    /// The kinds that are recorded in memory.
    pub recorded: u64,
    /// The kinds that are output.
    pub output: u64,
    /// Its events, and the losses by cause.
    pub losses: Losses,
}

/// Returns the state of the stream and its host, the losses, the rings, and the clock.
///
/// ```
/// println!("{}", telemetry::status());
/// assert_eq!(telemetry::status().error_count, 0);
/// ```
pub fn status() -> Status {
    let mut program = [0; 128];
    sys::program_name(&mut program);
    let (block_count, size) = account::written();
    let (error_count, error, time) = account::errors();
    Status {
        pid: sys::process_ids().0,
        program,
        uuid: identity::uuid(),
        standing: stream::standing(),
        volume: volume::number(),
        block_size: memory::block_size(),
        block_count,
        size,
        error_count,
        last_error: (error_count != 0).then_some(LastError { error, time }),
        losses: flush::losses(),
        store_losses: intern::losses_so_far(),
        thread_count: thread::count(),
        rings: rings(),
        clock_source: clock::source(),
        clock_rate: clock::rate(),
        writer: if writer::is_running() { Writer::Thread } else { Writer::None },
    }
}

fn rings() -> Rings {
    let mut rings = Rings::default();
    for ring in thread::rings() {
        let (is_free, block_count) = ring.extent();
        rings.count += 1;
        rings.free_count += usize::from(is_free);
        rings.block_count += block_count;
    }
    rings.size = rings.block_count * memory::block_size();
    rings
}

impl Status {
    /// Returns the registries of the program, in their current state.
    pub fn registries(&self) -> impl Iterator<Item = RegistryStatus> {
        registration::all().skip(1).map(RegistryStatus::of)
    }

    /// Returns the name of the log, as `describe` of its plinth gives it.
    pub fn log(&self) -> impl fmt::Display {
        Log
    }
}

impl RegistryStatus {
    pub(crate) fn of(registered: &'static Registered) -> RegistryStatus {
        let control = registered.control;
        RegistryStatus {
            index: registered.index,
            registry: control.registry,
            recorded: control.recorded().load(Ordering::Relaxed),
            output: control.output().load(Ordering::Relaxed),
            losses: flush::losses_of_slots(registered.slots_of(u64::MAX)),
        }
    }

    /// Writes the lines about a registry's name and masks, for some of its kinds.
    pub(crate) fn write_masks(&self, kinds: u64, f: &mut dyn Write) -> fmt::Result {
        let Registry { name, version, .. } = self.registry;
        let name = name.as_bytes();
        let name = OneLine(name.get(..NAME_SIZE_MAX).unwrap_or(name));
        writeln!(f, "registry.{}: {name} {version}", self.index)?;
        for (key, mask) in
            [("kinds", u64::MAX), ("recorded", self.recorded), ("output", self.output)]
        {
            write!(f, "registry.{}.{key}:", self.index)?;
            let chosen = |index: u8| mask & kinds & 1 << index != 0;
            let mut names = self.registry.kinds.iter().filter(|kind| chosen(kind.index)).peekable();
            // A hyphen: a kind cannot have this name.
            f.write_str(if names.peek().is_none() { " -" } else { "" })?;
            names.try_for_each(|kind| write!(f, " {}", kind.name))?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

impl fmt::Display for RegistryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_masks(u64::MAX, f)?;
        let Losses { requested, recorded, overwritten, full, nested, large, io } = self.losses;
        writeln!(
            f,
            "registry.{}.events: requested {requested}, recorded {recorded}, overwritten \
             {overwritten}, full {full}, nested {nested}, large {large}, io {io}",
            self.index
        )
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Head(self))?;
        self.registries().try_for_each(|registry| write!(f, "{registry}"))
    }
}

/// The lines of a status without those of registries.
pub(crate) struct Head<'a>(pub(crate) &'a Status);

impl fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let end = status.program.iter().position(|byte| *byte == 0);
        let program = &status.program[..end.unwrap_or(status.program.len())];
        writeln!(f, "pid: {}", status.pid)?;
        writeln!(f, "program: {}", OneLine(program))?;
        writeln!(f, "stream: {}", Uuid(status.uuid))?;
        write_log(f)?;
        writeln!(f, "volume: {}", status.volume)?;
        writeln!(f, "block-size: {}", status.block_size)?;
        writeln!(f, "blocks: {}", status.block_count)?;
        writeln!(f, "bytes: {}", status.size)?;
        writeln!(f, "errors: {}", status.error_count)?;
        match status.last_error {
            None => f.write_str("last-error: -\nlast-error-time: -\n")?,
            Some(LastError { error, time }) => {
                writeln!(f, "last-error: {error}\nlast-error-time: {}", Date(time))?;
            }
        }
        write_losses(f, "", &status.losses)?;
        write_losses(f, "store-", &status.store_losses)?;
        writeln!(f, "threads: {}", status.thread_count)?;
        let Rings { count, free_count, block_count, size } = status.rings;
        writeln!(f, "rings: {count}\nrings-free: {free_count}")?;
        writeln!(f, "ring-blocks: {block_count}\nring-bytes: {size}")?;
        writeln!(f, "clock: {}", clock_name(status.clock_source))?;
        match status.clock_rate {
            0 => f.write_str("clock-rate: -\n")?,
            rate => writeln!(f, "clock-rate: {rate}")?,
        }
        let is_thread = status.writer == Writer::Thread;
        writeln!(f, "writer: {}", if is_thread { "thread" } else { "none" })
    }
}

/// Writes the state of the stream and the name of the log.
pub(crate) fn write_log(f: &mut dyn Write) -> fmt::Result {
    let standing = match stream::standing() {
        Standing::None => "none",
        Standing::Open => "open",
        Standing::Failed => "failed",
        Standing::Left => "left",
    };
    write!(f, "standing: {standing}\nlog: ")?;
    write!(OneLineWriter(f), "{Log}")?;
    f.write_char('\n')
}

fn write_losses(f: &mut dyn Write, prefix: &str, losses: &Losses) -> fmt::Result {
    let Losses { requested, recorded, overwritten, full, nested, large, io } = *losses;
    writeln!(f, "{prefix}requested: {requested}")?;
    writeln!(f, "{prefix}recorded: {recorded}")?;
    writeln!(f, "{prefix}overwritten: {overwritten}")?;
    writeln!(f, "{prefix}lost: {}", full + nested + large + io)?;
    writeln!(f, "{prefix}lost-full: {full}\n{prefix}lost-nested: {nested}")?;
    writeln!(f, "{prefix}lost-large: {large}\n{prefix}lost-io: {io}")
}

/// The name of the log; a hyphen if none exists yet.
struct Log;

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match stream::plinth() {
            Some(plinth) => plinth.describe(f),
            None => f.write_char('-'),
        }
    }
}

fn clock_name(source: ClockSource) -> &'static str {
    match source {
        ClockSource::Tsc => "x86 time-stamp counter",
        ClockSource::ArmTimer => "Arm generic timer",
        ClockSource::Monotonic => "CLOCK_MONOTONIC",
        ClockSource::C => "C clock()",
    }
}

/// A UUID in its usual form, with hyphens.
struct Uuid([u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            f.write_str(if [4, 6, 8, 10].contains(&index) { "-" } else { "" })?;
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// An instant, in ns since 1970, as date and time (UTC).
struct Date(u64);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, milliseconds) = (self.0 / 1_000_000_000, self.0 / 1_000_000 % 1000);
        let second = seconds % 86_400;
        // In years that begin in March a leap day is the last day, and 400 of them repeat.
        let (era, day) =
            ((seconds / 86_400 + 719_468) / 146_097, (seconds / 86_400 + 719_468) % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (year, month) = (era * 400 + year + month / 10, (month + 2) % 12 + 1);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T")?;
        write!(f, "{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_as_its_date() {
        let date =
            |seconds: u64, ms: u64| Date(seconds * 1_000_000_000 + ms * 1_000_000).to_string();
        assert_eq!(date(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(date(951_782_400, 7), "2000-02-29T00:00:00.007Z");
        assert_eq!(date(951_868_800, 0), "2000-03-01T00:00:00.000Z");
        assert_eq!(date(1_735_689_599, 999), "2024-12-31T23:59:59.999Z");
        assert_eq!(date(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_uuid_is_shown_in_its_usual_form() {
        let uuid = Uuid(core::array::from_fn(|index| index as u8 * 17));
        assert_eq!(uuid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    }

    /// `.control.status`
    #[test]
    fn each_line_is_a_unique_key_and_its_value() {
        let text = status().to_string();
        let keys: Vec<_> = text.lines().map(|line| line.split_once(": ").expect(line).0).collect();
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert!(keys.len() > 30 && distinct.len() == keys.len(), "{text}");
        assert!(keys.iter().all(|key| !key.contains(' ') && *key != "error"), "{text}");
    }
}
