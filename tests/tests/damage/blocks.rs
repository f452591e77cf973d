//! Damage within a block that its checksum does not show: forged, or open.
//!
//! ```text
//!  │ header │ gap │ event │ ??? │ event │ ── Log ──▶ what is newer than the damage
//! ```

use super::*;

/// A sealed block with this payload, whose events are said to be so many.
fn sealed(payload: &[u8], count: u32, first: u64) -> Writer {
    let mut writer = writer();
    let (last, top) = ((B - payload.len()) as u32, B as u32);
    let fields = BlockFields { block_type: 1, last, top, count, first, ..BlockFields::default() };
    writer.event_block(buffer(0), fields, payload, true);
    writer
}

/// `.read.chain`, `.event.size`: numbers are counted down from the newest.
#[test]
fn an_event_of_a_wrong_size_ends_the_chain_and_what_is_newer_stands() {
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
fn a_wrong_count_is_reported_and_the_events_are_given() {
    let payload = [WORDS.event(2, &words(1)), WORDS.event(2, &words(2))].concat();
    let (found, faults) = read(sealed(&payload, 5, 0).bytes()).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(kinds(&faults), [&FaultKind::EventCount { stated: 5, found: 2 }]);
}

/// `.event.short`, `.event.unknown`, `.event.code`
#[test]
fn short_and_unknown_events_are_given_as_far_as_they_go() {
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
fn a_string_with_wrong_padding_ends_at_the_first_nul_or_the_end_of_the_event() {
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

/// `.read.open`: the order and word size of a sound stream header are those of its open blocks.
#[test]
fn an_open_block_of_another_platform_is_damaged() {
    let mut writer = writer();
    ring(0, 0, 0..5).write(&mut writer, false);
    writer.blocks[0][5] ^= 2;
    ring(1, 0, 0..5).write(&mut writer, true);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!(found.len(), 5);
    let field = FaultKind::BlockField { field: "flags", found: 6 };
    assert_eq!(kinds(&faults), [&field]);
}

/// `.read.chain`: ticks come from the nearest base record, which says both bases.
#[test]
fn a_broken_chain_has_the_ticks_of_its_base_records() {
    let mut writer = writer();
    let mut ring = ring(0, 100, 100..102);
    for ticks in [1 << 40, (1 << 40) + 3, 1 << 50] {
        assert!(ring.record(&WORDS, ticks, 2, &words(1)));
    }
    // The oldest event says a wrong size, and *base last* is ahead of the chain.
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
