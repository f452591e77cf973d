//! Logs made from logs: a recovered log is sound and reads the same, a cut has the selected events,
//! and merged pieces give the whole.
//!
//! ```text
//!  a random log ── damage ──▶ recover ──▶ sound, the same events
//!             └── cut by kind, the others ──▶ merge ──▶ the same events
//! ```

use eventlog::reader::{FaultKind, Filter, Log, Order, Pick, Value as Read, What};
use eventlog::writer::{Purpose, Writer};
use std::collections::BTreeSet;
use std::num::NonZero;
use tests::naive::put;
use tests::naive::{self, Buffer, KINDS, Platform, Random, Recipe, Ring, TYPES, Value};

#[path = "logs/numbers.rs"]
mod numbers;
#[path = "logs/syncs.rs"]
mod syncs;

/// An event as the reader gives it, with the label of its pointer.
type Given = (u16, u32, u64, u64, u16, u8, u32, u16, Vec<u8>, Option<Vec<u8>>);

/// Returns the values of an event.
fn values(event: &eventlog::reader::Event<'_, '_>) -> Vec<u8> {
    let mut text = String::new();
    for (param, value) in event.params() {
        text += &match value {
            Read::D(value) => format!("{}={:x} ", param.name, value.to_bits()),
            value => format!("{}={value:?} ", param.name),
        };
    }
    text.into_bytes()
}

/// Returns the events of a log, except those too short for their parameters, which no log made from
/// another has (`.cut.short`).
fn given(log: &Log, order: Order, filter: &Filter) -> Vec<Given> {
    let filter = filter.clone().labels(true);
    let mut events = log.events(order, &filter);
    let mut given = Vec::new();
    while let Some(event) = events.next() {
        if event.event_type.is_some_and(|it| event.bytes.len() < it.size_min as usize) {
            continue;
        }
        let label = event.param_at(0).and_then(|value| event.labels.label_id_of(value));
        let label = label.and_then(|id| event.labels.string(id)).map(<[u8]>::to_vec);
        given.push((
            event.stream,
            event.buffer,
            event.number,
            event.ticks,
            event.registry.index,
            event.kind,
            event.thread,
            event.code(),
            values(&event),
            label,
        ));
    }
    given
}

fn everything(log: &Log) -> Vec<Given> {
    given(log, Order::Time, &Filter::default())
}

fn whole(log: &Log) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(log, Purpose::Whole, &mut bytes);
    writer.write_all().unwrap();
    let (written, _) = writer.finish().unwrap();
    assert_eq!(written.size, bytes.len() as u64);
    bytes
}

fn cut(log: &Log, filter: &Filter, order: Order) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(log, Purpose::Cut, &mut bytes);
    let mut events = log.events(order, filter);
    while let Some(event) = events.next() {
        writer.add(&event).unwrap();
    }
    drop(events);
    writer.finish().unwrap();
    bytes
}

/// Checks that two lists are equal, or shows the first difference.
fn assert_same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], of: &str) {
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = at.unwrap_or(found.len().min(expected.len()));
    let (f, e) = (found.len(), expected.len());
    assert!(
        found == expected,
        "{of}: {f} and {e}, at {at}: {:?} {:?}",
        found.get(at),
        expected.get(at)
    );
}

/// Checks that a log is sound.
fn assert_sound(log: &Log, of: &str) {
    let verified = log.verify(NonZero::new(1));
    let faults: Vec<_> = log.faults().iter().chain(&verified.faults).collect();
    let faults: Vec<_> = faults.into_iter().filter(|fault| !fault.is_warning()).collect();
    assert!(faults.is_empty(), "{of}: {faults:?}");
}

fn recipe(seed: u64) -> Recipe {
    let platform = Platform {
        big_endian: seed % 2 == 1,
        word_size: [4, 8][seed as usize / 2 % 2],
        block_size_log2: 12 + seed as u32 % 3,
    };
    Recipe {
        seed,
        platform,
        buffers: 1 + seed as u32 % 6,
        events: 600,
        with_copies: !seed.is_multiple_of(3),
        is_shuffled: seed.is_multiple_of(5),
        stream: 0,
    }
}

