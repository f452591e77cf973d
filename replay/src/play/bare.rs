//! Threads that the system alone starts: those of the standard library allocate as they start, from
//! the heap that is measured.
//!
//! ```text
//!  Job: work ─ pthread_create ─▶ result ─ pthread_join ─▶ Job: result
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.
#![expect(unsafe_code, reason = "threads of the system")]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::process::abort;

/// What a thread does, and what came of it.
pub(super) struct Job<F, R> {
    work: Option<F>,
    pub(super) result: Option<R>,
}

impl<F: FnOnce() -> R + Send, R: Send> Job<F, R> {
    pub(super) fn new(work: F) -> Job<F, R> {
        Job { work: Some(work), result: None }
    }
}

/// Threads that run. Dropping the value waits for them, and ends the process if this thread
/// panics: they may wait for it.
pub(super) struct Threads(Vec<libc::pthread_t>);

impl Threads {
    pub(super) fn with_capacity(count: usize) -> Threads {
        Threads(Vec::with_capacity(count))
    }

    /// Starts a thread.
    ///
    /// # Safety
    ///
    /// 17. The job stays where it is, and nothing uses it, until these threads were waited for.
    pub(super) unsafe fn start<F: FnOnce() -> R + Send, R: Send>(
        &mut self,
        job: &mut Job<F, R>,
        stack_size: usize,
    ) -> io::Result<()> {
        extern "C" fn run<F: FnOnce() -> R, R>(job: *mut c_void) -> *mut c_void {
            // SAFETY: 17: the thread alone uses the job.
            let job = unsafe { &mut *job.cast::<Job<F, R>>() };
            job.result = job.work.take().map(|work| work());
            std::ptr::null_mut()
        }
        let (mut thread, mut attributes) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the attributes are made before they are used, and ended once; the function takes
        // a job of these types; 17.
        let (error, thread) = unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_size);
            let job = std::ptr::from_mut(job).cast();
            let (place, how) = (thread.as_mut_ptr(), attributes.as_ptr());
            let error = libc::pthread_create(place, how, run::<F, R>, job);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            (error, (error == 0).then(|| thread.assume_init()))
        };
        self.0.extend(thread);
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if std::thread::panicking() {
            abort();
        }
        for thread in self.0.drain(..) {
            // SAFETY: the thread was started, and is waited for once.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}
