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

/// A line that is being put together.
struct Line {
    bytes: [u8; LINE_SIZE_MAX],
    size: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // One byte is kept for the newline.
        let room = LINE_SIZE_MAX - 1 - self.size;
        let size = text.floor_char_boundary(room);
        self.bytes[self.size..self.size + size].copy_from_slice(&text.as_bytes()[..size]);
        self.size += size;
        if size == text.len() { Ok(()) } else { Err(core::fmt::Error) }
    }
}

/// Says a line on standard error, after the name of the runtime.
pub(crate) fn say(what: Arguments<'_>) {
    let mut line = Line { bytes: [0; LINE_SIZE_MAX], size: 0 };
    // An error says that the line was cut, and there is nobody to tell.
    let _ = write!(line, "telemetry: {what}");
    line.bytes[line.size] = b'\n';
    sys::write_error(&line.bytes[..=line.size]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        let mut line = Line { bytes: [0; LINE_SIZE_MAX], size: 0 };
        let long = "é".repeat(300);
        assert!(line.write_str(&long).is_err());
        let text = std::str::from_utf8(&line.bytes[..line.size]).expect("whole characters");
        assert_eq!(text, "é".repeat(255));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(format!("{}", Text(b"a\xffb")), "a\u{fffd}b");
    }
}
