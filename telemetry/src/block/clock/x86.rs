//! The processor's counter of x86, of 32 and of 64 bits: the time-stamp counter.
//!
//! ```text
//!  CPUID 8000_0007: invariant?      CPUID 15: ticks per second      rdtsc      lfence
//! ```
//!
//! Design: `.sol.clock` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the processor's counter")]

use super::{Halves, OwnTicks};
use core::arch::asm;
#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid, _mm_lfence, CpuidResult};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, _mm_lfence, CpuidResult};
use eventlog::format::ClockSource;

pub(crate) const SOURCE: Option<ClockSource> = Some(ClockSource::Tsc);

#[allow(unused_unsafe, reason = "the instruction is safe since Rust 1.94")]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every processor with SSE2 has the instruction, and it touches no memory.
    unsafe { __cpuid(leaf) }
}

pub(crate) fn is_invariant() -> bool {
    const EXTENDED_MAX: u32 = 0x8000_0000;
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    cpuid(EXTENDED_MAX).eax >= POWER_MANAGEMENT && cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
}

pub(crate) fn rate() -> u64 {
    const TSC_LEAF: u32 = 0x15;
    if cpuid(0).eax < TSC_LEAF {
        return 0;
    }
    let leaf = cpuid(TSC_LEAF);
    let scaled = u64::from(leaf.ecx) * u64::from(leaf.ebx);
    scaled.checked_div(u64::from(leaf.eax)).unwrap_or(0)
}

#[inline(always)]
pub(crate) fn read() -> Halves {
    let (low, high): (u32, u32);
    // SAFETY: every processor with SSE2 has the instruction, and it touches no memory.
    unsafe {
        asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
    }
    [low, high]
}

/// Two instructions. The compiler puts the halves together, which takes four more.
#[inline(always)]
pub(crate) fn since([mut low, mut high]: Halves, base: &OwnTicks) -> Halves {
    // SAFETY: loads the eight bytes of `base`, which only this thread and its signal handlers
    // store.
    unsafe {
        asm!(
            "sub {low:e}, [{base}]",
            "sbb {high:e}, [{base} + 4]",
            low = inout(reg) low,
            high = inout(reg) high,
            base = in(reg) base,
            options(pure, readonly, nostack),
        );
    }
    [low, high]
}

#[inline(always)]
pub(crate) fn wait_for_loads() {
    // SAFETY: every processor with SSE2 has the instruction, which waits for all before it.
    unsafe { _mm_lfence() }
}
