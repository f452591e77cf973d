//! Stacks in a log: function, file and line of each address.
//!
//! ```text
//!  Frame: a tree ─▶ addresses      Mapping ─▶ ELF file, place in it ─ symbols.rs ─▶ Function
//! ```
//!
//! A log keeps a stack as the number of its innermost frame. An event `Frame` has a frame's parent
//! and return address; an event `Mapping` states where a file is mapped. Design: `.rep.stack`,
//! `.rep.show.stack` in `design/replay.md`.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use eventlog::reader::Log;
//! use stacks::{Stack, Stacks};
//!
//! let log = Log::open("server.log")?;
//! for frame in Stacks::new(&log).frames(Stack { stream: 0, number: 17 }) {
//!     println!("{frame}"); // "Queue::push queue.rs:41 (server)"
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - **Platforms**: Unix; tests run on Linux. Symbols come from ELF files.
//! - **Rust**: 1.91 or later. No unsafe code. No features.
#![forbid(unsafe_code)]

mod symbols;

pub use symbols::{Function, Symbols};

use eventlog::format::text::OneLine;
use eventlog::reader::{Event, Filter, Log, Order, Value};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Frames of a stack that get a name, at most.
const FRAME_COUNT_MAX: usize = 64;

/// A stack of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// Index in the log of its stream.
    pub stream: u16,
    /// Number of its innermost frame; 0 means no stack.
    pub number: u32,
}

/// A frame of a stack: a call that had not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The return address of the call.
    pub address: u64,
    /// The mapped file there, and the offset in it.
    pub file: Option<(PathBuf, u64)>,
    /// The calling function, if the file has symbols.
    pub function: Option<Function>,
}

/// Prints a frame: `function source.rs:12 (file)`, `file+0x34`, or the address.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((path, place)) = &self.file else { return write!(f, "{:#x}", self.address) };
        let file = OneLine(path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes());
        match &self.function {
            Some(function) => write!(f, "{function} ({file})"),
            None => write!(f, "{file}+{place:#x}"),
        }
    }
}

#[derive(Debug)]
struct Mapping {
    start: u64,
    size: u64,
    offset: u64,
    path: PathBuf,
}

/// The stacks of a log.
#[derive(Debug, Default)]
pub struct Stacks {
    /// Parent and address of each frame.
    frames: HashMap<Stack, (u32, u64)>,
    mappings: HashMap<u16, Vec<Mapping>>,
    symbols: Symbols,
}

impl Stacks {
    /// Reads all events `Frame` and `Mapping` of a log.
    pub fn new(log: &Log) -> Stacks {
        let filter = Filter::new().events(["Frame", "Mapping"]);
        let mut events = log.events(Order::File, &filter);
        let mut stacks = Stacks::default();
        while let Some(event) = events.next() {
            stacks.take(&event);
        }
        stacks
    }

    fn take(&mut self, event: &Event<'_, '_>) -> Option<()> {
        let number = |name: &str| event.param(name)?.as_u64();
        if event.name() == "Frame" {
            let frame = Stack { stream: event.stream, number: number("frame")? as u32 };
            self.add(frame, number("parent")? as u32, number("address")?);
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

    /// Adds a frame: the number of its parent (0 if it is outermost), and its return address.
    pub fn add(&mut self, frame: Stack, parent: u32, address: u64) {
        self.frames.insert(frame, (parent, address));
    }

    /// Returns the return addresses of a stack, the innermost first.
    pub fn addresses(&self, stack: Stack) -> impl Iterator<Item = u64> {
        let mut frame = stack;
        let next = move || {
            let &(parent, address) = self.frames.get(&frame)?;
            frame.number = parent;
            Some(address)
        };
        // The frames of a damaged log may form a circle.
        std::iter::from_fn(next).take(self.frames.len())
    }

    /// Returns the 64 innermost frames of a stack, the innermost first. An inlined function has a
    /// frame of its own.
    pub fn frames(&mut self, stack: Stack) -> Vec<Frame> {
        let addresses: Vec<u64> = self.addresses(stack).take(FRAME_COUNT_MAX).collect();
        addresses.into_iter().flat_map(|address| self.frames_at(stack.stream, address)).collect()
    }

    /// Returns the frames at a return address of a stream.
    fn frames_at(&mut self, stream: u16, address: u64) -> Vec<Frame> {
        // The call precedes its return address, and may be the last instruction of its function.
        let call = address.saturating_sub(1);
        let has = |mapping: &&Mapping| {
            call.checked_sub(mapping.start).is_some_and(|way| way < mapping.size)
        };
        // The file that was mapped last is in place.
        let list = self.mappings.get(&stream);
        let Some(mapping) = list.and_then(|list| list.iter().rev().find(has)) else {
            return vec![Frame { address, file: None, function: None }];
        };
        let place = (call - mapping.start).saturating_add(mapping.offset);
        let functions = self.symbols.functions(&mapping.path, place);
        let file = |path: &Path| Some((path.to_owned(), place.saturating_add(1)));
        let frame = |function| Frame { address, file: file(&mapping.path), function };
        match functions.is_empty() {
            true => vec![frame(None)],
            false => functions.into_iter().map(|function| frame(Some(function))).collect(),
        }
    }
}
