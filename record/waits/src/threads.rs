//! The threads that exist, their names, files and code: what the trace itself does not tell.
//!
//! ```text
//!  /proc/P/task/T/stat ──▶ ThreadExists, ThreadName      /proc/P/fd ──▶ OpenFile
//!  /proc/P/maps ──▶ Mapping                       /proc/kallsyms ──▶ Symbol
//! ```
//!
//! Processes begin and end while this reads: a missing file is not an error.
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::clock::monotonic;
use crate::sockets::Sockets;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;

/// Threads of a reading, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Open files and mappings of a recording, at most.
const FILE_COUNT_MAX: usize = 1 << 18;
/// Files of one process, at most.
const PROCESS_FILE_COUNT_MAX: usize = 4096;
/// Bytes of the table of the kernel's functions, at most.
const SYMBOLS_SIZE_MAX: usize = 64 << 20;
/// The number of the first namespace of processes, in the name of its file.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// A thread that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// When it was read: CLOCK_MONOTONIC.
    pub(super) at: u64,
    pub(super) thread: u32,
    pub(super) process: u32,
    /// Its number in its own namespace of processes.
    pub(super) number: u32,
    pub(super) state: u32,
    pub(super) name: Box<[u8]>,
}

/// An open file of a process, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    File { process: u32, file: u32, path: Box<[u8]> },
    Code { process: u32, start: u64, size: u64, offset: u64, path: Box<[u8]> },
}

/// Returns whether /proc has the kernel's own numbers of processes.
pub(super) fn has_kernel_numbers() -> bool {
    is_in_first("self")
}

/// Returns whether a process is in the first namespace of processes.
fn is_in_first(process: &str) -> bool {
    let link = fs::read_link(format!("/proc/{process}/ns/pid"));
    link.is_ok_and(|name| name.as_os_str() == FIRST_NAMESPACE)
}

