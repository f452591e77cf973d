//! An event of the text to rows.
//!
//! ```text
//!  header, payload, frames ── the processor: printed, or of the running thread ──▶ rows ──▶ Output
//! ```
//!
//! Design: `.waits.script` in `design/waits.md`.

use super::frames::Frames;
use super::header::{ENDED, Header, number};
use super::payload::{self, Fields, Function, Payload, Stage, Task};
use super::running::Running;
use crate::waits::events::kernel::{
    BlockComplete, BlockInsert, BlockIssue, CpuSample, Exec, Exit, Fork, IrqEnter, IrqLeave,
    SocketReady, SocketReceive, SocketSend, SocketState, SoftEnter, SoftLeave, Switch, Syscall,
    SyscallDone, TimerFire, Waking, Woken,
};
use crate::waits::output::{CPU_COUNT_MAX, Output};
use crate::waits::source::import::Imported;
use crate::waits::source::tracepoints::Timers;
use eventdef::field::{A, P};
use eventlog::writer::{Made, MakeError};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The context of a waker that the text does not print.
const CONTEXT_UNKNOWN: u32 = 4;
/// Threads whose names are noted, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Events whose samples tell that a thread ran.
const CLOCKS: [&[u8]; 5] = [b"cpu-clock", b"task-clock", b"cycles", b"cpu-cycles", b"ref-cycles"];

/// What an event of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event<'t> {
    Sample,
    /// Lost events.
    Lost(u64),
    Fields(Payload<'t>),
}

impl Event<'_> {
    pub(super) fn of<'t>(header: &Header<'t>) -> Event<'t> {
        if header.event == b"PERF_RECORD_LOST" {
            let count = header.payload.strip_prefix(b"lost ").and_then(number);
            return Event::Lost(count.map_or(0, |(count, _)| count));
        }
        if is_clock(header.event) {
            return Event::Sample;
        }
        Event::Fields(payload::parse(header.event, header.payload))
    }

    /// Returns whether rows of the event keep its stack.
    pub(super) fn has_stack(&self) -> bool {
        let fields = match self {
            Event::Sample => return true,
            Event::Fields(Payload::Whole(fields)) => fields,
            _ => return false,
        };
        matches!(fields, Fields::Switch { .. } | Fields::Waking { .. } | Fields::Woken { .. })
    }
}

/// Returns whether an event is a clock, as `cpu-clock`, `cycles:P` or `cpu_core/cycles/u`.
fn is_clock(event: &[u8]) -> bool {
    let mut words = event.split(|byte| matches!(byte, b':' | b'/'));
    match event.contains(&b'/') {
        true => words.nth(1).is_some_and(|name| CLOCKS.contains(&name)),
        false => words.next().is_some_and(|name| CLOCKS.contains(&name)),
    }
}

/// The rows of a text.
pub(super) struct Rows<'o> {
    out: Output<'o>,
    running: Running,
    timers: Timers,
    /// Whether the text has wakers: else `sched_wakeup` stands for them.
    has_waking: bool,
    /// Threads with a name, and whether their process is known.
    named: HashMap<u32, bool, RandomState>,
    /// The time of the last event, by processor.
    last: Vec<u64>,
    /// The event before: where it was, and what.
    before: Option<(Place, Was)>,
}

/// Where an event was: its time, its processor if printed, and its thread.
type Place = (u64, Option<u32>, u32);

/// What an event of the text was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Was {
    Switch,
    Waking(u32),
    Other,
}

/// Where and when an event was.
#[derive(Clone, Copy)]
struct At {
    cpu: u32,
    time: u64,
    thread: u32,
    stack: u32,
}

