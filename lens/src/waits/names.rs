//! Threads, calls and causes in words.
//!
//! ```text
//!  life, ns ──▶ "teller 2 (4713)"      wait ──▶ "fsync of /data/journal"      cause ──▶ "disk 8:0"
//! ```
//!
//! Names come from a log: they may have any bytes, and lose those that steer a terminal. Design:
//! `.waits.answer` in `design/waits.md`.

use crate::waits::calls::{self, Object};
use crate::waits::model::{Cause, Did, Interrupter, Life, Model, NEVER, NONE, OpenFile, Stretch};
use eventlog::format::text::OneLine;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The bits of the minor number of a device.
const MINOR_BITS: u32 = 20;

/// Names of the threads and processes of a model.
///
/// A *bearer* is a thread under one of its names, as a number; [`NONE`] for no thread.
#[derive(Debug)]
pub struct Names<'m> {
    model: &'m Model,
    /// The lives of each number, in order of time.
    lives: HashMap<u32, Vec<u32>, RandomState>,
    /// By life: the bearer of its first name. Those of its other names follow.
    firsts: Vec<u32>,
    bearers: Vec<Bearer>,
    /// The addresses of sockets that /proc told alone.
    sockets: HashMap<u32, &'m [u8], RandomState>,
}

/// A thread under one of its names.
#[derive(Clone, Copy, Debug)]
struct Bearer {
    life: u32,
    /// The place of the name, as [`Life::name_at`] returns it.
    name: u32,
    /// The first bearer of this process and this name.
    kind: u32,
}

