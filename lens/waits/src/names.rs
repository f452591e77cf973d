//! Threads, calls and causes in words.
//!
//! ```text
//!  life 3 ──▶ "teller 2 (4713)"      wait ──▶ "fsync of /data/journal"      cause ──▶ "disk 8:0"
//! ```
//!
//! Names come from a log: they may have any bytes, and lose those that steer a terminal. Design:
//! `.waits.answer` in `design/waits.md`.

use crate::model::calls::{self, Object};
use crate::model::{Cause, Did, Life, Model, NONE, OpenFile, Stretch};
use eventlog::format::text::OneLine;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The bits of the minor number of a device.
const MINOR_BITS: u32 = 20;

/// Names of the threads and processes of a model.
#[derive(Debug)]
pub struct Names<'m> {
    model: &'m Model,
    /// The last life of each number.
    lives: HashMap<u32, u32, RandomState>,
    /// By life: one number for all of one process and one name.
    kinds: Vec<u32>,
}

impl<'m> Names<'m> {
    /// Returns the names of a model.
    pub fn new(model: &'m Model) -> Names<'m> {
        let lives = (0..).zip(&model.lives).map(|(at, life)| (life.thread, at)).collect();
        let mut known: HashMap<(u32, &[u8]), u32, RandomState> = HashMap::default();
        let kind = |(at, life): (u32, &'m Life)| match life.name.is_empty() {
            // It may be any thread.
            true => at,
            false => *known.entry((life.process, &*life.name)).or_insert(at),
        };
        let kinds = (0..).zip(&model.lives).map(kind).collect();
        Names { model, lives, kinds }
    }

    /// Returns a number that all threads of one process and one name share; [`NONE`] for none.
    pub fn kind(&self, life: u32) -> u32 {
        self.kinds.get(life as usize).copied().unwrap_or(NONE)
    }

    /// Returns the name of threads of one kind, with the number of one thread, or their count.
    pub fn threads(&self, lives: &[u32]) -> String {
        let first = lives.first().and_then(|life| self.model.life(*life));
        match (lives, first) {
            ([_, _, ..], Some(first)) => format!("{} × {}", lives.len(), OneLine(&first.name)),
            _ => self.thread(lives.first().copied().unwrap_or(NONE)),
        }
    }

    /// Returns the name of a thread, with its number.
    pub fn thread(&self, life: u32) -> String {
        match self.model.life(life) {
            None => "an unknown thread".to_owned(),
            Some(life) if life.name.is_empty() => format!("thread {}", life.thread),
            Some(life) => format!("{} ({})", OneLine(&life.name), life.thread),
        }
    }

    /// Returns the name of a process, with its number.
    pub fn process(&self, process: u32) -> String {
        let leader = self.lives.get(&process).and_then(|life| self.model.life(*life));
        match leader.filter(|leader| !leader.name.is_empty()) {
            _ if process == 0 => "an unknown process".to_owned(),
            Some(leader) => format!("{} ({process})", OneLine(&leader.name)),
            None => format!("process {process}"),
        }
    }

    /// Returns the name of a process alone, for a stream; empty if it is unknown.
    pub fn program(&self, process: u32) -> String {
        let leader = self.lives.get(&process).and_then(|life| self.model.life(*life));
        leader.map_or_else(String::new, |leader| OneLine(&leader.name).to_string())
    }

    /// Returns the name of the system call of a wait.
    pub fn call(&self, wait: &Stretch) -> Option<String> {
        let call = self.model.calls.get(wait.call as usize)?;
        let name = calls::name(self.model.architecture, call.number);
        Some(name.map_or_else(|| format!("system call {}", call.number), str::to_owned))
    }

    /// Returns the address of the futex of a wait.
    pub fn futex(&self, wait: &Stretch) -> Option<u64> {
        let call = self.model.calls.get(wait.call as usize)?;
        let name = calls::name(self.model.architecture, call.number)?;
        Some(call.object).filter(|_| calls::object(name) == Object::Futex)
    }

    /// Returns what the call of a wait is about: a file by its path, else by its number; a futex
    /// by its address.
    pub fn object(&self, wait: &Stretch) -> Option<String> {
        let call = self.model.calls.get(wait.call as usize)?;
        let name = calls::name(self.model.architecture, call.number)?;
        match calls::object(name) {
            Object::None => None,
            Object::Process => {
                Some(self.called(wait, calls::process(name, call.object, call.value)?))
            }
            Object::Futex => Some(format!("{:#x}", call.object)),
            Object::File => Some(self.file(wait, call.object as u32)),
        }
    }

    /// Returns what a file number was as a wait began.
    fn open_file(&self, wait: &Stretch, file: u32) -> Option<&OpenFile> {
        let process = self.model.life(wait.life).map_or(0, |life| life.process);
        self.model.files.at(process, file, wait.begin)
    }

    fn file(&self, wait: &Stretch, file: u32) -> String {
        let open = self.open_file(wait, file);
        let socket = open.and_then(|open| self.model.sockets.get(open.socket as usize));
        if let Some(socket) = socket.filter(|socket| !socket.name.is_empty()) {
            let name = OneLine(&socket.name).to_string();
            return match name.split_once(' ') {
                Some((own, peer)) if peer.ends_with(":0") => own.to_owned(),
                Some((own, peer)) => format!("{own} to {peer}"),
                None => name,
            };
        }
        match open.and_then(|open| self.model.files.path(open.path)) {
            Some(path) => OneLine(path).to_string(),
            None => format!("file {file} of unknown path"),
        }
    }

    /// Returns a number that is equal for waits whose calls have the same object; 0 for none.
    pub fn object_id(&self, wait: &Stretch) -> u64 {
        let Some(call) = self.model.calls.get(wait.call as usize) else { return 0 };
        let name = calls::name(self.model.architecture, call.number);
        let file = call.object as u32;
        match name.map_or(Object::None, calls::object) {
            Object::None => 0,
            Object::Process => name
                .and_then(|name| calls::process(name, call.object, call.value))
                .map_or(0, u64::from),
            Object::Futex => call.object,
            Object::File => match self.open_file(wait, file) {
                Some(open) if open.socket != NONE => u64::from(open.socket) | 1 << 33,
                Some(open) if open.path != NONE => u64::from(open.path) | 1 << 32,
                _ => u64::from(file),
            },
        }
    }

    /// Returns the process that the call of a wait is about. Its number is that of the thread's own
    /// namespace.
    fn called(&self, wait: &Stretch, number: u32) -> String {
        let Some(own) = self.model.life(wait.life) else { return format!("process {number}") };
        if let Some(child) = self.model.child(own.process, number, wait.begin) {
            return self.thread(child);
        }
        let leader = self.lives.get(&number).and_then(|life| self.model.life(*life));
        let parent = leader.and_then(|leader| self.model.life(leader.parent));
        let is_child = parent.is_some_and(|parent| parent.process == own.process);
        match own.number {
            0 if !is_child => format!("process {number}"),
            inside if inside != 0 && inside != own.thread => {
                format!("process {number} of its namespace")
            }
            _ => self.process(number),
        }
    }

    /// Returns what ended a wait, in a few words.
    pub fn cause(&self, wait: &Stretch) -> String {
        self.cause_by(wait, &[self.model.waker(wait)])
    }

    /// Returns what ended waits of one kind, in a few words; the lives are those that did.
    pub fn cause_by(&self, wait: &Stretch, wakers: &[u32]) -> String {
        match wait.cause {
            Cause::Thread => format!("woken by {}", self.threads(wakers)),
            Cause::Forked => format!("made by {}", self.threads(wakers)),
            Cause::Stopped if !wakers.iter().all(|waker| *waker == NONE) => {
                format!("stopped, until {} let it go on", self.threads(wakers))
            }
            Cause::Disk => self.disk(wait),
            Cause::Network => self.socket(wait, wakers),
            Cause::Hardware => match self.model.irqs.get(wait.aid as usize) {
                Some(name) => format!("interrupt of {}", OneLine(name)),
                None => "an interrupt".to_owned(),
            },
            cause => cause.name().to_owned(),
        }
    }

    fn disk(&self, wait: &Stretch) -> String {
        let Some(operation) = self.model.operations.get(wait.aid as usize) else {
            return "disk".to_owned();
        };
        let (major, minor) =
            (operation.device >> MINOR_BITS, operation.device & ((1 << MINOR_BITS) - 1));
        let what = match operation.operation {
            0 => "a read of ",
            1 => "a write to ",
            2 => "a flush of ",
            3 => "a discard on ",
            _ => "another operation on ",
        };
        format!("{what}disk {major}:{minor}")
    }

    /// Returns what ended a wait by network: data, room, a connection, the end of one.
    fn socket(&self, wait: &Stretch, wakers: &[u32]) -> String {
        let wake = self.model.network_wakes.get(wait.aid as usize);
        let Some(wake) = wake else { return "network".to_owned() };
        let socket = self.model.sockets.get(wake.socket as usize);
        let name = match socket {
            Some(socket) if !socket.name.is_empty() => {
                let name = OneLine(&socket.name).to_string();
                match name.split_once(' ') {
                    Some((own, _)) if wake.did == Did::Connected => own.to_owned(),
                    Some((own, peer)) => format!("{own} from {peer}"),
                    None => name,
                }
            }
            Some(socket) => format!("socket {:#x}", socket.address),
            None => "a socket".to_owned(),
        };
        let peer = || self.threads(wakers);
        match wake.did {
            Did::Sent => format!("data of {name}, sent by {}", peer()),
            Did::Read => format!("room in {name}, as {} read", peer()),
            Did::Connected => format!("a connection to {name}, by {}", peer()),
            Did::Closed => format!("the end of {name}, as {} closed it", peer()),
            Did::Outside => format!("data of {name}, from outside of this kernel"),
            Did::Unknown | Did::Timer => {
                format!("data of {name}, from a sender that the log does not tell")
            }
        }
    }
}
