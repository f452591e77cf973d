//! Cores: the streams in the memory of a process that died, or of which a core was taken.
//!
//! ```text
//!  Source ── elf.rs: headers ──▶ memory.rs ── root.rs: scan ──▶ [Root] ── walk.rs ──▶ extents
//!                 └ notes.rs: who died of what                                           │
//!  Log ◀── Source ◀── rescue.rs: blocks as they lie in memory, none copied ◀─────────────┘
//! ```
//!
//! Neither symbols, debug information nor the program are needed. Nothing is trusted; what is
//! missing is told. Design: `.debug.core` in `design/telemetry.md`; section 9 of
//! `design/format.md`.

mod elf;
mod head;
mod memory;
mod notes;
mod order;
mod rescue;
mod root;
mod seal;
mod walk;

pub use crate::reader::fault::core::{CoreError, CoreFault};
pub use elf::is_elf;

use crate::format::{ExtentEntry, ROOT_ENTRY_COUNT_MAX, RegistryEntry, STREAM_MAGIC, StreamHeader};
use crate::reader::fault::kind::OpenError;
use crate::reader::source::bytes::{Joined, Source};
use rescue::Rescued;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// A core, and the streams in it.
pub struct Core {
    image: Arc<Image>,
    streams: Vec<Stream>,
    faults: Vec<CoreFault>,
}

/// A file, and what is in it.
struct Image {
    source: Box<dyn Source + Send + Sync>,
    elf: elf::Elf,
    memory: memory::Memory,
    notes: notes::Notes,
}

impl Image {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.memory.read(&*self.source, address, bytes)
    }
}

struct Stream {
    rescued: Arc<Rescued>,
    about: InMemory,
}

/// How much more of the chains of roots is read, of all roots together.
struct Left {
    extents: usize,
    registries: usize,
    looks: u64,
}

/// A stream in a core.
#[derive(Clone, Debug)]
pub struct InMemory {
    /// Identifies the stream.
    pub uuid: [u8; 16],
    /// Process identifier.
    pub pid: u64,
    /// Blocks that are there.
    pub block_count: u64,
    /// Their size.
    pub block_size: u64,
    /// Blocks that are not in the core, by kind and thread.
    pub missing: Vec<Missing>,
    /// Events discarded that no buffer could count: full, nested, large, io.
    pub unhoused: [u64; 4],
    /// What was recorded, and what output, of each registry.
    pub masks: Vec<Masks>,
}

/// Blocks of a buffer that are not in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The registry, by its index in the stream; 0: the store, and what registries are called.
    pub registry: u16,
    /// The kind, by its index in the registry.
    pub kind: u8,
    /// The thread that recorded them, by its index in the stream, if it is known.
    pub thread: Option<u32>,
    /// How many.
    pub count: u64,
}

/// The masks of a registry, as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// The registry, by its index in the stream.
    pub registry: u32,
    /// The kinds that were recorded; none if it is not in the core.
    pub recorded: Option<u64>,
    /// The kinds that were output.
    pub output: Option<u64>,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    /// Reads a core as far as to know what streams are in it.
    pub fn open(source: Box<dyn Source + Send + Sync>) -> Result<Core, OpenError> {
        let elf = elf::read(&*source)?;
        let memory = memory::Memory::new(&elf, &*source);
        let notes = notes::read(&*source, &elf)?;
        let missing = elf.end.saturating_sub(source.size());
        let roots = root::find(&*source, &memory, &elf)?;
        let mut core = Core {
            image: Arc::new(Image { source, elf, memory, notes }),
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
        let mut left = Left {
            extents: ROOT_ENTRY_COUNT_MAX,
            registries: ROOT_ENTRY_COUNT_MAX,
            looks: rescue::look_count_max(&core.image.memory),
        };
        for root in &roots.sound {
            core.add(root, &mut left)?;
        }
        let block_count: u64 = core.streams.iter().map(|stream| stream.about.block_count).sum();
        if block_count == core.streams.len() as u64 && core.faults.contains(&CoreFault::Preamble) {
            return Err(CoreError::NoBlocks { missing }.into());
        }
        Ok(core)
    }

    /// Why there is no stream in it.
    fn why_none(&self, roots: &root::Roots, missing: u64) -> CoreError {
        let is_version = |error: &&CoreError| matches!(error, CoreError::RootVersion { .. });
        let damaged = roots.damaged.iter().max_by_key(is_version);
        match damaged {
            Some(error) => *error,
            None if roots.is_idle => CoreError::NothingRecorded,
            None if self.image.memory.size() == 0 => CoreError::NoMemory,
            None => CoreError::NoRoot { missing },
        }
    }

    /// Adds the stream of a root.
    fn add(&mut self, root: &root::Root, left: &mut Left) -> io::Result<()> {
        let image = &*self.image;
        let (source, memory) = (&*image.source, &image.memory);
        let chain = root.extents;
        let extents = walk::chain::<ExtentEntry>(source, memory, chain, &mut left.extents)?;
        let chain = root.registries;
        let registries = walk::chain::<RegistryEntry>(source, memory, chain, &mut left.registries)?;
        let found = rescue::rescue(&self.image, root, &extents.entries, &mut left.looks)?;
        let mut masks = Vec::new();
        for entry in &registries.entries {
            let mask = |address| memory.read_value::<u64>(source, address);
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

    /// The program's name, as the system knew it; empty if the core does not say.
    pub fn program(&self) -> &str {
        &self.image.notes.program
    }

    /// The process, as the system knew it; else as a stream says.
    pub fn pid(&self) -> u64 {
        let stated = self.streams.first().map_or(0, |stream| stream.about.pid);
        Some(self.image.notes.pid).filter(|&pid| pid != 0).unwrap_or(stated)
    }

    /// The signal that it died of; 0 if it did not, or the core does not say.
    pub fn signal(&self) -> u32 {
        self.image.notes.signal
    }

    /// The operating system's numbers of its threads: the one first that died, or that was looked
    /// at.
    pub fn threads(&self) -> &[u64] {
        &self.image.notes.threads
    }

    /// The streams, by address of their roots.
    pub fn streams(&self) -> impl Iterator<Item = &InMemory> {
        self.streams.iter().map(|stream| &stream.about)
    }

    /// What of it is missing, or makes no sense.
    pub fn faults(&self) -> &[CoreFault] {
        &self.faults
    }

    /// Whether a log that begins with these bytes is of one of its streams.
    pub fn is_of(&self, head: &[u8]) -> bool {
        StreamHeader::read(head).is_some_and(|header| {
            header.magic == STREAM_MAGIC
                && self.streams.iter().any(|stream| stream.about.uuid == header.uuid)
        })
    }

    /// Its streams as a log, one after the other: blocks are read from the core as they are needed.
    pub fn log(&self) -> impl Source + Send + Sync + use<> {
        let mut joined = Joined::default();
        for stream in &self.streams {
            joined.push(Box::new(stream.rescued.clone()));
        }
        joined
    }

    /// Writes its streams as a log, blocks sealed (`.write.seal`) where their chains are whole.
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
