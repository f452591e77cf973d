//! Which file a number was, and when: a number has a life, from its opening to its closing.
//!
//! ```text
//!  open = 3 ── OpenFile 3 "a.dat" ── close 3    open = 3 ──────── close 3    open = 3 ── …
//!  ├──────────── a.dat ────────────┤            ├─── not known ───┤
//! ```
//!
//! What /proc told at one time holds from the opening to the closing. Before a number's first
//! opening in the log, it holds from the begin of the log, of the process or of its program. A
//! child has what its parent had at the fork. After an exec and after a loss nothing is known until
//! /proc tells again.
//!
//! Design: `.waits.files` in `design/waits.md`.

use super::{NEVER, NONE};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Lives of file numbers, at most.
const FILE_COUNT_MAX: usize = 1 << 22;
/// Forks back to the process that opened a file, at most.
const FORK_COUNT_MAX: usize = 64;

/// A file number of a process, from its opening to its closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// When it was opened, in ns; or since when it has been open at least.
    pub begin: u64,
    /// When it was closed, in ns; [`NEVER`] if it was not.
    pub end: u64,
    /// Its path, by its index in [`Files::path`]; [`NONE`] if that is not known.
    pub path: u32,
    /// The socket, by its index in [`super::Model::sockets`]; [`NONE`] if it is none, or unknown.
    pub socket: u32,
    /// When the log last told that the number is this file.
    seen: u64,
}

/// The lives of a number.
#[derive(Clone, Debug)]
struct Number {
    /// Those that are known, at least in part, in order of time.
    lives: Vec<OpenFile>,
    /// The first row about it.
    first: u64,
    /// What it is now was not opened before.
    floor: u64,
}

/// The numbers of a process.
#[derive(Clone, Debug, Default)]
struct Process {
    begin: u64,
    /// When it last began to run another program, which closes files.
    exec: Option<u64>,
    /// The process that made it.
    parent: u32,
    numbers: HashMap<u32, Number, RandomState>,
}

/// The files of all processes.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The processes of a number, in order of time.
    processes: HashMap<u32, Vec<Process>, RandomState>,
    paths: Vec<Box<[u8]>>,
    by_path: HashMap<Box<[u8]>, u32, RandomState>,
    /// The last addresses of each socket, by its path: "socket:[123]".
    addresses: HashMap<u32, Box<[u8]>, RandomState>,
    /// When rows were lost, in order of time.
    gaps: Vec<u64>,
    count: usize,
}

impl Files {
    /// Returns the file that a number was at a time.
    pub fn at(&self, process: u32, file: u32, at: u64) -> Option<&OpenFile> {
        let (mut process, mut when) = (process, at);
        for _ in 0..FORK_COUNT_MAX {
            let all = self.processes.get(&process)?;
            let own = all.get(all.partition_point(|own| own.begin <= when).checked_sub(1)?)?;
            let number = own.numbers.get(&file);
            if let Some(number) = number.filter(|number| number.first <= when) {
                let after = number.lives.partition_point(|life| life.begin <= when);
                let life = number.lives.get(after.checked_sub(1)?)?;
                return Some(life).filter(|life| when < life.end && !self.is_lost(life.seen, at));
            }
            // Known later, and open all the time since then.
            let later = number.and_then(|number| number.lives.first());
            if let Some(life) = later.filter(|life| life.begin <= when) {
                return Some(life).filter(|life| !self.is_lost(life.seen, at));
            }
            if own.exec.is_some_and(|exec| exec <= when) {
                return None;
            }
            (process, when) = (own.parent, own.begin);
        }
        None
    }

    /// Returns a path; of a socket its addresses, if they are known.
    pub fn path(&self, path: u32) -> Option<&[u8]> {
        let address = self.addresses.get(&path);
        address.or_else(|| self.paths.get(path as usize)).map(|path| &**path)
    }

    /// Returns the addresses of each socket whose rows do not tell them, with its index in
    /// [`super::Model::sockets`].
    pub fn sockets(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let numbers = self.processes.values().flatten().flat_map(|own| own.numbers.values());
        let lives = numbers.flat_map(|number| &number.lives).filter(|own| own.socket != NONE);
        lives.filter_map(|own| Some((own.socket, &**self.addresses.get(&own.path)?)))
    }

    fn is_lost(&self, seen: u64, at: u64) -> bool {
        let after = self.gaps.partition_point(|gap| *gap <= seen);
        self.gaps.get(after).is_some_and(|gap| *gap <= at)
    }

    fn process(&mut self, process: u32) -> Option<&mut Process> {
        let all = self.processes.entry(process).or_default();
        if all.is_empty() {
            all.push(Process::default());
        }
        all.last_mut()
    }

    fn number(&mut self, process: u32, file: u32, at: u64) -> Option<&mut Number> {
        let own = self.process(process)?;
        let floor = own.exec.unwrap_or(own.begin);
        let new = || Number { lives: Vec::new(), first: at, floor };
        Some(own.numbers.entry(file).or_insert_with(new))
    }

