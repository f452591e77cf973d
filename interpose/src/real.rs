//! The real functions: the next definition after this library's, from the C library or from another
//! preloaded library.
//!
//! ```text
//!  the first call ─▶ dlsym(RTLD_NEXT, "malloc"), … ─▶ FUNCTIONS          meanwhile: the arena
//! ```
//!
//! Design: `.rep.record.real` in `design/replay.md`.
#![expect(unsafe_code, reason = "functions found by name, and memory until they are")]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// Bytes for calls while the functions are being looked up.
const ARENA_SIZE: usize = 64 << 10;
/// The size of a piece's head: it holds the size of the piece, and keeps addresses at multiples of
/// 16.
const PIECE_HEAD_SIZE: usize = 16;

/// A function that is called as `F`.
pub(crate) struct Function<F> {
    name: &'static CStr,
    /// R1: 0, or the address of the C library's function of this name, or of one that another
    ///     library has in its place, which is called as `F`, a pointer to a function.
    address: AtomicUsize,
    signature: PhantomData<F>,
}

/// malloc, valloc, pvalloc.
pub(crate) type OfSize = unsafe extern "C" fn(usize) -> *mut c_void;
/// aligned_alloc, memalign; calloc.
type OfTwo = unsafe extern "C" fn(usize, usize) -> *mut c_void;
pub(crate) type OfMemory<T> = unsafe extern "C" fn(*mut c_void) -> T;
type Resize = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Into = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;

pub(crate) static MALLOC: Function<OfSize> = Function::new(c"malloc");
pub(crate) static CALLOC: Function<OfTwo> = Function::new(c"calloc");
pub(crate) static REALLOC: Function<Resize> = Function::new(c"realloc");
pub(crate) static FREE: Function<OfMemory<()>> = Function::new(c"free");
pub(crate) static ALIGNED_ALLOC: Function<OfTwo> = Function::new(c"aligned_alloc");
pub(crate) static POSIX_MEMALIGN: Function<Into> = Function::new(c"posix_memalign");
pub(crate) static MEMALIGN: Function<OfTwo> = Function::new(c"memalign");
pub(crate) static VALLOC: Function<OfSize> = Function::new(c"valloc");
pub(crate) static PVALLOC: Function<OfSize> = Function::new(c"pvalloc");
pub(crate) static USABLE_SIZE: Function<OfMemory<usize>> = Function::new(c"malloc_usable_size");

/// The state of the search: 0: not begun; 1: in progress; 2: done.
static SEARCH: AtomicU8 = AtomicU8::new(0);
/// The C library's variable that says whether the process has one thread; or null.
static IS_ALONE: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

impl<F: Copy> Function<F> {
    pub(crate) const fn new(name: &'static CStr) -> Function<F> {
        Function { name, address: AtomicUsize::new(0), signature: PhantomData }
    }

    /// Returns the function; `None` during the search, and if no library defines it.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let address = match self.address.load(Ordering::Acquire) {
            0 => self.find(),
            address => address,
        };
        // SAFETY: R1: the address is that of a function of this name, called as `F`.
        (address != 0).then(|| unsafe { core::mem::transmute_copy(&address) })
    }

    #[cold]
    fn find(&self) -> usize {
        find_all();
        self.address()
    }

    /// Returns the address; 0 during the search, and if no library defines it.
    pub(crate) fn address(&self) -> usize {
        match self.address.load(Ordering::Acquire) {
            0 if SEARCH.load(Ordering::Acquire) != 1 => self.look_up(),
            address => address,
        }
    }

    /// Looks the function up: only from ordinary code, because a forked child must not do so.
    pub(crate) fn look_up(&self) -> usize {
        // SAFETY: the name ends with a NUL.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) }.addr();
        self.address.store(address, Ordering::Release);
        address
    }
}

