//! Cores: the streams in the memory of a process that died, or that was dumped.
//!
//! ```text
//!  Source ── elf.rs: headers ──▶ memory.rs ── root.rs: scan ──▶ [Root] ── chain.rs ──▶ extents
//!                 └ notes.rs: process, signal                                           │
//!  Log ◀── Source ◀── rescue.rs: blocks as they lie in memory, none copied ◀─────────────┘
//! ```
//!
//! A core needs no symbols, no debug information and no program file. The reader trusts nothing,
//! and reports what is missing. Design: `.debug.core` in `design/telemetry.md`; section 9 of
//! `design/format.md`.

mod byte_order;
mod chain;
mod elf;
mod memory;
mod notes;
mod rescue;
mod root;
mod seal;

pub use crate::reader::fault::core::{CoreError, CoreFault};
pub use elf::is_elf;

use crate::format::{
    ExtentEntry, ROOT_ENTRY_COUNT_MAX, RegistryEntry, Root, STREAM_MAGIC, StreamHeader,
};
use crate::reader::fault::kind::OpenError;
use crate::reader::source::bytes::{Joined, Source};
use rescue::Rescued;
use std::io::{self, Write};
use std::sync::Arc;

/// A core and its streams.
pub struct Core {
    image: Arc<Image>,
    streams: Vec<Stream>,
    faults: Vec<CoreFault>,
}

struct Image {
    elf: elf::Elf,
    memory: memory::Memory,
    notes: notes::Notes,
}

impl Image {
    /// Returns whether the core was written without the private anonymous memory of its process:
    /// every process has such memory, at least its stack.
    fn is_filtered(&self) -> bool {
        let is_own =
            |load: &elf::Load| load.is_writable && self.notes.file_at(load.address).is_none();
        self.elf.headers_missing == 0 && !self.elf.loads.iter().any(is_own)
    }
}

struct Stream {
    rescued: Arc<Rescued>,
    about: InMemory,
}

/// Limits of the work on all roots together.
struct Limits {
    extents: usize,
    registries: usize,
    visits: u64,
}

/// A stream in a core.
#[derive(Clone, Debug)]
pub struct InMemory {
    /// Identifies the stream.
    pub uuid: [u8; 16],
    /// Process identifier.
    pub pid: u64,
    /// Blocks in the core.
    pub block_count: u64,
    /// Size of a block in bytes.
    pub block_size: u64,
    /// Blocks that the core lacks, by kind and thread.
    pub missing: Vec<Missing>,
    /// Discarded events that no buffer could count: full, nested, large, io.
    pub unhoused: [u64; 4],
    /// The masks of each registry.
    pub masks: Vec<Masks>,
}

/// Blocks of a buffer that the core lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Index of the registry in the stream; 0 for the store and the registries.
    pub registry: u16,
    /// Index of the kind in the registry.
    pub kind: u8,
    /// Index in the stream of the thread that recorded the blocks, if known.
    pub thread: Option<u32>,
    /// Number of blocks.
    pub count: u64,
}

/// The masks of a registry at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// Index of the registry in the stream.
    pub registry: u32,
    /// The kinds that were recorded; `None` if the core lacks the mask.
    pub recorded: Option<u64>,
    /// The kinds that were output.
    pub output: Option<u64>,
}

opaque_debug!(Core);

impl Core {
    /// Opens a core, and finds its streams.
    pub fn open(source: Box<dyn Source + Send + Sync>) -> Result<Core, OpenError> {
        let elf = elf::read(&*source)?;
        let notes = notes::read(&*source, &elf)?;
        let missing = elf.end.saturating_sub(source.size());
        let memory = memory::Memory::new(&elf, source);
        let roots = root::find(&memory, &elf)?;
        let mut core = Core {
            image: Arc::new(Image { elf, memory, notes }),
            streams: Vec::new(),
            faults: Vec::new(),
        };
        if roots.sound.is_empty() {
            return Err(core.why_none(&roots, missing).into());
        }
        if missing > 0 {
            core.faults.push(CoreFault::Cut { missing });
        }
        core.faults.extend(roots.damaged.iter().map(|error| CoreFault::Root(*error)));
        let overlap = core.image.memory.overlap;
        core.faults.extend((overlap > 0).then_some(CoreFault::Overlap { size: overlap }));
        let mut left = Limits {
            extents: ROOT_ENTRY_COUNT_MAX,
            registries: ROOT_ENTRY_COUNT_MAX,
            visits: rescue::visit_count_max(&core.image.memory),
        };
        for root in &roots.sound {
            core.add(root, &mut left)?;
        }
        let block_count: u64 = core.streams.iter().map(|stream| stream.about.block_count).sum();
        if block_count == core.streams.len() as u64 && core.faults.contains(&CoreFault::Preamble) {
            let is_filtered = core.image.is_filtered();
            let why =
                if is_filtered { CoreError::Filtered } else { CoreError::NoBlocks { missing } };
            return Err(why.into());
        }
        Ok(core)
    }

