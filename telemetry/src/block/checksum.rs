//! The checksum of a full block, 256 bytes at a time where the processor can.
//!
//! ```text
//!  64 KiB ─▶ 256 bytes × (x^2048 mod P) + the next 256 bytes ─▶ … ─▶ 256 bytes ─▶ crc32c
//! ```
//!
//! The processor's instruction for the CRC takes 8 bytes a cycle: a tenth of the time of recording
//! into memory. Multiplying without carry takes 64 bytes. The last 256 bytes have the checksum of
//! the whole. Design: `.sol.checksum` in `design/telemetry.md`; `.crc` in `design/format.md`.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "instructions that not every processor has")
)]

use eventlog::format;

/// Returns the CRC-32C of the bytes whose checksum is `crc`, and of these behind them.
pub(crate) fn append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let (Some((first, rest)), true) = (bytes.split_first_chunk(), folded::is_possible()) {
        let (steps, tail) = rest.as_chunks();
        // SAFETY: the processor has the instructions.
        let last = unsafe { folded::fold(crc, first, steps) };
        return format::checksum_from(format::checksum_from(u32::MAX, &last), tail);
    }
    format::checksum_from(crc, bytes)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod folded {
    use core::arch::x86_64::{
        __m512i, _mm512_clmulepi64_epi128, _mm512_set_epi64, _mm512_ternarylogic_epi64,
    };

    /// Bytes of a step: four vectors.
    const STEP: usize = 256;
    /// Exclusive or of three operands.
    const XOR: i32 = 0x96;

    /// Whether the processor, and the system, have what `fold` needs. Without optimization it would
    /// take 2 KiB of a small stack.
    pub(super) fn is_possible() -> bool {
        let is_small = cfg!(any(test, not(debug_assertions)));
        is_small
            && std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("vpclmulqdq")
    }

    /// Returns x^`power` modulo the polynomial of CRC-32C, with the highest power in the lowest bit
    /// as in the checksum; and one bit further, as the product of two such values needs it.
    const fn power_of_x(power: u32) -> i64 {
        const POLYNOMIAL: u32 = 0x82F6_3B78;
        let mut value: u32 = 1 << 31;
        let mut done = 0;
        while done < power {
            value = (value >> 1) ^ if value & 1 != 0 { POLYNOMIAL } else { 0 };
            done += 1;
        }
        (value as i64) << 1
    }

    /// Returns 256 bytes that have, from the checksum `u32::MAX` on, the checksum that all bytes
    /// have from `crc` on.
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn fold(crc: u32, first: &[u8; STEP], steps: &[[u8; STEP]]) -> [u8; STEP] {
        const BITS: u32 = STEP as u32 * 8;
        const LOW: i64 = power_of_x(BITS + 32);
        const HIGH: i64 = power_of_x(BITS - 32);
        let by = _mm512_set_epi64(HIGH, LOW, HIGH, LOW, HIGH, LOW, HIGH, LOW);
        let mut start = *first;
        for (byte, state) in start.iter_mut().zip((!crc).to_le_bytes()) {
            *byte ^= state;
        }
        let mut sums: [__m512i; 4] = vectors(&start);
        for step in steps {
            for (sum, new) in sums.iter_mut().zip(vectors(step)) {
                let low = _mm512_clmulepi64_epi128::<0x00>(*sum, by);
                let high = _mm512_clmulepi64_epi128::<0x11>(*sum, by);
                *sum = _mm512_ternarylogic_epi64::<XOR>(low, high, new);
            }
        }
        // SAFETY: both are 256 bytes without padding, and any bytes are valid.
        unsafe { core::mem::transmute(sums) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn vectors(bytes: &[u8; STEP]) -> [__m512i; 4] {
        // SAFETY: as above; the copy needs no alignment.
        unsafe { bytes.as_ptr().cast::<[__m512i; 4]>().read_unaligned() }
    }
}

#[cfg(test)]
mod tests {
    use super::append;
    use eventlog::format::checksum;

    /// `.crc`: of every size near the steps, at every alignment, after any other checksum.
    #[test]
    fn a_checksum_is_that_of_the_format() {
        let mut state = 1u64;
        let bytes: Vec<u8> = core::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(1 << 16)
        .collect();
        let sizes = (0..600).chain([767, 768, 769, 4096 - 128, (1 << 16) - 128, (1 << 16) - 70]);
        for (start, size) in sizes.enumerate().map(|(index, size)| (index % 67, size)) {
            let before = &bytes[..start * 3];
            let piece = &bytes[start..start + size];
            assert_eq!(append(checksum(&[before]), piece), checksum(&[before, piece]), "{size}");
        }
    }
}
