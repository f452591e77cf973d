//! A random program of calls: what it records, and what it did by its own account.
//!
//! ```text
//!  steps ──▶ Truth: stacks of each thread and coroutine ── Program ──▶ Maker ──▶ log
//! ```

use crate::events::{
    CallEnter, CallLeave, CallSlow, CallUnwind, PollEnter, PollLeave, Switch, TaskFinish, TaskStart,
};
use eventdef::field::P;
use eventlog::format::ClockSync;
use eventlog::writer::{Cause, Maker, Origin};
use lens::slices::Id;
use std::collections::BTreeMap;

pub(crate) const NAMES: [&str; 6] = ["", "main", "sell", "hash", "db::get", "step"];

/// Makes a log of calls.
pub(crate) struct Program<'o> {
    pub(crate) maker: Maker<'o>,
    pub(crate) ticks: u64,
    /// The number of the next event of each buffer.
    pub(crate) numbers: BTreeMap<u32, u64>,
}

/// The address of a function.
pub(crate) fn at(function: usize) -> P {
    P(if function == 0 { 0 } else { 0x5600 + function * 64 })
}

impl<'o> Program<'o> {
    pub(crate) fn new(bytes: &'o mut Vec<u8>) -> Program<'o> {
        let mut maker = Maker::new(bytes);
        let mut origin = Origin::new();
        (origin.pid, origin.start, origin.uuid) = (4711, 12, [1; 16]);
        maker.begin(&origin).unwrap();
        sync(&mut maker, 1);
        label(&mut maker);
        Program { maker, ticks: 1000, numbers: BTreeMap::new() }
    }

    /// Records an event of a thread, later than all before. Returns its identity and its time.
    pub(crate) fn add<E: eventdef::Event>(&mut self, thread: u32, event: &E) -> (Id, u64) {
        self.ticks += 7;
        self.maker.add(thread, thread, self.ticks, event).unwrap();
        let number = self.numbers.entry(thread).or_default();
        *number += 1;
        (Id { stream: 0, buffer: thread, number: *number - 1 }, self.ticks)
    }

    pub(crate) fn lose(&mut self, thread: u32) {
        self.ticks += 7;
        self.maker.lose::<CallEnter>(thread, thread, Cause::Overwritten, 1).unwrap();
        *self.numbers.entry(thread).or_default() += 1;
    }

    pub(crate) fn finish(mut self) {
        sync(&mut self.maker, self.ticks + 1);
        self.maker.finish().unwrap();
    }
}

pub(crate) fn sync(maker: &mut Maker<'_>, ticks: u64) {
    let realtime = 1_700_000_000_000_000_000 + ticks;
    maker.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 }).unwrap();
}

pub(crate) fn label(maker: &mut Maker<'_>) {
    for (function, name) in NAMES.iter().enumerate().skip(1) {
        let string = maker.intern(10, name.as_bytes()).unwrap();
        maker.label(11, at(function).0, string).unwrap();
        let source = eventdef::store::Source {
            address: eventdef::field::A(at(function).0),
            line: function as u32 * 10,
            column: 1,
            offset: 0,
            size: 9,
            file: b"src/main.rs",
        };
        maker.add(0, 0, 12, &source).unwrap();
    }
}

/// A call of the program.
#[derive(Clone, Debug)]
pub(crate) struct True {
    /// The functions from the outermost one.
    pub(crate) path: Vec<usize>,
    pub(crate) thread: u32,
    pub(crate) context: usize,
    pub(crate) task: Option<u64>,
    pub(crate) id: Option<Id>,
    /// By the clock of its stack.
    pub(crate) begin: u64,
    /// The time of the calls in it.
    pub(crate) inner: u64,
    pub(crate) end: Option<u64>,
    pub(crate) is_unwound: bool,
    /// How many events of its thread were lost before it began.
    pub(crate) lost: u64,
    pub(crate) is_whole: bool,
}

/// What a program did, by its own account.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) calls: Vec<True>,
    /// Open calls of each thread and coroutine, by their index.
    pub(crate) stacks: BTreeMap<(u32, usize), Vec<usize>>,
    pub(crate) current: BTreeMap<u32, usize>,
    /// How long each stack had run when its thread last went on in it or left it.
    ran: BTreeMap<(u32, usize), u64>,
    /// Since when each thread is in its stack.
    since: BTreeMap<u32, u64>,
    pub(crate) lost: BTreeMap<u32, u64>,
    pub(crate) tasks: u64,
}

