//! Reads a log: in both orders, with every parameter and label; and as it arrives.

use eventlog::reader::{Event, Filter, Live, Log, Order};

/// Reads all of a log. The reader must neither panic nor hang.
pub fn drain(bytes: Vec<u8>) {
    let mut live = Live::new();
    let mut count_params = |event: &Event<'_, '_>| {
        std::hint::black_box(event.params().count());
    };
    for piece in bytes.chunks(1000) {
        if live.feed(piece, &mut count_params).is_err() {
            break;
        }
    }
    live.finish(&mut count_params);
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
