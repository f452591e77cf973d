//! The attribute on a `const fn`.
//~ #[path]: a `const fn` cannot be recorded, since the compiler may run it
#[calls::path]
const fn price() -> u32 {
    3
}

fn main() {
    price();
}
