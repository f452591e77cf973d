//! How much of what is handed out the program writes: looked at, of a sample of larger blocks.
//!
//! ```text
//!  malloc(64 KiB) ─▶ 15 pages lie in it alone, 12 are not in memory ─┐
//!  free ─▶ now 4 of these are ──────────────────────────────────────┴▶ Touched: 4 of 12
//! ```
//!
//! Pages that are in memory already say nothing: somebody wrote them before. Design:
//! `.rep.touched` in `design/replay.md`.
#![expect(unsafe_code, reason = "calls of the operating system about memory, and its numbers")]

use crate::events::{Call, Process, Touched};
use crate::real;
use crate::thread;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use telemetry::__private::before;

/// What is smaller is written where it is used: hardly a page lies in it alone.
const SIZE_MIN: usize = 8 << 10;
/// Blocks that are watched at a time, at most; a power of two.
const PLACE_COUNT: usize = 1024;
/// Of each class of sizes (four for each power of two) so many blocks are watched, then as many of
/// twice as many, and so on.
const CLASS_FIRST: u32 = 64;
const CLASS_COUNT: usize = 4 * usize::BITS as usize;
/// Pages that are asked about at once, and how often that is done for one block, at most.
const PAGES_AT_ONCE: usize = 256;
const ASKED_MAX: usize = 16;

/// No block: nobody has the place.
const NONE: usize = 0;
/// No block: somebody fills or empties the place.
const TAKEN: usize = 1;

/// Each address is that of a block that is watched, NONE or TAKEN.
static ADDRESSES: [AtomicUsize; PLACE_COUNT] = [const { AtomicUsize::new(NONE) }; PLACE_COUNT];
/// What is known of it: written only by the thread that has the place TAKEN.
static ABOUT: [About; PLACE_COUNT] = [const { About::new() }; PLACE_COUNT];
static COUNTS: [AtomicU32; CLASS_COUNT] = [const { AtomicU32::new(0) }; CLASS_COUNT];

struct About {
    /// Its size; the lowest bit of the other word is whether it was zeroed.
    size: AtomicUsize,
    /// Pages that were in memory when it was handed out, twice.
    there: AtomicUsize,
}

impl About {
    const fn new() -> About {
        About { size: AtomicUsize::new(0), there: AtomicUsize::new(0) }
    }
}

/// Looks at a call: blocks begin to be watched, and are given up.
#[inline(always)]
pub(crate) fn observe(call: Call) {
    match call {
        Call::Malloc { address, size } | Call::Realloc { address, size } if size >= SIZE_MIN => {
            watch(address, size, false);
        }
        Call::Calloc { address, count, size } if count.saturating_mul(size) >= SIZE_MIN => {
            watch(address, count.saturating_mul(size), true);
        }
        Call::Free { address } | Call::ReallocBegin { address } => {
            let index = place(address);
            if address != 0 && ADDRESSES[index].load(Ordering::Relaxed) == address {
                end(index, address);
            }
        }
        _ => {}
    }
}

/// Blocks are told apart by the bits above those which all of them have in common.
#[inline(always)]
fn place(address: usize) -> usize {
    const MIX: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;
    (address >> 4).wrapping_mul(MIX) >> (usize::BITS - PLACE_COUNT.trailing_zeros())
}

/// Whether the next block of this size is of the sample.
fn is_chosen(size: usize) -> bool {
    let log2 = size.ilog2();
    let class = 4 * log2 as usize + (size >> (log2 - 2) & 3);
    let Some(count) = COUNTS.get(class) else { return false };
    let count = count.fetch_add(1, Ordering::Relaxed);
    let doublings = (count / CLASS_FIRST).checked_ilog2().map_or(0, |log2| log2 + 1);
    count & ((1 << doublings) - 1) == 0
}

