//! Files and memory that the library maps for itself: it has no allocator.
//!
//! ```text
//!  path ─▶ file ─▶ bytes          a number of bytes ─▶ memory ─▶ words
//! ```
//!
//! Design: `.calls.instrumented.names` in `design/calls.md`.
#![expect(unsafe_code, reason = "calls of the operating system about mappings")]

// D1: `start` is null, or a mapping of `size` bytes that nobody unmaps but its owner.

use core::ptr::null_mut;

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
