//! Live bytes by pool over time, a line for each of ten stretches of a log:
//! `cargo run -p mps-eventlog --example pools -- run.log`.
//!
//! A pool allocates by `PoolAlloc (pool, addr, size)` and frees by `PoolFree (pool, addr, size)`.

use eventlog::reader::{Event, Filter, Log, Order};
use std::collections::BTreeMap;

const LINES: u64 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a log")?;
    let log = Log::open(&path)?;
    let filter = Filter::new().events(["PoolAlloc", "PoolFree"]).labels(true);
    let (begin, end) = log.span(0).ok_or("the log has no events")?;
    let mut pools: BTreeMap<u64, (String, i64)> = BTreeMap::new();
    let mut next_line = begin;
    let mut events = log.events(Order::Time, &filter);
    while let Some(event) = events.next() {
        while event.ticks > next_line {
            print_line(next_line - begin, &pools);
            next_line += (end - begin) / LINES + 1;
        }
        let Some((pool, size)) = number(&event, "pool").zip(number(&event, "size")) else {
            continue;
        };
        let label = event.labels.label(pool).map(String::from_utf8_lossy);
        let name = || label.map_or_else(|| format!("{pool:#x}"), |label| label.into_owned());
        let (_, live) = pools.entry(pool).or_insert_with(|| (name(), 0));
        *live += if event.name() == "PoolAlloc" { size as i64 } else { -(size as i64) };
    }
    print_line(end - begin, &pools);
    log.faults().iter().chain(events.faults()).for_each(|fault| eprintln!("{path}: {fault}"));
    Ok(())
}

fn number(event: &Event<'_, '_>, param: &str) -> Option<u64> {
    event.param(param)?.as_u64()
}

fn print_line(ticks: u64, pools: &BTreeMap<u64, (String, i64)>) {
    let cells = pools.values().map(|(name, live)| format!("  {name} {live}"));
    println!("{ticks:>14}{}", cells.collect::<String>());
}
