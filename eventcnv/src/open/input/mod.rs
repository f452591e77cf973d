//! Opens logs as sources of bytes.
//!
//! ```text
//!  LOG │ -f LOG │ $MPS_TELEMETRY_FILENAME │ mpsio.log ──▶ name
//!  a directory ── the files of a log, which were written side by side ─▶ Source
//!  a core ── the log in its memory (core.rs) ──────────────────▶ Source
//!  a regular file ── positioned reads ─────────────────────────▶ Source
//!  "-", a pipe, a device ────────┬ to memory; beyond 4 MiB to a file without a name ──▶ Source
//!  a compressed file ── packed.rs ┘
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod core;
pub(crate) mod family;
pub(crate) mod packed;
pub(crate) mod sources;
pub(crate) mod threads;

use crate::open::input::packed::Unpacked;
use cli::complain;
use cli::log::{HEADER_SIZE_MAX, registry_in};
use eventlog::reader::core::{Core, is_elf};
use eventlog::reader::{FileSource, Format, Joined, Log, OpenError, Options, Registry, Source};
#[cfg(feature = "waits")]
use lens::waits::source::import::Form;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The environment variable that names the log, for the program and for this tool.
pub(crate) const FILENAME_VARIABLE: &str = "MPS_TELEMETRY_FILENAME";
/// The log if none is named.
const FILENAME_DEFAULT: &str = "mpsio.log";
/// Size of a source without seek up to which it stays in memory.
const SPOOL_MEMORY_MAX: u64 = 4 << 20;
/// Size of such a source, at most.
const SPOOL_SIZE_MAX: u64 = 1 << 40;
/// Bytes of such a source that are copied in one step; a step of zeros takes no room.
const SPOOL_STEP_SIZE: u64 = 1 << 16;
/// The folder for large files that outlive no command, unless the environment names one: `/tmp` may
/// be in memory.
const LARGE_FOLDER: &str = "/var/tmp";

/// Bytes that decide the format of a log.
const FORMAT_SIZE: usize = 1 << 18;
/// Bytes that identify a core, and the stream of a log.
const HEAD_SIZE: usize = 512;
/// Logs in a message that reads several as one; of more it names the first and the last.
const NAME_COUNT_MAX: usize = 3;

/// The beginning of a file that bzip2 made.
const BZIP2: &[u8] = b"BZh";

/// Bytes of any kind.
pub(crate) type AnySource = Box<dyn Source + Send + Sync>;
/// Why a compressed file was not read to its end.
type Damage = Option<String>;
/// Refuses the beginning of a source.
type Check<'c> = &'c mut dyn FnMut(&[u8]) -> Result<(), OpenError>;

/// Returns the logs to read: from the command line, the environment, or the default.
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
            "{FILENAME_VARIABLE} is {}: the process number for %p is unknown; name the log on the \
             command line",
            value.display()
        ));
    }
    // A value that is not UTF-8 is a name.
    let Some(text) = value.to_str() else { return Ok(vec![value.into()]) };
    let mut places = text.strip_prefix("tee:").unwrap_or(text).split(',');
    let file = if text.starts_with("tee:") { places.find_map(file_of) } else { file_of(text) };
    let name = file.ok_or_else(|| {
        format!("{FILENAME_VARIABLE} is {text}: not a file; name the log on the command line")
    })?;
    Ok(vec![name.into()])
}

/// Returns the file of a destination: for `file:PATH?size=64M` the newest volume; for a socket
/// none.
fn file_of(destination: &str) -> Option<&str> {
    if destination.starts_with("tcp://") || destination.starts_with("unix:") {
        return None;
    }
    let rest = ["file:", "dir:", "ring:"].iter().find_map(|sort| destination.strip_prefix(sort));
    match rest {
        Some(rest) => rest.split('?').next(),
        None => Some(destination),
    }
}

