//! Who allocated: objects by the stack that allocated them, and stacks as names.
//!
//! ```text
//!  object ─▶ stack ─┬─ counts, bytes, what is left       Frame: a tree ─▶ addresses
//!                   └──────────────────────────────────▶ Mapping ─▶ file, place in it ─▶ name
//! ```
//!
//! Design: `.rep.stack`, `.rep.show.stack` in `design/replay.md`.

use super::symbols::Symbols;
use eventlog::reader::{Event, Filter, Log, Order, Pick, Value};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Frames of a stack that are told.
const FRAME_COUNT_MAX: usize = 64;

/// What a stack allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StackShown {
    /// The innermost frame first.
    pub(crate) frames: Vec<String>,
    /// Objects that it allocated, and their bytes.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// Those of them that were there at the end.
    pub(crate) left_count: u64,
    pub(crate) left_bytes: u64,
}

/// What each stack allocated, by stream and number: of each object its stack and its size, and what
/// is left.
pub(crate) fn count(
    stacks: &[(u16, u32)],
    sizes: &[u64],
    left: &BTreeMap<u32, u64>,
) -> HashMap<(u16, u32), StackShown> {
    let mut counts: HashMap<(u16, u32), StackShown> = HashMap::new();
    for (stack, size) in stacks.iter().zip(sizes).filter(|(stack, _)| stack.1 != 0) {
        let shown = counts.entry(*stack).or_default();
        shown.count += 1;
        shown.bytes = shown.bytes.saturating_add(*size);
    }
    for (object, size) in left {
        let stack = stacks.get(*object as usize);
        if let Some(shown) = stack.and_then(|stack| counts.get_mut(stack)) {
            shown.left_count += 1;
            shown.left_bytes = shown.left_bytes.saturating_add(*size);
        }
    }
    counts
}

/// The first of the stacks by bytes, and the first by bytes left, with their names.
pub(crate) fn top(
    counts: HashMap<(u16, u32), StackShown>,
    count_max: usize,
    log: &Log,
) -> Vec<StackShown> {
    let mut list: Vec<((u16, u32), StackShown)> = counts.into_iter().collect();
    let mut picked = Vec::new();
    let keys: [fn(&StackShown) -> u64; 3] =
        [|shown| shown.bytes, |shown| shown.left_bytes, |shown| shown.count];
    for key in keys {
        list.sort_by_key(|(stack, shown)| (std::cmp::Reverse(key(shown)), *stack));
        let first = list.iter().take(count_max).filter(|(_, shown)| key(shown) > 0);
        picked.extend(first.map(|(stack, _)| *stack));
    }
    list.retain(|(stack, _)| picked.contains(stack));
    list.sort_by_key(|(stack, shown)| (std::cmp::Reverse(shown.bytes), *stack));
    if list.is_empty() {
        return Vec::new();
    }
    let mut names = Names::new(log);
    let named = |((stream, stack), shown): ((u16, u32), StackShown)| StackShown {
        frames: names.frames(stream, stack),
        ..shown
    };
    list.into_iter().map(named).collect()
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
        let event_types = ["Frame", "Mapping"].map(|name| Pick::Name(name.to_owned()));
        let filter = Filter { event_types: event_types.into(), ..Filter::default() };
        let mut events = log.events(Order::File, &filter);
        let mut names = Names::default();
        while let Some(event) = events.next() {
            names.take(&event);
        }
        names
    }

    fn take(&mut self, event: &Event<'_>) -> Option<()> {
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
            path: PathBuf::from(String::from_utf8_lossy(path).into_owned()),
        });
        Some(())
    }

    /// The names of a stack's frames, the innermost first.
    fn frames(&mut self, stream: u16, stack: u32) -> Vec<String> {
        let (mut names, mut frame) = (Vec::new(), stack);
        while names.len() < FRAME_COUNT_MAX
            && let Some(&(parent, address)) = self.frames.get(&(stream, frame))
        {
            names.push(self.name(stream, address));
            frame = parent;
        }
        names
    }

    /// What is at a return address. The call is before it, and may be the last of its function.
    fn name(&mut self, stream: u16, address: u64) -> String {
        let call = address.saturating_sub(1);
        let mappings = self.mappings.get(&stream);
        let has = |mapping: &&Mapping| {
            call.checked_sub(mapping.start).is_some_and(|way| way < mapping.size)
        };
        // What was mapped last is what is there.
        let Some(mapping) = mappings.and_then(|list| list.iter().rev().find(has)) else {
            return format!("{address:#x}");
        };
        let place = (call - mapping.start).saturating_add(mapping.offset);
        let file = mapping.path.file_name().unwrap_or(mapping.path.as_os_str());
        let file = file.to_string_lossy();
        match self.symbols.name(&mapping.path, place) {
            Some(name) => format!("{name} ({file})"),
            None => format!("{file}+{:#x}", place + 1),
        }
    }
}
