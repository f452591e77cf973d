//! Runs a program over its breakpoints.
//!
//! ```text
//!  start ─▶ root: breakpoints in ─▶ trap: letters, where to go on ─▶ … ─▶ root returns │ it ends
//!                                    └ called from outside: muted until that call returns
//! ```
//!
//! The program has one thread. Its children run without breakpoints. Code outside the graph that
//! calls back into it, signal handlers too, is left out and counted.
//!
//! Design: `.collect.traps` in `design/collect.md`.

use crate::CollectError;
use crate::displace::{self, COPY_SIZE, Over};
use crate::launch::{Launch, Outputs, pin};
use crate::sites::{AtEnd, Letter, Site, Sites};
use crate::stage::{Ended, Stage, Stop, whole};
use iced_x86::{Decoder, DecoderOptions};
use nix::libc::user_regs_struct as Registers;
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The longest instruction.
const INSTRUCTION_MAX: usize = 15;

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Hits {
    /// The letters, in order.
    pub letters: Vec<Letter>,
    /// Breakpoints that were hit.
    pub traps: u64,
    /// Calls from code outside into the graph, which are left out.
    pub callbacks: u64,
    /// Processes that the program made; their paths are left out.
    pub children: u64,
    /// How the program ended.
    pub ended: Ended,
    /// From the first function's beginning to its end.
    pub duration: Duration,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: Vec<u8>,
}

/// Runs a program with breakpoints, on a processor of its own if one is given.
///
/// `entry` is the address of the file's first instruction.
///
/// # Errors
///
/// The program cannot be run or traced, begins a thread, executes another program, or jumps where
/// the graph knows no block.
pub fn collect(
    launch: &Launch,
    entry: u64,
    sites: &Sites,
    processor: Option<usize>,
) -> Result<Hits, CollectError> {
    let before = processor.map(pin).transpose()?;
    let result = collect_pinned(launch, entry, sites);
    if let Some(before) = before {
        sched_setaffinity(Pid::from_raw(0), &before)?;
    }
    result
}

fn collect_pinned(launch: &Launch, entry: u64, sites: &Sites) -> Result<Hits, CollectError> {
    let file = || tempfile::tempfile().map_err(CollectError::Memory);
    let outputs = Outputs { out: file()?, errors: file()? };
    let mut run = Run::begin(launch, entry, sites, &outputs)?;
    let began = Instant::now();
    let ended = run.go()?;
    Ok(Hits {
        letters: run.letters,
        traps: run.traps,
        callbacks: run.callbacks,
        children: run.stage.children,
        ended,
        duration: run.until.unwrap_or_else(Instant::now) - began,
        output: whole(outputs.out)?,
        errors: whole(outputs.errors)?,
    })
}

struct Armed<'s> {
    site: &'s Site,
    over: Over,
}

/// A call from outside the graph that has not returned.
#[derive(Clone, Copy)]
struct Muted {
    /// Where it returns to.
    back: u64,
    /// The stack pointer once it has returned.
    stack: u64,
}

struct Run<'s> {
    stage: Stage,
    sites: &'s Sites,
    armed: HashMap<u64, Armed<'s>>,
    /// The return of the root.
    end: Muted,
    muted: Option<Muted>,
    letters: Vec<Letter>,
    traps: u64,
    callbacks: u64,
    until: Option<Instant>,
}

