//! Logs and cores that are made up byte by byte, by the naive writers of the whole-system tests:
//! links to their files, which a package of this crate takes along.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "that crate uses all of it"
)]

pub(crate) mod cores;
pub(crate) mod naive;
pub(crate) mod recipe;