impl<'o> Rows<'o> {
    pub(super) fn new(out: Output<'o>, has_waking: bool, cpu_count: u32) -> Rows<'o> {
        Rows {
            out,
            running: Running::new(cpu_count),
            timers: Timers::default(),
            has_waking,
            named: HashMap::default(),
            last: Vec::new(),
            before: None,
        }
    }

    /// Returns whether a line has the record of the event before it under another name: perf prints
    /// the record of a group's first event for each event of the group. A thread that was switched
    /// out makes no event, and a switch of a thread that was woken just now is none.
    pub(super) fn is_copy(&mut self, header: &Header<'_>, event: &Event<'_>) -> bool {
        let own = (header.time, header.cpu, header.thread);
        let before = self.before.filter(|(place, _)| *place == own).map(|(_, was)| was);
        let switch = header.event.ends_with(b"sched:sched_switch");
        let is_copy = match before {
            Some(Was::Switch) => !switch && header.thread != 0,
            Some(Was::Waking(target)) if switch => match event {
                Event::Fields(Payload::Whole(Fields::Switch { prev, .. })) => {
                    prev.thread == target && target != header.thread
                }
                _ => true,
            },
            _ => false,
        };
        let was = match event {
            _ if switch => Was::Switch,
            Event::Fields(Payload::Whole(Fields::Waking { target })) => Was::Waking(target.thread),
            _ => Was::Other,
        };
        if !is_copy {
            self.before = Some((own, was));
        }
        is_copy
    }

    /// Adds the rows of an event. Returns whether it has a meaning here.
    pub(super) fn put(
        &mut self,
        frames: &mut Frames,
        header: &Header<'_>,
        event: &Event<'_>,
        done: &mut Imported,
    ) -> Result<bool, MakeError> {
        let (time, thread) = (header.time, header.thread);
        let fields = match event {
            Event::Fields(Payload::Whole(fields)) => Some(fields),
            Event::Fields(_) => return Ok(false),
            _ => None,
        };
        let cpu = match (header.cpu, fields) {
            (Some(cpu), _) => cpu.min(CPU_COUNT_MAX),
            (None, Some(Fields::Switch { prev, next, .. })) => {
                self.running.switch((prev.name, prev.thread), (next.name, next.thread))
            }
            (None, _) => self.running.of(thread),
        };
        self.name(header)?;
        for (address, name) in frames.take_named() {
            self.out.symbol(time, address, &name)?;
        }
        let stack = match frames.addresses() {
            [] => 0,
            addresses => self.out.stack(time, addresses.iter().copied())?,
        };
        let at = At { cpu, time, thread, stack };
        let is_wake = matches!(fields, Some(Fields::Waking { .. } | Fields::Woken { .. }));
        self.timers.follow(&mut self.out, cpu, is_wake)?;
        match event {
            Event::Sample => self.out.add(cpu, time, &CpuSample { thread, stack })?,
            Event::Lost(count) => {
                let from = self.last.get(cpu as usize).copied().unwrap_or(0);
                self.out.lose(cpu, from, time, *count)?;
                done.lost_count = done.lost_count.saturating_add((*count).max(1));
            }
            Event::Fields(_) => {
                fields.map_or(Ok(()), |fields| self.row(at, fields))?;
            }
        }
        self.note(cpu, time);
        Ok(true)
    }

    /// Notes the time of an event.
    fn note(&mut self, cpu: u32, time: u64) {
        let at = cpu as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, 0);
        }
        if let Some(last) = self.last.get_mut(at) {
            *last = time;
        }
    }

    /// Names the thread of a header, unless an event has named it. `perf script` prints a name that
    /// may be older than that in the event.
    fn name(&mut self, header: &Header<'_>) -> Result<(), MakeError> {
        let Header { thread, process, name, time, .. } = *header;
        let known = self.named.get(&thread).copied();
        let is_news = known.is_none() || known == Some(false) && process.is_some();
        if !is_news || matches!(thread, 0 | ENDED) {
            return Ok(());
        }
        self.note_name(thread, process.is_some());
        self.out.thread(time, thread, process.unwrap_or(0), name)
    }

    fn note_name(&mut self, thread: u32, has_process: bool) {
        if self.named.len() < THREAD_COUNT_MAX || self.named.contains_key(&thread) {
            *self.named.entry(thread).or_default() |= has_process;
        }
    }

    fn task(&mut self, time: u64, task: &Task<'_>) -> Result<(), MakeError> {
        if task.thread == 0 {
            return Ok(());
        }
        self.note_name(task.thread, false);
        self.out.thread(time, task.thread, 0, task.name)
    }

    fn row(&mut self, at: At, fields: &Fields<'_>) -> Result<(), MakeError> {
        let At { cpu, time, thread, stack } = at;
        let out = &mut self.out;
        match *fields {
            Fields::Switch { prev, state, next } => {
                self.task(time, &prev)?;
                self.task(time, &next)?;
                let (prev, next) = (prev.thread, next.thread);
                self.out.add(cpu, time, &Switch { prev, next, state, stack })
            }
            Fields::Waking { target } => {
                self.has_waking = true;
                self.waking(at, target.thread)
            }
            Fields::Woken { target, cpu: to, is_new } => {
                // The maker of a new thread is its `Fork`.
                if !self.has_waking && !is_new {
                    self.waking(at, target.thread)?;
                }
                let (target, to) = (target.thread, to.unwrap_or(cpu));
                self.running.woken(target, to);
                self.out.add(cpu, time, &Woken { target, cpu: to })
            }
            Fields::Fork { parent, child } => {
                self.task(time, &child)?;
                let child = child.thread;
                self.out.add(cpu, time, &Fork { parent, child, process: 0 })
            }
            Fields::Rename(task) => self.task(time, &task),
            Fields::Exec { thread, was, path } => out.add(cpu, time, &Exec { thread, was, path }),
            Fields::Exit { thread } => out.add(cpu, time, &Exit { thread }),
            Fields::IrqEnter { irq, name } => out.add(cpu, time, &IrqEnter { irq, name }),
            Fields::IrqLeave { irq } => out.add(cpu, time, &IrqLeave { irq }),
            Fields::Soft { is_enter: true, vector } => out.add(cpu, time, &SoftEnter { vector }),
            Fields::Soft { vector, .. } => out.add(cpu, time, &SoftLeave { vector }),
            Fields::Timer { function: Function::At(function) } => {
                self.timers.fire(out, cpu, time, function)
            }
            Fields::Timer { function: Function::Named(is_wakeup) } => {
                out.add(cpu, time, &TimerFire { isWakeup: is_wakeup, function: A(0) })
            }
            Fields::Socket { is_send, socket, size } => {
                let (socket, size) = (P(socket as usize), size as usize);
                match is_send {
                    true => out.add(cpu, time, &SocketSend { thread, socket, size }),
                    false => out.add(cpu, time, &SocketReceive { thread, socket, size }),
                }
            }
            Fields::Nothing => Ok(()),
            Fields::Ready { socket } => {
                out.add(cpu, time, &SocketReady { socket: P(socket as usize) })
            }
            Fields::SocketState { socket, state, ports } => {
                out.add(cpu, time, &SocketState { socket: P(socket as usize), state, ports })
            }
            Fields::Enter { call, object, value } => {
                let (object, value) = (A(object as usize), value as usize);
                out.add(cpu, time, &Syscall { thread, call, object, value })
            }
            Fields::Leave { call, result } => {
                out.add(cpu, time, &SyscallDone { thread, call, result: result as usize })
            }
            Fields::Block { .. } => self.block(at, fields),
        }
    }

    fn waking(&mut self, at: At, target: u32) -> Result<(), MakeError> {
        let At { cpu, time, thread: waker, stack } = at;
        self.out.add(cpu, time, &Waking { waker, target, context: CONTEXT_UNKNOWN, stack })
    }

    fn block(&mut self, at: At, fields: &Fields<'_>) -> Result<(), MakeError> {
        let Fields::Block { stage, device, sector, count, operation } = *fields else {
            return Ok(());
        };
        let At { cpu, time, thread, .. } = at;
        let (out, sector) = (&mut self.out, sector as usize);
        match stage {
            Stage::Insert => {
                out.add(cpu, time, &BlockInsert { thread, device, sector, count, operation })
            }
            Stage::Issue => {
                out.add(cpu, time, &BlockIssue { thread, device, sector, count, operation })
            }
            Stage::Complete => {
                out.add(cpu, time, &BlockComplete { thread, device, sector, count, operation })
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<Made, MakeError> {
        self.timers.finish(&mut self.out)?;
        self.out.finish()
    }
}
