//! Threads, calls and causes in words.
//!
//! ```text
//!  life 3 ──▶ "teller 2 (4713)"      wait ──▶ "fsync of /data/journal"      cause ──▶ "disk 8:0"
//! ```
//!
//! Names come from a log: they may have any bytes, and lose those that steer a terminal. Design:
//! `.waits.answer` in `design/waits.md`.

use crate::model::calls::{self, Object};
use crate::model::{Cause, Did, Model, Stretch};
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
}

impl<'m> Names<'m> {
    /// Returns the names of a model.
    pub fn new(model: &'m Model) -> Names<'m> {
        let lives = (0..).zip(&model.lives).map(|(at, life)| (life.thread, at)).collect();
        Names { model, lives }
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
            Object::Process if call.object as u32 == u32::MAX => None,
            Object::Process => Some(self.process(call.object as u32)),
            Object::Futex => Some(format!("{:#x}", call.object)),
            Object::File => {
                let process = self.model.life(wait.life).map_or(0, |life| life.process);
                let path = self.model.files.get(&(process, call.object as u32));
                let number = || format!("file {}", call.object as u32);
                Some(path.map_or_else(number, |path| OneLine(path).to_string()))
            }
        }
    }

    /// Returns whether calls with this number have an object that tells waits apart.
    pub fn has_object(&self, call: u32) -> bool {
        let name = calls::name(self.model.architecture, call);
        name.is_some_and(|name| calls::object(name) != Object::None)
    }

    /// Returns what ended a wait, in a few words.
    pub fn cause(&self, wait: &Stretch) -> String {
        match wait.cause {
            Cause::Thread => format!("woken by {}", self.thread(wait.aid)),
            Cause::Forked => format!("made by {}", self.thread(wait.aid)),
            Cause::Disk => self.disk(wait),
            Cause::Network => self.socket(wait),
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
    fn socket(&self, wait: &Stretch) -> String {
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
        let peer = || self.thread(wake.peer);
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
