//! Damage within a block that its checksum does not show: the block is forged or open.
//!
//! ```text
//!  │ header │ gap │ event │ ??? │ event │ ── Log ──▶ the events newer than the damage
//! ```

use super::*;

/// Returns a sealed block with this payload, whose header states `count` events.
fn sealed(payload: &[u8], count: u32, first: u64) -> Writer {
    let mut writer = writer();
    let (last, top) = ((B - payload.len()) as u32, B as u32);
    let fields = BlockFields { block_type: 1, last, top, count, first, ..BlockFields::default() };
    writer.event_block(buffer(0), fields, payload, true);
    writer
}

/// `.read.chain`, `.event.size`: the reader counts numbers down from the newest event.
#[test]
fn an_event_of_a_wrong_size_costs_the_older_events() {
    for size in [0u16, 4, 7, 9, 65535, 65528, 4096] {
        let mut payload = WORDS.event(2, &words(1));
        payload.extend(WORDS.event(2, &words(2)));
        let mut broken = WORDS.event(2, &words(3));
        naive::put(&mut broken, 2, &size.to_le_bytes());
        payload.extend(broken);
        payload.extend(WORDS.event(2, &words(4)));
        let (found, faults) = read(sealed(&payload, 4, 0).bytes()).unwrap();
        let numbers: Vec<_> = found.iter().map(|event| event.1).collect();
        assert_eq!(numbers, [2, 3], "size {size}");
        assert_eq!(kinds(&faults), [&FaultKind::EventChain { size, lost: 2 }]);
        assert_eq!(faults[0].offset, (2 * B - 64) as u64);
    }
}

/// `.block.count`
#[test]
fn the_reader_reports_a_wrong_count_and_gives_the_events() {
    let payload = [WORDS.event(2, &words(1)), WORDS.event(2, &words(2))].concat();
    let (found, faults) = read(sealed(&payload, 5, 0).bytes()).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(kinds(&faults), [&FaultKind::EventCount { stated: 5, found: 2 }]);
}

/// `.block.count`: an event that stands in two blocks at one time is given by both.
#[test]
fn the_reader_gives_both_events_of_one_number_and_time() {
    let payload = [1, 2, 3].map(|number| WORDS.event(2, &words(number))).concat();
    let mut writer = sealed(&payload, 2, 0);
    writer.blocks.extend(sealed(&payload, 3, 2).blocks);
    let log = Log::from_source(writer.bytes()).unwrap();
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &Filter::default());
        let mut numbers = Vec::new();
        while let Some(event) = events.next() {
            numbers.push(event.number);
        }
        assert_eq!(numbers, [0, 1, 2, 2, 3, 4], "{order:?}");
    }
}

/// `.event.short`, `.event.unknown`, `.event.code`
#[test]
fn the_reader_gives_what_short_and_unknown_events_have() {
    let mut short = WORDS.event(2, &words(7));
    short.truncate(24);
    naive::put(&mut short, 2, &24u16.to_le_bytes());
    let unknown = WORDS.event(99, &words(1));
    let longer = WORDS.event(2, &[words(8), words(9)].concat());
    let payload = [short, unknown.clone(), unknown, longer].concat();
    let log = Log::from_source(sealed(&payload, 4, 0).bytes()).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        let values: Vec<_> = event.params().map(|(_, value)| value).collect();
        let all: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
        found.push((event.code(), event.name().to_string(), all.join(" ")));
    }
    let row = |code, name: &str, values: &str| (code, name.to_string(), values.to_string());
    let expected = [
        row(2, "Words", "P(8) A(8) W(8)"),
        row(99, "?", ""),
        row(99, "?", ""),
        row(2, "Words", "P(7) A(7)"),
    ];
    assert_eq!(found, expected);
    let faults: Vec<_> = events.faults().iter().cloned().collect();
    let short = FaultKind::EventShort { code: 2, size: 24 };
    let unknown = FaultKind::EventUnknown { registry: 1, code: 99 };
    assert_eq!(kinds(&faults), [&short, &unknown], "the unknown code is reported once");
    assert!(!faults[0].is_warning() && faults[1].is_warning());
}

/// `.event.string`
#[test]
fn a_string_with_wrong_padding_ends_at_a_nul_or_the_end() {
    for (tail, expected) in [
        (*b"ab\0c\0\0\0\x03", b"ab\0c".as_slice()),
        (*b"ab\0c\0\0\0\x09", b"ab"),
        (*b"abcdefg\x00", b"abcdefg"),
        (*b"abcdefgh", b"abcdefgh"),
    ] {
        let mut event = WORDS.event(0x300, &[Value::U(1), Value::S(b"xxx".to_vec())]);
        event.truncate(12);
        event.extend_from_slice(&[b'x'; 4]);
        event.extend_from_slice(&tail);
        naive::put(&mut event, 2, &24u16.to_le_bytes());
        let log = Log::from_source(sealed(&event, 1, 0).bytes()).unwrap();
        let mut events = log.events(Order::Time, &Filter::default());
        let event = events.next().unwrap();
        let expected = [b"xxxx", expected].concat();
        assert_eq!(event.param("b"), Some(Read::S(&expected)));
    }
}

