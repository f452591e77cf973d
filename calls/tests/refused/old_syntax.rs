//! A syntax of an old edition, which the attribute does not read: that is the only complaint.
//@ --edition=2015
//~ #[traced]: this syntax is unknown to it
//~! cannot find
//~! E0599
extern crate calls;

struct Shop;

#[calls::traced]
impl Shop {
    fn price(&self, of: &Fn(u32) -> u32) -> u32 {
        of(3)
    }
}

fn main() {
    Shop.price(&|count| count);
}
