//! Numbers for functions and call points, as the original TURTLES computes them.
//!
//! ```text
//!  h = 0;  for each number z:  h = (h · (2^19 − 1) + z) mod (2^31 − 1)
//! ```
//!
//! The rolling hash of R. Karp and M. Rabin. Design: `.cnv.sql.calls` in `design/eventcnv.md`.

const MULTIPLIER: u64 = (1 << 19) - 1;
const MODULUS: u64 = (1 << 31) - 1;

/// Returns the hash of a list of numbers, from 0 to 2^31 − 2.
pub fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, |hash, number| (hash * MULTIPLIER + number % MODULUS) % MODULUS)
}

/// Returns the hash of a name: that of its characters.
pub fn of_name(name: &str) -> u64 {
    of_numbers(name.chars().map(|c| u64::from(u32::from(c))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T14
    #[test]
    fn hashes_are_the_published_ones() {
        for (name, hash) in [("", 0), ("a", 97), ("ab", 50_855_937), ("ba", 51_380_223)] {
            assert_eq!(of_name(name), hash, "{name}");
        }
        assert_eq!(of_numbers([97, 98]), 50_855_937);
        assert_eq!(of_numbers([98, 97]), 51_380_223);
        assert!(of_numbers([u64::MAX; 9]) < MODULUS);
    }
}
