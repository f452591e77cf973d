//! The processor's counter, or the nearest substitute.
//!
//! ```text
//!  x86-64: lfence, rdtsc          elsewhere: the monotonic clock, in ns
//! ```
//!
//! Design: `.rep.latency` in `design/replay.md`.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the counter is an instruction"))]

/// Returns ticks since some time in the past. All earlier instructions are done before.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn counter() -> u64 {
    // SAFETY: every x86-64 has both instructions, which touch no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
}

/// Returns ticks since some time in the past.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn counter() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Returns the cost of reading the counter in ticks: the median of many readings.
pub(crate) fn cost() -> u64 {
    let mut costs: Vec<u64> = (0..1001)
        .map(|_| {
            let before = counter();
            counter().wrapping_sub(before)
        })
        .collect();
    costs.sort_unstable();
    costs.get(costs.len() / 2).copied().unwrap_or_default()
}
