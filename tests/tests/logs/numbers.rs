//! Cuts event by event: half of a log takes half of its size and keeps the numbers; logs of very
//! many buffers take bounded memory.

use super::{assert_same, assert_sound, everything, recipe, whole};
use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::{Purpose, Writer};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::process::Command;
use tests::naive::{self, BlockFields, Buffer, KINDS, Platform, Random, Ring, TYPES, Value, put};
use tests::programs::{eventcnv, run};

/// Returns a log of one buffer with `count` events in full blocks.
fn full(block_size_log2: u32, count: u64) -> Vec<u8> {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2 };
    let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    let buffer = Buffer { buffer: 1, registry: 1, kind: 1, thread: 1 };
    let mut ring = Ring::new(&platform, buffer, 7);
    for n in 0..count {
        let words = [Value::P(n), Value::A(2), Value::W(3)];
        if !ring.record(&platform, 8 + n, 2, &words) {
            ring.write(&mut writer, true);
            ring.advance(&platform, 8 + n);
            assert!(ring.record(&platform, 8 + n, 2, &words));
        }
    }
    ring.write(&mut writer, true);
    writer.end();
    writer.bytes()
}

/// Returns a cut of the events whose numbers are chosen.
fn chosen(log: &Log, order: Order, is_chosen: impl Fn(u64) -> bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(log, Purpose::Cut, &mut bytes);
    let mut events = log.events(order, &Filter::default());
    while let Some(event) = events.next() {
        if is_chosen(event.number) {
            writer.add(&event).unwrap();
        }
    }
    drop(events);
    writer.finish().unwrap();
    bytes
}

/// `.cut.numbers`
#[test]
fn a_cut_of_every_other_event_is_half_as_large() {
    let whole_log = full(14, 20_000);
    let log = Log::from_source(whole_log.clone()).unwrap();
    let random = &mut Random::new(1);
    let coin: Vec<bool> = (0..20_000).map(|_| random.one_in(2)).collect();
    let ways: [(&dyn Fn(u64) -> bool, f64); 4] = [
        (&|n| n % 2 == 0, 0.55),
        (&|n| coin[n as usize], 0.55),
        (&|n| n % 3 > 0, 0.72),
        (&|n| n % 1000 < 2, 0.04),
    ];
    for (way, (is_chosen, part)) in ways.into_iter().enumerate() {
        for order in [Order::File, Order::Time] {
            let bytes = chosen(&log, order, is_chosen);
            let size = bytes.len() as f64 / whole_log.len() as f64;
            assert!(size < part, "way {way}: {size} of the whole");
            let piece = Log::from_source(bytes).unwrap();
            assert_sound(&piece, &format!("way {way}"));
            let mut expected = everything(&log);
            expected.retain(|event| is_chosen(event.2));
            assert_same(&everything(&piece), &expected, &format!("way {way}"));
        }
    }
}

/// `.cut.numbers`, `.event.identity`: the reader joins pieces with gaps number by number.
#[test]
fn pieces_cut_event_by_event_give_each_event_once() {
    for seed in 0..12 {
        let (writer, _) = naive::write(recipe(seed));
        let log = Log::from_source(writer.bytes()).unwrap();
        let all = everything(&log);
        let of = |seed: u64| {
            let coins = (0..4096).map(|n| Random::new(n ^ seed << 32).one_in(3));
            let coins: Vec<bool> = coins.collect();
            move |n: u64| coins[n as usize % 4096]
        };
        let (a, b) = (of(seed), of(seed + 100));
        let is_in = [
            chosen(&log, Order::File, &a),
            chosen(&log, Order::Time, |n| !a(n)),
            chosen(&log, Order::Time, &b),
        ];
        let joined = |logs: &[&[u8]]| Log::from_source(logs.concat()).unwrap();
        // Each of the two has what the other lacks.
        let both = joined(&[&is_in[0], &is_in[1]]);
        assert_sound(&both, "both");
        assert_same(&everything(&both), &all, &format!("both of seed {seed}"));
        let merged = Log::from_source(whole(&both)).unwrap();
        assert_same(&everything(&merged), &all, &format!("merged of seed {seed}"));
        // These have events in common, with each other and with the whole.
        let some = joined(&[&is_in[2], &is_in[0], &is_in[2]]);
        let mut expected = all.clone();
        expected.retain(|event| event.4 == 0 || a(event.2) || b(event.2));
        let mut found = everything(&some);
        found.retain(|event| event.4 == 0 || a(event.2) || b(event.2));
        assert_eq!(found.len(), everything(&some).len());
        assert_same(&found, &expected, &format!("some of seed {seed}"));
        let counted: u64 = some.accounts().iter().map(|account| account.found).sum();
        assert_eq!(counted, expected.len() as u64);
        let together = joined(&[&is_in[2], &writer.bytes(), &is_in[0]]);
        assert_same(&everything(&together), &all, &format!("together of seed {seed}"));
        assert!(together.accounts().iter().all(|account| account.lost == 0));
        // A run has consecutive numbers.
        let mut numbers = Vec::new();
        some.events(Order::File, &Filter::default()).each_run(|run| {
            let events = (0..).map_while(|index| run.event(index));
            numbers.extend(events.zip(run.number()..).map(|(event, number)| {
                assert_eq!(event.number, number);
                (event.stream, event.buffer, number)
            }));
        });
        numbers.sort_unstable();
        let mut identities: Vec<_> = expected.iter().map(|it| (it.0, it.1, it.2)).collect();
        identities.sort_unstable();
        assert_eq!(numbers, identities);
    }
}

