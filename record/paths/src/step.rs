//! The truth on small inputs: a program instruction by instruction.
//!
//! ```text
//!  inside the graph: one step at a time ─▶ blocks
//!  a call of code outside: runs to its return at once
//! ```
//!
//! Design: `.collect.truth` in `design/collect.md`.

use crate::CollectError;
use crate::follow::{Blocks, Step, returns_twice};
use crate::launch::{Launch, Outputs, pin};
use crate::stage::{Ended, Stage, Stop, whole};
use lens_paths::binary::{Callee, Chart, Ends, unwinds};
use nix::libc::user_regs_struct as Registers;
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A path from single steps.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// The blocks, in order.
    pub path: Vec<Step>,
    /// Instructions that were stepped over one by one.
    pub steps: u64,
    /// How the program ended.
    pub ended: Ended,
    /// From the first function's beginning to its end.
    pub duration: Duration,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Whether the path has its end: the root returned, or the last block never returns. It lacks
    /// the end after an unwinding, whose landing the graph does not know.
    pub is_whole: bool,
}

/// Runs a program step by step, and returns its path from the root to the root's return.
///
/// # Errors
///
/// As [`collect`](crate::collect).
pub fn step(
    launch: &Launch,
    entry: u64,
    chart: &Chart,
    processor: Option<usize>,
) -> Result<Stepped, CollectError> {
    let before = processor.map(pin).transpose()?;
    let result = step_pinned(launch, entry, chart);
    if let Some(before) = before {
        sched_setaffinity(Pid::from_raw(0), &before)?;
    }
    result
}

fn step_pinned(launch: &Launch, entry: u64, chart: &Chart) -> Result<Stepped, CollectError> {
    let file = || tempfile::tempfile().map_err(CollectError::Memory);
    let outputs = Outputs { out: file()?, errors: file()? };
    let blocks = Blocks::new(chart);
    let mut stage = Stage::open(launch, entry, &outputs)?;
    let registers = stage.reach(blocks.root)?;
    let began = Instant::now();
    let end = (stage.memory.word(registers.rsp)?, registers.rsp.wrapping_add(8));
    for block in chart.blocks.iter().flatten().filter(|block| returns_twice(&block.ends)) {
        if let Ends::Call { back: Some(back), .. } = block.ends {
            stage.insert(back.wrapping_add(stage.memory.bias))?;
        }
    }
    let pads = chart.landings.iter().filter(|(_, is_inside)| **is_inside);
    let pads: BTreeSet<u64> = pads.map(|(pad, _)| pad.wrapping_add(stage.memory.bias)).collect();
    for pad in &pads {
        stage.insert(*pad)?;
    }
    let mut walk = Walk { stage, blocks, end, pads, path: Vec::new(), steps: 0, is_unwound: false };
    let ended = walk.go(registers)?;
    let duration = began.elapsed();
    let last = walk.path.last().and_then(|step| chart.block(step.0, step.1));
    let never_returns = last.is_some_and(|block| match &block.ends {
        Ends::Call { callee: Callee::Import(name), back: None } => !unwinds(name),
        Ends::Call { back: None, .. } | Ends::Stop => true,
        _ => false,
    });
    let is_whole = !walk.is_unwound && (!matches!(ended, Some(Ended::Exited(_))) || never_returns);
    let ended = match ended {
        Some(ended) => ended,
        None => walk.stage.finish()?,
    };
    let Walk { path, steps, .. } = walk;
    Ok(Stepped { path, steps, ended, duration, output: whole(outputs.out)?, is_whole })
}

struct Walk<'c> {
    stage: Stage,
    blocks: Blocks<'c>,
    /// The return of the root: the address, and the stack pointer after it.
    end: (u64, u64),
    /// The landing pads of the graph.
    pads: BTreeSet<u64>,
    path: Vec<Step>,
    steps: u64,
    /// Whether a callee threw, and the program goes on at a landing pad.
    is_unwound: bool,
}

impl Walk<'_> {
    /// Runs to the return of the root, or to the end of the program.
    fn go(&mut self, mut registers: Registers) -> Result<Option<Ended>, CollectError> {
        let bias = self.stage.memory.bias;
        let mut before = None;
        loop {
            if (registers.rip, registers.rsp) == self.end {
                return Ok(None);
            }
            let at = registers.rip.wrapping_sub(bias);
            if self.blocks.has(at) {
                if let Some((step, block)) = self.blocks.at(at) {
                    // A repeated string instruction stops once for each repetition.
                    let is_again = before == Some(at)
                        && (block.start != block.last || matches!(block.ends, Ends::Next(_)));
                    if !is_again {
                        self.path.push(step);
                    }
                }
                before = Some(at);
                self.steps += 1;
                if let Some(ended) = self.step_or_signal(registers.rip)? {
                    return Ok(Some(ended));
                }
            } else {
                before = None;
                if let Some(ended) = self.outside(&registers)? {
                    return Ok(Some(ended));
                }
            }
            if self.is_unwound {
                return Ok(None);
            }
            registers = self.stage.registers()?;
        }
    }

    fn step_or_signal(&mut self, at: u64) -> Result<Option<Ended>, CollectError> {
        let ended = self.stage.step_over(at)?;
        if ended.is_none() && self.stage.has_signals() {
            let now = self.stage.registers()?;
            // A handler runs now, and returns to here.
            return self.run_to(now.rip, now.rsp);
        }
        Ok(ended)
    }

    /// Runs code outside the graph to its return.
    fn outside(&mut self, registers: &Registers) -> Result<Option<Ended>, CollectError> {
        let back = self.stage.memory.word(registers.rsp)?;
        self.run_to(back, registers.rsp.wrapping_add(8))
    }

    /// Runs to an address at which the stack is as given.
    fn run_to(&mut self, at: u64, stack: u64) -> Result<Option<Ended>, CollectError> {
        let is_new = self.stage.insert(at)?;
        loop {
            let registers = match self.stage.go()? {
                Stop::Ended(ended) => return Ok(Some(ended)),
                Stop::Trap(registers) => registers,
            };
            self.stage.set(registers)?;
            // A jump out of several calls comes back elsewhere, and with less on the stack.
            let is_pad = self.pads.contains(&registers.rip) && registers.rsp >= stack;
            let is_jump = registers.rip != at && registers.rsp > stack || is_pad;
            if is_jump || registers.rip == at && registers.rsp == stack {
                if is_new {
                    self.stage.remove(at)?;
                }
                self.is_unwound |= is_pad;
                return Ok(None);
            }
            if let Some(ended) = self.stage.step_over(registers.rip)? {
                return Ok(Some(ended));
            }
        }
    }
}
