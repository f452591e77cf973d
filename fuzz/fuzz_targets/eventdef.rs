//! A header of the Memory Pool System, and a log that is read by it: the header ends at the
//! first NUL, and the log follows. A header is compared with itself and with that
//! of 2.0.0, both ways.
#![no_main]

use eventlog::reader::{Filter, Log, Options, Order, Registry, compare, version_min};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (text, log) = bytes.split_at(end);
    let Ok(registry) = Registry::from_mps_header(&String::from_utf8_lossy(text)) else { return };
    assert!(compare(&registry, &registry).is_empty());
    let known = Registry::new(&eventdef::mps::REGISTRY, registry.platform);
    for (a, b) in [(&registry, &known), (&known, &registry)] {
        assert!(version_min(a.version, &compare(a, b)) >= a.version);
    }
    let options = Options { mps_registry: Some(registry), ..Options::default() };
    let log = log.get(1..).unwrap_or_default().to_vec();
    let Ok(log) = Log::with_source(Box::new(log), &options) else { return };
    let mut events = log.events(Order::Time, &Filter::new().labels(true));
    while let Some(event) = events.next() {
        std::hint::black_box(event.params().count());
    }
});
