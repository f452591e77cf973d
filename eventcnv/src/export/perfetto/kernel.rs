//! Events of a kernel as Perfetto knows them: it draws states of threads and their wakers itself.
//!
//! ```text
//!  Switch, Waking, Fork … of processor n ──▶ bundle n: ftrace events ─┐
//!  Member, ThreadName ──▶ packet: process tree ───────────────────────┴─▶ packets
//! ```
//!
//! Design: `.cnv.perfetto.kernel` in `design/eventcnv.md`.

use crate::export::perfetto::{PACKET, SEQUENCE, SEQUENCE_ID, TIMESTAMP};
use crate::export::protobuf::Message;
use eventlog::reader::{Event, Log};
use foldhash::fast::RandomState;
use lens::waits::model::rows::{Row, Rows};
use std::collections::{BTreeMap, HashMap};

/// Bytes of all bundles that are being filled, about.
const BUNDLES_SIZE: usize = 1 << 18;
/// Threads whose names and processes are known, at most. Further ones have none.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Threads that run at a time, at most: a thread for each processor.
const RUNNING_COUNT_MAX: usize = 1 << 16;

// Fields of packets, bundles and events (TracePacket, FtraceEventBundle, FtraceEvent).
const BUNDLE: u32 = 1;
const PROCESS_TREE: u32 = 2;
const CPU: u32 = 1;
const EVENT: u32 = 2;
const LOST_EVENTS: u32 = 3;
const AT: u32 = 1;
const PID: u32 = 2;
const FLAGS: u32 = 5;

// Kinds of events (fields of FtraceEvent).
const SCHED_SWITCH: u32 = 4;
const SCHED_WAKING: u32 = 20;
const IRQ_HANDLER_ENTRY: u32 = 36;
const IRQ_HANDLER_EXIT: u32 = 37;
const TASK_NEWTASK: u32 = 235;
const SCHED_PROCESS_EXEC: u32 = 237;
const SCHED_PROCESS_EXIT: u32 = 238;

/// The flag of a new thread of the same process (CLONE_THREAD).
const SAME_PROCESS: u64 = 0x10000;

/// A wake, to be written.
#[derive(Clone, Copy)]
struct Wake {
    waker: u32,
    target: u32,
    context: u32,
}

/// A wake, with its processor and its time.
type Kept = (u32, u64, Wake);

#[derive(Default)]
struct Thread {
    process: u32,
    /// The process that made this process, if it was seen; else 0.
    parent: u32,
    name: Box<str>,
}

/// The bundles that are being filled, and what is known of threads.
pub(super) struct Kernel {
    /// By stream.
    rows: Vec<Option<Rows>>,
    /// By processor.
    bundles: BTreeMap<u32, Message>,
    size: usize,
    threads: HashMap<u32, Thread, RandomState>,
    /// The thread whose name or process is news, and its time: its fork may follow.
    fresh: Option<(u64, u32)>,
    /// Threads that run, and the last wake of each meanwhile: its processor and its time.
    running: HashMap<u32, Option<Kept>, RandomState>,
    /// Threads that sleep after such a wake: the processor and the time of their switch, the wake.
    early: HashMap<u32, (u32, u64, Kept), RandomState>,
}

impl Kernel {
    /// Returns nothing for a log without the registry `kernel`.
    pub(super) fn of(log: &Log) -> Option<Kernel> {
        let count = log.streams().len().min(usize::from(u16::MAX));
        let rows: Vec<_> = (0..count as u16).map(|stream| Rows::of(log, stream)).collect();
        rows.iter().any(Option::is_some).then(|| Kernel {
            rows,
            bundles: BTreeMap::new(),
            size: 0,
            threads: HashMap::default(),
            fresh: None,
            running: HashMap::default(),
            early: HashMap::default(),
        })
    }

