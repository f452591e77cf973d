//! The processor's counter of AArch64: the virtual timer.
//!
//! ```text
//!  always invariant      cntfrq_el0: ticks per second      cntvct_el0      dsb, isb
//! ```
//!
//! Design: `.sol.clock` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the processor's counter")]

use super::{Halves, OwnTicks, halves, whole};
use core::arch::asm;
use eventlog::format::ClockSource;

pub(crate) const SOURCE: Option<ClockSource> = Some(ClockSource::ArmTimer);

pub(crate) fn is_invariant() -> bool {
    true
}

pub(crate) fn rate() -> u64 {
    let rate: u64;
    // SAFETY: reads a register that every process may read, and touches no memory.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack)) };
    rate
}

#[inline(always)]
pub(crate) fn read() -> Halves {
    let ticks: u64;
    // SAFETY: reads a register that every process may read, and touches no memory.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    halves(ticks)
}

#[inline(always)]
pub(crate) fn since(ticks: Halves, base: &OwnTicks) -> Halves {
    halves(whole(ticks).wrapping_sub(whole(base.get())))
}

#[inline(always)]
pub(crate) fn wait_for_loads() {
    // SAFETY: waits for loads, and lets nothing after it begin before they are done.
    unsafe { asm!("dsb ishld", "isb", options(nostack, preserves_flags)) };
}
