//! The checksum of headers and blocks: CRC-32C.
//!
//! ```text
//!  header, its own checksum as 0 ──▶ │ CRC-32C ──▶ u32
//!  [last, top) ────────────────────▶ │
//! ```
//!
//! By a library, with the widest instructions that the processor has: it is most of what a block
//! costs beyond being written. Rules: `.crc` in `design/format.md`.

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC-32C of these bytes, one after the other.
///
/// Allocates nothing. The first call in a process finds out what the processor has, behind a lock:
/// whoever may be interrupted by itself makes one beforehand.
pub fn checksum(pieces: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for piece in pieces {
        digest.update(piece);
    }
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.crc`: the check value of the catalogue, and pieces are as one, whatever their sizes.
    #[test]
    fn pieces_have_the_checksum_of_the_whole() {
        assert_eq!(checksum(&[b"123456789"]), 0xE306_9283);
        let bytes: Vec<u8> = (0..4096_u32).map(|index| ((index * index) >> 3) as u8).collect();
        let whole = crc32c::crc32c(&bytes);
        for at in (0..bytes.len()).step_by(61) {
            assert_eq!(checksum(&[&bytes[..at], &[], &bytes[at..]]), whole, "at {at}");
        }
    }
}
