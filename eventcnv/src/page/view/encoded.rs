//! Numbers and bytes as the scripts of the page take them.
//!
//! ```text
//!  [u32], [f64] ─▶ bytes, little-endian ─▶ base64        a text ─▶ how much of it has room
//! ```
//!
//! Design: `.cnv.report` in `design/eventcnv.md`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns how many bytes take at most `size_max` bytes in the page, if not all do.
pub(super) fn end_of<'a>(
    mut bytes: impl Iterator<Item = &'a u8>,
    size_max: usize,
) -> Option<usize> {
    let mut size = 0;
    bytes.position(|byte| {
        size += match byte {
            b'<' | 0..0x20 => "\\u0000".len(),
            b'"' | b'\\' => 2,
            _ => 1,
        };
        size > size_max
    })
}

pub(super) fn encoded<T>(numbers: &[T], bytes: impl Fn(&T) -> Vec<u8>) -> String {
    STANDARD.encode(numbers.iter().flat_map(bytes).collect::<Vec<u8>>())
}

pub(super) fn counts(numbers: &[u32]) -> String {
    encoded(numbers, |number| number.to_le_bytes().to_vec())
}
