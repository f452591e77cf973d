//! Logs of three kinds of slices, made step by step.
//!
//! ```text
//!  Step { thread, wait, code, key } ──▶ JobBegin, JobEnd, CallEnter, … ──▶ Maker ──▶ bytes
//! ```
//!
//! A tick is a ns. Design: `.cnv.pairs` in `design/eventcnv.md`.

use eventdef::field::P;
use eventlog::format::ClockSync;
use eventlog::writer::{Cause, Maker, Origin};
use shop::{CallEnter, CallLeave, JobBegin, JobEnd, Note, SaleBegin, SaleEnd, TaskEnd, TaskStart};

mod shop {
    eventdef::events! {
        /// What a shop does.
        registry "shop" version(1, 0, 0);
        kinds {
            /// All of it.
            Shop = 0,
        }

        /// A job begins.
        JobBegin(1, always, Shop) {
            /// which
            job: W,
        }
        /// A job ends.
        JobEnd(2, always, Shop) {
            /// which
            job: W,
            /// what became of it
            result: U,
        }
        /// A call begins.
        CallEnter(3, always, Shop) {}
        /// A call ends.
        CallLeave(4, always, Shop) {}
        /// A task begins.
        TaskStart(5, always, Shop) {
            /// which
            task: P,
        }
        /// A task ends.
        TaskEnd(6, always, Shop) {
            /// which
            task: P,
        }
        /// A sale begins.
        SaleBegin(9, always, Shop) {
            /// the price
            price: D,
            /// what
            what: S,
        }
        /// A sale ends.
        SaleEnd(10, always, Shop) {
            /// the price
            price: D,
            /// what
            what: S,
        }
        /// Anything else.
        Note(7, always, Shop) {
            /// a text
            text: S,
        }
    }
}

/// An event of a thread, after a time; code 8 loses one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) thread: u32,
    pub(crate) wait: u64,
    pub(crate) code: u16,
    pub(crate) key: u64,
}

fn add(maker: &mut Maker<'_>, step: &Step, ticks: u64) {
    let Step { thread, code, key, .. } = *step;
    let (job, task) = (key as usize, P(key as usize));
    let (price, text) = (key as f64 / 2.0, format!("thing {key}"));
    let (buffer, what) = (thread, text.as_bytes());
    let added = match code {
        1 => maker.add(buffer, thread, ticks, &JobBegin { job }),
        2 => maker.add(buffer, thread, ticks, &JobEnd { job, result: key as u32 + 70 }),
        3 => maker.add(buffer, thread, ticks, &CallEnter {}),
        4 => maker.add(buffer, thread, ticks, &CallLeave {}),
        5 => maker.add(buffer, thread, ticks, &TaskStart { task }),
        6 => maker.add(buffer, thread, ticks, &TaskEnd { task }),
        9 => maker.add(buffer, thread, ticks, &SaleBegin { price, what }),
        10 => maker.add(buffer, thread, ticks, &SaleEnd { price, what }),
        8 => maker.lose::<Note>(buffer, thread, Cause::Overwritten, 3),
        _ => maker.add(buffer, thread, ticks, &Note { text: b"a text" }),
    };
    added.unwrap();
}

fn origin(uuid: [u8; 16]) -> Origin {
    let mut origin = Origin::new();
    (origin.uuid, origin.boot_id, origin.pid, origin.start) = (uuid, [5; 16], 4711, 99);
    // Many blocks make many partitions.
    origin.block_size_log2 = 12;
    origin
}

/// The bytes of a log of these steps.
pub(crate) fn made(steps: &[Step]) -> Vec<u8> {
    run(1, steps)
}

/// The same, of one of several runs.
pub(crate) fn run(number: u8, steps: &[Step]) -> Vec<u8> {
    log(number, steps, 0)
}

/// A log of these steps whose store knows the threads, as those of a program do.
pub(crate) fn named(steps: &[Step]) -> Vec<u8> {
    log(1, steps, 3)
}

fn log(number: u8, steps: &[Step], thread_count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin([number; 16])).unwrap();
    let mut ticks = 1 << 40;
    for thread in 1..=thread_count {
        maker.thread(ticks, thread, 4711, "clerk").unwrap();
    }
    for (step, index) in steps.iter().zip(1..) {
        ticks += step.wait;
        add(&mut maker, step, ticks);
        // A block without a sync does not state its last time, and cannot end a partition.
        if index % 100 == 0 {
            let sync = ClockSync { ticks, monotonic: ticks, realtime: ticks, uncertainty: 0 };
            maker.sync(sync).unwrap();
        }
    }
    maker.finish().unwrap();
    bytes
}

/// A log of two streams of one process, each with these steps at the same times.
pub(crate) fn two_streams(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let streams = [[1; 16], [2; 16]].map(|uuid| maker.begin(&origin(uuid)).unwrap());
    let mut ticks = 1 << 40;
    for step in steps {
        ticks += step.wait;
        for stream in streams {
            maker.turn(stream).unwrap();
            add(&mut maker, step, ticks);
        }
    }
    maker.finish().unwrap();
    bytes
}

/// A log of one task with a label, of this address in this run.
pub(crate) fn labelled(task: u64, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin([1; 16])).unwrap();
    let name = maker.intern(10, name.as_bytes()).unwrap();
    maker.label(11, task as usize, name).unwrap();
    for ticks in 0..200 {
        let code = if ticks % 2 == 0 { 5 } else { 6 };
        add(&mut maker, &Step { thread: 1, wait: 0, code, key: task }, 100 + ticks * 10);
    }
    maker.finish().unwrap();
    bytes
}
