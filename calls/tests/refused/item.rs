//! The attribute on an item without functions.
//~ #[traced] stands before an `fn`, `impl`, `trait` or `mod`
#[calls::traced]
struct Shop;

fn main() {
    let _ = Shop;
}
