//! Streams that are damaged, cut, or partly unreadable.
//!
//! ```text
//!  │ event │ event │ ???????? │ event │ …   each event but those touched; every byte accounted for
//! ```

use super::encode::Arg::N;
use super::encode::{encoded, init};
use super::versions::old;
use super::{Host, index, kinds, log, open, platform, random, read, rows, starts};
use crate::reader::fault::kind::{Fault, FaultKind, OpenError};
use crate::reader::index::{Index, Options};
use crate::reader::log::Log;
use crate::reader::model::registry::Platform;
use crate::reader::mps::platform::PLATFORMS;
use crate::reader::order::filter::Filter;
use crate::reader::order::filter::Order;

#[test]
fn damage_is_reported_with_its_size() {
    for on in PLATFORMS {
        let whole = log(on);
        let events = read(&whole, &open(&whole));
        let starts = starts(&whole, on);
        let mut bytes = whole.clone();
        bytes[starts[3] + 2..][..2].copy_from_slice(&[0xFF, 0xFF]);
        let opened = open(&bytes);
        let mut expected = events;
        expected.remove(3);
        assert_eq!(read(&bytes, &opened), expected, "{on:?}");
        let lost = (starts[4] - starts[3]) as u64;
        let fault = opened.faults.iter().next().unwrap();
        assert_eq!((opened.faults.count(), fault.offset), (1, starts[3] as u64));
        assert!(matches!(fault.kind, FaultKind::Mps { size, .. } if size == lost));
    }
}

#[test]
fn a_small_change_costs_at_most_five_events() {
    for on in PLATFORMS {
        let whole = log(on);
        let count = open(&whole).segments.iter().map(|segment| segment.count).sum::<u32>();
        // Every third offset meets all alignments.
        for at in (0..whole.len()).step_by(3) {
            for change in [0, 1, 2] {
                let mut bytes = whole.clone();
                match change {
                    0 => bytes[at] ^= 0xFF,
                    1 => drop(bytes.drain(at..(at + 5).min(whole.len()))),
                    _ => drop(bytes.splice(at..at, [0x21, 0, 0x18, 0, 7, 7, 7])),
                }
                let index = open(&bytes);
                let found = read(&bytes, &index).len() as u32;
                // After damage four events must follow one another: near the end there may be
                // fewer.
                assert!(found + 5 >= count, "{on:?}, change {change} at {at}: {found} of {count}");
                let skipped: u64 = skipped(&index);
                let read =
                    index.segments.iter().map(|segment| u64::from(segment.size)).sum::<u64>();
                assert_eq!(
                    skipped + read,
                    bytes.len() as u64,
                    "every byte is an event's or reported"
                );
            }
        }
    }
}

fn skipped(index: &Index) -> u64 {
    let size = |kind| if let FaultKind::Mps { size, .. } = kind { size } else { 0 };
    kinds(index).into_iter().map(size).sum()
}

