//! Who allocated: objects by the stack that allocated them, and stacks as names.
//!
//! ```text
//!  object ─▶ stack ─┬─ counts, bytes, what is left       Frame: a tree ─▶ addresses
//!                   └──────────────────────────────────▶ Mapping ─▶ file, place in it ─▶ name
//! ```
//!
//! Design: `.rep.stack`, `.rep.show.stack` in `design/replay.md`.

use super::symbols::Symbols;
use eventlog::format::text::OneLine;
use eventlog::reader::{Event, Filter, Log, Order, Value};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Frames of a stack that are told.
const FRAME_COUNT_MAX: usize = 64;

/// Frames by which stacks are told apart, at least: of a deeper one no more were recorded, or as
/// many more as there happened to be.
const SURE_COUNT_MIN: usize = 32;

/// A stack: its stream, and its number, 0: none.
pub(crate) type Stack = (u16, u32);

/// What a stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StackShown {
    /// The innermost frame first.
    pub(crate) frames: Vec<String>,
    /// How often it asked for memory (reallocations too), and for how many bytes.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// What of it was there when most was live.
    pub(crate) peak_count: u64,
    pub(crate) peak_bytes: u64,
    /// What of it was there at the end.
    pub(crate) left_count: u64,
    pub(crate) left_bytes: u64,
}

/// A stack that is counted. What is there is `left`; what was there at the peak is noted once it
/// changes after that.
#[derive(Clone, Debug, Default)]
struct Counted {
    shown: StackShown,
    /// The peaks that there had been when it changed last.
    peak: u64,
}

/// What each stack allocated, so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    all: HashMap<Stack, Counted>,
    /// How often more was live than ever before.
    peak: u64,
}

impl Stacks {
    fn change(&mut self, stack: Stack, change: impl FnOnce(&mut StackShown)) {
        if stack.1 != 0 {
            let counted = self.all.entry(stack).or_default();
            counted.note(self.peak);
            change(&mut counted.shown);
        }
    }

    /// It asks for memory.
    pub(crate) fn allocate(&mut self, stack: Stack, size: u64) {
        self.change(stack, |shown| {
            shown.count += 1;
            shown.bytes = shown.bytes.saturating_add(size);
            shown.left_count += 1;
            shown.left_bytes = shown.left_bytes.saturating_add(size);
        });
    }

    /// What it had is no longer there.
    pub(crate) fn free(&mut self, stack: Stack, size: u64) {
        self.change(stack, |shown| {
            shown.left_count = shown.left_count.saturating_sub(1);
            shown.left_bytes = shown.left_bytes.saturating_sub(size);
        });
    }

    /// More is live than ever before.
    pub(crate) fn peak(&mut self) {
        self.peak += 1;
    }

    /// The first of the stacks by what they held at the peak, by bytes, by bytes left, and by
    /// count, with their names.
    pub(crate) fn top(mut self, count_max: usize, log: &Log) -> Vec<StackShown> {
        if self.all.is_empty() {
            return Vec::new();
        }
        self.all.values_mut().for_each(|counted| counted.note(self.peak));
        let mut names = Names::new(log);
        let mut list = names.merge(self.all.into_iter().map(|(stack, of)| (stack, of.shown)));
        let mut picked = HashSet::new();
        let keys: [fn(&StackShown) -> u64; 4] = [
            |shown| shown.peak_bytes,
            |shown| shown.bytes,
            |shown| shown.left_bytes,
            |shown| shown.count,
        ];
        for key in keys {
            list.sort_by_key(|(stack, shown)| (Reverse(key(shown)), *stack));
            let first = list.iter().take(count_max).filter(|(_, shown)| key(shown) > 0);
            picked.extend(first.map(|(stack, _)| *stack));
        }
        list.retain(|(stack, _)| picked.contains(stack));
        list.sort_by_key(|(stack, shown)| (Reverse(shown.bytes), *stack));
        let named = |((stream, stack), shown): (Stack, StackShown)| StackShown {
            frames: names.frames(stream, stack),
            ..shown
        };
        list.into_iter().map(named).collect()
    }
}

impl Counted {
    /// Before it changes: if there was a peak since, it was then as it is now.
    fn note(&mut self, peak: u64) {
        if self.peak != peak {
            self.peak = peak;
            self.shown.peak_count = self.shown.left_count;
            self.shown.peak_bytes = self.shown.left_bytes;
        }
    }
}

/// Where a file is mapped.
#[derive(Debug)]
struct Mapping {
    start: u64,
    size: u64,
    offset: u64,
    path: PathBuf,
}

/// What a log says of stacks.
#[derive(Debug, Default)]
struct Names {
    /// Of each frame of a stream its parent and address.
    frames: HashMap<(u16, u32), (u32, u64)>,
    mappings: HashMap<u16, Vec<Mapping>>,
    symbols: Symbols,
}

impl Names {
    fn new(log: &Log) -> Names {
        let filter = Filter::new().events(["Frame", "Mapping"]);
        let mut events = log.events(Order::File, &filter);
        let mut names = Names::default();
        while let Some(event) = events.next() {
            names.take(&event);
        }
        names
    }

