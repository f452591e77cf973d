//! The reader gives exactly what a naive writer wrote.
//!
//! ```text
//!  naive::write ──▶ bytes ── Log::events ──▶ = the recorded events, each once, in order
//! ```

use eventlog::reader::{Event, Faults, Filter, Log, Order, Pick};
use proptest::prelude::*;
use tests::naive::{
    self, BlockFields, Buffer, Platform, Recipe, Recorded, Ring, Value, Writer, put,
    seal_stream_header,
};

#[path = "roundtrip/reads.rs"]
mod reads;

fn read(log: &Log, order: Order, filter: &Filter) -> Vec<Recorded> {
    let mut events = log.events(order, filter);
    let mut read = Vec::new();
    while let Some(event) = events.next() {
        read.push(recorded(&event));
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    for count in [1, 30, 1000] {
        assert_eq!(read_in_partitions(log, order, filter, count), read, "partitions of {count}");
    }
    read
}

/// Returns the same events, read partition by partition.
fn read_in_partitions(log: &Log, order: Order, filter: &Filter, count: u64) -> Vec<Recorded> {
    let partitions = log.partitions(order, filter, count);
    let mut read = Vec::new();
    for slice in 0..partitions.count() {
        let mut events = partitions.events(slice);
        while let Some(event) = events.next() {
            read.push(recorded(&event));
        }
        assert!(events.faults().is_empty(), "{:?}", events.faults());
    }
    read
}

fn recorded(event: &Event<'_, '_>) -> Recorded {
    use eventlog::reader::Value as Read;
    let value = |value| match value {
        Read::P(value) => Value::P(value),
        Read::A(value) => Value::A(value),
        Read::W(value) => Value::W(value),
        Read::U(value) => Value::U(value),
        Read::D(value) => Value::D(value.to_bits()),
        Read::B(value) => Value::B(value),
        Read::S(value) => Value::S(value.to_vec()),
    };
    Recorded {
        stream: event.stream,
        buffer: event.buffer,
        number: event.number,
        ticks: event.ticks,
        registry: event.registry.index,
        kind: event.kind,
        thread: event.thread,
        code: event.code(),
        values: event.params().map(|(_, read)| value(read)).collect(),
    }
}

/// `.time.order`
fn sort(recorded: &mut [Recorded]) {
    recorded.sort_by_key(|event| (event.ticks, event.stream, event.buffer, event.number));
}

fn sort_by_identity(recorded: &mut [Recorded]) {
    recorded.sort_by_key(|event| (event.stream, event.buffer, event.number));
}

fn platforms() -> impl Strategy<Value = Platform> {
    let log2 = prop_oneof![Just(12), Just(13), Just(16)];
    let word_size = prop_oneof![Just(4), Just(8)];
    (any::<bool>(), word_size, log2).prop_map(|(big_endian, word_size, block_size_log2)| Platform {
        big_endian,
        word_size,
        block_size_log2,
    })
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let fields = (any::<u64>(), platforms(), 1u32..6, 0u32..900, any::<bool>(), any::<bool>());
    fields.prop_map(|(seed, platform, buffers, events, with_copies, is_shuffled)| Recipe {
        seed,
        platform,
        buffers,
        events,
        with_copies,
        is_shuffled,
        stream: 0,
    })
}

/// Returns a recipe in little-endian words of 64 bits and blocks of 4 KiB.
fn recipe(seed: u64, with_copies: bool) -> Recipe {
    let (platform, is_shuffled) = (WORDS, false);
    Recipe { seed, platform, buffers: 4, events: 900, with_copies, is_shuffled, stream: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// `.event.order`, `.event.params`, `.event.pad`, `.event.string`, `.event.base`,
    /// `.event.fill`, `.event.identity`, `.event.number`, `.event.monotone`, `.block.base`,
    /// `.block.first`, `.parts.payload`, `.block.last`, `.event.delta`, `.order.header`,
    /// `.part.events`, `.part.registry`, `.registry.index`, `.time.order`, `.parts.fits`,
    /// `.stream.blocks`
    #[test]
    fn the_reader_gives_each_event_once_in_order_of_time(recipe in recipes()) {
        let (writer, mut expected) = naive::write(recipe);
        let log = Log::from_source(writer.bytes()).unwrap();
        prop_assert!(log.faults().is_empty(), "{:?}", log.faults());
        prop_assert!(log.is_closed());
        sort(&mut expected);
        prop_assert_eq!(read(&log, Order::Time, &Filter::default()), expected);
    }

    /// `.stream.first`, `.event.identity`
    #[test]
    fn the_reader_gives_each_event_once_in_order_of_the_file(recipe in recipes()) {
        let (writer, mut expected) = naive::write(recipe);
        let log = Log::from_source(writer.bytes()).unwrap();
        let mut found = read(&log, Order::File, &Filter::default());
        sort_by_identity(&mut found);
        sort_by_identity(&mut expected);
        prop_assert_eq!(found, expected);
    }

    /// `.stream.again`, `.stream.tail`: also after a log that was cut anywhere.
    #[test]
    fn the_reader_reads_concatenated_streams_like_separate_ones(
        first in recipes(), second in recipes(), cut in 0usize..5000,
    ) {
        let (one, mut expected) = naive::write(first);
        let second = Recipe { stream: 1, seed: first.seed ^ 1, ..second };
        let (two, more) = naive::write(second);
        let mut bytes = one.bytes();
        bytes.truncate(bytes.len().saturating_sub(cut).max(512));
        let is_cut = bytes.len() < one.bytes().len();
        bytes.extend_from_slice(&two.bytes());
        let log = Log::from_source(bytes).unwrap();
        prop_assert_eq!(log.streams().len(), 2);
        let mut events = log.events(Order::Time, &Filter::default());
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            found.push(recorded(&event));
        }
        if is_cut {
            found.retain(|event| event.stream == 1);
            expected = more;
        } else {
            expected.extend(more);
        }
        sort(&mut expected);
        prop_assert_eq!(found, expected);
    }
}

/// `.stream.again`, `.header.volume`: a volume has the UUID of the one before.
#[test]
fn volumes_of_one_stream_in_one_file_add_what_is_new() {
    let (writer, expected) = naive::write(recipe(6, false));
    let mut bytes = writer.bytes();
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    let (other, more) = naive::write(recipe(7, false));
    let log = Log::from_source([bytes.clone(), bytes, other.bytes()].concat()).unwrap();
    let (mut found, mut all) =
        (read(&log, Order::File, &Filter::default()), [expected, more].concat());
    // Each seed has a stream of its own.
    found.iter_mut().for_each(|event| event.stream = 0);
    for events in [&mut found, &mut all] {
        events.sort_by_key(|event| (event.buffer, event.number, event.ticks));
    }
    assert_eq!(found, all);
}

const WORDS: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
const POOL: Buffer = Buffer { buffer: 3, registry: 1, kind: 1, thread: 2 };

fn words(n: u64) -> Vec<Value> {
    vec![Value::P(n), Value::A(n + 1), Value::W(n + 2)]
}

/// Returns a stream with the registry of the tests, and nothing else.
fn writer() -> Writer {
    let mut writer = Writer::new(WORDS, [1; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    writer
}

/// `.header.uuid`, `.event.identity`
#[test]
fn a_second_copy_of_a_stream_adds_nothing() {
    let (writer, mut expected) = naive::write(recipe(5, true));
    let twice = [writer.bytes(), writer.bytes()].concat();
    let log = Log::from_source(twice).unwrap();
    assert_eq!(log.streams().len(), 1);
    sort(&mut expected);
    assert_eq!(read(&log, Order::Time, &Filter::default()), expected);
}

/// `.stream.again`, `.directory.files`: also where the header ends with the block before, so that
/// the first part of the copy lies where a block would.
#[test]
fn a_copy_may_follow_a_stream_that_was_cut_at_any_place_of_its_blocks() {
    let (writer, expected) = naive::write(recipe(5, true));
    let whole = writer.bytes();
    let cuts = (4096..whole.len()).step_by(32).filter(|cut| cut % 4096 >= 4096 - 768);
    for cut in cuts {
        let log = Log::from_source([&whole[..cut], &whole[..]].concat()).unwrap();
        assert_eq!(log.streams().len(), 1);
        // What is left of the block that was cut may have other values.
        let count = read(&log, Order::Time, &Filter::default()).len();
        assert_eq!(count, expected.len(), "cut at {cut}");
    }
}

#[test]
fn a_filter_selects_events_by_type() {
    let (writer, mut expected) = naive::write(recipe(11, false));
    let log = Log::from_source(writer.bytes()).unwrap();
    sort(&mut expected);
    let filter = Filter::new().event("words").event(5);
    let all = expected.len();
    expected.retain(|event| event.code == 2 || event.code == 5);
    assert!(!expected.is_empty() && expected.len() < all);
    assert_eq!(read(&log, Order::Time, &filter), expected);
}

#[test]
fn a_filter_selects_events_by_thread_and_time() {
    for seed in 0..20 {
        let (writer, mut expected) = naive::write(recipe(seed, seed % 2 == 0));
        let log = Log::from_source(writer.bytes()).unwrap();
        sort(&mut expected);
        let middle = &expected[expected.len() / 2];
        let (thread, from, to) = (middle.thread, middle.ticks, expected[expected.len() - 3].ticks);
        for labels in [false, true] {
            let threads = vec![(0, thread)];
            let filter = Filter::new().threads(threads).times(from..=to).labels(labels);
            let is_asked =
                |event: &&Recorded| event.thread == thread && (from..=to).contains(&event.ticks);
            let asked: Vec<Recorded> = expected.iter().filter(is_asked).cloned().collect();
            assert!(!asked.is_empty() && asked.len() < expected.len());
            assert_eq!(read(&log, Order::Time, &filter), asked);
            let mut by_file = read(&log, Order::File, &filter);
            sort(&mut by_file);
            assert_eq!(by_file, asked);
        }
    }
}

/// In a sound log the kinds of a block and of its event types agree: here no type has the kind of
/// the first block.
#[test]
fn the_reader_skips_blocks_of_other_kinds() {
    let mut writer = writer();
    for (kind, code) in [(0, 1), (1, 2)] {
        let mut ring = Ring::new(&WORDS, Buffer { buffer: u32::from(kind), kind, ..POOL }, 0);
        let values = if code == 2 { words(1) } else { Vec::new() };
        assert!(ring.record(&WORDS, 1, code, &values) && ring.record(&WORDS, 2, code, &values));
        ring.write(&mut writer, true);
    }
    let mut bytes = writer.bytes();
    let log = Log::from_source(bytes.clone()).unwrap();
    let filter = Filter::new().kinds(["POOL"]);
    let found = read(&log, Order::Time, &filter);
    assert_eq!(found.iter().map(|event| event.code).collect::<Vec<_>>(), [2, 2]);
    // In an open log, the reader does not notice damage in the other block.
    let end = 2 * WORDS.block_size();
    bytes[end - 1] ^= 1;
    let log = Log::from_source(bytes).unwrap();
    assert_eq!(read(&log, Order::Time, &filter), found);
}

/// `.cnv.select`
#[test]
fn the_reader_skips_blocks_of_other_threads_and_times() {
    let mut writer = writer();
    for (buffer, thread, ticks) in [(1, 1, 10), (2, 1, 900), (3, 2, 10)] {
        let mut ring = Ring::new(&WORDS, Buffer { buffer, thread, ..POOL }, ticks);
        assert!(
            ring.record(&WORDS, ticks, 2, &words(1))
                && ring.record(&WORDS, ticks + 1, 2, &words(1))
        );
        ring.write(&mut writer, true);
    }
    let mut bytes = writer.bytes();
    // Damage in the blocks of another time and of another thread.
    for block in [2, 3] {
        bytes[(block + 1) * WORDS.block_size() - 1] ^= 1;
    }
    let log = Log::from_source(bytes).unwrap();
    let filter = Filter::new().threads([(0, 1)]).times(0..=100);
    let found = read(&log, Order::Time, &filter);
    assert_eq!(found.iter().map(|event| event.ticks).collect::<Vec<_>>(), [10, 11]);
}

/// `.read.loss`, `.block.overwritten`, `.block.discarded`
#[test]
fn the_reader_reports_missing_events_without_an_account() {
    for (overwritten, io, lost) in [(0, 0, 20), (15, 0, 5), (15, 5, 0)] {
        let mut writer = writer();
        let mut ring = Ring::new(&WORDS, POOL, 100);
        for block in 0..3 {
            for n in 0..20 {
                assert!(ring.record(&WORDS, 1000 * block + n, 2, &words(n)));
            }
            ring.fields.overwritten = overwritten;
            ring.fields.discarded = [1, 2, 3, io];
            if block != 1 {
                ring.write(&mut writer, true);
            }
            ring.advance(&WORDS, 1000 * (block + 1));
        }
        let log = Log::from_source(writer.bytes()).unwrap();
        let [account] = log.accounts() else { panic!("one buffer") };
        assert_eq!((account.recorded, account.found, account.lost), (60, 40, lost));
        assert_eq!((account.overwritten, account.discarded_io), (overwritten, io));
        assert_eq!((account.discarded_full, account.discarded_nested), (1, 2));
        assert_eq!(log.faults().count(), u64::from(lost > 0));
        assert_eq!(read(&log, Order::Time, &Filter::default()).len(), 40);
    }
}

/// `.part.account`, `.read.loss`, `.volume.loss`: the account of a buffer states its loss, even if
/// the log lacks all of its events.
#[test]
fn an_account_states_the_loss_of_a_buffer_without_events() {
    for (volume, io, lost) in [(0, 0, 60), (0, 45, 15), (0, 60, 0), (1, 45, 0)] {
        let mut writer = writer();
        put(&mut writer.head, 408, &[volume]);
        seal_stream_header(&mut writer.head);
        let discarded = [0, 0, 0, io];
        let account = BlockFields {
            block_type: 1,
            last: 4096,
            top: 4096,
            first: 60,
            discarded,
            ..BlockFields::default()
        };
        writer.part(POOL, account, &[]);
        writer.end();
        let log = Log::from_source(writer.bytes()).unwrap();
        let [account] = log.accounts() else { panic!("one buffer") };
        assert_eq!((account.recorded, account.found, account.lost), (60, 0, lost), "{volume}");
        assert_eq!(log.losses(&Faults::default()).total(), u64::from(io) + lost);
        assert_eq!(log.faults().count(), u64::from(lost > 0));
    }
}

/// `.write.publish`, `.read.open`: *base last* is stored before the base record is published.
#[test]
fn the_reader_ignores_an_unpublished_base() {
    let mut writer = writer();
    let mut ring = Ring::new(&WORDS, POOL, 100);
    for (ticks, n) in [(110, 0), (1 << 40, 1), ((1 << 40) + 7, 2)] {
        assert!(ring.record(&WORDS, ticks, 2, &words(n)));
    }
    ring.fields.base_last = 1 << 50;
    ring.write(&mut writer, false);
    let log = Log::from_source(writer.bytes()).unwrap();
    let found = read(&log, Order::Time, &Filter::default());
    let ticks: Vec<_> = found.iter().map(|event| event.ticks).collect();
    assert_eq!(ticks, [110, 1 << 40, (1 << 40) + 7]);
}

const STORE: &[naive::EventType] = &[
    naive::EventType {
        code: 0xFF01,
        kind: 0,
        name: "Intern",
        params: &[('W', "stringId"), ('S', "string")],
    },
    naive::EventType {
        code: 0xFF02,
        kind: 0,
        name: "Label",
        params: &[('A', "address"), ('W', "stringId")],
    },
];

/// `.store`, `.store.intern`, `.store.label`, `.store.before`: the label at the event's time, in
/// both orders.
#[test]
fn a_label_holds_from_its_time_until_the_next() {
    let mut writer = Writer::new(WORDS, [1; 16], [9; 16]);
    writer.registry(0, &["Store"], STORE, 4000);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    // The store's block comes last in the file.
    let mut ring = Ring::new(&WORDS, POOL, 0);
    for ticks in [5, 15, 25, 35, 45] {
        assert!(ring.record(&WORDS, ticks, 2, &words(77)));
    }
    ring.write(&mut writer, true);
    let buffer = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
    let mut store = Ring::new(&WORDS, buffer, 0);
    for (id, string) in [(1, "one"), (2, "two")] {
        let values = [Value::W(id), Value::S(string.into())];
        assert!(store.record(&WORDS, 1, 0xFF01, &values));
    }
    for (ticks, id) in [(10, 1), (20, 2), (30, 0), (40, 1)] {
        assert!(store.record(&WORDS, ticks, 0xFF02, &[Value::A(77), Value::W(id)]));
    }
    store.write(&mut writer, true);
    let log = Log::from_source(writer.bytes()).unwrap();
    let kinds = vec![Pick::Name("pool".into())];
    let filter = Filter::new().labels(true).kinds(kinds);
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &filter);
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            let label = event.labels.label(77).unwrap_or_default();
            found.push(String::from_utf8_lossy(label).into_owned());
        }
        assert_eq!(found, ["", "one", "two", "", "one"], "{order:?}");
    }
}

