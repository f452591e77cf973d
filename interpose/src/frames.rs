//! The functions that a thread is in, as far as their beginnings were recorded: the last one is the
//! caller of the next one.
//!
//! ```text
//!  main      stack ff80 │ load  stack ff40 │ parse  stack fee0      a longjmp from parse to main:
//!  enter hash, stack ff40: load and parse have ended without their hooks
//! ```
//!
//! Frames of functions that have not returned lie above the end of the stack. So a frame below it
//! has ended. A function that the compiler made a part of another has the other's end of the stack,
//! and its return address. Design: `.calls.instrumented` in `design/calls.md`.
#![expect(unsafe_code, reason = "memory of the threads; calls of the operating system about it")]

// M1: `start` is null, or the thread's own mapping of `size` frames. The first `count` frames were
//     written. The mapping never moves, and is given up when the thread ends.

use crate::{chosen, mapped, thread};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, compiler_fence};

/// The maximum number of frames of a thread; calls in more frames are counted as lost. A thread's
/// frames take 32 MiB of addresses, and memory only where they are used.
const COUNT_MAX: usize = 1 << 20;
/// The same where the addresses of the process are limited, which the program may need itself.
const LIMITED_COUNT_MAX: usize = 1 << 14;
const COUNT_MIN: usize = 1 << 8;
/// Frames in which an end searches its beginning, at most.
const SEARCH_COUNT_MAX: usize = 1 << 12;
/// Calls of one function that a compiler puts into each other, at most.
const INLINED_COUNT_MAX: usize = 16;

/// A function that a thread is in.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// 0: none.
    pub(crate) function: usize,
    /// The return address.
    pub(crate) site: usize,
    /// Where the stack ended when the function began.
    pub(crate) stack: usize,
    /// How its call is recorded (`chosen.rs`).
    pub(crate) how: usize,
}

impl Frame {
    const NONE: Frame = Frame { function: 0, site: 0, stack: 0, how: PLAIN };
}

/// The call is recorded, and the filter decides on each call in it.
pub(crate) const PLAIN: usize = 0;

#[repr(C)]
struct Frames {
    start: Cell<*mut Frame>,
    count: Cell<usize>,
    size: Cell<usize>,
    /// Calls in progress for which no room was left.
    beyond: Cell<usize>,
}

/// Returns this thread's frames. `thread.rs` has their memory, zeros at first: so code finds them
/// without a call of `__tls_get_addr`.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline(always)]
fn here() -> *const Frames {
    const _: () = assert!(size_of::<Frames>() == 32);
    let here;
    // SAFETY: it reads two words that nothing changes while the thread runs.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + interpose_frames@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) here,
            options(pure, nomem, nostack),
        );
    }
    here
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn here() -> *const Frames {
    // It has no destructor, so that nothing is allocated for it.
    thread_local! {
        static FRAMES: Frames = const {
            Frames {
                start: Cell::new(null_mut()),
                count: Cell::new(0),
                size: Cell::new(0),
                beyond: Cell::new(0),
            }
        };
    }
    FRAMES.with(core::ptr::from_ref)
}

/// What the end of a function finds.
pub(crate) enum Top {
    /// The function, which is the last frame now.
    Is(Frame),
    Unknown,
    /// No room was left when it began.
    Beyond,
}

#[inline(always)]
fn frames<T>(work: impl FnOnce(&Frames) -> T) -> T {
    const { assert!(!core::mem::needs_drop::<Frames>()) };
    // SAFETY: the frames are this thread's and have no destructor, so they exist as long as the
    // thread runs.
    work(unsafe { &*here() })
}

/// Returns the frame in which a function begins.
#[inline(always)]
pub(crate) fn around(function: usize, site: usize, stack: usize) -> Frame {
    frames(|frames| {
        if frames.last().is_some_and(|last| last.stack <= stack) {
            frames.drop_ended(function, site, stack);
        }
        frames.last().unwrap_or(Frame::NONE)
    })
}

/// Puts a function that begins. Returns false if no room is left.
#[inline(always)]
pub(crate) fn push(frame: Frame) -> bool {
    frames(|frames| {
        let count = frames.count.get();
        if count >= frames.size.get() && !frames.make() {
            frames.beyond.set(frames.beyond.get() + 1);
            return false;
        }
        // SAFETY: M1: the place is in the mapping.
        let put = || unsafe { frames.start.get().add(count).write(frame) };
        // A signal handler may use the place as long as the frame does not count, and takes it for
        // a frame as soon as it counts.
        put();
        compiler_fence(Ordering::SeqCst);
        frames.count.set(count + 1);
        compiler_fence(Ordering::SeqCst);
        put();
        true
    })
}

/// Returns the function of the last frame, if its call is plain, and it is the one that ends.
#[inline(always)]
pub(crate) fn plain_top(site: usize, is_it: impl Fn(usize) -> bool) -> Option<usize> {
    frames(|frames| {
        let is_last = |last: &Frame| is_it(last.function) && last.site == site && last.how == PLAIN;
        let last = frames.last().filter(|last| is_last(last) && frames.beyond.get() == 0);
        last.map(|last| last.function)
    })
}

/// Finds the frame of a function that ends.
#[cold]
#[inline(never)]
pub(crate) fn find(site: usize, is_it: impl Fn(usize) -> bool) -> Top {
    frames(|frames| frames.find(site, is_it))
}

/// Returns the function that called that of the last frame; 0: none.
pub(crate) fn caller() -> usize {
    frames(|frames| frames.get(frames.count.get().wrapping_sub(2)).map_or(0, |it| it.function))
}

