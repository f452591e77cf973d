//! Texts of error numbers.
//!
//! ```text
//!  28 ─▶ No space left on device          4711 ─▶ error 4711
//! ```
//!
//! The C library's function may wait for a lock, and allocate, when it looks for a translation. So
//! this is a table. Design: `.sol.ordinary` in `design/telemetry.md`.

use super::Errno;
use std::io::Write;

/// The texts of errors that files, sockets, memory and threads may give.
const ERROR_TEXTS: &[(Errno, &str)] = &[
    (libc::EPERM, "Operation not permitted"),
    (libc::ENOENT, "No such file or directory"),
    (libc::EINTR, "Interrupted system call"),
    (libc::EIO, "Input/output error"),
    (libc::ENXIO, "No such device or address"),
    (libc::EBADF, "Bad file descriptor"),
    (libc::EAGAIN, "Resource temporarily unavailable"),
    (libc::ENOMEM, "Cannot allocate memory"),
    (libc::EACCES, "Permission denied"),
    (libc::EBUSY, "Device or resource busy"),
    (libc::EEXIST, "File exists"),
    (libc::EXDEV, "Invalid cross-device link"),
    (libc::ENODEV, "No such device"),
    (libc::ENOTDIR, "Not a directory"),
    (libc::EISDIR, "Is a directory"),
    (libc::EINVAL, "Invalid argument"),
    (libc::ENFILE, "Too many open files in system"),
    (libc::EMFILE, "Too many open files"),
    (libc::ETXTBSY, "Text file busy"),
    (libc::EFBIG, "File too large"),
    (libc::ENOSPC, "No space left on device"),
    (libc::ESPIPE, "Illegal seek"),
    (libc::EROFS, "Read-only file system"),
    (libc::EMLINK, "Too many links"),
    (libc::EPIPE, "Broken pipe"),
    (libc::ENAMETOOLONG, "File name too long"),
    (libc::ELOOP, "Too many levels of symbolic links"),
    (libc::ENOTSUP, "Operation not supported"),
    (libc::EADDRINUSE, "Address already in use"),
    (libc::EADDRNOTAVAIL, "Cannot assign requested address"),
    (libc::ENETUNREACH, "Network is unreachable"),
    (libc::ECHILD, "No child processes"),
    (libc::ENOSYS, "Function not implemented"),
    (libc::ESTALE, "Stale file handle"),
    (libc::ENOTSOCK, "Socket operation on non-socket"),
    (libc::EPROTOTYPE, "Protocol wrong type for socket"),
    (libc::EAFNOSUPPORT, "Address family not supported by protocol"),
    (libc::ENETDOWN, "Network is down"),
    (libc::EHOSTUNREACH, "No route to host"),
    (libc::ECONNABORTED, "Software caused connection abort"),
    (libc::ENOBUFS, "No buffer space available"),
    (libc::ECONNRESET, "Connection reset by peer"),
    (libc::ENOTCONN, "Transport endpoint is not connected"),
    (libc::ETIMEDOUT, "Connection timed out"),
    (libc::ECONNREFUSED, "Connection refused"),
    (libc::EDQUOT, "Disk quota exceeded"),
];

pub(crate) fn error_text(errno: Errno, text: &mut [u8; 128]) -> &[u8] {
    if let Some((_, known)) = ERROR_TEXTS.iter().find(|(number, _)| *number == errno) {
        return known.as_bytes();
    }
    let room = text.len();
    let mut rest = &mut text[..];
    // The room is large enough.
    let _ = write!(rest, "error {errno}");
    let size = room - rest.len();
    &text[..size]
}
