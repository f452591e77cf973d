//! The attribute on a `const fn`.
//~ #[traced]: a `const fn` cannot be recorded, since the compiler may run it
#[calls::traced]
const fn price() -> u32 {
    3
}

fn main() {
    price();
}