#[cold]
#[inline(never)]
fn watch(address: usize, size: usize, is_zeroed: bool) {
    if address == 0 || !is_chosen(size) {
        return;
    }
    let index = place(address);
    let place = &ADDRESSES[index];
    let is_free = |was| was == NONE || was == address;
    let taken = place
        .fetch_update(Ordering::Acquire, Ordering::Relaxed, |was| is_free(was).then_some(TAKEN));
    if taken.is_err() {
        return;
    }
    let Some((_, there)) = pages(address, size).filter(|(looked, there)| looked > there) else {
        return place.store(NONE, Ordering::Release);
    };
    ABOUT[index].size.store(size, Ordering::Relaxed);
    ABOUT[index].there.store(there << 1 | usize::from(is_zeroed), Ordering::Relaxed);
    place.store(address, Ordering::Release);
}

/// Records how much of a block was written, and watches it no longer.
#[cold]
#[inline(never)]
fn end(index: usize, address: usize) {
    let place = &ADDRESSES[index];
    if place.compare_exchange(address, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    let size = ABOUT[index].size.load(Ordering::Relaxed);
    let about = ABOUT[index].there.load(Ordering::Relaxed);
    let (was, is_zeroed) = (about >> 1, about & 1 != 0);
    if let Some((looked, there)) = pages(address, size) {
        let page = real::page_size();
        let bytes = |pages: usize| pages.saturating_mul(page);
        let (looked, touched) = (bytes(looked - was), bytes(there.saturating_sub(was)));
        before(|| Touched::new(address, size, looked, touched, is_zeroed));
    }
    place.store(NONE, Ordering::Release);
}

/// Of the pages that lie in a block alone, or of some spread evenly over a large block: how many
/// were looked at, and how many of these are in memory.
fn pages(address: usize, size: usize) -> Option<(usize, usize)> {
    let page = real::page_size().max(1);
    let first = address.checked_add(page - 1)? / page;
    let count = (address.checked_add(size)? / page).checked_sub(first)?;
    let step = count.div_ceil(ASKED_MAX).max(PAGES_AT_ONCE);
    let (mut looked, mut there, mut at) = (0, 0, 0);
    let mut residency = [0_u8; PAGES_AT_ONCE];
    let error = thread::errno();
    while at < count {
        let some = PAGES_AT_ONCE.min(count - at);
        let start = core::ptr::without_provenance_mut((first + at) * page);
        // SAFETY: the call writes a byte for each page, for which there is room, and reads nothing
        // of the memory, which need not be there.
        if unsafe { libc::mincore(start, some * page, residency.as_mut_ptr().cast()) } != 0 {
            thread::set_errno(error);
            return None;
        }
        looked += some;
        there += residency[..some].iter().filter(|page| **page & 1 != 0).count();
        at += step;
    }
    Some((looked, there))
}

/// Tells of the blocks that are still watched, and what the process took.
pub(crate) fn tell() {
    for (index, place) in ADDRESSES.iter().enumerate() {
        let address = place.load(Ordering::Relaxed);
        if address != NONE && address != TAKEN {
            end(index, address);
        }
    }
    let [user, system] = processor().unwrap_or_default();
    let resident = resident_peak().unwrap_or_default();
    before(|| Process::new(resident, user, system));
}

/// Processor time of this process, in ns.
fn processor() -> Option<[usize; 2]> {
    // SAFETY: all bits may be zero; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0).then_some(usage)
    }?;
    let ns =
        |time: libc::timeval| time.tv_sec as usize * 1_000_000_000 + time.tv_usec as usize * 1000;
    Some([ns(usage.ru_utime), ns(usage.ru_stime)])
}

/// The most memory that was resident since this program began, in bytes. (What `getrusage` says has
/// that of the program which executed this one, too.)
fn resident_peak() -> Option<usize> {
    let mut text = [0_u8; 4096];
    // SAFETY: the name ends with a NUL, the buffer has the size that is told, the file is closed
    // once. System calls, not the functions, at which a thread might be cancelled.
    let size = unsafe {
        let path = c"/proc/self/status".as_ptr();
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags) as c_int;
        if file < 0 {
            return None;
        }
        let size = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        libc::syscall(libc::SYS_close, file);
        usize::try_from(size).ok()?
    };
    let mut lines = text.get(..size)?.split(|byte| *byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    let kib = digits.fold(0_usize, |sum, digit| sum.wrapping_mul(10) + usize::from(digit - b'0'));
    kib.checked_mul(1024)
}
