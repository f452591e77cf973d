//! The attribute on a module in another file.
//~ #[traced]: the functions of a module in another file are out of reach
#[calls::traced]
mod const_fn;

fn main() {}