    /// Takes an event, and writes full bundles. Returns whether Perfetto draws the event by them.
    pub(super) fn take(&mut self, event: &Event<'_, '_>, ns: u64, out: &mut Message) -> bool {
        let rows = self.rows.get(usize::from(event.stream)).and_then(Option::as_ref);
        let Some(row) = rows.and_then(|rows| rows.row(event)) else { return false };
        let cpu = event.buffer.saturating_sub(2);
        // A process tree before the fork of its thread would be another thread to Perfetto.
        let fresh = self.fresh.take();
        let is_named = matches!(row, Row::Fork { child, .. } if fresh == Some((ns, child)));
        if let Some(fresh) = fresh.filter(|_| !is_named) {
            self.tree(fresh, out);
        }
        match row {
            Row::Switch { prev, next, state, .. } => self.switch(cpu, ns, [prev, next], state),
            Row::Waking { waker, target, context, .. } => {
                self.waking((cpu, ns, Wake { waker, target, context }));
            }
            Row::Fork { parent, child, process } => {
                self.fork(cpu, ns, parent, (child, process), is_named);
            }
            Row::Exec { thread, was, path } => {
                let path = String::from_utf8_lossy(path);
                self.add(cpu, ns, thread, SCHED_PROCESS_EXEC, 0, |exec| {
                    exec.string(1, &path);
                    exec.uint(2, thread.into());
                    exec.uint(3, was.into());
                });
            }
            Row::Exit { thread } => {
                self.add(cpu, ns, thread, SCHED_PROCESS_EXIT, 0, |exit| {
                    exit.uint(2, thread.into());
                });
            }
            Row::Member { thread, process } => self.know(ns, thread, process, None),
            Row::ThreadName { thread, process, name } => {
                let name = String::from_utf8_lossy(name);
                self.know(ns, thread, process, Some(&name));
            }
            Row::ThreadExists { thread, process, .. } => {
                self.know(ns, thread, process, None);
                return false;
            }
            Row::IrqEnter { irq, name } => {
                let name = String::from_utf8_lossy(name);
                self.add(cpu, ns, 0, IRQ_HANDLER_ENTRY, 0, |entry| {
                    entry.uint(1, irq.into());
                    entry.string(2, &name);
                });
            }
            Row::IrqLeave { irq } => {
                self.add(cpu, ns, 0, IRQ_HANDLER_EXIT, 0, |exit| exit.uint(1, irq.into()));
            }
            Row::Lost { .. } => {
                // The bundle that follows says that events were lost before it.
                self.write(out);
                self.bundle(cpu).uint(LOST_EVENTS, 1);
                return false;
            }
            _ => return false,
        }
        if self.size >= BUNDLES_SIZE {
            self.write(out);
        }
        true
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self, out: &mut Message) {
        if let Some(fresh) = self.fresh.take() {
            self.tree(fresh, out);
        }
        let mut kept: Vec<_> = self.running.drain().filter_map(|(_, kept)| kept).collect();
        kept.extend(self.early.drain().map(|(_, (cpu, ns, (.., wake)))| (cpu, ns, wake)));
        kept.sort_by_key(|(cpu, ns, wake)| (*ns, *cpu, wake.target));
        for (cpu, ns, wake) in kept {
            self.wake(cpu, ns, wake);
        }
        self.write(out);
    }

    /// Writes all bundles.
    fn write(&mut self, out: &mut Message) {
        for bundle in std::mem::take(&mut self.bundles).into_values() {
            out.message(PACKET, |packet| {
                packet.uint(SEQUENCE_ID, SEQUENCE);
                packet.bytes_of(BUNDLE, &bundle);
            });
        }
        self.size = 0;
    }

    fn bundle(&mut self, cpu: u32) -> &mut Message {
        self.bundles.entry(cpu).or_insert_with(|| {
            let mut bundle = Message::default();
            bundle.uint(CPU, cpu.into());
            bundle
        })
    }

    /// Adds an event of a processor. `pid` is the thread that ran.
    fn add(
        &mut self,
        cpu: u32,
        ns: u64,
        pid: u32,
        kind: u32,
        flags: u64,
        fill: impl FnOnce(&mut Message),
    ) {
        let bundle = self.bundle(cpu);
        let before = bundle.bytes().len();
        bundle.message(EVENT, |event| {
            event.uint(AT, ns);
            event.uint(PID, pid.into());
            event.message(kind, fill);
            if flags != 0 {
                event.uint(FLAGS, flags);
            }
        });
        self.size += bundle.bytes().len() - before;
    }

    fn name(&self, thread: u32) -> Box<str> {
        match self.threads.get(&thread) {
            Some(known) => known.name.clone(),
            None if thread == 0 => "swapper".into(),
            None => Box::default(),
        }
    }

    fn switch(&mut self, cpu: u32, ns: u64, pair: [u32; 2], state: u32) {
        let [prev, next] = pair;
        let names = pair.map(|thread| self.name(thread));
        if let Some((cpu, ns, (.., wake))) = self.early.remove(&next) {
            self.wake(cpu, ns, wake);
        }
        self.add(cpu, ns, prev, SCHED_SWITCH, 0, |switch| {
            switch.string(1, &names[0]);
            switch.uint(2, prev.into());
            switch.uint(4, bits(state));
            switch.string(5, &names[1]);
            switch.uint(6, next.into());
        });
        if let Some(Some(kept)) = self.running.remove(&prev) {
            if self.early.len() < THREAD_COUNT_MAX {
                self.early.insert(prev, (cpu, ns, kept));
            } else {
                self.wake(cpu, ns, kept.2);
            }
        }
        if next != 0 && self.running.len() < RUNNING_COUNT_MAX {
            // A thread that runs already was switched out unseen.
            if let Some(Some((cpu, ns, wake))) = self.running.insert(next, None) {
                self.wake(cpu, ns, wake);
            }
        }
    }

