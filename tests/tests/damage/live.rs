//! Damage to a stream on its way: it costs the block or part, and no other.
//!
//! ```text
//!  a small log ── cut │ flip │ forge ──▶ Live ──▶ events, faults; never a panic
//! ```

use super::*;
use eventlog::reader::{Event, Live};

/// Returns events and faults of a stream in pieces of this size; `None` if it is refused.
fn arrived(bytes: &[u8], size: usize) -> Option<(Vec<Identity>, Vec<Fault>)> {
    let (mut live, mut found) = (Live::new(), Vec::new());
    let note = &mut |event: &Event<'_, '_>| {
        assert!(event.bytes.len() >= 8 && event.params().count() <= 5);
        found.push((event.buffer, event.number, event.ticks, event.code()));
    };
    for piece in bytes.chunks(size) {
        live.feed(piece, note).ok()?;
    }
    live.finish(note);
    found.sort();
    Some((found, live.faults().iter().cloned().collect()))
}

/// `.stream.tail`, `.read.chain`: the result equals that of a log which was cut there.
#[test]
fn a_stream_that_ends_anywhere_reads_like_a_cut_log() {
    let small = small();
    for cut in (512..small.bytes.len()).step_by(5) {
        let (found, _) = arrived(&small.bytes[..cut], 4000).expect("a stream");
        let (expected, _) = read(small.bytes[..cut].to_vec()).unwrap();
        assert_eq!(found, expected, "cut at {cut}");
    }
    assert!((8..512).all(|cut| arrived(&small.bytes[..cut], 7).is_some_and(|it| it.0.is_empty())));
}

/// `.read.sealed`, `.parts.sealed`, `.block.crc`
#[test]
fn a_byte_changed_on_the_way_costs_one_block_or_part() {
    let small = small();
    for at in (512..small.bytes.len()).step_by(3) {
        let mut bytes = small.bytes.clone();
        bytes[at] ^= 0x55;
        let (found, faults) = arrived(&bytes, B).expect("a stream");
        let all: Vec<Identity> = small.events.iter().map(|(_, event)| *event).collect();
        let is_whole = |(place, event): &&(std::ops::Range<usize>, Identity)| {
            // Parts need only the magic and the type of their parts block's header.
            let is_of_parts = place.start >= small.parts;
            let is_hit = is_of_parts && (small.parts..small.parts + 5).contains(&at);
            !(place.contains(&at) || is_hit) || found.contains(event)
        };
        // A change of the registry changes the facts about events, not the events.
        let whole = small.events.iter().filter(is_whole).count();
        assert_eq!(found.len(), whole, "at {at}: {faults:?}");
        assert!(found.iter().all(|event| all.contains(event)), "at {at}: {found:?}");
        let is_missing = whole < all.len();
        assert!(!is_missing || !faults.is_empty(), "at {at}: an unreported loss");
    }
}

/// `.read.resync`, `.stream.hole`, `.block.stream`, `.block.unknown`
#[test]
fn the_live_reader_skips_and_reports_foreign_blocks() {
    let small = small();
    let with = |at: usize, block: &[u8]| {
        let mut bytes = small.bytes.clone();
        bytes[at..at + block.len()].copy_from_slice(block);
        let (found, faults) = arrived(&bytes, 5000).expect("a stream");
        assert_eq!(found.len(), small.events.len() - 5);
        faults
    };
    let garbage = with(B, &[0xAA; B]);
    assert_eq!(kinds(&garbage), [&FaultKind::BlockMagic { size: B as u64 }]);
    let hole = with(B, &[0; B]);
    assert_eq!(kinds(&hole), [&FaultKind::BlockHole { size: B as u64 }]);
    let mut foreign = small.bytes[B..2 * B].to_vec();
    foreign[16] ^= 1;
    naive::seal_block(&mut foreign[..128], &[]);
    assert_eq!(kinds(&with(B, &foreign)), [&FaultKind::BlockForeign]);
    let mut strange = small.bytes[B..2 * B].to_vec();
    strange[4] = 77;
    assert_eq!(kinds(&with(B, &strange)), [&FaultKind::BlockType { found: 77 }]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_live_reader_survives_any_bytes(
        changes in prop::collection::vec((512usize..16000, any::<u8>()), 0..40),
        size in 1usize..9000,
    ) {
        let mut bytes = small().bytes;
        let count = bytes.len();
        changes.iter().for_each(|(at, byte)| bytes[at % (count - 512) + 512] = *byte);
        prop_assert!(arrived(&bytes, size).is_some());
    }
}
