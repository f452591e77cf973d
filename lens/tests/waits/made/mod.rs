//! Kernel logs that tests make, row by row.
//!
//! ```text
//!  Made::new().switch(0, 100, 1, 2, 1) … ──▶ Log ──▶ Model
//! ```
//!
//! A time is in ns. Design: `.waits.events` in `design/waits.md`.

pub(crate) mod scenes;

use eventdef::Event;
use eventdef::field::{A, P};
use eventlog::format::ClockSync;
use eventlog::reader::{Clock, Log};
use eventlog::writer::Origin;
use lens::waits::account::{Account, account, lives_of, windows_of};
use lens::waits::critical::{Piece, Share, Walker};
use lens::waits::events::kernel::*;
use lens::waits::frames::{Frames, Locks};
use lens::waits::model::{self, Model, Options, What};
use lens::waits::names::Names;
use lens::waits::output::Output;
use lens::waits::stack::{Part, Stacks, stacks};

/// The states of a thread that is switched out.
pub(crate) const READY: u32 = 0;
pub(crate) const ASLEEP: u32 = 1;
pub(crate) const ENDED: u32 = 0x20;
/// The contexts of a waker.
pub(crate) const THREAD: u32 = 0;
pub(crate) const SOFT: u32 = 1;
pub(crate) const HARD: u32 = 2;

type Add = Box<dyn Fn(&mut Output<'_>)>;

/// A log of a kernel that is being made.
#[derive(Default)]
pub(crate) struct Made {
    rows: Vec<Add>,
}

impl Made {
    pub(crate) fn new() -> Made {
        Made::default()
    }

    /// Adds a row of a processor.
    pub(crate) fn add<E: Event + 'static>(&mut self, cpu: u32, at: u64, row: E) -> &mut Made {
        self.rows.push(Box::new(move |out| out.add(cpu, at, &row).unwrap()));
        self
    }

    pub(crate) fn switch(
        &mut self,
        cpu: u32,
        at: u64,
        prev: u32,
        next: u32,
        state: u32,
    ) -> &mut Made {
        self.add(cpu, at, Switch { prev, next, state, stack: 0 })
    }

    pub(crate) fn waking(
        &mut self,
        cpu: u32,
        at: u64,
        waker: u32,
        target: u32,
        context: u32,
    ) -> &mut Made {
        self.add(cpu, at, Waking { waker, target, context, stack: 0 })
    }

    /// A timer ends the sleep of a thread.
    pub(crate) fn timeout(&mut self, cpu: u32, at: u64, target: u32) -> &mut Made {
        self.add(cpu, at, TimerFire { isWakeup: true, function: A(0xFFFF) });
        self.waking(cpu, at, 0, target, HARD)
    }

    pub(crate) fn fork(
        &mut self,
        cpu: u32,
        at: u64,
        parent: u32,
        child: u32,
        process: u32,
    ) -> &mut Made {
        self.add(cpu, at, Fork { parent, child, process })
    }

    pub(crate) fn exit(&mut self, cpu: u32, at: u64, thread: u32) -> &mut Made {
        self.add(cpu, at, Exit { thread })
    }

    pub(crate) fn there(&mut self, at: u64, thread: u32, process: u32, state: u32) -> &mut Made {
        self.rows.push(Box::new(move |out| {
            out.seen(at, &ThreadExists { thread, process, state }).unwrap();
        }));
        self
    }

    pub(crate) fn sample(&mut self, cpu: u32, at: u64, thread: u32) -> &mut Made {
        self.add(cpu, at, CpuSample { thread, stack: 0 })
    }

    /// Adds a sample with a stack of addresses, the innermost first.
    pub(crate) fn sample_in(
        &mut self,
        cpu: u32,
        at: u64,
        thread: u32,
        frames: &[u64],
    ) -> &mut Made {
        let frames = frames.to_vec();
        self.rows.push(Box::new(move |out| {
            let stack = out.stack(at, frames.iter().copied()).unwrap();
            out.add(cpu, at, &CpuSample { thread, stack }).unwrap();
        }));
        self
    }

    pub(crate) fn symbol(&mut self, at: u64, address: u64, name: &'static str) -> &mut Made {
        self.rows.push(Box::new(move |out| out.symbol(at, address, name.as_bytes()).unwrap()));
        self
    }

    pub(crate) fn call(
        &mut self,
        cpu: u32,
        at: u64,
        thread: u32,
        call: u32,
        object: usize,
    ) -> &mut Made {
        self.add(cpu, at, Syscall { thread, call, object: A(object), value: 0 })
    }

    pub(crate) fn done(&mut self, cpu: u32, at: u64, thread: u32, call: u32) -> &mut Made {
        self.add(cpu, at, SyscallDone { thread, call, result: 0 })
    }

    pub(crate) fn send(&mut self, cpu: u32, at: u64, thread: u32, socket: usize) -> &mut Made {
        self.add(cpu, at, SocketSend { thread, socket: P(socket), size: 10 })
    }

    pub(crate) fn receive(&mut self, cpu: u32, at: u64, thread: u32, socket: usize) -> &mut Made {
        self.add(cpu, at, SocketReceive { thread, socket: P(socket), size: 10 })
    }

    pub(crate) fn lost(&mut self, cpu: u32, from: u64, at: u64) -> &mut Made {
        self.rows.push(Box::new(move |out| out.lose(cpu, from, at, 7).unwrap()));
        self
    }

    pub(crate) fn name(
        &mut self,
        at: u64,
        thread: u32,
        process: u32,
        name: &'static str,
    ) -> &mut Made {
        self.rows.push(Box::new(move |out| {
            out.thread(at, thread, process, name.as_bytes()).unwrap();
        }));
        self
    }

    pub(crate) fn socket(&mut self, at: u64, socket: usize, name: &'static str) -> &mut Made {
        self.rows.push(Box::new(move |out| {
            out.name(at, &SocketName { socket: P(socket), name: name.as_bytes() }).unwrap();
        }));
        self
    }

    /// Returns the bytes of the log.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut origin = Origin::new();
        origin.boot_id = [7; 16];
        let mut out = Output::new(&mut bytes, &origin).unwrap();
        for row in &self.rows {
            row(&mut out);
        }
        for ticks in [1, 1_000_000_000] {
            let realtime = 1_700_000_000_000_000_000 + ticks;
            out.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 }).unwrap();
        }
        out.finish().unwrap();
        bytes
    }

    pub(crate) fn log(&self) -> Log {
        Log::from_source(self.bytes()).unwrap()
    }

    pub(crate) fn model(&self) -> Model {
        model_of(&self.log(), &Options::default())
    }
}

