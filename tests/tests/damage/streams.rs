//! Streams behind holes, and behind fragments of other streams.
//!
//! ```text
//!  │ stream │ 0 0 0 │ stream │     │ 80 bytes of a header │ stream │ ── Log ──▶ every stream
//! ```

use super::*;

/// Returns a stream with three events in parts: it is shorter than a block.
fn short(uuid: u8) -> Vec<u8> {
    let mut writer = Writer::new(WORDS, [uuid; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    ring(7, 70_000, 70_000..70_003).flush(&mut writer);
    writer.bytes()
}

/// `.stream.again`, `.stream.hole`: a stream may begin anywhere in a hole of any size.
#[test]
fn the_reader_finds_a_stream_behind_a_hole_of_any_size() {
    let small = small();
    let mut whole = small.bytes.clone();
    whole.resize(whole.len().next_multiple_of(B), 0);
    for size in [0, 1000, B, B + 1000, 2 * B, 5 * B + 8, 5 * B + 4093] {
        for more in [0, 3 * B] {
            let mut bytes = [whole.clone(), vec![0; size], short(4)].concat();
            bytes.resize(bytes.len() + more, 0);
            let (found, _) = read(bytes).unwrap();
            assert_eq!(found.len(), small.events.len() + 3, "{size} zeros before, {more} after");
        }
    }
}

/// `.stream.again`, `.read.header-damage`: parts belong to the sound header before them.
#[test]
fn half_a_header_does_not_take_the_parts_of_the_next_stream() {
    let small = small();
    for size in [16, 24, 80, 128, 504] {
        let bytes = [&small.bytes[..size], &small.bytes].concat();
        let (found, faults) = read(bytes.clone()).unwrap();
        assert_eq!(found.len(), small.events.len(), "{size} bytes of a header before");
        assert_eq!(kinds(&faults), [&FaultKind::HeaderChecksum]);
        let log = Log::from_source(bytes).unwrap();
        let [stream] = log.streams() else { panic!("one stream") };
        assert_eq!((stream.offset, &*stream.program), (size as u64, "program"));
    }
}

/// `.read.cut`, `.part.end`: the numbers of a buffer do not show that its last blocks are missing.
#[test]
fn the_reader_reports_missing_blocks_of_a_closed_stream() {
    let mut writer = writer();
    for index in 0..3 {
        ring(index, 0, 0..5).write(&mut writer, true);
    }
    writer.end();
    let whole = writer.bytes();
    assert_eq!(whole.len(), 4 * B);
    let (found, faults) = read(whole.clone()).unwrap();
    assert_eq!((found.len(), faults.len()), (15, 0));
    for missing in 1..=3 {
        let end = (4 - missing) * B;
        let (found, faults) = read(whole[..end].to_vec()).unwrap();
        assert_eq!(found.len(), 15 - 5 * missing);
        let kind = FaultKind::StreamCut { missing: missing as u64, stated: 4 };
        assert_eq!(faults, [Fault { offset: end as u64, kind }]);
    }
}
