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

use crate::os::atomic::{AtomicU32, Ordering};
use crate::os::sys;
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
    if is_counter(source()) { whole(read_counter()) } else { monotonic() }
}

/// Returns whether the source is the processor's counter.
fn is_counter(source: ClockSource) -> bool {
    counter::SOURCE == Some(source)
}

/// The halves of ticks, the lower one first: as x86 reads its counter.
pub(crate) type Halves = [u32; 2];

#[inline(always)]
pub(crate) fn whole([low, high]: Halves) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
pub(crate) fn halves(ticks: u64) -> Halves {
    [ticks as u32, (ticks >> 32) as u32]
}

/// Ticks that one thread and its signal handlers store. A handler that comes between the stores of
/// the halves finds the lower one new and the higher one old: ticks that are long past, if the
/// higher half changes.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct OwnTicks([AtomicU32; 2]);

impl OwnTicks {
    pub(crate) const fn zero() -> OwnTicks {
        OwnTicks([const { AtomicU32::new(0) }; 2])
    }

    #[inline(always)]
    pub(crate) fn set(&self, [low, high]: Halves) {
        self.0[0].store(low, Ordering::Relaxed);
        self.0[1].store(high, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Halves {
        [self.0[0].load(Ordering::Relaxed), self.0[1].load(Ordering::Relaxed)]
    }
}

/// Reads the processor's counter, whichever source is in use. For the fast path, which cannot
/// afford to read the source first, and needs no stack frame because it calls no function.
#[inline(always)]
pub(crate) fn read_counter() -> Halves {
    counter::read()
}

/// Returns the ticks from a base to a later value of the counter, and whether they fit 32 bits.
#[inline(always)]
pub(crate) fn since(counter: Halves, base: &OwnTicks) -> (u32, bool) {
    let [delta, high] = counter::since(counter, base);
    (delta, high == 0)
}

/// Returns what [`since`] needs as the base of these ticks. If the counter is not the source, that
/// is half of all values away from the counter: no delta fits.
pub(crate) fn counter_base(ticks: u64) -> Halves {
    if is_counter(source()) {
        return halves(ticks);
    }
    halves(whole(read_counter()).wrapping_add(1 << 63))
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

    /// `.event.delta`: against a subtraction of 64 bits.
    #[test]
    fn a_delta_fits_exactly_where_32_bits_hold_it() {
        choose();
        let near = [0, 1, 2, u64::from(u32::MAX) - 1, u32::MAX.into(), 1 << 32, (1 << 32) + 1];
        let far = [1 << 33, 1 << 63, u64::MAX - 1, u64::MAX];
        for counter in near.into_iter().chain(far).map(|ticks| ticks.wrapping_add(1 << 40)) {
            for delta in near.into_iter().chain(far) {
                let base = counter.wrapping_sub(delta);
                let own = OwnTicks::zero();
                own.set(halves(base));
                assert_eq!(whole(own.get()), base);
                let found = since(halves(counter), &own);
                let fits = counter::SOURCE.is_some() && delta <= u32::MAX.into();
                assert_eq!(found.1, fits, "{counter:x} {delta:x}");
                assert!(!fits || u64::from(found.0) == delta, "{counter:x} {delta:x}");
            }
        }
        let own = OwnTicks::zero();
        own.set(counter_base(ticks()));
        assert_eq!(since(read_counter(), &own).1, is_counter(source()));
    }

    /// A base of the system's clock is near to no value of the counter.
    #[test]
    fn a_base_of_another_clock_never_fits() {
        let base = if is_counter(source()) { return } else { counter_base(ticks()) };
        let own = OwnTicks::zero();
        own.set(base);
        assert!(!since(read_counter(), &own).1);
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
