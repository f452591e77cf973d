//! What the host failed at, in words.
//!
//! ```text
//!  PlinthError ─▶ one line on standard error, for the process
//! ```
//!
//! Design: `.sol.quiet` in `design/telemetry.md`.

use super::{BOUND_TEXT, FIND_TEXT, KEEP_TEXT, Operation, Plinth, PlinthError};
use crate::block::memory;
use crate::os::report::{self, Text};
use crate::os::sys;

/// Reports a failure of the host.
pub(crate) fn say(error: &PlinthError, plinth: Option<&dyn Plinth>) {
    let name = Name(plinth);
    let mut text = [0; 128];
    let text = Text(sys::error_text(error.errno, &mut text));
    match error.operation {
        Operation::Create => report::say(format_args!(
            "cannot create {name}: {text}; nothing is output, the program goes on"
        )),
        Operation::Find => report::say(format_args!(
            "cannot create {name}: {FIND_TEXT}; nothing is output, the program goes on"
        )),
        Operation::Claim => report::say(format_args!(
            "{name} is in use by another process; nothing is output, the program goes on (%p in \
             MPS_TELEMETRY_FILENAME gives each process a log of its own)"
        )),
        Operation::Keep => report::say(format_args!(
            "{name}: {KEEP_TEXT}; what is recorded from now on is counted as lost, the program \
             goes on"
        )),
        Operation::Bound => report::say(format_args!(
            "cannot create {name}: {BOUND_TEXT}, which have {} bytes each; nothing is output, the \
             program goes on",
            memory::block_size()
        )),
        Operation::Refuse => {}
        Operation::Write => report::say(format_args!(
            "cannot write to {name}: {text}; lost events are counted, the program goes on"
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