    /// A process began with the files of another one.
    pub(super) fn fork(&mut self, parent: u32, child: u32, at: u64) {
        if parent != child && child != 0 && self.count < FILE_COUNT_MAX {
            self.count += 1;
            let new = Process { begin: at, parent, ..Process::default() };
            self.processes.entry(child).or_default().push(new);
        }
    }

    /// A process runs another program: which files are closed is not known.
    pub(super) fn exec(&mut self, process: u32, at: u64) {
        let Some(own) = self.process(process) else { return };
        own.exec = Some(at);
        for number in own.numbers.values_mut() {
            number.end(at);
        }
    }

    /// Rows were lost until this time.
    pub(super) fn lose(&mut self, at: u64) {
        if self.gaps.last().is_none_or(|last| *last < at) && self.gaps.len() < FILE_COUNT_MAX {
            self.gaps.push(at);
        }
    }

    /// A number was opened. It may be the copy of another one.
    pub(super) fn open(&mut self, (process, file): (u32, u32), at: u64, of: Option<u32>) {
        let copy = of.and_then(|of| self.at(process, of, at)).copied();
        let is_full = self.count >= FILE_COUNT_MAX;
        let Some(number) = self.number(process, file, at) else { return };
        number.end(at);
        if let Some(copy) = copy.filter(|_| !is_full) {
            number.lives.push(OpenFile { begin: at, end: NEVER, seen: at, ..copy });
            self.count += 1;
        }
    }

    /// A number was closed by a call that began at `called`. Another thread may have got it since.
    pub(super) fn close(&mut self, (process, file): (u32, u32), called: u64, at: u64) {
        let Some(number) = self.number(process, file, at) else { return };
        if number.floor <= called {
            number.end(at);
        }
    }

    /// Numbers were closed, or are to be closed at an exec.
    pub(super) fn close_range(&mut self, process: u32, files: [u64; 2], at: u64) {
        let Some(own) = self.process(process) else { return };
        // Those of its parent, too.
        own.exec = Some(at);
        for (file, number) in &mut own.numbers {
            if (files[0]..=files[1]).contains(&u64::from(*file)) {
                number.end(at);
            }
        }
    }

    /// The path of a number is known. Returns false beyond the limit.
    pub(super) fn name(&mut self, (process, file): (u32, u32), at: u64, path: &[u8]) -> bool {
        // A socket is the same one, whatever addresses it gets.
        let (path, address) = match memchr::memchr(b']', path) {
            Some(end) if path.starts_with(b"socket:[") => path.split_at(end + 1),
            _ => (path, &[][..]),
        };
        let known = self.by_path.get(path).copied();
        let is_full = self.count >= FILE_COUNT_MAX || self.paths.len() >= FILE_COUNT_MAX;
        if is_full {
            return false;
        }
        let path = known.unwrap_or_else(|| {
            let index = self.paths.len() as u32;
            self.paths.push(path.into());
            self.by_path.insert(path.into(), index);
            index
        });
        if let Some(address) = address.strip_prefix(b" ") {
            self.addresses.insert(path, address.into());
        }
        self.note((process, file), at, |life| match life.path {
            NONE => {
                life.path = path;
                true
            }
            own => own == path,
        });
        true
    }

    /// A number is a socket.
    pub(super) fn attach(&mut self, (process, file): (u32, u32), at: u64, socket: u32) {
        self.note((process, file), at, |life| match life.socket {
            NONE => {
                life.socket = socket;
                true
            }
            own => own == socket,
        });
    }

    /// Adds what is known to the present life of a number; `is_it` returns whether it is the same
    /// file.
    fn note(
        &mut self,
        (process, file): (u32, u32),
        at: u64,
        mut is_it: impl FnMut(&mut OpenFile) -> bool,
    ) {
        let gap = self.gaps.last().copied().unwrap_or(0);
        let is_full = self.count >= FILE_COUNT_MAX;
        let Some(number) = self.number(process, file, at) else { return };
        let now = number.lives.last_mut().filter(|now| now.end == NEVER);
        if let Some(now) = now {
            if now.seen >= gap && is_it(now) {
                now.seen = at;
                return;
            }
            let is_lost = now.seen < gap;
            // After a loss it may be any file. Else no row tells when it became another one.
            let until = if is_lost { gap } else { now.seen.saturating_add(1) };
            (now.end, number.floor) = (until, if is_lost { gap } else { at });
        }
        if is_full {
            return;
        }
        let begin = number.floor.max(gap);
        let mut life = OpenFile { begin, end: NEVER, path: NONE, socket: NONE, seen: at };
        is_it(&mut life);
        number.lives.push(life);
        self.count += 1;
    }
}

impl Number {
    fn end(&mut self, at: u64) {
        self.floor = at;
        if let Some(now) = self.lives.last_mut().filter(|now| now.end == NEVER) {
            now.end = at;
        }
    }
}
