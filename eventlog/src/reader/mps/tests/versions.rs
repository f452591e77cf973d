//! Streams of other versions: decoded with their registry, or reported.
//!
//! ```text
//!  1.x   │ … │ U u │ b0 b1 b2 … │ W │     Booleans are bits: `.mps.bool`
//!  2.x   │ … │ U u │ b0 │ b1 │ … │ W │    and bytes
//! ```

use super::encode::Arg::{self, D, N, S};
use super::encode::{encode_as, encoded, init};
use super::{kinds, open_as, owned, random, read, rows};
use crate::reader::fault::kind::FaultKind;
use crate::reader::model::registry::{Platform, Registry};
use crate::reader::mps::platform::{PLATFORMS, of_version};
use eventdef::mps::REGISTRY;
use eventdef::{Sort, Version};

const OLD: Version = Version { major: 1, median: 6, minor: 1 };

/// The registry of 2.0.0 with the version 1.6.1.
pub(super) fn old() -> Registry {
    let mut registry = Registry::new(&REGISTRY, PLATFORMS[0]);
    registry.version = OLD;
    registry
}

/// An `eventdef.h` of version 1.6.1 with one event type of code 1, whose parameters have these
/// sorts.
fn header(sorts: &[Sort]) -> Registry {
    let params: String = sorts
        .iter()
        .enumerate()
        .map(|(index, sort)| format!(" PARAM(X, {index}, {}, p{index})", sort.letter()))
        .collect();
    let text = format!(
        "#define EVENT_VERSION_MAJOR ((unsigned)1)\n\
         #define EVENT_VERSION_MEDIAN ((unsigned)6)\n\
         #define EVENT_VERSION_MINOR ((unsigned)1)\n\
         #define EVENT_LIST(EVENT, X) EVENT(X, Any, 0x0001, TRUE, Seg)\n\
         #define EVENT_Any_PARAMS(PARAM, X){params}\n"
    );
    Registry::from_mps_header(&text).unwrap()
}

fn platforms() -> [Platform; PLATFORMS.len()] {
    PLATFORMS.map(|platform| of_version(platform, OLD))
}

/// The platform as far as events show it: without 64-bit values, their alignment is unknown.
fn shown(on: Platform) -> Platform {
    Platform { align_max: if on.event_header_size > 8 { on.align_max } else { 8 }, ..on }
}

fn sorts(letters: &str) -> Vec<Sort> {
    letters.bytes().map(|letter| Sort::from_letter(letter).unwrap()).collect()
}

#[test]
fn runs_of_booleans_have_the_layout_of_a_c_compiler() {
    // `.mps.bool`, `.mps.params`, `.mps.header`
    let mut random = random(7);
    let run = |size| "B".repeat(size);
    let layouts =
        [run(1), run(8), run(9), run(33), run(70), format!("U{}UB", run(3)), "UBWBBDBS".to_owned()];
    for letters in layouts {
        let sorts = sorts(&letters);
        let known = header(&sorts);
        for on in platforms() {
            let mut bytes = encoded(on, &[init(on, [1, 6, 1])]);
            let mut expected = Vec::new();
            for clock in 1000..1030 {
                let arg = |sort: &Sort| match sort {
                    Sort::B => N(random(2) as u64),
                    Sort::D => D(0.5),
                    Sort::S => S("text".into()),
                    _ => N(random(1 << 30) as u64),
                };
                let args: Vec<Arg> = sorts.iter().map(arg).collect();
                encode_as(&mut bytes, on, 1, clock, &sorts, &args);
                expected.push(("Any".to_owned(), clock, args));
            }
            let index = open_as(&bytes, &known);
            assert_eq!(shown(index.streams[0].platform), shown(on));
            assert_eq!(read(&bytes, &index)[1..], expected, "{letters} on {on:?}");
        }
    }
}

