//! The attribute with an argument that does not exist.
//~ #[profiled] has no argument except `skip`
#[calls::profiled(time)]
fn price() -> u32 {
    3
}

fn main() {
    price();
}
