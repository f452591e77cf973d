//! An event in memory as a line of text: its age, its thread, its name, its parameters.
//!
//! ```text
//!      -0.000012345 s  1 main      PoolAlloc pool:00007F…4000["a pool"] size:0000000000000010
//!       age             thread     registry ─ layout of parameters ─ store: labels and strings
//! ```
//!
//! The registries in the program give the meaning of events, and `eventdef`'s layout the places of
//! parameters. Allocates nothing, and takes no lock. Design: `.sol.traceback` in
//! `design/telemetry.md`; `.event.params`, `.event.string`, `.store.label` in `design/format.md`.

use crate::block::root;
use crate::block::walk::Spot;
use crate::inspect::history::{self, Recalled};
use crate::os::report::{self, Line};
use bytemuck::AnyBitPattern;
use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU64, Ordering};
use eventdef::layout::param_offset;
use eventdef::{Event, EventType, Sort, store};
use eventlog::format::text::is_steering;

/// The longest shown part of an event, in bytes: all parameters except a long string.
pub(crate) const EVENT_SIZE_SHOWN: usize = 4096;
/// The longest line, in bytes.
pub(crate) const LINE_SIZE_MAX: usize = 4 * EVENT_SIZE_SHOWN;
/// The greatest number of store events that a search for one name reads.
pub(crate) const STORE_STEP_MAX: usize = 100_000;
const THREAD_WIDTH: usize = 15;
/// The longest shown part of a name, in bytes.
const NAME_SIZE_SHOWN: usize = 128;
const WORD_SIZE: usize = size_of::<usize>();

/// Ticks and ns when the process began to record: they give the rate of the clock.
static START: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Notes the time when the process begins to record.
pub(crate) fn prepare() {
    let sync = root::sync();
    START[0].store(sync.ticks, Ordering::Relaxed);
    START[1].store(sync.monotonic, Ordering::Relaxed);
}

/// The instant that ages are counted from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) ticks: u64,
    monotonic: u64,
}

impl Now {
    pub(crate) fn read() -> Now {
        let sync = root::sync();
        Now { ticks: sync.ticks, monotonic: sync.monotonic }
    }

    /// Returns the age of an instant, in ns: ticks between two clock syncs (`.time.interpolate`).
    fn age(self, then: u64) -> u64 {
        let [ticks, monotonic] = [0, 1].map(|index| START[index].load(Ordering::Relaxed));
        let span = self.ticks.saturating_sub(ticks).max(1);
        let time = self.monotonic.saturating_sub(monotonic);
        let ago = u128::from(self.ticks.saturating_sub(then));
        u64::try_from(ago * u128::from(time) / u128::from(span)).unwrap_or(u64::MAX)
    }
}

/// Finds the newest event of the store with this code that is not after this time, and whose first
/// word is this.
pub(crate) type Find<'a> = dyn Fn(u16, u64, u64) -> Option<Spot> + 'a;

/// Finds it by reading one event after the other.
pub(crate) fn scan(code: u16, ticks: u64, first: u64) -> Option<Spot> {
    let spots = history::of_store().take(STORE_STEP_MAX);
    let is_it = |spot: &Spot| first_word(spot) == Some((code, first));
    spots.filter(|spot| spot.ticks <= ticks).find(is_it)
}

/// Returns the code and the first word of an event of the store.
pub(crate) fn first_word(spot: &Spot) -> Option<(u16, u64)> {
    let mut begin = [0; 16];
    let event = spot.read(&mut begin)?;
    Some((event.code, word(event.bytes, 8)?))
}

/// Writes the event at a spot; `bytes` is a buffer for it.
pub(crate) fn write_spot(
    out: &mut dyn fmt::Write,
    spot: &Spot,
    bytes: &mut [u8],
    now: Now,
    find: &Find<'_>,
) -> fmt::Result {
    match spot.read(bytes) {
        Some(event) => write_event(out, spot.ticks, &event, now, find),
        None => {
            write_age(out, now.age(spot.ticks))?;
            out.write_str("overwritten meanwhile")
        }
    }
}

pub(crate) fn write_event(
    out: &mut dyn fmt::Write,
    ticks: u64,
    event: &Recalled<'_>,
    now: Now,
    find: &Find<'_>,
) -> fmt::Result {
    write_age(out, now.age(ticks))?;
    write_thread(out, event.thread, find)?;
    match event.event_type() {
        Some(event_type) => write_params(out, event_type, event, ticks, find),
        None => write!(out, "event {:04X}", event.code),
    }
}

fn write_age(out: &mut dyn fmt::Write, age: u64) -> fmt::Result {
    let (seconds, rest) = (age / 1_000_000_000, age % 1_000_000_000);
    let width = 5usize.saturating_sub(seconds.checked_ilog10().unwrap_or(0) as usize);
    write!(out, "{:>width$}{seconds}.{rest:09} s  ", "-")
}