/// Returns the model of the kernel of a log.
pub(crate) fn model_of(log: &Log, options: &Options) -> Model {
    let stream = model::kernel_streams(log)[0];
    model::read(log, stream, &Clock::new(log), options).unwrap().0
}

/// Returns the last life of a thread.
pub(crate) fn life(model: &Model, thread: u32) -> u32 {
    model.lives.iter().rposition(|life| life.thread == thread).unwrap() as u32
}

/// Returns the stretches of the last life of a thread: what, from, to.
pub(crate) fn story(model: &Model, thread: u32) -> Vec<(What, u64, u64)> {
    let all = model.of_life(life(model, thread));
    all.into_iter().map(|(_, own)| (own.what, own.begin, own.end)).collect()
}

/// Fails unless the stretches of each life tile it, and each wait was woken within it.
pub(crate) fn check_tiling(model: &Model) {
    for (at, life) in (0..).zip(&model.lives) {
        let mut end = life.begin;
        for (_, stretch) in model.of_life(at) {
            assert_eq!(stretch.begin, end, "thread {}: {stretch:?}", life.thread);
            assert!(stretch.end >= stretch.begin, "thread {}: {stretch:?}", life.thread);
            end = stretch.end;
        }
        assert_eq!(end, life.end, "thread {}", life.thread);
        assert!(life.begin >= model.begin && life.end <= model.end);
    }
}

/// Returns the account of a target.
pub(crate) fn account_of(model: &Model, target: &str) -> Account {
    let windows = windows_of(model, &lives_of(model, target));
    let mut walker = Walker::new(model, Options::default().grace);
    let account = account(model, &windows, &mut walker);
    let total: u64 = windows.iter().map(|window| window.to - window.from).sum();
    assert_eq!(account.total, total);
    assert_eq!(account.shares.iter().map(|sum| sum.ns).sum::<u64>(), total);
    account
}

/// Returns the shares of a target that have any time.
pub(crate) fn shares_of(model: &Model, target: &str) -> Vec<(Share, u64)> {
    let account = account_of(model, target);
    let shares = Share::ALL.iter().zip(account.shares).map(|((_, share), sum)| (*share, sum.ns));
    shares.filter(|(_, ns)| *ns > 0).collect()
}

/// Returns the pseudo-stacks of a target.
pub(crate) fn stacks_of(model: &Model, target: &str) -> Stacks {
    let windows = windows_of(model, &lives_of(model, target));
    let mut walker = Walker::new(model, Options::default().grace).with_links();
    stacks(model, &windows, &mut walker)
}

/// Returns the parts of a path in order of time.
pub(crate) fn parts_of(stacks: &Stacks, path: u32) -> Vec<Part> {
    stacks.parts.iter().filter(|part| part.path == path).copied().collect()
}

/// Returns the stacks of a path in words: microseconds and frames, the target's process left out.
pub(crate) fn told(model: &Model, stacks: &Stacks, path: u32) -> Vec<(u64, String)> {
    let (names, locks) = (Names::new(model), Locks::default());
    let mut frames = Frames::new(model, &names, &locks);
    let mut told = Vec::new();
    for part in parts_of(stacks, path) {
        frames.each(stacks, &part, |from, to, stack, frames| {
            told.push(((to - from) / 1000, frames.text(stack)));
        });
    }
    told
}

/// Fails unless the parts of each path tile it, rows do not overlap, and each part of other work
/// names a path that has it.
pub(crate) fn check_paths(model: &Model, stacks: &Stacks) {
    for (at, path) in (0..).zip(&stacks.paths) {
        let mut end = path.from;
        for part in parts_of(stacks, at) {
            assert_eq!(part.from, end, "{path:?} {part:?}");
            assert!(part.from < part.to, "{part:?}");
            end = part.to;
        }
        assert_eq!(end, path.to, "{path:?}");
        for other in &stacks.paths[at as usize + 1..] {
            let is_apart = other.to <= path.from || path.to <= other.from;
            assert!(is_apart || other.row != path.row, "{path:?} {other:?}");
        }
    }
    for part in stacks.parts.iter().filter(|part| part.share == Share::OtherPath) {
        let own = &model.stretches[part.place as usize];
        if own.what == What::Run {
            let other = &stacks.paths[part.other as usize];
            let is_its = other.life == own.life && other.from <= part.from && own.end <= other.to;
            let is_top = |one: &Part| one.path == part.other && one.place == part.place;
            assert!(is_its || stacks.parts.iter().any(is_top), "{part:?} {other:?}");
        }
    }
}

/// Returns the pieces of a life's whole time in order of time.
pub(crate) fn pieces_of(model: &Model, life: u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let own = model.life(life).unwrap();
    let mut walker = Walker::new(model, Options::default().grace);
    walker.walk(life, own.begin, own.end, |piece| pieces.push(*piece));
    pieces.reverse();
    pieces
}
