//! How much of the larger blocks the program writes, for a sample of them.
//!
//! ```text
//!  malloc(64 KiB) ─▶ 15 pages lie in it alone, 12 are not in memory ─┐
//!  free ─▶ now 4 of these are ──────────────────────────────────────┴▶ Touched: 4 of 12
//! ```
//!
//! Pages that were already in memory show nothing, because some earlier use wrote them. Design:
//! `.rep.touched` in `design/replay.md`.
#![expect(unsafe_code, reason = "calls of the operating system about memory, and its numbers")]

use crate::events::{Allocator, Call, Process, Touched};
use crate::{chosen, functions, mappings, real, resident, stack, thread};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use telemetry::__private::{before, uncancelled};

/// Smaller blocks are not watched: hardly a page lies in one alone.
const SIZE_MIN: usize = 8 << 10;
/// The maximum number of blocks that are watched at a time; a power of two.
const PLACE_COUNT: usize = 1024;
/// The first 64 blocks of each class of sizes (four for each power of two) are watched, then every
/// second of as many again, then every fourth, and so on.
const CLASS_FIRST: u32 = 64;
const CLASS_COUNT: usize = 4 * usize::BITS as usize;
/// The line that is read of a file about the process is shorter.
const LINE_SIZE_MAX: usize = 256;
/// Pages in one system call, and the maximum number of such calls for one block.
const PAGES_AT_ONCE: usize = 256;
const ASKED_MAX: usize = 16;

/// The place is free.
const NONE: usize = 0;
/// A thread fills or empties the place.
const TAKEN: usize = 1;

/// The address of each watched block; or NONE, or TAKEN.
static ADDRESSES: [AtomicUsize; PLACE_COUNT] = [const { AtomicUsize::new(NONE) }; PLACE_COUNT];
/// Their sizes. These and the next ones are written only by the thread that made the place TAKEN.
static BLOCK_SIZES: [AtomicUsize; PLACE_COUNT] = [const { AtomicUsize::new(0) }; PLACE_COUNT];
/// Twice the number of pages that were in memory when the block was handed out, plus 1 if the block
/// was zeroed.
static RESIDENT: [AtomicUsize; PLACE_COUNT] = [const { AtomicUsize::new(0) }; PLACE_COUNT];
/// The blocks of each class of sizes so far.
static COUNTS: [AtomicU32; CLASS_COUNT] = [const { AtomicU32::new(0) }; CLASS_COUNT];

/// Begins to watch the block that a call hands out, or ends it for one that is given up.
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

/// Returns the place of an address in the table: all addresses have the low bits in common.
#[inline(always)]
fn place(address: usize) -> usize {
    const MIX: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;
    (address >> 4).wrapping_mul(MIX) >> (usize::BITS - PLACE_COUNT.trailing_zeros())
}

/// Returns whether the next block of this size belongs to the sample.
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
    let Some((_, resident)) = pages(address, size).filter(|(all, resident)| all > resident) else {
        return place.store(NONE, Ordering::Release);
    };
    BLOCK_SIZES[index].store(size, Ordering::Relaxed);
    RESIDENT[index].store(resident << 1 | usize::from(is_zeroed), Ordering::Relaxed);
    place.store(address, Ordering::Release);
}

/// Records how much of a block was written, and stops watching the block.
#[cold]
#[inline(never)]
fn end(index: usize, address: usize) {
    let place = &ADDRESSES[index];
    if place.compare_exchange(address, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    let size = BLOCK_SIZES[index].load(Ordering::Relaxed);
    let before_use = RESIDENT[index].load(Ordering::Relaxed);
    let (was, is_zeroed) = (before_use >> 1, before_use & 1 != 0);
    if let Some((all, resident)) = pages(address, size) {
        let page = real::page_size();
        let bytes = |pages: usize| pages.saturating_mul(page);
        let (looked, touched) = (bytes(all - was), bytes(resident.saturating_sub(was)));
        before(|| Touched::new(address, size, looked, touched, is_zeroed));
    }
    place.store(NONE, Ordering::Release);
}

/// Returns how many pages were examined, and how many of these are in memory: the pages that lie in
/// the block alone, or, for a large block, pages that are spread evenly over it.
fn pages(address: usize, size: usize) -> Option<(usize, usize)> {
    let page = real::page_size().max(1);
    let first = address.checked_add(page - 1)? / page;
    let count = (address.checked_add(size)? / page).checked_sub(first)?;
    let step = count.div_ceil(ASKED_MAX).max(PAGES_AT_ONCE);
    let (mut examined, mut resident, mut at) = (0, 0, 0);
    let mut residency = [0_u8; PAGES_AT_ONCE];
    let error = thread::errno();
    while at < count {
        let some = PAGES_AT_ONCE.min(count - at);
        let start = core::ptr::without_provenance_mut((first + at) * page);
        // SAFETY: the call writes a byte for each page, for which the array has room. It reads
        // nothing of the memory, which need not exist.
        if unsafe { libc::mincore(start, some * page, residency.as_mut_ptr().cast()) } != 0 {
            thread::set_errno(error);
            return None;
        }
        examined += some;
        resident += residency[..some].iter().filter(|page| **page & 1 != 0).count();
        at += step;
    }
    Some((examined, resident))
}

/// Records all blocks that are still watched, and the memory and processor time of the process.
/// Where functions are recorded, it records the calls that the filter dropped.
pub(crate) fn record_figures() {
    if functions::is_on() {
        return chosen::tell_all_muted();
    }
    for (index, place) in ADDRESSES.iter().enumerate() {
        let address = place.load(Ordering::Relaxed);
        if address != NONE && address != TAKEN {
            end(index, address);
        }
    }
    stack::tell_missing();
    let [user, system] = processor().unwrap_or_default();
    // What is mapped below does not count.
    let resident = resident_peak().unwrap_or_default();
    let recorder = resident::own().unwrap_or_default();
    before(|| Process::new(resident, user, system, recorder));
    real::with_library(|path| before(|| Allocator::new(path)));
}

/// Returns the processor time of this process in ns: user, system.
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

/// Returns the peak of resident memory since this program began, in bytes. (The figure of
/// `getrusage` includes the program that executed this one.)
fn resident_peak() -> Option<usize> {
    let mut kib = None;
    uncancelled(|| {
        mappings::each_line("/proc/self/status", &mut [0; LINE_SIZE_MAX], |line| {
            if let Some(rest) = line.strip_prefix(b"VmHWM:") {
                let digits = rest.iter().filter(|byte| byte.is_ascii_digit());
                let digits = digits.map(|byte| usize::from(byte - b'0'));
                kib = Some(digits.fold(0_usize, |sum, digit| sum.wrapping_mul(10) + digit));
            }
        });
    });
    kib?.checked_mul(1024)
}
