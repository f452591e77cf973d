//! How much of the process's memory is the recorder's own: what it mapped and touched, and what is
//! mapped of its library.
//!
//! ```text
//!  rings, tables, roster, library ─▶ /proc/self/pagemap: a word for each page ─▶ bytes in memory
//! ```
//!
//! Design: `.rep.program` in `design/replay.md`.
#![expect(unsafe_code, reason = "calls of the operating system, and the list of libraries")]

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
use crate::own_stack;
use crate::{real, roster, thread, tree};
use core::ffi::{c_int, c_void};
use telemetry::__private::each_mapped;

/// The bit of a page that is in memory.
const PRESENT: u64 = 1 << 63;
/// Pages in one system call.
const PAGES_AT_ONCE: usize = 128;

/// The words of the process's pages.
struct Pages {
    file: c_int,
    page_size: usize,
}

/// Returns the bytes of the recorder's own memory that are resident now; `None`: not known.
pub(crate) fn own() -> Option<usize> {
    let error = thread::errno();
    let pages = Pages::open();
    let size = pages.as_ref().map(|pages| {
        let mut sum = 0;
        let mut add = |start: usize, size: usize| sum += pages.resident(start, size);
        each_mapped(&mut add);
        tree::each_mapped(&mut add);
        roster::each_mapped(&mut add);
        each_segment(&mut add);
        #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
        let sum = sum + own_stack::most_resident(|start, size| pages.resident(start, size));
        sum
    });
    if let Some(pages) = pages {
        // SAFETY: the file is closed once.
        unsafe { libc::syscall(libc::SYS_close, pages.file) };
    }
    thread::set_errno(error);
    size
}

impl Pages {
    fn open() -> Option<Pages> {
        // SAFETY: the name ends with a NUL. These are system calls, because the C library's
        // functions are cancellation points.
        let file = unsafe {
            let flags = libc::O_RDONLY | libc::O_CLOEXEC;
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/pagemap".as_ptr(), flags)
        };
        let page_size = real::page_size();
        (file >= 0 && page_size != 0).then_some(Pages { file: file as c_int, page_size })
    }

    /// Returns how many bytes of a range of addresses are in memory.
    fn resident(&self, start: usize, size: usize) -> usize {
        let (mut page, mut count) = (start / self.page_size, 0);
        let end = start.saturating_add(size).div_ceil(self.page_size);
        let mut words = [0_u64; PAGES_AT_ONCE];
        while page < end {
            let some = PAGES_AT_ONCE.min(end - page);
            let place = words.as_mut_ptr().cast::<c_void>();
            let (bytes, offset) = (some * size_of::<u64>(), page * size_of::<u64>());
            // SAFETY: the call writes at most `bytes` bytes, for which the array has room.
            let read = unsafe { libc::syscall(libc::SYS_pread64, self.file, place, bytes, offset) };
            let Some(words) = words.get(..usize::try_from(read).unwrap_or(0) / size_of::<u64>())
            else {
                break;
            };
            count += words.iter().filter(|word| **word & PRESENT != 0).count();
            if words.len() < some {
                break;
            }
            page += some;
        }
        count * self.page_size
    }
}

/// Passes on the parts of this library in memory.
fn each_segment(each: &mut dyn FnMut(usize, usize)) {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, each: *mut c_void) -> c_int {
        // SAFETY: the loader passes a library on, with its list of segments; `each` is that of
        // `each_segment`, which nothing else uses meanwhile.
        let (base, segments, each) = unsafe {
            let info = &*info;
            let count = usize::from(info.dlpi_phnum);
            let segments = core::slice::from_raw_parts(info.dlpi_phdr, count);
            (info.dlpi_addr as usize, segments, &mut *each.cast::<&mut dyn FnMut(usize, usize)>())
        };
        let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
        let range = |segment: &libc::Elf64_Phdr| {
            (base.wrapping_add(segment.p_vaddr as usize), segment.p_memsz as usize)
        };
        let here = each_segment as *const () as usize;
        let is_own = loaded().map(range).any(|(start, size)| here.wrapping_sub(start) < size);
        if is_own {
            loaded().map(range).for_each(|(start, size)| each(start, size));
        }
        c_int::from(is_own)
    }
    let mut each = each;
    // SAFETY: the function gets its argument during the call alone.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut each).cast()) };
}
