//! Who is playing, for who waits at a terminal: nothing else is said for as long as it takes.
//!
//! ```text
//!  run 3 of 24: jemalloc ── the next ──▶ run 4 of 24: mimalloc ── the end ──▶ (nothing)
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use cli::complain;
use std::io::{IsTerminal, stderr};

/// Takes away what stands on the line.
const CLEAR: &str = "\r\x1b[K";

/// Which run it is, of how many.
pub(crate) struct Progress {
    is_told: bool,
    index: usize,
    count: usize,
}

impl Progress {
    /// Of so many runs; told if standard error is a terminal.
    pub(crate) fn new(count: usize) -> Progress {
        Progress { is_told: stderr().is_terminal(), index: 0, count }
    }

    /// Another run begins.
    pub(crate) fn next(&mut self, heap: &str) {
        self.index += 1;
        if self.is_told {
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
        if self.is_told && self.index > 0 {
            complain(CLEAR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_on_one_line_whatever_the_heap_is_called() {
        let mut progress = Progress { is_told: false, index: 0, count: 12 };
        progress.next("system");
        progress.next("a\nb");
        assert_eq!(progress.line("a\nb"), format!("{CLEAR}run 2 of 12: ab"));
    }
}
