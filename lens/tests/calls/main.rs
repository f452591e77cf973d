//! The lenses on calls and statements, against naive twins.

extern crate eventdef as telemetry;

/// The registry itself, without the runtime.
#[path = "../../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "the runtime uses the rest")]
mod events;
mod statements;
mod twin;
