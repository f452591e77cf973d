//! The traceback: the last events of all threads as text, newest last, from memory.
//!
//! ```text
//!  panic ─▶ the hook that was there ─▶ ours: history, oldest first ─ registry ─▶ a line an event
//!      -0.000012345 s  1 main      PoolAlloc pool:00007F…4000["a pool"] size:0000000000000010
//! ```
//!
//! What events mean is known from the registries in the program, and where their parameters lie
//! from `eventdef`'s layout. Allocates nothing. Design: `.sol.traceback` in `design/telemetry.md`;
//! `.event.params`, `.event.string`, `.store.label` in `design/format.md`.

use crate::history::{self, Recalled, Spot};
use crate::sync::{Entry, Locked};
use crate::{clock, memory, names, report, sys};
use core::ffi::CStr;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use eventdef::layout::param_offset;
use eventdef::{Event, EventType, Sort, store};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

/// The environment variable that says how many events a panic shows.
const TRACEBACK_VARIABLE: &CStr = c"MPS_TELEMETRY_TRACEBACK";
/// Events of a traceback, at most.
pub const TRACEBACK_COUNT_MAX: usize = 1024;
/// Bytes of an event that are shown, at most: all parameters but a long string.
const EVENT_SIZE_SHOWN: usize = 4096;
/// Events of the store that are looked at for the name of one thing, at most.
const STORE_STEP_MAX: usize = 100_000;
/// Columns of the name of a thread.
const THREAD_WIDTH: usize = 15;
const WORD_SIZE: usize = size_of::<usize>();

/// How many events a panic shows; 0: none.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Ticks and ns when the process began to record, from which the rate of the clock is known.
static START: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static IS_HOOKED: AtomicBool = AtomicBool::new(false);
static ROOM: Locked<Option<Room>> = Locked::new(None);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;
static HOOK_BEFORE: OnceLock<Hook> = OnceLock::new();

/// The memory of a traceback.
struct Room {
    spots: &'static mut [Spot],
    event: &'static mut [u8],
    text: &'static mut [u8],
}

/// Does what the environment says, before the first event.
pub(crate) fn prepare() {
    let sync = clock::sync();
    START[0].store(sync.ticks, Ordering::Relaxed);
    START[1].store(sync.monotonic, Ordering::Relaxed);
    let count = sys::with_environment(TRACEBACK_VARIABLE, |value| {
        let value = value.filter(|value| !value.is_empty())?;
        let count = names::number(value).and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_TRACEBACK: `{value}` is no number of events; a panic shows none"
            ));
        }
        count
    });
    COUNT.store(count.unwrap_or(0).min(TRACEBACK_COUNT_MAX), Ordering::Relaxed);
    hook();
}

/// Has panics show the last events, once they have shown what they show; at a later registration,
/// where the thread is panicking just now.
pub(crate) fn hook() {
    let is_wanted = COUNT.load(Ordering::Relaxed) != 0 && !std::thread::panicking();
    if !is_wanted || IS_HOOKED.swap(true, Ordering::Relaxed) {
        return;
    }
    let before = std::panic::take_hook();
    let _ = HOOK_BEFORE.set(before);
    // It holds nothing, so that nothing is allocated for it.
    std::panic::set_hook(Box::new(|info| {
        if let Some(before) = HOOK_BEFORE.get() {
            before(info);
        }
        on_panic();
    }));
}

fn on_panic() {
    let count = COUNT.load(Ordering::Relaxed);
    let mut out = ErrorLines;
    let _ = write(count, &mut out);
}

/// Shows the last events of all threads that are still in memory, output or not, at most so many
/// (and at most [`TRACEBACK_COUNT_MAX`]), newest last: an event a line, with its age, its thread,
/// its name, and its parameters. Other threads go on meanwhile.
///
/// ```
/// let mut text = String::new();
/// telemetry::traceback(20, &mut text)?;
/// assert!(text.starts_with("telemetry: "));
/// # Ok::<(), std::fmt::Error>(())
/// ```
pub fn traceback(count: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    write(count.min(TRACEBACK_COUNT_MAX), out)
}

fn write(count: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    let entry = Entry::new();
    let mut room = ROOM.lock(&entry);
    if let Some(room) = &mut room
        && room.is_none()
    {
        **room = make_room();
    }
    let Some(Room { spots, event, text }) = room.as_deref_mut().and_then(Option::as_mut) else {
        return out.write_str("telemetry: no memory for the last events\n");
    };
    let count = history::newest(&mut spots[..count], None);
    let now = clock::sync();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "telemetry: the last {count} event{plural} in memory, newest last:")?;
    for spot in &spots[..count] {
        let mut line = Line { text, size: 0 };
        // What is too long is cut.
        let _ = write_event(&mut line, spot, event, now.ticks, now.monotonic);
        let size = line.size;
        out.write_str(core::str::from_utf8(&text[..size]).unwrap_or_default())?;
        out.write_str("\n")?;
    }
    Ok(())
}

fn make_room() -> Option<Room> {
    let spots = memory::map_bytes(TRACEBACK_COUNT_MAX * size_of::<Spot>())?;
    let event = memory::map_bytes(EVENT_SIZE_SHOWN)?;
    let text = memory::map_bytes(4 * EVENT_SIZE_SHOWN)?;
    Some(Room { spots: bytemuck::cast_slice_mut(spots), event, text })
}

/// A line that is put together in memory.
struct Line<'a> {
    text: &'a mut [u8],
    size: usize,
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let size = text.floor_char_boundary(self.text.len() - self.size);
        self.text[self.size..self.size + size].copy_from_slice(&text.as_bytes()[..size]);
        self.size += size;
        if size == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Standard error, as it is.
struct ErrorLines;

