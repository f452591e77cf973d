//! Messages of the runtime on standard error: whole lines, without allocation.
//!
//! ```text
//!  format_args! ──▶ Line (512 bytes on the stack) ──▶ write(2)
//! ```
//!
//! Design: `.sol.quiet` in `design/telemetry.md`: each problem is reported once.

use crate::os::sys;
use core::fmt::{Arguments, Write};
pub(crate) use eventlog::format::text::OneLine as Text;

/// The longest message, in bytes; longer ones are cut.
const LINE_SIZE_MAX: usize = 512;

/// Lines of text under construction; text beyond the size of `bytes` is cut.
pub(crate) struct Line<'a> {
    bytes: &'a mut [u8],
    size: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Line<'a> {
        Line { bytes, size: 0 }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// Ends the last line, if it has no newline.
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

/// Writes a line to standard error, after the name of the runtime.
pub fn say(message: Arguments<'_>) {
    let mut bytes = [0; LINE_SIZE_MAX];
    let mut line = Line::new(&mut bytes);
    // An error means that the line was cut; the rest is still useful.
    let _ = write!(line, "telemetry: {message}");
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
        let long = "é".repeat(300);
        assert!(line.write_str(&long).is_err());
        assert_eq!(line.text(), "é".repeat(255));
    }
}
