//! Records of tracepoints to rows of the registry `kernel`.
//!
//! ```text
//!  formats ── learn ──▶ kinds by number ─┐
//!  record of a processor, its stack ─────┴─ put ──▶ Switch, Waking, … ──▶ Output
//! ```
//!
//! The order and size of words are parameters: records may come from another machine. A record that
//! is too short for its format is counted and left out.
//!
//! Design: `.waits.page`, `.waits.events` in `design/waits.md`.

mod io;
mod kinds;
mod sched;
mod timers;

pub use io::operation;
pub use kinds::RECORDED;
pub use sched::{context, state};
pub use timers::Timers;

use super::format::{Format, Machine, Slot};
use crate::waits::events::kernel::{
    Exec, Exit, IrqEnter, IrqLeave, SoftEnter, SoftLeave, Syscall, SyscallDone,
};
use crate::waits::output::Output;
use eventdef::field::A;
use eventlog::writer::MakeError;
use foldhash::fast::RandomState;
use kinds::{Common, Fields, Kind};
use std::collections::HashMap;

/// Threads whose process is kept, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Frames of a stack, at most.
const FRAME_COUNT_MAX: usize = 1024;

/// A record, where and when it was made.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    /// The processor.
    pub cpu: u32,
    /// The ticks of the log's clock.
    pub ticks: u64,
    /// Its stack, as [`Output::stack`] numbers it; 0: unknown. Switches and wakes keep it.
    pub stack: u32,
    /// The fields, those of all tracepoints first.
    pub bytes: &'r [u8],
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has a meaning here.
    Known,
    /// Its tracepoint has no meaning here, or its format is unknown.
    Unknown,
    /// It is too short for its format.
    Damaged,
}

/// What a record is, apart from its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A tracepoint.
    Event,
    /// The stack of the record before it, in the kernel.
    KernelStack,
    /// The stack of the record before it, in the program.
    UserStack,
    /// A text that a program wrote to `trace_marker`.
    Print,
    /// Another record.
    Unknown,
}

/// The tracepoints of a kernel.
///
/// Give [`Tracepoints::learn`] the formats of the tracepoints that the source has, and no others.
/// Where `sched_waking` was not recorded, `sched_wakeup` stands for it.
///
/// ```
/// use lens::waits::output::Output;
/// use lens::waits::source::format::{Format, Machine};
/// use lens::waits::source::tracepoints::{Record, Seen, Tracepoints};
/// use eventlog::writer::Origin;
///
/// let text = "name: sched_process_exit\nID: 369\n\
///             field:unsigned short common_type; offset:0; size:2; signed:0;\n\
///             field:unsigned char common_flags; offset:2; size:1; signed:0;\n\
///             field:int common_pid; offset:4; size:4; signed:1;\n\
///             field:pid_t pid; offset:8; size:4; signed:1;\n";
/// let mut tracepoints = Tracepoints::new(Machine::HERE);
/// tracepoints.learn(&Format::parse("sched", text)?);
/// let mut bytes = [0; 12];
/// bytes[..2].copy_from_slice(&369u16.to_ne_bytes());
/// bytes[8..].copy_from_slice(&42u32.to_ne_bytes());
///
/// let mut log = Vec::new();
/// let mut out = Output::new(&mut log, &Origin::new())?;
/// let seen = tracepoints.put(&mut out, &Record { cpu: 0, ticks: 5, stack: 0, bytes: &bytes })?;
/// tracepoints.finish(&mut out)?;
/// out.finish()?;
/// assert_eq!(seen, Seen::Known);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tracepoints {
    machine: Machine,
    /// By the number of the tracepoint.
    kinds: Vec<Option<Box<Kind>>>,
    has_waking: bool,
    timers: Timers,
    /// The process of each thread, as far as it is known.
    processes: HashMap<u32, u32, RandomState>,
    /// The tracepoints without a meaning here: their names, and the records of them.
    others: HashMap<u16, (String, u64), RandomState>,
    /// New threads whose `Fork` is to come: whether they share their maker's process.
    new: HashMap<u32, bool, RandomState>,
}

impl Tracepoints {
    /// Returns a reader of records that a kernel on this machine made.
    pub fn new(machine: Machine) -> Tracepoints {
        Tracepoints {
            machine,
            kinds: Vec::new(),
            has_waking: false,
            timers: Timers::default(),
            processes: HashMap::default(),
            others: HashMap::default(),
            new: HashMap::default(),
        }
    }

    /// Takes the format of a tracepoint. Returns whether its records have a meaning here: `false`
    /// if the tracepoint is another one, or lacks a field that is needed.
    pub fn learn(&mut self, format: &Format) -> bool {
        let id = usize::from(format.id);
        let Some(kind) = Kind::of(format) else {
            let name = format!("{}:{}", format.system, format.name);
            self.others.insert(format.id, (name, 0));
            return false;
        };
        if self.kinds.len() <= id {
            self.kinds.resize_with(id + 1, || None);
        }
        self.has_waking |= matches!(kind.fields, Fields::Waking { .. });
        if let Some(place) = self.kinds.get_mut(id) {
            *place = Some(Box::new(kind));
        }
        true
    }

