//! Pages of the kernel's ring buffer, and a format: the fuzzer's bytes, as text and as the pages of
//! two processors. The log that they become is sound.
#![no_main]

use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::Origin;
use lens::waits::output::Output;
use lens::waits::source::format::{ByteOrder, Format, Machine};
use lens::waits::source::page::Layout;
use lens::waits::source::ring::Ring;
use lens::waits::source::tracepoints::Tracepoints;
use libfuzzer_sys::fuzz_target;

const FORMATS: &str = include_str!("../../tests/golden/waits/linux-6.18-x86_64.formats");
/// Bytes of a page here.
const PAGE_SIZE: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let order = if first & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let machine = Machine { order, word_size: if first & 2 == 0 { 8 } else { 4 } };
    let mut tracepoints = Tracepoints::new(machine);
    for (path, text) in FORMATS.split("== ").filter_map(|part| part.split_once('\n')) {
        let Some((system, _)) = path.split_once('/') else { continue };
        if let Ok(format) = Format::parse(system, text) {
            tracepoints.learn(&format);
        }
    }
    if first & 4 != 0 {
        let text = String::from_utf8_lossy(rest);
        let _ = Layout::parse(order, &text);
        if let Ok(format) = Format::parse("sched", &text) {
            tracepoints.learn(&format);
        }
    }
    let mut log = Vec::new();
    let Ok(mut out) = Output::new(&mut log, &Origin::new()) else { return };
    let mut ring = Ring::new(Layout::of(machine));
    for (cpu, page) in (0..2).cycle().zip(rest.chunks(PAGE_SIZE)) {
        let result = ring.page(&mut tracepoints, &mut out, cpu, page, &mut |_, _| {});
        assert!(result.is_ok(), "{result:?}");
    }
    let result = ring.finish(&mut tracepoints, &mut out);
    assert!(result.is_ok(), "{result:?}");
    assert!(out.finish().is_ok());
    let log = Log::from_source(log);
    assert!(log.is_ok());
    let Ok(log) = log else { return };
    let mut events = log.events(Order::Time, &Filter::default());
    while events.next().is_some() {}
    assert_eq!(events.faults().iter().count(), 0);
});
