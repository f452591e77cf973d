//! Damage in the stream header, versions, and files that are not logs.
//!
//! ```text
//!  │ magic │ version │ sizes │ … │ ── Log ──▶ read nevertheless, or refused with a reason
//! ```

use super::*;

/// `.read.header-damage`, `.header.block-size`
#[test]
fn the_reader_takes_a_wrong_block_size_from_the_blocks() {
    let small = small();
    for size in [0u32, 1, 512, 4095, 4097, 8192, 65536, 1 << 20, 1 << 21, 1 << 31, u32::MAX] {
        let mut bytes = small.bytes.clone();
        naive::put(&mut bytes, 24, &size.to_le_bytes());
        let (found, faults) = read(bytes.clone()).unwrap();
        assert_eq!(found.len(), small.events.len(), "{size}");
        let field =
            FaultKind::HeaderField { field: "block size", found: u64::from(size), used: 4096 };
        assert_eq!(kinds(&faults), [&FaultKind::HeaderChecksum, &field]);
        // A sealed lie: if the size is impossible, the parts give the block size.
        naive::seal_stream_header(&mut bytes);
        let (found, faults) = read(bytes).unwrap();
        if !(size.is_power_of_two() && (1 << 12..=1 << 20).contains(&size)) {
            assert_eq!(found.len(), small.events.len(), "{size}, sealed");
            assert_eq!(kinds(&faults), [&field]);
        }
    }
}

/// `.read.header-damage`: the other fields of a sealed header are valid.
#[test]
fn an_impossible_block_size_leaves_the_other_fields_valid() {
    let platform = Platform { block_size_log2: 16, ..WORDS };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    let mut events = Ring::new(&platform, buffer(0), 0);
    assert!(events.record(&platform, 1, 2, &words(1)));
    events.write(&mut writer, true);
    let mut bytes = writer.bytes();
    naive::put(&mut bytes, 24, &0u32.to_le_bytes());
    naive::seal_stream_header(&mut bytes);
    let log = Log::from_source(bytes.clone()).unwrap();
    let [stream] = log.streams() else { panic!("one stream") };
    assert_eq!((stream.block_size, stream.uuid), (1 << 16, [3; 16]));
    assert_eq!(read(bytes).unwrap().0.len(), 1);
}

/// `.header.version`, `.read.major`, `.read.minor`
#[test]
fn the_reader_refuses_only_a_higher_major_version() {
    let small = small();
    for (at, is_read) in [(8, false), (10, true), (12, true)] {
        let mut bytes = small.bytes.clone();
        bytes[at] = 7;
        naive::seal_stream_header(&mut bytes);
        match read(bytes) {
            Ok((found, faults)) => {
                assert!(is_read);
                assert_eq!(found.len(), small.events.len());
                assert!(matches!(kinds(&faults)[..], [FaultKind::HeaderVersion { .. }]));
                assert!(faults[0].is_warning());
                let said = faults[0].to_string();
                assert!(said.contains("1.0.5") && said.contains('7'), "{said}");
            }
            Err(error) => {
                assert!(!is_read);
                assert!(matches!(error, OpenError::Major { .. }));
                let said = error.to_string();
                assert!(said.contains("7.0.0") && said.contains("1.0.5"), "{said}");
            }
        }
    }
    // Behind another log the reader skips the stream.
    let mut second = small.bytes.clone();
    second[8] = 2;
    naive::seal_stream_header(&mut second);
    let (found, faults) = read([small.bytes.clone(), second].concat()).unwrap();
    assert_eq!(found.len(), small.events.len());
    assert!(matches!(kinds(&faults)[..], [FaultKind::HeaderMajor { .. }]));
}

#[test]
fn the_reader_refuses_other_files() {
    let png = [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, b'I', b'H', b'D', b'R'];
    assert!(matches!(read(Vec::new()), Err(OpenError::Empty)));
    assert!(matches!(read(png.to_vec()), Err(OpenError::NotALog)));
    assert!(matches!(read(b"Dear Sir or Madam,\n".repeat(300)), Err(OpenError::NotALog)));
    assert!(matches!(Log::open(std::env::temp_dir()), Err(OpenError::Directory)));
    assert!(matches!(Log::open("/nonexistent/no.log"), Err(OpenError::Io(_))));
}

