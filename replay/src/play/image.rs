//! A workload as bytes for the process that plays it: a file that both processes map.
//!
//! ```text
//!  control │ a line for each thread │ directory │ ops, times, live, left of each thread │ outcome
//!  0       4096                     └── words: 8 bytes each ──────────────────────────┘ child's
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use super::check::Plan;
use super::shared::{Shared, words_offset};
use crate::heap::Request;
use crate::workload::{Op, Workload};
use bytemuck::{Pod, Zeroable};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// An object that is freed at the end: its slot, and the request for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Left {
    size: u64,
    alignment: u64,
    slot: u32,
    pool: u32,
}

impl Left {
    pub(crate) fn new(slot: u32, was: Request) -> Left {
        Left { size: was.size as u64, alignment: was.alignment as u64, slot, pool: was.pool }
    }

    pub(crate) fn slot(self) -> u32 {
        self.slot
    }

    pub(crate) fn was(self) -> Request {
        Request { size: self.size as usize, alignment: self.alignment as usize, pool: self.pool }
    }
}

/// The places of the lists of a thread: the index of the first word, and the number of words.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    lists: [[u64; 2]; 4],
}

const ENTRY_WORDS: usize = size_of::<Entry>() / size_of::<u64>();

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists<'a> {
    pub(crate) ops: &'a [Op],
    pub(crate) times: &'a [u64],
    pub(crate) live: &'a [i64],
    pub(crate) left: &'a [Left],
}

/// Returns a file in memory.
fn create() -> io::Result<File> {
    Ok(memfd_create(c"workload", MemfdFlags::empty())?.into())
}

/// Writes a checked workload. Returns the file and its size.
pub(crate) fn write(workload: &Workload, plan: &Plan) -> io::Result<(File, u64)> {
    let file = create()?;
    let mut out = BufWriter::with_capacity(1 << 20, &file);
    let before = words_offset(workload.threads.len());
    io::copy(&mut io::Read::take(io::repeat(0), before as u64), &mut out)?;
    let mut at = workload.threads.len() * ENTRY_WORDS;
    for (thread, left) in workload.threads.iter().zip(&plan.left) {
        let left_words = bytemuck::cast_slice::<Left, u64>(left).len();
        let mut entry = Entry::default();
        let counts = [thread.ops.len(), thread.times.len(), thread.live.len(), left_words];
        for (list, count) in entry.lists.iter_mut().zip(counts) {
            *list = [at as u64, count as u64];
            at += count;
        }
        out.write_all(bytemuck::bytes_of(&entry))?;
    }
    for (thread, left) in workload.threads.iter().zip(&plan.left) {
        out.write_all(bytemuck::cast_slice(&thread.ops))?;
        out.write_all(bytemuck::cast_slice(&thread.times))?;
        out.write_all(bytemuck::cast_slice(&thread.live))?;
        out.write_all(bytemuck::cast_slice(left))?;
    }
    out.flush()?;
    drop(out);
    Ok((file, (before + 8 * at) as u64))
}

/// Returns the lists of a thread; `None` if `write` did not write the file.
pub(crate) fn lists(shared: &Shared, thread: usize) -> Option<Lists<'_>> {
    let words = shared.words();
    let entry: &[u64] = words.get(thread * ENTRY_WORDS..)?.get(..ENTRY_WORDS)?;
    let list = |index: usize| {
        let (first, count) = (*entry.get(2 * index)?, *entry.get(2 * index + 1)?);
        words.get(usize::try_from(first).ok()?..)?.get(..usize::try_from(count).ok()?)
    };
    Some(Lists {
        ops: bytemuck::cast_slice(list(0)?),
        times: list(1)?,
        live: bytemuck::cast_slice(list(2)?),
        left: bytemuck::try_cast_slice(list(3)?).ok()?,
    })
}
