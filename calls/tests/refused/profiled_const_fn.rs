//! The attribute on a `const fn`.
//~ #[profiled]: a `const fn` cannot be recorded, since the compiler may run it
#[calls::profiled]
const fn price() -> u32 {
    3
}

fn main() {
    price();
}
