//! The files that are mapped as code: they relate an address to a place in a program.
//!
//! ```text
//!  an address outside all known mappings ─▶ /proc/self/maps ─▶ a Mapping for each new one
//! ```
//!
//! Design: `.rep.stack` in `design/replay.md`.

use crate::events::Mapping;
use crate::stack;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::fs::File;
use std::io::Read;
use telemetry::__private::{before, uncancelled};

const COUNT_MAX: usize = 2048;
/// The maximum size of a line that is read; the rest of a longer line is skipped.
const LINE_SIZE_MAX: usize = 4096 + 128;

/// The beginning and the end of a mapping; both are 0 if unused. The end is stored last.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

static KNOWN: [Range; COUNT_MAX] =
    [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; COUNT_MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static OWN: Range = Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) };
static UNWINDER: Range = Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) };
/// Whether a thread reads the mappings; other threads do not wait for it. A forked child, which may
/// lack that thread, resets it.
static IS_READING: AtomicBool = AtomicBool::new(false);

impl Range {
    fn has(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        (self.start.load(Ordering::Relaxed)..end).contains(&address)
    }

    fn set(&self, start: usize, end: usize) {
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Release);
    }
}

/// Returns whether an address is in the code of this library.
pub(crate) fn is_own(address: usize) -> bool {
    if OWN.end.load(Ordering::Acquire) == 0 {
        read();
    }
    OWN.has(address)
}

/// Returns whether an address is in the unwinder's code, as known at the last call of [`is_own`].
pub(crate) fn is_unwinders(address: usize) -> bool {
    UNWINDER.has(address)
}

/// Records the mapping of an address, if that was not done yet.
pub(crate) fn note(address: usize) {
    let count = COUNT.load(Ordering::Acquire);
    if count < COUNT_MAX && !KNOWN.iter().take(count).any(|range| range.has(address)) {
        read();
    }
}

/// Records new mappings. If another thread is just doing that, this one leaves it to that thread.
fn read() {
    if !IS_READING.swap(true, Ordering::Acquire) {
        uncancelled(record_new);
        IS_READING.store(false, Ordering::Release);
    }
}

fn record_new() {
    each(&mut [0; LINE_SIZE_MAX], note_line);
}

/// Passes the lines of the list of mappings on. `text` has room for the longest line.
pub(crate) fn each(text: &mut [u8], take: impl FnMut(&[u8])) {
    each_line("/proc/self/maps", text, take);
}

/// Passes the lines of a file on, except those for which `text` has no room.
pub(crate) fn each_line(path: &str, text: &mut [u8], mut take: impl FnMut(&[u8])) {
    let Ok(mut file) = File::open(path) else { return };
    let (mut size, mut is_long) = (0, false);
    while let Some(room) = text.get_mut(size..) {
        let Ok(read @ 1..) = file.read(room) else { return };
        size += read;
        let mut done = 0;
        while let Some(end) = text[done..size].iter().position(|byte| *byte == b'\n') {
            if !core::mem::take(&mut is_long) {
                take(&text[done..done + end]);
            }
            done += end + 1;
        }
        text.copy_within(done..size, 0);
        size -= done;
        if size == text.len() {
            (size, is_long) = (0, true);
        }
    }
}

/// `55e1c0de0000-55e1c0df0000 r-xp 00001000 fe:00 1234   /usr/bin/sort`
fn note_line(line: &[u8]) {
    let Some((start, size, offset, path)) = parse(line) else { return };
    if (start..start + size).contains(&(note_line as *const () as usize)) {
        OWN.set(start, start + size);
    }
    if (start..start + size).contains(&stack::unwinder()) {
        UNWINDER.set(start, start + size);
    }
    let count = COUNT.load(Ordering::Relaxed);
    let is_known = KNOWN.iter().take(count).any(|range| range.has(start));
    if !is_known && let Some(range) = KNOWN.get(count) {
        range.set(start, start + size);
        COUNT.store(count + 1, Ordering::Release);
        before(|| Mapping::new(start, size, offset, path));
    }
}

/// Returns start, size, offset and path of a mapping of code.
pub(crate) fn parse(line: &[u8]) -> Option<(usize, usize, usize, &[u8])> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut next = || core::str::from_utf8(fields.next()?).ok();
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let (start, end) = next()?.split_once('-')?;
    let (start, end) = (number(start)?, number(end)?);
    next()?.contains('x').then_some(())?;
    let offset = number(next()?)?;
    let path = fields.nth(2).unwrap_or_default().trim_ascii_start();
    Some((start, end.checked_sub(start)?, offset, path))
}

pub(crate) fn clear() {
    COUNT.store(0, Ordering::Release);
    IS_READING.store(false, Ordering::Release);
}
