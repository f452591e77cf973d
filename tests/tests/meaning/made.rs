//! A made log of all that is odd: nested and crossing slices without ends, equal times, keys of
//! all sorts, values that no integer of 64 bits holds.

use eventdef::field::P;
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};
use play::*;
use std::fs;
use std::path::Path;

/// The marks of the registry below, and what the names of its event types state.
pub(crate) const RULES: [&str; 22] = [
    "counter Sent in-flight + 1",
    "counter Sent bytes + size peer",
    "counter Received in-flight - 1",
    "counter Received bytes - size peer",
    "counter Load load + by",
    "counter Loaded load = to",
    "counter Filled pool + size pool",
    "counter Warmed warmth + by at",
    "counter Cooled warmth = to at",
    "counter Stocked stock + count what",
    "counter Stocked shop + count what,count",
    "counter Shelved shelf + count at,number",
    "counter Moved here + came",
    "counter Moved here - went",
    "slice JobBegin=JobEnd Job job",
    "slice CallEnter=CallLeave Call",
    "slice WalkBegin=WalkEnd Walk at",
    "slice SaleBegin=SaleEnd Sale what",
    "slice StepBegin=StepEnd Step - step",
    "span TaskStart=TaskEnd Task task",
    "span VisitOpen=VisitClose Visit guest what",
    "span IdleStart=IdleStop Idle",
];

mod play {
    eventdef::events! {
        /// A network, and what is sold in it.
        registry "play" version(1, 0, 0);
        kinds standard;

        /// A message is under way. [counter in-flight += 1] [counter bytes += size:peer]
        /// [unit bytes size]
        Sent(1, always, User) {
            /// to it
            peer: U,
            /// its size
            size: W,
        }
        /// A message is here. [counter in-flight -= 1] [counter bytes -= size:peer]
        Received(2, always, User) {
            /// by it
            peer: U,
            /// its size
            size: W,
        }
        /// The load changes. [counter load += by]
        Load(3, always, User) {
            /// the amount
            by: D,
        }
        /// The load is measured. [counter load = to]
        Loaded(4, always, User) {
            /// it
            to: D,
        }
        /// Live bytes by pool. [counter pool += size] [unit bytes size]
        Filled(5, always, User) {
            /// the pool
            pool: P,
            /// how much
            size: W,
        }
        /// A place gets warm. [counter warmth += by:at]
        Warmed(6, always, User) {
            /// where
            at: D,
            /// the amount
            by: W,
        }
        /// A place has a warmth. [counter warmth = to:at]
        Cooled(7, always, User) {
            /// where
            at: D,
            /// its warmth
            to: D,
        }
        /// Things come. [counter stock += count:what] [counter shop += count:what,count]
        Stocked(8, always, User) {
            /// their number
            count: U,
            /// which
            what: S,
        }
        /// Things lie on a shelf. [counter shelf += count:at,number]
        Shelved(9, always, User) {
            /// the room
            at: P,
            /// the shelf
            number: W,
            /// their number
            count: W,
        }
        /// Things come and go. [counter here += came] [counter here -= went]
        Moved(26, always, User) {
            /// those that come
            came: W,
            /// those that go
            went: W,
        }
        /// A job begins.
        JobBegin(10, always, User) {
            /// which
            job: W,
        }
        /// A job ends.
        JobEnd(11, always, User) {
            /// which
            job: W,
        }
        /// A call begins.
        CallEnter(12, always, User) {}
        /// A call ends.
        CallLeave(13, always, User) {}
        /// A walk begins. [slice WalkBegin=WalkEnd:at]
        WalkBegin(14, always, User) {
            /// where
            at: D,
        }
        /// A walk ends.
        WalkEnd(15, always, User) {
            /// where
            at: D,
        }
        /// A sale begins. [slice SaleBegin=SaleEnd:what]
        SaleBegin(16, always, User) {
            /// which
            what: S,
        }
        /// A sale ends.
        SaleEnd(17, always, User) {
            /// which
            what: S,
        }
        /// A task begins.
        TaskStart(18, always, User) {
            /// which
            task: P,
        }
        /// A task ends.
        TaskEnd(19, always, User) {
            /// which
            task: P,
        }
        /// A guest comes. [span VisitOpen=VisitClose:guest] [name what]
        VisitOpen(20, always, User) {
            /// the guest
            guest: W,
            /// what for
            what: S,
        }
        /// A guest goes.
        VisitClose(21, always, User) {
            /// the guest
            guest: W,
        }
        /// A thread rests.
        IdleStart(22, always, User) {}
        /// A thread goes on.
        IdleStop(23, always, User) {}
        /// A step begins. [name step]
        StepBegin(24, always, User) {
            /// which, without a label
            step: P,
        }
        /// A step ends.
        StepEnd(25, always, User) {}
    }
}

