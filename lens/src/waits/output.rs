//! The rows of a kernel, to a log.
//!
//! ```text
//!  row of processor n ──▶ buffer n + 2 ─┐
//!  names, stacks ──▶ buffer 1 ──────────┼─▶ Maker ──▶ log "kernel"
//!  losses ──▶ Lost, and the account ────┘
//! ```
//!
//! Design: `.waits.events`, `.waits.lost` in `design/waits.md`.

use crate::waits::events::kernel::{CpuSample, Frame, Lost, REGISTRY, Switch, Symbol, ThreadName};
use eventdef::Event;
use eventdef::field::A;
use eventlog::format::ClockSync;
use eventlog::writer::{Cause, Made, MakeError, Maker, Origin};
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// The buffer of names and stacks.
pub(crate) const NAMES: u32 = 1;
/// The buffer of what /proc told.
const SEEN: u32 = CPU_COUNT_MAX + 3;
/// The buffer of the samples of processor 0; those of the others follow.
const SAMPLES: u32 = SEEN + 1;
/// Processors of a log, at most.
pub const CPU_COUNT_MAX: u32 = 1 << 16;
/// Frames of a log, at most. Further stacks keep the frames that are known.
const FRAME_COUNT_MAX: usize = 1 << 24;
/// Names of threads and addresses that are kept, to write each once, at most. Others may be
/// written again.
const NAME_COUNT_MAX: usize = 1 << 20;
/// Names of one thread that are kept, at most.
const FORMER_COUNT_MAX: usize = 16;
/// Bytes of a name; the rest is cut off.
const NAME_SIZE_MAX: usize = 4096;

/// What is known of a thread: its process, and its last names with the ticks of their rows, in
/// order of these.
#[derive(Debug, Default)]
struct Named {
    process: u32,
    names: Vec<(u64, Box<[u8]>)>,
}

/// A log of a kernel that is being made.
#[must_use = "a log is whole only after `finish`"]
pub struct Output<'o> {
    maker: Maker<'o>,
    /// Processors that have a name.
    cpus: HashSet<u32, RandomState>,
    /// Frames by the caller's number and the address.
    frames: HashMap<(u32, u64), u32, RandomState>,
    symbols: HashSet<u64, RandomState>,
    /// The process and the last names of each thread.
    names: HashMap<u32, Named, RandomState>,
    /// The ticks of frames: those of the first row.
    begin: Option<u64>,
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("frames", &self.frames.len()).finish_non_exhaustive()
    }
}

impl<'o> Output<'o> {
    /// Begins a log. `origin` has the clock of the ticks, and a UUID made of the source.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::begin`] does.
    pub fn new(out: &'o mut dyn Write, origin: &Origin) -> Result<Output<'o>, MakeError> {
        let mut maker = Maker::new(out);
        maker.begin(origin)?;
        maker.registry(&REGISTRY)?;
        Ok(Output {
            maker,
            cpus: HashSet::default(),
            frames: HashMap::default(),
            symbols: HashSet::default(),
            names: HashMap::default(),
            begin: None,
        })
    }

    /// States that no row has earlier ticks. Frames get these ticks: rows that refer to them may
    /// come in another order than their times. Without this, the first row counts.
    pub fn begin_at(&mut self, ticks: u64) {
        self.begin.get_or_insert(ticks);
    }

    /// Adds a row of a processor.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn add<E: Event>(&mut self, cpu: u32, ticks: u64, row: &E) -> Result<(), MakeError> {
        self.begin_at(ticks);
        let cpu = self.cpu(cpu, ticks)?;
        self.maker.add(cpu + 1, cpu, ticks, row)
    }

