//! Encodes row groups on all processors, and writes them to files.
//!
//! ```text
//!  Group 1 ── encoder ──▶ columns ─┐
//!  Group 2 ── encoder ──▶ columns ─┼─▶ in order: the open file of its set and process │ the next
//!  Group 3 ── encoder ──▶ columns ─┘   part-N.parquet of its directory
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::Failure;
use crate::export::parquet::columns::{Encoded, Group};
use crate::export::parquet::rows::{Groups, Piece};
use crate::export::parquet::sets::{PARTITIONS, Sets};
use crate::open::parallel::map_in_order;
use parquet::file::writer::SerializedFileWriter;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Open files, at most; then the file that waits longest is closed.
const OPEN_COUNT_MAX: usize = 128;

/// The result of writing.
pub(crate) struct Written<T> {
    pub(crate) row_count: u64,
    pub(crate) file_count: u64,
    pub(crate) result: T,
}

/// Writes events to files that `create` makes, by their relative paths. `read` passes rows to a
/// function, which returns false if it wants no more.
pub(crate) fn write<T: Send>(
    sets: &Sets,
    create: impl FnMut(&Path) -> io::Result<File>,
    read: impl FnOnce(&mut dyn FnMut(Piece) -> bool) -> T + Send,
) -> Result<Written<T>, Failure> {
    let make = |mut send: &mut dyn FnMut(Group) -> bool| {
        let mut groups = Groups::default();
        let result = read(&mut |piece| groups.add(piece, &mut send));
        let row_count = groups.row_count;
        let _ = groups.finish().all(send);
        (row_count, result)
    };
    let mut files = Files::new(sets, create);
    let encode = |group: Group| group.encode(sets);
    let (row_count, result) = map_in_order(make, encode, |encoded| files.write(encoded))?;
    Ok(Written { row_count, file_count: files.finish()?, result })
}

struct Files<'l, F> {
    sets: &'l Sets,
    create: F,
    /// Open files by set and process, with the number of the last group written.
    open: HashMap<(usize, usize), (SerializedFileWriter<File>, u64)>,
    /// Number of files in each directory.
    parts: HashMap<PathBuf, u64>,
    group_count: u64,
    file_count: u64,
}

impl<'l, F: FnMut(&Path) -> io::Result<File>> Files<'l, F> {
    pub(crate) fn new(sets: &'l Sets, create: F) -> Files<'l, F> {
        let (open, parts) = (HashMap::new(), HashMap::new());
        Files { sets, create, open, parts, group_count: 0, file_count: 0 }
    }

    pub(crate) fn write(&mut self, encoded: Encoded) -> Result<(), Failure> {
        let key = (encoded.set, encoded.process);
        if !self.open.contains_key(&key) {
            if self.open.len() >= OPEN_COUNT_MAX {
                let oldest = self.open.iter().min_by_key(|(_, (_, last))| *last);
                let oldest = oldest.map(|(key, _)| *key);
                if let Some((file, _)) = oldest.and_then(|key| self.open.remove(&key)) {
                    file.close()?;
                }
            }
            let file = self.begin(encoded.set, encoded.process)?;
            self.open.insert(key, (file, 0));
        }
        self.group_count += 1;
        if let Some((file, last)) = self.open.get_mut(&key) {
            *last = self.group_count;
            encoded.write(file.next_row_group()?)?;
        }
        Ok(())
    }

    /// Begins the next file of a directory.
    fn begin(&mut self, set: usize, process: usize) -> Result<SerializedFileWriter<File>, Failure> {
        let unknown = || io::Error::from(io::ErrorKind::NotFound);
        let of = self.sets.all.get(set).ok_or_else(unknown)?;
        let [host, process] = self.sets.processes.get(process).ok_or_else(unknown)?;
        let kind = self.sets.kinds.get(set).ok_or_else(unknown)?;
        let parts = PARTITIONS.iter().zip([host, process, kind]);
        let parts = parts.map(|(name, value)| format!("{name}={value}"));
        let directory = parts.fold(PathBuf::from(&of.name), |path, part| path.join(part));
        let part = self.parts.entry(directory.clone()).or_default();
        let file = (self.create)(&directory.join(format!("part-{part}.parquet")))?;
        *part += 1;
        self.file_count += 1;
        let schema = of.schema.root_schema_ptr();
        Ok(SerializedFileWriter::new(file, schema, of.properties.clone())?)
    }

    /// Closes all files. Returns their number.
    pub(crate) fn finish(self) -> Result<u64, Failure> {
        for (file, _) in self.open.into_values() {
            file.close()?;
        }
        Ok(self.file_count)
    }
}
