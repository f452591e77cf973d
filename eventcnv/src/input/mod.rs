//! Which log is read, and how its bytes are had.
//!
//! ```text
//!  LOG │ -f LOG │ $MPS_TELEMETRY_FILENAME │ mpsio.log ──▶ name
//!  a core ── the log in its memory (core.rs) ──────────────────▶ Source
//!  a regular file ── positioned reads ─────────────────────────▶ Source
//!  "-", a pipe, a device ── to memory; a log beyond 4 MiB to a file without a name ──▶ Source
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod core;
pub(crate) mod threads;

use cli::log::{HEADER_SIZE_MAX, registry_in};
use eventlog::reader::core::{Core, is_elf};
use eventlog::reader::{FileSource, Format, Joined, Log, OpenError, Options, Registry, Source};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The environment variable that names the log, as it does for the program that writes it.
pub(crate) const FILENAME_VARIABLE: &str = "MPS_TELEMETRY_FILENAME";
/// The log that is read where none is named.
const FILENAME_DEFAULT: &str = "mpsio.log";
/// What cannot be sought is kept in memory up to this size.
const SPOOL_MEMORY_MAX: u64 = 4 << 20;

/// Bytes by which the format of a log is known.
const FORMAT_SIZE: usize = 1 << 18;

/// Bytes by which cores and logs of one stream are known.
const HEAD_SIZE: usize = 512;

/// Of logs that are read as one, so many are named in a message; of more the first and the last.
const NAME_COUNT_MAX: usize = 3;

/// Bytes of any kind.
pub(crate) type AnySource = Box<dyn Source + Send + Sync>;

/// The logs to read, from the command line, the environment, or by default.
pub(crate) fn choose(
    named: &[PathBuf],
    variable: Option<OsString>,
) -> Result<Vec<PathBuf>, String> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let Some(value) = variable.filter(|value| !value.is_empty()) else {
        return Ok(vec![FILENAME_DEFAULT.into()]);
    };
    if value.as_encoded_bytes().windows(2).any(|pair| pair == b"%p") {
        return Err(format!(
            "{FILENAME_VARIABLE} is {}: %p stands for the number of the process that \
             wrote the log, which cannot be guessed; name the log on the command line",
            value.display()
        ));
    }
    // What is no text is a name.
    let Some(text) = value.to_str() else { return Ok(vec![value.into()]) };
    let mut places = text.strip_prefix("tee:").unwrap_or(text).split(',');
    let file = if text.starts_with("tee:") { places.find_map(file_of) } else { file_of(text) };
    let name = file.ok_or_else(|| {
        format!("{FILENAME_VARIABLE} is {text}, which is no file; name the log on the command line")
    })?;
    Ok(vec![name.into()])
}

/// The file of a destination: of `file:PATH?size=64M` the newest; none of a socket.
fn file_of(destination: &str) -> Option<&str> {
    if destination.starts_with("tcp://") || destination.starts_with("unix:") {
        return None;
    }
    match destination.strip_prefix("file:").or_else(|| destination.strip_prefix("ring:")) {
        Some(rest) => rest.split('?').next(),
        None => Some(destination),
    }
}

/// Logs that were opened.
pub(crate) struct Opened {
    /// For messages: the name of all, or of the one that cannot be opened.
    pub(crate) name: String,
    /// Where each of them begins, and its name.
    pub(crate) starts: Vec<(u64, String)>,
    pub(crate) source: Result<AnySource, OpenError>,
    /// The cores among them.
    pub(crate) cores: Vec<core::Opened>,
}

