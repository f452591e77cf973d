//! Links to the naive writers of the whole-system tests, which make logs and cores byte by byte. A
//! package of this crate includes their files.
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
