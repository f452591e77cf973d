//! The directory that a relative path began in: a program may change its own at any time.
//!
//! ```text
//!  note("a.log") ─ the first time ─▶ "/srv/"      before: "/srv/" │ a.log
//! ```
//!
//! A forked child has its parent's. Design: `.sol.plinth` in `design/telemetry.md`.

use crate::os::link::Link;
use crate::os::pages::{self, Temporary};
use crate::os::sys;
use core::ffi::CStr;

/// The longest path of a directory that is kept, in bytes, with a slash.
const SIZE_MAX: usize = 4096;

/// A directory, with a slash at its end; none at first.
pub(crate) struct Folder(Link<[u8; SIZE_MAX]>);

impl Folder {
    pub(crate) const fn none() -> Folder {
        Folder(Link::none())
    }

    /// Keeps the working directory, the first time, if `path` is relative.
    pub(crate) fn note(&self, path: &[u8]) {
        if path.starts_with(b"/") || self.0.get().is_some() {
            return;
        }
        // One that is too long to be kept, or was removed, is looked for again at each use.
        let Some(mut found) = Temporary::<u8>::map(SIZE_MAX) else { return };
        let Some(size) = sys::working_directory(&mut found[..SIZE_MAX - 1]) else { return };
        if found[..size].last() != Some(&b'/') {
            found[size] = b'/';
        }
        // The user may not enter all directories on the way to this one.
        let named = CStr::from_bytes_until_nul(&found).ok().map(sys::identify_name);
        let (Some(Ok(named)), Ok(here)) = (named, sys::identify_name(c".")) else { return };
        if here.is(&named)
            && let Some([folder]) = pages::map_slice::<[u8; SIZE_MAX]>(1)
        {
            folder.copy_from_slice(&found);
            self.0.set(Some(folder));
        }
    }

    /// Writes the directory, if one is kept, and there is room for `size` more bytes; returns the
    /// size of what it wrote.
    pub(crate) fn put_before(&self, size: usize, out: &mut [u8]) -> usize {
        let folder = self.0.get().map_or(&[][..], |folder| &folder[..]);
        let folder = folder.split(|byte| *byte == 0).next().unwrap_or_default();
        match out.get_mut(..folder.len() + size) {
            Some(_) => out[..folder.len()].copy_from_slice(folder),
            None => return 0,
        }
        folder.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_gets_the_first_directory_where_it_fits() {
        let folder = Folder::none();
        let mut out = [0; SIZE_MAX];
        folder.note(b"/absolute");
        assert_eq!(folder.put_before(1, &mut out), 0);
        folder.note(b"relative");
        let here = std::env::current_dir().expect("it exists");
        let here = format!("{}/", here.to_str().expect("UTF-8"));
        assert_eq!(folder.put_before(1, &mut out), here.len());
        assert_eq!(out[..here.len()], *here.as_bytes());
        assert_eq!(folder.put_before(1, &mut out[..here.len()]), 0);
    }
}
