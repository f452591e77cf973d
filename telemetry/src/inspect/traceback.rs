//! The traceback: the last events of all threads as text, newest last, from memory.
//!
//! ```text
//!  panic ─▶ the previous hook ─▶ ours: history, oldest first ─ registry ─▶ a line an event
//!      -0.000012345 s  1 main      PoolAlloc pool:00007F…4000["a pool"] size:0000000000000010
//! ```
//!
//! Allocates nothing. Design: `.sol.traceback` in `design/telemetry.md`.

use crate::block::walk::Spot;
use crate::inspect::history;
use crate::inspect::text::{self, EVENT_SIZE_SHOWN, LINE_SIZE_MAX, Now};
use crate::os::pages::Temporary;
use crate::os::report::Line;
use crate::os::{entry::Entry, sync::Locked};
use crate::os::{report, sys};
use crate::registry::names;
use core::ffi::CStr;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

/// The environment variable with the number of events that a panic shows.
const TRACEBACK_VARIABLE: &CStr = c"MPS_TELEMETRY_TRACEBACK";
/// The greatest number of events in a traceback.
pub const TRACEBACK_COUNT_MAX: usize = 1024;

/// The number of events that a panic shows; 0: none.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static IS_HOOKED: AtomicBool = AtomicBool::new(false);
/// Held by the thread that writes a traceback.
static TURN: Locked<()> = Locked::new(());

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;
static HOOK_BEFORE: OnceLock<Hook> = OnceLock::new();

/// Applies the environment variable, before the first event.
pub(crate) fn prepare() {
    text::prepare();
    let count = sys::with_environment(TRACEBACK_VARIABLE, |value| {
        let value = value.filter(|value| !value.is_empty())?;
        let count = names::number(value).and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_TRACEBACK: `{value}` is not a number of events; a panic shows none"
            ));
        }
        if count.is_some_and(|count| count > TRACEBACK_COUNT_MAX) {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_TRACEBACK: `{value}` is more than the limit; a panic shows the last \
                 {TRACEBACK_COUNT_MAX} events"
            ));
        }
        count
    });
    COUNT.store(count.unwrap_or(0).min(TRACEBACK_COUNT_MAX), Ordering::Relaxed);
}

/// Makes panics show the last events, after the previous hook. If the thread is panicking just now,
/// a later registration does it. In ordinary code: the standard library takes a lock.
pub(crate) fn hook() {
    let is_wanted = COUNT.load(Ordering::Relaxed) != 0 && !std::thread::panicking();
    if !is_wanted || IS_HOOKED.swap(true, Ordering::Relaxed) {
        return;
    }
    let before = std::panic::take_hook();
    let _ = HOOK_BEFORE.set(before);
    // The closure captures nothing, so its box allocates nothing.
    std::panic::set_hook(Box::new(|info| {
        if let Some(before) = HOOK_BEFORE.get() {
            before(info);
        }
        let _ = traceback(COUNT.load(Ordering::Relaxed), &mut ErrorLines);
    }));
}

/// Writes the last `count` events of all threads in memory (at most [`TRACEBACK_COUNT_MAX`]),
/// output or not, newest last. Each event is a line with its age, its thread, its name, and its
/// parameters. Other threads go on meanwhile.
///
/// ```
/// let mut text = String::new();
/// telemetry::traceback(20, &mut text)?;
/// assert!(text.starts_with("telemetry: "));
/// # Ok::<(), std::fmt::Error>(())
/// ```
pub fn traceback(count: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    let entry = Entry::new();
    let _turn = TURN.lock(&entry);
    let spots = Temporary::<Spot>::map(TRACEBACK_COUNT_MAX);
    let bytes = Temporary::<u8>::map(EVENT_SIZE_SHOWN).zip(Temporary::<u8>::map(LINE_SIZE_MAX));
    let Some((mut spots, (mut event, mut text))) = spots.zip(bytes) else {
        return out.write_str("telemetry: no memory for the last events\n");
    };
    let count = history::newest(&mut spots[..count.min(TRACEBACK_COUNT_MAX)]);
    let now = Now::read();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "telemetry: the last {count} event{plural} in memory, newest last:")?;
    for spot in &spots[..count] {
        let mut line = Line::new(&mut text);
        // A line that is too long is cut.
        let _ = text::write_spot(&mut line, spot, &mut event, now, &text::scan);
        line.end();
        out.write_str(line.text())?;
    }
    Ok(())
}

/// Standard error, without a buffer.
struct ErrorLines;

impl Write for ErrorLines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        sys::write_error(text.as_bytes());
        Ok(())
    }
}
