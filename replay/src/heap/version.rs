//! The versions and options of the built-in heaps, as their libraries state them.
//!
//! ```text
//!  gnu_get_libc_version │ mallctl("version"), mallctl("opt.…") │ mi_version ──▶ text
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "these are calls of the heaps' own libraries")]

#[cfg(any(feature = "jemalloc", all(target_os = "linux", target_env = "gnu")))]
use std::ffi::CStr;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn system() -> Option<String> {
    // SAFETY: the call returns a text that exists as long as the process.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("(GNU C Library {})", version.to_string_lossy()))
}

/// Other C libraries state no version.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn system() -> Option<String> {
    None
}

/// Returns the version of jemalloc, and the options that decide how much memory it keeps.
#[cfg(feature = "jemalloc")]
pub(crate) fn jemalloc() -> Option<String> {
    use std::ptr::null_mut;
    use tikv_jemalloc_sys::mallctl;

    fn read<T: Default>(name: &CStr) -> Option<T> {
        let (mut value, mut size) = (T::default(), size_of::<T>());
        let place = (&raw mut value).cast();
        // SAFETY: the name ends with a NUL; the value has the stated size, and jemalloc refuses any
        // other size.
        let error = unsafe { mallctl(name.as_ptr(), place, &mut size, null_mut(), 0) };
        (error == 0).then_some(value)
    }
    let text = read::<usize>(c"version").filter(|text| *text != 0)?;
    // SAFETY: the version is a text that exists as long as the process.
    let version = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(text)) };
    let mut text = version.to_string_lossy().split("-g").next().unwrap_or_default().to_owned();
    if let Some(count) = read::<u32>(c"opt.narenas") {
        text += &format!(", narenas:{count}");
    }
    for (name, value) in [
        ("dirty_decay_ms", read::<isize>(c"opt.dirty_decay_ms")),
        ("muzzy_decay_ms", read::<isize>(c"opt.muzzy_decay_ms")),
    ] {
        text += &value.map_or(String::new(), |value| format!(", {name}:{value}"));
    }
    Some(text)
}

#[cfg(feature = "mimalloc")]
pub(crate) fn mimalloc() -> Option<String> {
    unsafe extern "C" {
        safe fn mi_version() -> std::ffi::c_int;
    }
    let version = mi_version();
    // 227 is 2.2.7; later ones have two digits each.
    let digits = if version >= 10_000 { 100 } else { 10 };
    let (major, rest) = (version / (digits * digits), version % (digits * digits));
    Some(format!("{major}.{}.{}", rest / digits, rest % digits))
}