/// `.store.intern`: a full table is reported, in both orders.
#[test]
fn the_reader_reports_a_full_table_of_labels_once() {
    let platform = Platform { block_size_log2: 16, ..WORDS };
    let mut writer = Writer::new(platform, [1; 16], [9; 16]);
    writer.registry(0, &["Store"], STORE, 4000);
    let buffer = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
    let mut store = Ring::new(&platform, buffer, 0);
    let count = 1 + eventlog::reader::LABEL_MEMORY_MAX as u64 / 60_000;
    for id in 1..=count {
        let values = [Value::W(id), Value::S(vec![b'x'; 60_000])];
        assert!(store.record(&platform, id, 0xFF01, &values));
        assert!(store.record(&platform, id, 0xFF02, &[Value::A(id), Value::W(id)]));
        store.write(&mut writer, false);
        store.advance(&platform, id);
    }
    let log = Log::from_source(writer.bytes()).unwrap();
    let filter = Filter::new().labels(true);
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &filter);
        let mut last = None;
        while let Some(event) = events.next() {
            if event.code() == 0xFF02 {
                last = Some(event.labels.label(event.ticks).is_some());
            }
        }
        assert_eq!(last, Some(false), "{order:?}");
        let faults: Vec<_> = events.faults().iter().map(|fault| fault.kind.clone()).collect();
        assert_eq!(faults, [eventlog::reader::FaultKind::LabelLimit], "{order:?}");
    }
}

