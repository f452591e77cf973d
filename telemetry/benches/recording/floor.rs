//! The floors: the least that recording can cost, without anything that makes it a flight recorder.
//!
//! ```text
//!  off      load ─ test ─ branch
//!  memory   thread-local ring ─ counter ─ ── store ─ store ─ store ─ store ─ store
//!  file     the same, and write(2) for every 64 KiB
//! ```
//!
//! Raw pointers, because a floor that checks bounds would be too high. Names: `README.md`, Benchmarks.
#![expect(unsafe_code, reason = "the counter, and stores that nothing checks")]

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that one event takes in a floor: what three words take in a stream.
pub(crate) const EVENT_SIZE: usize = 32;
/// What is written at once.
const BLOCK_SIZE: usize = 64 * 1024;
/// The ring of a floor has two blocks, as rings of the runtime have at least.
const RING_SIZE: usize = 2 * BLOCK_SIZE;

/// Which kinds are on: none. Not constant, so that it must be loaded.
static KINDS: AtomicU64 = AtomicU64::new(0);

/// Bytes that events are stored into, in a circle.
pub(crate) struct Ring {
    /// F1: `RING_SIZE` bytes, aligned to 8.
    bytes: *mut u64,
    /// F2: a multiple of `EVENT_SIZE` below `RING_SIZE`.
    next: Cell<usize>,
    base: u64,
    file: Option<File>,
}

thread_local! {
    /// F3: null, or the ring that this thread has leaked.
    static RING: Cell<*const Ring> = const { Cell::new(std::ptr::null()) };
}

/// Makes the ring of this thread; with a file, its blocks are written there.
pub(crate) fn begin(file: Option<&Path>) {
    let bytes = vec![0u64; RING_SIZE / 8].leak().as_mut_ptr();
    let file = file.map(|path| File::create(path).expect("the floor's file can be created"));
    let ring = Ring { bytes, next: Cell::new(0), base: ticks(), file };
    RING.set(Box::leak(Box::new(ring)));
}

/// The processor's counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: reads a register that every process may read, and touches no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        return ticks;
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos() as u64);
}

/// Load, test, branch.
#[inline(always)]
pub(crate) fn off(a: u64, b: u64, c: u64) {
    if KINDS.load(Ordering::Relaxed) & 1 != 0 {
        never(a, b, c);
    }
}

#[cold]
#[inline(never)]
fn never(a: u64, b: u64, c: u64) {
    std::hint::black_box((a, b, c));
}

/// Thread-local ring pointer, counter read, five stores.
#[inline(always)]
pub(crate) fn memory(a: u64, b: u64, c: u64) {
    store(a, b, c);
}

/// The same, and the block is written when it is full.
#[inline(always)]
pub(crate) fn file(a: u64, b: u64, c: u64) {
    let next = store(a, b, c);
    if next.is_multiple_of(BLOCK_SIZE) {
        write_block(next);
    }
}

/// Stores one event; the place of the next.
#[inline(always)]
fn store(a: u64, b: u64, c: u64) -> usize {
    // SAFETY: F3; `begin` was called on this thread.
    let ring = unsafe { &*RING.get() };
    let next = ring.next.get();
    let delta = ticks().wrapping_sub(ring.base);
    // SAFETY: F1, F2: four words from `next` lie within the ring.
    unsafe {
        let at = ring.bytes.byte_add(next);
        at.write_volatile(delta << 32 | 0x0020_0001);
        at.add(1).write_volatile(a);
        at.add(2).write_volatile(b);
        at.add(3).write_volatile(c);
    }
    let following = (next + EVENT_SIZE) & (RING_SIZE - 1);
    ring.next.set(following);
    following
}

#[cold]
#[inline(never)]
fn write_block(next: usize) {
    // SAFETY: F3; `begin` was called on this thread.
    let ring = unsafe { &*RING.get() };
    let from = next.wrapping_sub(BLOCK_SIZE) & (RING_SIZE - 1);
    // SAFETY: F1: the block before `next` lies within the ring, and this thread alone stores into it.
    let block = unsafe {
        std::slice::from_raw_parts(ring.bytes.byte_add(from).cast::<u8>().cast_const(), BLOCK_SIZE)
    };
    if let Some(mut file) = ring.file.as_ref() {
        file.write_all(block).expect("the floor's file can be written");
    }
}