    /// Takes a wake. Perfetto passes over the wake of a thread that runs, though the last one ends
    /// the next sleep: so it stands after the switch, unless another wake follows.
    fn waking(&mut self, now: Kept) {
        let target = now.2.target;
        if let Some((.., (cpu, ns, wake))) = self.early.remove(&target) {
            self.wake(cpu, ns, wake);
        }
        let kept = self.running.get_mut(&target);
        let now = kept.map_or(Some(now), |kept| kept.replace(now));
        if let Some((cpu, ns, wake)) = now {
            self.wake(cpu, ns, wake);
        }
    }

    fn wake(&mut self, cpu: u32, ns: u64, wake: Wake) {
        let Wake { waker, target, context } = wake;
        let name = self.name(target);
        self.add(cpu, ns, waker, SCHED_WAKING, flags(context), |waking| {
            waking.string(1, &name);
            waking.uint(2, target.into());
        });
    }

    /// Adds the fork of a thread of a process. A new thread has its parent's name unless it was
    /// just named.
    fn fork(&mut self, cpu: u32, ns: u64, parent: u32, new: (u32, u32), is_named: bool) {
        let (child, process) = new;
        // Of a process that is not known, Perfetto would make one: a wake tells no process.
        if process == 0 {
            return self.wake(cpu, ns, Wake { waker: parent, target: child, context: 0 });
        }
        let name = self.name(if is_named { child } else { parent });
        if self.threads.len() < THREAD_COUNT_MAX || self.threads.contains_key(&child) {
            let of = |thread| self.threads.get(&thread).map_or(0, |known| known.process);
            let parent = if process == child { of(parent) } else { 0 };
            self.threads.insert(child, Thread { process, parent, name: name.clone() });
        }
        let flags = if process == child { 0 } else { SAME_PROCESS };
        self.add(cpu, ns, parent, TASK_NEWTASK, 0, |task| {
            task.uint(1, child.into());
            task.string(2, &name);
            task.uint(3, flags);
        });
    }

    /// Notes the process and the name of a thread, and whether they are news. Process 0 is unknown.
    fn know(&mut self, ns: u64, thread: u32, process: u32, name: Option<&str>) {
        if thread == 0 || self.threads.len() >= THREAD_COUNT_MAX {
            return;
        }
        let known = self.threads.entry(thread).or_default();
        let is_new_process = process != 0 && known.process != process;
        let is_new_name = name.is_some_and(|name| *known.name != *name);
        if is_new_process {
            known.process = process;
        }
        if let Some(name) = name.filter(|_| is_new_name) {
            known.name = name.into();
        }
        if known.process != 0 && (is_new_process || is_new_name) {
            self.fresh = Some((ns, thread));
        }
    }

    /// Writes a process tree of one thread.
    fn tree(&self, (ns, thread): (u64, u32), out: &mut Message) {
        let Some(known) = self.threads.get(&thread) else { return };
        out.message(PACKET, |packet| {
            packet.uint(TIMESTAMP, ns);
            packet.uint(SEQUENCE_ID, SEQUENCE);
            packet.message(PROCESS_TREE, |tree| {
                if thread == known.process {
                    tree.message(1, |of| {
                        of.uint(1, thread.into());
                        // Another parent would be another process to Perfetto.
                        of.uint(2, known.parent.into());
                        of.string(3, &known.name);
                    });
                }
                tree.message(2, |of| {
                    of.uint(1, thread.into());
                    of.string(2, &known.name);
                    of.uint(3, known.process.into());
                });
            });
        });
    }
}

/// Returns the state of a thread that was switched out, in the bits of Linux 4.4: a trace that
/// states no version of a kernel is read by these. States up to 0x20 are the same in all kernels.
fn bits(state: u32) -> u64 {
    match state {
        ..0x40 => state.into(),
        0x40 => 0x200, // TASK_PARKED
        0x80 => 0x402, // TASK_IDLE: TASK_UNINTERRUPTIBLE | TASK_NOLOAD
        // It can still run.
        0x100 => 0,
        _ => u64::from(state & 0x3F),
    }
}

/// Returns the flags of a record that tell the context of a waker (TRACE_FLAG).
fn flags(context: u32) -> u64 {
    match context {
        1 => 0x10,
        2 => 0x08,
        3 => 0x40,
        _ => 0,
    }
}
