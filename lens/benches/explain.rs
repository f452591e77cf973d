//! Measures how fast a kernel log is explained, next to a reading that only counts its events.
//!
//! ```text
//!  rows of 4 processors, 64 threads ──▶ log ─┬─ count        events/s
//!                                            ├─ model        events/s
//!                                            └─ account of all threads
//! ```
//!
//! `cargo bench -p mps-lens --bench explain` measures; with `-- --make FILE` it writes
//! the log to a file instead, for the command. `EVENTS` sets the number of events, in millions.

use eventlog::format::ClockSync;
use eventlog::reader::{Clock, Filter, Log, Order};
use eventlog::writer::Origin;
use lens::waits::account::{account, windows_of};
use lens::waits::critical::Walker;
use lens::waits::events::kernel::{Switch, Syscall, SyscallDone, Waking};
use lens::waits::model::{self, Options};
use lens::waits::output::Output;
use std::time::{Duration, Instant};

/// Threads that wake each other.
const THREAD_COUNT: u32 = 64;
/// Measurements of each step; the best counts.
const ROUND_COUNT: usize = 5;

/// Returns a log of rows: threads of pairs wake each other, each on its processor.
fn made(event_count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut origin = Origin::new();
    origin.boot_id = [7; 16];
    let mut out = Output::new(&mut bytes, &origin).expect("a log begins");
    let (mut at, mut seed, mut count) = (1_000_000u64, 88_172_645_463_325_252u64, 0);
    let mut running = [0u32; 4];
    for thread in 1..=THREAD_COUNT {
        out.thread(1, thread, 1 + (thread - 1) / 8 * 8, b"worker").expect("a name");
    }
    while count < event_count {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        at += 500 + seed % 4000;
        let cpu = (seed >> 20) as u32 % 4;
        let next = cpu * 16 + 1 + (seed >> 40) as u32 % 16;
        let Some(place) = running.get_mut(cpu as usize) else { break };
        let prev = std::mem::replace(place, if next == *place { 0 } else { next });
        let next = *place;
        let mut add = |at, result: Result<(), _>| {
            let _: u64 = at;
            result.expect("a row");
            count += 1;
        };
        if prev != 0 {
            let row = Syscall {
                thread: prev,
                call: 202,
                object: eventdef::field::A(0x7000 + prev as usize),
                value: 0,
            };
            add(at, out.add(cpu, at, &row));
        }
        if next != 0 {
            let row = Waking { waker: prev, target: next, context: 0, stack: 0 };
            add(at, out.add(cpu, at + 50, &row));
        }
        add(at, out.add(cpu, at + 100, &Switch { prev, next, state: 1, stack: 0 }));
        if next != 0 {
            let row = SyscallDone { thread: next, call: 202, result: 0 };
            add(at, out.add(cpu, at + 150, &row));
        }
    }
    for ticks in [1, at + 1000] {
        let realtime = 1_700_000_000_000_000_000 + ticks;
        let sync = ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 };
        out.sync(sync).expect("a sync");
    }
    out.finish().expect("a log ends");
    bytes
}

fn best(mut step: impl FnMut() -> u64) -> (Duration, u64) {
    let round = |_| {
        let begin = Instant::now();
        let result = step();
        (begin.elapsed(), result)
    };
    (0..ROUND_COUNT).map(round).min().unwrap_or_default()
}

fn main() {
    let millions = std::env::var("EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let bytes = made(millions * 1_000_000);
    let mut words = std::env::args().skip_while(|word| word != "--make").skip(1);
    if let Some(path) = words.next() {
        std::fs::write(&path, &bytes).expect("the log is written");
        return;
    }
    let size = bytes.len();
    let log = Log::from_source(bytes).expect("a log");
    let clock = Clock::new(&log);
    let stream = model::kernel_streams(&log).first().copied().unwrap_or(0);
    let (time, count) = best(|| {
        let mut count = 0;
        log.events(Order::Time, &Filter::default()).each(|_| count += 1);
        count
    });
    let rate = |time: Duration| count as f64 / time.as_secs_f64() / 1e6;
    println!("{count} events, {:.1} bytes each", size as f64 / count as f64);
    println!("count       {:7.2} M events/s", rate(time));
    let read = || model::read(&log, stream, &clock, &Options::default()).expect("a kernel").0;
    let (time, stretches) = best(|| read().stretches.len() as u64);
    println!("model       {:7.2} M events/s, {stretches} stretches", rate(time));
    let model = read();
    let lives: Vec<u32> = (0..model.lives.len() as u32).collect();
    let windows = windows_of(&model, &lives);
    for windows in [&windows[..1], &windows] {
        let mut piece_count = 0u64;
        for window in windows {
            let mut walker = Walker::new(&model, Options::default().grace);
            walker.walk(window.life, window.from, window.to, |_| piece_count += 1);
        }
        let (time, _) = best(|| {
            let mut walker = Walker::new(&model, Options::default().grace);
            account(&model, windows, &mut walker).total
        });
        let pieces = piece_count as f64 / time.as_secs_f64() / 1e6;
        let (rate, of) = (rate(time), windows.len());
        println!("account     {rate:7.2} M events/s, {pieces:.2} M pieces/s, threads: {of}");
    }
}