/// 1000 buffers of 64 KiB that take turns exceed the cache.
#[test]
fn the_reader_orders_more_open_blocks_than_its_cache_holds() {
    let platform = Platform { block_size_log2: 16, ..WORDS };
    let mut writer = Writer::new(platform, [1; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    let (buffers, per_buffer) = (1000u64, 20u64);
    let long = Value::S(vec![b'x'; 3000]);
    for buffer in 0..buffers {
        let mut ring = Ring::new(&platform, Buffer { buffer: buffer as u32, ..POOL }, 0);
        for n in 0..per_buffer {
            let values = [Value::U(n as u32), long.clone()];
            let ticks = n * buffers + (buffer * 7) % buffers;
            assert!(ring.record(&platform, ticks, 0x300, &values));
        }
        ring.write(&mut writer, false);
    }
    let log = Log::from_source(writer.bytes()).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut count = 0;
    while let Some(event) = events.next() {
        assert_eq!((event.ticks, event.number), (count, count / buffers));
        let Some(eventlog::reader::Value::S(string)) = event.param("b") else { panic!("a string") };
        assert_eq!(string.len(), 3000);
        count += 1;
    }
    assert_eq!(count, buffers * per_buffer);
}

/// `.header.names`, `.header.clock`, `.header.block-size`, `.registry.version`, `.version.parts`,
/// `.registry.masks`, `.event.params`, `.read.end`
#[test]
fn the_reader_gives_the_header_and_registry_as_written() {
    let log = Log::from_source(writer().bytes()).unwrap();
    let [stream] = log.streams() else { panic!("one stream") };
    assert_eq!((stream.pid, stream.clock_source, stream.block_size), (4711, 3, 4096));
    assert_eq!((&*stream.producer, &*stream.program), ("naive 1", "program"));
    assert!(!log.is_closed() && log.faults().is_empty());
    let [registry] = log.registries() else { panic!("one registry") };
    assert_eq!((&*registry.name, registry.version.to_string()), ("naive", "1.2.3".to_string()));
    assert_eq!((registry.recorded, registry.output), (u64::MAX, 5));
    assert_eq!(registry.kind(1).map(|kind| &*kind.name), Some("Pool"));
    let row = registry.event_type_named("Mixed").unwrap();
    let offsets: Vec<_> = row.params.iter().map(|param| param.offset).collect();
    assert_eq!((offsets, row.size_min), (vec![8, 12, 16, 24, 32], 40));
}

/// `.time.sync`, `.time.interpolate`, `.block.sync`
#[test]
fn wall_time_is_interpolated_between_syncs() {
    let mut writer = writer();
    let mut ring = Ring::new(&WORDS, POOL, 100);
    for (n, (ticks, realtime)) in [(1000, 50_000), (3000, 51_000)].into_iter().enumerate() {
        assert!(ring.record(&WORDS, ticks, 2, &words(n as u64)));
        ring.fields.sync_realtime = realtime;
        ring.write(&mut writer, true);
        ring.advance(&WORDS, ticks);
    }
    let log = Log::from_source(writer.bytes()).unwrap();
    let [stream] = log.streams() else { panic!("one stream") };
    let wall = [1000, 1500, 2000, 3000].map(|ticks| stream.wall_time(ticks).unwrap());
    assert_eq!(wall.map(|wall| wall.realtime), [50_000, 50_250, 50_500, 51_000]);
    assert!(wall[..3].iter().all(|wall| !wall.is_extrapolated));
    assert!(stream.wall_time(3001).unwrap().is_extrapolated);
}
