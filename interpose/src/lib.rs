//! A library that is loaded before a program (`LD_PRELOAD`) and records what it asks of its memory
//! manager: malloc, free and their kin, from the first call before `main` to the last after it.
//!
//! ```text
//!  program ─ malloc ─▶ calls ─▶ real: what comes after us, the C library's or another allocator's
//!                        └────▶ note ─▶ telemetry ─▶ log of the registry "malloc"
//! ```
//!
//! Run by `replay record`. Nothing here allocates: this library's own calls of malloc would come
//! here. Design: `.rep.record` in `design/replay.md`.

mod calls;
mod events;
mod lifecycle;
mod mappings;
mod real;
mod recording;
mod roster;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod rule;
mod stack;
mod thread;
mod touched;
mod tree;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod unwind;
