//! The library under the name of a program, `replay-interpose`, because `cargo install` installs
//! programs only. `replay record` preloads the file that it finds next to itself. Run as a program,
//! it says so.
//!
//! ```text
//!  src/lib.rs ─┬─ cargo build ───▶ libinterpose.so     in the folder of a build
//!              └─ cargo install ─▶ replay-interpose    build.rs has it linked as a shared library
//! ```
//!
//! Design: `.rep.record.library` in `design/replay.md`.
#![no_main]
#![expect(unsafe_code, reason = "two system calls: write and exit_group")]

use interpose as _;

/// What the installed file says when it is run as a program.
static TEXT: [u8; SIZE] = *b"replay-interpose: this is a library, not a program; run \
    `eventcnv record -- PROGRAM` or `replay record -- PROGRAM`, which preload it\n";
const SIZE: usize = 133;

// The entry point, which `build.rs` names: the kernel jumps here without a loader, so nothing but
// system calls can run.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
core::arch::global_asm!(
    ".globl replay_interpose_tell",
    "replay_interpose_tell: mov eax, 1",
    "mov edi, 2",
    "lea rsi, [rip + {text}]",
    "mov edx, {size}",
    "syscall",
    "mov eax, 231",
    "mov edi, 2",
    "syscall",
    text = sym TEXT,
    size = const SIZE,
);

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".globl replay_interpose_tell",
    "replay_interpose_tell: mov x8, 64",
    "mov x0, 2",
    "adrp x1, {text}",
    "add x1, x1, :lo12:{text}",
    "mov x2, {size}",
    "svc 0",
    "mov x8, 94",
    "mov x0, 2",
    "svc 0",
    text = sym TEXT,
    size = const SIZE,
);
