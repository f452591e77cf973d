//! The log `waits`: runs, waits, wakes, critical paths and shares of a target and of the threads
//! that it waited for.
//!
//! ```text
//!  process 4711 ──▶ stream:  thread 1 ├ Run ┤ Wait futex: woken by teller 2 ┤ Run ┤  wakes
//!                            thread 2 ├ Run ────────────┤ Wait …
//!                            path     ├ teller 2 (4713): running ┤ disk ┤ …
//!                            flame    ├ frames of pseudo-stacks ┤ …
//! ```
//!
//! The streams have the boot, the process and the start of the program's own log, so that their
//! threads are those of that log. Ticks are those of the kernel's log. Design: `.waits.answer` in
//! `design/waits.md`.

mod flame;

use crate::waits::account::{Account, Window};
use crate::waits::critical::{Piece, Share};
use crate::waits::events::waits::{
    PathBegin, PathEnd, REGISTRY, RunBegin, RunEnd, Sentence, Share as ShareRow, WaitBegin,
    WaitEnd, WakeReceive, WakeSend,
};
use crate::waits::frames::Locks;
use crate::waits::model::{Model, NEVER, NONE, Stretch, What};
use crate::waits::names::Names;
use crate::waits::stack::Stacks;
use crate::waits::tracks::Tracks;
use crate::waits::under::Own;
use eventdef::field::A;
use eventlog::format::{ClockSource, ClockSync};
use eventlog::reader::{Clock, ClockBase, Log};
use eventlog::writer::{Made, MakeError, Maker, Origin, uuid_of};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// Names of causes in a stream, at most; further waits have the name of the cause alone.
const LABEL_COUNT_MAX: usize = 1 << 12;
/// The value that the first label names: values of other parameters are lower.
const LABEL_FIRST: usize = 0x7761_6974_0000_0000;
/// Wakers in a stack, at most.
const WAKER_COUNT_MAX: usize = 8;
/// Bytes of a stack or a sentence, at most.
const STACK_SIZE_MAX: usize = 4096;

/// What is written.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The log of the kernel, and the logs of programs.
    pub log: &'a Log,
    /// The stream of the kernel.
    pub kernel: u16,
    /// The clock of the log.
    pub clock: &'a Clock,
    /// The model of the kernel.
    pub model: &'a Model,
    /// The threads of programs.
    pub tracks: &'a Tracks,
    /// Its names.
    pub names: &'a Names<'a>,
    /// The target.
    pub windows: &'a [Window],
    /// Where its time went.
    pub account: &'a Account,
    /// A critical path, in order of time, and its life.
    pub path: &'a [Piece],
    /// The life of that path; [`NONE`] without a path.
    pub path_of: u32,
    /// The pseudo-stacks of the target.
    pub stacks: &'a Stacks,
    /// The names that programs gave to locks.
    pub locks: &'a Locks,
    /// The target, and what it waited for, in words; each with its time in ns.
    pub sentences: &'a [(u64, String)],
    /// The program's event that was open at the beginning of a wait, by the place of the wait.
    pub open: &'a HashMap<u32, Own, RandomState>,
}

/// The labels of a stream.
#[derive(Debug, Default)]
struct Labels {
    known: HashMap<String, usize, RandomState>,
    ticks: u64,
}

impl Labels {
    /// Returns the value whose label is a text.
    fn value(&mut self, maker: &mut Maker<'_>, text: &str, rest: &str) -> Result<usize, MakeError> {
        let is_full = self.known.len() >= LABEL_COUNT_MAX;
        let text = if is_full && !self.known.contains_key(text) { rest } else { text };
        if let Some(value) = self.known.get(text) {
            return Ok(*value);
        }
        let value = LABEL_FIRST + self.known.len();
        let string = maker.intern(self.ticks, text.as_bytes())?;
        maker.label(self.ticks, value, string)?;
        self.known.insert(text.to_owned(), value);
        Ok(value)
    }
}

