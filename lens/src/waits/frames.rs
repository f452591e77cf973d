//! Pseudo-stacks in words: process, thread, functions, call; then those of the thread that is
//! waited for.
//!
//! ```text
//!  shop (12) │ teller 1 (13) │ main │ lock │ futex 0x7f00 │ teller 2 (14) │ write │ disk 8:0
//!  process     thread          functions     a wait         thread          …       the top
//! ```
//!
//! Several samples share a run equally. Design: `.waits.flame` in `design/waits.md`.

use crate::waits::critical::Share;
use crate::waits::model::{Cause, Model, NONE, Stretch, What};
use crate::waits::names::Names;
use crate::waits::stack::{Part, Stacks};
use eventlog::format::text::OneLine;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Frames of a pseudo-stack, at most.
const FRAME_COUNT_MAX: usize = 192;
/// Bytes of a frame, at most.
const FRAME_SIZE_MAX: usize = 160;
/// Bytes of a pseudo-stack with its separators, at most.
const STACK_SIZE_MAX: usize = 8192;
/// Waits whose frames are kept, at most.
const WAIT_COUNT_MAX: usize = 1 << 16;
/// What stands for frames that have no room.
const CUT: &str = "…";

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    /// A process.
    Process,
    /// A thread.
    Thread,
    /// A function that ran, or a run.
    Run,
    /// A function that waited, a call, or what a wait is for.
    Wait,
    /// A disk, or data from another thread or host.
    Io,
    /// Work of another control path.
    Path,
    /// It is not known.
    Unknown,
}

/// A frame: its text, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The text; no `;` and no letter that steers a terminal is in it.
    pub text: Box<str>,
    /// What it is.
    pub kind: FrameKind,
}

/// The names of locks, by process and address.
pub type Locks = HashMap<(u32, u64), String, RandomState>;

/// The frames of the pseudo-stacks of a model.
#[derive(Debug)]
pub struct Frames<'m> {
    model: &'m Model,
    names: &'m Names<'m>,
    locks: &'m Locks,
    all: Vec<Frame>,
    known: HashMap<Frame, u32, RandomState>,
    /// The frames of a wait, by its place; of process and thread, by the bearers of their names.
    waits: HashMap<u32, Box<[u32]>, RandomState>,
    bearers: HashMap<[u32; 2], [u32; 2], RandomState>,
}

