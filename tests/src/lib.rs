//! Whole-system tests of the event log: each file in `tests/tests/` is one.
#![forbid(unsafe_code)]

pub mod cores;
pub mod naive;
pub mod programs;
mod recipe;
pub mod work;
