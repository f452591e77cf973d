//! Pages from the operating system, and blocks as places in them.
//!
//! ```text
//!  mmap ─▶ │ block │ block │ …  │ a ring │          never given back, never moved
//!
//!  block:  │ header, 16 words │ ···· gap ···· │ newest │ … │ oldest │
//!                             claim: size bytes ┘└ last             └ top
//! ```
//!
//! Everything here lives as long as the process, which makes references to it `'static`. Nothing
//! comes from the allocator. Design: `.sol.memory` in `design/telemetry.md`; `.write` in
//! `design/format.md`.
#![expect(unsafe_code, reason = "memory from the operating system, and events laid out in it")]

use bytemuck::Zeroable;
use core::marker::PhantomData;
use core::mem::{align_of, offset_of, size_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use eventdef::ParamSink;
use eventlog::format::{
    BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BaseRecord,
    BlockHeader, ClockSync, EventHeader, block_state, block_state_step,
};

/// log2 of the block size, unless another was chosen: 64 KiB.
pub const BLOCK_SIZE_LOG2_DEFAULT: u8 = 16;
/// Set in `BLOCK_SIZE` once there is a block.
const CHOSEN: u32 = 1 << 8;

static BLOCK_SIZE: AtomicU32 = AtomicU32::new(BLOCK_SIZE_LOG2_DEFAULT as u32);

/// log2 of the size of every block of the process.
pub(crate) fn block_size_log2() -> u8 {
    BLOCK_SIZE.load(Ordering::Relaxed) as u8
}

/// Size of every block of the process, in bytes.
pub(crate) fn block_size() -> usize {
    1 << block_size_log2()
}

/// Chooses the block size; false where there is a block already, or the size is none that the
/// format has.
pub(crate) fn choose_block_size(log2: u8) -> bool {
    let old = BLOCK_SIZE.load(Ordering::Relaxed);
    (BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&log2)
        && old & CHOSEN == 0
        && BLOCK_SIZE
            .compare_exchange(old, u32::from(log2), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

/// From here on the block size stands.
pub(crate) fn fix_block_size() {
    BLOCK_SIZE.fetch_or(CHOSEN, Ordering::Relaxed);
}

/// Pages of zeros for ever, touched beforehand so that using them faults no more.
fn map(size: usize) -> Option<NonNull<u8>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANON;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new private mapping, placed by the system, changes no memory that exists.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), size, access, FLAGS, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

/// Zeroed bytes for ever.
pub(crate) fn map_bytes(size: usize) -> Option<&'static mut [u8]> {
    let start = map(size)?;
    // SAFETY: `size` mapped bytes, zero, that nothing else points to and nothing unmaps.
    Some(unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), size) })
}

/// Puts a small value into pages of its own, for ever.
pub(crate) fn place<T>(value: T) -> Option<&'static T> {
    const { assert!(align_of::<T>() <= 4096, "pages are not aligned better than this") };
    let start = map(size_of::<T>())?.cast::<T>();
    // SAFETY: enough mapped bytes, aligned to a page, that nothing else points to and nothing
    // unmaps.
    unsafe {
        start.write(value);
        Some(start.as_ref())
    }
}

/// Puts a value into pages of its own, for ever, together with something larger that is zero at
/// first. That is never on the stack, which in a signal handler may be small.
pub(crate) fn place_with<T, Z: Zeroable + 'static>(
    value: impl FnOnce(&'static mut Z) -> T,
) -> Option<&'static T> {
    #[repr(C)]
    struct Pages<T, Z> {
        value: T,
        zeroed: Z,
    }
    const { assert!(align_of::<Pages<T, Z>>() <= 4096, "pages are not aligned better than this") };
    let pages = map(size_of::<Pages<T, Z>>())?.cast::<Pages<T, Z>>().as_ptr();
    // SAFETY: enough mapped bytes, zero and aligned to a page, that nothing else points to and
    // nothing unmaps; the two fields do not overlap, and zero is a value of the one.
    unsafe {
        let place = &raw mut (*pages).value;
        place.write(value(&mut (*pages).zeroed));
        Some(&*place)
    }
}

/// A pointer to something that lives for ever, or none. For all threads.
pub(crate) struct Link<T: 'static> {
    /// K1: null, or made of a `&'static T`, all of which happened before it was stored (release).
    pointer: AtomicPtr<T>,
}

// SAFETY: K1: zero is a null pointer.
unsafe impl<T> Zeroable for Link<T> {}

impl<T: Sync> Link<T> {
    pub(crate) const fn none() -> Link<T> {
        Link { pointer: AtomicPtr::new(core::ptr::null_mut()) }
    }

    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K1.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Release);
    }

    /// Sets it where it still is `old`.
    pub(crate) fn replace(&self, old: Option<&'static T>, new: Option<&'static T>) -> bool {
        let (old, new) = (as_pointer(old), as_pointer(new));
        self.pointer.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The same for one thread and its signal handlers: not `Sync`, plain loads and stores.
pub(crate) struct OwnLink<T: 'static> {
    /// K2: null, or made of a `&'static T` by this thread.
    pointer: AtomicPtr<T>,
    here: PhantomData<*const ()>,
}