    /// Names the address of the kernel's function `hrtimer_wakeup`, which ends sleeps. Without it,
    /// [`Timers`] tells such timers by what follows them.
    pub fn wakeup_at(&mut self, address: u64) {
        self.timers.wakeup_at(address);
    }

    /// States the process of a thread: the new threads that it makes are of the same process.
    pub fn member(&mut self, thread: u32, process: u32) {
        if self.processes.len() < THREAD_COUNT_MAX || self.processes.contains_key(&thread) {
            self.processes.insert(thread, process);
        }
    }

    /// Returns what a record is.
    #[inline]
    pub fn sort(&self, bytes: &[u8]) -> Sort {
        match self.kind(bytes).map(|kind| &kind.fields) {
            None => Sort::Unknown,
            Some(Fields::KernelStack { .. }) => Sort::KernelStack,
            Some(Fields::UserStack { .. }) => Sort::UserStack,
            Some(Fields::Print { .. }) => Sort::Print,
            Some(_) => Sort::Event,
        }
    }

    /// Adds the addresses of a stack to `frames`, the innermost frame first.
    pub fn addresses(&self, bytes: &[u8], frames: &mut Vec<u64>) {
        let caller = match self.kind(bytes).map(|kind| &kind.fields) {
            Some(Fields::KernelStack { caller } | Fields::UserStack { caller }) => caller,
            _ => return,
        };
        let size = (caller.size / caller.count.max(1)) as usize;
        // A kernel writes as many frames as there are, not as many as the format has.
        let rest = bytes.get(caller.offset as usize..).unwrap_or_default();
        for frame in rest.chunks_exact(size.max(1)).take(FRAME_COUNT_MAX) {
            match self.machine.number(frame) {
                Some(0) | None => break,
                // Kernels mark the end, and a change of the address space, by high numbers.
                Some(address) if address >= u64::MAX - 4095 => {}
                Some(address) if size == 4 && address >= u64::from(u32::MAX - 4095) => {}
                Some(address) => frames.push(address),
            }
        }
    }

    /// Returns whether a record is a switch of a processor.
    #[inline]
    pub fn is_switch(&self, bytes: &[u8]) -> bool {
        self.kind(bytes).is_some_and(|kind| matches!(kind.fields, Fields::Switch { .. }))
    }

    /// Returns the threads before and after a record that is a switch.
    #[inline]
    pub(crate) fn switched(&self, bytes: &[u8]) -> Option<(u32, u32)> {
        match self.kind(bytes)?.fields {
            Fields::Switch { prev, next, .. } => {
                prev.number_u32(self.machine, bytes).zip(next.number_u32(self.machine, bytes))
            }
            _ => None,
        }
    }

    /// Returns whether the row of a record has a stack: switches and wakes.
    #[inline]
    pub fn has_stack(&self, bytes: &[u8]) -> bool {
        let kind = self.kind(bytes).map(|kind| &kind.fields);
        match kind {
            Some(Fields::Woken { is_new, .. }) => !self.has_waking && !is_new,
            _ => matches!(kind, Some(Fields::Switch { .. } | Fields::Waking { .. })),
        }
    }