/// `.read.beginning`: another program emptied the log while one wrote it, or the log is the end of
/// a longer one.
#[test]
fn a_log_without_its_beginning_gives_the_blocks_behind() {
    let small = small();
    let near = (1..small.bytes.len() / B).flat_map(|block| block * B - 4..block * B + 4);
    for cut in (513..small.bytes.len()).step_by(31).chain(near) {
        let mut emptied = small.bytes.clone();
        emptied[..cut].fill(0);
        // The parts that are left of a block without its header cannot be told from a hole.
        let first = cut.next_multiple_of(B);
        if first >= small.bytes.len() {
            assert!(matches!(read(emptied), Err(OpenError::NotALog)), "cut at {cut}");
            continue;
        }
        let behind = small.events.iter().filter(|(place, _)| place.start >= first);
        let mut expected: Vec<_> = behind.map(|(_, event)| *event).collect();
        expected.sort();
        for (bytes, size) in [(emptied, first), (small.bytes[cut..].to_vec(), first - cut)] {
            let (found, faults) = read(bytes.clone()).unwrap();
            assert_eq!(found, expected, "cut at {cut}");
            let is_told = |fault: &Fault| fault.kind == FaultKind::Beginning { size: size as u64 };
            assert!(faults.iter().any(is_told), "cut at {cut}: {faults:?}");
            assert_slices_give_the_same(&bytes);
        }
    }
    // A whole log behind a hole is read as it is.
    let (found, faults) = read([vec![0; 3 * B + 17], small.bytes.clone()].concat()).unwrap();
    assert_eq!(found.len(), small.events.len());
    assert_eq!(kinds(&faults), [&FaultKind::HeaderMissing]);
}

/// `.reserved`, `.header.parts`: a later version may use these bytes, and lengthen the header.
#[test]
fn the_reader_skips_reserved_bytes_and_added_header_bytes() {
    let small = small();
    let mut bytes = small.bytes.clone();
    bytes[148..152].fill(0xA5);
    bytes[408..512].fill(0xA5);
    // The header grows by 128 bytes, which replace zeros at the end of the block.
    bytes.copy_within(512..B - 128, 640);
    bytes[512..640].fill(0xF7);
    naive::put(&mut bytes, 14, &640u16.to_le_bytes());
    naive::seal_stream_header(&mut bytes);
    let (header, payload) = bytes[B..2 * B].split_at_mut(128);
    header[15] = 0xA5;
    naive::seal_block(header, &payload[payload.len() - 160..]);
    let (found, faults) = read(bytes).unwrap();
    assert_eq!((found.len(), faults.len()), (small.events.len(), 0), "{faults:?}");
}

/// `.time.order`: ticks of different boots do not compare: the reader gives one stream after the
/// other.
#[test]
fn the_reader_does_not_mix_streams_of_different_boots() {
    let stream = |uuid: u8, boot: u8| {
        let mut writer = Writer::new(WORDS, [uuid; 16], [boot; 16]);
        writer.registry(1, naive::KINDS, naive::TYPES, 4000);
        ring(0, 0, 0..3).write(&mut writer, true);
        writer.bytes()
    };
    for (boot, expected) in [(1, [0, 0, 1, 1, 2, 2]), (2, [0, 1, 2, 0, 1, 2])] {
        let log = Log::from_source([stream(1, 1), stream(2, boot)].concat()).unwrap();
        let mut events = log.events(Order::Time, &Filter::default());
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            found.push(event.ticks);
        }
        assert_eq!(found, expected);
    }
}

