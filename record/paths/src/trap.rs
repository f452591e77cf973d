//! Runs a program over its breakpoints.
//!
//! ```text
//!  start ─▶ root: breakpoints in ─▶ trap: letters, where to go on ─▶ root returns ─▶ it ends
//!                                    └ called from outside: muted until that call returns
//! ```
//!
//! The program has one thread. Its children run without breakpoints. A call of code outside back
//! into the graph is left out, and counted by the function: of a signal handler, too, and of what
//! runs before and after `main`.
//!
//! Design: `.collect.traps` in `design/collect.md`.

use crate::CollectError;
use crate::displace::{self, COPY_SIZE, Over};
use crate::launch::{Launch, Outputs, pin};
use crate::sites::{Arrival, AtEnd, Letter, Site, Sites};
use crate::stage::{Ended, Stage, Stop, whole};
use iced_x86::{Decoder, DecoderOptions};
use lens_paths::UNWOUND;
use nix::libc::user_regs_struct as Registers;
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;
use std::collections::{BTreeMap, HashMap};
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
    /// The functions that code outside called, by their addresses in the file, and how often. These
    /// calls are left out, and those that they make.
    pub callbacks: BTreeMap<u64, u64>,
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
    let mut run = Run::open(launch, entry, sites, &outputs)?;
    run.reach()?;
    let began = Instant::now();
    let ended = match run.go()? {
        Some(ended) => ended,
        None => run.leave()?,
    };
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
    /// The return of the root, while it runs.
    end: Option<Muted>,
    muted: Option<Muted>,
    letters: Vec<Letter>,
    traps: u64,
    callbacks: BTreeMap<u64, u64>,
    until: Option<Instant>,
}

