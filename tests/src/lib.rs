//! Whole-system tests of the event log: each file in `tests/tests/` is one.

pub mod naive;
