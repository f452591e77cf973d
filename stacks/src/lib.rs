//! Stacks that a log keeps, and what its addresses are: function, file and line.
//!
//! ```text
//!  Frame: a tree ─▶ addresses      Mapping ─▶ ELF file, place in it ─ symbols.rs ─▶ Function
//! ```
//!
//! A log keeps a stack as the number of its innermost frame: an event `Frame` has the frame's
//! parent and return address, an event `Mapping` where a file is mapped. Design: `.rep.stack`,
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

/// Frames of a stack that are named.
const FRAME_COUNT_MAX: usize = 64;

/// A stack of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// The stream that keeps it, by its index in the log.
    pub stream: u16,
    /// Its innermost frame; 0 is no stack.
    pub number: u32,
}

/// A frame of a stack: a call that had not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the call returns to.
    pub address: u64,
    /// The file that is mapped there, and where in it the address is.
    pub file: Option<(PathBuf, u64)>,
    /// The function that called, if the file has symbols.
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

/// Where a file is mapped.
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
    /// Of each frame of a stream its parent and address.
    frames: HashMap<Stack, (u32, u64)>,
    mappings: HashMap<u16, Vec<Mapping>>,
    symbols: Symbols,
}

impl Stacks {
    /// Reads what a log tells of stacks: all of its events `Frame` and `Mapping`.
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

    /// Adds a frame: the number of its parent, 0 if it is outermost, and its return address.
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
        // The frames of a log may stand in a circle.
        std::iter::from_fn(next).take(self.frames.len())
    }

    /// Returns the 64 innermost frames of a stack, the innermost first. A function that the
    /// compiler made a part of its caller has a frame of its own.
    pub fn frames(&mut self, stack: Stack) -> Vec<Frame> {
        let addresses: Vec<u64> = self.addresses(stack).take(FRAME_COUNT_MAX).collect();
        addresses.into_iter().flat_map(|address| self.frames_at(stack.stream, address)).collect()
    }

    /// Returns the frames at a return address of a stream.
    fn frames_at(&mut self, stream: u16, address: u64) -> Vec<Frame> {
        // The call is before its return address, and may be the last of its function.
        let call = address.saturating_sub(1);
        let has = |mapping: &&Mapping| {
            call.checked_sub(mapping.start).is_some_and(|way| way < mapping.size)
        };
        // The file that was mapped last is the one that is there.
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