/// Takes the last frame off.
#[inline(always)]
pub(crate) fn pop() {
    frames(|frames| frames.count.set(frames.count.get().saturating_sub(1)));
}

/// Takes off the frames that a jump leaves: those below `stack`, where the stack will end.
#[cold]
pub(crate) fn jump(stack: usize) {
    frames(|frames| {
        // A hook's own return address lies below.
        let is_left = |last: &Frame| {
            last.stack + size_of::<usize>() < stack || is_on_other_stack(stack, last.stack)
        };
        while let Some(last) = frames.last().filter(is_left) {
            frames.drop_last(last);
        }
    });
}

impl Frames {
    #[inline(always)]
    fn last(&self) -> Option<Frame> {
        self.get(self.count.get().wrapping_sub(1))
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<Frame> {
        // SAFETY: M1: the frame was written.
        (index < self.count.get()).then(|| unsafe { self.start.get().add(index).read() })
    }

    /// Takes off the frames that have ended when another function begins. A function that the
    /// compiler made a part of another one has the same return address.
    #[cold]
    #[inline(never)]
    fn drop_ended(&self, function: usize, site: usize, stack: usize) {
        while let Some(last) = self.last().filter(|last| last.stack <= stack) {
            let is_part = last.site == site && !self.is_repeated(function, stack);
            if is_part || is_on_other_stack(last.stack, stack) {
                break;
            }
            self.drop_last(last);
        }
    }

    /// Returns whether the frames at this end of the stack have the function more often than a
    /// compiler puts it there.
    fn is_repeated(&self, function: usize, stack: usize) -> bool {
        let frames = (0..self.count.get()).rev().map_while(|index| self.get(index));
        let here = frames.take_while(|frame| frame.stack == stack);
        here.filter(|frame| frame.function == function).nth(INLINED_COUNT_MAX).is_some()
    }

    /// Takes the last frame off, and records that its function was left.
    fn drop_last(&self, last: Frame) {
        self.beyond.set(0);
        chosen::leave(&last);
        self.count.set(self.count.get().saturating_sub(1));
    }

    #[cold]
    #[inline(never)]
    fn find(&self, site: usize, is_it: impl Fn(usize) -> bool) -> Top {
        if let Some(beyond) = self.beyond.get().checked_sub(1) {
            self.beyond.set(beyond);
            return Top::Beyond;
        }
        let count = self.count.get();
        let search = |is_frame: &dyn Fn(&Frame) -> bool| {
            let mut searched = (0..count).rev().take(SEARCH_COUNT_MAX);
            searched.find(|index| self.get(*index).as_ref().is_some_and(is_frame))
        };
        // A compiler may move the end of a function into another one, with its return address.
        let found = search(&|frame| is_it(frame.function) && frame.site == site)
            .or_else(|| search(&|frame| is_it(frame.function)));
        let Some(index) = found else { return Top::Unknown };
        // The functions after it were left by a jump.
        while let Some(last) = self.last().filter(|_| self.count.get() > index + 1) {
            self.drop_last(last);
        }
        self.last().map_or(Top::Unknown, Top::Is)
    }

    /// Maps memory for the frames; returns false if none is left, or all is in use.
    #[cold]
    #[inline(never)]
    fn make(&self) -> bool {
        if !self.start.get().is_null() {
            return false;
        }
        let error = thread::errno();
        let is_made = telemetry::__private::without_signals(|| {
            // SAFETY: the kernel chooses a free place for the mapping.
            let map = |size: usize| unsafe {
                let way = libc::PROT_READ | libc::PROT_WRITE;
                let form = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                let memory = libc::mmap(null_mut(), size, way, form, -1, 0);
                (memory != libc::MAP_FAILED).then(|| {
                    libc::madvise(memory, size, libc::MADV_NOHUGEPAGE);
                    mapped::leave_out_of_cores(memory, size);
                    memory
                })
            };
            let mut size = if has_limit() { LIMITED_COUNT_MAX } else { COUNT_MAX };
            while size >= COUNT_MIN {
                if let Some(memory) = map(size * size_of::<Frame>()) {
                    self.start.set(memory.cast());
                    self.size.set(size);
                    thread::expect_end(memory);
                    return true;
                }
                size /= 2;
            }
            false
        });
        thread::set_errno(error);
        is_made
    }
}

/// Returns whether the addresses of this process are limited.
fn has_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call writes the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    limit.rlim_cur != libc::RLIM_INFINITY
}

/// Returns whether a signal handler runs on a stack of its own, which lacks this frame.
fn is_on_other_stack(frame: usize, stack: usize) -> bool {
    let mut other = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: the call writes the structure, for which zeros are valid.
    let other = unsafe {
        libc::sigaltstack(core::ptr::null(), other.as_mut_ptr());
        other.assume_init()
    };
    let start = other.ss_sp.addr();
    let has = |address: usize| address.wrapping_sub(start) < other.ss_size;
    other.ss_flags & libc::SS_ONSTACK != 0 && has(stack) && !has(frame)
}

/// A thread ends. If functions run after this, they get new memory.
pub(crate) fn end() {
    frames(|frames| {
        let memory = frames.start.replace(null_mut());
        if !memory.is_null() {
            let size = frames.size.replace(0) * size_of::<Frame>();
            frames.count.set(0);
            // SAFETY: M1: nothing refers to the mapping any more.
            unsafe { libc::munmap(memory.cast(), size) };
        }
    });
}
