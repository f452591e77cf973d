//! A compound assignment with forks on both sides.
//~ #[path]: both sides of this assignment have forks, whose order depends on types
#[calls::path]
fn price(all: &mut [u32], is_first: bool, count: Option<u32>) -> Option<u32> {
    all[if is_first { 0 } else { 1 }] += count?;
    Some(3)
}

fn main() {
    price(&mut [1, 2], true, None);
}