/// The result of opening logs.
pub(crate) struct Opened {
    /// The name for messages: of all logs, or of the one that cannot be opened.
    pub(crate) name: String,
    /// The offset of each log, and its name.
    pub(crate) starts: Vec<(u64, String)>,
    pub(crate) source: Result<AnySource, OpenError>,
    pub(crate) cores: Vec<core::Opened>,
    /// Compressed files that were not read to their end.
    pub(crate) damaged_count: u64,
}

/// Opens logs as one source. Reports damage of compressed files.
pub(crate) fn open(paths: &[PathBuf], options: &Options) -> Opened {
    let (mut cores, mut heads, mut formats) = (Vec::new(), Vec::new(), Vec::new());
    let mut joined = Joined::default();
    let mut starts = Vec::new();
    let (mut damaged_count, mut failed) = (0, None);
    let files = files_of(paths);
    for (path, size_before) in &files {
        let name = cli::log::name(path);
        let source = open_one(path, &mut |head| is_log(head, options));
        let source = source.and_then(|(source, damage)| {
            damaged_count += u64::from(damage.is_some());
            complain_of(&name, damage);
            rescue(source, &name, &mut cores, &mut heads)
        });
        match source {
            Ok(source) if files.len() == 1 => {
                let starts = vec![(0, name.clone())];
                return Opened { name, starts, source: Ok(source), cores, damaged_count };
            }
            Ok(source) => {
                formats.push(format_of(&source, options));
                starts.push((joined.size(), name));
                // One that is compressed has another size.
                let is_itself = size(path) >= source.size();
                joined.push_file(source, if is_itself { *size_before } else { u64::MAX });
            }
            Err(error) => {
                failed.get_or_insert((name, error));
            }
        }
    }
    if let Some((name, error)) = failed {
        return Opened { name, starts, source: Err(error), cores, damaged_count };
    }
    for core in &mut cores {
        core.has_ring = heads.iter().any(|head| core.core.is_of(head));
    }
    // A source of neither format may be a piece of either.
    let place = |format| formats.iter().position(|&found| found == Some(format));
    if let (Some(mps), Some(ours)) = (place(Format::Mps), place(Format::Stream))
        && let (Some((_, mps)), Some((_, ours))) = (starts.get(mps), starts.get(ours))
    {
        let what = format!(
            "a raw log of the MPS cannot be read together with {ours}; convert it first: eventcnv \
             cut {mps} -o NEW"
        );
        let (name, source) = (mps.clone(), Err(io::Error::other(what).into()));
        return Opened { name, starts, source, cores, damaged_count };
    }
    let name = match paths {
        [path] => cli::log::name(path),
        _ => name_of_all(&starts),
    };
    Opened { name, starts, source: Ok(Box::new(joined)), cores, damaged_count }
}

/// Returns the files of logs, and says which ones are left out. A file of a directory comes with
/// its size before any is opened (`.directory.instant`).
fn files_of(paths: &[PathBuf]) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    for path in paths {
        let found = cli::log::files(path);
        if let [first, rest @ ..] = &*found.left_out {
            let (name, first) = (cli::log::name(path), cli::log::name(first));
            let more =
                if rest.is_empty() { String::new() } else { format!(" + {} more", rest.len()) };
            complain(&format!("eventcnv: {name}: note: {first}{more}: another log, left out\n"));
        }
        let is_directory = found.files.first() != Some(path);
        files.extend(found.files.into_iter().map(|file| {
            let size = if is_directory { size(&file) } else { u64::MAX };
            (file, size)
        }));
    }
    files
}

/// Returns the size of a file; 0 of one that is gone.
fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Returns the name of several logs for messages.
fn name_of_all(starts: &[(u64, String)]) -> String {
    match starts {
        [(_, first), .., (_, last)] if starts.len() > NAME_COUNT_MAX => {
            format!("{first} + {} more + {last}", starts.len() - 2)
        }
        _ => starts.iter().map(|(_, name)| &**name).collect::<Vec<_>>().join(" + "),
    }
}

