//! Output files, which get their names when they are complete.
//!
//! ```text
//!  Pending: .unfinished-Ab12Cd next to FILE ── finish ──▶ FILE     an error, a signal ──▶ nothing
//! ```
//!
//! An error, Ctrl-C, SIGTERM and SIGHUP remove the unfinished file; only SIGKILL and a power cut
//! leave it. Design: `.dumper` in `design/telemetry.md`, `.rep.output` in `design/replay.md`.

use crate::stop::{Stop, heeded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use tempfile::{Builder, NamedTempFile, TempDir};

/// The beginning of an unfinished file's name.
const PREFIX: &str = ".unfinished-";
/// Permissions of a file, before the user's mask.
const FILE_MODE: u32 = 0o666;
/// Permissions of a directory, before the user's mask.
const DIRECTORY_MODE: u32 = 0o777;
/// Bytes that are written in one step.
const WRITE_SIZE: usize = 1 << 18;
/// Attempts to remove a directory while other threads add files to it.
const REMOVAL_COUNT_MAX: usize = 100;

/// Unfinished files and directories with names. A signal removes them.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// Writes a file, which gets its name when it is complete; "-" is standard output.
///
/// # Errors
///
/// The file exists and `force` is not set; it, or standard output, cannot be written; or `write`
/// stops.
pub fn write<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Stop> {
    if path.as_os_str() == "-" {
        return Ok(buffered(io::stdout().lock(), |out| write(out))?);
    }
    let pending = Pending::new(path, force)?;
    let result = pending.write(|out| write(out))?;
    pending.finish().map(|()| result)
}

fn buffered<W: Write, T>(
    out: W,
    write: impl FnOnce(&mut BufWriter<W>) -> io::Result<T>,
) -> io::Result<T> {
    let mut out = BufWriter::with_capacity(WRITE_SIZE, out);
    let result = write(&mut out)?;
    out.flush().map(|()| result)
}

/// A file that is being written.
pub struct Pending {
    file: NamedTempFile,
    path: PathBuf,
    force: bool,
}

impl Pending {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// The file exists and `force` is not set, exists and is not a regular file, or cannot be made.
    pub fn new(path: &Path, force: bool) -> Result<Pending, Stop> {
        refuse_other(path, force)?;
        let file = begin(path, |directory| builder(FILE_MODE).tempfile_in(directory))?;
        Ok(Pending { file, path: path.to_owned(), force })
    }

    /// Returns the open file.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Writes to the file, 256 KiB at a time.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or `write` fails.
    pub fn write<T>(
        &self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
    ) -> Result<T, Stop> {
        buffered(self.as_file(), write).map_err(|error| unwritten(&self.path, &error))
    }

    /// Returns the temporary path, for a library that opens the file itself.
    pub fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Writes the file to the disk and gives it its name.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or its name was taken meanwhile.
    pub fn finish(self) -> Result<(), Stop> {
        let failed = |error| unwritten(&self.path, &error);
        self.as_file().sync_all().map_err(failed)?;
        let temporary = self.file.path().to_owned();
        let named = match self.force {
            true => self.file.persist(&self.path),
            false => self.file.persist_noclobber(&self.path),
        };
        forget(&temporary);
        named.map_err(|error| failed(error.error))?;
        sync(directory(&self.path)).map_err(failed)
    }
}

/// A directory that is being filled.
pub struct PendingDirectory {
    directory: TempDir,
    path: PathBuf,
    force: bool,
}

impl PendingDirectory {
    /// Begins a directory.
    ///
    /// # Errors
    ///
    /// The directory exists, is not empty, and `force` is not set; or it cannot be made.
    pub fn new(path: &Path, force: bool) -> Result<PendingDirectory, Stop> {
        if !is_empty_directory(path) {
            refuse(path, force)?;
        }
        let directory = begin(path, |parent| builder(DIRECTORY_MODE).tempdir_in(parent))?;
        Ok(PendingDirectory { directory, path: path.to_owned(), force })
    }

    /// Returns the temporary path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes the directory to the disk and gives it its name.
    ///
    /// # Errors
    ///
    /// The directory cannot be written or named.
    pub fn finish(self) -> Result<(), Stop> {
        let failed = |error| unwritten(&self.path, &error);
        let temporary = self.directory.path().to_owned();
        let old = self.path.symlink_metadata().is_ok();
        let aside = temporary.with_extension("old");
        sync_all(&temporary).map_err(failed)?;
        // No signal may interrupt while neither has the name.
        let mut unfinished = unfinished();
        if old && (self.force || is_empty_directory(&self.path)) {
            fs::rename(&self.path, &aside).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&temporary, &self.path) {
            if old {
                // The old directory stays.
                let _ = fs::rename(&aside, &self.path);
            }
            return Err(failed(error));
        }
        unfinished.retain(|noted| *noted != temporary);
        drop(unfinished);
        let _ = self.directory.keep();
        sync(directory(&self.path)).map_err(failed)?;
        if old {
            remove(&aside);
        }
        Ok(())
    }
}

/// Writes a directory to the disk: its contents before its own entries.
fn sync_all(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { sync_all(&entry.path())? } else { sync(&entry.path())? }
    }
    sync(path)
}

