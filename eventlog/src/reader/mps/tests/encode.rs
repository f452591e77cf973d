//! A naive encoder of MPS streams for any platform: simple and slow.
//!
//! ```text
//!  (name, clock, values) ──▶ the bytes of the C structure on that platform
//! ```

use crate::reader::model::registry::Platform;
use eventdef::Sort;
use eventdef::mps::REGISTRY;

/// A value to encode, or a decoded value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arg {
    N(u64),
    D(f64),
    S(String),
}
use Arg::{D, N, S};

/// Name of the event type, clock, values.
pub(super) type Row = (&'static str, u64, Vec<Arg>);

/// Appends an event as a C compiler of the platform lays out its structure.
pub(super) fn encode(out: &mut Vec<u8>, on: Platform, (name, clock, args): &Row) {
    let row = REGISTRY.event_types.iter().find(|row| row.name == *name).unwrap();
    let sorts: Vec<Sort> = row.params.iter().map(|param| param.sort).collect();
    encode_as(out, on, row.code, *clock, &sorts, args);
}

/// Appends an event of a type that no registry has (`.mps.event`, `.mps.params`).
pub(super) fn encode_as(
    out: &mut Vec<u8>,
    on: Platform,
    code: u16,
    clock: u64,
    sorts: &[Sort],
    args: &[Arg],
) {
    let mut event: Vec<u8> = Vec::new();
    // Booleans in the current run.
    let mut run = 0;
    let put = |event: &mut Vec<u8>, value: u64, size: usize| {
        while !event.len().is_multiple_of(size.min(on.align_max.into())) {
            event.push(0xEE);
        }
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if on.big_endian {
            bytes.reverse();
        }
        event.extend(bytes);
    };
    put(&mut event, code.into(), 2);
    put(&mut event, 0, 2);
    let is_short = on.event_header_size == 8;
    put(&mut event, clock, if is_short { 4 } else { 8 });
    let is_wide = !is_short || sorts.contains(&Sort::D);
    let mut align: usize =
        if is_wide { on.align_max.max(on.word_size) } else { on.word_size }.into();
    for (&sort, arg) in sorts.iter().zip(args) {
        run = if sort == Sort::B { run + 1 } else { 0 };
        match (sort, arg) {
            (Sort::P | Sort::A | Sort::W, N(value)) => put(&mut event, *value, on.word_size.into()),
            (Sort::U, N(value)) => put(&mut event, *value, 4),
            // `.mps.bool`
            (Sort::B, N(value)) if on.packed_booleans => {
                let bit = (run - 1) % 8;
                if bit == 0 {
                    event.push(0);
                }
                let place = if on.big_endian { 7 - bit } else { bit };
                *event.last_mut().unwrap() |= (*value as u8) << place;
            }
            (Sort::B, N(value)) => put(&mut event, *value, 1),
            (Sort::D, D(value)) => put(&mut event, value.to_bits(), 8),
            (Sort::S, S(string)) => {
                event.extend(string.as_bytes());
                event.extend([0, 0, 0, 0]);
                align = on.word_size.into();
            }
            other => panic!("{code:#x}: {other:?}"),
        }
    }
    while !event.len().is_multiple_of(align) {
        event.push(0);
    }
    let mut size = (event.len() as u16).to_le_bytes();
    if on.big_endian {
        size.reverse();
    }
    event[2..4].copy_from_slice(&size);
    out.extend(event);
}

pub(super) fn encoded(on: Platform, rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::new();
    rows.iter().for_each(|row| encode(&mut out, on, row));
    out
}

pub(super) fn init(on: Platform, version: [u64; 3]) -> Row {
    let [major, median, minor] = version.map(N);
    let width = u64::from(on.word_size) * 8;
    ("EventInit", 1000, vec![major, median, minor, N(92), N(19), N(width), N(1_000_000)])
}
