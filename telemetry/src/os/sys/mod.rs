//! Calls of the operating system, except those for memory.
//!
//! ```text
//!  environment · standard error · files · threads: number, name, end · process: exit, fork, names
//! ```
//!
//! Plain calls that neither allocate nor take a lock of the standard library.
//! Design: `.req.external`, `.sol.memory`, `.control.env.rights` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

mod errors;
mod held;
mod library;
mod names;
mod own;
mod threads;

pub(crate) use errors::error_text;
pub(crate) use held::{File, Held};
pub(crate) use library::*;
pub(crate) use names::{
    FileIdentity, identify_file, identify_name, is_other_than_file, link_file, make_directory,
    program_name, rename_file, suffixed, unlink_file, working_directory,
};
pub(crate) use own::{NotOwn, Unnamed, open_directory, open_log, open_to_read, own_user};
pub(crate) use threads::*;
pub use threads::{is_thread, thread_number, without_signals};

use crate::os::link::Link;
use core::ffi::{CStr, c_int};

/// Miri lacks some calls of the C library; they are left out there.
const IS_MIRI: bool = cfg!(miri);

pub(crate) type Errno = i32;

/// The calls that take files over 2 GiB on 32-bit machines too.
#[cfg(target_os = "linux")]
mod files {
    pub(super) use libc::{
        RLIM64_INFINITY as RLIM_INFINITY, fstat64 as fstat, ftruncate64 as ftruncate,
        getrlimit64 as getrlimit, lstat64 as lstat, off64_t as off_t, open64 as open,
        posix_fallocate64 as posix_fallocate, pread64 as pread, pwrite64 as pwrite,
        rlimit64 as rlimit, stat64 as stat,
    };
}
#[cfg(not(target_os = "linux"))]
mod files {
    pub(super) use libc::*;
}

/// Returns the address of this thread's error number.
fn errno_place() -> *mut c_int {
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    // SAFETY: returns a pointer to this thread's error number.
    return unsafe { libc::__errno_location() };
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    // SAFETY: returns a pointer to this thread's error number.
    return unsafe { libc::__errno() };
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
    // SAFETY: returns a pointer to this thread's error number.
    return unsafe { libc::__error() };
    #[cfg(any(target_os = "solaris", target_os = "illumos"))]
    // SAFETY: returns a pointer to this thread's error number.
    return unsafe { libc::___errno() };
}

pub(crate) fn errno() -> Errno {
    // SAFETY: a variable of this thread, which lives as long as the thread.
    unsafe { errno_place().read() }
}

/// Restores the error number, so that the program does not notice the calls in between.
pub(crate) fn set_errno(errno: Errno) {
    // SAFETY: a variable of this thread, which lives as long as the thread.
    unsafe { errno_place().write(errno) };
}

/// Returns whether this process has rights that its user lacks: by a set-user-id or set-group-id
/// bit, or by capabilities of its file.
fn has_more_rights() -> bool {
    if IS_MIRI {
        return false;
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: the call cannot fail and touches no memory.
    return unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    #[cfg(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "netbsd",
        target_os = "openbsd"
    ))]
    // SAFETY: the call cannot fail and touches no memory.
    return unsafe { libc::issetugid() } != 0;
    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "netbsd",
        target_os = "openbsd"
    )))]
    // SAFETY: these calls cannot fail and touch no memory.
    unsafe {
        libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid()
    }
}

/// Names of environment variables, each with the name that is read in its place.
pub(crate) type Renamed = [(&'static CStr, &'static CStr)];

static RENAMED: Link<&'static Renamed> = Link::none();

/// Reads other variables than those of the program, from now on: for a library that records a
/// program, and leaves the program's own recording alone.
pub fn rename_variables(renamed: &'static &'static Renamed) {
    RENAMED.set(Some(renamed));
}

/// Passes the value of an environment variable to `read`, without copying it; `None` if it is not
/// set, or if its user may not configure this process (`.control.env.rights`). `read` may call
/// nothing that changes the environment.
pub fn with_environment<T>(name: &CStr, read: impl FnOnce(Option<&[u8]>) -> T) -> T {
    if has_more_rights() {
        return read(None);
    }
    let renamed = RENAMED.get().and_then(|all| all.iter().find(|(old, _)| *old == name));
    let name = renamed.map_or(name, |(_, new)| new);
    // SAFETY: `name` ends with a NUL. The text stays while nothing changes the environment. A
    // program may not change it while another thread may read it: `set_var` is unsafe for this
    // reason.
    let value = unsafe {
        let value = libc::getenv(name.as_ptr());
        if value.is_null() { None } else { Some(CStr::from_ptr(value).to_bytes()) }
    };
    read(value)
}

