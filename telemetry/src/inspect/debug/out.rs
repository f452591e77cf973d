//! Lines for a file that perhaps nothing reads.
//!
//! ```text
//!  line ─▶ │ line │ line │ …  │ full ─▶ poll ─ write ─ poll ─ write …
//! ```
//!
//! Design: `.debug.dump` in `design/telemetry.md`.

use crate::inspect::text::LINE_SIZE_MAX;
use crate::os::pages::Temporary;
use crate::os::report::Line;
use crate::os::sys::{self, Errno};
use core::ffi::c_int;
use core::fmt;

/// The bytes that are collected before they are written.
const TEXT_SIZE: usize = 4 * LINE_SIZE_MAX;
/// The longest time that a file may accept nothing, in ms.
const TIME_MAX: c_int = 5000;

/// A file, and the text collected for it.
pub(super) struct Out {
    file: c_int,
    text: Temporary<u8>,
    size: usize,
}

impl Out {
    pub(super) fn new(file: c_int) -> Result<Out, Errno> {
        Ok(Out { file, text: Temporary::map(TEXT_SIZE).ok_or(libc::ENOMEM)?, size: 0 })
    }

    /// Adds a line; a line that is too long is cut.
    pub(super) fn line(
        &mut self,
        write: impl FnOnce(&mut Line<'_>) -> fmt::Result,
    ) -> Result<(), Errno> {
        if self.text.len() - self.size <= LINE_SIZE_MAX {
            self.flush()?;
        }
        let mut line = Line::new(&mut self.text[self.size..self.size + LINE_SIZE_MAX]);
        let _ = write(&mut line);
        line.end();
        self.size += line.bytes().len();
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        let result = sys::write_all_in_time(self.file, &self.text[..self.size], TIME_MAX);
        self.size = 0;
        result.map_err(|(_, errno)| errno)
    }
}
