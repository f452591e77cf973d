//! The attribute with an argument that it does not have.
//~ #[path] has no argument except `check` and `skip`
#[calls::path(all)]
fn price() -> u32 {
    3
}

fn main() {
    price();
}