impl<T: Sync> OwnLink<T> {
    pub(crate) const fn none() -> OwnLink<T> {
        OwnLink { pointer: AtomicPtr::new(core::ptr::null_mut()), here: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K2.
        unsafe { self.pointer.load(Ordering::Relaxed).as_ref() }
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Relaxed);
    }
}

#[inline(always)]
fn as_pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(core::ptr::null_mut(), |value| core::ptr::from_ref(value).cast_mut())
}

/// Words in a block header.
const HEADER_WORD_COUNT: usize = BLOCK_HEADER_SIZE / 8;
/// The word with *last* and *count*.
const STATE_WORD: usize = offset_of!(BlockHeader, last) / 8;
/// The word with *base last*.
const BASE_LAST_WORD: usize = offset_of!(BlockHeader, base_last) / 8;
const _: () = assert!(offset_of!(BlockHeader, last).is_multiple_of(8));
const _: () = assert!(offset_of!(BlockHeader, count) == offset_of!(BlockHeader, last) + 4);
const _: () = assert!(offset_of!(BlockHeader, base_last).is_multiple_of(8));

/// The right to read what was published in blocks, and to write what was sealed. Lies behind the
/// lock of a ring (or of the store), and whoever holds it knows that no block which is not yet
/// given up begins anew.
pub(crate) struct Custody(());

impl Custody {
    pub(crate) const fn new() -> Custody {
        Custody(())
    }
}

/// A block: `block_size()` bytes, as they stand in the stream (3.1, 3.2).
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// B1: `block_size()` bytes, mapped for ever, aligned to a page.
    /// B2: the words of the header are accessed as atomics, but under `Custody` when the block is
    ///     full.
    /// B3: *last* is from 128 to `block_size()`, and a multiple of 8: only `begin` and `publish`
    ///     store it.
    /// B4: bytes below *last* are written by the one thread that records here; those above are
    ///     written no more until `begin`, which a ring does only where the block was given up
    ///     (under `Custody`). Not a `NonNull`: its niche would cost the fast path a test.
    start: *mut u8,
}

// SAFETY: B1 holds anywhere; B2 and B4 say who may access what.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Blocks that follow one another in memory.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    first: Block,
    count: usize,
}

impl Blocks {
    /// Maps blocks.
    pub(crate) fn map(count: usize) -> Option<Blocks> {
        fix_block_size();
        let start = map(count.checked_mul(block_size())?)?;
        Some(Blocks { first: Block { start: start.as_ptr() }, count })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The block that has the place of this sequence.
    pub(crate) fn get(&self, sequence: u64) -> Block {
        let index = (sequence % self.count as u64) as usize;
        // SAFETY: index < count, and so many blocks were mapped in one piece.
        Block { start: unsafe { self.first.start.add(index * block_size()) } }
    }
}

impl Block {
    fn words(self) -> &'static [AtomicU64; HEADER_WORD_COUNT] {
        // SAFETY: B1; B2.
        unsafe { &*self.start.cast() }
    }

    #[inline(always)]
    fn word(self, index: usize) -> &'static AtomicU64 {
        &self.words()[index]
    }

    /// Begins the block anew (`.write.begin`): at every instant it is either not there or a valid
    /// open block. *last* and *top* become the block size, *count* 0.
    pub(crate) fn begin(self, header: &BlockHeader) {
        let mut header = *header;
        let top = block_size() as u32;
        header.last = top.into();
        header.top = top.into();
        header.count = 0.into();
        self.word(0).store(0, Ordering::Relaxed);
        // The zero comes before what follows it.
        core::sync::atomic::fence(Ordering::Release);
        self.put_header(&header);
    }

    /// Stores a header, the word with the magic and the flags last. For a block that nobody records
    /// into just now.
    pub(crate) fn put_header(self, header: &BlockHeader) {
        let words: [u64; HEADER_WORD_COUNT] = bytemuck::cast(*header);
        for (index, word) in words.iter().enumerate().skip(1) {
            self.word(index).store(*word, Ordering::Relaxed);
        }
        self.word(0).store(words[0], Ordering::Release);
    }

    /// The header as it is now. What its owner is about to change may be old or new.
    pub(crate) fn header(self) -> BlockHeader {
        let mut words = [0u64; HEADER_WORD_COUNT];
        for (copy, word) in words.iter_mut().zip(self.words()) {
            *copy = word.load(Ordering::Acquire);
        }
        bytemuck::cast(words)
    }

    /// Stores the clock sync of a block that nothing more is recorded into (`.block.sync`).
    pub(crate) fn put_sync(self, sync: ClockSync) {
        let mut header = self.header();
        header.set_sync(sync);
        self.put_header(&header);
    }

    /// *last* and *count* (`.block.last`, `.block.count`).
    pub(crate) fn state(self) -> (u32, u32) {
        let state = u64::from_le(self.word(STATE_WORD).load(Ordering::Acquire));
        (state as u32, (state >> 32) as u32)
    }

    /// Takes `size` bytes below *last*, a multiple of 8, if there are so many.
    #[inline(always)]
    pub(crate) fn claim(self, size: usize) -> Option<Claim> {
        let state = u64::from_le(self.word(STATE_WORD).load(Ordering::Relaxed));
        let last = state as u32 as usize;
        if last < size.saturating_add(BLOCK_HEADER_SIZE) || !size.is_multiple_of(8) || size == 0 {
            return None;
        }
        // SAFETY: B3 and the test: 128 <= last - size < block_size().
        let at = unsafe { self.start.add(last - size) };
        Some(Claim { at, size, block: self, state })
    }

    /// Copies [from, to) of the block, all of it published, to `out`.
    pub(crate) fn copy(self, _: &Custody, from: usize, to: usize, out: &mut [u8]) {
        let (last, _) = self.state();
        assert!(last as usize <= from && from <= to && to <= block_size());
        assert_eq!(out.len(), to - from);
        // SAFETY: B1; B4: from *last* upwards nobody writes while there is `Custody`; `out` is no
        // block.
        unsafe {
            core::ptr::copy_nonoverlapping(self.start.add(from), out.as_mut_ptr(), out.len());
        }
    }

    /// Gives all bytes of a block that nothing more is recorded into.
    pub(crate) fn with_bytes<T>(self, _: &Custody, give: impl FnOnce(&[u8]) -> T) -> T {
        // SAFETY: B1; B2 and B4: nobody writes to a full block while there is `Custody`.
        give(unsafe { core::slice::from_raw_parts(self.start, block_size()) })
    }
}

