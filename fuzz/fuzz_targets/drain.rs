//! Reads a log: in both orders, with every parameter and label.

use eventlog::reader::{Filter, Log, Order};

/// Reads all of a log. The reader must neither panic nor hang.
pub fn drain(bytes: Vec<u8>) {
    let Ok(log) = Log::from_source(bytes) else { return };
    let mut counts = Vec::new();
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &Filter::new().labels(true));
        let mut count = 0u64;
        while let Some(event) = events.next() {
            count += 1;
            for (_, value) in event.params() {
                std::hint::black_box(value);
            }
            std::hint::black_box(event.labels.label(event.number));
        }
        counts.push(count);
    }
    for fault in log.faults() {
        std::hint::black_box(fault.to_string());
    }
    assert_eq!(counts.first(), counts.last(), "both orders give the same events");
}