/// Returns a stream with events at these times, three a block. A tick takes `step` ns, and the
/// ticks begin at `start`. `sync` sets the clock sync of a block by its last time.
fn timed(
    [uuid, boot]: [u8; 2],
    (start, step): (u64, u64),
    times: &[u64],
    sync: impl Fn(&mut naive::BlockFields, u64),
) -> Vec<u8> {
    let mut writer = Writer::new(WORDS, [uuid; 16], [boot; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    for (sequence, times) in times.chunks(3).enumerate() {
        let ticks = |time: &u64| start + time / step;
        let mut ring = ring(0, ticks(&times[0]), 0..0);
        ring.fields.sequence = sequence as u64;
        ring.fields.first = 3 * sequence as u64;
        for time in times {
            assert!(ring.record(&WORDS, ticks(time), 2, &words(*time)));
        }
        sync(&mut ring.fields, times[times.len() - 1]);
        ring.write(&mut writer, true);
    }
    writer.bytes()
}

/// `.time.align`: clocks of different rates and beginnings, on hosts that agree on the time of day.
#[test]
fn the_time_of_day_orders_streams_of_different_boots() {
    // Ticks of 1 ns from 0, and of 8 ns from 5000: the events of both hosts alternate.
    let host = |uuid: u8, start: u64, step: u64, times: &[u64]| {
        let sync = |fields: &mut naive::BlockFields, last| fields.sync_realtime = 1_000_000 + last;
        timed([uuid, uuid], (start, step), times, sync)
    };
    let one = [0, 80, 160, 400, 880, 888, 1600, 1680];
    let other = [8, 96, 152, 640, 896, 1200, 1608, 2400];
    let mut expected = [one, other].concat();
    expected.sort();
    let bytes = [host(1, 0, 1, &one), host(2, 5000, 8, &other)].concat();
    let log = Log::from_source(bytes).unwrap();
    assert!(log.is_aligned() && !log.is_comparable(0, 1));
    let read = |mut events: eventlog::reader::Events<'_>| {
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            found.push(event.param_at(2).and_then(|word| word.as_u64()).unwrap());
        }
        found
    };
    assert_eq!(read(log.events(Order::Time, &Filter::default())), expected);
    let partitions = log.partitions(Order::Time, &Filter::default(), 1);
    let sliced: Vec<u64> =
        (0..partitions.count()).flat_map(|n| read(partitions.events(n))).collect();
    assert_eq!(sliced, expected);
}

/// `.time.align`: two clocks of one boot, while the time of day is set back by more than an hour.
#[test]
fn setting_the_clock_does_not_reorder_streams_of_one_boot() {
    const HOUR: u64 = 3_600_000_000_000;
    let stream = |uuid: u8, start: u64, step: u64, times: &[u64]| {
        let mut bytes = timed([uuid, 9], (start, step), times, |fields, last| {
            fields.sync_monotonic = 1_000 + last;
            fields.sync_realtime = if last < 500 { 3 * HOUR } else { HOUR } + last;
        });
        bytes[104] = uuid; // `.header.clock`
        naive::seal_stream_header(&mut bytes);
        bytes
    };
    let one = [0, 80, 160, 400, 880, 888, 1600, 1680];
    let other = [8, 96, 152, 640, 896, 1200, 1608, 2400];
    let mut expected = [one, other].concat();
    expected.sort();
    for host in [None, Some(3)] {
        // A stream of another boot, an hour later.
        let third = host.map(|uuid| {
            let mut writer = Writer::new(WORDS, [uuid; 16], [uuid; 16]);
            writer.registry(1, naive::KINDS, naive::TYPES, 4000);
            for sequence in 0..2 {
                let mut ring = ring(0, 100 + 100 * sequence, 0..0);
                (ring.fields.sequence, ring.fields.first) = (sequence, sequence);
                assert!(ring.record(&WORDS, 100 + 100 * sequence, 2, &words(5000 + sequence)));
                ring.fields.sync_realtime = 2 * HOUR + 100 * sequence;
                ring.write(&mut writer, true);
            }
            writer.bytes()
        });
        let is_with_third = third.is_some();
        let all = [stream(1, 0, 1, &one), stream(2, 5000, 8, &other), third.unwrap_or_default()];
        let log = Log::from_source(all.concat()).unwrap();
        assert!(log.is_aligned() && !log.is_comparable(0, 1));
        let mut events = log.events(Order::Time, &Filter::default());
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            found.push(event.param_at(2).and_then(|word| word.as_u64()).unwrap());
        }
        let third: &[u64] = if is_with_third { &[5000, 5001] } else { &[] };
        assert_eq!(found, [&expected, third].concat());
    }
}
