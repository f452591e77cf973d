//! The commands for gdb, embedded in every program: gdb runs them by itself, if it is allowed to.
//!
//! ```text
//!  gdb/*.py ── one text ──▶ section .debug_gdb_scripts: │ 4 │ name ⏎ │ text │ 0 │
//! ```
//!
//! Design: `.debug.commands` in `design/telemetry.md`.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "a section that gdb finds by its name")
)]

/// The text for gdb: 4 marks text in Python, whose first line is its name.
const TEXT: &str = concat!(
    "\x04telemetry\n",
    include_str!("../../gdb/memory.py"),
    include_str!("../../gdb/root.py"),
    include_str!("../../gdb/block.py"),
    include_str!("../../gdb/registry.py"),
    include_str!("../../gdb/stream.py"),
    include_str!("../../gdb/text.py"),
    include_str!("../../gdb/report.py"),
    include_str!("../../gdb/save.py"),
    include_str!("../../gdb/switches.py"),
    include_str!("../../gdb/commands.py"),
    "\0"
);

// SAFETY: the section consists of such entries, one after the other.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".debug_gdb_scripts"))]
#[used]
static SCRIPT: [u8; TEXT.len()] = match TEXT.as_bytes().first_chunk() {
    Some(bytes) => *bytes,
    None => unreachable!(),
};

/// Makes the linker keep the text.
pub(crate) fn keep() {
    core::hint::black_box(SCRIPT.as_ptr());
}
