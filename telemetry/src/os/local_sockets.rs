//! Calls of the operating system about sockets that serve tools of the same machine.
//!
//! ```text
//!  listen(DIR/PID.sock) ─ poll ─ accept ─ peer_user ─ receive, send ─ end, close
//! ```
//!
//! Only `wait` waits, and nothing allocates. Design: `.control.tool` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::os::sockets::{self, Peer};
use crate::os::sys::{Errno, File, close, errno, identify_name, retry, unlink_file};
use core::ffi::{CStr, c_int};

/// The greatest number of connections that wait to be accepted.
const BACKLOG: c_int = 64;
/// The mode of a socket: only its owner may connect (`.control.tool.owner`).
const MODE: libc::mode_t = 0o600;

/// Listens at a path. Replaces a socket that an ended process left there
/// (`.control.tool.stale`); fails if a process listens there, or the file is not a socket.
pub(crate) fn listen(path: &CStr) -> Result<File, Errno> {
    let peer = Peer::unix(path.to_bytes()).ok_or(libc::ENAMETOOLONG)?;
    let file = sockets::open(libc::AF_UNIX)?;
    listen_with(file, path, &peer).inspect_err(|_| close(file))?;
    File::new(file)
}

fn listen_with(file: c_int, path: &CStr, peer: &Peer) -> Result<(), Errno> {
    let (address, size) = peer.address();
    // SAFETY: the address has `size` bytes; the other calls touch no memory.
    unsafe {
        // On Linux the socket in the file system gets the mode of this one. Elsewhere the umask
        // gives the mode, for the length of the call. At no moment can others open it.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        libc::fchmod(file, MODE);
        let bind = || {
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            let before = libc::umask(0o777 & !MODE);
            let result = retry(|| libc::bind(file, address, size) as isize);
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            libc::umask(before);
            result
        };
        match bind() {
            Err(libc::EADDRINUSE) if is_left(path, peer)? => {
                unlink_file(path)?;
                bind()?;
            }
            result => drop(result?),
        }
        retry(|| libc::listen(file, BACKLOG) as isize).map(drop)
    }
}

/// Returns whether the path has a socket at which no process listens any more.
fn is_left(path: &CStr, peer: &Peer) -> Result<bool, Errno> {
    if identify_name(path)?.sort != libc::S_IFSOCK {
        return Ok(false);
    }
    let (address, size) = peer.address();
    let file = sockets::open(libc::AF_UNIX)?;
    // SAFETY: the address has `size` bytes.
    let result = retry(|| unsafe { libc::connect(file, address, size) } as isize);
    close(file);
    Ok(result == Err(libc::ECONNREFUSED))
}

pub(crate) fn remove(directory: c_int, name: &CStr) {
    // SAFETY: the name ends with a NUL.
    unsafe { libc::unlinkat(directory, name.as_ptr(), 0) };
}

/// Accepts the next connection; EAGAIN if none waits.
pub(crate) fn accept(listener: c_int) -> Result<File, Errno> {
    let (address, size) = (core::ptr::null_mut(), core::ptr::null_mut());
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let call = || {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: null pointers request no address.
        unsafe { libc::accept4(listener, address, size, flags) as isize }
    };
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: null pointers request no address.
    let call = || unsafe { libc::accept(listener, address, size) as isize };
    let file = retry(call)? as c_int;
    sockets::set_flags(file);
    File::new(file)
}

/// Returns the user at the other end (`.control.tool.owner`).
pub(crate) fn peer_user(file: c_int) -> Option<libc::uid_t> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: fills a structure of plain integers that lives through the call.
    unsafe {
        let mut peer: libc::ucred = core::mem::zeroed();
        let mut size = core::mem::size_of::<libc::ucred>() as libc::socklen_t;
        let place = (&raw mut peer).cast();
        let result = libc::getsockopt(file, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut size);
        (result == 0).then_some(peer.uid)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: writes two integers that live through the call.
    unsafe {
        let (mut user, mut group) = (0, 0);
        (libc::getpeereid(file, &mut user, &mut group) == 0).then_some(user)
    }
}

/// An event to wait for at a file, and whether it occurred.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Awaited(libc::pollfd);

impl Awaited {
    pub(crate) const NONE: Awaited = Awaited(libc::pollfd { fd: -1, events: 0, revents: 0 });

    /// The arrival of bytes or of a connection.
    pub(crate) fn input(file: c_int) -> Awaited {
        Awaited(libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 })
    }

    /// Room for bytes to send.
    pub(crate) fn room(file: c_int) -> Awaited {
        Awaited(libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 })
    }

    /// Returns whether the event occurred, or never will.
    pub(crate) fn has_come(&self) -> bool {
        self.0.revents != 0
    }
}

/// Waits up to `limit` ns for one of the events; `None`: for ever. Returns false if the system
/// cannot wait for this number of files, whose limit is that of open files.
pub(crate) fn wait(awaited: &mut [Awaited], limit: Option<u64>) -> bool {
    let (first, count) = (awaited.as_mut_ptr().cast::<libc::pollfd>(), awaited.len());
    // SAFETY: `Awaited` has the layout of a pollfd; all of them, and the time, live through the
    // call.
    let result = unsafe {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let time = limit.map(|limit| libc::timespec {
                tv_sec: (limit / 1_000_000_000) as libc::time_t,
                tv_nsec: (limit % 1_000_000_000) as libc::c_long,
            });
            let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
            libc::ppoll(first, count as libc::nfds_t, time, core::ptr::null())
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            let limit = limit.map_or(-1, |limit| limit.div_ceil(1_000_000) as c_int);
            libc::poll(first, count as libc::nfds_t, limit)
        }
    };
    result >= 0 || errno() == libc::EINTR
}

/// Receives bytes; 0: no more will arrive.
pub(crate) fn receive(file: c_int, bytes: &mut [u8]) -> Result<usize, Errno> {
    let (start, size) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: the call writes at most `size` bytes of a slice.
    retry(|| unsafe { libc::recv(file, start, size, 0) }).map(|size| size as usize)
}

pub(crate) fn end_sending(file: c_int) {
    // SAFETY: the call touches no memory.
    unsafe { libc::shutdown(file, libc::SHUT_WR) };
}
