//! The checksum of headers and blocks: CRC-32C.
//!
//! ```text
//!  header, its own checksum as 0 ──▶ │ CRC-32C ──▶ u32
//!  [last, top) ────────────────────▶ │
//! ```
//!
//! The library uses the processor's instruction if the processor has one: the checksum is most of
//! the cost of a block, apart from writing it. Rules: `.crc` in `design/format.md`.

/// Returns the CRC-32C of these bytes, in this order.
pub fn checksum(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| crc32c::crc32c_append(crc, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.crc`: the check value of the CRC catalogue; pieces of any size give the checksum of the
    /// whole.
    #[test]
    fn pieces_have_the_checksum_of_the_whole() {
        assert_eq!(checksum(&[b"123456789"]), 0xE306_9283);
        let bytes: Vec<u8> = (0..4096_u32).map(|index| ((index * index) >> 3) as u8).collect();
        let whole = checksum(&[&bytes]);
        for at in (0..bytes.len()).step_by(61) {
            assert_eq!(checksum(&[&bytes[..at], &[], &bytes[at..]]), whole, "at {at}");
        }
    }
}
