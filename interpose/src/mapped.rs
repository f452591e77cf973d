//! Files and memory that the library maps for itself: it has no allocator.
//!
//! ```text
//!  path ─▶ file ─▶ bytes          a number of bytes ─▶ memory ─▶ words
//!  Table ─ first use ─▶ zeros, for ever
//! ```
//!
//! Design: `.calls.instrumented.names` in `design/calls.md`.
#![expect(unsafe_code, reason = "calls of the operating system about mappings")]

// D1: `start` is null, or a mapping of `size` bytes that nobody unmaps but its owner.
// D2: `start` is null, `REFUSED`, or a mapping of COUNT values that stays for ever, zeros at first.

use crate::thread;
use core::ffi::c_void;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

const FILE_SIZE_MAX: usize = 4 << 30;

/// Memory that is mapped.
pub(crate) struct Mapped {
    start: *mut u8,
    size: usize,
}

impl Mapped {
    pub(crate) const NONE: Mapped = Mapped { start: null_mut(), size: 0 };

    /// Maps a file.
    pub(crate) fn file(path: &[u8]) -> Option<Mapped> {
        let mut name = [0; 1024];
        name.get_mut(..path.len())?.copy_from_slice(path);
        if name.last() != Some(&0) {
            return None;
        }
        // SAFETY: the name ends with a NUL; the file is closed once; the kernel chooses a free
        // place for the mapping.
        unsafe {
            let file = libc::open(name.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let mut data = core::mem::MaybeUninit::<libc::stat>::zeroed();
            let is_known = libc::fstat(file, data.as_mut_ptr()) == 0;
            let size = usize::try_from(data.assume_init().st_size).unwrap_or(0);
            let mapped = (is_known && size <= FILE_SIZE_MAX)
                .then(|| Mapped::new(size, libc::PROT_READ, libc::MAP_PRIVATE, file));
            libc::close(file);
            mapped?
        }
    }

    /// Maps memory.
    pub(crate) fn memory(size: usize) -> Option<Mapped> {
        let form = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Mapped::new(size, libc::PROT_READ | libc::PROT_WRITE, form, -1)
    }

    fn new(size: usize, way: i32, form: i32, file: i32) -> Option<Mapped> {
        // SAFETY: the kernel chooses a free place for the mapping.
        let start = unsafe { libc::mmap(null_mut(), size, way, form, file, 0) };
        (start != libc::MAP_FAILED).then(|| Mapped { start: start.cast(), size })
    }

    pub(crate) fn clear(&mut self) {
        if !self.start.is_null() {
            // SAFETY: D1.
            unsafe { libc::munmap(self.start.cast(), self.size) };
        }
        *self = Mapped::NONE;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self.start.is_null() {
            true => &[],
            // SAFETY: D1. As for the code itself, nobody shortens a file that is executed.
            false => unsafe { core::slice::from_raw_parts(self.start, self.size) },
        }
    }

    pub(crate) fn words(&self) -> &[u32] {
        match self.start.is_null() {
            true => &[],
            // SAFETY: D1; a mapping begins at a page.
            false => unsafe { core::slice::from_raw_parts(self.start.cast(), self.size / 4) },
        }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        match self.start.is_null() {
            true => &mut [],
            // SAFETY: D1; a mapping begins at a page, and `memory` made it writable.
            false => unsafe { core::slice::from_raw_parts_mut(self.start.cast(), self.size / 4) },
        }
    }
}

/// Leaves memory out of cores, so that blocks come early in a core, which may be cut. Postmortem
/// debuggers read only blocks.
pub(crate) fn leave_out_of_cores(start: *mut c_void, size: usize) {
    // SAFETY: the advice changes no memory of the process.
    unsafe { libc::madvise(start, size, libc::MADV_DONTDUMP) };
}

/// The state of a table for which the system had no memory.
const REFUSED: usize = 1;

/// A table that takes addresses of the process only once it is used.
pub(crate) struct Table<T, const COUNT: usize> {
    start: AtomicPtr<T>,
}

impl<T: Sync + 'static, const COUNT: usize> Table<T, COUNT> {
    /// # Safety
    ///
    /// Zeros are a value of `T`, which has no destructor.
    pub(crate) const unsafe fn new() -> Table<T, COUNT> {
        Table { start: AtomicPtr::new(null_mut()) }
    }

    /// Returns the values; `None`: the system had no memory for them, and is not asked again.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static [T; COUNT]> {
        let mut start = self.start.load(Ordering::Acquire);
        if start.is_null() {
            start = self.map();
        }
        // SAFETY: D2: it is not null, and not `REFUSED`.
        (start.addr() != REFUSED).then(|| unsafe { &*start.cast() })
    }

    /// Returns the values if they are in use.
    pub(crate) fn used(&self) -> &'static [T] {
        match self.start.load(Ordering::Acquire).is_null() {
            true => &[],
            false => self.get().map_or(&[], |values| values),
        }
    }

    /// Returns its start and its size in bytes; 0 if it is not in use.
    pub(crate) fn range(&self) -> (usize, usize) {
        (self.used().as_ptr().addr(), size_of_val(self.used()))
    }

    #[cold]
    #[inline(never)]
    fn map(&self) -> *mut T {
        const { assert!(align_of::<T>() <= 4096, "pages are not aligned better than this") };
        let error = thread::errno();
        let mut mapped = Mapped::memory(COUNT * size_of::<T>());
        if let Some(mapped) = &mapped {
            leave_out_of_cores(mapped.start.cast(), mapped.size);
        }
        thread::set_errno(error);
        let refused = without_provenance_mut(REFUSED);
        let new = mapped.as_ref().map_or(refused, |mapped| mapped.start.cast());
        let old = self.start.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        // Another thread may have been faster.
        if let (Err(_), Some(mapped)) = (old, &mut mapped) {
            mapped.clear();
        }
        old.map_or_else(|first| first, |_| new)
    }
}