impl Write for ErrorLines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        sys::write_error(text.as_bytes());
        Ok(())
    }
}

fn write_event(
    out: &mut dyn fmt::Write,
    spot: &Spot,
    bytes: &mut [u8],
    ticks: u64,
    monotonic: u64,
) -> fmt::Result {
    let age = age(spot.ticks, ticks, monotonic);
    write!(out, "{:>6}.{:09} s  ", Negative(age / 1_000_000_000), age % 1_000_000_000)?;
    let Some(event) = spot.read(bytes) else {
        return out.write_str("overwritten meanwhile");
    };
    write_thread(out, event.thread)?;
    let types = event.registry.map_or(&[][..], |registry| registry.event_types);
    let Ok(index) = types.binary_search_by_key(&event.code, |each| each.code) else {
        return write!(out, "event {:04X}", event.code);
    };
    write_params(out, &types[index], &event, spot.ticks)
}

/// A number with a minus before it.
struct Negative(u64);

impl fmt::Display for Negative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.checked_ilog10().unwrap_or(0) as usize + 1;
        let width = f.width().unwrap_or(0).saturating_sub(digits);
        write!(f, "{:>width$}{}", "-", self.0)
    }
}

/// How many ns ago it was: ticks between two clock syncs (`.time.interpolate`).
fn age(then: u64, ticks: u64, monotonic: u64) -> u64 {
    let [start_ticks, start] = [0, 1].map(|index| START[index].load(Ordering::Relaxed));
    let (span, time) = (ticks.saturating_sub(start_ticks), monotonic.saturating_sub(start));
    let age = u128::from(ticks.saturating_sub(then)) * u128::from(time) / u128::from(span.max(1));
    u64::try_from(age).unwrap_or(u64::MAX)
}

fn write_thread(out: &mut dyn fmt::Write, thread: u32) -> fmt::Result {
    let mut bytes = [0; 128];
    write!(out, "{thread} ")?;
    let mut name = Line { text: &mut [0; 64], size: 0 };
    let found = find_in_store(&mut bytes, store::Thread::TYPE.code, u64::MAX, thread as usize);
    if let Some(event) = found {
        let _ = write!(name, "{}", report::Text(string(&event, store::Thread::TYPE)));
    }
    let name = core::str::from_utf8(&name.text[..name.size]).unwrap_or_default();
    write!(out, "{name:THREAD_WIDTH$} ")
}

/// The newest event of the store of a type whose first word is this, and which is not after that
/// time.
fn find_in_store(bytes: &mut [u8], code: u16, ticks: u64, first: usize) -> Option<Recalled<'_>> {
    let spots = history::of_store().take(STORE_STEP_MAX);
    let mut begin = [0; 16];
    let found = spots.filter(|spot| spot.ticks <= ticks).find(|spot| {
        let read = spot.read(&mut begin);
        read.is_some_and(|event| event.code == code && word(event.bytes, 8) == Some(first as u64))
    });
    found?.read(bytes)
}

fn write_params(
    out: &mut dyn fmt::Write,
    event_type: &EventType,
    event: &Recalled<'_>,
    ticks: u64,
) -> fmt::Result {
    out.write_str(event_type.name)?;
    for (index, param) in event_type.params.iter().enumerate() {
        let at = param_offset(event_type.params, index, WORD_SIZE);
        write!(out, " {}:", param.name)?;
        let digits = WORD_SIZE * 2;
        let value = match param.sort {
            Sort::S => {
                write_quoted(out, string(event, event_type))?;
                if event.is_cut {
                    out.write_str("…")?;
                }
                continue;
            }
            Sort::B => event.bytes.get(at).map(|byte| u64::from(*byte)),
            Sort::U => half(event.bytes, at),
            Sort::D => whole(event.bytes, at),
            Sort::P | Sort::A | Sort::W => word(event.bytes, at),
        };
        // The event is as large as its type says, for it was recorded here.
        let Some(value) = value else { return out.write_str("?") };
        match param.sort {
            Sort::B => out.write_str(if value != 0 { "True" } else { "False" })?,
            Sort::U => write!(out, "{value}")?,
            Sort::D => write!(out, "{:?}", f64::from_bits(value))?,
            _ => write!(out, "{value:0digits$X}")?,
        }
        if matches!(param.sort, Sort::P | Sort::A) {
            write_label(out, value, ticks)?;
        }
    }
    Ok(())
}

/// What an address was called then, if anything (`.store.label`).
fn write_label(out: &mut dyn fmt::Write, address: u64, ticks: u64) -> fmt::Result {
    let mut bytes = [0; 128];
    let label = store::Label::TYPE.code;
    let id = find_in_store(&mut bytes, label, ticks, address as usize)
        .and_then(|event| word(event.bytes, 8 + WORD_SIZE))
        .unwrap_or(0);
    if id == 0 {
        return Ok(());
    }
    let intern = find_in_store(&mut bytes, store::Intern::TYPE.code, u64::MAX, id as usize);
    let Some(event) = intern else { return Ok(()) };
    out.write_str("[")?;
    write_quoted(out, string(&event, store::Intern::TYPE))?;
    out.write_str(if event.is_cut { "…]" } else { "]" })
}

/// The string of an event, which is its last parameter (`.event.string`).
fn string<'a>(event: &Recalled<'a>, event_type: &EventType) -> &'a [u8] {
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
                c if c.is_control() => write!(out, "\\x{:02X}", c as u32)?,
                c => out.write_char(c)?,
            }
        }
        if !piece.invalid().is_empty() {
            out.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    out.write_str("\"")
}

fn whole(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?).into())
}

/// A word of this platform.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    if WORD_SIZE == 8 { whole(bytes, at) } else { half(bytes, at) }
}
