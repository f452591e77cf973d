//! Where a log is read from: something with a size and positioned reads.
//!
//! ```text
//!  File, [u8], Vec<u8> ── read_at(offset) ──▶ bytes
//! ```
//!
//! The reader never maps a file into memory: a file that shrinks must give a fault, not a signal.
//! Design: `.dumper` in `design/telemetry.md`.

use super::ring;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a log.
pub trait Source {
    /// Returns the size in bytes, as of when the source was opened.
    fn size(&self) -> u64;

    /// Reads at `offset` into `buf`, and returns how many bytes it read: fewer than `buf` has only
    /// at the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// Returns the size now, of a file that may have grown.
    fn size_now(&self) -> io::Result<u64> {
        Ok(self.size())
    }

    /// Returns whether no program writes to the source. A ring in it then needs no copy
    /// (`.ring.read`).
    fn is_still(&self) -> bool {
        false
    }

    /// Returns, of a source whose rings were copied already, whether a program changed one faster
    /// than it was copied.
    #[doc(hidden)]
    fn copied(&self) -> Option<bool> {
        None
    }

    /// Returns the stretches, in ascending order, that were added to the files of a directory while
    /// they were opened: what precedes them may be missing in a file that was opened before
    /// (`.directory.instant`).
    #[doc(hidden)]
    fn late(&self) -> &[Range<u64>] {
        &[]
    }
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let rest = rest.unwrap_or_default();
        let size = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..size), rest.get(..size)) {
            to.copy_from_slice(from);
        }
        Ok(size)
    }
}

/// What leads to a source is a source.
macro_rules! leads_to_source {
    ($([$($generics:tt)*] $pointer:ty;)+) => {$(
        impl<$($generics)*> Source for $pointer {
            fn size(&self) -> u64 {
                (**self).size()
            }

            fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
                (**self).read_at(offset, buf)
            }

            fn size_now(&self) -> io::Result<u64> {
                (**self).size_now()
            }

            fn is_still(&self) -> bool {
                (**self).is_still()
            }

            fn copied(&self) -> Option<bool> {
                (**self).copied()
            }

            fn late(&self) -> &[Range<u64>] {
                (**self).late()
            }
        }
    )+};
}

leads_to_source! {
    [] Vec<u8>;
    [T: Source + ?Sized] &T;
    [T: Source + ?Sized] Arc<T>;
}

/// A regular file, with the size that it had when it was opened.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    /// Takes a file that is open for reading.
    pub fn new(file: File) -> io::Result<FileSource> {
        let size = file.metadata()?.len();
        Ok(FileSource { file, size })
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn size_now(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..) {
            if rest.is_empty() {
                break;
            }
            match read_once(&self.file, rest, offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(size) => done += size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

#[cfg(unix)]
fn read_once(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn read_once(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

#[cfg(not(any(unix, windows)))]
fn read_once(mut file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read(buf)
}

/// Several sources, one after the other: the volumes of a stream, or logs that belong together.
/// A ring among them is copied, since a program may write it (`.ring.read`).
#[derive(Default)]
pub struct Joined {
    /// Each source with its first offset.
    sources: Vec<(u64, Box<dyn Source + Send + Sync>)>,
    size: u64,
    copied_size: u64,
    /// Whether a ring changed faster than it was copied.
    is_moving: bool,
    late: Vec<Range<u64>>,
}

opaque_debug!(Joined);

impl Joined {
    /// Adds a file of a directory at the end, which had `size_before` bytes before any of them was
    /// opened.
    pub fn push_file(&mut self, source: Box<dyn Source + Send + Sync>, size_before: u64) {
        let late = self.size.saturating_add(size_before);
        self.push(source);
        self.late.extend(Some(late..self.size).filter(|late| !late.is_empty()));
    }

    /// Adds a source at the end. A ring that cannot be copied is read where it is.
    pub fn push(&mut self, source: Box<dyn Source + Send + Sync>) {
        let source = match ring::copy(&*source, self.copied_size) {
            Ok(Some(copy)) => {
                self.copied_size += copy.memory_size();
                self.is_moving |= copy.is_moving;
                copy.log_of(source)
            }
            _ => source,
        };
        let size = source.size();
        self.sources.push((self.size, source));
        self.size = self.size.saturating_add(size);
    }
}

impl Source for Joined {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        let at = self.sources.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        for (start, source) in self.sources.iter().skip(at) {
            let from = offset.saturating_add(done as u64).saturating_sub(*start);
            let left = usize::try_from(source.size().saturating_sub(from)).unwrap_or(usize::MAX);
            let size = left.min(buf.len().saturating_sub(done));
            let Some(rest) = buf.get_mut(done..).and_then(|rest| rest.get_mut(..size)) else {
                break;
            };
            let read = source.read_at(from, rest)?;
            done += read;
            if read < size || done == buf.len() {
                break;
            }
        }
        Ok(done)
    }

    /// The first source decides.
    fn is_still(&self) -> bool {
        self.sources.first().is_some_and(|(_, source)| source.is_still())
    }

    fn copied(&self) -> Option<bool> {
        Some(self.is_moving)
    }

    fn late(&self) -> &[Range<u64>] {
        &self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_sources_are_read_as_one() {
        let whole: Vec<u8> = (0..100).collect();
        let mut joined = Joined::default();
        for piece in [&whole[..10], &[], &whole[10..11], &whole[11..100]] {
            joined.push(Box::new(piece.to_vec()));
        }
        assert_eq!(joined.size(), 100);
        for from in 0..=100 {
            for size in [0, 1, 9, 40, 200] {
                let (mut bytes, mut expected) = (vec![0; size], vec![0; size]);
                let read = joined.read_at(from, &mut bytes).unwrap();
                assert_eq!(read, whole.read_at(from, &mut expected).unwrap());
                assert_eq!(bytes, expected);
            }
        }
    }
}
