//! Calls of the operating system about outgoing sockets. Only `wait` waits.
//!
//! ```text
//!  host ── resolve ──▶ Peer ── connect ──▶ file ── is_connected? ── send … ── close
//!  path ─────────────▶ Peer
//! ```
//!
//! Nothing allocates except the system's resolver, for a host that is neither an address nor
//! `localhost`. Design: `.sol.msg`, `.req.external` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::os::report::Line;
use crate::os::sys::{Errno, File, close, errno, retry};
use core::ffi::{CStr, c_int};
use core::fmt::Write;
use core::mem::{offset_of, size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The size of the send buffer that is requested, in bytes. The system gives what it allows.
const SEND_BUFFER_SIZE: c_int = 4 << 20;
/// A buffer of this size needs no request. The system may enlarge it by itself, which it stops
/// after a request.
const SEND_BUFFER_ENOUGH: c_int = 1 << 20;
/// The unsent bytes that TCP may hold. The system would hold more; the rest is kept for the end.
const UNSENT_MAX: c_int = 1 << 20;
/// What the system needs in addition to the bytes that it holds.
const ROOM_SPARE: c_int = 16 << 10;
/// The longest path of a socket, in bytes.
pub(crate) const SOCKET_PATH_SIZE_MAX: usize =
    size_of::<libc::sockaddr_un>() - offset_of!(libc::sockaddr_un, sun_path) - 1;
/// The longest host name that is resolved, in bytes.
const HOST_NAME_SIZE_MAX: usize = 255;

/// The receiver: an address in the system's form.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    /// P1: holds an address of `size` bytes, of the family that it names.
    address: libc::sockaddr_storage,
    size: libc::socklen_t,
}

impl Peer {
    fn new<T: Copy>(address: T) -> Peer {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: a storage of addresses consists of plain integers, and has room for any address.
        unsafe {
            let mut storage: libc::sockaddr_storage = zeroed();
            (&raw mut storage).cast::<T>().write_unaligned(address);
            Peer { address: storage, size: size_of::<T>() as libc::socklen_t }
        }
    }

    fn inet(host: IpAddr, port: u16) -> Peer {
        match host {
            IpAddr::V4(host) => {
                // SAFETY: plain integers.
                let mut address: libc::sockaddr_in = unsafe { zeroed() };
                address.sin_family = libc::AF_INET as libc::sa_family_t;
                address.sin_port = port.to_be();
                address.sin_addr.s_addr = u32::from_ne_bytes(host.octets());
                Peer::new(address)
            }
            IpAddr::V6(host) => {
                // SAFETY: plain integers.
                let mut address: libc::sockaddr_in6 = unsafe { zeroed() };
                address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                address.sin6_port = port.to_be();
                address.sin6_addr.s6_addr = host.octets();
                Peer::new(address)
            }
        }
    }

    /// Returns the address of a socket in the file system; `None` if the path is too long.
    pub(crate) fn unix(path: &[u8]) -> Option<Peer> {
        if path.len() > SOCKET_PATH_SIZE_MAX || path.contains(&0) {
            return None;
        }
        // SAFETY: plain integers.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        Some(Peer::new(address))
    }

    /// Returns the address and its size, as the calls of the system take them.
    pub(crate) fn address(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.address).cast(), self.size)
    }
}

/// Returns whether [`resolve`] needs no resolver for this host.
pub(crate) fn is_known(host: &[u8]) -> bool {
    host.eq_ignore_ascii_case(b"localhost")
        || core::str::from_utf8(host).is_ok_and(|host| host.parse::<IpAddr>().is_ok())
}

/// Puts the addresses of a host into `peers`, and returns their number. A numeric address and
/// `localhost` need no resolver.
pub(crate) fn resolve(host: &[u8], port: u16, peers: &mut [Option<Peer>]) -> usize {
    let number = core::str::from_utf8(host).ok().and_then(|host| host.parse::<IpAddr>().ok());
    let local = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let known = match &number {
        Some(number) => core::slice::from_ref(number),
        None if host.eq_ignore_ascii_case(b"localhost") => &local,
        None => return ask_resolver(host, port, peers),
    };
    for (peer, host) in peers.iter_mut().zip(known) {
        *peer = Some(Peer::inet(*host, port));
    }
    known.len().min(peers.len())
}

