//! Tests of modifications.