/// Returns the number of a thread in its own namespace: the last of the line `NSpid`.
fn inner(process: u32, thread: u32) -> Option<u32> {
    let text = fs::read(format!("/proc/{process}/task/{thread}/status")).ok()?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let numbers = lines.find_map(|line| line.strip_prefix(b"NSpid:"))?;
    str::from_utf8(numbers).ok()?.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Returns all threads.
pub(super) fn all() -> Vec<Thread> {
    let mut found = Vec::new();
    for process in numbers("/proc") {
        let is_first = is_in_first(&process.to_string());
        for thread in numbers(&format!("/proc/{process}/task")) {
            if found.len() >= THREAD_COUNT_MAX {
                return found;
            }
            let number = if is_first { None } else { inner(process, thread) };
            found.extend(read(process, thread, number.unwrap_or(thread)));
        }
    }
    found
}

fn read(process: u32, thread: u32, number: u32) -> Option<Thread> {
    let stat = fs::read(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    let begin = stat.iter().position(|byte| *byte == b'(')? + 1;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let letter = stat.get(end + 2)?;
    let name = stat.get(begin..end)?.into();
    Some(Thread { at: monotonic(), thread, process, number, state: state(*letter), name })
}

/// Returns the state of a thread, as in
/// [`ThreadExists`](lens::waits::events::kernel::ThreadExists).
fn state(letter: u8) -> u32 {
    match letter {
        b'R' => 0,
        b'S' => 1,
        b'D' => 2,
        b'T' => 4,
        b't' => 8,
        b'X' => 16,
        b'Z' => 32,
        b'P' => 64,
        _ => 128,
    }
}

fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The files and the code of some processes: each when it is new, and at each whole look.
#[derive(Debug, Default)]
pub(super) struct Places {
    code: HashSet<Place>,
    /// What each file number of each process was at the last look.
    files: HashMap<(u32, u32), Box<[u8]>>,
    sockets: Sockets,
    /// In the order in which they were seen, with the time of CLOCK_MONOTONIC.
    pub(super) all: Vec<(u64, Place)>,
    /// Whether code is looked for.
    pub(super) has_code: bool,
}

impl Places {
    pub(super) fn new(has_code: bool) -> Places {
        Places { has_code, ..Places::default() }
    }

    /// Looks at a process and those that it made. A whole look also tells the files that have not
    /// changed: one may have been closed, and opened again.
    pub(super) fn look(&mut self, process: u32, is_whole: bool) {
        let mut open = vec![process];
        let mut seen: HashSet<u32> = HashSet::new();
        while let Some(process) = open.pop().filter(|_| self.all.len() < FILE_COUNT_MAX) {
            if !seen.insert(process) {
                continue;
            }
            self.files(process, is_whole);
            if self.has_code && is_whole {
                self.code(process);
            }
            for thread in numbers(&format!("/proc/{process}/task")) {
                let path = format!("/proc/{process}/task/{thread}/children");
                let children = fs::read_to_string(path).unwrap_or_default();
                open.extend(
                    children.split_ascii_whitespace().filter_map(|n| n.parse::<u32>().ok()),
                );
            }
        }
    }

    /// Looks at all processes.
    pub(super) fn look_at_all(&mut self) {
        for process in numbers("/proc") {
            self.files(process, true);
            if self.has_code {
                self.code(process);
            }
        }
    }

    fn files(&mut self, process: u32, is_whole: bool) {
        self.sockets.begin(is_whole);
        for file in numbers(&format!("/proc/{process}/fd")).take(PROCESS_FILE_COUNT_MAX) {
            let Ok(path) = fs::read_link(format!("/proc/{process}/fd/{file}")) else { continue };
            let path = path.as_os_str().as_bytes();
            let path: Box<[u8]> = match self.sockets.name(process, path) {
                Some(name) => [path, b" ", name].concat().into(),
                None => path.into(),
            };
            if is_whole || self.files.get(&(process, file)) != Some(&path) {
                self.files.insert((process, file), path.clone());
                self.note(Place::File { process, file, path });
            }
        }
    }

    fn code(&mut self, process: u32) {
        let Ok(text) = fs::read(format!("/proc/{process}/maps")) else { return };
        let lines = text.split(|byte| *byte == b'\n').take(PROCESS_FILE_COUNT_MAX);
        for place in lines.filter_map(|line| mapping(process, line)) {
            if self.all.len() < FILE_COUNT_MAX && self.code.insert(place.clone()) {
                self.note(place);
            }
        }
    }

    fn note(&mut self, place: Place) {
        if self.all.len() < FILE_COUNT_MAX {
            self.all.push((monotonic(), place));
        }
    }
}

/// Reads a line of /proc/P/maps; `None` if it is not code of a file.
fn mapping(process: u32, line: &[u8]) -> Option<Place> {
    let mut words = line.splitn(6, |byte| *byte == b' ').map(|word| word.trim_ascii());
    let (start, end) = str::from_utf8(words.next()?).ok()?.split_once('-')?;
    let flags = words.next()?;
    let offset = str::from_utf8(words.next()?).ok()?;
    let path = words.nth(2)?;
    if flags.get(2) != Some(&b'x') || path.first() != Some(&b'/') {
        return None;
    }
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (hex(start)?, hex(end)?, hex(offset)?);
    Some(Place::Code { process, start, size: end.checked_sub(start)?, offset, path: path.into() })
}

/// The functions of the kernel.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// By address: where the name begins in `names`, and its size.
    all: Vec<(u64, u32, u32)>,
    names: Vec<u8>,
}

impl Symbols {
    /// Reads the functions of the running kernel; those that `is_wanted` accepts.
    pub(super) fn read(is_wanted: impl Fn(&[u8]) -> bool) -> Symbols {
        let mut symbols = Symbols::default();
        let Ok(file) = fs::File::open("/proc/kallsyms") else { return symbols };
        for line in BufReader::with_capacity(1 << 16, file).split(b'\n') {
            let Ok(line) = line else { break };
            let mut words = line.split(|byte| byte.is_ascii_whitespace());
            let address = words.next().and_then(|word| str::from_utf8(word).ok());
            let address = address.and_then(|word| u64::from_str_radix(word, 16).ok());
            let (Some(address), Some(sort), Some(name)) = (address, words.next(), words.next())
            else {
                continue;
            };
            // Without the rights, the kernel tells zeros.
            let is_code = matches!(sort, b"t" | b"T" | b"w" | b"W") && address != 0;
            if !is_code || !is_wanted(name) || symbols.names.len() > SYMBOLS_SIZE_MAX {
                continue;
            }
            symbols.all.push((address, symbols.names.len() as u32, name.len() as u32));
            symbols.names.extend_from_slice(name);
        }
        symbols.all.sort_by_key(|(address, ..)| *address);
        symbols
    }

    /// Returns the function at an address.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        let after = self.all.partition_point(|(begin, ..)| *begin <= address);
        let (_, from, size) = self.all.get(after.checked_sub(1)?)?;
        self.names.get(*from as usize..)?.get(..*size as usize)
    }

    /// Returns the first address.
    pub(super) fn first(&self) -> Option<u64> {
        self.all.first().map(|(address, ..)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_threads() {
        let process = std::process::id();
        let all = all();
        let own = all.iter().find(|thread| thread.thread == process).unwrap();
        assert_eq!(own.process, process);
        assert!(own.state <= 2, "{own:?}");
    }

    #[test]
    fn code_of_files_is_found_in_maps() {
        let line = b"7f00-7f90 r-xp 00000010 fe:00 12   /usr/lib/lib c.so";
        let path = b"/usr/lib/lib c.so"[..].into();
        let expected = Place::Code { process: 3, start: 0x7F00, size: 0x90, offset: 16, path };
        assert_eq!(mapping(3, line), Some(expected));
        assert_eq!(mapping(3, b"7f00-7f90 r--p 00000010 fe:00 12   /usr/lib/libc.so"), None);
        assert_eq!(mapping(3, b"7f90-7f00 r-xp 00000010 fe:00 12   /a"), None);
        for size in 0..line.len() {
            mapping(3, &line[..size]);
        }
    }

    #[test]
    fn a_look_tells_what_is_new_and_a_whole_one_all() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut places = Places::new(true);
        let name = file.path().as_os_str().as_bytes();
        let is_it = |place: &Place| matches!(place, Place::File { path, .. } if **path == *name);
        for (is_whole, count) in [(false, 1), (false, 1), (true, 2), (false, 2)] {
            places.look(std::process::id(), is_whole);
            assert_eq!(places.all.iter().filter(|(_, place)| is_it(place)).count(), count);
        }
        assert!(places.all.iter().any(|(_, place)| matches!(place, Place::Code { .. })));
    }
}
