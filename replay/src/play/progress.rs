//! Shows the current run on a terminal.
//!
//! ```text
//!  run 3 of 24: jemalloc ── the next ──▶ run 4 of 24: mimalloc ── the end ──▶ (nothing)
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use cli::complain;
use std::io::{IsTerminal, stderr};

/// Clears the line.
const CLEAR: &str = "\r\x1b[K";

/// The current run, and the number of runs.
pub(crate) struct Progress {
    is_shown: bool,
    index: usize,
    count: usize,
}

impl Progress {
    /// Returns the progress of this number of runs, shown if standard error is a terminal.
    pub(crate) fn new(count: usize) -> Progress {
        Progress { is_shown: stderr().is_terminal(), index: 0, count }
    }

    /// Begins the next run.
    pub(crate) fn next(&mut self, heap: &str) {
        self.index += 1;
        if self.is_shown {
            complain(&self.line(heap));
        }
    }

    fn line(&self, heap: &str) -> String {
        let heap: String = heap.chars().filter(|c| !c.is_control()).collect();
        format!("{CLEAR}run {} of {}: {heap}", self.index, self.count)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown && self.index > 0 {
            complain(CLEAR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_stays_on_one_line() {
        let mut progress = Progress { is_shown: false, index: 0, count: 12 };
        progress.next("system");
        progress.next("a\nb");
        assert_eq!(progress.line("a\nb"), format!("{CLEAR}run 2 of 12: ab"));
    }
}