/// Writes to standard error, as much as it accepts.
pub(crate) fn write_error(text: &[u8]) {
    let _ = write_all(libc::STDERR_FILENO, text);
}

/// Claims a file for this process until the process ends or leaves the file; returns false if
/// another process has claimed it. A file system without locks lets every process have it.
pub(crate) fn claim_file(file: c_int) -> bool {
    // SAFETY: the call touches no memory.
    let result = retry(|| unsafe { libc::flock(file, libc::LOCK_EX | libc::LOCK_NB) } as isize);
    result != Err(libc::EWOULDBLOCK)
}

pub(crate) fn empty_file(file: c_int) -> Result<(), Errno> {
    // SAFETY: the call touches no memory.
    retry(|| unsafe { files::ftruncate(file, 0) } as isize).map(drop)
}

/// Gives a file its size, and allocates all of it on the host, so that every mapped page exists.
pub(crate) fn allocate_file(file: c_int, size: u64) -> Result<(), Errno> {
    let size = files::off_t::try_from(size).map_err(|_| libc::EFBIG)?;
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    loop {
        // SAFETY: the call touches no memory. It returns its error and does not set `errno`.
        match unsafe { files::posix_fallocate(file, 0, size) } {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(errno),
        }
    }
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    {
        // The system has no call for it: this writes every page.
        let zeros = [0; 4096];
        for offset in (0..size as u64).step_by(zeros.len()) {
            write_all_at(file, &zeros, offset).map_err(|(_, errno)| errno)?;
        }
        Ok(())
    }
}

/// Leaves a shared file to the other process. The file's number stays in use, for `/dev/null`, so
/// that an interrupted write cannot hit another file. Returns false if `/dev/null` cannot be
/// opened, or the limit of file numbers is too low: then the file is closed.
pub(crate) fn leave_file(file: c_int) -> bool {
    let flags = libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a NUL; the file numbers belong to this process.
    unsafe {
        let nothing = libc::open(c"/dev/null".as_ptr(), flags);
        if nothing < 0 {
            libc::close(file);
            return false;
        }
        let is_left = libc::dup2(nothing, file) == file;
        libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::close(nothing);
        if !is_left {
            libc::close(file);
        }
        is_left
    }
}

/// Returns the greatest size that this process may give a file.
pub(crate) fn file_size_max() -> u64 {
    let mut limit = files::rlimit { rlim_cur: files::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: fills a structure that lives through the call.
    unsafe { files::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    // Signed on some systems.
    let is_limited = limit.rlim_cur != files::RLIM_INFINITY;
    u64::try_from(limit.rlim_cur as i128).ok().filter(|_| is_limited).unwrap_or(u64::MAX)
}

/// Writes all bytes at the file's position. The error holds the number of bytes written.
pub(crate) fn write_all(file: c_int, bytes: &[u8]) -> Result<(), (usize, Errno)> {
    put_all(bytes, |rest, _| {
        // SAFETY: reads the bytes of a slice.
        unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) }
    })
}

/// Writes all bytes like [`write_all`], without raising SIGPIPE when the reader is gone: the signal
/// is blocked meanwhile, and consumed unless it was pending before.
pub(crate) fn write_all_in_peace(file: c_int, bytes: &[u8]) -> Result<(), (usize, Errno)> {
    without_sigpipe(|| write_all(file, bytes))
}

/// Writes all bytes like [`write_all_in_peace`], for a caller that must finish even if nothing
/// reads. A pipe that accepts anything accepts a whole piece. After `time` ms in which the pipe
/// accepts nothing, the call gives up.
pub(crate) fn write_all_in_time(
    file: c_int,
    bytes: &[u8],
    time: c_int,
) -> Result<(), (usize, Errno)> {
    if file < 0 {
        // `poll` would wait for it.
        return Err((0, libc::EBADF));
    }
    without_sigpipe(|| {
        put_all(bytes, |rest, _| {
            let piece = &rest[..rest.len().min(libc::PIPE_BUF)];
            let mut wait = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
            // SAFETY: reads the bytes of a slice; the structure lives through the call.
            unsafe {
                if libc::poll(&mut wait, 1, time) == 0 {
                    set_errno(libc::EAGAIN);
                    return -1;
                }
                libc::write(file, piece.as_ptr().cast(), piece.len())
            }
        })
    })
}

