//! Tests of sources: real logs of the MPS, and what does not fit.