impl<'m> Frames<'m> {
    /// Returns the frames of a model, with the names that programs gave to locks.
    pub fn new(model: &'m Model, names: &'m Names<'m>, locks: &'m Locks) -> Frames<'m> {
        let (all, known) = (Vec::new(), HashMap::default());
        let (waits, bearers) = (HashMap::default(), HashMap::default());
        Frames { model, names, locks, all, known, waits, bearers }
    }

    /// Returns the name of the lock of a wait.
    fn lock(&self, wait: &Stretch) -> Option<String> {
        let futex = self.names.futex(wait)?;
        let process = self.model.life(wait.life)?.process;
        let name = self.locks.get(&(process, futex))?;
        Some(format!("`{name}`"))
    }

    /// Returns a frame by its number.
    pub fn frame(&self, number: u32) -> Option<&Frame> {
        self.all.get(number as usize)
    }

    /// Returns the texts of frames, separated by `;`.
    pub fn text(&self, frames: &[u32]) -> String {
        let texts = frames.iter().filter_map(|frame| self.frame(*frame));
        texts.map(|frame| &*frame.text).collect::<Vec<&str>>().join(";")
    }

    /// Passes the stacks of a part in order of time: from, to, the numbers of the frames. A run
    /// with several samples has one for each.
    pub fn each(
        &mut self,
        stacks: &Stacks,
        part: &Part,
        mut each: impl FnMut(u64, u64, &[u32], &Frames<'_>),
    ) {
        let mut below = Vec::new();
        let mut process = NONE;
        for place in stacks.waits(part.within) {
            let Some(wait) = self.model.stretch(place).copied() else { continue };
            self.add_life(wait.life, wait.begin, &mut process, &mut below);
            let of_wait = self.of_wait(place, &wait);
            below.extend(of_wait.iter());
        }
        let own = self.model.stretch(part.place).copied();
        let Some(own) = own.filter(|_| part.share != Share::OtherPath) else {
            let path = stacks.paths.get(part.path as usize);
            if let Some(path) = path.filter(|_| below.is_empty()) {
                self.add_life(path.life, part.from, &mut process, &mut below);
            }
            let top = self.top_of_other(part, own.as_ref(), &mut below);
            below.push(top);
            self.fit(&mut below);
            return each(part.from, part.to, &below, self);
        };
        self.add_life(own.life, part.from, &mut process, &mut below);
        if own.what == What::Run {
            return self.each_sample(part, &own, below, each);
        }
        if own.what == What::Wait {
            let of_wait = self.of_wait(part.place, &own);
            below.extend(of_wait.iter());
        }
        let top = self.top(part.share, &own);
        below.push(top);
        self.fit(&mut below);
        each(part.from, part.to, &below, self);
    }

    /// Passes the stacks of a run: one for each sample, or one that tells no function.
    fn each_sample(
        &mut self,
        part: &Part,
        run: &Stretch,
        below: Vec<u32>,
        mut each: impl FnMut(u64, u64, &[u32], &Frames<'_>),
    ) {
        let model = self.model;
        let samples = model.samples_of(part.place);
        let count = samples.len().max(1) as u128;
        let place = |at: usize| {
            let ns = u128::from(run.ns()) * at as u128 / count;
            (run.begin + ns as u64).clamp(part.from, part.to)
        };
        for at in 0..samples.len().max(1) {
            let (from, to) = (place(at), place(at + 1));
            if from >= to {
                continue;
            }
            let mut frames = below.clone();
            let stack = samples.get(at).map_or(0, |(_, stack)| *stack);
            self.add_functions(stack, FrameKind::Run, &mut frames);
            if frames.len() == below.len() {
                let running = self.number("running", FrameKind::Run);
                frames.push(running);
            }
            self.fit(&mut frames);
            each(from, to, &frames, self);
        }
    }

    /// Returns the number of a frame.
    fn number(&mut self, text: &str, kind: FrameKind) -> u32 {
        let text = text.replace(';', ":");
        let mut end = text.len().min(FRAME_SIZE_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = match text.get(..end) {
            Some(part) if end < text.len() => format!("{part}{CUT}"),
            _ => text,
        };
        let frame = Frame { text: text.into(), kind };
        if let Some(known) = self.known.get(&frame) {
            return *known;
        }
        let number = self.all.len() as u32;
        self.all.push(frame.clone());
        self.known.insert(frame, number);
        number
    }

    /// Adds a thread as it was called at a time, and its process if that is not the one below.
    fn add_life(&mut self, life: u32, ns: u64, process: &mut u32, frames: &mut Vec<u32>) {
        let of = self.model.life(life).map_or(0, |life| life.process);
        let names = self.names;
        let bearers = [names.leader(of, ns), names.bearer(life, ns)];
        let [of_process, of_thread] = match self.bearers.get(&bearers) {
            Some(known) => *known,
            None => {
                let both = [
                    self.number(&names.process(of, ns), FrameKind::Process),
                    self.number(&names.thread(life, ns), FrameKind::Thread),
                ];
                self.bearers.insert(bearers, both);
                both
            }
        };
        if *process != of {
            frames.push(of_process);
        }
        *process = of;
        frames.push(of_thread);
    }

    fn add_functions(&mut self, stack: u32, kind: FrameKind, frames: &mut Vec<u32>) {
        let model = self.model;
        for address in model.addresses(stack) {
            let text = match model.symbols.get(&address) {
                Some(name) => OneLine(name).to_string(),
                None => format!("{address:#x}"),
            };
            frames.push(self.number(&text, kind));
        }
    }

    /// Returns the frames of a wait: its functions, and its call.
    fn of_wait(&mut self, place: u32, wait: &Stretch) -> Box<[u32]> {
        if let Some(known) = self.waits.get(&place) {
            return known.clone();
        }
        let mut frames = Vec::new();
        self.add_functions(wait.stack, FrameKind::Wait, &mut frames);
        let object = self.lock(wait).or_else(|| self.names.object(wait));
        let text = match (self.names.call(wait), object) {
            (Some(call), Some(object)) => Some(format!("{call} {object}")),
            (Some(call), None) => Some(call),
            _ if wait.cause == Cause::Preempted => None,
            _ if wait.cause == Cause::Forked => Some("start".to_owned()),
            _ if frames.is_empty() => Some("wait".to_owned()),
            _ => None,
        };
        if let Some(text) = text {
            frames.push(self.number(&text, FrameKind::Wait));
        }
        let frames: Box<[u32]> = frames.into();
        if self.waits.len() >= WAIT_COUNT_MAX {
            self.waits.clear();
        }
        self.waits.insert(place, frames.clone());
        frames
    }

    /// Returns the top of a stack whose time is a wait's own, or is not known.
    fn top(&mut self, share: Share, own: &Stretch) -> u32 {
        let names = self.names;
        let is_io = own.what == What::Wait && matches!(own.cause, Cause::Disk | Cause::Network);
        match share {
            Share::DiskQueue => self.number(&format!("queue: {}", names.cause(own)), FrameKind::Io),
            Share::Disk | Share::Hardware if is_io => self.number(&names.cause(own), FrameKind::Io),
            Share::Scheduler => self.number("ready", FrameKind::Wait),
            Share::Unknown if own.cause == Cause::Open && own.what == What::Wait => {
                self.number(own.cause.name(), FrameKind::Unknown)
            }
            Share::Unknown | Share::Lost => self.number(share.name(), FrameKind::Unknown),
            _ => self.number(&names.cause(own), FrameKind::Wait),
        }
    }

    /// Returns the top of a stack whose work is of another path, or whose thread is not known. A
    /// wait that is not followed has its own frames.
    fn top_of_other(&mut self, part: &Part, own: Option<&Stretch>, below: &mut Vec<u32>) -> u32 {
        let Some(own) = own.filter(|_| part.share == Share::OtherPath) else {
            return self.number(part.share.name(), FrameKind::Unknown);
        };
        let names = self.names;
        if own.what != What::Wait {
            return self.number(
                &format!("other work of {}", names.thread(own.life, part.from)),
                FrameKind::Path,
            );
        }
        let of_wait = self.of_wait(part.place, own);
        below.extend(of_wait.iter());
        self.number(&names.cause(own), FrameKind::Path)
    }

    /// Cuts a stack that is too deep or too long.
    fn fit(&mut self, frames: &mut Vec<u32>) {
        let mut size = 0;
        let room = STACK_SIZE_MAX - CUT.len() - 1;
        let fits = frames.iter().take(FRAME_COUNT_MAX).take_while(|frame| {
            size += self.all.get(**frame as usize).map_or(0, |frame| frame.text.len() + 1);
            size <= room
        });
        let count = fits.count();
        if count < frames.len() {
            frames.truncate(count);
            frames.push(self.number(CUT, FrameKind::Unknown));
        }
    }
}