/// `.read.open`: open blocks have the byte order and word size of a sound stream header.
#[test]
fn the_reader_skips_an_open_block_of_another_platform() {
    let mut writer = writer();
    ring(0, 0, 0..5).write(&mut writer, false);
    writer.blocks[0][5] ^= 2;
    ring(1, 0, 0..5).write(&mut writer, true);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!(found.len(), 5);
    let field = FaultKind::BlockField { field: "flags", found: 6 };
    assert_eq!(kinds(&faults), [&field]);
}

/// `.read.chain`: the nearest base record, which has both bases, gives the ticks.
#[test]
fn a_broken_chain_has_the_ticks_of_its_base_records() {
    let mut writer = writer();
    let mut ring = ring(0, 100, 100..102);
    for ticks in [1 << 40, (1 << 40) + 3, 1 << 50] {
        assert!(ring.record(&WORDS, ticks, 2, &words(1)));
    }
    // The oldest event has a wrong size, and *base last* is ahead of the chain.
    let oldest = ring.payload.len() - 32;
    naive::put(&mut ring.payload, oldest + 2, &7u16.to_le_bytes());
    ring.fields.base_last = 1 << 60;
    ring.write(&mut writer, false);
    let (found, faults) = read(writer.bytes()).unwrap();
    let ticks: Vec<_> = found.iter().map(|event| (event.1, event.2)).collect();
    assert_eq!(ticks, [(1, 101), (2, 1 << 40), (3, (1 << 40) + 3), (4, 1 << 50)]);
    let lost = FaultKind::Lost { buffer: 0, count: 1 };
    assert_eq!(kinds(&faults), [&lost, &FaultKind::EventChain { size: 7, lost: 1 }]);
}

/// `.read.sealed`: registry, kind and thread are those of the buffer: a filter cannot silently skip
/// a block with a damaged header.
#[test]
fn a_damaged_header_does_not_hide_events_from_a_filter() {
    for (offset, mask) in [(12, 1), (12, 0xFF), (13, 1), (14, 1), (14, 3), (5, 2), (5, 4), (72, 1)]
    {
        for hit in 0..3 {
            let mut writer = writer();
            let mut events = ring(0, 0, 0..5);
            for block in 1..4 {
                events.write(&mut writer, true);
                events.advance(&WORDS, 100 * block);
                for n in 0..5 {
                    assert!(events.record(&WORDS, 100 * block + n, 2, &words(n)));
                }
            }
            writer.blocks[hit][offset] ^= mask;
            let log = Log::from_source(writer.bytes()).unwrap();
            let pool = vec![eventlog::reader::Pick::Number(1)];
            let mut events = log.events(Order::Time, &Filter::new().kinds(pool));
            let mut found = 0;
            while events.next().is_some() {
                found += 1;
            }
            assert_eq!(found, 10);
            let faults = log.faults().loss_count() + events.faults().loss_count();
            assert!(faults > 0, "byte {offset} of block {hit} ^ {mask}: unreported loss");
        }
    }
}

/// `.parts.header`, `.block.header-size`, `.block.crc`
#[test]
fn a_parts_block_of_a_later_version_has_a_longer_header() {
    let mut writer = writer();
    let size = B as u32;
    let fields = BlockFields { block_type: 2, last: size, top: size, ..BlockFields::default() };
    let mut block = writer.header(NOBODY, fields, Some(&[]));
    block[7] = 17;
    let added = [0xAB; 8];
    naive::seal_block(&mut block, &added);
    block.extend_from_slice(&added);
    let events = ring(0, 0, 0..5);
    block.extend(writer.header(buffer(0), events.rest, Some(&events.payload)));
    block.extend_from_slice(&events.payload);
    writer.blocks.push(block);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!((found.len(), faults.len()), (5, 0), "{faults:?}");
    // The checksum covers the added bytes too.
    writer.blocks[0][130] ^= 1;
    let (_, faults) = read(writer.bytes()).unwrap();
    assert_eq!(kinds(&faults)[0], &FaultKind::BlockChecksum { count: 0 });
}

/// `.read.sealed`, `.parts.payload`: only in blocks *last* is at least 128. The payload of a part
/// follows its header, whatever *last* states.
#[test]
fn the_reader_accepts_any_last_of_a_part() {
    let mut writer = writer();
    let mut events = ring(0, 0, 0..3);
    events.rest.last = 0;
    events.rest.top = 96;
    writer.part(buffer(0), events.rest, &events.payload);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!((found.len(), faults.len()), (3, 0), "{faults:?}");
}
