//! The dumper of the event log.
fn main() {}
