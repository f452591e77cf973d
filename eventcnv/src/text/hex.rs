//! Makes the sixteen hexadecimal digits of a number at once.
//!
//! ```text
//!  bytes     89 AB │ CD EF        the highest first
//!  nibbles   8 9 A B │ C D E F    one in each byte
//!  digits    plus '0'; from 10 on, seven more
//! ```
//!
//! Uses a vector where every processor of the platform has one, else words. The test compares both.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

/// Returns how many hexadecimal digits a value has; 0 has one.
#[inline(always)]
pub(crate) fn count(value: u64) -> usize {
    16 - ((value | 1).leading_zeros() / 4) as usize
}

/// Returns the digits of a value without leading zeros, and their number. Other bytes follow them.
#[inline(always)]
pub(crate) fn left(value: u64) -> ([u8; 16], usize) {
    // A multiple of four, below 64.
    let zeros = (value | 1).leading_zeros() & 60;
    (digits(value << zeros), 16 - (zeros / 4) as usize)
}

/// Returns the 16 hexadecimal digits of a value.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
pub(crate) fn digits(value: u64) -> [u8; 16] {
    use safe_arch::{
        add_i8_m128i, bitand_m128i, cmp_gt_mask_i8_m128i, set_i64_m128i_s, set_splat_i8_m128i,
        shr_imm_u16_m128i, unpack_low_i8_m128i,
    };
    let bytes = set_i64_m128i_s(value.swap_bytes() as i64);
    // The upper half of a byte comes first in the text.
    let pairs = unpack_low_i8_m128i(shr_imm_u16_m128i::<4>(bytes), bytes);
    let nibbles = bitand_m128i(pairs, set_splat_i8_m128i(0x0F));
    let is_letter = cmp_gt_mask_i8_m128i(nibbles, set_splat_i8_m128i(9));
    let letters = bitand_m128i(is_letter, set_splat_i8_m128i(7));
    let digits = add_i8_m128i(nibbles, set_splat_i8_m128i(b'0' as i8));
    add_i8_m128i(digits, letters).into()
}

/// Returns the 16 hexadecimal digits of a value.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
pub(crate) fn digits(value: u64) -> [u8; 16] {
    digits_in_words(value)
}

/// Returns the 16 hexadecimal digits of a value, without vectors.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
#[inline]
fn digits_in_words(value: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    // The first digit is in the lowest byte from the start. To reverse the bytes afterwards, in a
    // vector, would double the cost.
    let value = value.swap_bytes();
    let (high, low) = digits.split_at_mut(8);
    high.copy_from_slice(&eight(value as u32).to_le_bytes());
    low.copy_from_slice(&eight((value >> 32) as u32).to_le_bytes());
    digits
}

/// Returns the eight digits of four bytes as the bytes of a word, those of the lowest byte lowest.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
#[inline]
fn eight(bytes: u32) -> u64 {
    let mut x = u64::from(bytes);
    x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
    x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
    // The upper half of a byte comes first in the text.
    x = (x >> 4 | x << 8) & 0x0F0F_0F0F_0F0F_0F0F;
    // One in each byte whose nibble is ten or more: 'A' is seven after the successor of '9'.
    let letters = (x + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    x + 0x3030_3030_3030_3030 + letters * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each byte value at each place, and some random values.
    fn values() -> impl Iterator<Item = u64> {
        let bytes = (0..8).flat_map(|place| (0..=255_u64).map(move |byte| byte << (8 * place)));
        let random = |n: u64| n.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ n << 40;
        bytes.flat_map(|value| [value, !value]).chain((0..2000).map(random))
    }

    #[test]
    fn digits_agree_with_the_standard_formatter() {
        for value in values() {
            let expected = format!("{value:016X}");
            assert_eq!(digits(value).as_slice(), expected.as_bytes());
            assert_eq!(digits_in_words(value).as_slice(), expected.as_bytes());
            let expected = format!("{value:X}");
            let (digits, size) = left(value);
            assert_eq!((&digits[..size], count(value)), (expected.as_bytes(), expected.len()));
        }
    }
}