fn ask_resolver(host: &[u8], port: u16, peers: &mut [Option<Peer>]) -> usize {
    let mut name = [0; HOST_NAME_SIZE_MAX + 1];
    let Some(room) = name.get_mut(..host.len()).filter(|_| host.len() <= HOST_NAME_SIZE_MAX) else {
        return 0;
    };
    room.copy_from_slice(host);
    let Ok(name) = CStr::from_bytes_until_nul(&name) else { return 0 };
    let mut digits = [0; 8];
    // It fits.
    let _ = write!(Line::new(&mut digits), "{port}");
    let mut count = 0;
    // SAFETY: both names end with a NUL, and the hints are plain integers and null pointers. Each
    // result has an address of its size, and the list is freed once.
    unsafe {
        let mut hints: libc::addrinfo = zeroed();
        hints.ai_socktype = libc::SOCK_STREAM;
        let mut found = core::ptr::null_mut();
        if libc::getaddrinfo(name.as_ptr(), digits.as_ptr().cast(), &hints, &mut found) != 0 {
            return 0;
        }
        let mut next = found;
        while let Some(info) = next.as_ref()
            && let Some(place) = peers.get_mut(count)
        {
            let mut peer = Peer { address: zeroed(), size: info.ai_addrlen };
            let size = (peer.size as usize).min(size_of::<libc::sockaddr_storage>());
            let to = (&raw mut peer.address).cast::<u8>();
            info.ai_addr.cast::<u8>().copy_to_nonoverlapping(to, size);
            *place = Some(peer);
            count += 1;
            next = info.ai_next;
        }
        libc::freeaddrinfo(found);
    }
    count
}

/// Begins to connect. Returns a file, and whether it is connected already.
pub(crate) fn connect(peer: &Peer, block_size: usize) -> Result<(File, bool), Errno> {
    let family = c_int::from(peer.address.ss_family);
    let file = open(family)?;
    let (address, size) = peer.address();
    // SAFETY: P1: the address has `size` bytes, and lives through the call.
    let result = unsafe { libc::connect(file, address, size) };
    let is_connected = match result {
        0 => true,
        _ => match errno() {
            libc::EINPROGRESS | libc::EINTR => false,
            errno => {
                close(file);
                return Err(errno);
            }
        },
    };
    enlarge(file);
    keep_room(file, block_size);
    Ok((File::new(file)?, is_connected))
}

/// Opens a socket that does not wait, does not outlive `exec`, and raises no SIGPIPE.
pub(crate) fn open(family: c_int) -> Result<c_int, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const TYPE: c_int = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const TYPE: c_int = libc::SOCK_STREAM;
    // SAFETY: the call touches no memory.
    let file = retry(|| unsafe { libc::socket(family, TYPE, 0) } as isize)? as c_int;
    set_flags(file);
    Ok(file)
}

/// Makes a socket non-blocking, closed by `exec`, and without SIGPIPE, where it was not opened so.
pub(crate) fn set_flags(file: c_int) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = file;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: the calls touch no memory.
    unsafe {
        libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(file, libc::F_SETFL, libc::O_NONBLOCK);
    }
    #[cfg(target_vendor = "apple")]
    set_option(file, libc::SO_NOSIGPIPE, 1);
}

/// Enlarges the send buffer so that the system can hold some blocks.
fn enlarge(file: c_int) {
    if option(file, libc::SO_SNDBUF).is_ok_and(|size| size < SEND_BUFFER_ENOUGH) {
        set_option(file, libc::SO_SNDBUF, SEND_BUFFER_SIZE);
    }
}

/// Reserves a part of the send buffer for the end, when [`use_room`] releases it.
fn keep_room(file: c_int, block_size: usize) {
    // An unfinished block, the last one, and the system's own need.
    let room = 2 * block_size as c_int + ROOM_SPARE;
    if !set_unsent_max(file, UNSENT_MAX.max(room))
        && let Ok(given) = option(file, libc::SO_SNDBUF)
    {
        // Linux doubles the requested size.
        let doubled = if cfg!(any(target_os = "linux", target_os = "android")) { 2 } else { 1 };
        set_option(file, libc::SO_SNDBUF, (given - room.min(given / 2)) / doubled);
    }
}

