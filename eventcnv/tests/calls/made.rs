//! A log of a shop's calls, made event by event; a tick is a µs.
//!
//! ```text
//!  main ─┬─ sell ×3 ── hash        shop::refund panics; shop::audit is never called
//!        ├─ refund                 a poll, a slow call, and two calls in progress at the end
//!        └─ serve ── poll
//! ```

use super::events::{
    CallEnter, CallLeave, CallSlow, CallUnwind, CallsMuted, PollEnter, PollLeave, TaskFinish,
    TaskStart,
};
use eventdef::field::{A, P};
use eventdef::store::Source;
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};

/// Functions by number, from 1; two have names of linkers, and the last one is never called.
pub(crate) const NAMES: [&str; 9] = [
    "shop::main",
    "shop::sell",
    "shop::hash",
    "shop::refund",
    "shop::serve",
    "shop::audit",
    "_ZN4shop5Shelf3putEi",
    "_ZN4shop4open17h0123456789abcdefE",
    "shop::close",
];

fn at(function: usize) -> P {
    P(if function == 0 { 0 } else { 0x5600 + function * 64 })
}

fn sync(maker: &mut Maker<'_>, ticks: u64) {
    let monotonic = ticks * 1000;
    let realtime = 1_700_000_000_000_000_000 + monotonic;
    maker.sync(ClockSync { ticks, monotonic, realtime, uncertainty: 0 }).unwrap();
}

/// Records calls of one thread.
struct Thread<'m, 'o> {
    maker: &'m mut Maker<'o>,
    thread: u32,
    ticks: u64,
    stack: Vec<usize>,
}

impl Thread<'_, '_> {
    fn begin(&mut self, wait: u64, function: usize) {
        self.ticks += wait;
        let caller = at(self.stack.last().copied().unwrap_or(0));
        let call = CallEnter { function: at(function), caller };
        self.maker.add(self.thread, self.thread, self.ticks, &call).unwrap();
        self.stack.push(function);
    }

    fn end(&mut self, wait: u64) {
        self.ticks += wait;
        let function = at(self.stack.pop().unwrap());
        self.maker.add(self.thread, self.thread, self.ticks, &CallLeave { function }).unwrap();
    }
}

/// Makes the log of a shop, whose `hash` takes `hash_us`.
pub(crate) fn shop(hash_us: u64, sales: u64) -> Vec<u8> {
    shop_of([9; 16], hash_us, sales)
}

/// As [`shop`], in a stream of its own.
pub(crate) fn shop_of(uuid: [u8; 16], hash_us: u64, sales: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.pid, origin.start, origin.uuid) = (4711, 12, uuid);
    origin.program = "shop".into();
    maker.begin(&origin).unwrap();
    sync(&mut maker, 1);
    for (function, name) in (1..).zip(NAMES) {
        let string = maker.intern(10, name.as_bytes()).unwrap();
        maker.label(11, at(function).0, string).unwrap();
        let (address, line) = (A(at(function).0), function as u32 * 10);
        let file = b"src/shop.rs";
        let source = Source { address, line, column: 1, offset: 0, size: 9, file };
        maker.add(0, 0, 12, &source).unwrap();
    }
    maker.thread(20, 1, 4711, "main").unwrap();
    maker.thread(20, 2, 4712, "till").unwrap();
    let mut main = Thread { maker: &mut maker, thread: 1, ticks: 1000, stack: Vec::new() };
    main.begin(0, 1);
    for sale in 0..sales {
        main.begin(5, 2);
        main.begin(10, 3);
        main.end(hash_us + sale);
        main.end(20);
    }
    main.begin(5, 4);
    main.ticks += 3;
    let unwind = CallUnwind { function: at(4) };
    main.maker.add(1, 1, main.ticks, &unwind).unwrap();
    main.end(0);
    main.begin(2, 7);
    // Recursion.
    main.begin(2, 7);
    main.end(30);
    main.end(1);
    main.begin(1, 8);
    main.end(4);
    let slow = CallSlow { function: at(5), caller: at(1), elapsed: 50_000 };
    main.ticks += 60;
    main.maker.add(1, 1, main.ticks, &slow).unwrap();
    let muted = CallsMuted { function: at(3), count: 12 };
    main.maker.add(1, 1, main.ticks, &muted).unwrap();
    let ticks = main.ticks;
    let ticks = serve(&mut maker, ticks);
    // A hostile name, without a place.
    let hostile = P(0x77);
    let name = "=cmd|\"</script>\\\n\u{1b}[2J;x,y";
    let string = maker.intern(10, name.as_bytes()).unwrap();
    maker.label(11, hostile.0, string).unwrap();
    let call = CallEnter { function: hostile, caller: at(1) };
    maker.add(1, 1, ticks + 6, &call).unwrap();
    maker.add(1, 1, ticks + 8, &CallLeave { function: hostile }).unwrap();
    maker.add(1, 1, ticks + 9, &CallLeave { function: at(6) }).unwrap();
    sync(&mut maker, ticks + 100);
    maker.finish().unwrap();
    bytes
}

/// Records the calls of the other thread. Returns the time of the last one.
fn serve(maker: &mut Maker<'_>, ticks: u64) -> u64 {
    let mut till = Thread { maker, thread: 2, ticks: ticks + 1, stack: Vec::new() };
    till.begin(0, 5);
    for (task, ready) in [(1, true), (2, false)] {
        let (function, caller) = (at(2), at(5));
        till.maker.add(2, 2, till.ticks, &TaskStart { task, function }).unwrap();
        let poll = PollEnter { function, caller, task };
        till.maker.add(2, 2, till.ticks, &poll).unwrap();
        till.ticks += 11 * task as u64;
        till.maker.add(2, 2, till.ticks, &PollLeave { function, task }).unwrap();
        till.maker.add(2, 2, till.ticks + 4, &TaskFinish { task, ready }).unwrap();
        till.ticks += 5;
    }
    till.begin(9, 3);
    till.ticks
}

/// Makes the log of one call, which a program recorded by a filter.
pub(crate) fn filtered(filter: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&Origin::new()).unwrap();
    maker.intern(10, format!("MPS_TELEMETRY_CALLS={filter}").as_bytes()).unwrap();
    let mut main = Thread { maker: &mut maker, thread: 1, ticks: 1000, stack: Vec::new() };
    main.begin(0, 1);
    main.end(1);
    maker.finish().unwrap();
    bytes
}

/// Makes the log of functions with these names: each calls the next one.
pub(crate) fn chain(names: &[&str]) -> Vec<u8> {
    let begins = (0..names.len()).map(|function| (10, Some(function)));
    steps(names, &begins.chain(names.iter().map(|_| (10, None))).collect::<Vec<_>>())
}

/// Makes the log of a thread that begins a function, or ends the last one, after some µs each.
pub(crate) fn steps(names: &[&str], steps: &[(u64, Option<usize>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&Origin::new()).unwrap();
    sync(&mut maker, 1);
    for (function, name) in (1..).zip(names) {
        let string = maker.intern(10, name.as_bytes()).unwrap();
        maker.label(11, at(function).0, string).unwrap();
    }
    let mut one = Thread { maker: &mut maker, thread: 1, ticks: 1000, stack: Vec::new() };
    for (wait, step) in steps {
        match step {
            Some(function) => one.begin(*wait, function + 1),
            None => one.end(*wait),
        }
    }
    let last = one.ticks;
    sync(&mut maker, last + 1000);
    maker.finish().unwrap();
    bytes
}