/// `.cut.numbers`: the reader does not trust the numbers.
#[test]
fn the_reader_reads_lying_numbers_to_the_end() {
    let log = Log::from_source(full(12, 300)).unwrap();
    let bytes = chosen(&log, Order::File, |n| n % 5 > 1);
    let blocks: Vec<usize> = (1..bytes.len() / 4096).map(|index| index * 4096).collect();
    let numbered = blocks.into_iter().filter(|&at| bytes[at + 4] == 1 && bytes[at + 5] & 8 != 0);
    let numbered: Vec<usize> = numbered.collect();
    assert!(!numbered.is_empty());
    for seed in 0..400 {
        let random = &mut Random::new(seed);
        let mut lying = bytes.clone();
        for &at in &numbered {
            let block = &mut lying[at..(at + 4096).min(bytes.len())];
            let last = u32::from_le_bytes(*block[24..].first_chunk().unwrap()) as usize;
            for _ in 0..random.below(4) {
                let place = match random.below(3) {
                    0 => last + random.below(64) as usize,
                    1 => last + 24 + random.below(16) as usize,
                    _ => [28, 29, 48, 55][random.below(4) as usize],
                };
                block[place] =
                    [0, 1, 0x7F, 0x80, 0xFF, random.any() as u8][random.below(6) as usize];
            }
            let (mut header, payload) = (block[..128].to_vec(), block[last..].to_vec());
            naive::seal_block(&mut header, &payload);
            put(block, 0, &header);
        }
        let log = Log::from_source(lying).unwrap();
        let _ = log.verify(NonZero::new(1));
        let recovered = Log::from_source(whole(&log)).unwrap();
        assert_sound(&recovered, &format!("seed {seed}"));
        let identities: BTreeSet<_> =
            everything(&recovered).iter().map(|event| (event.0, event.1, event.2)).collect();
        let expected: BTreeSet<_> =
            everything(&log).iter().map(|event| (event.0, event.1, event.2)).collect();
        assert_eq!(identities, expected, "seed {seed}");
    }
}

/// `.cnv.memory`: in a tenth of the memory that a block for each buffer would take.
#[test]
fn eventcnv_makes_logs_of_20000_buffers_in_128_mib() {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 16 };
    let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    let event = platform.event(1, &[]);
    for buffer in 1..=20_000 {
        let fields = BlockFields {
            block_type: 1,
            last: 65536 - event.len() as u32,
            count: 1,
            top: 65536,
            base: u64::from(buffer),
            base_last: u64::from(buffer),
            ..BlockFields::default()
        };
        writer.part(Buffer { buffer, registry: 1, kind: 1, thread: buffer }, fields, &event);
    }
    writer.end();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("many.log");
    std::fs::write(&log, writer.bytes()).unwrap();
    for command in ["recover", "cut", "merge", "cut --last 15000"] {
        let out = directory.path().join("out.log");
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -d 131072 && exec \"$@\"", "sh"]);
        limited.arg(eventcnv().get_program()).args(command.split(' ')).arg(&log);
        run(limited.args(["--force", "-o"]).arg(&out));
        let made = Log::open(&out).unwrap();
        let count = if command.ends_with("15000") { 15_000 } else { 20_000 };
        assert_eq!(made.accounts().len(), count, "{command}");
    }
}
