//! Pages from the operating system, for ever or for a while.
//!
//! ```text
//!  mmap ─▶ │ bytes │ a slice │ a value and its large part │     never unmapped or moved
//! ```
//!
//! These pages live as long as the process, so references to them are `'static`, and their places
//! are listed. [`Temporary`] ones are unmapped after use. Nothing comes from the allocator. Design:
//! `.sol.memory`, `.debug.dump` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "memory from the operating system")]

use crate::os::link::Link;
use bytemuck::Zeroable;
use core::ffi::c_int;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Makes the system touch the pages that it maps.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
const TOUCHED: c_int = libc::MAP_POPULATE;
/// Miri has no pages to touch.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
const TOUCHED: c_int = 0;

/// Maps zeroed pages for ever, and touches them, so that later accesses cause no page fault.
pub(crate) fn map(size: usize) -> Option<NonNull<u8>> {
    map_with(size, libc::MAP_PRIVATE | libc::MAP_ANON | TOUCHED, -1)
}

/// Maps zeroed pages for ever, which take memory once they are used.
pub(crate) fn map_lazily(size: usize) -> Option<NonNull<u8>> {
    map_with(size, libc::MAP_PRIVATE | libc::MAP_ANON, -1)
}

/// Maps pages for ever where the system places them, by flags other than MAP_FIXED.
pub(crate) fn map_with(size: usize, flags: c_int, file: c_int) -> Option<NonNull<u8>> {
    let start = map_for_now(size, flags, file)?;
    RANGES.note(start.addr().get(), size);
    Some(start)
}

const RANGE_COUNT: usize = 254;

/// Places of mappings, the first ones; the others follow.
#[derive(Zeroable)]
#[repr(C)]
struct Ranges {
    /// The number of mappings, beyond the size of the list if others follow.
    count: AtomicUsize,
    next: Link<Ranges>,
    /// Start and size; the size is stored last, and is not 0.
    list: [[AtomicUsize; 2]; RANGE_COUNT],
}

static RANGES: Ranges = Ranges {
    count: AtomicUsize::new(0),
    next: Link::none(),
    list: [const { [const { AtomicUsize::new(0) }; 2] }; RANGE_COUNT],
};

impl Ranges {
    /// Notes a mapping. Without memory for the list it is left out.
    fn note(&'static self, start: usize, size: usize) {
        let mut ranges = self;
        loop {
            if let Some([place, bytes]) =
                ranges.list.get(ranges.count.fetch_add(1, Ordering::Relaxed))
            {
                place.store(start, Ordering::Relaxed);
                return bytes.store(size, Ordering::Release);
            }
            if ranges.next.get().is_none() {
                let Some(new) =
                    map_for_now(size_of::<Ranges>(), libc::MAP_PRIVATE | libc::MAP_ANON, -1)
                else {
                    return;
                };
                // SAFETY: enough mapped bytes, zero (empty ranges) and aligned to a page, which
                // nothing unmaps and nothing else points to.
                let new: &'static Ranges = unsafe { new.cast().as_ref() };
                new.note(new.list.as_ptr().addr(), size_of::<Ranges>());
                // If two threads make one at once, one stays.
                ranges.next.replace(None, Some(new));
            }
            let Some(next) = ranges.next.get() else { return };
            ranges = next;
        }
    }
}

/// Passes on the start and the size of each mapping for ever.
pub fn each_mapped(mut each: impl FnMut(usize, usize)) {
    let all = core::iter::successors(Some(&RANGES), |ranges| ranges.next.get());
    for [start, size] in all.flat_map(|ranges| &ranges.list) {
        let size = size.load(Ordering::Acquire);
        if size != 0 {
            each(start.load(Ordering::Relaxed), size);
        }
    }
}

/// Maps pages without noting them.
fn map_for_now(size: usize, flags: c_int, file: c_int) -> Option<NonNull<u8>> {
    assert_eq!(flags & libc::MAP_FIXED, 0);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, placed by the system, changes no memory that exists.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), size, access, flags, file, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

/// Maps other pages in place of mapped ones, which stay at their addresses.
///
/// # Safety
///
/// `size` bytes from `at` on are mapped pages, and references to them are to atomics alone.
pub(crate) unsafe fn map_again(at: *mut u8, size: usize, flags: c_int, file: c_int) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_FIXED;
    // SAFETY: the caller's promise: the pages stay mapped.
    unsafe { libc::mmap(at.cast(), size, access, flags, file, 0) != libc::MAP_FAILED }
}

/// Maps zeroed bytes for ever.
pub(crate) fn map_bytes(size: usize) -> Option<&'static mut [u8]> {
    map_slice(size)
}

/// Maps `count` zeroed values for ever.
pub(crate) fn map_slice<T: Zeroable>(count: usize) -> Option<&'static mut [T]> {
    const { assert!(align_of::<T>() <= 4096, "pages are not aligned better than this") };
    let start = map(count.checked_mul(size_of::<T>())?)?.cast::<T>();
    // SAFETY: enough mapped bytes, zero (a value of `T`) and aligned to a page, that nothing else
    // points to and nothing unmaps.
    Some(unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), count) })
}

/// Maps zeroed words for ever, which take memory once they are used.
pub fn zeroed_words(count: usize) -> Option<&'static [AtomicUsize]> {
    let start = map_lazily(count.checked_mul(size_of::<AtomicUsize>())?)?.cast();
    // SAFETY: enough mapped bytes, zero (a word) and aligned to a page, which nothing unmaps and
    // nothing else points to.
    Some(unsafe { core::slice::from_raw_parts(start.as_ptr(), count) })
}

/// Puts a small value into pages of its own, for ever.
pub fn place<T>(value: T) -> Option<&'static T> {
    place_with::<T, [u8; 0]>(|_| value)
}

/// Puts a value into pages of its own, for ever, together with a larger one that is zero at first.
/// The larger one is never on the stack, which may be small in a signal handler.
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

/// `count` values in pages of their own, zero at first, unmapped when dropped: for rare work, and
/// for a debugger that stopped the process.
pub(crate) struct Temporary<T: Zeroable> {
    /// E1: `count` mapped values that nothing else points to.
    start: NonNull<T>,
    count: usize,
}

impl<T: Zeroable> Temporary<T> {
    pub(crate) fn map(count: usize) -> Option<Temporary<T>> {
        const { assert!(align_of::<T>() <= 4096, "pages are not aligned better than this") };
        const { assert!(!core::mem::needs_drop::<T>(), "only the pages are dropped") };
        let size = count.checked_mul(size_of::<T>())?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | TOUCHED;
        let start = map_for_now(size, flags, -1)?.cast();
        Some(Temporary { start, count })
    }
}

impl<T: Zeroable> Deref for Temporary<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: E1: `count` mapped values that nothing else points to; zero is a value of `T`,
        // and a page is aligned well enough for it.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroable> DerefMut for Temporary<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: E1: `count` mapped values that nothing else points to; zero is a value of `T`,
        // and a page is aligned well enough for it.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroable> Drop for Temporary<T> {
    fn drop(&mut self) {
        // SAFETY: E1: mapped with this size, and not used afterwards.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.count * size_of::<T>()) };
    }
}
