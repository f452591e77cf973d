//! What the runtime says on standard error: whole lines, without allocating.
//!
//! ```text
//!  format_args! ──▶ Line (512 bytes on the stack) ──▶ write(2)
//! ```
//!
//! Design: `.sol.quiet` in `design/telemetry.md`: each thing is said once.

use crate::block::memory;
use crate::os::sys;
use crate::plinth::{BOUND_TEXT, FIND_TEXT, KEEP_TEXT, Operation, Plinth, PlinthError};
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

/// Says what the host failed at.
pub(crate) fn say_failure(error: &PlinthError, plinth: Option<&dyn Plinth>) {
    let name = Name(plinth);
    let mut text = [0; 128];
    let text = Text(sys::error_text(error.errno, &mut text));
    match error.operation {
        Operation::Create => say(format_args!(
            "cannot create {name}: {text}; nothing is output, the program goes on"
        )),
        Operation::Find => say(format_args!(
            "cannot create {name}: {FIND_TEXT}; nothing is output, the program goes on"
        )),
        Operation::Claim => say(format_args!(
            "{name} is in use by another process; nothing is output, the program goes on (%p in \
             MPS_TELEMETRY_FILENAME gives each process a log of its own)"
        )),
        Operation::Keep => say(format_args!(
            "{name}: {KEEP_TEXT}; what is recorded from now on is counted as lost, the program \
             goes on"
        )),
        Operation::Bound => say(format_args!(
            "cannot create {name}: {BOUND_TEXT}, which have {} bytes each; nothing is output, the \
             program goes on",
            memory::block_size()
        )),
        Operation::Refuse => {}
        Operation::Write => say(format_args!(
            "cannot write to {name}: {text}; what is not written is counted, the program goes on"
        )),
    }
}

struct Name<'a>(Option<&'a dyn Plinth>);

impl core::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(plinth) => plinth.describe(f),
            None => f.write_str("the log"),
        }
    }
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