/// Opens logs, to be read as one.
pub(crate) fn open(paths: &[PathBuf], options: &Options) -> Opened {
    let (mut cores, mut heads, mut formats) = (Vec::new(), Vec::new(), Vec::new());
    let mut joined = Joined::default();
    let mut starts = Vec::new();
    for path in paths {
        let (name, source) = open_one(path, options);
        let source = source.and_then(|source| refuse_compressed(source, path));
        match source.and_then(|source| rescue(source, &name, &mut cores, &mut heads)) {
            Ok(source) if paths.len() == 1 => {
                let starts = vec![(0, name.clone())];
                return Opened { name, starts, source: Ok(source), cores };
            }
            Ok(source) => {
                formats.push(format_of(&source, options));
                starts.push((joined.size(), name));
                joined.push(source);
            }
            Err(error) => return Opened { name, starts, source: Err(error), cores },
        }
    }
    for core in &mut cores {
        core.has_ring = heads.iter().any(|head| core.core.is_of(head));
    }
    // What is of neither format may be a piece of either.
    let place = |format| formats.iter().position(|&found| found == Some(format));
    if let (Some(mps), Some(ours)) = (place(Format::Mps), place(Format::Stream))
        && let (Some((_, mps)), Some((_, ours))) = (starts.get(mps), starts.get(ours))
    {
        let what = format!(
            "is a raw log of the MPS, which cannot be read together with {ours}; convert it \
             first: eventcnv cut {mps} -o NEW"
        );
        let (name, source) = (mps.clone(), Err(io::Error::other(what).into()));
        return Opened { name, starts, source, cores };
    }
    let name = name_of_all(&starts);
    Opened { name, starts, source: Ok(Box::new(joined)), cores }
}

/// What several logs that are read as one are called in messages.
fn name_of_all(starts: &[(u64, String)]) -> String {
    match starts {
        [(_, first), .., (_, last)] if starts.len() > NAME_COUNT_MAX => {
            format!("{first} + {} more + {last}", starts.len() - 2)
        }
        _ => starts.iter().map(|(_, name)| &**name).collect::<Vec<_>>().join(" + "),
    }
}

/// Of which format a source is, if of any.
fn format_of(source: &AnySource, options: &Options) -> Option<Format> {
    let mut head = vec![0; FORMAT_SIZE];
    let size = source.read_at(0, &mut head).ok()?;
    Log::format_of(head.get(..size)?, options)
}

/// What compressed files begin with, and what decompresses them.
const COMPRESSED: [(&[u8], &str); 4] = [
    (b"\x1F\x8B", "gzip"),
    (b"\xFD7zXZ\0", "xz"),
    (b"\x28\xB5\x2F\xFD", "zstd"),
    (b"BZh", "bzip2"),
];

/// A source as it is, unless it is compressed: then what reads it is said.
fn refuse_compressed(source: AnySource, path: &Path) -> Result<AnySource, OpenError> {
    let mut head = [0; 6];
    let size = source.read_at(0, &mut head)?;
    match compressed(head.get(..size).unwrap_or_default(), path) {
        Some(error) => Err(error),
        None => Ok(source),
    }
}

/// What is said of what begins with these bytes, if it is compressed.
fn compressed(head: &[u8], path: &Path) -> Option<OpenError> {
    let (_, tool) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic))?;
    let input =
        if path.as_os_str() == "-" { String::new() } else { format!(" {}", path.display()) };
    let what = format!("is compressed: {tool} -dc{input} | eventcnv -");
    Some(io::Error::other(what).into())
}

/// Whether this is a file that begins as cores do.
pub(crate) fn is_core(path: &Path) -> bool {
    let mut head = [0; HEAD_SIZE];
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let size = is_file.then(|| File::open(path).ok()?.read(&mut head).ok()).flatten();
    head.get(..size.unwrap_or(0)).is_some_and(is_elf)
}

/// The log in a core; what is none stays as it is.
fn rescue(
    source: AnySource,
    name: &str,
    cores: &mut Vec<core::Opened>,
    heads: &mut Vec<Vec<u8>>,
) -> Result<AnySource, OpenError> {
    let mut head = vec![0; HEAD_SIZE];
    let size = source.read_at(0, &mut head)?;
    head.truncate(size);
    if !is_elf(&head) {
        heads.push(head);
        return Ok(source);
    }
    let core = Core::open(source)?;
    let log = Box::new(core.log());
    cores.push(core::Opened { name: name.to_owned(), core, has_ring: false });
    Ok(log)
}

/// Opens a log; `-` is standard input.
fn open_one(path: &Path, options: &Options) -> (String, Result<AnySource, OpenError>) {
    let is_stdin = path.as_os_str() == "-";
    let file = if is_stdin {
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        File::open(path)
    };
    (cli::log::name(path), file.map_err(OpenError::Io).and_then(|file| source(file, options)))
}

/// The registry in an `eventdef.h`, if these bytes begin as one may: they are no log, which has
/// NULs from its beginning on.
pub(crate) fn registry_of(source: &dyn Source) -> Option<Result<Registry, String>> {
    let mut text = vec![0; HEADER_SIZE_MAX as usize + 1];
    let mut size = 0;
    while let Ok(read @ 1..) = source.read_at(size as u64, text.get_mut(size..)?) {
        let is_first = size == 0;
        size += read;
        if is_first && text.get(..size.min(HEAD_SIZE))?.contains(&0) {
            return None;
        }
    }
    text.truncate(size);
    (size > 0).then(|| registry_in(&text))
}

