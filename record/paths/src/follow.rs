//! From the instructions of a program to the blocks of its graph.
//!
//! Design: `.collect.truth` in `design/collect.md`.

use lens_paths::binary::{self, Block, Callee, Chart, Ends};
use lens_paths::graph::{BlockId, FunctionId};
use std::collections::HashMap;

/// A block of a function.
pub type Step = (FunctionId, BlockId);

/// The blocks of a graph, by the addresses of the file.
#[derive(Debug)]
pub(crate) struct Blocks<'c> {
    starts: HashMap<u64, (Step, &'c Block)>,
    /// The ranges of code that blocks have, in order.
    ranges: Vec<(u64, u64)>,
    pub(crate) root: u64,
}

impl<'c> Blocks<'c> {
    pub(crate) fn new(chart: &'c Chart) -> Blocks<'c> {
        let mut starts = HashMap::new();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (function, blocks) in (0..).map(FunctionId).zip(&chart.blocks) {
            for (number, block) in (0..).map(BlockId).zip(blocks) {
                starts.insert(block.start, ((function, number), block));
                ranges.push((block.start, block.end));
            }
        }
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let is_next = next.0 == kept.1;
            kept.1 = if is_next { next.1 } else { kept.1 };
            is_next
        });
        let root = chart.program.function(chart.program.main()).and_then(|own| own.address());
        Blocks { starts, ranges, root: root.unwrap_or_default() }
    }

    pub(crate) fn has(&self, at: u64) -> bool {
        let after = self.ranges.partition_point(|(start, _)| *start <= at);
        after.checked_sub(1).and_then(|last| self.ranges.get(last)).is_some_and(|own| at < own.1)
    }

    pub(crate) fn at(&self, at: u64) -> Option<(Step, &'c Block)> {
        self.starts.get(&at).copied()
    }
}

/// Returns whether a block calls a function to which a jump from elsewhere comes back.
pub(crate) fn returns_twice(ends: &Ends) -> bool {
    matches!(ends, Ends::Call { callee: Callee::Import(name), .. } if binary::returns_twice(name))
}

/// Follows all instructions of a program, those of other images too, from the root to its return.
#[derive(Debug)]
pub(crate) struct Follower<'c> {
    blocks: Blocks<'c>,
    pub(crate) path: Vec<Step>,
    /// The block that runs or ran last.
    last: Option<&'c Block>,
    /// The address of the instruction before.
    before: u64,
    was_outside: bool,
    /// Where the calls that are open return to.
    frames: Vec<u64>,
    /// How many calls were open when a function was called to which a jump comes back.
    landings: HashMap<u64, usize>,
    /// A call from outside that has not returned: the open calls and the block before it.
    muted: Option<(usize, &'c Block)>,
    pub(crate) callbacks: u64,
    pub(crate) is_over: bool,
}

impl<'c> Follower<'c> {
    pub(crate) fn new(chart: &'c Chart) -> Follower<'c> {
        Follower {
            blocks: Blocks::new(chart),
            path: Vec::new(),
            last: None,
            before: 0,
            was_outside: false,
            frames: Vec::new(),
            landings: HashMap::new(),
            muted: None,
            callbacks: 0,
            is_over: false,
        }
    }

    /// Takes the address of the next instruction.
    pub(crate) fn take(&mut self, at: u64) {
        let is_again = core::mem::replace(&mut self.before, at) == at;
        let Some(last) = self.last else {
            if at == self.blocks.root {
                self.enter(at);
            }
            return;
        };
        if !self.blocks.has(at) {
            self.leave(last);
            return;
        }
        // A repeated string instruction is seen once for each repetition.
        let is_repeated = is_again && last.start != last.last;
        let is_flow = !matches!(last.ends, Ends::Next(_));
        if self.blocks.at(at).is_none() || is_repeated || is_again && !is_flow {
            return;
        }
        if core::mem::take(&mut self.was_outside) {
            self.come_back(last, at);
        } else {
            match &last.ends {
                Ends::Call { back: Some(back), .. } => self.frames.push(*back),
                Ends::Return if self.frames.last() == Some(&at) => {
                    self.frames.pop();
                }
                _ => {}
            }
        }
        self.enter(at);
    }

    fn enter(&mut self, at: u64) {
        if let Some((step, block)) = self.blocks.at(at) {
            if self.muted.is_none() {
                self.path.push(step);
            }
            self.last = Some(block);
        }
    }

    /// Control is outside the graph.
    fn leave(&mut self, last: &'c Block) {
        if core::mem::replace(&mut self.was_outside, true) {
            return;
        }
        if let (true, Ends::Call { back: Some(back), .. }) = (returns_twice(&last.ends), &last.ends)
        {
            self.landings.insert(*back, self.frames.len());
        }
        let is_return = last.ends == Ends::Return;
        match self.muted {
            Some((frames, before)) if is_return && self.frames.len() <= frames => {
                self.muted = None;
                self.last = Some(before);
            }
            None if is_return && self.frames.is_empty() => self.is_over = true,
            _ => {}
        }
    }

    /// Control is in the graph again.
    fn come_back(&mut self, last: &'c Block, at: u64) {
        let is_back = match &last.ends {
            Ends::Call { back, .. } => *back == Some(at),
            Ends::Tail(_) if self.frames.last() == Some(&at) => self.frames.pop().is_some(),
            _ => false,
        };
        // The call that called back has returned: a jump left what it had called.
        let is_left = self.muted.take_if(|(frames, before)| {
            let is_return =
                !is_back && matches!(before.ends, Ends::Call { back, .. } if back == Some(at));
            if is_return {
                self.frames.truncate(*frames);
            }
            is_return
        });
        if is_left.is_some() {
            return;
        }
        if let Some(frames) = self.landings.get(&at).filter(|_| !is_back) {
            self.frames.truncate(*frames);
            self.muted = self.muted.filter(|muted| muted.0 < *frames);
        } else if !is_back && self.muted.is_none() {
            self.callbacks += 1;
            self.muted = Some((self.frames.len(), last));
        }
    }
}