fn without_sigpipe(write: impl Fn() -> Result<(), (usize, Errno)>) -> Result<(), (usize, Errno)> {
    // SAFETY: every set is filled by its own call before it is used, and lives through the calls.
    unsafe {
        let is_pending = || {
            let mut pending: libc::sigset_t = core::mem::zeroed();
            libc::sigpending(&mut pending);
            libc::sigismember(&pending, libc::SIGPIPE) == 1
        };
        if is_pending() {
            // It is blocked already, and another one would add nothing.
            return write();
        }
        let mut pipe: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before);
        let result = write();
        if matches!(result, Err((_, libc::EPIPE))) && is_pending() {
            let mut signal = 0;
            libc::sigwait(&pipe, &mut signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        result
    }
}

/// Writes all bytes at `offset`. The error holds the number of bytes written.
pub(crate) fn write_all_at(file: c_int, bytes: &[u8], offset: u64) -> Result<(), (usize, Errno)> {
    let end = offset.checked_add(bytes.len() as u64);
    if end.is_none_or(|end| files::off_t::try_from(end).is_err()) {
        return Err((0, libc::EFBIG));
    }
    put_all(bytes, |rest, done| {
        let place = (offset + done as u64) as files::off_t;
        // SAFETY: reads the bytes of a slice.
        unsafe { files::pwrite(file, rest.as_ptr().cast(), rest.len(), place) }
    })
}

fn put_all(bytes: &[u8], put: impl Fn(&[u8], usize) -> isize) -> Result<(), (usize, Errno)> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match retry(|| put(rest, done)) {
            Ok(0) => return Err((done, libc::EIO)),
            Ok(size) => done += size as usize,
            Err(errno) => return Err((done, errno)),
        }
    }
    Ok(())
}

/// Repeats a call that a signal interrupted.
pub(crate) fn retry(call: impl Fn() -> isize) -> Result<isize, Errno> {
    loop {
        match call() {
            -1 => match errno() {
                libc::EINTR => {}
                errno => return Err(errno),
            },
            result => return Ok(result),
        }
    }
}

pub(crate) fn close(file: c_int) {
    // SAFETY: the file is the caller's own, and not used again.
    unsafe { libc::close(file) };
}

/// Reads the beginning of an open file, as much as fits.
pub(crate) fn read_open_file(file: c_int, bytes: &mut [u8]) -> Option<&[u8]> {
    let (start, size) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: writes at most `size` bytes of a slice.
    let size = retry(|| unsafe { files::pread(file, start, size, 0) }).ok()?;
    bytes.get(..size as usize)
}

/// Reads the beginning of a file, as much as fits.
pub(crate) fn read_file<'a>(path: &CStr, text: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: `path` ends with a NUL; at most `len` bytes are written.
    let size = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let size = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        size
    };
    text.get(..usize::try_from(size).ok()?)
}

/// Fills the bytes at random; returns false if the operating system has no source.
pub(crate) fn random(bytes: &mut [u8; 16]) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: writes at most `len` bytes. The C library's own function may keep a state.
    return unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) } == 16;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return read_file(c"/dev/urandom", bytes).is_some_and(|bytes| bytes.len() == 16);
}

/// Reads a clock, in ns; returns 0 if the system lacks it.
pub(crate) fn clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call. An error leaves it zero.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the numbers of this process and of its parent.
pub(crate) fn process_ids() -> (u64, u64) {
    if IS_MIRI {
        return (1, 0);
    }
    // SAFETY: these calls cannot fail and touch no memory.
    unsafe { (libc::getpid() as u64, libc::getppid() as u64) }
}

/// Writes the name of the host into a field that keeps a zero at its end.
pub(crate) fn host_name(name: &mut [u8; 64]) {
    if IS_MIRI {
        return;
    }
    // SAFETY: writes at most `len - 1` bytes.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
}

/// Has the C library call a function before every fork, on the thread that forks, and another one
/// in the child, before `fork` returns there.
#[cfg(not(miri))]
pub(crate) fn at_fork(before: extern "C" fn(), in_child: extern "C" fn()) {
    // SAFETY: functions that live for ever. The declared types of libc's parameters ask for unsafe
    // ones.
    unsafe { libc::pthread_atfork(Some(before), None, Some(in_child)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_that_no_file_can_have_is_refused() {
        let nothing = open_log(c"/dev/null").expect("it exists").expect("it may be written");
        let nothing = nothing.number().expect("it is open");
        for offset in [u64::MAX, i64::MAX as u64, files::off_t::MAX as u64 + 1] {
            assert_eq!(write_all_at(nothing, b"x", offset), Err((0, libc::EFBIG)), "{offset}");
        }
        let last = files::off_t::MAX as u64 - 1;
        assert!(last > u64::from(u32::MAX) || cfg!(not(target_os = "linux")), "large files");
        assert_eq!(write_all_at(nothing, b"x", last), Ok(()));
        close(nothing);
    }

    #[test]
    fn an_error_number_has_its_text() {
        let mut text = [0; 128];
        assert_eq!(error_text(libc::ENOSPC, &mut text), b"No space left on device");
        assert_eq!(error_text(4711, &mut text), b"error 4711");
    }
}