/// Releases the whole send buffer.
pub(crate) fn use_room(file: c_int) {
    let is_small = || option(file, libc::SO_SNDBUF).is_ok_and(|size| size < SEND_BUFFER_ENOUGH);
    if !set_unsent_max(file, c_int::MAX) || is_small() {
        set_option(file, libc::SO_SNDBUF, SEND_BUFFER_SIZE);
    }
}

/// Limits the unsent bytes that TCP holds; returns false where the system has no such limit.
fn set_unsent_max(file: c_int, size: c_int) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return set_option_of(file, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, size);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = (file, size);
        false
    }
}

fn set_option(file: c_int, name: c_int, value: c_int) {
    set_option_of(file, libc::SOL_SOCKET, name, value);
}

/// Sets an option; returns false if the system refuses and changes nothing.
fn set_option_of(file: c_int, level: c_int, name: c_int, value: c_int) -> bool {
    let size = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: reads one integer.
    unsafe { libc::setsockopt(file, level, name, (&raw const value).cast(), size) == 0 }
}

fn option(file: c_int, name: c_int) -> Result<c_int, Errno> {
    let (mut value, mut size) = (0, size_of::<c_int>() as libc::socklen_t);
    let place = (&raw mut value).cast();
    // SAFETY: writes one integer.
    let result =
        unsafe { libc::getsockopt(file, libc::SOL_SOCKET, name, place, &mut size) } as isize;
    if result == 0 { Ok(value) } else { Err(errno()) }
}

/// Returns whether the connection is established by now.
pub(crate) fn is_connected(file: c_int) -> Result<bool, Errno> {
    if !wait(file, 0) {
        return Ok(false);
    }
    match option(file, libc::SO_ERROR)? {
        0 => Ok(true),
        errno => Err(errno),
    }
}

/// Sends as much as the system accepts at once; 0 if nothing.
pub(crate) fn send(file: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    #[cfg(target_vendor = "apple")]
    const FLAGS: c_int = libc::MSG_DONTWAIT;
    #[cfg(not(target_vendor = "apple"))]
    const FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: reads the bytes of a slice.
    let send = || unsafe { libc::send(file, bytes.as_ptr().cast(), bytes.len(), FLAGS) };
    match retry(send) {
        Ok(size) => Ok(size as usize),
        // A socket that is not connected yet accepts nothing either.
        Err(libc::EAGAIN | libc::ENOBUFS) => Ok(0),
        Err(errno) => Err(errno),
    }
}

/// Waits up to `milliseconds` until the socket accepts bytes or has an error; returns whether it
/// does.
pub(crate) fn wait(file: c_int, milliseconds: c_int) -> bool {
    let mut poll = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one structure, which lives through the call.
    unsafe { libc::poll(&mut poll, 1, milliseconds) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(host: &str) -> Vec<(c_int, Vec<u8>)> {
        let mut peers = [None; 4];
        let count = resolve(host.as_bytes(), 0x1234, &mut peers);
        let shown = |peer: &Peer| {
            // SAFETY: P1: the address has `size` bytes, of the family that it names.
            let bytes = unsafe {
                let start = (&raw const peer.address).cast::<u8>();
                core::slice::from_raw_parts(start, peer.size as usize)
            };
            (c_int::from(peer.address.ss_family), bytes.to_vec())
        };
        peers[..count].iter().flatten().map(shown).collect()
    }

    #[test]
    fn numbers_and_localhost_need_no_resolver() {
        let found = resolved("127.0.0.2");
        assert_eq!((found.len(), found[0].0), (1, libc::AF_INET));
        assert_eq!(found[0].1[2..8], [0x12, 0x34, 127, 0, 0, 2]);
        let found = resolved("::1");
        assert_eq!((found.len(), found[0].0), (1, libc::AF_INET6));
        assert_eq!((&found[0].1[2..4], found[0].1[23]), (&[0x12, 0x34][..], 1));
        let families: Vec<c_int> = resolved("LocalHost").iter().map(|peer| peer.0).collect();
        assert_eq!(families, [libc::AF_INET, libc::AF_INET6]);
        assert!(resolved(&"x".repeat(256)).is_empty() && resolved("no such host").is_empty());
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_is_refused() {
        assert!(Peer::unix(&[b'x'; SOCKET_PATH_SIZE_MAX]).is_some());
        assert!(Peer::unix(&[b'x'; SOCKET_PATH_SIZE_MAX + 1]).is_none());
        assert!(Peer::unix(b"a\0b").is_none());
    }
}
