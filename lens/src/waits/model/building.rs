//! One pass over the rows of a kernel, in the order of time.
//!
//! ```text
//!  row ─┬─ threads.rs     who runs, who waits, since when
//!       ├─ causes.rs      what a processor did just before a wake
//!       ├─ operations.rs  disks
//!       ├─ sockets.rs     network
//!       └─ names
//! ```
//!
//! Design: `.waits.model` in `design/waits.md`.

use super::batches::{Batch, Builder, Source};
use super::rows::{Row, is_kernel};
use super::state::{Building, Cpu, Just};
use super::{Interrupter, Model, NONE, Options, SAMPLE_COUNT_MAX, Stretch, What};
use crate::waits::output::{CPU_COUNT_MAX, NAMES};
use eventlog::reader::{Clock, Log, Order};

/// Names of threads without a life, open files, functions, interrupts: of each, at most.
pub(super) const NAME_COUNT_MAX: usize = 1 << 20;
/// Frames, at most.
const FRAME_COUNT_MAX: usize = 1 << 24;
/// Bytes of a name or a path.
const NAME_SIZE_MAX: usize = 4096;

impl Building {
    /// Notes the number of a row in its buffer. Rows come by their time: a lower number means that
    /// the clock of the processor went back. (Names come as the pages of the processors do.)
    #[inline]
    pub(super) fn number(&mut self, buffer: u32, number: u64) {
        let at = buffer as usize;
        if at >= self.numbers.len() {
            if buffer > CPU_COUNT_MAX.saturating_add(2) {
                return;
            }
            self.numbers.resize(at + 1, 0);
        }
        if let Some(next) = self.numbers.get_mut(at) {
            let is_back = number < *next && buffer > NAMES;
            self.model.counts.backwards += u64::from(is_back);
            *next = number.saturating_add(1);
        }
    }

    /// Takes a row of a processor. `ns_of` gives the time of ticks.
    #[inline]
    pub(super) fn take(&mut self, at: u64, cpu: u32, row: &Row<'_>, ns_of: impl Fn(u64) -> u64) {
        self.model.counts.rows += 1;
        if !self.is_begun {
            (self.is_begun, self.model.begin, self.model.end) = (true, at, at);
        }
        // Times on the lines of a clock never go back, but a line may stand still.
        let at = at.max(self.model.end);
        self.model.end = at;
        match *row {
            Row::Switch { prev, next, state, stack } => {
                self.model.counts.switches += 1;
                self.switch(at, cpu, [prev, next], state, stack);
            }
            Row::Waking { waker, target, context, stack: _ } => {
                if context == super::causes::IN_THREAD {
                    self.runs(at, cpu, waker);
                }
                self.wake(at, cpu, waker, target, context);
            }
            Row::Call { thread, call, object, value } => {
                self.model.has.calls = true;
                self.resume(cpu);
                self.runs(at, cpu, thread);
                self.call(at, thread, Some(super::Call { number: call, object, value }));
            }
            Row::CallDone { thread, call, result } => {
                self.resume(cpu);
                self.runs(at, cpu, thread);
                self.handle_files(at, thread, call, result as i64);
                self.tell_number(thread, call, result);
                self.call(at, thread, None);
            }
            Row::Sample { thread, stack } => self.sample(at, thread, stack),
            Row::Lost { from } => {
                let from = if from == 0 { self.model.begin } else { ns_of(from) };
                self.lose(at, cpu, from);
            }
            _ => self.take_other(at, cpu, row),
        }
        if let Some(cpu) = self.cpus.get_mut(cpu as usize) {
            cpu.last_at = at;
        }
    }

