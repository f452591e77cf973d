//! A macro whose value may be a place, and which may hide a `return`.
//~ #[path]: the value of this macro may be a place, and the macro may hide a `return`
//~ path_place.rs:13:11
macro_rules! first {
    ($all:expr) => {
        $all[0]
    };
}

#[calls::path]
fn price(mut all: [u32; 2]) -> u32 {
    // The witness after the macro would move the value.
    (&mut first!(all)).clone()
}

fn main() {
    price([1, 2]);
}
