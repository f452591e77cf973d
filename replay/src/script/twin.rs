//! Tests of compiling: a naive twin.
