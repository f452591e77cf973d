//! The laws of a registry: each file in `laws/` breaks one, and `laws/*.stderr` is what the compiler says.
#![allow(missing_docs)]

#[test]
fn a_broken_law_is_a_compile_error_that_names_the_row() {
    trybuild::TestCases::new().compile_fail("tests/laws/*.rs");
}