    fn take(&mut self, event: &Event<'_, '_>) -> Option<()> {
        let number = |name: &str| event.param(name)?.as_u64();
        if event.name() == "Frame" {
            let frame = (event.stream, number("frame")? as u32);
            self.frames.insert(frame, (number("parent")? as u32, number("address")?));
            return Some(());
        }
        let Some(Value::S(path)) = event.param("path") else { return None };
        self.mappings.entry(event.stream).or_default().push(Mapping {
            start: number("start")?,
            size: number("size")?,
            offset: number("offset")?,
            path: PathBuf::from(OsStr::from_bytes(path)),
        });
        Some(())
    }

    /// The addresses of a stack's frames, the innermost first.
    fn addresses(&self, (stream, stack): Stack) -> impl Iterator<Item = u64> {
        let mut frame = stack;
        // A log may have them in a circle.
        let next = move || {
            let &(parent, address) = self.frames.get(&(stream, frame))?;
            frame = parent;
            Some(address)
        };
        std::iter::from_fn(next).take(self.frames.len())
    }

    /// Stacks that are the same as far as all of them are recorded: of a deep one more or fewer of
    /// the outer frames may be.
    fn merge(&self, stacks: impl Iterator<Item = (Stack, StackShown)>) -> Vec<(Stack, StackShown)> {
        let stacks: Vec<(Stack, StackShown)> = stacks.collect();
        let depths = stacks.iter().map(|(stack, _)| self.addresses(*stack).take(256).count());
        let sure = (depths.max().unwrap_or(0) / 2).max(SURE_COUNT_MIN);
        let mut merged: HashMap<(u16, Vec<u64>), (Stack, StackShown)> = HashMap::new();
        for (stack, shown) in stacks {
            let key = (stack.0, self.addresses(stack).take(sure).collect());
            let (first, sum) = merged.entry(key).or_insert((stack, StackShown::default()));
            *first = stack.min(*first);
            for (sum, one) in [
                (&mut sum.count, shown.count),
                (&mut sum.bytes, shown.bytes),
                (&mut sum.peak_count, shown.peak_count),
                (&mut sum.peak_bytes, shown.peak_bytes),
                (&mut sum.left_count, shown.left_count),
                (&mut sum.left_bytes, shown.left_bytes),
            ] {
                *sum = sum.saturating_add(one);
            }
        }
        merged.into_values().collect()
    }

    /// The names of a stack's frames, the innermost first.
    fn frames(&mut self, stream: u16, stack: u32) -> Vec<String> {
        let addresses: Vec<u64> = self.addresses((stream, stack)).take(FRAME_COUNT_MAX).collect();
        let names = addresses.into_iter().flat_map(|address| self.names(stream, address));
        names.collect()
    }

    /// What is at a return address. The call is before it, and may be the last of its function.
    fn names(&mut self, stream: u16, address: u64) -> Vec<String> {
        let call = address.saturating_sub(1);
        let mappings = self.mappings.get(&stream);
        let has = |mapping: &&Mapping| {
            call.checked_sub(mapping.start).is_some_and(|way| way < mapping.size)
        };
        // What was mapped last is what is there.
        let Some(mapping) = mappings.and_then(|list| list.iter().rev().find(has)) else {
            return vec![format!("{address:#x}")];
        };
        let place = (call - mapping.start).saturating_add(mapping.offset);
        let file = mapping.path.file_name().unwrap_or(mapping.path.as_os_str());
        let file = OneLine(file.as_encoded_bytes()).to_string();
        let names = self.symbols.names(&mapping.path, place);
        match names.is_empty() {
            true => vec![format!("{file}+{:#x}", place + 1)],
            false => names.into_iter().map(|name| format!("{name} ({file})")).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stack_holds_at_the_peak_is_what_it_had_then() {
        // `.rep.show.stack`
        let (a, b) = ((0, 1), (0, 2));
        let mut stacks = Stacks::default();
        stacks.allocate(a, 100);
        stacks.peak();
        stacks.allocate(b, 50);
        stacks.peak();
        stacks.free(a, 100);
        stacks.allocate(b, 20);
        stacks.allocate((0, 0), 7);
        stacks.all.values_mut().for_each(|counted| counted.note(stacks.peak));
        let of = |stack| {
            let shown = &stacks.all[&stack].shown;
            (shown.bytes, shown.peak_bytes, shown.peak_count, shown.left_bytes)
        };
        assert_eq!((of(a), of(b), stacks.all.len()), ((100, 100, 1, 0), (70, 50, 1, 70), 2));
    }

    #[test]
    fn stacks_that_are_cut_elsewhere_are_one() {
        let mut names = Names::default();
        // A deep recursion: of the one 64 frames are recorded, of the other 40.
        for frame in 1..=64 {
            names.frames.insert((0, frame), (frame - 1, 7));
            names.frames.insert((0, frame + 100), (if frame <= 24 { 0 } else { frame + 99 }, 7));
        }
        names.frames.insert((0, 200), (64, 9));
        let one = StackShown { bytes: 5, ..StackShown::default() };
        let of = |stack| ((0, stack), one.clone());
        let merged = names.merge([of(64), of(164), of(200), of(3)].into_iter());
        let mut bytes: Vec<u64> = merged.iter().map(|(_, shown)| shown.bytes).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, [5, 5, 10]);
    }
}
