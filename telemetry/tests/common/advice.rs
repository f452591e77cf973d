//! A system that ignores advice about memory, as `qemu-user` does: a filter of system calls.
//!
//! ```text
//!  madvise? ─ yes ─▶ MADV_WIPEONFORK or -1? ─ yes ─▶ return 0
//!      └── no ───────────────┴────────────── no ───▶ as ever
//! ```
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "the filter of system calls")]
#![allow(missing_docs, unreachable_pub, reason = "for tests")]

/// Makes the system take the advice "wipe on fork" and an advice that no kernel has, and follow
/// neither.
pub fn ignore() {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};
    const NUMBER: u32 = 0;
    const ADVICE: u32 = if cfg!(target_endian = "big") { 36 } else { 32 };
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equal) = (BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K);
    let mut steps = [
        step(load, NUMBER, 0, 0),
        step(equal, libc::SYS_madvise as u32, 0, 4),
        step(load, ADVICE, 0, 0),
        step(equal, libc::MADV_WIPEONFORK as u32, 1, 0),
        step(equal, u32::MAX, 0, 1),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ERRNO, 0, 0),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter lives through the calls, which change what later calls return alone.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter);
    }
}