    /// Returns the text of a record of `trace_marker`.
    pub fn text<'r>(&self, bytes: &'r [u8]) -> Option<&'r [u8]> {
        match self.kind(bytes)?.fields {
            Fields::Print { text } => text.string(self.machine, bytes),
            _ => None,
        }
    }

    /// Adds the row of a record, and the names in it.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn put(&mut self, out: &mut Output<'_>, record: &Record<'_>) -> Result<Seen, MakeError> {
        let id = id(self.machine, record.bytes);
        let Some(Some(kind)) = id.and_then(|id| self.kinds.get(usize::from(id))) else {
            self.leave_out(record.bytes);
            return Ok(if id.is_some() { Seen::Unknown } else { Seen::Damaged });
        };
        let kind = **kind;
        let is_wake = matches!(kind.fields, Fields::Waking { .. } | Fields::Woken { .. });
        self.timers.follow(out, record.cpu, is_wake)?;
        Ok(match self.row(out, record, &kind)? {
            Some(()) => Seen::Known,
            None => Seen::Damaged,
        })
    }

    /// Counts a record without a meaning here.
    pub(crate) fn leave_out(&mut self, bytes: &[u8]) {
        let id = id(self.machine, bytes);
        if let Some((_, count)) = id.and_then(|id| self.others.get_mut(&id)) {
            *count += 1;
        }
    }

    /// Returns the names of the tracepoints that have no meaning here, with the number of records.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (String, u64)> {
        self.others.values().filter(|(_, count)| *count > 0).cloned()
    }

    /// States that records of a processor were lost, as [`Output::lose`] does.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn lose(
        &mut self,
        out: &mut Output<'_>,
        cpu: u32,
        from: u64,
        ticks: u64,
        count: u64,
    ) -> Result<(), MakeError> {
        self.timers.follow(out, cpu, false)?;
        out.lose(cpu, from, ticks, count)
    }

    /// Adds the rows that wait for what follows them. Call it after the last record.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn finish(&mut self, out: &mut Output<'_>) -> Result<(), MakeError> {
        self.timers.finish(out)
    }

    fn kind(&self, bytes: &[u8]) -> Option<&Kind> {
        self.kinds.get(usize::from(id(self.machine, bytes)?))?.as_deref()
    }

    /// Adds the row of a record. Returns `None` if the record is too short.
    fn row(
        &mut self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
    ) -> Result<Option<()>, MakeError> {
        match kind.fields {
            Fields::Switch { .. }
            | Fields::Waking { .. }
            | Fields::Woken { .. }
            | Fields::NewTask { .. }
            | Fields::Rename { .. }
            | Fields::Fork { .. } => self.sched(out, record, kind),
            Fields::Block { .. }
            | Fields::Socket { .. }
            | Fields::Ready { .. }
            | Fields::SocketState { .. } => self.device(out, record, kind),
            _ => self.plain(out, record, kind),
        }
    }

    /// Adds a row whose values are the fields of its record.
    fn plain(
        &mut self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        Kind { common, fields }: &Kind,
    ) -> Result<Option<()>, MakeError> {
        let machine = self.machine;
        let &Record { cpu, ticks, bytes, .. } = record;
        let u32_of = |slot: Slot| slot.number_u32(machine, bytes);
        let thread = u32_of(common.thread);
        match *fields {
            Fields::Exec { thread, was, path } => {
                let path = path.string(machine, bytes);
                let (Some(thread), Some(path)) = (u32_of(thread), path) else { return Ok(None) };
                let was = was.and_then(u32_of).unwrap_or(thread);
                self.member(thread, thread);
                out.add(cpu, ticks, &Exec { thread, was, path })?;
            }
            Fields::Exit { thread } => {
                let Some(thread) = u32_of(thread) else { return Ok(None) };
                self.processes.remove(&thread);
                out.add(cpu, ticks, &Exit { thread })?;
            }
            Fields::IrqEnter { irq, name } => {
                let name = name.and_then(|name| name.string(machine, bytes)).unwrap_or_default();
                let Some(irq) = u32_of(irq) else { return Ok(None) };
                out.add(cpu, ticks, &IrqEnter { irq, name })?;
            }
            Fields::IrqLeave { irq } => {
                let Some(irq) = u32_of(irq) else { return Ok(None) };
                out.add(cpu, ticks, &IrqLeave { irq })?;
            }
            Fields::Soft { is_enter, vector } => {
                let Some(vector) = u32_of(vector) else { return Ok(None) };
                match is_enter {
                    true => out.add(cpu, ticks, &SoftEnter { vector })?,
                    false => out.add(cpu, ticks, &SoftLeave { vector })?,
                }
            }
            Fields::Timer { function } => {
                let Some(function) = function.number(machine, bytes) else { return Ok(None) };
                self.timers.fire(out, cpu, ticks, function)?;
            }
            Fields::Enter { call, args } => {
                let (Some(thread), Some(call)) = (thread, u32_of(call)) else { return Ok(None) };
                let arg = |slot: Option<Slot>| match slot {
                    Some(slot) => slot.number(machine, bytes).map(|arg| arg as usize),
                    None => Some(0),
                };
                let (Some(object), Some(value)) = (arg(args[0]), arg(args[1])) else {
                    return Ok(None);
                };
                out.add(cpu, ticks, &Syscall { thread, call, object: A(object), value })?;
            }
            Fields::Leave { call, result } => {
                let (Some(thread), Some(call)) = (thread, u32_of(call)) else { return Ok(None) };
                let Some(result) = result.number(machine, bytes) else { return Ok(None) };
                let result = result as usize;
                out.add(cpu, ticks, &SyscallDone { thread, call, result })?;
            }
            _ => {}
        }
        Ok(Some(()))
    }
}

/// Returns the number of the tracepoint of a record: its first two bytes.
#[inline]
fn id(machine: Machine, bytes: &[u8]) -> Option<u16> {
    machine.number(bytes.get(..2)?).map(|id| id as u16)
}

/// Returns the flags of a record: in which context it was made.
#[inline]
fn flags(machine: Machine, common: &Common, bytes: &[u8]) -> Option<u8> {
    common.flags.and_then(|flags| flags.number(machine, bytes)).map(|flags| flags as u8)
}
