//! Writes row groups to files.
//!
//! ```text
//!  Group of a set and process ──▶ its open file │ the next part-N.parquet of its directory
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::Failure;
use crate::export::parquet::columns::Group;
use crate::export::parquet::rows::{Groups, Piece};
use crate::export::parquet::sets::{PARTITIONS, Sets};
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Open files, at most; then the file that waits longest is closed.
const OPEN_COUNT_MAX: usize = 128;
/// Row groups in the queue of the writer thread.
const GROUP_COUNT: usize = 1;

/// The result of writing.
pub(crate) struct Written<T> {
    pub(crate) row_count: u64,
    pub(crate) file_count: u64,
    pub(crate) result: T,
}

/// Writes events to files that `create` makes, by their relative paths. `read` passes rows to a
/// function, which returns false if it wants no more.
pub(crate) fn write<T>(
    sets: &Sets,
    create: impl FnMut(&Path) -> io::Result<File> + Send,
    read: impl FnOnce(&mut dyn FnMut(Piece) -> bool) -> T,
) -> Result<Written<T>, Failure> {
    let (to_write, groups) = mpsc::sync_channel::<Group>(GROUP_COUNT);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || -> Result<u64, Failure> {
            let mut files = Files::new(sets, create);
            for group in groups {
                files.write(group)?;
            }
            files.finish()
        });
        let mut groups = Groups::default();
        let mut send = |group| to_write.send(group).is_ok();
        let result = read(&mut |piece| groups.add(piece, &mut send));
        let row_count = groups.row_count;
        let _ = groups.finish().all(send);
        drop(to_write);
        match writer.join() {
            Ok(file_count) => Ok(Written { row_count, file_count: file_count?, result }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

struct Files<'l, F> {
    sets: &'l Sets,
    create: F,
    properties: WriterPropertiesPtr,
    /// Open files by set and process, with the number of the last group written.
    open: HashMap<(usize, usize), (SerializedFileWriter<File>, u64)>,
    /// Number of files in each directory.
    parts: HashMap<PathBuf, u64>,
    group_count: u64,
    file_count: u64,
}

impl<'l, F: FnMut(&Path) -> io::Result<File>> Files<'l, F> {
    pub(crate) fn new(sets: &'l Sets, create: F) -> Files<'l, F> {
        let producer = format!("eventcnv {}", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder()
            .set_created_by(producer)
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_enabled(false)
            .set_offset_index_disabled(true);
        let properties = Arc::new(properties.build());
        let (open, parts) = (HashMap::new(), HashMap::new());
        Files { sets, create, properties, open, parts, group_count: 0, file_count: 0 }
    }

    pub(crate) fn write(&mut self, group: Group) -> Result<(), Failure> {
        let key = (group.set, group.process);
        if !self.open.contains_key(&key) {
            if self.open.len() >= OPEN_COUNT_MAX {
                let oldest = self.open.iter().min_by_key(|(_, (_, last))| *last);
                let oldest = oldest.map(|(key, _)| *key);
                if let Some((file, _)) = oldest.and_then(|key| self.open.remove(&key)) {
                    file.close()?;
                }
            }
            let file = self.begin(group.set, group.process)?;
            self.open.insert(key, (file, 0));
        }
        self.group_count += 1;
        if let Some((file, last)) = self.open.get_mut(&key) {
            *last = self.group_count;
            let forms = self.sets.all.get(group.set).map_or(&[][..], |set| &set.columns);
            group.write(forms, &self.sets.threads, file.next_row_group()?)?;
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
        let mut properties = (*self.properties).clone().into_builder();
        for column in of.schema.get_fields() {
            let path = ColumnPath::from(column.name());
            properties = match column.get_physical_type() {
                Type::INT64 | Type::INT32 => {
                    properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
                }
                Type::BYTE_ARRAY => properties.set_column_dictionary_enabled(path, true),
                _ => properties,
            };
        }
        Ok(SerializedFileWriter::new(file, of.schema.clone(), Arc::new(properties.build()))?)
    }

    /// Closes all files. Returns their number.
    pub(crate) fn finish(self) -> Result<u64, Failure> {
        for (file, _) in self.open.into_values() {
            file.close()?;
        }
        Ok(self.file_count)
    }
}