    fn take_other(&mut self, at: u64, cpu: u32, row: &Row<'_>) {
        match *row {
            Row::Fork { parent, child, process } => self.fork(at, parent, child, process),
            Row::Woken { target } => self.ready(at, target),
            Row::Exec { thread, was, path } => self.exec(at, thread, was, path),
            Row::Exit { thread } => self.exit(at, thread),
            Row::ThreadExists { thread, process, state } => {
                self.there(at, thread, process, state);
                self.is_first(thread);
            }
            Row::Member { thread, process } => self.name(at, thread, process, None),
            Row::Inside { thread, number } => self.inside(thread, number),
            Row::ThreadName { thread, process, name } => {
                self.name(at, thread, process, Some(name));
            }
            Row::Stolen { ns } => {
                let stolen = &mut self.model.counts.stolen_ns;
                *stolen = stolen.saturating_add(ns);
            }
            Row::TimerFire { is_wakeup } => {
                self.model.has.timers = true;
                self.just(at, cpu, Just::Timer { is_wakeup });
            }
            Row::Insert(request) => self.insert(at, &request),
            Row::Issue(request) => self.issue(at, &request),
            Row::Complete(request) => {
                let operation = self.complete(at, &request);
                self.just(at, cpu, Just::Done { operation });
            }
            Row::Send { thread, socket } => {
                self.resume(cpu);
                self.send(at, thread, socket);
            }
            Row::Receive { thread, socket } => {
                self.resume(cpu);
                self.receive(at, thread, socket);
            }
            Row::Ready { socket } => {
                let socket = self.ready_socket(socket);
                self.just(at, cpu, Just::Ready { socket });
            }
            Row::SocketState { socket, state, ports } => {
                if let Some(socket) = self.state_of_socket(at, cpu, (socket, state, ports)) {
                    self.just(at, cpu, Just::Ready { socket });
                }
            }
            Row::SocketName { socket, name } => self.name_socket(socket, name),
            Row::OpenFile { process, file, path } => {
                let path = path.get(..NAME_SIZE_MAX).unwrap_or(path);
                let is_kept = self.model.files.name((process, file), at, path);
                self.model.counts.left_out += u64::from(!is_kept);
            }
            Row::Symbol { address, name } => self.symbol(address, name),
            Row::Frame { frame, parent, address } => self.frame(frame, parent, address),
            _ => self.take_interrupt(at, cpu, row),
        }
    }

    fn take_interrupt(&mut self, at: u64, cpu: u32, row: &Row<'_>) {
        match *row {
            Row::IrqEnter { irq: _, name } => {
                let irq = self.irq(name);
                self.interrupt(at, cpu, Interrupter::Device(irq));
                if let Some(cpu) = self.cpu(cpu) {
                    cpu.irq = irq;
                }
            }
            Row::SoftEnter { vector } => self.interrupt(at, cpu, Interrupter::Soft(vector)),
            Row::SoftLeave { .. } => self.end_interrupt(at, cpu),
            Row::IrqLeave { .. } => {
                self.end_interrupt(at, cpu);
                if let Some(cpu) = self.cpu(cpu) {
                    (cpu.irq, cpu.left) = (NONE, at);
                }
            }
            _ => {}
        }
    }

    /// Returns the state of a processor; `None` beyond the limit.
    pub(super) fn cpu(&mut self, cpu: u32) -> Option<&mut Cpu> {
        let at = cpu as usize;
        if at >= self.cpus.len() {
            if cpu > CPU_COUNT_MAX {
                self.model.counts.left_out += 1;
                return None;
            }
            self.cpus.resize_with(at + 1, Cpu::default);
        }
        self.cpus.get_mut(at)
    }

    fn just(&mut self, at: u64, cpu: u32, just: Just) {
        if let Some(cpu) = self.cpu(cpu) {
            cpu.just = Some((just, at));
        }
    }

    fn irq(&mut self, name: &[u8]) -> u32 {
        self.model.has.interrupts = true;
        if let Some(irq) = self.irqs.get(name) {
            return *irq;
        }
        if self.model.irqs.len() >= NAME_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        let irq = self.model.irqs.len() as u32;
        self.model.irqs.push(cut(name));
        self.irqs.insert(cut(name), irq);
        irq
    }

    fn symbol(&mut self, address: u64, name: &[u8]) {
        let symbols = &mut self.model.symbols;
        if symbols.len() < NAME_COUNT_MAX {
            symbols.entry(address).or_insert_with(|| cut(name));
        } else {
            self.model.counts.left_out += 1;
        }
    }

    /// A frame names its number; numbers follow each other, as the frame of a stack comes before
    /// the first event that has it.
    fn frame(&mut self, frame: u32, parent: u32, address: u64) {
        let frames = &mut self.model.frames;
        let is_next = frame as usize == frames.len() + 1 && frames.len() < FRAME_COUNT_MAX;
        // A parent has a lower number: no circle can arise.
        if is_next && parent < frame {
            frames.push((parent, address));
        } else {
            self.model.counts.left_out += 1;
        }
    }

