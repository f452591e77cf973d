//! Pages from the operating system, for ever.
//!
//! ```text
//!  mmap ─▶ │ bytes │ a slice │ a value and its large part │     never unmapped or moved
//! ```
//!
//! These pages live as long as the process, so references to them are `'static`. Nothing comes
//! from the allocator. Design: `.sol.memory` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "memory from the operating system")]

mod temporary;

pub(crate) use temporary::Temporary;

use bytemuck::Zeroable;
use core::ptr::NonNull;

/// Maps zeroed pages for ever, and touches them, so that later accesses cause no page fault.
pub(crate) fn map(size: usize) -> Option<NonNull<u8>> {
    // Miri has no pages to touch.
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANON;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new private mapping, placed by the system, changes no memory that exists.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), size, access, FLAGS, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
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

/// Puts a small value into pages of its own, for ever.
pub(crate) fn place<T>(value: T) -> Option<&'static T> {
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
