//! Sockets in the file system that serve tools of the same machine: the calls of the operating
//! system.
//!
//! ```text
//!  listen(DIR/PID.sock) ─ poll ─ accept ─ whose? ─ receive, send ─ end, close
//! ```
//!
//! Nothing here waits but `wait`, and nothing allocates. Design: `.control.tool` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::os::sockets::{self, Peer};
use crate::os::sys::{Errno, File, close, errno, identify_name, retry, unlink_file};
use core::ffi::{CStr, c_int};

/// Connections that wait to be accepted, at most.
const BACKLOG: c_int = 64;
/// What a socket lets through: its owner alone (`.control.tool.owner`).
const MODE: libc::mode_t = 0o600;

/// Listens at a path. A socket that a process has left there is replaced
/// (`.control.tool.stale`); one that somebody listens at, or something that is no socket, is not.
pub(crate) fn listen(path: &CStr) -> Result<File, Errno> {
    let peer = Peer::unix(path.to_bytes()).ok_or(libc::ENAMETOOLONG)?;
    let file = sockets::open(libc::AF_UNIX)?;
    listen_with(file, path, &peer).inspect_err(|_| close(file))?;
    File::new(file)
}

fn listen_with(file: c_int, path: &CStr, peer: &Peer) -> Result<(), Errno> {
    let (address, size) = peer.address();
    // SAFETY: the path ends with a NUL, and the address is as long as it says.
    unsafe {
        // On Linux the socket in the file system gets the mode of this one; elsewhere the mode is
        // what the umask leaves, for as long as the call takes. At no moment can others open it.
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

/// Whether there is a socket at which nobody listens any more.
fn is_left(path: &CStr, peer: &Peer) -> Result<bool, Errno> {
    if identify_name(path)?.sort != libc::S_IFSOCK {
        return Ok(false);
    }
    let (address, size) = peer.address();
    let file = sockets::open(libc::AF_UNIX)?;
    // SAFETY: the address is as long as it says.
    let result = retry(|| unsafe { libc::connect(file, address, size) } as isize);
    close(file);
    Ok(result == Err(libc::ECONNREFUSED))
}

/// Opens a directory, to remove something from it later.
pub(crate) fn open_directory(path: &CStr) -> Result<File, Errno> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a NUL.
    let file = retry(|| unsafe { libc::open(path.as_ptr(), flags) } as isize)?;
    File::new(file as c_int)
}

/// Removes a file from a directory.
pub(crate) fn remove(directory: c_int, name: &CStr) {
    // SAFETY: the name ends with a NUL.
    unsafe { libc::unlinkat(directory, name.as_ptr(), 0) };
}

/// The next connection; EAGAIN if there is none.
pub(crate) fn accept(listener: c_int) -> Result<File, Errno> {
    let (address, size) = (core::ptr::null_mut(), core::ptr::null_mut());
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let call = || {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: nothing is asked for of the address.
        unsafe { libc::accept4(listener, address, size, flags) as isize }
    };
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: nothing is asked for of the address.
    let call = || unsafe { libc::accept(listener, address, size) as isize };
    let file = retry(call)? as c_int;
    sockets::set_flags(file);
    File::new(file)
}

/// The user who has connected (`.control.tool.owner`).
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

/// What is waited for of a file, and whether it has come.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Awaited(libc::pollfd);

impl Awaited {
    /// Nothing.
    pub(crate) const NONE: Awaited = Awaited(libc::pollfd { fd: -1, events: 0, revents: 0 });

    /// Bytes or a connection to come.
    pub(crate) fn input(file: c_int) -> Awaited {
        Awaited(libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 })
    }

    /// Room for bytes to go.
    pub(crate) fn room(file: c_int) -> Awaited {
        Awaited(libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 })
    }

    /// Whether it has come, or never will.
    pub(crate) fn has_come(&self) -> bool {
        self.0.revents != 0
    }
}

/// Waits until something of these has come, for so many ns at most; `None`: for ever. False: it
/// cannot be waited for so many. (The limit of open files is also that of what is waited for.)
pub(crate) fn wait(awaited: &mut [Awaited], limit: Option<u64>) -> bool {
    let (first, count) = (awaited.as_mut_ptr().cast::<libc::pollfd>(), awaited.len());
    // SAFETY: each of `awaited` is a pollfd and nothing else; all of them, and the time, live
    // through the call.
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

/// Takes bytes that came; none of them: no more will.
pub(crate) fn receive(file: c_int, bytes: &mut [u8]) -> Result<usize, Errno> {
    let (start, size) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: at most so many bytes of a slice are written.
    retry(|| unsafe { libc::recv(file, start, size, 0) }).map(|size| size as usize)
}

/// Nothing more is sent.
pub(crate) fn end_sending(file: c_int) {
    // SAFETY: the call touches no memory.
    unsafe { libc::shutdown(file, libc::SHUT_WR) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::sys::own_user;
    use std::ffi::CString;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn path_in(folder: &tempfile::TempDir, name: &str) -> CString {
        CString::new(folder.path().join(name).to_str().unwrap()).unwrap()
    }

    /// `.control.tool.owner`
    #[test]
    fn a_socket_is_its_owners_alone_and_knows_who_connects() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder, "1.sock");
        let held = listen(&path).unwrap();
        let listener = held.number().unwrap();
        let about = std::fs::metadata(path.to_str().unwrap()).unwrap();
        assert_eq!((about.permissions().mode() & 0o777, about.uid()), (0o600, own_user()));
        assert_eq!(accept(listener).err(), Some(libc::EAGAIN));
        let _client = std::os::unix::net::UnixStream::connect(path.to_str().unwrap()).unwrap();
        let file = accept(listener).unwrap();
        assert_eq!(peer_user(file.number().unwrap()), Some(own_user()));
        file.close();
        held.close();
    }

    /// `.control.tool.stale`
    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let address = path_in(&folder, "1.sock");
        let first = listen(&address).unwrap();
        assert_eq!(listen(&address).err(), Some(libc::EADDRINUSE), "somebody listens");
        first.close();
        let second = listen(&address).unwrap();
        second.close();
        std::fs::write(folder.path().join("2.sock"), "mine").unwrap();
        let other = path_in(&folder, "2.sock");
        assert_eq!(listen(&other).err(), Some(libc::EADDRINUSE), "no socket");
        assert_eq!(std::fs::read(folder.path().join("2.sock")).unwrap(), b"mine");
    }
}
