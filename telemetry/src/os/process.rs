//! What the operating system knows of this process, its family, its children, and files' times.
//!
//! ```text
//!  /proc/self/stat ─ ticks since boot ─▶ start ─ earlier than the log was written? ─▶ not emptied
//! ```
//!
//! Plain calls that neither allocate nor take a lock of the standard library.
//! Design: `.sol.fork` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::os::sys;
use core::ffi::{CStr, c_int};
use core::sync::atomic::AtomicU32;

/// The calls that take files of more than 2 GiB on machines of 32 bits as well.
mod files {
    #[cfg(not(target_os = "linux"))]
    pub(super) use libc::{fstat, stat};
    #[cfg(target_os = "linux")]
    pub(super) use libc::{fstat64 as fstat, stat64 as stat};
}

/// How much older than the writing of a file its time may be: a tick of the slowest kernel's clock.
const TICK: u64 = 10_000_000;
/// How much earlier than it did a process may seem to begin: what [`start`] rounds off, what it
/// takes off, and a little, for it is the difference of two clocks.
const START_ERROR_MAX: u64 = 2 * TICK + 1_000_000;
/// Numbers of processes and threads are less.
const NUMBER_COUNT_MAX: u64 = 1 << 22;
/// A time that was dated back holds such a number, and this below: no rounded time ends so.
const DATED_BACK: u64 = 0b01;
const DATED_BACK_BITS: u32 = 2;
/// What a time that was dated back is a multiple of, but for these.
const DATE_UNIT: u64 = NUMBER_COUNT_MAX << DATED_BACK_BITS;
/// So many processes and threads are surely not made while the start of one cannot be told from the
/// end of another.
const YOUNGER_COUNT_MAX: u64 = 1 << 13;

/// A mark that is 1, and in a child that is forked, by whatever call, 0; `None` where the system
/// has no such thing, as Miri has none.
pub(crate) fn map_fork_mark() -> Option<&'static AtomicU32> {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android")))]
    {
        const PAGE: usize = 4096;
        let page = crate::os::pages::map_bytes(PAGE)?.as_mut_ptr();
        // SAFETY: the page was mapped just now, private and of no file, for ever, and is aligned;
        // the call changes what becomes of it in a child, to zero, which is a value of what is put
        // there.
        unsafe {
            if libc::madvise(page.cast(), PAGE, libc::MADV_WIPEONFORK) != 0 {
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

/// When this process began, in ns since 1970, or somewhat before: the system counts ticks.
pub(crate) fn start() -> Option<u64> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        /// In ticks since the system began.
        const START: usize = 19;
        let mut text = [0; 1024];
        let ticks = stat_field(sys::read_file(c"/proc/self/stat", &mut text)?, START)?;
        // SAFETY: the call touches no memory.
        let rate = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
        let since_boot = ticks.checked_mul(1_000_000_000)?.checked_div(rate)?;
        let boot = time(libc::CLOCK_REALTIME).checked_sub(time(libc::CLOCK_BOOTTIME))?;
        boot.checked_add(since_boot)?.checked_sub(TICK)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// A field of `/proc/self/stat`, counted from the one after the name of the program. That stands in
/// parentheses and may hold anything.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn stat_field(stat: &[u8], field: usize) -> Option<u64> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 2..)?.split(|byte| *byte == b' ');
    number(fields.nth(field)?)
}

/// Whether this process was forked, and has executed no program since: by the kernel's word, so
/// also where nothing here was told of the fork. False where that cannot be known.
pub(crate) fn is_forked() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        /// The kernel's flags of a process.
        const FLAGS: usize = 6;
        /// Forked, but executed nothing (`PF_FORKNOEXEC`).
        const FORKED: u64 = 0x40;
        let mut text = [0; 1024];
        let stat = sys::read_file(c"/proc/self/stat", &mut text);
        stat.and_then(|stat| stat_field(stat, FLAGS)).is_some_and(|flags| flags & FORKED != 0)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    false
}

/// The process or thread that was made last, of all that this one can see.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn youngest() -> Option<u64> {
    let mut text = [0; 128];
    let text = sys::read_file(c"/proc/loadavg", &mut text)?;
    let last = text.trim_ascii_end().rsplit(|byte| *byte == b' ').next()?;
    number(last).filter(|number| (1..NUMBER_COUNT_MAX).contains(number))
}

#[cfg(any(target_os = "linux", target_os = "android", test))]
fn number(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// A clock of the system, in ns.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn time(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call. An error leaves it zero.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether this process surely comes of the one with this number, of this boot: it is its parent,
/// or leads the process group or the session that this one is in, and neither number is used again
/// while there is one.
pub(crate) fn is_descendant_of(process: u64) -> bool {
    // SAFETY: these calls touch no memory.
    let family = unsafe { [libc::getppid(), libc::getpgrp(), libc::getsid(0)] };
    let (own, _) = sys::process_ids();
    process > 1 && process != own && family.into_iter().any(|each| each as u64 == process)
}

/// When a file was written, in ns since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// As its writer says.
    modified: u64,
    /// As the system says.
    changed: u64,
}

impl Written {
    pub(crate) fn of(file: c_int) -> Option<Written> {
        // SAFETY: a stat is plain integers; the call fills one that lives through it.
        let stat = unsafe {
            let mut stat: files::stat = core::mem::zeroed();
            if files::fstat(file, &mut stat) != 0 {
                return None;
            }
            stat
        };
        let time = |seconds, nanoseconds| {
            u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
        };
        let modified = time(stat.st_mtime, stat.st_mtime_nsec as u64)?;
        Some(Written { modified, changed: time(stat.st_ctime, stat.st_ctime_nsec as u64)? })
    }

