//! What the runtime says on standard error: whole lines, without allocating.
//!
//! ```text
//!  format_args! ──▶ Line (512 bytes on the stack) ──▶ write(2)
//! ```
//!
//! Design: `.sol.quiet` in `design/telemetry.md`: each thing is said once.

use crate::os::sys;
use core::fmt::{Arguments, Write};
pub(crate) use eventlog::format::text::OneLine as Text;

/// The longest line, in bytes; what is beyond is cut.
const LINE_SIZE_MAX: usize = 512;

/// Text that is put together in a slice, as much as fits: the rest is cut.
pub(crate) struct Line<'a> {
    bytes: &'a mut [u8],
    size: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Line<'a> {
        Line { bytes, size: 0 }
    }

    /// Its bytes so far, whole characters.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// Ends the last line, where it was cut.
    pub(crate) fn end(&mut self) {
        if self.size != 0 && self.bytes[self.size - 1] != b'\n' {
            self.bytes[self.size] = b'\n';
            self.size += 1;
        }
    }
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // One byte is kept for the newline.
        let room = self.bytes.len().saturating_sub(1 + self.size);
        let size = text.floor_char_boundary(room);
        self.bytes[self.size..self.size + size].copy_from_slice(&text.as_bytes()[..size]);
        self.size += size;
        if size == text.len() { Ok(()) } else { Err(core::fmt::Error) }
    }
}

/// Says a line on standard error, after the name of the runtime.
pub(crate) fn say(what: Arguments<'_>) {
    let mut bytes = [0; LINE_SIZE_MAX];
    let mut line = Line::new(&mut bytes);
    // An error says that the line was cut, and there is nobody to tell.
    let _ = write!(line, "telemetry: {what}");
    line.end();
    sys::write_error(line.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        let mut bytes = [0; LINE_SIZE_MAX];
        let mut line = Line::new(&mut bytes);
        assert!(line.write_str(&"é".repeat(300)).is_err());
        assert_eq!(line.text(), "é".repeat(255));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(format!("{}", Text(b"a\xffb")), "a\u{fffd}b");
    }
}