impl Truth {
    /// Plays steps: thread, what, function. Events are lost if `is_lossy`.
    pub(crate) fn play(
        &mut self,
        steps: &[(u8, u8, u8)],
        is_lossy: bool,
        program: &mut Program<'_>,
    ) {
        for &(thread, what, which) in steps {
            let thread = u32::from(thread % 3) + 1;
            let function = usize::from(which % 5) + 1;
            let context = self.current.get(&thread).copied().unwrap_or(0);
            let is_lost = is_lossy && which >= 200;
            let place = (thread, context);
            match what % 12 {
                0..5 => self.begin(place, function, None, is_lost, program),
                5 if !is_lossy => {
                    self.tasks += 1;
                    let task = self.tasks as usize;
                    program.add(thread, &TaskStart { task, function: at(function) });
                    self.begin(place, function, Some(self.tasks), false, program);
                }
                6 if !is_lossy => {
                    // A coroutine of this thread, or its own stack.
                    let next = usize::from(which % 3);
                    let context = if next == 0 { 0 } else { next * 16 + thread as usize };
                    let (_, ticks) = program.add(thread, &Switch { context: P(context) });
                    self.ran.insert(place, self.clock(place, ticks));
                    self.since.insert(thread, ticks);
                    self.current.insert(thread, context);
                }
                7 if !is_lossy => self.slow(place, function, program),
                8 => self.end(place, true, is_lost, program),
                _ => self.end(place, false, is_lost, program),
            }
        }
    }

    /// Returns how long a stack has run, in which its thread is now.
    fn clock(&self, place: (u32, usize), ticks: u64) -> u64 {
        let since = self.since.get(&place.0).copied().unwrap_or(0);
        self.ran.get(&place).copied().unwrap_or(0) + ticks - since
    }

    pub(crate) fn top(&self, place: (u32, usize)) -> Option<&True> {
        self.calls.get(*self.stacks.get(&place)?.last()?)
    }

    pub(crate) fn lost_of(&self, thread: u32) -> u64 {
        self.lost.get(&thread).copied().unwrap_or(0)
    }

    pub(crate) fn begin(
        &mut self,
        place: (u32, usize),
        function: usize,
        task: Option<u64>,
        is_lost: bool,
        program: &mut Program<'_>,
    ) {
        let (thread, context) = place;
        let mut path = self.top(place).map_or(Vec::new(), |top| top.path.clone());
        let (address, caller) = (at(function), at(path.last().copied().unwrap_or(0)));
        path.push(function);
        let (id, begin) = if is_lost {
            program.lose(thread);
            *self.lost.entry(thread).or_default() += 1;
            (None, program.ticks)
        } else {
            let (id, ticks) = match task {
                None => program.add(thread, &CallEnter { function: address, caller }),
                Some(task) => {
                    let task = task as usize;
                    program.add(thread, &PollEnter { function: address, caller, task })
                }
            };
            (Some(id), ticks)
        };
        let begin = self.clock(place, begin);
        self.stacks.entry(place).or_default().push(self.calls.len());
        self.calls.push(True {
            path,
            thread,
            context,
            task,
            id,
            begin,
            inner: 0,
            end: None,
            is_unwound: false,
            lost: self.lost_of(thread),
            is_whole: id.is_some(),
        });
    }

    pub(crate) fn end(
        &mut self,
        place: (u32, usize),
        panics: bool,
        is_lost: bool,
        program: &mut Program<'_>,
    ) {
        let (thread, _) = place;
        let Some(index) = self.stacks.get_mut(&place).and_then(Vec::pop) else { return };
        let (function, task) = {
            let call = &self.calls[index];
            (at(*call.path.last().unwrap()), call.task)
        };
        if panics && !is_lost {
            program.add(thread, &CallUnwind { function });
            self.calls[index].is_unwound = true;
        }
        let end = if is_lost {
            program.lose(thread);
            *self.lost.entry(thread).or_default() += 1;
            program.ticks
        } else {
            match task {
                None => program.add(thread, &CallLeave { function }).1,
                Some(task) => {
                    let (ready, task) = (task % 2 == 0, task as usize);
                    let end = program.add(thread, &PollLeave { function, task }).1;
                    program.add(thread, &TaskFinish { task, ready });
                    end
                }
            }
        };
        let (lost, end) = (self.lost_of(thread), self.clock(place, end));
        let call = &mut self.calls[index];
        call.end = Some(end);
        call.is_whole &= !is_lost && call.lost == lost;
        let took = end - call.begin;
        if let Some(outer) = self.stacks.get(&place).and_then(|stack| stack.last()) {
            self.calls[*outer].inner += took;
        }
    }

    /// A call that states its time at its end.
    pub(crate) fn slow(&mut self, place: (u32, usize), function: usize, program: &mut Program<'_>) {
        let (thread, context) = place;
        let mut path = self.top(place).map_or(Vec::new(), |top| top.path.clone());
        let caller = at(path.last().copied().unwrap_or(0));
        path.push(function);
        let (id, end) =
            program.add(thread, &CallSlow { function: at(function), caller, elapsed: 3 });
        let end = self.clock(place, end);
        if let Some(outer) = self.stacks.get(&place).and_then(|stack| stack.last()) {
            self.calls[*outer].inner += 3;
        }
        self.calls.push(True {
            path,
            thread,
            context,
            task: None,
            id: Some(id),
            begin: end - 3,
            inner: 0,
            end: Some(end),
            is_unwound: false,
            lost: 0,
            is_whole: true,
        });
    }
}
