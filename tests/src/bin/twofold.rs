//! Functions of one path in two places, as those of two versions of a crate; and others.
//!
//! ```text
//!  main ─┬─ twofold::main::sell, 3 times ─▶ twofold::main::keep
//!        └─ twofold::main::sell of another line, 4 times
//! ```
#![forbid(unsafe_code)]

use std::hint::black_box;

fn main() {
    {
        #[calls::traced]
        fn sell(count: u32) -> u32 {
            keep(count) * 3
        }
        assert_eq!((1..=3).map(sell).sum::<u32>(), 27);
    }
    {
        #[calls::traced]
        fn sell(count: u32) -> u32 {
            black_box(count)
        }
        assert_eq!((1..=4).map(sell).sum::<u32>(), 10);
    }
    #[calls::traced]
    fn keep(count: u32) -> u32 {
        count + 1
    }
}