/// Names of things: one is empty, one would end a cell.
const THINGS: [&str; 4] = ["apples", "", "\"pears, plums\"", "K\u{e4}se & co"];
/// Keys: two differ in their sign alone.
const PLACES: [f64; 4] = [0.0, -0.0, 0.5, f64::NAN];
/// Doubles that are not finite, or large.
const AMOUNTS: [f64; 8] =
    [f64::NAN, f64::INFINITY, 1e308, -1.5e308, 0.125, -3.5, 1e18, f64::NEG_INFINITY];

/// Makes a log of events by three threads, many of them at one time. A tick is 0.4 ns, if the log
/// has a clock.
pub(crate) fn make(path: &Path, count: usize, has_clock: bool) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).expect("a stream");
    let sync = |maker: &mut Maker<'_>, ticks: u64| {
        let monotonic = 7_000_000 + ticks * 2 / 5;
        let realtime = 1_700_000_000_000_000_000 + monotonic;
        let sync = ClockSync { ticks, monotonic, realtime, uncertainty: 0 };
        has_clock.then(|| maker.sync(sync).expect("a sync"));
    };
    let mut seed = 12345u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    let mut ticks = 1000;
    sync(&mut maker, ticks);
    for _ in 0..count {
        ticks += if next(3) > 0 { next(2000) as u64 } else { 0 };
        let (thread, size) = (next(3) as u32 + 1, next(1000));
        let (peer, key, at) = (next(4) as u32, next(3), PLACES[next(PLACES.len())]);
        let (pool, task) = (P(usize::MAX - key), P(key << 63));
        let (what, amount) = (THINGS[next(THINGS.len())].as_bytes(), AMOUNTS[next(AMOUNTS.len())]);
        macro_rules! event {
            ($event:expr) => {
                maker.add(thread, thread, ticks, &$event)
            };
        }
        let added = match next(28) {
            0 => event!(Sent { peer, size }),
            1 => event!(Received { peer, size }),
            2 => event!(Load { by: if size < 100 { amount } else { size as f64 / 4.0 - 100.0 } }),
            3 => event!(Loaded { to: if size < 300 { amount } else { size as f64 / 8.0 } }),
            4 => event!(Filled { pool, size: usize::MAX / 2 + size }),
            5 => event!(Warmed { at, by: size << 50 }),
            6 => event!(Cooled { at, to: size as f64 / 8.0 }),
            7 => event!(Stocked { count: peer, what }),
            8 => event!(Shelved { at: pool, number: key << 62, count: size }),
            9 | 10 => event!(JobBegin { job: key }),
            11 | 12 => event!(JobEnd { job: key }),
            13 => event!(CallEnter {}),
            14 => event!(CallLeave {}),
            15 => event!(WalkBegin { at }),
            16 => event!(WalkEnd { at }),
            17 => event!(SaleBegin { what }),
            18 => event!(SaleEnd { what }),
            19 => event!(TaskStart { task }),
            20 => event!(TaskEnd { task }),
            21 => event!(VisitOpen { guest: key, what }),
            22 => event!(VisitClose { guest: key }),
            23 => event!(IdleStart {}),
            24 => event!(IdleStop {}),
            25 => event!(StepBegin { step: task }),
            26 => event!(StepEnd {}),
            _ => event!(Moved { came: size, went: key << 62 }),
        };
        added.expect("an event");
    }
    sync(&mut maker, ticks);
    maker.finish().expect("an end");
}
