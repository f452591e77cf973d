//! Facts of the operating system about this process: its start, and a mark of a fork.
//!
//! ```text
//!  /proc/self/stat ─ ticks since boot ─▶ start ─ before a stream of the same number began?
//! ```
//!
//! Plain calls that neither allocate nor take a lock of the standard library.
//! Design: `.sol.fork` in `design/telemetry.md`.
#![cfg_attr(
    any(target_os = "linux", target_os = "android"),
    expect(unsafe_code, reason = "calls of the C library")
)]

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::os::sys;
use core::sync::atomic::AtomicU32;

/// The greatest rounding error of [`start`]: a tick of the slowest kernel's clock, in ns.
#[cfg(any(target_os = "linux", target_os = "android"))]
const TICK: u64 = 10_000_000;

/// Maps a mark that is 1, and 0 in a forked child, whichever call made it; returns `None` where the
/// system lacks this, as Miri does, or ignores it, as `qemu-user` does.
pub(crate) fn map_fork_mark() -> Option<&'static AtomicU32> {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android")))]
    {
        const PAGE: usize = 4096;
        /// No kernel has it. A system that takes it takes any advice, and follows none.
        const NO_ADVICE: libc::c_int = -1;
        let page = crate::os::pages::map_bytes(PAGE)?.as_mut_ptr();
        // SAFETY: the page was just mapped, private, without a file, for ever, and is aligned. The
        // calls make it zero in a child, which is a value of the mark.
        unsafe {
            let advise = |advice| libc::madvise(page.cast(), PAGE, advice) == 0;
            if advise(NO_ADVICE) || !advise(libc::MADV_WIPEONFORK) {
                return None;
            }
            let mark = AtomicU32::from_ptr(page.cast());
            mark.store(1, core::sync::atomic::Ordering::Relaxed);
            Some(mark)
        }
    }
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    None
}

/// Returns the start of this process, in ns since 1970, or a little before: the system counts
/// ticks.
pub(crate) fn start() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return sys::clock(libc::CLOCK_REALTIME).checked_sub(age()?)?.checked_sub(TICK);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// Returns the time since the start of this process, in ns, or a little more: the system counts
/// ticks, and rounds down. May run in a signal handler.
pub(crate) fn age() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        /// In ticks since the system began.
        const START: usize = 19;
        let mut text = [0; 1024];
        let ticks = stat_field(sys::read_file(c"/proc/self/stat", &mut text)?, START)?;
        // SAFETY: the call touches no memory.
        let rate = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
        let since_boot = ticks.checked_mul(1_000_000_000)?.checked_div(rate)?;
        sys::clock(libc::CLOCK_BOOTTIME).checked_sub(since_boot)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// Returns a field of `/proc/self/stat`, counted from the one after the program's name. The name is
/// in parentheses and may contain anything.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn stat_field(stat: &[u8], field: usize) -> Option<u64> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 2..)?.split(|byte| *byte == b' ');
    core::str::from_utf8(fields.nth(field)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_found_behind_any_program_name() {
        let fields = (3..=52).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        for name in ["prog", "a) b (c", ")", ""] {
            let stat = format!("4711 ({name}) {fields}");
            assert_eq!(stat_field(stat.as_bytes(), 19), Some(22), "{name}");
        }
        assert_eq!(stat_field(b"4711 (prog", 19), None);
    }
}
