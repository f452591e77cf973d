//! A library that is preloaded into a program (`LD_PRELOAD`). It records every call of malloc, free
//! and the functions like them, from the first call before `main` to the last call after it.
//!
//! ```text
//!  program ─ malloc ─▶ calls ─▶ real: the next definition: the C library's, or another allocator's
//!                        └────▶ recording ─▶ telemetry ─▶ log of the registry "malloc"
//! ```
//!
//! `replay record` preloads this library. Nothing here allocates, because this library would record
//! its own calls of malloc. Design: `.rep.record` in `design/replay.md`.

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
