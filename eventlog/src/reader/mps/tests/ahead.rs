//! Compares workers with one walk from the beginning to the end.
//!
//! ```text
//!  one worker ──▶ Index ─┐
//!  three ───────▶ Index ─┴─ the same, whatever the log
//! ```

use super::encode::Arg::{N, S};
use super::encode::{Row, encode_as, encoded, init};
use super::{Host, PLATFORMS, log, random, starts};
use crate::reader::index::segment::Segment;
use crate::reader::index::{Index, Options};
use crate::reader::model::registry::{Platform, Registry};
use crate::reader::mps::ahead::{Division, Work};
use crate::reader::mps::increments::Increments;
use crate::reader::mps::index::{CELL_SIZE, index_divided};
use crate::reader::mps::plain::Plain;
use crate::reader::mps::platform::Shapes;
use crate::reader::source::bytes::Source;
use eventdef::Sort;
use eventdef::mps::REGISTRY;

fn is_same(one: &Index, other: &Index) -> bool {
    one.segments == other.segments
        && one.registries == other.registries
        && format!("{:?}", one.streams) == format!("{:?}", other.streams)
        && one.faults.count() == other.faults.count()
        && one.faults.iter().eq(other.faults.iter())
}

/// The index of a log, which must not depend on the number of workers.
fn checked(bytes: &[u8], bad: &[u64], what: &str) -> Option<Index> {
    let divided = |worker_count| {
        let division = Division { part_size: CELL_SIZE, worker_count };
        index_divided(&Host { bytes, bad }, &Options::default(), division).ok()
    };
    let (one, several) = (divided(1), divided(3));
    let is_same = one.iter().zip(&several).all(|(one, several)| is_same(one, several));
    assert!(is_same && one.is_some() == several.is_some(), "{what}");
    several
}

/// About 400 kB of events: plain ones, strings, and optionally unknown types or values that look
/// like events.
fn long(on: Platform, random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut bytes = encoded(on, &[init(on, [2, 0, 0])]);
    let is_odd = random(3) == 0;
    while bytes.len() < 400_000 {
        let clock = 1 << 40 | bytes.len() as u64;
        let row: Row = match random(40) {
            0 => ("Intern", clock, vec![N(1), S("string".repeat(random(2000)))]),
            1..10 => ("PoolAlloc", clock, vec![N(1), N(clock), N(3)]),
            10 if is_odd => {
                encode_as(&mut bytes, on, 0x60, clock, &[Sort::W], &[N(0x18_0021)]);
                continue;
            }
            _ => ("ArenaPollBegin", clock, vec![N(0x18_0004)]),
        };
        bytes.extend(encoded(on, &[row]));
    }
    bytes
}

#[test]
fn workers_and_one_walk_find_the_same() {
    let mut segments = 0;
    for on in PLATFORMS {
        let mut random = random(7);
        let bytes = [long(on, &mut random), long(on, &mut random)].concat();
        let index = checked(&bytes, &[], "whole").unwrap();
        assert_eq!(index.streams.len(), 2);
        segments += index.segments.len();
        assert!(index.segments.iter().all(|at| u64::from(at.size) < 2 * CELL_SIZE));
    }
    assert!(segments > 6 * 12, "{segments}");
}

/// If guesses were useless, the walk would take nothing over.
#[test]
fn a_guess_finds_the_first_event_of_a_part() {
    for on in PLATFORMS {
        let bytes = encoded(on, &vec![("ArenaPollBegin", 1 << 40, vec![N(3)]); 40_000]);
        let size = starts(&bytes, on)[1] as u64;
        let registry = Registry::new(&REGISTRY, on);
        let plain = Plain::new(&registry, &Shapes::new(&registry), None);
        let division = Division { part_size: CELL_SIZE, worker_count: 2 };
        let parts = division.parts(0, bytes.size()).unwrap();
        assert_eq!(parts, 1..(bytes.size() >> 16) - 1);
        let part_size = CELL_SIZE;
        let work = Work { source: &bytes, plain: &plain, init_code: None, part_size };
        let mut buffer = work.buffer();
        for index in parts {
            let part = work.part(index, &mut buffer);
            let first_from = |offset: u64| offset.next_multiple_of(size);
            let found = (part.start, part.found.len(), part.end);
            assert_eq!(found, (Some(first_from(index << 16)), 1, first_from((index + 1) << 16)));
        }
    }
}

/// `.cnv.speed`
#[test]
fn increments_give_the_whole_log() {
    let division = Division { part_size: CELL_SIZE, worker_count: 3 };
    for (seed, by_stream) in (0..12).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut random = random(seed);
        let on = PLATFORMS[random(6)];
        let mut bytes: Vec<u8> = (0..3).flat_map(|_| long(on, &mut random)).collect();
        for _ in 0..random(4) {
            let at = random(bytes.len());
            bytes[at] ^= 1 << random(8);
        }
        let Ok(whole) = index_divided(&bytes, &Options::default(), division) else { continue };
        let unread = Increments::begin(&bytes, &Options::default(), by_stream).unwrap();
        let mut unread = unread.with(100_000, division);
        let mut segments = Vec::new();
        let mut stretch_count = 0;
        while let Some(stretch) = unread.next(&bytes) {
            let last = segments.last().map(|at: &Segment| at.stream);
            let first = stretch.segments.first().map(|at| at.stream);
            assert!(!by_stream || last.is_none() || last < first, "seed {seed}");
            segments.extend(stretch.segments);
            stretch_count += 1;
        }
        assert!(stretch_count >= 2, "{stretch_count}");
        let found = Index { segments, ..unread.end() };
        assert!(is_same(&whole, &found), "seed {seed}");
    }
}

/// `.req.robust`
#[test]
fn workers_and_one_walk_find_the_same_damage() {
    let mut count = 0;
    for seed in 0..60 {
        let mut random = random(seed);
        let mut on = || PLATFORMS[random(6)];
        let (first, second) = (on(), on());
        let mut bytes = [long(first, &mut random), long(second, &mut random)].concat();
        for _ in 0..random(12) {
            let at = random(bytes.len() - 70_000);
            match random(4) {
                0 => bytes[at] ^= 1 << random(8),
                1 => drop(bytes.drain(at..at + random(70_000))),
                2 => bytes[at..][..random(70_000)].fill([0, 8, 0x21][random(3)]),
                _ => drop(bytes.splice(at..at, log(PLATFORMS[random(6)]))),
            }
        }
        let bad = [40 + random(100) as u64, 60 + random(100) as u64];
        let bad = bad.get(..random(3)).unwrap();
        let index = checked(&bytes, bad, &format!("seed {seed}"));
        count += index.map_or(0, |index| index.faults.count());
    }
    assert!(count > 100, "{count}");
}
