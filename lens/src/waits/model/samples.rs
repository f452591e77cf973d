//! Samples of runs, and the addresses of stacks.
//!
//! ```text
//!  run ──▶ its samples ──▶ stack ──▶ frame ──▶ the frame that called it …
//! ```
//!
//! Design: `.waits.flame` in `design/waits.md`.

use super::Model;

/// Frames of a stack that are told, at most: the innermost.
const ADDRESS_COUNT_MAX: usize = 64;

impl Model {
    /// Returns the samples of a run in order of time, each with its place and its stack.
    pub fn samples_of(&self, run: u32) -> &[(u32, u32)] {
        let from = self.samples.partition_point(|(place, _)| *place < run);
        let to = self.samples.partition_point(|(place, _)| *place <= run);
        self.samples.get(from..to).unwrap_or_default()
    }

    /// Returns the addresses of a stack, the outermost first, 64 at most.
    pub fn addresses(&self, stack: u32) -> Vec<u64> {
        let mut all = Vec::new();
        let mut next = stack;
        while let Some((caller, address)) =
            next.checked_sub(1).and_then(|at| self.frames.get(at as usize))
            && all.len() < ADDRESS_COUNT_MAX
        {
            all.push(*address);
            next = *caller;
        }
        all.reverse();
        all
    }
}