impl Answer<'_> {
    /// Writes the log.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn write(&self, out: &mut dyn Write) -> Result<Made, MakeError> {
        let mut lives: Vec<u32> = self.account.owners.keys().copied().collect();
        lives.extend(self.windows.iter().map(|window| window.life));
        let Stacks { paths, parts, links, .. } = self.stacks;
        let places = parts.iter().map(|part| part.place).chain(links.iter().map(|link| link.wait));
        lives.extend(places.filter_map(|place| self.model.stretch(place)).map(|own| own.life));
        lives.extend(paths.iter().map(|path| path.life));
        lives.sort_unstable();
        lives.dedup();
        let mut processes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for life in &lives {
            let own = self.model.life(*life);
            let process =
                own.map_or(0, |own| if own.process == 0 { own.thread } else { own.process });
            processes.entry(process).or_default().push(*life);
        }
        let sends = self.sends(&lives);
        let mut maker = Maker::new(out);
        let target = self.windows.first().map_or(NONE, |window| window.life);
        for (process, lives) in &processes {
            maker.begin(&self.origin(*process, lives))?;
            maker.registry(&REGISTRY)?;
            let mut labels = Labels { ticks: self.ticks(self.model.begin), ..Labels::default() };
            for (thread, life) in (1..).zip(lives) {
                self.write_life(&mut maker, &mut labels, thread, *life, &sends)?;
            }
            let thread = lives.len() as u32 + 1;
            if lives.contains(&self.path_of) {
                self.write_path(&mut maker, &mut labels, thread)?;
            }
            if lives.contains(&target) {
                self.write_flame(&mut maker, &mut labels, thread + 1)?;
            }
            let is_target = |window: &&Window| lives.contains(&window.life);
            if let Some(window) = self.windows.iter().find(is_target) {
                self.write_account(&mut maker, window.life)?;
            }
            self.write_syncs(&mut maker)?;
        }
        if processes.is_empty() {
            maker.begin(&self.origin(0, &[]))?;
        }
        maker.finish()
    }

    /// Returns the facts of the stream of a process: those of the program's own log, if any.
    fn origin(&self, process: u32, lives: &[u32]) -> Origin {
        let mut origin = Origin::new();
        origin.producer = concat!("lens ", env!("CARGO_PKG_VERSION")).into();
        origin.pid = process.into();
        origin.program = self.names.program(process);
        origin.block_size_log2 = 14;
        let streams = self.log.streams();
        let Some(kernel) = streams.get(usize::from(self.kernel)) else { return origin };
        origin.uuid = uuid_of(&[&kernel.uuid[..], b"waits", &process.to_le_bytes()].concat());
        origin.host = kernel.host.to_string();
        if self.clock.base == ClockBase::Monotonic {
            origin.boot_id = kernel.boot_id;
            let is_of = |source: &ClockSource| *source as u32 == kernel.clock_source;
            let counter = [ClockSource::Tsc, ClockSource::ArmTimer].into_iter().find(is_of);
            origin.clock_source = counter.unwrap_or(origin.clock_source);
        }
        let own = lives.iter().find_map(|life| self.tracks.stream(*life));
        if let Some(own) = own.and_then(|stream| streams.get(usize::from(stream))) {
            (origin.boot_id, origin.pid, origin.start) = (own.boot_id, own.pid, own.start);
            origin.parent_pid = own.parent_pid;
            origin.program = own.program.to_string();
        }
        origin
    }

    /// Returns the ticks of a time: those of the kernel's log.
    fn ticks(&self, ns: u64) -> u64 {
        self.clock.ticks(self.kernel, ns)
    }

    /// Adds the moments by which other logs of the boot lie on the same time.
    fn write_syncs(&self, maker: &mut Maker<'_>) -> Result<(), MakeError> {
        let Some((monotonic, realtime)) = self.clock.sync else { return Ok(()) };
        for ns in [self.model.begin, self.model.end.max(self.model.begin + 1)] {
            let realtime = i128::from(realtime) - i128::from(monotonic) + i128::from(ns);
            let realtime = u64::try_from(realtime).unwrap_or(0);
            let ticks = self.ticks(ns);
            if ticks > 0 && ns > 0 {
                maker.sync(ClockSync { ticks, monotonic: ns, realtime, uncertainty: 0 })?;
            }
        }
        Ok(())
    }

    /// Returns the wakes of each life by one of the others: time, number, target.
    fn sends(&self, lives: &[u32]) -> HashMap<u32, Vec<(u64, u32, u32)>, RandomState> {
        let mut sends: HashMap<u32, Vec<(u64, u32, u32)>, RandomState> = HashMap::default();
        for life in lives {
            for (place, wait) in self.model.backwards(*life) {
                let waker = self.model.waker(wait);
                if waker != NONE && lives.binary_search(&waker).is_ok() {
                    let thread = self.model.life(*life).map_or(0, |life| life.thread);
                    sends.entry(waker).or_default().push((wait.woken, place, thread));
                }
            }
        }
        sends.values_mut().for_each(|own| own.sort_unstable());
        sends
    }

    fn write_life(
        &self,
        maker: &mut Maker<'_>,
        labels: &mut Labels,
        thread: u32,
        life: u32,
        sends: &HashMap<u32, Vec<(u64, u32, u32)>, RandomState>,
    ) -> Result<(), MakeError> {
        let Some(own) = self.model.life(life) else { return Ok(()) };
        let name = String::from_utf8_lossy(&own.name).into_owned();
        let number = self.tracks.number(life).unwrap_or(own.thread);
        maker.thread(self.ticks(self.model.begin), thread, number as usize, &name)?;
        let mut sends = sends.get(&life).map(|own| &own[..]).unwrap_or_default().iter().peekable();
        let mut send = |maker: &mut Maker<'_>, until: u64| -> Result<(), MakeError> {
            while let Some((at, wake, target)) = sends.next_if(|(at, ..)| *at < until) {
                let row = WakeSend { wake: *wake as usize, target: *target };
                maker.add(thread, thread, self.ticks(*at), &row)?;
            }
            Ok(())
        };
        for (place, stretch) in self.model.of_life(life) {
            let Stretch { begin, end, cpu, .. } = *stretch;
            match stretch.what {
                What::Run if begin < end => {
                    send(maker, begin)?;
                    maker.add(thread, thread, self.ticks(begin), &RunBegin { cpu })?;
                    send(maker, end)?;
                    maker.add(thread, thread, self.ticks(end), &RunEnd { cpu })?;
                }
                What::Wait if begin < end => {
                    send(maker, begin)?;
                    self.write_wait(maker, labels, thread, (place, stretch))?;
                }
                _ => {}
            }
        }
        send(maker, NEVER)
    }

    fn write_wait(
        &self,
        maker: &mut Maker<'_>,
        labels: &mut Labels,
        thread: u32,
        (place, wait): (u32, &Stretch),
    ) -> Result<(), MakeError> {
        let call = self.model.calls.get(wait.call as usize);
        let object = call.map_or(0, |call| call.object as usize);
        let call = call.map_or(NONE, |call| call.number);
        let name = self.frame(wait);
        let cause = labels.value(maker, &name, wait.cause.name())?;
        let row = WaitBegin { cause, call, object: A(object) };
        maker.add(thread, thread, self.ticks(wait.begin), &row)?;
        let waker = self.model.waker(wait);
        let of_waker = self.model.life(waker).map_or(0, |life| life.thread);
        if of_waker != 0 && self.account.owners.contains_key(&waker) {
            let at = wait.woken.clamp(wait.begin, wait.end);
            let row = WakeReceive { wake: place as usize, waker: of_waker };
            maker.add(thread, thread, self.ticks(at), &row)?;
        }
        let own = self.open.get(&place);
        let stack = self.stack(place, wait);
        let row = WaitEnd {
            cause: wait.cause as u32,
            waker: of_waker,
            ns: wait.ns() as usize,
            delay: wait.delay() as usize,
            object: A(object),
            openBuffer: own.map_or(NONE, |own| own.id.buffer),
            openNumber: own.map_or(0, |own| own.id.number as usize),
            stack: stack.as_bytes(),
        };
        maker.add(thread, thread, self.ticks(wait.end), &row)
    }

    /// Returns a wait as the name of a slice: its call and its cause.
    fn frame(&self, wait: &Stretch) -> String {
        let cause = self.names.cause(wait);
        match (self.names.call(wait), self.names.object(wait)) {
            (Some(call), Some(object)) => format!("{call} {object}: {cause}"),
            (Some(call), None) => format!("{call}: {cause}"),
            _ => cause,
        }
    }

    /// Returns the stack of a wait: process, thread, call, cause; then what the waker had waited
    /// for within it, and so on.
    fn stack(&self, place: u32, wait: &Stretch) -> String {
        let frame = |text: String| text.replace(';', ":");
        let process = self.model.life(wait.life).map_or(0, |life| life.process);
        let mut stack = frame(self.names.process(process, wait.begin));
        let mut add = |text: String| {
            if stack.len() + text.len() < STACK_SIZE_MAX {
                stack.push(';');
                stack += &frame(text);
            }
        };
        add(self.names.thread(wait.life, wait.begin));
        add(self.frame(wait));
        let (mut own, mut from) = (*wait, wait.from);
        for _ in 0..WAKER_COUNT_MAX {
            let Some(run) = self.model.stretch(from).filter(|run| run.life != own.life) else {
                break;
            };
            // What the waker waited for is of interest if it waited within the wait.
            let before = self.model.stretch(run.before).filter(|_| run.begin > wait.begin);
            let Some(before) = before.filter(|before| before.what == What::Wait) else { break };
            if run.before == place {
                break;
            }
            let waker = self.names.thread(before.life, before.begin);
            add(format!("{waker} in {}", self.frame(before)));
            (own, from) = (*before, before.from);
        }
        stack
    }

    /// Writes the critical path as slices of a thread of its own.
    fn write_path(
        &self,
        maker: &mut Maker<'_>,
        labels: &mut Labels,
        thread: u32,
    ) -> Result<(), MakeError> {
        let of = self.model.life(self.path_of).map_or(0, |life| life.thread);
        let name = format!("critical path of {}", self.names.thread(self.path_of, NEVER));
        maker.thread(self.ticks(self.model.begin), thread, 0, &name)?;
        for piece in self.path {
            let owner = self.model.stretch(piece.place);
            let owner = owner.map(|own| self.names.thread(own.life, piece.from));
            let text = match (owner, piece.share) {
                (Some(owner), Share::Understood | Share::Unsampled) => format!("{owner}: running"),
                (Some(owner), share) => format!("{owner}: {}", share.name()),
                (None, share) => share.name().to_owned(),
            };
            let cause = labels.value(maker, &text, piece.share.name())?;
            maker.add(thread, thread, self.ticks(piece.from), &PathBegin { cause, of })?;
            maker.add(thread, thread, self.ticks(piece.to), &PathEnd { of })?;
        }
        Ok(())
    }

    /// Writes the shares of time and the sentences.
    fn write_account(&self, maker: &mut Maker<'_>, life: u32) -> Result<(), MakeError> {
        let own = self.model.life(life);
        let of = own.map_or(0, |own| if own.process == 0 { own.thread } else { own.process });
        for (name, sum) in self.account.named() {
            let (ns, count) = (sum.ns as usize, sum.count as usize);
            let row = ShareRow { of, ns, count, name: name.as_bytes() };
            maker.add(1, 1, self.ticks(self.model.end), &row)?;
        }
        for (ns, text) in self.sentences {
            let text = text.get(..text.floor_char_boundary(STACK_SIZE_MAX)).unwrap_or_default();
            let row = Sentence { ns: *ns as usize, text: text.as_bytes() };
            maker.add(1, 1, self.ticks(self.model.end), &row)?;
        }
        Ok(())
    }
}
