//! Counts the events of a log by type: `cargo run -p mps-eventlog --example count -- run.log`.

use eventlog::reader::{Filter, Log, Order};
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a log")?;
    let log = Log::open(&path)?;
    let mut counts = BTreeMap::new();
    let mut events = log.events(Order::File, &Filter::new());
    while let Some(event) = events.next() {
        *counts.entry(event.name()).or_insert(0) += 1;
    }
    for (name, count) in counts {
        println!("{count:10} {name}");
    }
    log.faults().iter().chain(events.faults()).for_each(|fault| eprintln!("{path}: {fault}"));
    Ok(())
}
