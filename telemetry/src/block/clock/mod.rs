//! Ticks, and the instants that relate them to time.
//!
//! ```text
//!  CPUID: invariant counter? ─ yes ─▶ rdtsc        Arm ─▶ cntvct_el0        else CLOCK_MONOTONIC
//!  sync:  monotonic ── ticks ── realtime ── monotonic    best of a few; uncertain by the bracket
//! ```
//!
//! Design: `.sol.clock` in `design/telemetry.md`; `.header.clock`, `.time.sync` in
//! `design/format.md`.

// Elsewhere the module has no counter.
#[cfg_attr(
    all(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")), not(miri)),
    path = "x86.rs"
)]
#[cfg_attr(all(target_arch = "aarch64", not(miri)), path = "arm.rs")]
mod counter;

use crate::os::sys;
use core::sync::atomic::{AtomicU32, Ordering};
use eventlog::format::{ClockSource, ClockSync};

const SYNC_TRY_COUNT_MAX: usize = 4;
/// A bracket up to this width, in ns, needs no other attempt.
const SYNC_UNCERTAINTY_GOOD: u64 = 200;

/// The source in use: CLOCK_MONOTONIC until `choose` finds a better one, before the first ring.
static SOURCE: AtomicU32 = AtomicU32::new(ClockSource::Monotonic as u32);

/// Chooses the source, once, before anything reads ticks.
pub(crate) fn choose() {
    if let Some(counter) = counter::SOURCE.filter(|_| counter::is_invariant()) {
        SOURCE.store(counter as u32, Ordering::Relaxed);
    }
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
    if is_counter(source()) { counter::rate() } else { 1_000_000_000 }
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
    counter::SOURCE == Some(source)
}

/// Reads the processor's counter, whichever source is in use; returns 0 if the processor has none.
/// For the fast path, which cannot afford to read the source first, and needs no stack frame
/// because it calls no function.
#[inline(always)]
pub(crate) fn read_counter() -> u64 {
    counter::read()
}

/// Keeps later readings of the counter after all earlier loads.
#[inline(always)]
pub fn wait_for_loads() {
    counter::wait_for_loads();
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

/// Returns the ticks `age` ns ago, or smaller ones, by the rate since an earlier sync. `None`: the
/// syncs do not tell the rate.
pub(crate) fn ticks_before(age: u64, earlier: &ClockSync) -> Option<u64> {
    /// The system's clock may be slowed or sped up by this fraction of itself.
    const SLEW_FRACTION: u64 = 500;
    let now = sync();
    let measured = now.monotonic.checked_sub(earlier.monotonic)?;
    let unsure = u64::from(now.uncertainty) + u64::from(earlier.uncertainty);
    let time = measured.checked_sub(measured / SLEW_FRACTION + unsure)?;
    let ticks = u128::from(now.ticks.checked_sub(earlier.ticks)?) * u128::from(age);
    let ticks = ticks.checked_div(time.into())?;
    Some(now.ticks.saturating_sub(u64::try_from(ticks).unwrap_or(u64::MAX)))
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

    #[test]
    fn ticks_of_a_time_ago_are_never_later_than_that_time() {
        choose();
        let earlier = sync();
        let ticks = ticks();
        let begin = monotonic();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let before = ticks_before(monotonic() - begin, &earlier).expect("a rate");
        assert!(before <= self::ticks(), "{before}");
        assert!(before <= ticks + rate().max(1) / 100, "{before} {ticks}");
        assert_eq!(ticks_before(u64::MAX, &earlier), Some(0));
        let later = ClockSync { monotonic: u64::MAX, ..earlier };
        assert_eq!(ticks_before(1, &later), None);
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