fn source(mut file: File, options: &Options) -> Result<AnySource, OpenError> {
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(OpenError::Directory);
    }
    // What the host makes up as it is read, as in /proc, has size 0.
    if !kind.is_file() || metadata.len() == 0 {
        return spool(file, SPOOL_MEMORY_MAX, options);
    }
    // Standard input may stand somewhere else than at the beginning.
    let start = file.stream_position()?;
    let file = FileSource::new(file)?;
    Ok(if start == 0 { Box::new(file) } else { Box::new(Rest { file, start }) })
}

/// What comes after a place in a file.
struct Rest {
    file: FileSource,
    start: u64,
}

impl Source for Rest {
    fn size(&self) -> u64 {
        self.file.size().saturating_sub(self.start)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(self.start.saturating_add(offset), buf)
    }
}

/// Reads all of what can be read only once, unless its beginning is no log: it may have no end.
fn spool(mut from: impl Read, memory_max: u64, options: &Options) -> Result<AnySource, OpenError> {
    let mut memory = Vec::new();
    from.by_ref().take(memory_max).read_to_end(&mut memory)?;
    if (memory.len() as u64) < memory_max {
        return Ok(Box::new(memory));
    }
    if let Some(error) = compressed(&memory, Path::new("-")) {
        return Err(error);
    }
    // Of a core, what is looked for may stand anywhere.
    if !is_elf(&memory) {
        Log::with_source(Box::new(memory.clone()), options)?;
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&memory)?;
    drop(memory);
    io::copy(&mut from, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Box::new(FileSource::new(file)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_at_most_three_of_the_logs_that_it_is_about() {
        let name = |count: usize| {
            let starts: Vec<_> = (0..count).rev().map(|at| (0, format!("a.log.{at}"))).collect();
            name_of_all(&starts)
        };
        assert_eq!(name(1), "a.log.0");
        assert_eq!(name(3), "a.log.2 + a.log.1 + a.log.0");
        assert_eq!(name(100), "a.log.99 + 98 more + a.log.0");
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_the_default() {
        let named = ["a.log".into(), "c.log".into()];
        assert_eq!(choose(&named, Some("b.log".into())).unwrap(), named);
        assert_eq!(choose(&[], Some("b.log".into())).unwrap(), [PathBuf::from("b.log")]);
        assert_eq!(choose(&[], Some("".into())).unwrap(), [PathBuf::from("mpsio.log")]);
        assert_eq!(choose(&[], None).unwrap(), [PathBuf::from("mpsio.log")]);
        let bounded = choose(&[], Some("file:b.log?size=1M&count=3".into()));
        assert_eq!(bounded.unwrap(), [PathBuf::from("b.log")], "the newest volume");
        let several = choose(&[], Some("tee:tcp://h:1,ring:b.log?size=1M,c.log".into()));
        assert_eq!(several.unwrap(), [PathBuf::from("b.log")], "the first that is a file");
        assert_eq!(choose(&[], Some("a,b".into())).unwrap(), [PathBuf::from("a,b")]);
        for nowhere in ["tcp://h:1", "unix:/run/log", "tee:tcp://h:1,unix:l"] {
            let message = choose(&[], Some(nowhere.into())).unwrap_err();
            assert!(message.contains("which is no file"), "{message}");
        }
        assert!(choose(&[], Some("b.%p.log".into())).unwrap_err().contains("cannot be guessed"));
    }

    #[test]
    fn what_is_spooled_is_the_same_in_memory_and_in_a_file() {
        let bytes = include_bytes!("../../tests/golden/mps/labels.log");
        let size = bytes.len();
        for memory_max in [1000, size - 1, size, size + 1] {
            let source = spool(bytes.as_slice(), memory_max as u64, &Options::default()).unwrap();
            let mut read = vec![0; size];
            assert_eq!(source.size(), size as u64);
            assert_eq!(source.read_at(0, &mut read).unwrap(), size);
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn what_does_not_begin_a_log_is_not_spooled() {
        let source = spool(io::repeat(0), 1000, &Options::default());
        assert!(matches!(source, Err(OpenError::NotALog)));
    }
}