impl<'s> Run<'s> {
    fn begin(
        launch: &Launch,
        entry: u64,
        sites: &'s Sites,
        outputs: &Outputs,
    ) -> Result<Run<'s>, CollectError> {
        let mut stage = Stage::open(launch, entry, outputs)?;
        let bias = stage.memory.bias;
        let room = stage.memory.room(sites.sites.len() as u64 * COPY_SIZE)?;
        let registers = stage.reach(sites.root)?;
        let mut armed = HashMap::new();
        for (at, place) in sites.sites.iter().zip((room..).step_by(COPY_SIZE as usize)) {
            let (at, site) = (at.0.wrapping_add(bias), at.1);
            let mut bytes = [0; INSTRUCTION_MAX];
            stage.memory.read(at, &mut bytes)?;
            let one = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE).decode();
            let (over, copy) = displace::over(&one, place);
            if !copy.is_empty() {
                stage.memory.write(place, &copy)?;
            }
            armed.insert(at, Armed { site, over });
        }
        for at in armed.keys() {
            stage.insert(*at)?;
        }
        let back = stage.memory.word(registers.rsp)?;
        stage.insert(back)?;
        Ok(Run {
            stage,
            sites,
            armed,
            end: Muted { back, stack: registers.rsp.wrapping_add(8) },
            muted: None,
            letters: Vec::new(),
            traps: 0,
            callbacks: 0,
            until: None,
        })
    }

    fn go(&mut self) -> Result<Ended, CollectError> {
        loop {
            let mut registers = match self.stage.go()? {
                Stop::Ended(ended) => return Ok(ended),
                Stop::Trap => self.stage.registers()?,
            };
            registers.rip = registers.rip.wrapping_sub(1);
            self.traps += 1;
            let at = registers.rip;
            if at == self.end.back && registers.rsp == self.end.stack {
                self.until = Some(Instant::now());
                self.stage.set(registers)?;
                return self.stage.finish();
            }
            if let Some(muted) =
                self.muted.filter(|own| own.back == at && own.stack == registers.rsp)
            {
                self.unmute(muted)?;
            }
            if let Some(ended) = self.pass(registers)? {
                return Ok(ended);
            }
        }
    }

    fn unmute(&mut self, muted: Muted) -> Result<(), CollectError> {
        self.muted = None;
        if muted.back == self.end.back || self.armed.contains_key(&muted.back) {
            return Ok(());
        }
        self.stage.remove(muted.back)
    }

    /// Notes the letters of a breakpoint, and lets the program go on behind it.
    fn pass(&mut self, mut registers: Registers) -> Result<Option<Ended>, CollectError> {
        let at = registers.rip;
        let Some(&Armed { site, over }) = self.armed.get(&at) else {
            // A return address that another call returned to.
            self.stage.set(registers)?;
            let ended = self.stage.step_over(at)?;
            return Ok(if let Stop::Ended(ended) = ended { Some(ended) } else { None });
        };
        // A call from outside that a jump left: its stack is gone.
        if let Some(muted) = self.muted.filter(|muted| registers.rsp >= muted.stack) {
            self.unmute(muted)?;
        }
        if site.is_callable && self.muted.is_none() {
            self.mute_if_outside(&registers)?;
        }
        if self.muted.is_none() {
            self.letters.extend(site.before.iter().flatten());
        }
        registers.rip = match over {
            Over::To(to) => to,
            Over::Condition { taken, .. } if holds(over, &registers) => taken,
            Over::Condition { next, .. } => next,
            Over::Register(register) => {
                displace::value(&registers, register).unwrap_or(registers.rip)
            }
            Over::Step => {
                self.stage.set(registers)?;
                if let Stop::Ended(ended) = self.stage.step_over(at)? {
                    return Ok(Some(ended));
                }
                let to = self.stage.registers()?.rip;
                if to == at {
                    // It failed: the program has its signal first.
                    return Ok(None);
                }
                to
            }
        };
        if over != Over::Step {
            self.stage.set(registers)?;
        }
        self.note_end(site, at, registers.rip)?;
        Ok(None)
    }

    fn note_end(&mut self, site: &Site, at: u64, to: u64) -> Result<(), CollectError> {
        if self.muted.is_some() {
            return Ok(());
        }
        match &site.at_end {
            AtEnd::Nothing => {}
            AtEnd::Always(letters) => self.letters.extend(letters),
            AtEnd::Outcome(letters) => {
                let bias = self.stage.memory.bias;
                let (from, to) = (at.wrapping_sub(bias), to.wrapping_sub(bias));
                let letter = letters.get(&to).ok_or(CollectError::UnknownTarget { from, to })?;
                self.letters.extend(letter);
            }
        }
        Ok(())
    }

    /// Notices that code outside the graph calls a function of it.
    fn mute_if_outside(&mut self, registers: &Registers) -> Result<(), CollectError> {
        let back = self.stage.memory.word(registers.rsp)?;
        let file = back.wrapping_sub(self.stage.memory.bias);
        let stack = registers.rsp.wrapping_add(8);
        let is_end = back == self.end.back && stack == self.end.stack;
        if is_end || self.sites.backs.contains(&file) {
            return Ok(());
        }
        self.callbacks += 1;
        self.muted = Some(Muted { back, stack });
        self.stage.insert(back).map(|_| ())
    }
}

fn holds(over: Over, registers: &Registers) -> bool {
    matches!(over, Over::Condition { code, .. } if displace::holds(code, registers.eflags))
}
