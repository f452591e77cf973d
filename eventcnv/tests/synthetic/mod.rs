//! Logs and cores that are made up byte by byte, by the naive writers of the whole-system tests.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "that crate uses all of it"
)]

#[path = "../../../tests/src/cores.rs"]
pub(crate) mod cores;
#[path = "../../../tests/src/naive.rs"]
pub(crate) mod naive;
#[path = "../../../tests/src/recipe.rs"]
pub(crate) mod recipe;
#[path = "../../../tests/src/ring.rs"]
pub(crate) mod ring;
