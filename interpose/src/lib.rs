//! A library that the loader loads before a program (`LD_PRELOAD`). It records the program's calls
//! of malloc, free and their kin, from the first call before `main` to the last call after it. Or
//! it records the calls of functions that a compiler built with `-finstrument-functions`.
//!
//! ```sh
//! replay record -o bash.log bash -c 'echo hello'
//! ```
//!
//! ```text
//!  program ─ malloc ─▶ calls ─▶ real: the next definition: the C library's, or another allocator's
//!                        └────▶ recording ─▶ telemetry ─▶ log of the registry "malloc"
//!  program ─ a hook ─▶ functions ─ frames, names ─▶ telemetry ─▶ log of the registry "calls"
//! ```
//!
//! `replay record` sets the environment that the library reads. Nothing here allocates: the library
//! would record its own calls of malloc.
//!
//! - **Platforms**: Linux. Stacks need x86-64 and glibc to be recorded fast; elsewhere the unwinder
//!   of the system finds them.
//! - **Rust**: 1.91 or later. No features. The package makes a shared library, and no Rust API.
//!
//! Design: `.rep.record` in `design/replay.md`; `.calls.instrumented` in `design/calls.md`.

mod calls;
mod chosen;
mod elf;
mod events;
mod executing;
mod foreign;
mod frames;
mod functions;
mod hook;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod jumps;
mod lifecycle;
mod loading;
mod mapped;
mod mappings;
mod names;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod own_stack;
mod real;
mod recording;
mod resident;
mod roster;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod rule;
mod stack;
mod symbol;
mod thread;
mod touched;
mod tree;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod unwind;