#[test]
fn a_log_cut_at_any_offset_gives_the_events_before_the_cut() {
    for on in PLATFORMS {
        let whole = log(on);
        let starts = starts(&whole, on);
        let events = read(&whole, &open(&whole));
        for size in 0..whole.len() {
            let count = starts.iter().filter(|&&start| start < size).count();
            let is_boundary = starts.contains(&size);
            let whole_count = if is_boundary { count } else { count.saturating_sub(1) };
            let bytes = &whole[..size];
            match index(&bytes, &Options::default()) {
                Ok(index) => {
                    assert_eq!(read(bytes, &index), events[..whole_count]);
                    assert_eq!(index.faults.is_empty(), is_boundary);
                }
                Err(OpenError::NotALog) => assert_eq!(whole_count, 0, "cut at {size}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_log_without_its_beginning_is_read() {
    for on in PLATFORMS {
        let whole = log(on);
        let starts = starts(&whole, on);
        let bytes = &whole[starts[2] + 4..];
        let index = open(bytes);
        let events = read(&whole, &open(&whole));
        assert_eq!(read(bytes, &index), events[3..]);
        assert_eq!(skipped(&index), (starts[3] - starts[2] - 4) as u64);
    }
}

#[test]
fn a_real_log_cut_within_any_event_keeps_its_platform() {
    for (name, on) in
        [("mpmss-cut", platform(false, 8, 8)), ("mpmss-32bit-cut", platform(false, 4, 4))]
    {
        let path = format!("{}/tests/golden/mps/{name}.log", env!("CARGO_MANIFEST_DIR"));
        let whole = std::fs::read(path).unwrap();
        let starts = starts(&whole, on);
        for (&start, &next) in starts.iter().zip(&starts[1..]).step_by(5).skip(10).take(60) {
            for cut in [1, 4, 8, 15] {
                let bytes = &whole[start + cut..];
                let index = open(bytes);
                let found = (index.streams[0].platform, index.streams[0].offset);
                assert_eq!(found, (on, (next - start - cut) as u64), "{name} {start} {cut}");
            }
        }
    }
}

#[test]
fn damaged_logs_are_read_in_both_orders_to_the_end() {
    let mut random = random(1);
    for round in 0..240 {
        // Every other log is of version 1, whose Booleans are bits.
        let (on, version) = (PLATFORMS[round / 2 % PLATFORMS.len()], 1 + round as u64 % 2);
        let on = Platform { packed_booleans: version == 1, ..on };
        let mut rows = rows();
        rows.insert(0, init(on, if version == 1 { [1, 6, 1] } else { [2, 0, 0] }));
        let mut bytes = encoded(on, &rows);
        for _ in 0..random(20) {
            let at = random(bytes.len());
            match random(6) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.drain(at..(at + 1 + random(9)).min(bytes.len() - 1).max(at))),
                _ => bytes[at] = [0, 1, 8, 0x21, 0x7F, 0xFF][random(6)],
            }
        }
        let size = bytes.len() as u64;
        let mps_registry = Some(old()).filter(|_| version == 1);
        let options = Options { mps_registry, ..Options::default() };
        let Ok(log) = Log::with_source(Box::new(bytes), &options) else { continue };
        assert!(log.is_closed());
        let count: u64 = log.segments().iter().map(|segment| u64::from(segment.count)).sum();
        for order in [Order::Time, Order::File] {
            let mut events = log.events(order, &Filter::new().labels(true));
            let (mut found, mut last) = (0, (0, 0));
            while let Some(event) = events.next() {
                // A bit needs its byte.
                assert!(event.params().count() <= 7 && event.offset < size);
                found += 1;
                let now = (event.stream, event.ticks);
                let is_in_order = order == Order::File || now >= last;
                assert!(is_in_order, "round {round}: {now:?} after {last:?}");
                last = now;
            }
            assert_eq!(found, count, "round {round}, {order:?}");
        }
    }
}

#[test]
fn an_unreadable_page_is_a_fault() {
    let on = platform(false, 8, 8);
    let mut rows = vec![init(on, [2, 0, 0])];
    rows.extend((0..200_000).map(|n| ("ArenaPollBegin", 5000 + n, vec![N(n)])));
    let bytes = encoded(on, &rows);
    for start in [1 << 21, 3_000_000_u64.next_multiple_of(4096)] {
        let host = Host { bytes: &bytes, bad: &[start / 4096] };
        let index = index(&host, &Options::default()).unwrap();
        let read: usize = index.segments.iter().map(|segment| segment.count as usize).sum();
        assert!((rows.len() - 173..=rows.len() - 170).contains(&read), "{read}");
        let message = "a bad sector".to_owned();
        let is_io = |fault: &&Fault| fault.kind == FaultKind::Io { message: message.clone() };
        assert_eq!(index.faults.iter().find(is_io).map(|fault| fault.offset), Some(start));
    }
}

#[test]
fn events_after_zeros_and_noise_are_found() {
    for on in PLATFORMS {
        let whole = log(on);
        for (size, noise) in [(100_001, 0), (100_003, 0x5A)] {
            for shift in 0..9 {
                let gap: Vec<u8> = (0..size + shift).map(|n: u64| (n * n * noise) as u8).collect();
                let after = &whole[starts(&whole, on)[1]..];
                let bytes = [&whole, gap.as_slice(), after].concat();
                let index = open(&bytes);
                let events = read(&bytes, &index);
                assert_eq!(events.len(), 2 * rows().len() + 1, "{on:?} {noise} {shift}");
                assert_eq!(skipped(&index), gap.len() as u64);
            }
        }
    }
}