impl<'m> Names<'m> {
    /// Returns the names of a model.
    pub fn new(model: &'m Model) -> Names<'m> {
        let mut lives: HashMap<u32, Vec<u32>, RandomState> = HashMap::default();
        let mut known: HashMap<(u32, &[u8]), u32, RandomState> = HashMap::default();
        let (mut firsts, mut bearers) = (Vec::with_capacity(model.lives.len()), Vec::new());
        for (at, life) in (0..).zip(&model.lives) {
            lives.entry(life.thread).or_default().push(at);
            firsts.push(bearers.len() as u32);
            let former = life.former.iter().map(|(_, name)| &**name);
            for (name, text) in (0..).zip(former.chain([&*life.name])) {
                let own = bearers.len() as u32;
                let kind = match text.is_empty() {
                    // It may be any thread.
                    true => own,
                    false => *known.entry((life.process, text)).or_insert(own),
                };
                bearers.push(Bearer { life: at, name, kind });
            }
        }
        let sockets = model.files.sockets().collect();
        Names { model, lives, firsts, bearers, sockets }
    }

    /// Returns the bearer of the name that a life has at a time in ns.
    pub fn bearer(&self, life: u32, ns: u64) -> u32 {
        let own = self.model.life(life).map(|own| own.name_at(ns).0 as u32);
        let first = self.firsts.get(life as usize);
        first.zip(own).map_or(NONE, |(first, own)| first + own)
    }

    /// Returns a number that all bearers of one process and one name share; [`NONE`] for none.
    pub fn kind(&self, bearer: u32) -> u32 {
        self.bearers.get(bearer as usize).map_or(NONE, |own| own.kind)
    }

    fn name(&self, bearer: u32) -> Option<(&'m Life, &'m [u8])> {
        let own = self.bearers.get(bearer as usize)?;
        let life = self.model.life(own.life)?;
        let former = life.former.get(own.name as usize);
        Some((life, former.map_or(&*life.name, |(_, name)| name)))
    }

    /// Returns the name of bearers of one kind, with the number of one thread, or their count.
    pub fn threads(&self, bearers: &[u32]) -> String {
        let life = |bearer: &u32| self.bearers.get(*bearer as usize).map(|own| own.life);
        let mut lives: Vec<u32> = bearers.iter().filter_map(life).collect();
        lives.dedup();
        match (bearers.first().and_then(|first| self.name(*first)), lives.len()) {
            (None, _) => "an unknown thread".to_owned(),
            (Some((_, name)), count @ 2..) => format!("{count} × {}", OneLine(name)),
            (Some((life, [])), _) => format!("thread {}", life.thread),
            (Some((life, name)), _) => format!("{} ({})", OneLine(name), life.thread),
        }
    }

    /// Returns the name that a thread has at a time in ns, with its number.
    pub fn thread(&self, life: u32, ns: u64) -> String {
        self.threads(&[self.bearer(life, ns)])
    }

    /// Returns what interrupted a processor, in words.
    pub fn interrupter(&self, by: Interrupter) -> String {
        match by {
            Interrupter::Device(irq) => match self.model.irqs.get(irq as usize) {
                Some(name) => format!("the interrupt of {}", OneLine(name)),
                None => "an interrupt".to_owned(),
            },
            Interrupter::Soft(vector) => match Interrupter::soft_name(vector) {
                Some(name) => format!("the soft interrupt {name}"),
                None => format!("the soft interrupt {vector}"),
            },
        }
    }

    /// Returns the bearer of the name of a process at a time in ns: its first thread.
    pub fn leader(&self, process: u32, ns: u64) -> u32 {
        let lives = self.lives.get(&process).map(|lives| &lives[..]).unwrap_or_default();
        let began = |life: &u32| self.model.life(*life).is_some_and(|life| life.begin <= ns);
        let life = lives.get(lives.partition_point(began).saturating_sub(1));
        life.map_or(NONE, |life| self.bearer(*life, ns))
    }

    /// Returns the name of a process at a time in ns, with its number.
    pub fn process(&self, process: u32, ns: u64) -> String {
        match self.name(self.leader(process, ns)).filter(|(_, name)| !name.is_empty()) {
            _ if process == 0 => "an unknown process".to_owned(),
            Some((_, name)) => format!("{} ({process})", OneLine(name)),
            None => format!("process {process}"),
        }
    }

    /// Returns the last name of a process alone, for a stream; empty if it is unknown.
    pub fn program(&self, process: u32) -> String {
        let name = self.name(self.leader(process, NEVER));
        name.map_or_else(String::new, |(_, name)| OneLine(name).to_string())
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
        match open.and_then(|open| self.address(open.socket)) {
            Some((own, Some(peer))) => return format!("{own} to {peer}"),
            Some((own, None)) => return own,
            None => {}
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
        // A child of `wait4` may have run its program since the wait began.
        if let Some(child) = self.model.child(own.process, number, wait.begin) {
            return self.thread(child, wait.end);
        }
        let leader = self.name(self.leader(number, wait.end)).map(|(life, _)| life);
        let parent = leader.and_then(|leader| self.model.life(leader.parent));
        let is_child = parent.is_some_and(|parent| parent.process == own.process);
        match own.number {
            0 if !is_child => format!("process {number}"),
            inside if inside != 0 && inside != own.thread => {
                format!("process {number} of its namespace")
            }
            _ => self.process(number, wait.end),
        }
    }

    /// Returns the bearer that ended a wait, under the name that it then had.
    pub fn waker(&self, wait: &Stretch) -> u32 {
        self.bearer(self.model.waker(wait), self.model.ended(wait))
    }

    /// Returns what ended a wait, in a few words.
    pub fn cause(&self, wait: &Stretch) -> String {
        self.cause_by(wait, &[self.waker(wait)])
    }

    /// Returns what ended waits of one kind, in a few words; the bearers are those that did.
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

    /// Returns what ended a wait by network: data, room, a connection, the end of one. It names the
    /// socket, unless that is the object of the call.
    fn socket(&self, wait: &Stretch, wakers: &[u32]) -> String {
        let wake = self.model.network_wakes.get(wait.aid as usize);
        let Some(wake) = wake else { return "network".to_owned() };
        let of = self.called_socket(wait).filter(|of| *of == wake.socket && *of != NONE);
        let name = match (of, self.address(wake.socket)) {
            (Some(_), _) => None,
            (_, Some((own, Some(_)))) if wake.did == Did::Connected => Some(own),
            (_, Some((own, Some(peer)))) => Some(format!("{own} from {peer}")),
            (_, Some((own, None))) => Some(own),
            _ => Some(match self.model.sockets.get(wake.socket as usize) {
                Some(socket) => format!("socket {:#x}", socket.address),
                None => "a socket".to_owned(),
            }),
        };
        let with = |word: &str| match &name {
            Some(name) => format!(" {word} {name}"),
            None => String::new(),
        };
        let peer = || self.threads(wakers);
        match wake.did {
            Did::Sent => format!("data{}, sent by {}", with("of"), peer()),
            Did::Read => format!("room{}, as {} read", with("in"), peer()),
            Did::Connected => format!("a connection{}, by {}", with("to"), peer()),
            Did::Closed => format!("the end{}, as {} closed it", with("of"), peer()),
            Did::Outside => format!("data{}, from outside of this kernel", with("of")),
            Did::Unknown | Did::Timer => {
                format!("data{}, from a sender that the log does not tell", with("of"))
            }
        }
    }

    /// Returns the socket that the call of a wait is about; [`NONE`] if that is not known.
    fn called_socket(&self, wait: &Stretch) -> Option<u32> {
        let call = self.model.calls.get(wait.call as usize)?;
        let name = calls::name(self.model.architecture, call.number)?;
        let is_file = calls::object(name) == Object::File;
        Some(self.open_file(wait, call.object as u32).filter(|_| is_file)?.socket)
    }

    /// Returns the address of a socket, and that of its peer if it has one.
    fn address(&self, socket: u32) -> Option<(String, Option<String>)> {
        let own = self.model.sockets.get(socket as usize)?;
        if own.name.is_empty() {
            return Some((OneLine(self.sockets.get(&socket)?).to_string(), None));
        }
        let name = OneLine(&own.name).to_string();
        Some(match name.split_once(' ') {
            Some((own, peer)) if peer.ends_with(":0") => (own.to_owned(), None),
            Some((own, peer)) => (own.to_owned(), Some(peer.to_owned())),
            None => (name, None),
        })
    }
}