fn format_of(source: &AnySource, options: &Options) -> Option<Format> {
    let mut head = vec![0; FORMAT_SIZE];
    let size = source.read_at(0, &mut head).ok()?;
    Log::format_of(head.get(..size)?, options)
}

/// Returns whether a file begins as a core does.
pub(crate) fn is_core(path: &Path) -> bool {
    let mut head = [0; HEAD_SIZE];
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let size = is_file.then(|| File::open(path).ok()?.read(&mut head).ok()).flatten();
    head.get(..size.unwrap_or(0)).is_some_and(is_elf)
}

/// Returns whether a file, or a folder of `perf record --threads`, is what `waits import` reads.
#[cfg(feature = "waits")]
pub(crate) fn is_foreign(path: &Path) -> bool {
    let part = path.join("data");
    let path = if part.is_file() { &part } else { path };
    if !path.is_file() {
        return false;
    }
    let Ok((source, _)) = open_one(path, &mut |_| Ok(())) else { return false };
    let mut head = vec![0; Form::HEAD_SIZE];
    let size = source.read_at(0, &mut head).unwrap_or(0);
    head.truncate(size);
    match Form::of(&head) {
        // Any text has this form: here it has to name events of the scheduler.
        Some(Form::Script) => memchr::memmem::find(&head, b"sched_").is_some(),
        form => form.is_some(),
    }
}

/// Returns the log in a core, or the source itself if it is not a core.
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

/// Checks that a source which can be read only once may be a log: it may be endless.
fn is_log(head: &[u8], options: &Options) -> Result<(), OpenError> {
    // The log in a core may be anywhere.
    let is_sound = || Log::with_source(Box::new(head.to_vec()), options).map(drop);
    if is_elf(head) { Ok(()) } else { is_sound() }
}

/// Whether standard input was opened: nothing can read it again.
static IS_STDIN_TAKEN: AtomicBool = AtomicBool::new(false);

/// Opens one file, compressed or not; `-` is standard input, once. `check` refuses the beginning of
/// a large source that can be read only once. Returns also why a compressed file was not read to
/// its end.
pub(crate) fn open_one(path: &Path, check: Check<'_>) -> Result<(AnySource, Damage), OpenError> {
    let is_stdin = path.as_os_str() == "-";
    if is_stdin && IS_STDIN_TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("can be read only once; name files for the others").into());
    }
    let mut file = match is_stdin {
        true => File::from(io::stdin().as_fd().try_clone_to_owned()?),
        false => File::open(path)?,
    };
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(OpenError::Directory);
    }
    let mut head = Vec::new();
    // A file that the system makes while it is read, as in /proc, has size 0.
    let can_seek = kind.is_file() && metadata.len() > 0;
    // The position of standard input may be after the beginning.
    let start = if can_seek { file.stream_position()? } else { 0 };
    (&file).take(packed::MAGIC_SIZE as u64).read_to_end(&mut head)?;
    if packed::is_packed(&head) {
        let mut unpacked = Unpacked::new(Box::new(Cursor::new(head).chain(file)));
        let source = spool(&mut unpacked, SPOOL_MEMORY_MAX, check)?;
        return match unpacked.damage {
            Some(why) if source.size() == 0 => {
                let what = format!("is compressed, and its beginning cannot be read ({why})");
                Err(io::Error::other(what).into())
            }
            damage => Ok((source, damage)),
        };
    }
    if head.starts_with(BZIP2) {
        return Err(io::Error::other("is compressed by bzip2: decompress it first").into());
    }
    if !can_seek {
        return Ok((spool(Cursor::new(head).chain(file), SPOOL_MEMORY_MAX, check)?, None));
    }
    let file = FileSource::new(file)?;
    let source: AnySource =
        if start == 0 { Box::new(file) } else { Box::new(Rest { file, start }) };
    Ok((source, None))
}

