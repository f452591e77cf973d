//! A log of calls for the command `calls` to read: two threads, 96 functions, 32760 paths.
//!
//! ```text
//!  layer 0: 8 functions ─┐ each calls two of the next layer
//!  layer 1: 8 functions ─┴─▶ … layer 11       a random walk down and up, a hundred steps in a row
//! ```

/// The registry itself, without the runtime.
#[path = "../../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "the runtime uses the rest")]
mod events;

use eventdef::field::{A, P};
use eventdef::store::Source;
use eventlog::format::{ClockSource, ClockSync};
use eventlog::writer::{MakeError, Maker, Origin};
use events::{CallEnter, CallLeave};
use std::io::Write;

const LAYER_COUNT: usize = 12;
const LAYER_SIZE: usize = 8;
const THREAD_COUNT: u64 = 2;
const EVENTS_IN_A_ROW: u64 = 100;
const TICKS_BETWEEN_EVENTS: u64 = 20;
const EVENTS_BETWEEN_SYNCS: u64 = 2000;
const START: u64 = 1 << 41;
const REALTIME_START: u64 = 1_700_000_000_000_000_000;

fn at(function: usize) -> P {
    P(0x5600_0000_1000 + function * 64)
}

/// Writes a log with this number of beginnings and ends of calls.
pub(crate) fn write(event_count: u64, to: &mut dyn Write) -> Result<(), MakeError> {
    let mut origin = Origin::new();
    origin.uuid = *b"calls of a bench";
    origin.clock_source = ClockSource::Tsc;
    let mut maker = Maker::new(to);
    maker.begin(&origin)?;
    for function in 0..LAYER_COUNT * LAYER_SIZE {
        let (layer, number) = (function / LAYER_SIZE, function % LAYER_SIZE);
        let name = maker.intern(START, format!("bench::layer{layer}::f{number}").as_bytes())?;
        maker.label(START, at(function).0, name)?;
        let (address, line) = (A(at(function).0), function as u32 * 10 + 1);
        let source = Source { address, line, column: 1, offset: 0, size: 9, file: b"bench.rs" };
        maker.add(0, 0, START, &source)?;
    }
    let mut stacks = [const { Vec::new() }; THREAD_COUNT as usize];
    let mut random = 88_172_645_463_325_252u64;
    for i in 0..event_count {
        let index = i / EVENTS_IN_A_ROW % THREAD_COUNT;
        let (thread, ticks) = (index as u32 + 1, START + i * TICKS_BETWEEN_EVENTS);
        let stack: &mut Vec<usize> = &mut stacks[index as usize];
        // The xorshift of G. Marsaglia.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (is_down, choice) = (random >> 40 & 1 == 0, (random >> 50) as usize);
        if stack.is_empty() || is_down && stack.len() < LAYER_COUNT {
            let next = match stack.last() {
                Some(caller) => {
                    let layer = caller - caller % LAYER_SIZE + LAYER_SIZE;
                    layer + (caller + choice % 2) % LAYER_SIZE
                }
                None => choice % LAYER_SIZE,
            };
            let caller = stack.last().map_or(P(0), |caller| at(*caller));
            maker.add(thread, thread, ticks, &CallEnter { function: at(next), caller })?;
            stack.push(next);
        } else if let Some(function) = stack.pop() {
            maker.add(thread, thread, ticks, &CallLeave { function: at(function) })?;
        }
        if i % EVENTS_BETWEEN_SYNCS == 0 || i + 1 == event_count {
            // Ticks of 1 ns.
            let realtime = REALTIME_START + (ticks - START);
            maker.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 50 })?;
        }
    }
    maker.finish().map(drop)
}
