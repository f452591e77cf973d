//! The threads of a log.
//!
//! ```text
//!  Log ── events "Thread" of the store ──▶ Thread { 3, "teller 2" }
//!  Event, of thread 3 ──▶ Threads ──▶ "3 teller 2  "
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`; `.store.thread` in `design/format.md`.

use crate::text;
use crate::text::page::{Pen, STORE_SIZE};
use eventlog::format::text::OneLine;
use eventlog::reader::{Event, Filter, Log, Order, Registry, Value};
use std::collections::BTreeMap;

/// Columns of the name of a thread, at most.
const WIDTH_MAX: usize = 24;
/// Bytes that a pen takes for it, at most.
pub(crate) const SIZE_MAX: usize = WIDTH_MAX * 4 + STORE_SIZE;

/// A thread of a stream, by its own event.
pub(crate) struct Thread {
    pub(crate) stream: u16,
    pub(crate) index: u64,
    pub(crate) os_thread: u64,
    pub(crate) name: String,
}

/// Returns the threads that a log records, the latest of a number last (`.store.thread`).
pub(crate) fn recorded(log: &Log) -> Vec<Thread> {
    let filter = Filter::new().event("Thread");
    let mut found = Vec::new();
    // A log of the MPS records no threads, and would be read from end to end.
    let has_threads = |registry: &Registry| registry.event_type_named("Thread").is_some();
    if !log.registries().iter().any(has_threads) {
        return found;
    }
    let mut events = log.events(Order::Time, &filter);
    while let Some(event) = events.next() {
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        if let (0, Some(index), Some(os_thread)) =
            (event.registry.index, number("thread"), number("osThread"))
        {
            let name = match event.param("name") {
                Some(Value::S(name)) => OneLine(name).to_string(),
                _ => String::new(),
            };
            found.push(Thread { stream: event.stream, index, os_thread, name });
        }
    }
    found
}

/// The column of the thread that recorded an event.
#[derive(Default)]
pub(crate) struct Threads {
    /// Padded names, by stream and index. A space and room for a pen follow each.
    columns: BTreeMap<(u16, u32), Vec<u8>>,
    width: usize,
}

impl Threads {
    pub(crate) fn new(threads: &[Thread]) -> Threads {
        let named = |thread: &Thread| {
            let text = format!("{} {}", thread.index, thread.name);
            text.trim_end().chars().take(WIDTH_MAX).collect::<String>()
        };
        let all = threads.iter().filter_map(|thread| {
            Some(((thread.stream, u32::try_from(thread.index).ok()?), named(thread)))
        });
        let names: BTreeMap<(u16, u32), String> = all.collect();
        let width = names.values().map(|text| text.chars().count()).max().unwrap_or(1);
        let padded = |text: String| format!("{text:width$} {:\0<STORE_SIZE$}", "").into_bytes();
        let columns = names.into_iter().map(|(thread, text)| (thread, padded(text))).collect();
        Threads { columns, width }
    }

    /// Writes what [`Threads::append`] appends, and a space.
    #[inline]
    pub(crate) fn write(&self, event: &Event<'_, '_>, pen: &mut Pen<'_>) {
        if let Some(text) = self.columns.get(&(event.stream, event.thread)) {
            return pen.text(text, 0, text.len().saturating_sub(STORE_SIZE));
        }
        let mut text = Vec::with_capacity(SIZE_MAX);
        self.append(event, &mut text);
        text.push(b' ');
        let size = text.len();
        text.extend_from_slice(&[0; STORE_SIZE]);
        pen.text(&text, 0, size);
    }

    /// Appends the index and name of the thread of an event; a hyphen if it is unknown.
    #[inline]
    pub(crate) fn append(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        if let Some(text) = self.columns.get(&(event.stream, event.thread)) {
            let size = text.len().saturating_sub(STORE_SIZE + 1);
            return out.extend_from_slice(text.get(..size).unwrap_or_default());
        }
        let begin = out.len();
        match event.thread {
            0 => out.push(b'-'),
            thread => text::decimal(out, thread.into()),
        }
        text::pad(out, (begin + self.width).saturating_sub(out.len()));
    }
}