#[cold]
fn find_all() {
    if SEARCH.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    // SAFETY: the call touches no memory; the name ends with a NUL.
    unsafe {
        PAGE_SIZE.store(libc::sysconf(libc::_SC_PAGESIZE) as usize, Ordering::Relaxed);
        let word = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
        IS_ALONE.store(word.cast(), Ordering::Release);
    }
    let _ = [&CALLOC, &ALIGNED_ALLOC, &MEMALIGN].map(Function::look_up);
    let _ = [&VALLOC, &PVALLOC].map(Function::look_up);
    POSIX_MEMALIGN.look_up();
    USABLE_SIZE.look_up();
    // These come last, and free comes first among them: a thread that has memory of the real
    // functions then finds the other functions, too.
    FREE.look_up();
    REALLOC.look_up();
    MALLOC.look_up();
    SEARCH.store(2, Ordering::Release);
}

/// The name of the file that has the real malloc; null: not known.
static LIBRARY: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Finds out which library has the real malloc: only from ordinary code.
pub(crate) fn look_up_library() {
    let malloc = MALLOC.get().map_or(core::ptr::null(), |malloc| malloc as *const c_void);
    let mut found = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for; zeros are the result for an unknown address.
    let found = unsafe {
        libc::dladdr(malloc, found.as_mut_ptr());
        found.assume_init()
    };
    LIBRARY.store(found.dli_fname.cast_mut(), Ordering::Release);
}

/// Passes the file of the library on that has the real malloc, if it is known.
pub(crate) fn with_library(work: impl FnOnce(&[u8])) {
    let path = LIBRARY.load(Ordering::Acquire);
    if !path.is_null() {
        // SAFETY: the loader keeps the name, which ends with a NUL, as long as the library is
        // loaded. Nobody unloads the library that has malloc.
        work(unsafe { CStr::from_ptr(path) }.to_bytes());
    }
}

/// Returns whether the process has one thread, as far as the C library says.
#[inline(always)]
pub(crate) fn is_alone() -> bool {
    let word = IS_ALONE.load(Ordering::Relaxed);
    // SAFETY: null, or the C library's variable of one byte, which exists as long as the process.
    !word.is_null() && unsafe { word.read_volatile() } != 0
}

pub(crate) fn page_size() -> usize {
    PAGE_SIZE.load(Ordering::Relaxed)
}

/// Memory for calls while the functions are being looked up; it is never given back.
#[repr(C, align(16))]
struct Arena {
    /// A1: a piece belongs to the caller that moved `used` over it. Its head is written before the
    /// piece is handed out, and never changes.
    bytes: UnsafeCell<[u8; ARENA_SIZE]>,
    used: AtomicUsize,
}

// SAFETY: A1 gives each piece to one user.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena { bytes: UnsafeCell::new([0; ARENA_SIZE]), used: AtomicUsize::new(0) };

/// Returns zeroed memory of the arena, at a multiple of 16; null if the arena is full.
#[cold]
pub(crate) fn arena_take(size: usize) -> *mut c_void {
    let end_of = |used: usize| {
        let end =
            used.checked_add(PIECE_HEAD_SIZE)?.checked_add(size)?.checked_next_multiple_of(16);
        end.filter(|end| *end <= ARENA_SIZE)
    };
    let taken = ARENA.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end_of);
    let Ok(start) = taken else { return core::ptr::null_mut() };
    // SAFETY: A1: one thread moved `used` over the piece, and has it alone. The piece is within the
    // arena, and its start a multiple of 16.
    unsafe {
        let head = ARENA.bytes.get().cast::<u8>().add(start);
        head.cast::<usize>().write(size);
        head.add(PIECE_HEAD_SIZE).cast()
    }
}

/// Returns the size of a piece of the arena; `None` for memory that is not of the arena.
#[inline(always)]
pub(crate) fn arena_size(memory: *mut c_void) -> Option<usize> {
    let start = ARENA.bytes.get().addr();
    if memory.addr().wrapping_sub(start) >= ARENA_SIZE {
        return None;
    }
    // SAFETY: A1; the arena handed this piece out, after its head was written.
    Some(unsafe { memory.byte_sub(PIECE_HEAD_SIZE).cast::<usize>().read() })
}