impl<'s> Run<'s> {
    fn open(
        launch: &Launch,
        entry: u64,
        sites: &'s Sites,
        outputs: &Outputs,
    ) -> Result<Run<'s>, CollectError> {
        let stage = Stage::open(launch, entry, outputs)?;
        let bias = stage.memory.bias;
        let room = stage.memory.room(sites.sites.len() as u64 * COPY_SIZE)?;
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
        Ok(Run {
            stage,
            sites,
            armed,
            end: None,
            muted: None,
            letters: Vec::new(),
            traps: 0,
            callbacks: BTreeMap::new(),
            until: None,
        })
    }

    /// Runs to the root, and puts all breakpoints in.
    fn reach(&mut self) -> Result<(), CollectError> {
        let root = self.sites.root.wrapping_add(self.stage.memory.bias);
        self.stage.insert(root)?;
        for (at, armed) in &self.armed {
            if armed.site.is_callable && self.sites.is_main {
                self.stage.insert(*at)?;
            }
        }
        let registers = loop {
            match self.stage.go()? {
                Stop::Ended(ended) => return Err(CollectError::NotBegun(format!("{ended:?}"))),
                Stop::Trap(registers) if registers.rip == root => break registers,
                Stop::Trap(registers) => {
                    if let Some(ended) = self.pass(registers)? {
                        return Err(CollectError::NotBegun(format!("{ended:?}")));
                    }
                }
            }
        };
        let back = self.stage.memory.word(registers.rsp)?;
        self.end = Some(Muted { back, stack: registers.rsp.wrapping_add(8) });
        self.muted = None;
        self.stage.set(registers)?;
        if !self.armed.contains_key(&root) {
            self.stage.remove(root)?;
        }
        self.stage.insert(back)?;
        self.armed.keys().try_for_each(|at| self.stage.insert(*at).map(|_| ()))
    }

    /// Runs to the return of the root, or to the end of the program.
    fn go(&mut self) -> Result<Option<Ended>, CollectError> {
        loop {
            let registers = match self.stage.go()? {
                Stop::Ended(ended) => return Ok(Some(ended)),
                Stop::Trap(registers) => registers,
            };
            self.traps += 1;
            let is_at = |own: &Muted| own.back == registers.rip && own.stack == registers.rsp;
            if self.end.is_some_and(|end| is_at(&end)) {
                self.until = Some(Instant::now());
                self.stage.set(registers)?;
                return Ok(None);
            }
            if let Some(ended) = self.pass(registers)? {
                return Ok(Some(ended));
            }
        }
    }

    /// Lets the program end after the root returned.
    fn leave(&mut self) -> Result<Ended, CollectError> {
        self.end = None;
        if !self.sites.is_main {
            return self.stage.finish();
        }
        let armed = &self.armed;
        self.stage.keep(|at| armed.get(&at).is_some_and(|own| own.site.is_callable))?;
        loop {
            let ended = match self.stage.go() {
                Ok(Stop::Ended(ended)) => Some(ended),
                Ok(Stop::Trap(registers)) => self.pass(registers)?,
                // The path is over: what the program does now is not refused.
                Err(CollectError::Thread | CollectError::Executed) => return self.stage.finish(),
                Err(error) => return Err(error),
            };
            match ended {
                Some(Ended::Exited(code)) => return Ok(Ended::Returned(code)),
                Some(ended) => return Ok(ended),
                None => {}
            }
        }
    }

    fn unmute(&mut self, muted: Muted) -> Result<(), CollectError> {
        self.muted = None;
        let is_end = self.end.is_some_and(|end| end.back == muted.back);
        if is_end || self.armed.contains_key(&muted.back) {
            return Ok(());
        }
        self.stage.remove(muted.back)
    }

    /// Notes the letters of a breakpoint, and lets the program go on behind it.
    fn pass(&mut self, mut registers: Registers) -> Result<Option<Ended>, CollectError> {
        let at = registers.rip;
        if let Some(muted) = self.muted.filter(|own| own.back == at && own.stack == registers.rsp) {
            self.unmute(muted)?;
        }
        let Some(&Armed { site, over }) = self.armed.get(&at) else {
            // A return address that another call returned to.
            self.stage.set(registers)?;
            return self.stage.step_over(at);
        };
        // A call from outside that a jump left: its stack is gone.
        if let Some(muted) = self.muted.filter(|muted| registers.rsp >= muted.stack) {
            self.unmute(muted)?;
        }
        if site.is_callable && self.muted.is_none() {
            self.mute_if_outside(&registers)?;
        }
        if self.is_on() {
            if self.is_unwound(site, &registers) {
                self.letters.push(UNWOUND);
            }
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
                if let Some(ended) = self.stage.step_over(at)? {
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

    /// Returns whether the path goes on here: the root runs, and code outside called nothing.
    fn is_on(&self) -> bool {
        self.end.is_some() && self.muted.is_none()
    }

    /// Returns whether an unwinding or a long jump arrives.
    fn is_unwound(&self, site: &Site, registers: &Registers) -> bool {
        match site.arrival {
            Arrival::Never => false,
            Arrival::Always => true,
            Arrival::AboveRoot => self.end.is_some_and(|end| registers.rsp >= end.stack),
            // The result is 32 bits wide.
            Arrival::WithResult => registers.rax as u32 != 0,
        }
    }

    fn note_end(&mut self, site: &Site, at: u64, to: u64) -> Result<(), CollectError> {
        if !self.is_on() {
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
        let is_end = self.end.is_some_and(|end| back == end.back && stack == end.stack);
        let called = registers.rip.wrapping_sub(self.stage.memory.bias);
        let inside = self.sites.backs.get(&file);
        if is_end || inside.is_some_and(|only| only.is_none_or(|only| only == called)) {
            return Ok(());
        }
        *self.callbacks.entry(called).or_default() += 1;
        self.muted = Some(Muted { back, stack });
        self.stage.insert(back).map(|_| ())
    }
}

fn holds(over: Over, registers: &Registers) -> bool {
    matches!(over, Over::Condition { code, .. } if displace::holds(code, registers.eflags))
}