/// Damages headers and events of blocks, and seals the blocks again.
fn forge(writer: &mut naive::Writer, random: &mut Random) {
    let blocks = writer.blocks.iter_mut().filter(|block| block[4] == 1);
    for block in blocks {
        let word = |block: &[u8], at| u32::from_le_bytes(*block[at..].first_chunk().unwrap());
        let last = word(block, 24) as usize;
        for _ in 0..random.below(4) {
            let events = last..block.len();
            if random.below(3) == 0 || events.is_empty() {
                // The counts and what follows; the identity of a block stays.
                let at = [24, 28, 48, 56, 64, 80, 88, 96, 104][random.below(9) as usize];
                block[at] = random.any() as u8;
            } else {
                let at = events.start + random.below(events.len() as u64) as usize / 4 * 4;
                block[at + random.below(4) as usize] = random.below(40) as u8;
            }
        }
        let (last, top) = (word(block, 24) as usize, word(block, 32) as usize);
        if block[5] & 1 == 1 && last <= top && top <= block.len() {
            let (header, payload) = (&mut block[..128].to_vec(), block[last..top].to_vec());
            naive::seal_block(header, &payload);
            put(block, 0, header);
        }
    }
}

/// Returns a stream, which may be a bounded ring or a later volume.
fn special(seed: u64) -> naive::Writer {
    let (mut writer, _) = naive::write(recipe(seed));
    match seed % 4 {
        2 => writer.head[148] = 1,
        3 => writer.head[408] = 5,
        _ => {}
    }
    naive::seal_stream_header(&mut writer.head);
    writer
}

fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        let size = random.below(600) as usize;
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.iter_mut().skip(at).take(size).for_each(|byte| *byte = 0),
            2 => bytes.iter_mut().skip(at).take(size).for_each(|byte| *byte = size as u8),
            _ => bytes.truncate(at.max(600)),
        }
    }
    bytes
}

/// `.cnv.recover`, `.cut.account`, `.cut.sequence`, `.cut.sync`
#[test]
fn a_recovered_log_is_sound_and_reads_the_same() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let bytes = damaged(special(seed).bytes(), random);
        let log = Log::from_source(bytes).unwrap();
        let recovered = Log::from_source(whole(&log)).unwrap();
        assert_sound(&recovered, &format!("seed {seed}, {:?}", log.accounts()));
        assert_same(
            &everything(&recovered),
            &everything(&log),
            &format!("&recovered of seed {seed}"),
        );
        let times = |log: &Log| -> Vec<_> {
            let ticks = everything(log).into_iter().map(|event| event.3);
            ticks.map(|ticks| log.streams()[0].wall_time(ticks)).collect()
        };
        assert_same(&times(&recovered), &times(&log), &format!("times of seed {seed}"));
        assert_eq!(recovered.is_closed(), log.is_closed());
        for (account, new) in log.accounts().iter().zip(recovered.accounts()) {
            // The reader meets damage within a block only when it reads the events: a loss too.
            let damaged = account.found - new.found;
            let lost = u64::from(new.discarded_io - account.discarded_io);
            assert_eq!((new.recorded, new.lost), (account.recorded, 0));
            assert_eq!(lost, account.lost + damaged);
        }
        let again = Log::from_source(whole(&recovered)).unwrap();
        assert_same(&everything(&again), &everything(&log), &format!("&again of seed {seed}"));
    }
}

/// `.cnv.recover`, `.cut.short`: checksums do not show the damage. Damaged bytes may give two
/// events one identity: then one of them is recovered.
#[test]
fn a_log_recovered_from_lies_has_each_event_once() {
    for seed in 0..80 {
        let random = &mut Random::new(seed);
        let mut writer = special(seed);
        forge(&mut writer, random);
        let log = Log::from_source(damaged(writer.bytes(), random)).unwrap();
        let recovered = Log::from_source(whole(&log)).unwrap();
        assert_sound(&recovered, &format!("seed {seed}"));
        let identities = |events: &[Given]| -> BTreeSet<_> {
            events.iter().map(|event| (event.0, event.1, event.2)).collect()
        };
        let (found, expected) = (everything(&recovered), everything(&log));
        assert_eq!(identities(&found), identities(&expected), "seed {seed}");
        assert_eq!(found.len(), identities(&found).len(), "seed {seed}");
        assert!(found.iter().all(|event| expected.contains(event)), "seed {seed}");
        let again = Log::from_source(whole(&recovered)).unwrap();
        assert_same(&everything(&again), &found, &format!("again of seed {seed}"));
    }
}