    /// Adds a row that /proc told, which is of no processor.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn seen<E: Event>(&mut self, ticks: u64, row: &E) -> Result<(), MakeError> {
        self.maker.add(SEEN, 0, ticks, row)
    }

    /// Adds a sample of a processor, which another clock of the kernel told.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn sample(&mut self, cpu: u32, ticks: u64, row: &CpuSample) -> Result<(), MakeError> {
        let cpu = self.cpu(cpu, ticks)?;
        self.maker.add(SAMPLES + cpu - 1, cpu, ticks, row)
    }

    /// States that events of a processor were lost, from the ticks `from` (0: from the beginning)
    /// to `ticks`. A count of 0 is unknown.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn lose(&mut self, cpu: u32, from: u64, ticks: u64, count: u64) -> Result<(), MakeError> {
        self.add(cpu, ticks, &Lost { from: from as usize, count: count as usize })?;
        let cpu = self.cpu(cpu, ticks)?;
        self.maker.lose::<Switch>(cpu + 1, cpu, Cause::Full, count.max(1))
    }

    /// Counts lost events whose time is not known, of a processor if that is known.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::lose`] does.
    pub fn count_lost(
        &mut self,
        cpu: Option<u32>,
        ticks: u64,
        count: u64,
    ) -> Result<(), MakeError> {
        match cpu {
            Some(cpu) => {
                let cpu = self.cpu(cpu, ticks)?;
                self.maker.lose::<Switch>(cpu + 1, cpu, Cause::Full, count)
            }
            None => self.maker.lose::<Switch>(NAMES, 0, Cause::Full, count),
        }
    }

    /// Returns the number of a stack, whose innermost frame comes first: 0 if it has none.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn stack(
        &mut self,
        ticks: u64,
        addresses: impl DoubleEndedIterator<Item = u64>,
    ) -> Result<u32, MakeError> {
        let mut parent = 0;
        let ticks = self.begin.map_or(ticks, |begin| begin.min(ticks));
        for address in addresses.rev() {
            if let Some(frame) = self.frames.get(&(parent, address)) {
                parent = *frame;
                continue;
            }
            if self.frames.len() >= FRAME_COUNT_MAX {
                break;
            }
            let frame = self.frames.len() as u32 + 1;
            self.frames.insert((parent, address), frame);
            self.name(ticks, &Frame { frame, parent, address: A(address as usize) })?;
            parent = frame;
        }
        Ok(parent)
    }

    /// Names the function at an address of frames, once.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn symbol(&mut self, ticks: u64, address: u64, name: &[u8]) -> Result<(), MakeError> {
        if self.symbols.contains(&address) {
            return Ok(());
        }
        if self.symbols.len() < NAME_COUNT_MAX {
            self.symbols.insert(address);
        }
        self.name(ticks, &Symbol { address: A(address as usize), name: cut(name) })
    }

    /// Names a thread from these ticks on, if it has another name or process than before. Process 0
    /// is unknown.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn thread(
        &mut self,
        ticks: u64,
        thread: u32,
        process: u32,
        name: &[u8],
    ) -> Result<(), MakeError> {
        let name = cut(name);
        let is_full = self.names.len() >= NAME_COUNT_MAX && !self.names.contains_key(&thread);
        if !is_full {
            let known = self.names.entry(thread).or_default();
            // Rows come page by page: a later name may be known already.
            let after = known.names.partition_point(|(own, _)| *own <= ticks);
            let before = after.checked_sub(1).and_then(|at| known.names.get(at));
            let is_same = before.is_some_and(|(_, own)| **own == *name);
            if is_same && (known.process == process || process == 0) {
                return Ok(());
            }
            if process != 0 {
                known.process = process;
            }
            if !is_same {
                known.names.insert(after, (ticks, name.into()));
            }
            if known.names.len() > FORMER_COUNT_MAX {
                known.names.remove(0);
            }
        }
        self.name(ticks, &ThreadName { thread, process, name })
    }

    /// Adds a row to the names: what rows of processors with later ticks refer to.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn name<E: Event>(&mut self, ticks: u64, row: &E) -> Result<(), MakeError> {
        self.maker.add(NAMES, 0, ticks, row)
    }

    /// Adds a clock sync.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::sync`] does.
    pub fn sync(&mut self, sync: ClockSync) -> Result<(), MakeError> {
        self.maker.sync(sync)
    }

    /// Ends the log.
    ///
    /// # Errors
    ///
    /// Fails if the output fails.
    pub fn finish(self) -> Result<Made, MakeError> {
        self.maker.finish()
    }

    /// Returns the thread that stands for a processor, from 1, and names it once.
    fn cpu(&mut self, cpu: u32, ticks: u64) -> Result<u32, MakeError> {
        let cpu = cpu.min(CPU_COUNT_MAX);
        if self.cpus.insert(cpu) {
            self.maker.thread(ticks, cpu + 1, 0, &format!("cpu {cpu}"))?;
        }
        Ok(cpu + 1)
    }
}

/// Returns the name that a log keeps.
fn cut(name: &[u8]) -> &[u8] {
    name.get(..NAME_SIZE_MAX).unwrap_or(name)
}