/// Reports that a compressed file was not read to its end.
pub(crate) fn complain_of(name: &str, damage: Damage) {
    if let Some(why) = damage {
        let what = "the compressed file was not read to its end";
        complain(&format!("eventcnv: {name}: {what} ({why}): what precedes is used\n"));
    }
}

/// Returns the registry in an `eventdef.h`; `None` if a NUL is near the beginning, as in every log.
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

/// The rest of a file after a position.
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

/// Reads all of a source that can be read only once.
fn spool(mut from: impl Read, memory_max: u64, check: Check<'_>) -> Result<AnySource, OpenError> {
    let mut bytes = Vec::new();
    from.by_ref().take(memory_max).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < memory_max {
        return Ok(Box::new(bytes));
    }
    check(&bytes)?;
    let mut file = large_file()?;
    let mut size = 0;
    while !bytes.is_empty() {
        size += bytes.len() as u64;
        if size > SPOOL_SIZE_MAX {
            return Err(io::Error::other("is longer than 1 TiB, uncompressed").into());
        }
        match bytes.iter().all(|byte| *byte == 0) {
            true => drop(file.seek(SeekFrom::Start(size))?),
            false => file.write_all(&bytes)?,
        }
        bytes.clear();
        from.by_ref().take(SPOOL_STEP_SIZE).read_to_end(&mut bytes)?;
    }
    file.set_len(size)?;
    Ok(Box::new(FileSource::new(file)?))
}

/// Returns a file without a name.
fn large_file() -> io::Result<File> {
    let is_named = std::env::var_os("TMPDIR").is_some();
    match tempfile::tempfile_in(LARGE_FOLDER) {
        Ok(file) if !is_named => Ok(file),
        _ => tempfile::tempfile(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_at_most_three_logs() {
        let name = |count: usize| {
            let starts: Vec<_> = (0..count).rev().map(|at| (0, format!("a.log.{at}"))).collect();
            name_of_all(&starts)
        };
        assert_eq!(name(1), "a.log.0");
        assert_eq!(name(3), "a.log.2 + a.log.1 + a.log.0");
        assert_eq!(name(100), "a.log.99 + 98 more + a.log.0");
    }

    #[test]
    fn the_environment_names_a_file_of_any_destination() {
        let bounded = choose(&[], Some("file:b.log?size=1M&count=3".into()));
        assert_eq!(bounded.unwrap(), [PathBuf::from("b.log")], "the newest volume");
        let several = choose(&[], Some("tee:tcp://h:1,ring:b.log?size=1M,c.log".into()));
        assert_eq!(several.unwrap(), [PathBuf::from("b.log")], "the first file");
        let directory = choose(&[], Some("dir:run?files=4".into()));
        assert_eq!(directory.unwrap(), [PathBuf::from("run")]);
        assert_eq!(choose(&[], Some("a,b".into())).unwrap(), [PathBuf::from("a,b")]);
        for nowhere in ["tcp://h:1", "unix:/run/log", "tee:tcp://h:1,unix:l"] {
            let message = choose(&[], Some(nowhere.into())).unwrap_err();
            assert!(message.contains("not a file"), "{message}");
        }
        assert!(choose(&[], Some("b.%p.log".into())).unwrap_err().contains("%p is unknown"));
    }

    #[test]
    fn spooled_bytes_are_the_same_in_memory_and_in_a_file() {
        let bytes =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mps/labels.log"));
        let size = bytes.len();
        for memory_max in [1000, size - 1, size, size + 1] {
            let mut check = |head: &[u8]| is_log(head, &Options::default());
            let source = spool(bytes.as_slice(), memory_max as u64, &mut check).unwrap();
            let mut read = vec![0; size];
            assert_eq!(source.size(), size as u64);
            assert_eq!(source.read_at(0, &mut read).unwrap(), size);
            assert_eq!(read, bytes);
        }
    }
}