/// `.cut.short`: the writer reports the event, and leaves it out of every log made from another.
#[test]
fn an_event_that_lacks_a_parameter_is_counted_as_lost() {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    let buffer = Buffer { buffer: 1, registry: 1, kind: 1, thread: 1 };
    let mut ring = Ring::new(&platform, buffer, 7);
    for number in 0..10 {
        assert!(ring.record(
            &platform,
            8 + number,
            2,
            &[Value::P(number), Value::A(2), Value::W(3)]
        ));
    }
    ring.write(&mut writer, true);
    writer.end();
    // The fourth event from the top becomes two of half its size: one is whole, without parameters;
    // one lacks one of three parameters.
    let block = &mut writer.blocks[0];
    let at = block.len() - 4 * 32;
    put(block, at, &[1, 0, 8, 0]);
    put(block, at + 8, &[2, 0, 24, 0]);
    let delta = block[at + 4..at + 8].to_vec();
    put(block, at + 12, &delta);
    put(block, 28, &11_u32.to_le_bytes());
    let (mut header, payload) = (block[..128].to_vec(), block[block.len() - 320..].to_vec());
    naive::seal_block(&mut header, &payload);
    put(block, 0, &header);
    let log = Log::from_source(writer.bytes()).unwrap();
    let faults = log.verify(NonZero::new(1)).faults;
    let faults: Vec<_> = faults.iter().map(|fault| &fault.kind).collect();
    assert_eq!(faults, [&FaultKind::EventShort { code: 2, size: 24 }]);
    for purpose in [Purpose::Whole, Purpose::Cut] {
        let mut bytes = Vec::new();
        let mut made = Writer::new(&log, purpose, &mut bytes);
        made.write_all().unwrap();
        let (written, _) = made.finish().unwrap();
        assert_eq!((written.event_count, written.short_count, written.lost_count), (10, 1, 1));
        let made = Log::from_source(bytes).unwrap();
        assert_sound(&made, "made");
        assert_same(&everything(&made), &everything(&log), "made");
        let account = &made.accounts()[0];
        assert_eq!((account.found, account.recorded, account.discarded_io), (10, 11, 1));
    }
}

fn kinds(numbers: &[u16]) -> Filter {
    Filter::new().kinds(numbers.iter().copied())
}

/// `.cnv.cut`, `.cnv.merge`, `.cut.flag`
#[test]
fn cuts_have_the_selected_events_and_merge_to_the_whole() {
    for seed in 0..40 {
        let (writer, recorded) = naive::write(recipe(seed));
        let log = Log::from_source(writer.bytes()).unwrap();
        let random = &mut Random::new(seed);
        let code = TYPES[random.below(TYPES.len() as u64) as usize].code;
        let types = vec![Pick::Number(code)];
        let middle = recorded[recorded.len() / 2].ticks;
        for filter in [
            kinds(&[random.below(3) as u16]),
            Filter::new().events(types),
            Filter::new().threads([(0, 1 + random.below(9) as u32)]),
            Filter::new().times(0..=middle),
        ] {
            for order in [Order::Time, Order::File] {
                let piece = Log::from_source(cut(&log, &filter, order)).unwrap();
                assert_sound(&piece, "piece");
                let expected = given(&log, Order::Time, &filter);
                assert_same(&everything(&piece), &expected, &format!("piece of seed {seed}"));
            }
        }
        let types = |codes: &[u16]| Filter::new().events(codes.iter().copied());
        let pieces = [&[1, 0x300][..], &[2, 5]].map(|it| cut(&log, &types(it), Order::File));
        let both = Log::from_source(pieces.concat()).unwrap();
        assert_eq!(both.streams().len(), 1);
        let merged = Log::from_source(whole(&both)).unwrap();
        assert_sound(&merged, "merged");
        assert_same(&everything(&merged), &everything(&log), &format!("&merged of seed {seed}"));
        // Together with its whole log, a piece adds nothing.
        let [piece, _] = pieces;
        let together = Log::from_source([writer.bytes(), piece].concat()).unwrap();
        assert_same(
            &everything(&together),
            &everything(&log),
            &format!("&together of seed {seed}"),
        );
        assert!(!together.streams()[0].is_cut && merged.streams()[0].is_cut);
    }
}

/// `.cnv.merge`: processes of one boot are merged by time, other hosts one after the other.
#[test]
fn several_streams_in_one_log_keep_their_identity() {
    let logs: Vec<Vec<u8>> = (1..4)
        .map(|seed| {
            let (mut writer, _) = naive::write(recipe(seed));
            put(&mut writer.head, 48, &[seed as u8 / 2 + 1; 16]);
            naive::seal_stream_header(&mut writer.head);
            writer.bytes()
        })
        .collect();
    let joined = Log::from_source(logs.concat()).unwrap();
    let merged = Log::from_source(whole(&joined)).unwrap();
    assert_sound(&merged, "merged");
    assert_eq!(merged.streams().len(), 3);
    assert_same(&everything(&merged), &everything(&joined), "merged");
    assert!(!merged.is_comparable(0, 1) && merged.is_comparable(1, 2));
    // A log that is joined twice gives each event once.
    let twice = Log::from_source([whole(&joined), logs.concat()].concat()).unwrap();
    let twice = Log::from_source(whole(&twice)).unwrap();
    assert_same(&everything(&twice), &everything(&joined), "twice");
}