    /// Names a thread from now on, and its process if that is known.
    fn name(&mut self, at: u64, thread: u32, process: u32, name: Option<&[u8]>) {
        if thread == 0 {
            return;
        }
        if self.named.len() >= NAME_COUNT_MAX && !self.named.contains_key(&thread) {
            self.model.counts.left_out += 1;
            return;
        }
        let named = self.named.entry(thread).or_default();
        if process != 0 {
            named.process = process;
        }
        if let Some(name) = name {
            named.name = cut(name);
        }
        let Some(life) = self.threads.get(&thread) else { return };
        if let Some(life) = self.model.lives.get_mut(*life as usize) {
            if process != 0 {
                life.process = process;
            }
            if let Some(name) = name.filter(|_| !life.is_ended) {
                let is_kept = life.rename(at, cut(name));
                self.model.counts.left_out += u64::from(!is_kept);
            }
        }
    }

    /// Ends the log: what is open lasts until its last row.
    pub(super) fn finish(mut self) -> Model {
        let end = self.model.end;
        for at in 0..self.cpus.len() {
            self.end_gap(at as u32, end);
        }
        for life in 0..self.model.lives.len() as u32 {
            self.end_life_open(life, end);
        }
        self.finish_causes();
        let Building { mut model, .. } = self;
        model.stretches.shrink_to_fit();
        model.interrupts.sort_unstable();
        // Samples of one run keep their order.
        model.samples.sort_by_key(|(place, _)| *place);
        model
    }

    /// Adds a sample to the run that it belongs to.
    fn sample(&mut self, at: u64, thread: u32, stack: u32) {
        let last = self.model.life(self.find(thread)).map_or(NONE, |life| life.last);
        let grace = self.options.sample_grace;
        let mut place = last;
        let is_unknown = |own: &Stretch| matches!(own.what, What::Unknown | What::Lost);
        if self.model.stretch(last).is_some_and(is_unknown) {
            self.model.counts.samples_unknown += 1;
            return;
        }
        // A wait may have been split where events were lost: the run lies a few stretches before.
        for _ in 0..4 {
            let Some(own) = self.model.stretches.get_mut(place as usize) else { break };
            if own.what == What::Run {
                if own.end != super::NEVER && own.end.saturating_add(grace) < at {
                    break;
                }
                own.samples = own.samples.saturating_add(1);
                own.stack = stack;
                if stack != 0 && self.model.samples.len() < SAMPLE_COUNT_MAX {
                    self.model.samples.push((place, stack));
                }
                return;
            }
            place = own.before;
        }
        self.model.counts.samples_dropped += 1;
        let life = self.find(thread);
        if let Some(own) = self.model.lives.get_mut(life as usize) {
            own.samples_dropped = own.samples_dropped.saturating_add(1);
        }
    }
}

/// Returns what is kept of a name.
pub(super) fn cut(name: &[u8]) -> Box<[u8]> {
    name.get(..NAME_SIZE_MAX).unwrap_or(name).into()
}

/// Returns the streams of a log that have the registry `kernel`.
pub fn kernel_streams(log: &Log) -> Vec<u16> {
    let registries = log.registries().iter().filter(|registry| is_kernel(registry));
    let mut streams: Vec<u16> = registries.map(|registry| registry.stream).collect();
    streams.dedup();
    streams
}

/// Reads what a kernel told in a stream of a log. Returns nothing if the stream has no registry
/// `kernel`. The faults are those of the events.
pub fn read(
    log: &Log,
    stream: u16,
    clock: &Clock,
    options: &Options,
) -> Option<(Model, eventlog::reader::Faults)> {
    let source = Source::of(log, stream, clock)?;
    let mut builder = Builder::new(&source, options);
    let (mut batch, mut events) = (Batch::default(), log.events(Order::Time, &source.filter()));
    events.each_while(|event| {
        if source.add(&mut batch, event) {
            builder.take(&source, &batch);
            batch.clear();
        }
        true
    });
    builder.take(&source, &batch);
    let faults = events.faults().clone();
    Some((builder.finish(), faults))
}
