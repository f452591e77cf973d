//! The commands for gdb, in real gdb: on processes, on cores, on stripped programs.
//!
//! ```text
//!  session.rs    gdb in batch mode: commands, their output, a deadline
//!  commands.rs   each command, its errors, and the switches
//!  cores.rs      cores, and stripped programs
//!  libraries.rs  shared libraries that each carry the runtime
//!  steps.rs      a process stopped at every instruction of an annotation
//!  damage.rs     memory with garbage anywhere
//! ```
//!
//! Rules: `.debug.commands` in `design/telemetry.md`; section 9 of `design/format.md`.

mod gdb {
    pub(crate) mod commands;
    pub(crate) mod cores;
    pub(crate) mod damage;
    pub(crate) mod libraries;
    pub(crate) mod session;
    pub(crate) mod steps;
}