#[test]
fn bits_have_the_layout_of_gcc() {
    // Offset and mask of each member, as gcc 12 lays out such a structure on x86-64.
    let registry = header(&sorts("UBBUBWBBBBBBBBBDB"));
    let found = registry.event_type(1).unwrap();
    let places: Vec<(u32, u8)> =
        found.params.iter().map(|param| (param.offset, param.mask)).collect();
    let whole = 0xFF;
    assert_eq!(places[..6], [(16, whole), (20, 1), (20, 2), (24, whole), (28, 1), (32, whole)]);
    let run: Vec<(u32, u8)> = (0..8).map(|bit| (40, 1 << bit)).collect();
    assert_eq!(places[6..14], run);
    assert_eq!(places[14..], [(41, 1), (48, whole), (56, 1)]);
    assert_eq!(found.size_min.next_multiple_of(8), 64);
}

#[test]
fn an_event_without_its_bits_is_not_given() {
    for on in platforms() {
        let sorts = sorts("UUUBBB");
        let known = header(&sorts);
        let mut bytes = Vec::new();
        for clock in 1000..1040 {
            let args = [N(1), N(2), N(clock), N(1), N(0), N(1)];
            encode_as(&mut bytes, on, 1, clock, &sorts, &args);
        }
        let size = bytes.len() / 40;
        // The last event lacks the byte of its bits, and its size says so.
        let at = bytes.len() - size;
        let cut = size - usize::from(on.word_size);
        bytes[at + 2..at + 4].copy_from_slice(&match on.big_endian {
            true => (cut as u16).to_be_bytes(),
            false => (cut as u16).to_le_bytes(),
        });
        bytes.truncate(at + cut);
        let index = open_as(&bytes, &known);
        assert_eq!(index.segments.iter().map(|segment| segment.count).sum::<u32>(), 39);
        let is_loss =
            |kind: &FaultKind| matches!(kind, FaultKind::Mps { size, .. } if *size == cut as u64);
        assert!(kinds(&index).iter().any(is_loss), "{on:?}: {:?}", kinds(&index));
    }
}

#[test]
fn an_event_with_an_unknown_code_is_given_by_code() {
    for on in platforms() {
        let sorts = sorts("WB");
        let mut bytes = Vec::new();
        for clock in 1000..1040 {
            let code = if clock == 1020 { 0x77 } else { 1 };
            encode_as(&mut bytes, on, code, clock, &sorts, &[N(clock), N(1)]);
        }
        let index = open_as(&bytes, &header(&sorts));
        assert_eq!(shown(index.streams[0].platform), shown(on));
        let events = read(&bytes, &index);
        assert_eq!((events.len(), events[20].0.as_str(), events[20].2.len()), (40, "?", 0));
        assert_eq!(kinds(&index), [FaultKind::EventUnknown { registry: 1, code: 0x77 }]);
    }
}

/// `.mps.init`, `.mps.version`
#[test]
fn only_streams_of_the_headers_version_are_decoded() {
    for on in platforms() {
        let of = |version| {
            let rows: Vec<_> = [init(on, version)].into_iter().chain(rows()).collect();
            encoded(on, &rows)
        };
        let other = of([1, 5, 0]);
        let pieces = [of([1, 6, 1]), other.clone(), of([1, 6, 0]), other];
        let bytes = pieces.concat();
        let index = open_as(&bytes, &old());
        let versions: Vec<String> =
            index.streams.iter().map(|stream| stream.version.to_string()).collect();
        assert_eq!(versions, ["1.6.1", "1.5.0", "1.6.0", "1.5.0"], "{on:?}");
        let count = rows().len() + 1;
        let read = read(&bytes, &index);
        assert_eq!(read.len(), 4 * count);
        for (number, piece) in read.chunks(count).enumerate() {
            if number % 2 == 0 {
                assert_eq!(piece[1..], owned(&rows()));
            } else {
                assert!(piece.iter().all(|(name, ..)| name == "?"));
            }
        }
        let found = Some(Version { median: 5, minor: 0, ..OLD });
        let fault = FaultKind::MpsVersion { found, known: OLD };
        assert_eq!(kinds(&index), [fault.clone(), fault]);
    }
}

#[test]
fn many_changes_of_version_take_little_memory() {
    let on = platforms()[0];
    let rows: Vec<_> = (0..3000).map(|n| init(on, [1, 5 + n % 2, 0])).collect();
    let bytes = encoded(on, &rows);
    let index = open_as(&bytes, &old());
    assert_eq!((read(&bytes, &index).len(), index.streams.len()), (3000, 3000));
    assert!(index.registries.len() < 300, "{} registries", index.registries.len());
}