/// `.cut.flag`, `.mps.labels`: the store is complete, and labels resolve.
#[test]
fn labels_resolve_in_every_cut() {
    let golden = |name: &str| {
        let path = format!("{}/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        Log::open(path).unwrap()
    };
    for name in ["log/heap.log", "mps/labels.log", "mps/amcss-arena-pool-trace.log"] {
        let log = golden(name);
        let naming = ["Intern", "Label", "LabelPointer"];
        let naming = naming.map(|row| {
            let found = log.registries()[0].event_type_named(row);
            found.filter(|_| name.starts_with("mps")).map(|found| found.code)
        });
        let is_store = |event: &Given| event.4 == 0 || naming.contains(&Some(event.7));
        let expected = |filter: &Filter| -> Vec<_> {
            let events = given(&log, Order::Time, filter).into_iter();
            events.filter(|event| !is_store(event)).map(|it| (it.3, it.7, it.8, it.9)).collect()
        };
        for filter in [Filter::default(), kinds(&[1]), kinds(&[5])] {
            let piece = Log::from_source(cut(&log, &filter, Order::File)).unwrap();
            assert_sound(&piece, "piece");
            let found: Vec<_> = everything(&piece)
                .into_iter()
                .filter(|event| !is_store(event))
                .map(|it| (it.3, it.7, it.8, it.9))
                .collect();
            assert_same(&found, &expected(&filter), name);
            assert!(found.len() > 3 || filter != Filter::default(), "{name}");
        }
    }
}

/// `.cut.flag`
#[test]
fn a_cut_without_events_is_a_log() {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    let buffer = Buffer { buffer: 1, registry: 1, kind: 1, thread: 1 };
    let mut ring = Ring::new(&platform, buffer, 7);
    let words = [Value::P(1), Value::A(2), Value::W(3)];
    assert!(ring.record(&platform, 8, 2, &words));
    ring.write(&mut writer, true);
    let log = Log::from_source(writer.bytes()).unwrap();
    let nothing = Log::from_source(cut(&log, &kinds(&[2]), Order::File)).unwrap();
    assert_eq!(everything(&nothing), []);
    assert_eq!(nothing.registries()[0].event_types, log.registries()[0].event_types);
    assert_sound(&nothing, "nothing");
}

/// `.cut.sequence`, `.cut.account`, `.mps.made`, `.mps.uuid`, `.header.ring`
#[test]
fn blocks_of_a_made_log_hold_runs_of_numbers() {
    let path = |name| format!("{}/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut uuids = Vec::new();
    for name in ["log/heap-2.log", "mps/labels.log", "mps/mpmss-32bit-cut.log"] {
        let log = Log::open(path(name)).unwrap();
        let is_mps = name.starts_with("mps");
        for filter in [Filter::default(), kinds(&[1])] {
            let made = Log::from_source(cut(&log, &filter, Order::File)).unwrap();
            let mut accounts = 0;
            made.survey(&mut |piece| {
                let header = &piece.header;
                if piece.what != What::Events {
                    return;
                }
                assert_eq!(header.sequence.get(), header.first.get());
                accounts += usize::from(header.count.get() == 0 && header.sync_ticks.get() == 0);
                assert!(!is_mps || (header.buffer.get(), header.registry.get()) == (1, 1));
            });
            assert_eq!(accounts, if is_mps { 0 } else { made.accounts().len() });
            let platform = |log: &Log| {
                let platform = log.streams()[0].platform;
                (platform.big_endian, platform.word_size)
            };
            assert_eq!(platform(&made), platform(&log));
            assert!(made.streams()[0].is_cut);
            uuids.push(made.streams()[0].uuid);
        }
    }
    assert!(uuids.chunks(2).all(|pair| pair[0] == pair[1]), "{uuids:?}");
    assert!(uuids[2..].iter().all(|uuid| (uuid[6] >> 4, uuid[8] >> 6) == (8, 2)), "{uuids:?}");
    assert!(uuids[0] != uuids[2] && uuids[2] != uuids[4]);
}

/// `.mps.uuid`
#[test]
fn a_stream_that_occurs_three_times_keeps_all_its_events() {
    let path = format!("{}/golden/mps/labels.log", env!("CARGO_MANIFEST_DIR"));
    let one = std::fs::read(path).unwrap();
    let count = |log: &Log| {
        let mut events = log.events(Order::File, &Filter::default());
        std::iter::from_fn(|| events.next().map(|_| ())).count()
    };
    let log = Log::from_source(one.repeat(3)).unwrap();
    let made = Log::from_source(cut(&log, &Filter::default(), Order::Time)).unwrap();
    assert_eq!(count(&made), 3 * count(&Log::from_source(one).unwrap()));
    let mut uuids: Vec<_> = made.streams().iter().map(|stream| stream.uuid).collect();
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!((uuids.len(), made.streams().len()), (3, 3));
    assert_sound(&made, "three times");
}
