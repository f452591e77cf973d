//! Tests of saved operations: round trip, damage, size.
//!
//! ```text
//!  operations ─ write ─▶ bytes ─ damage ─▶ Saved ─▶ operations: those before the damage
//! ```
//!
//! Layout: `.rep.file.*` in `design/replay.md`.

use super::renumber::Renumber;
use super::twin::operations;
use super::{Counts, Saved, SavedError, write};
use crate::facts::{Facts, Program};
use crate::operation::Operation;
use proptest::prelude::*;
use std::io::Cursor;

fn saved(operations: &[Operation]) -> (Vec<u8>, Counts) {
    let mut out = Cursor::new(Vec::new());
    let counts = write(operations.iter().copied(), &mut out).unwrap();
    (out.into_inner(), counts)
}

fn read(bytes: &[u8]) -> (Vec<Operation>, Option<String>) {
    let mut saved = Saved::new(bytes).unwrap();
    let operations = saved.by_ref().collect();
    (operations, saved.fault().map(str::to_owned))
}

/// `.rep.file.facts`
#[test]
fn facts_follow_the_operations_and_older_readers_skip_them() {
    let mut facts = Facts::default();
    facts.touched.add(1 << 20, false, 9 << 20, 5);
    facts.touched.add(70_000, true, 1 << 40, 1 << 40);
    facts.take(0, Program { resident_peak: 99 << 30, user_ns: 7, system_ns: 8 });
    let (list, mut out) = (many(), Cursor::new(Vec::new()));
    super::write_with(list.iter().copied(), |_| facts.clone(), &mut out).unwrap();
    let bytes = out.into_inner();
    let mut saved = Saved::new(&bytes[..]).unwrap();
    assert!(saved.by_ref().eq(list.iter().copied()) && saved.fault().is_none());
    assert_eq!(saved.facts(), &facts);
    // Their section states no operations: readers before minor version 2 skip it.
    let (without, _) = self::saved(&list);
    let added = &bytes[without.len()..];
    assert_eq!(added[4..8], [0; 4]);
}

/// Returns operations as they are written: renumbered.
fn renumbered(numbers: &[(u8, u32, u8)]) -> Vec<Operation> {
    let mut renumber = Renumber::default();
    operations(numbers, 5).into_iter().map(|operation| renumber.apply(operation)).collect()
}

fn many() -> Vec<Operation> {
    let number = |n: u32| (n as u8, n.wrapping_mul(2_654_435_769) >> 3, (n / 7) as u8);
    renumbered(&(0..60_000).map(number).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn saved_operations_are_read_back(
        numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..600),
    ) {
        // `.rep.file.header`, `.rep.file.section`, `.rep.file.operation`
        let list = renumbered(&numbers);
        let (bytes, counts) = saved(&list);
        prop_assert_eq!(Saved::new(&*bytes).unwrap().counts(), counts);
        prop_assert_eq!(counts.operations, list.len() as u64);
        prop_assert_eq!(read(&bytes), (list, None));
    }

    #[test]
    fn a_damaged_file_is_read_up_to_the_damage_and_its_loss_counted(
        place in 64..1_000_000usize,
        bit in 0..8u8,
        is_cut: bool,
    ) {
        // `.rep.file.damage`
        let list = many();
        let (mut bytes, _) = saved(&list);
        let place = 64 + (place - 64) % (bytes.len() - 64);
        if is_cut { bytes.truncate(place) } else { bytes[place] ^= 1u8 << bit }
        let (found, fault) = read(&bytes);
        prop_assert_eq!(&found[..], &list[..found.len()]);
        prop_assert!(found.len() < list.len());
        let lost = list.len() - found.len();
        let lost = format!("the last {lost} of {} operations are lost", list.len());
        let fault = fault.unwrap();
        prop_assert!(fault.starts_with("offset 0x") && fault.contains(&lost), "{}", fault);
    }

    #[test]
    fn no_bytes_make_the_reader_panic_or_invent_operations(
        bytes in prop::collection::vec(any::<u8>(), 1..400),
    ) {
        // A section of any bytes, with the right checksum.
        let (mut file, _) = saved(&[]);
        let mut header = Vec::new();
        header.extend((bytes.len() as u32).to_le_bytes());
        header.extend(u32::MAX.to_le_bytes());
        header.extend(0u32.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&header), &bytes);
        header.extend(checksum.to_le_bytes());
        file.extend(header);
        file.extend(&bytes);
        let (found, fault) = read(&file);
        prop_assert!(found.len() <= bytes.len());
        prop_assert!(fault.is_some(), "it has fewer operations than it states");
        super::compile(found, super::Mode::default());
    }
}

#[test]
fn other_files_differ_from_damaged_or_newer_ones() {
    let (bytes, _) = saved(&many());
    assert!(matches!(Saved::new(&b"LOG"[..]), Err(SavedError::Other)));
    assert!(matches!(Saved::new(&bytes[..40]), Err(SavedError::Header)));
    let mut damaged = bytes.clone();
    damaged[17] ^= 1;
    let message = Saved::new(&*damaged).unwrap_err().to_string();
    assert!(message.contains("header of the saved operations is damaged"), "{message}");
    let mut newer = bytes.clone();
    newer[8] = 2;
    let checksum = crc32c::crc32c(&newer[..60]).to_le_bytes();
    newer[60..64].copy_from_slice(&checksum);
    let message = Saved::new(&*newer).unwrap_err().to_string();
    assert!(message.contains("version 2") && message.contains("knows 1"), "{message}");
}
