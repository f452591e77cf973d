//! tracefs: where it is, and a private instance of it.
//!
//! ```text
//!  /sys/kernel/tracing, mounted ───────────────────┐
//!  not mounted: a mount that no path leads to ─────┴─▶ instances/eventcnv-PID-START-N
//! ```
//!
//! The name of an instance has the process and its start: the next recording removes those whose
//! process is gone. A killed process leaves its instance, whose buffers the kernel empties and
//! stops at once, because the process holds `free_buffer` open.
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::error::CollectError;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of the next instance of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// Where tracefs is usually mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The beginning of the names of instances.
const PREFIX: &str = "eventcnv-";
/// Bytes of a text, at most.
const TEXT_SIZE_MAX: usize = 1 << 18;
/// Attempts to remove an instance while the kernel still uses it.
const REMOVAL_COUNT_MAX: usize = 50;
/// Between two attempts.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// tracefs.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: PathBuf,
    /// A mount that only this descriptor holds.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds tracefs, or mounts it where no path leads to it.
    pub(super) fn find() -> Result<Tracefs, CollectError> {
        let mut refused = None;
        for place in PLACES {
            match fs::metadata(Path::new(place).join("instances")) {
                Ok(_) => return Ok(Tracefs { root: place.into(), _mount: None }),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => refused = Some(error),
                Err(_) => {}
            }
        }
        match mount() {
            Ok(mount) => {
                let root = format!("/proc/self/fd/{}", mount.as_raw_fd());
                Ok(Tracefs { root: root.into(), _mount: Some(mount) })
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Err(CollectError::Rights { error: refused.unwrap_or(error) })
            }
            Err(_) => Err(CollectError::Absent),
        }
    }

    /// Removes the instances of processes that are gone. A failure is ignored: the instance may be
    /// of another user.
    pub(super) fn clean(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("instances")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|process| {
                    let (process, start) = process.split_once('-').unwrap_or((process, ""));
                    let start = start.split('-').next().unwrap_or_default();
                    begin_of(process).is_none_or(|now| now.to_string() != start)
                });
            if is_left {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// Makes an instance, without any event.
    pub(super) fn instance(&self) -> Result<Instance, CollectError> {
        let process = std::process::id();
        let start = begin_of(&process.to_string()).unwrap_or(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join("instances").join(format!("{PREFIX}{process}-{start}-{number}"));
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(CollectError::Rights { error });
            }
            Err(error) => {
                let what = "cannot make an instance of tracefs";
                return Err(CollectError::File { path, what, error });
            }
        }
        let mut instance = Instance { path, free: None };
        // Older kernels lack the option: then a killed run leaves its buffers until the next.
        let _ = instance.write("options/disable_on_free", "1");
        instance.free = OpenOptions::new().write(true).open(instance.path("free_buffer")).ok();
        Ok(instance)
    }

    /// Returns the text of a file of tracefs itself.
    pub(super) fn read(&self, name: &str) -> Result<String, CollectError> {
        read(self.root.join(name))
    }
}

/// Returns the root of tracefs, mounted on no folder.
fn mount() -> io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Reads a file of tracefs. Some files give their text to the first read alone.
fn read(path: PathBuf) -> Result<String, CollectError> {
    let mut text = vec![0; TEXT_SIZE_MAX];
    let mut read = || -> io::Result<usize> {
        let mut file = File::open(&path)?;
        let mut size = 0;
        loop {
            match file.read(text.get_mut(size..).unwrap_or_default())? {
                0 => return Ok(size),
                more => size += more,
            }
        }
    };
    match read() {
        Ok(size) => {
            text.truncate(size);
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
        Err(error) => Err(CollectError::File { path, what: "cannot be read", error }),
    }
}

/// A private instance of tracefs. It is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    /// The kernel stops the instance when this is closed.
    free: Option<File>,
}

impl Instance {
    /// Returns the path of a file of the instance.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the text of a file of the instance.
    pub(super) fn read(&self, name: &str) -> Result<String, CollectError> {
        read(self.path(name))
    }

    /// Sets a file of the instance.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), CollectError> {
        let path = self.path(name);
        let open = OpenOptions::new().write(true).open(&path);
        open.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| CollectError::File { path, what: "cannot be set", error })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.free = None;
        for _ in 0..REMOVAL_COUNT_MAX {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    std::thread::sleep(REMOVAL_PAUSE);
                }
                _ => break,
            }
        }
    }
}

/// Returns when a process began, in the kernel's units.
fn begin_of(process: &str) -> Option<u64> {
    let process: u32 = process.parse().ok()?;
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    // Field 22; the name, which may hold anything, ends at the last parenthesis.
    let rest = stat.get(stat.iter().rposition(|byte| *byte == b')')? + 1..)?;
    str::from_utf8(rest).ok()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::begin_of;

    #[test]
    fn this_process_has_a_begin_and_one_that_is_not_there_has_none() {
        assert!(begin_of(&std::process::id().to_string()).is_some_and(|begin| begin > 0));
        assert_eq!(begin_of("../1"), None);
        assert_eq!(begin_of("4294967295"), None);
    }
}
