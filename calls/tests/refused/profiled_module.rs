//! The attribute on a module in another file.
//~ #[profiled]: the functions of a module in another file are out of reach
#[calls::profiled]
mod const_fn;

fn main() {}