    /// Whether its writer may have been there when this process began, or after.
    pub(crate) fn is_since_start(self) -> bool {
        start().is_none_or(|start| {
            let may_be_younger = |youngest| !is_after(youngest, sys::process_ids().0);
            start <= self.modified
                || start <= self.changed && self.youngest().is_some_and(may_be_younger)
        })
    }

    /// What [`date_back`] says: the process or thread that had been made last by then.
    fn youngest(self) -> Option<u64> {
        // The system's times are those of its last tick.
        let ages = START_ERROR_MAX - TICK..START_ERROR_MAX + DATE_UNIT + 10 * TICK;
        let is_dated_back = self.modified % (1 << DATED_BACK_BITS) == DATED_BACK
            && ages.contains(&self.changed.checked_sub(self.modified)?);
        is_dated_back.then_some((self.modified % DATE_UNIT) >> DATED_BACK_BITS)
    }
}

/// Whether a process was made after another one or a thread: numbers are given in order, and begin
/// again when all were.
fn is_after(number: u64, process: u64) -> bool {
    (1..YOUNGER_COUNT_MAX).contains(&process.wrapping_sub(number))
}

/// Whether there is something of this name that is no regular file.
pub(crate) fn is_other_than_file(path: &CStr) -> bool {
    // SAFETY: `path` ends with a NUL; a stat is plain integers, and the call fills one that lives
    // through it.
    unsafe {
        let mut stat: files::stat = core::mem::zeroed();
        files::stat(path.as_ptr(), &mut stat) == 0 && stat.st_mode & libc::S_IFMT != libc::S_IFREG
    }
}

/// Notes at a file that it was written now.
pub(crate) fn touch(file: c_int) {
    let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
    // SAFETY: reads two times that live through the call.
    unsafe { libc::futimens(file, [now, now].as_ptr()) };
}

/// Notes at a file that it was written before any process began that begins from now on, however
/// [`start`] is rounded; and which is the youngest of those that have begun.
pub(crate) fn date_back(file: c_int) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let Some(youngest) = youngest() else { return };
        let Some(then) = time(libc::CLOCK_REALTIME).checked_sub(START_ERROR_MAX) else { return };
        let place = youngest << DATED_BACK_BITS | DATED_BACK;
        let Some(before) = then.checked_sub(place) else { return };
        let then = before - before % DATE_UNIT + place;
        let written = libc::timespec {
            tv_sec: (then / 1_000_000_000) as libc::time_t,
            tv_nsec: (then % 1_000_000_000) as _,
        };
        let same = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT };
        // SAFETY: reads two times that live through the call.
        unsafe { libc::futimens(file, [same, written].as_ptr()) };
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = file;
}

/// Whether this process surely never had a child, by whatever call: none that it has, and none that
/// it waited for. False where that cannot be known.
pub(crate) fn never_had_children() -> bool {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android")))]
    // SAFETY: structures of plain integers and pointers that may be null, for which zeros are
    // values, and which live through the calls that fill them.
    unsafe {
        // Whose children are not waited for is not told of those that ended.
        let mut action: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(libc::SIGCHLD, core::ptr::null(), &mut action) != 0
            || action.sa_sigaction == libc::SIG_IGN
            || action.sa_flags & libc::SA_NOCLDWAIT != 0
        {
            return false;
        }
        let mut usage: libc::rusage = core::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) != 0
            || (usage.ru_maxrss, usage.ru_minflt) != (0, 0)
        {
            return false;
        }
        // It stays as it is, and is waited for by whoever does.
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        let mut child: libc::siginfo_t = core::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &mut child, how) != 0 && sys::errno() == libc::ECHILD
    }
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_read_whatever_its_program_is_called() {
        let fields = (3..=52).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        for name in ["prog", "a) b (c", ")", ""] {
            let stat = format!("4711 ({name}) {fields}");
            assert_eq!(stat_field(stat.as_bytes(), 19), Some(22), "{name}");
        }
        assert_eq!(stat_field(b"4711 (prog", 19), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_began_before_now_and_not_long_ago() {
        let now = time(libc::CLOCK_REALTIME);
        let start = start().expect("Linux says it");
        assert!(start < now && now - start < 3_600_000_000_000, "{start} {now}");
    }

    /// As a program leaves its log that ends in good order.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_file_that_is_dated_back_says_which_process_was_the_youngest() {
        use std::os::fd::AsRawFd;
        let file = tempfile::tempfile().expect("a file");
        let plain = Written::of(file.as_raw_fd()).expect("its times");
        assert_eq!(plain.youngest(), None);
        let before = youngest().expect("Linux says it");
        date_back(file.as_raw_fd());
        let after = youngest().expect("Linux says it");
        let written = Written::of(file.as_raw_fd()).expect("its times");
        let found = written.youngest().expect("it is dated back");
        assert!((before..=after).contains(&found) || after < before, "{before} {found} {after}");
        let age = written.changed - written.modified;
        assert!((START_ERROR_MAX - TICK..START_ERROR_MAX + 2 * DATE_UNIT).contains(&age), "{age}");
        // Rounded by a host with coarser times.
        let modified = written.modified / 1000 * 1000;
        assert_eq!(Written { modified, ..written }.youngest(), None);
    }

    #[test]
    fn numbers_of_processes_are_in_order_until_they_begin_again() {
        assert!(is_after(100, 101) && is_after(100, 8000));
        assert!(!is_after(100, 100) && !is_after(100, 99) && !is_after(310, 32_760));
    }
}
