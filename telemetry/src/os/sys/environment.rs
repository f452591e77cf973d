//! Environment variables, as far as their user may configure this process.
//!
//! ```text
//!  has the process more rights than its user? ─ yes ─▶ every variable counts as not set
//!                                             └ no ──▶ getenv
//! ```
//!
//! Design: `.control.env.rights` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::IS_MIRI;
use core::ffi::CStr;

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

/// Passes the value of an environment variable to `read`, without copying it; `None` if it is not
/// set, or if its user may not configure this process (`.control.env.rights`). `read` may call
/// nothing that changes the environment.
pub(crate) fn with_environment<T>(name: &CStr, read: impl FnOnce(Option<&[u8]>) -> T) -> T {
    if has_more_rights() {
        return read(None);
    }
    // SAFETY: `name` ends with a NUL. The text stays while nothing changes the environment. A
    // program may not change it while another thread may read it: `set_var` is unsafe for this
    // reason.
    let value = unsafe {
        let value = libc::getenv(name.as_ptr());
        if value.is_null() { None } else { Some(CStr::from_ptr(value).to_bytes()) }
    };
    read(value)
}
