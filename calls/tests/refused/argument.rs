//! The attribute with an argument that does not exist.
//~ #[traced] has no argument except `skip`
#[calls::traced(fast)]
fn price() -> u32 {
    3
}

fn main() {
    price();
}
