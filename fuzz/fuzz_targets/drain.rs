//! Reads a log whole, in both orders, every parameter and label of it; and as it arrives.

use eventlog::reader::{Filter, Live, Log, Order};

/// Reads everything; the reader must neither panic nor hang.
pub fn drain(bytes: Vec<u8>) {
    let mut live = Live::new();
    for piece in bytes.chunks(1000) {
        if live
            .feed(piece, &mut |event| drop(std::hint::black_box(event.params().count())))
            .is_err()
        {
            break;
        }
    }
    live.finish(&mut |event| drop(std::hint::black_box(event.params().count())));
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