fn write_thread(out: &mut dyn fmt::Write, thread: u32, find: &Find<'_>) -> fmt::Result {
    write!(out, "{thread} ")?;
    let (mut bytes, mut name) = ([0; NAME_SIZE_SHOWN], [0; 65]);
    let mut name = Line::new(&mut name);
    let _ = thread_name(thread, &mut bytes, find, &mut |text| {
        // A name that is too long is cut.
        let _ = write!(name, "{}", report::Text(text));
    });
    write!(out, "{:THREAD_WIDTH$} ", name.text())
}

/// Passes on the name of a thread, if it is known; `bytes` is a buffer for the event with the name.
pub(crate) fn thread_name(
    thread: u32,
    bytes: &mut [u8],
    find: &Find<'_>,
    take: &mut dyn FnMut(&[u8]),
) -> Option<()> {
    let spot = find(store::Thread::TYPE.code, u64::MAX, thread.into())?;
    take(string(&spot.read(bytes)?, store::Thread::TYPE));
    Some(())
}

fn write_params(
    out: &mut dyn fmt::Write,
    event_type: &EventType,
    event: &Recalled<'_>,
    ticks: u64,
    find: &Find<'_>,
) -> fmt::Result {
    out.write_str(event_type.name)?;
    for (index, param) in event_type.params.iter().enumerate() {
        write!(out, " {}:", param.name)?;
        if param.sort == Sort::S {
            write_quoted(out, string(event, event_type))?;
            out.write_str(if event.is_cut { "…" } else { "" })?;
            continue;
        }
        // The event is as large as its type requires, because this program recorded it.
        let Some(value) = value(event_type, index, event.bytes) else {
            return out.write_str("?");
        };
        let digits = WORD_SIZE * 2;
        match param.sort {
            Sort::B => out.write_str(if value != 0 { "True" } else { "False" })?,
            Sort::U => write!(out, "{value}")?,
            Sort::D => write!(out, "{:?}", f64::from_bits(value))?,
            _ => write!(out, "{value:0digits$X}")?,
        }
        if matches!(param.sort, Sort::P | Sort::A) {
            write_label(out, value, ticks, find)?;
        }
    }
    Ok(())
}

/// Returns the parameter of this index, as bits, unless it is a string.
pub(crate) fn value(event_type: &EventType, index: usize, bytes: &[u8]) -> Option<u64> {
    let at = param_offset(event_type.params, index, WORD_SIZE);
    match event_type.params.get(index)?.sort {
        Sort::B => bytes.get(at).map(|byte| u64::from(*byte)),
        Sort::U => read::<u32>(bytes, at).map(u64::from),
        Sort::D => read(bytes, at),
        Sort::P | Sort::A | Sort::W => word(bytes, at),
        Sort::S => None,
    }
}

/// Writes the label of an address at that time, if it had one (`.store.label`).
fn write_label(out: &mut dyn fmt::Write, address: u64, ticks: u64, find: &Find<'_>) -> fmt::Result {
    let mut bytes = [0; NAME_SIZE_SHOWN];
    let label = find(store::Label::TYPE.code, ticks, address);
    let id = label
        .and_then(|spot| value(store::Label::TYPE, 1, spot.read(&mut bytes)?.bytes))
        .unwrap_or(0);
    if id == 0 {
        return Ok(());
    }
    let intern = find(store::Intern::TYPE.code, u64::MAX, id);
    let Some(event) = intern.and_then(|spot| spot.read(&mut bytes)) else { return Ok(()) };
    out.write_str("[")?;
    write_quoted(out, string(&event, store::Intern::TYPE))?;
    out.write_str(if event.is_cut { "…]" } else { "]" })
}

/// Returns the string of an event, which is its last parameter (`.event.string`).
pub(crate) fn string<'a>(event: &Recalled<'a>, event_type: &EventType) -> &'a [u8] {
    let at = param_offset(event_type.params, event_type.params.len() - 1, WORD_SIZE);
    let string = event.bytes.get(at..).unwrap_or_default();
    let padding = if event.is_cut { 0 } else { string.last().map_or(0, |byte| *byte as usize + 1) };
    &string[..string.len().saturating_sub(padding)]
}

fn write_quoted(out: &mut dyn fmt::Write, string: &[u8]) -> fmt::Result {
    out.write_str("\"")?;
    for piece in string.utf8_chunks() {
        for c in piece.valid().chars() {
            match c {
                '"' | '\\' => write!(out, "\\{c}")?,
                c if is_steering(c) => {
                    let mut bytes = [0; 4];
                    c.encode_utf8(&mut bytes)
                        .bytes()
                        .try_for_each(|b| write!(out, "\\x{b:02X}"))?;
                }
                c => out.write_char(c)?,
            }
        }
        if !piece.invalid().is_empty() {
            out.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    out.write_str("\"")
}

fn read<T: AnyBitPattern>(bytes: &[u8], at: usize) -> Option<T> {
    bytes.get(at..at + size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    read::<usize>(bytes, at).map(|word| word as u64)
}
