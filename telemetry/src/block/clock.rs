//! Ticks, and the instants that relate them to time.
//!
//! ```text
//!  CPUID: invariant counter? ─ yes ─▶ rdtsc        Arm ─▶ cntvct_el0        else CLOCK_MONOTONIC
//!  sync:  monotonic ── ticks ── realtime ── monotonic    best of a few; uncertain by the bracket
//! ```
//!
//! Design: `.sol.clock` in `design/telemetry.md`; `.header.clock`, `.time.sync` in
//! `design/format.md`.
#![cfg_attr(
    all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)),
    expect(unsafe_code, reason = "the processor's counter")
)]

use crate::os::sys;
use core::sync::atomic::{AtomicU32, Ordering};
use eventlog::format::{ClockSource, ClockSync};

const SYNC_TRY_COUNT_MAX: usize = 4;
/// A bracket up to this width, in ns, needs no other attempt.
const SYNC_UNCERTAINTY_GOOD: u64 = 200;

/// The processor's counter, invariant or not, that [`read_counter`] reads. Miri has none.
const COUNTER: Option<ClockSource> = if cfg!(all(target_arch = "x86_64", not(miri))) {
    Some(ClockSource::Tsc)
} else if cfg!(all(target_arch = "aarch64", not(miri))) {
    Some(ClockSource::ArmTimer)
} else {
    None
};

/// The source in use: CLOCK_MONOTONIC until `choose` finds a better one, before the first ring.
static SOURCE: AtomicU32 = AtomicU32::new(ClockSource::Monotonic as u32);

/// Chooses the source, once, before anything reads ticks.
pub(crate) fn choose() {
    if let Some(counter) = counter() {
        SOURCE.store(counter as u32, Ordering::Relaxed);
    }
}

/// Returns the processor's counter, if it is invariant.
fn counter() -> Option<ClockSource> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        const EXTENDED_MAX: u32 = 0x8000_0000;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        let max = core::arch::x86_64::__cpuid(EXTENDED_MAX).eax;
        if max >= POWER_MANAGEMENT
            && core::arch::x86_64::__cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
        {
            return Some(ClockSource::Tsc);
        }
    }
    if cfg!(all(target_arch = "aarch64", not(miri))) { Some(ClockSource::ArmTimer) } else { None }
}

#[inline]
pub(crate) fn source() -> ClockSource {
    match SOURCE.load(Ordering::Relaxed) {
        source if source == ClockSource::Tsc as u32 => ClockSource::Tsc,
        source if source == ClockSource::ArmTimer as u32 => ClockSource::ArmTimer,
        _ => ClockSource::Monotonic,
    }
}

/// Returns the ticks per second, if the platform states them; else 0.
pub(crate) fn rate() -> u64 {
    match source() {
        ClockSource::Monotonic => 1_000_000_000,
        #[cfg(target_arch = "x86_64")]
        ClockSource::Tsc => {
            const TSC_LEAF: u32 = 0x15;
            if core::arch::x86_64::__cpuid(0).eax < TSC_LEAF {
                return 0;
            }
            let leaf = core::arch::x86_64::__cpuid(TSC_LEAF);
            let scaled = u64::from(leaf.ecx) * u64::from(leaf.ebx);
            scaled.checked_div(u64::from(leaf.eax)).unwrap_or(0)
        }
        #[cfg(target_arch = "aarch64")]
        ClockSource::ArmTimer => {
            let rate: u64;
            // SAFETY: reads a register that every process may read, and touches no memory.
            unsafe {
                core::arch::asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack))
            };
            rate
        }
        _ => 0,
    }
}

/// Returns the system's monotonic clock, in ns.
#[inline(never)]
pub fn monotonic() -> u64 {
    let now = sys::clock(libc::CLOCK_MONOTONIC);
    // Miri's clock begins at zero and a block may take seconds: this adds a past and slows it.
    if cfg!(miri) { (1 << 41) + now / 64 } else { now }
}

/// Returns the time of day, in ns since 1970.
pub(crate) fn realtime() -> u64 {
    sys::clock(libc::CLOCK_REALTIME)
}

/// Returns the ticks, as the events have them.
#[inline]
pub fn ticks() -> u64 {
    if is_counter(source()) { read_counter() } else { monotonic() }
}

/// Returns whether the source is the processor's counter.
#[inline(always)]
pub(crate) fn is_counter(source: ClockSource) -> bool {
    COUNTER == Some(source)
}

/// Reads the processor's counter, whichever source is in use; returns 0 if the processor has none.
/// For the fast path, which cannot afford to read the source first, and needs no stack frame
/// because it calls no function.
#[inline(always)]
pub(crate) fn read_counter() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads a register that every process may read, and touches no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        return ticks;
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    return 0;
}

/// Keeps later readings of the counter after all earlier loads.
#[inline(always)]
pub fn wait_for_loads() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, which waits for all before it.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: waits for loads, and lets nothing after it begin before they are done.
    unsafe {
        core::arch::asm!("dsb ishld", "isb", options(nostack, preserves_flags));
    }
}

pub(crate) fn system_ticks(source: ClockSource) -> Option<u64> {
    (source == ClockSource::Monotonic).then(monotonic)
}

/// Reads one instant on the three clocks (`.time.sync`): of a few attempts, the narrowest.
pub(crate) fn sync() -> ClockSync {
    let mut best = try_sync();
    for _ in 1..SYNC_TRY_COUNT_MAX {
        if u64::from(best.uncertainty) <= SYNC_UNCERTAINTY_GOOD {
            break;
        }
        let next = try_sync();
        if next.uncertainty < best.uncertainty {
            best = next;
        }
    }
    best
}

fn try_sync() -> ClockSync {
    let before = monotonic();
    let ticks = ticks();
    let realtime = realtime();
    let after = monotonic();
    let bracket = after.saturating_sub(before);
    let uncertainty = u32::try_from(bracket).unwrap_or(u32::MAX);
    ClockSync { ticks, monotonic: before + bracket / 2, realtime, uncertainty }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.time.sync`
    #[test]
    fn a_sync_is_read_between_two_others() {
        choose();
        let first = sync();
        let middle = sync();
        let last = sync();
        assert!(first.ticks < middle.ticks && middle.ticks < last.ticks);
        assert!(first.monotonic < middle.monotonic && middle.monotonic < last.monotonic);
        assert!(middle.uncertainty < 1_000_000_000, "{middle:?}");
        let year_2020 = 1_577_836_800_000_000_000;
        assert!(middle.realtime > year_2020, "{middle:?}");
    }

    /// `.header.clock`
    #[test]
    fn ticks_advance_at_the_rate_that_the_syncs_show() {
        choose();
        let (from, to) = (sync(), {
            std::thread::sleep(std::time::Duration::from_millis(20));
            sync()
        });
        let per_second =
            (to.ticks - from.ticks) as f64 * 1e9 / (to.monotonic - from.monotonic) as f64;
        if rate() != 0 {
            assert!((per_second / rate() as f64 - 1.0).abs() < 0.05, "{per_second} {}", rate());
        }
        assert!(per_second > 1e6, "{:?} {per_second}", source());
    }
}