/// Writes a file, or the names in a directory, to the disk.
fn sync(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|synced| synced.push(path.to_owned()));
    match File::open(path)?.sync_all() {
        // Some file systems cannot sync directories, and do not need to.
        Err(error) if error.kind() == ErrorKind::InvalidInput && path.is_dir() => Ok(()),
        result => result,
    }
}

fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn refuse(path: &Path, force: bool) -> Result<(), Stop> {
    match path.symlink_metadata() {
        Ok(_) if !force => Err(unwritten(path, &ErrorKind::AlreadyExists.into())),
        Err(_) if directory(path).symlink_metadata().is_err_and(is_missing) => {
            let (name, folder) = (path.display(), directory(path).display());
            Err(Stop::Message(format!(
                "{name}: the folder {folder} does not exist; make it first (mkdir -p), or give \
                 another name"
            )))
        }
        _ => Ok(()),
    }
}

fn is_missing(error: io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

/// Refuses a path that cannot become a regular file. Call it before work whose result goes to the
/// file later.
///
/// # Errors
///
/// The file exists and `force` is not set, exists and is not a regular file, or its folder does
/// not exist or takes no file.
pub fn check(path: &Path, force: bool) -> Result<(), Stop> {
    refuse_other(path, force)?;
    // The text of the error names the file that is tried.
    let tried = tempfile::tempfile_in(directory(path));
    tried.map(|_| ()).map_err(|error| unwritten(path, &error.kind().into()))
}

/// Refuses an existing path as [`refuse`] does, and a device, which must not become a file.
fn refuse_other(path: &Path, force: bool) -> Result<(), Stop> {
    refuse(path, force)?;
    match path.metadata() {
        Ok(old) if !old.is_file() => Err(Stop::Message(format!(
            "{}: exists and is not a regular file; give another name",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses an output that is one of the inputs, which `--force` would replace. Call it before the
/// output begins.
///
/// # Errors
///
/// The output and an input are one existing file.
pub fn refuse_inputs(output: &Path, inputs: &[PathBuf]) -> Result<(), Stop> {
    let Ok(real) = output.canonicalize() else { return Ok(()) };
    let is_it = |input: &&PathBuf| input.canonicalize().is_ok_and(|input| input == real);
    match inputs.iter().find(is_it) {
        Some(input) => {
            let name = input.display();
            Err(Stop::Message(format!("{name}: is an input; give another output")))
        }
        None => Ok(()),
    }
}

/// Returns the message for a file that cannot be written.
pub fn unwritten(path: &Path, error: &io::Error) -> Stop {
    let name = path.display();
    Stop::Message(match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("{name}: already exists; give another name, or use --force to overwrite")
        }
        _ => format!("{name}: {error}"),
    })
}

fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).permissions(Permissions::from_mode(mode));
    builder
}

/// Makes an unfinished file or directory with a name. A signal removes it.
fn begin<T: AsRef<Path>>(
    path: &Path,
    make: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<T, Stop> {
    let failed = |error| unwritten(path, &error);
    watch().map_err(failed)?;
    let mut unfinished = unfinished();
    // The text of the error names the unfinished file.
    let made = make(directory(path)).map_err(|error| failed(error.kind().into()))?;
    unfinished.push(made.as_ref().to_owned());
    Ok(made)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Locks the list of unfinished files. While a thread holds the lock, no signal ends the program:
/// so a file and its entry appear together.
fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks forever if a signal is ending the program: missing unfinished files are then no error.
pub(crate) fn yield_to_interruption() {
    drop(unfinished());
}

fn forget(path: &Path) {
    unfinished().retain(|noted| noted != path);
}

fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Removes a path to which other threads may still add files.
fn remove_while_written(path: &Path) {
    for _ in 0..REMOVAL_COUNT_MAX {
        remove(path);
        if path.symlink_metadata().is_err() {
            break;
        }
    }
}

/// Starts the threads that remove unfinished files when a signal ends the program.
fn watch() -> io::Result<()> {
    let mut result = Ok(());
    WATCH.call_once(|| result = begin_to_watch());
    result
}

fn begin_to_watch() -> io::Result<()> {
    for signal in heeded(&[SIGINT, SIGTERM, SIGHUP]) {
        let (mut signals, end) = UnixStream::pair()?;
        pipe::register(signal, end)?;
        std::thread::spawn(move || {
            while signals.read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::Interrupted) {}
            // The lock is never released: no other file begins.
            let unfinished = unfinished();
            unfinished.iter().for_each(|path| remove_while_written(path));
            let _ = emulate_default_handler(signal);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    std::thread_local! {
        /// The paths that were synced, in order.
        pub(super) static SYNCED: std::cell::RefCell<Vec<PathBuf>> = Default::default();
    }

    /// Otherwise a power cut could leave names of files without contents.
    #[test]
    fn contents_reach_the_disk_before_the_name() {
        let parent = TempDir::new().unwrap();
        let path = parent.path().join("out");
        let pending = PendingDirectory::new(&path, false).unwrap();
        let temporary = pending.path().to_owned();
        fs::create_dir_all(temporary.join("a/b")).unwrap();
        fs::write(temporary.join("a/b/file"), "text").unwrap();
        pending.finish().unwrap();
        let within = |name: &str| temporary.join(name);
        let expected = [within("a/b/file"), within("a/b"), within("a"), temporary.clone()];
        let expected = [&expected[..], &[parent.path().to_owned()]].concat();
        assert_eq!(SYNCED.take(), expected);
        Pending::new(&parent.path().join("file"), false).unwrap().finish().unwrap();
        assert_eq!(SYNCED.take(), [parent.path()]);
    }

    fn message<T>(result: Result<T, Stop>) -> String {
        match result {
            Err(Stop::Message(message)) => message,
            _ => panic!("the path was accepted"),
        }
    }

    #[test]
    fn an_unwritable_path_is_refused_first() {
        let folder = TempDir::new().unwrap();
        for (path, reason) in
            [("none/out", "none does not"), (".", "not a regular"), ("/dev/null", "not a regular")]
        {
            // An absolute path stays unchanged.
            let why = message(Pending::new(&folder.path().join(path), true));
            assert!(why.contains(reason), "{why}");
        }
        let path = folder.path().join("out");
        let pending = Pending::new(&path, false).unwrap();
        fs::write(&path, "of another").unwrap();
        let why = message(pending.finish());
        assert!(why.contains("already exists"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "of another");
    }

    /// By another name, too.
    #[test]
    fn an_output_that_is_an_input_is_refused() {
        let folder = TempDir::new().unwrap();
        let inputs = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&inputs[1], "log").unwrap();
        let other_name = folder.path().join(".").join("b");
        let why = message(refuse_inputs(&other_name, &inputs));
        assert!(why.ends_with("/b: is an input; give another output"), "{why}");
        assert!(refuse_inputs(&inputs[0], &inputs).is_ok(), "neither exists");
    }

    #[test]
    fn a_directory_gets_its_name_when_complete() {
        let parent = TempDir::new().unwrap();
        let path = parent.path().join("out");
        fs::create_dir(&path).unwrap();
        for (text, force) in [("first", false), ("second", true)] {
            let pending = PendingDirectory::new(&path, force).unwrap();
            fs::write(pending.path().join("file"), text).unwrap();
            pending.finish().unwrap();
            assert_eq!(fs::read_to_string(path.join("file")).unwrap(), text);
            assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        }
        assert!(PendingDirectory::new(&path, false).is_err());
    }
}