/// Which block: for the thread that records into it to read, and to change.
pub(crate) struct BlockLink {
    /// B1 holds for what it points to.
    start: AtomicPtr<u8>,
}

impl BlockLink {
    pub(crate) fn new(block: Block) -> BlockLink {
        BlockLink { start: AtomicPtr::new(block.start) }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Block {
        Block { start: self.start.load(Ordering::Relaxed) }
    }

    pub(crate) fn set(&self, block: Block) {
        self.start.store(block.start, Ordering::Relaxed);
    }
}

/// The space of an event that is being recorded: not there for anybody until published.
pub(crate) struct Claim {
    /// C1: `size` bytes of `block`, just below the *last* of `state`.
    at: *mut u8,
    size: usize,
    block: Block,
    state: u64,
}

impl Claim {
    /// Puts code, size and delta, in this platform's byte order (`.event.code`, `.event.size`,
    /// `.event.delta`, `.event.order`).
    #[inline(always)]
    pub(crate) fn put_header(&mut self, code: u16, delta: u32) {
        let header = EventHeader { code, size: self.size as u16, delta };
        self.put_u64(0, bytemuck::cast(header));
    }

    /// Publishes the event (`.write.publish`).
    #[inline(always)]
    pub(crate) fn publish(self) {
        let state = self.state.wrapping_add(block_state_step(self.size as u32));
        self.block.word(STATE_WORD).store(state.to_le(), Ordering::Release);
    }

    /// Makes it a base record and publishes that: *base last* first, and no event more
    /// (`.write.publish`).
    pub(crate) fn publish_base(mut self, record: &BaseRecord) {
        assert_eq!(self.size, BASE_RECORD_SIZE);
        self.put_bytes(0, bytemuck::bytes_of(record));
        self.block.word(BASE_LAST_WORD).store(record.base.to_le(), Ordering::Relaxed);
        let (last, count) = (self.state as u32, (self.state >> 32) as u32);
        let state = block_state(last - self.size as u32, count);
        self.block.word(STATE_WORD).store(state.to_le(), Ordering::Release);
    }

    /// Where `size` bytes at `offset` go, both within the claim.
    #[inline(always)]
    fn place(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset <= self.size && size <= self.size - offset);
        // SAFETY: C1 and the test: within the claim.
        unsafe { self.at.add(offset) }
    }
}

impl ParamSink for Claim {
    #[inline(always)]
    fn put_u8(&mut self, offset: usize, value: u8) {
        // SAFETY: C1; B4: this thread is the one that writes below *last*.
        unsafe { self.place(offset, 1).write(value) };
    }

    #[inline(always)]
    fn put_u32(&mut self, offset: usize, value: u32) {
        assert!(offset.is_multiple_of(4));
        // SAFETY: C1; B4; B1 and B3 align the claim to 8.
        unsafe { self.place(offset, 4).cast::<u32>().write(value) };
    }

    #[inline(always)]
    fn put_u64(&mut self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8));
        // SAFETY: C1; B4; B1 and B3 align the claim to 8.
        unsafe { self.place(offset, 8).cast::<u64>().write(value) };
    }

    #[inline(always)]
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        let place = self.place(offset, value.len());
        // SAFETY: C1; B4; `value` is no part of a claim, which nobody else can point to.
        unsafe { core::ptr::copy_nonoverlapping(value.as_ptr(), place, value.len()) };
    }
}
