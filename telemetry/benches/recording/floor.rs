//! The floors: the least that recording can cost, without anything that makes it a flight recorder.
//!
//! ```text
//!  off      load ─ test ─ branch
//!  memory   thread-local ring ─ counter ─ ── store ─ store ─ store ─ store ─ store
//!  file     the same, and write(2) for every 64 KiB
//!  writer   the same, but a thread that polls does the writing
//! ```
//!
//! Raw pointers, because a floor that checks bounds would be too high.
//! Names: `docs/benchmarks.md`.
#![expect(unsafe_code, reason = "the counter, and stores that nothing checks")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Bytes that one event takes in a floor: what three words take in a stream.
pub(crate) const EVENT_SIZE: usize = 32;
/// What is written at once.
const BLOCK_SIZE: usize = 64 * 1024;
/// Blocks of a ring: what rings of the runtime have, without and with a writer thread.
const BLOCK_COUNT: usize = 2;
const BLOCK_COUNT_WITH_WRITER: usize = 8;

/// Which kinds are on: none. Not constant, so that it must be loaded.
static KINDS: AtomicU64 = AtomicU64::new(0);

/// Bytes that events are stored into, in a circle.
pub(crate) struct Ring {
    /// F1: `mask` + 1 bytes, a power of two, aligned to 8, leaked.
    bytes: *mut u64,
    mask: usize,
    /// F2: a multiple of `EVENT_SIZE` below `mask`.
    next: Cell<usize>,
    base: u64,
    write: Option<Write>,
    progress: &'static Progress,
}

/// Writes a full block.
pub(crate) type Write = Box<dyn Fn(&[u8])>;

/// Blocks that were filled by the thread that records, and written by the writer.
#[derive(Default)]
struct Progress {
    filled: AtomicUsize,
    written: AtomicUsize,
}

thread_local! {
    /// F3: null, or the ring that this thread has leaked.
    static RING: Cell<*const Ring> = const { Cell::new(std::ptr::null()) };
}

/// Makes the ring of this thread; with a file, its blocks are written there.
pub(crate) fn begin(file: Option<&Path>) {
    begin_writing(file.map(|path| {
        let file = File::create(path).expect("the floor's file can be created");
        Box::new(move |block: &[u8]| {
            (&file).write_all(block).expect("the floor's file can be written");
        }) as Write
    }));
}

/// Makes the ring of this thread, and gives its full blocks to `write`.
pub(crate) fn begin_writing(write: Option<Write>) {
    make_ring(BLOCK_COUNT, write);
}

/// Whether it is the turn of the floor's writer, which otherwise leaves the processor alone: with
/// two of them there is none to spare.
static IS_WRITERS_TURN: AtomicBool = AtomicBool::new(false);

/// Lets the floor's writer poll while `run` runs.
pub(crate) fn with_writer(run: impl FnOnce()) {
    IS_WRITERS_TURN.store(true, Ordering::Relaxed);
    run();
    IS_WRITERS_TURN.store(false, Ordering::Relaxed);
}

/// Makes the ring of this thread, and a thread that writes its blocks.
pub(crate) fn begin_with_writer(path: &Path) {
    let mut file = File::create(path).expect("the floor's file can be created");
    let (words, progress) = make_ring(BLOCK_COUNT_WITH_WRITER, None);
    std::thread::spawn(move || {
        for (written, block) in (0..BLOCK_COUNT_WITH_WRITER).cycle().enumerate() {
            while progress.filled.load(Ordering::Acquire) == written {
                if IS_WRITERS_TURN.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                } else {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            }
            let start = words[block * BLOCK_SIZE / 8].as_ptr();
            // SAFETY: F1: within the ring. The thread that records stores nothing here until
            // `written` says so.
            let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), BLOCK_SIZE) };
            file.write_all(bytes).expect("the floor's file can be written");
            progress.written.store(written + 1, Ordering::Release);
        }
    });
}

fn make_ring(
    block_count: usize,
    write: Option<Write>,
) -> (&'static [AtomicU64], &'static Progress) {
    let size = block_count * BLOCK_SIZE;
    // Written beforehand, so that no page is new.
    let words: Vec<AtomicU64> = (0..size / 8).map(|_| AtomicU64::new(u64::MAX)).collect();
    let words: &'static [AtomicU64] = words.leak();
    let progress: &'static Progress = Box::leak(Box::default());
    let bytes = words[0].as_ptr();
    let ring = Ring { bytes, mask: size - 1, next: Cell::new(0), base: ticks(), write, progress };
    RING.set(Box::leak(Box::new(ring)));
    (words, progress)
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

/// Memory of three words, taken from an allocator and given back.
#[inline(always)]
pub(crate) fn pair(allocator: &impl GlobalAlloc) {
    const THREE_WORDS: Layout = Layout::new::<[u64; 3]>();
    // SAFETY: the size is not zero; what was taken is given back once, as it was asked for.
    unsafe { allocator.dealloc(std::hint::black_box(allocator.alloc(THREE_WORDS)), THREE_WORDS) };
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

/// The same, and the block is handed to the writer when it is full.
#[inline(always)]
pub(crate) fn file_writer(a: u64, b: u64, c: u64) {
    let next = store(a, b, c);
    if next.is_multiple_of(BLOCK_SIZE) {
        hand_over();
    }
}

#[cold]
#[inline(never)]
fn hand_over() {
    // SAFETY: F3: the ring was leaked by `begin_with_writer`, which was called on this thread.
    let progress = unsafe { (*RING.get()).progress };
    let filled = progress.filled.fetch_add(1, Ordering::Release) + 1;
    while filled - progress.written.load(Ordering::Acquire) >= BLOCK_COUNT_WITH_WRITER {
        std::hint::spin_loop();
    }
}

/// Stores one event; the place of the next.
#[inline(always)]
fn store(a: u64, b: u64, c: u64) -> usize {
    // SAFETY: F3: the ring was leaked by `begin`, which was called on this thread.
    let ring = unsafe { &*RING.get() };
    let next = ring.next.get();
    let delta = ticks().wrapping_sub(ring.base);
    // SAFETY: F1, F2: four words from `next` lie within the ring, in a block that nobody reads now.
    unsafe {
        let at = ring.bytes.byte_add(next);
        at.write_volatile(delta << 32 | 0x0020_0001);
        at.add(1).write_volatile(a);
        at.add(2).write_volatile(b);
        at.add(3).write_volatile(c);
    }
    let following = (next + EVENT_SIZE) & ring.mask;
    ring.next.set(following);
    following
}

#[cold]
#[inline(never)]
fn write_block(next: usize) {
    // SAFETY: F3: the ring was leaked by `begin`, which was called on this thread.
    let ring = unsafe { &*RING.get() };
    let from = next.wrapping_sub(BLOCK_SIZE) & ring.mask;
    // SAFETY: F1: the block before `next` lies within the ring; this thread alone stores there.
    let block = unsafe {
        std::slice::from_raw_parts(ring.bytes.byte_add(from).cast::<u8>().cast_const(), BLOCK_SIZE)
    };
    if let Some(write) = &ring.write {
        write(block);
    }
}