    /// Returns why the core has no stream.
    fn why_none(&self, roots: &root::Roots, missing: u64) -> CoreError {
        let is_version = |error: &&CoreError| matches!(error, CoreError::RootVersion { .. });
        let damaged = roots.damaged.iter().max_by_key(is_version);
        match damaged {
            Some(error) => *error,
            None if roots.is_idle => CoreError::NothingRecorded,
            None if self.image.is_filtered() => CoreError::Filtered,
            None if self.image.memory.size() == 0 => CoreError::NoMemory,
            None => CoreError::NoRoot { missing },
        }
    }

    fn add(&mut self, root: &Root, left: &mut Limits) -> io::Result<()> {
        let memory = &self.image.memory;
        let extents = chain::chain::<ExtentEntry>(memory, root.extents, &mut left.extents)?;
        let registries =
            chain::chain::<RegistryEntry>(memory, root.registries, &mut left.registries)?;
        let found = rescue::rescue(&self.image, root, &extents.entries, &mut left.visits)?;
        let mut masks = Vec::new();
        for entry in &registries.entries {
            let mask = |address| memory.read_value::<u64>(address);
            let (recorded, output) = (mask(entry.recorded)?, mask(entry.output)?);
            masks.push(Masks { registry: entry.index, recorded, output });
        }
        let fault = extents.fault.map(|what| CoreFault::Chain { what });
        self.faults.extend(fault.into_iter().chain(found.faults));
        let about = InMemory {
            uuid: root.uuid,
            pid: root.pid,
            block_count: found.stream.block_count(),
            block_size: found.stream.block_size,
            missing: found.missing,
            unhoused: root.unhoused,
            masks,
        };
        self.streams.push(Stream { rescued: Arc::new(found.stream), about });
        Ok(())
    }

    /// Returns the program's name as the system knew it; empty if unknown.
    pub fn program(&self) -> &str {
        &self.image.notes.program
    }

    /// Returns the process identifier as the system knew it, or as a stream states it.
    pub fn pid(&self) -> u64 {
        let stated = self.streams.first().map_or(0, |stream| stream.about.pid);
        Some(self.image.notes.pid).filter(|&pid| pid != 0).unwrap_or(stated)
    }

    /// Returns the signal that killed the process; 0 if there was none, or it is unknown.
    pub fn signal(&self) -> u32 {
        self.image.notes.signal
    }

    /// Returns the operating system's thread numbers. The thread that died, or that was inspected,
    /// comes first.
    pub fn threads(&self) -> &[u64] {
        &self.image.notes.threads
    }

    /// Returns the streams in order of their roots' addresses.
    pub fn streams(&self) -> impl Iterator<Item = &InMemory> {
        self.streams.iter().map(|stream| &stream.about)
    }

    /// Returns the faults: what is missing or invalid.
    pub fn faults(&self) -> &[CoreFault] {
        &self.faults
    }

    /// Returns whether a log that begins with these bytes has one of the streams.
    pub fn is_of(&self, head: &[u8]) -> bool {
        StreamHeader::read(head).is_some_and(|header| {
            header.magic == STREAM_MAGIC
                && self.streams.iter().any(|stream| stream.about.uuid == header.uuid)
        })
    }

    /// Returns the streams as one log. It reads blocks from the core when they are needed.
    pub fn log(&self) -> impl Source + Send + Sync + use<> {
        let mut joined = Joined::default();
        for stream in &self.streams {
            joined.push(Box::new(stream.rescued.clone()));
        }
        joined
    }

    /// Writes the streams as a log. Blocks with unbroken chains are sealed (`.write.seal`).
    pub fn write_log(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        for stream in &self.streams {
            for index in 0..stream.rescued.block_count() {
                stream.rescued.sealed_block(index, &mut bytes)?;
                to.write_all(&bytes)?;
            }
        }
        Ok(())
    }
}
