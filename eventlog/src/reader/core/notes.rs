//! The notes of a core: program, threads, signal, mapped files.
//!
//! ```text
//!  PRSTATUS (dying thread) · SIGINFO · PRPSINFO · … · FILE │ PRSTATUS · … │ PRSTATUS · …
//!      └ tid, signal          └ signal    └ program, pid └ address ranges, paths
//! ```
//!
//! Both the kernel and gcore put the thread that died, or that was inspected, first. The reader
//! skips notes of registers, which may be large. Design: `.debug.core` in `design/telemetry.md`.

use super::elf::Elf;
use crate::reader::model::registry::{clean, padded_name};
use crate::reader::source::bytes::Source;
use object::elf::{NT_FILE, NT_PRPSINFO, NT_PRSTATUS, NT_SIGINFO};
use std::io;

const NOTE_COUNT_MAX: usize = 1 << 20;
const THREAD_COUNT_MAX: usize = 1 << 16;
/// Bytes of a note that are read, at most, unless it lists files.
const NOTE_SIZE_MAX: u64 = 256;
/// Bytes of all notes that list files, at most.
const FILES_SIZE_MAX: u64 = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The operating system's thread numbers; the thread that died comes first.
    pub(super) threads: Vec<u64>,
    pub(super) signal: u32,
    pub(super) program: Box<str>,
    pub(super) pid: u64,
    files: Vec<MappedFile>,
}

#[derive(Debug)]
struct MappedFile {
    start: u64,
    end: u64,
    path: Box<str>,
}

/// Reads the notes, as far as the file has them.
pub(super) fn read(source: &dyn Source, elf: &Elf) -> io::Result<Notes> {
    let mut notes = Notes::default();
    let (mut left, mut files_left) = (NOTE_COUNT_MAX, FILES_SIZE_MAX);
    for &(offset, size) in &elf.notes {
        let end = offset.saturating_add(size).min(source.size());
        let mut at = offset;
        while at < end && left > 0 {
            left -= 1;
            let mut head = [0; 12];
            let present = source.read_at(at, &mut head)?;
            let Some((kind, name, size)) = head.get(..present).and_then(|head| elf.note(head))
            else {
                break;
            };
            let start = (at + 12).saturating_add(name.next_multiple_of(4));
            at = start.saturating_add(size.next_multiple_of(4));
            let wanted = match kind {
                kind if kind == NT_FILE.0 => files_left,
                kind if [NT_PRSTATUS.0, NT_PRPSINFO.0, NT_SIGINFO.0].contains(&kind) => {
                    NOTE_SIZE_MAX
                }
                _ => continue,
            };
            let room = end.saturating_sub(start).min(size).min(wanted);
            if kind == NT_FILE.0 {
                files_left -= room;
            }
            let mut bytes = vec![0; usize::try_from(room).unwrap_or(0)];
            let present = source.read_at(start, &mut bytes)?;
            bytes.truncate(present);
            notes.add(elf, kind, &bytes);
        }
    }
    Ok(notes)
}

impl Notes {
    fn add(&mut self, elf: &Elf, kind: u32, bytes: &[u8]) {
        let word = usize::from(elf.word_size);
        let number = |at: usize, size: usize| {
            bytes.get(at..at.saturating_add(size)).map(|bytes| elf.number(bytes))
        };
        if kind == NT_PRSTATUS.0 {
            // struct elf_prstatus: three ints, a short, two longs, then the thread.
            let signal = number(12, 2).unwrap_or(0) as u32;
            if let Some(thread) = number(16 + 2 * word, 4)
                && self.threads.len() < THREAD_COUNT_MAX
            {
                let is_first = self.threads.is_empty();
                self.threads.push(thread);
                if is_first && self.signal == 0 {
                    self.signal = signal;
                }
            }
        } else if kind == NT_SIGINFO.0 {
            let signal = number(0, 4).filter(|signal| (1..256).contains(signal));
            if let Some(signal) = signal.filter(|_| self.signal == 0) {
                self.signal = signal as u32;
            }
        } else if kind == NT_PRPSINFO.0 {
            self.add_program(elf, bytes);
        } else {
            self.add_files(elf, bytes);
        }
    }

    /// struct elf_prpsinfo: four chars, a long, two ids (16 bits on some 32-bit processors), four
    /// ints (the first is the process), 16 bytes of its name.
    fn add_program(&mut self, elf: &Elf, bytes: &[u8]) {
        let size = bytes.len();
        let (pid, name) = match (elf.word_size, size) {
            (8, 136..) => (24, 40),
            (4, 128..) => (16, 32),
            (4, 124..) => (12, 28),
            _ => return,
        };
        let name = bytes.get(name..name + 16).unwrap_or_default();
        self.program = padded_name(name);
        self.pid = bytes.get(pid..pid + 4).map_or(0, |bytes| elf.number(bytes));
    }

    /// Number of files, page size; start, end and offset in pages of each file; then all paths.
    fn add_files(&mut self, elf: &Elf, bytes: &[u8]) {
        let word = usize::from(elf.word_size);
        let number = |at: usize| {
            let bytes = bytes.get(at.checked_mul(word)?..)?.get(..word)?;
            Some(elf.number(bytes))
        };
        let count = number(0).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        let count = count.min(bytes.len() / (3 * word));
        let paths = bytes.get((2 + 3 * count) * word..).unwrap_or_default();
        for (index, path) in (0..count).zip(paths.split(|&byte| byte == 0)) {
            let at = 2 + 3 * index;
            if let (Some(start), Some(end)) = (number(at), number(at + 1)) {
                self.files.push(MappedFile { start, end, path: clean(path) });
            }
        }
    }

    pub(super) fn file_at(&self, address: u64) -> Option<&str> {
        let file = self.files.iter().find(|file| (file.start..file.end).contains(&address))?;
        Some(&file.path)
    }
}
