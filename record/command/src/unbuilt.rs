//! The kernel's events in a build without them: refused before the program runs.
//!
//! Design: `.rep.record` in `design/replay.md`.

use crate::args::Args;
use cli::Stop;
use std::convert::Infallible;

/// A recording that is under way, which this build has not.
pub(crate) enum Kernel {}

/// Returns the reason that nothing of the kernel is recorded.
pub(crate) fn log(_: &Args) -> Result<Infallible, Stop> {
    Err(Stop::Message(
        "--kernel: this program was built without it; build it with the feature `kernel`, or use \
         `eventcnv record`"
            .to_owned(),
    ))
}

impl Kernel {
    pub(crate) fn begin(_: &Args, never: Infallible) -> Result<Kernel, String> {
        match never {}
    }

    pub(crate) fn watch(&mut self, _: u32) {
        match *self {}
    }

    pub(crate) fn finish(self) -> Result<Vec<String>, Stop> {
        match self {}
    }
}
