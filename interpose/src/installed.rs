//! The library under the name of a program, `replay-interpose`, because `cargo install` installs
//! programs only. `replay record` preloads the file that it finds next to itself.
//!
//! ```text
//!  src/lib.rs ─┬─ cargo build ───▶ libinterpose.so     in the folder of a build
//!              └─ cargo install ─▶ replay-interpose    build.rs has it linked as a shared library
//! ```
//!
//! Design: `.rep.record.library` in `design/replay.md`.
#![no_main]

use interpose as _;
