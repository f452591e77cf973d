//! The files of a stream in volumes: their names, and how they move on.
//!
//! ```text
//!  no name ─▶ PATH ─▶ PATH.1 ─▶ PATH.2 ─▶ … PATH.(count-1) ─▶ gone
//!  begins     newest                        oldest
//! ```
//!
//! A volume becomes PATH once its header is in it. Until then it has no name, and the one before
//! has that one, so that at every instant PATH is a log, and claimed. What goes first is the
//! oldest, so that there is room on a full disk. Design: `.sol.volume`, `.sol.own` in
//! `design/telemetry.md`.

use super::DestinationError;
use super::name::LogName;
use crate::block::memory;
use crate::os::sync::Locked;
use crate::os::sys::{self, Errno, Held, Unnamed};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::path::Path;

/// The least number of blocks of a file: header and registries, strings, the end, and events.
const BLOCK_COUNT_MIN: u64 = 8;
/// The least number of files of a stream: with one, each beginning would lose the whole log.
pub(crate) const COUNT_MIN: u32 = 2;
pub(crate) const COUNT_MAX: u32 = 1000;
/// A volume takes at most the room on the disk divided by this.
const ROOM_FRACTION: u64 = 4;
/// The longest name of a file, with its suffix and a NUL, in bytes.
const NAME_SIZE_MAX: usize = super::PATH_SIZE_MAX + 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Volumes {
    /// The greatest size of each, in bytes.
    pub(crate) size: u64,
    /// The greatest number of files.
    pub(crate) count: u32,
}

/// Checks the number of files of a stream in volumes.
pub(super) fn bounded(path: &Path, size: u64, count: u32) -> Result<Volumes, DestinationError> {
    let is_right = (COUNT_MIN..=COUNT_MAX).contains(&count);
    let problem = "the number of files is not from 2 to 1000";
    let wrong = || DestinationError::new(path.as_os_str(), problem);
    is_right.then_some(Volumes { size, count }).ok_or_else(wrong)
}

/// What a full disk leaves a stream in volumes.
pub(super) struct Room {
    /// The size of a volume, once the disk was full with only the newest: so small that several
    /// have room, and the oldest can be deleted.
    size_max: AtomicU64,
}

impl Room {
    pub(super) const fn new() -> Room {
        Room { size_max: AtomicU64::new(u64::MAX) }
    }

    /// Returns the size of a volume in `file_count` files, once the disk was full with `size`.
    pub(super) fn size_of(size: u64, file_count: u32) -> u64 {
        // Each file has a header block; the rest they share.
        let block_count = u64::from(file_count) + BLOCK_COUNT_MIN - 1;
        let least = block_count * memory::block_size() as u64;
        (size / ROOM_FRACTION).max(least)
    }

    pub(super) fn size_max(&self) -> u64 {
        self.size_max.load(Ordering::Relaxed)
    }

    /// Calls a write that needs room on the disk, at this offset of a volume. While the disk is
    /// full, the oldest volume is deleted, and the next one; for the beginning of a volume finally
    /// the one `before` it.
    pub(super) fn with<T>(
        &self,
        volumes: Option<Volumes>,
        name: &LogName,
        before: &Held,
        offset: u64,
        mut write: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        loop {
            let seen = room_count();
            let result = write();
            let is_full = matches!(result, Err(libc::ENOSPC | libc::EDQUOT));
            let Some(volumes) = volumes.filter(|_| is_full) else { return result };
            let make_room = |path: &CStr| volumes.make_room(path, seen) || give_up(path, before);
            if name.with_path(make_room) != Some(true) {
                self.size_max.fetch_min(Room::size_of(offset, 1), Ordering::Relaxed);
                return result;
            }
        }
    }
}

/// Removes the name of a file while the next one begins, and empties the file, unless it has
/// another name, under which another program may need it (`.sol.own`).
pub(super) fn give_up(path: &CStr, before: &Held) -> bool {
    let (Ok(named), Some(before)) = (sys::identify_name(path), before.get()) else { return false };
    let is_named = before.look().is_ok_and(|file| file.is(&named));
    if !is_named || sys::unlink_file(path).is_err() {
        return false;
    }
    let is_nameless = before.look().is_ok_and(|file| file.link_count == 0);
    !is_nameless || sys::empty_file(before.seen()).is_ok()
}

/// The number of times that any thread made room on a full disk.
static ROOM_COUNT: AtomicU32 = AtomicU32::new(0);

/// Returns this number; call it before a write that may find the disk full.
fn room_count() -> u32 {
    ROOM_COUNT.load(Ordering::Acquire)
}

/// A buffer for two names, since a stack may be small.
static NAMES: Locked<[[u8; NAME_SIZE_MAX]; 2]> = Locked::new([[0; NAME_SIZE_MAX]; 2]);

/// Returns the name of the file that is `number` volumes old.
fn name<'a>(path: &CStr, number: u32, out: &'a mut [u8]) -> Result<&'a CStr, Errno> {
    sys::suffixed(path.to_bytes(), &format_args!(".{number}"), out)
}

impl Volumes {
    /// Returns the same for each of the files that make up a volume: they move on together, and
    /// each has as much room as it needs.
    pub(super) fn of_each(self) -> Volumes {
        Volumes { size: u64::MAX, ..self }
    }

    /// Returns whether volumes in this number of files are too small.
    pub(super) fn is_short(self, block_size: usize, file_count: u64) -> bool {
        self.size / (block_size as u64) < BLOCK_COUNT_MIN * file_count
    }

    /// Makes the file of the next volume, claimed, without a name. At the greatest number of files,
    /// deletes the oldest.
    pub(crate) fn open_next(self, path: &CStr) -> Result<Unnamed, Errno> {
        let mut names = NAMES.lock_waiting().ok_or(libc::EAGAIN)?;
        let name_of = &mut names[0];
        if self.first_free(path, name_of).is_none() && !is_moved(path, name_of)? {
            sys::unlink_file(name(path, self.count - 1, name_of)?)?;
        }
        let next = Unnamed::create(path)?;
        // Nobody else has it open.
        next.file.number().map(sys::claim_file)?;
        Ok(next)
    }

    /// Moves the older files on by one, up to the first free name, and gives the new file its name.
    /// Each step stays done: after an error it can be called again.
    pub(crate) fn publish(self, path: &CStr, next: Unnamed) -> Result<(), Errno> {
        let mut names = NAMES.lock_waiting().ok_or(libc::EAGAIN)?;
        let [first, second] = &mut *names;
        if !is_moved(path, first)? {
            let free = self.first_free(path, first).unwrap_or(self.count - 1);
            for number in (1..free).rev() {
                let from = name(path, number, first)?;
                sys::rename_file(from, name(path, number + 1, second)?)?;
            }
            let to = name(path, 1, first)?;
            match sys::link_file(path, to) {
                Ok(()) | Err(libc::ENOENT) => {}
                // A host without a second name for a file: PATH is missing for an instant.
                Err(_) => sys::rename_file(path, to)?,
            }
        }
        next.replace(path)
    }

    /// Deletes the oldest file, unless a thread has made room since the count was `seen`. Returns
    /// false if only the newest is left.
    pub(crate) fn make_room(self, path: &CStr, seen: u32) -> bool {
        let Some(mut names) = NAMES.lock_waiting() else { return false };
        if room_count() != seen {
            return true;
        }
        let is_gone = (1..self.count).rev().any(|number| remove(path, number, &mut names[0]));
        ROOM_COUNT.fetch_add(u32::from(is_gone), Ordering::Release);
        is_gone
    }

    /// Deletes the file that is `number` volumes old; returns whether it existed.
    pub(super) fn remove(self, path: &CStr, number: u32) -> bool {
        NAMES.lock_waiting().is_some_and(|mut names| remove(path, number, &mut names[0]))
    }

    /// Returns the number of the first older file that does not exist.
    fn first_free(self, path: &CStr, out: &mut [u8]) -> Option<u32> {
        (1..self.count).find(|number| {
            let found = name(path, *number, out).and_then(sys::identify_name);
            matches!(found, Err(libc::ENOENT))
        })
    }
}

fn remove(path: &CStr, number: u32, out: &mut [u8]) -> bool {
    let Ok(older) = name(path, number, out) else { return false };
    // The newest may have both names.
    let named = (sys::identify_name(path), sys::identify_name(older));
    !matches!(named, (Ok(a), Ok(b)) if a.is(&b)) && sys::unlink_file(older).is_ok()
}

/// Returns whether the newest file has the name of the one before already: a process was stopped in
/// between, or the host failed.
fn is_moved(path: &CStr, out: &mut [u8]) -> Result<bool, Errno> {
    let older = sys::identify_name(name(path, 1, out)?);
    match (sys::identify_name(path), older) {
        (Ok(newest), Ok(older)) => Ok(newest.is(&older)),
        (Err(libc::ENOENT), _) => Ok(true),
        (Ok(_), Err(libc::ENOENT)) => Ok(false),
        (Err(errno), _) | (_, Err(errno)) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::path::Path;

    fn path(folder: &Path) -> CString {
        CString::new(folder.join("a.log").to_str().unwrap()).unwrap()
    }

    /// The files of a folder, and what is in them.
    fn files(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<String> = entries
            .map(|entry| {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                format!("{} {text}", entry.file_name().to_str().unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn next(volumes: Volumes, path: &CStr, text: &str) -> Result<(), Errno> {
        let next = volumes.open_next(path)?;
        let file = next.file.number()?;
        sys::write_all_at(file, text.as_bytes(), 0).map_err(|(_, errno)| errno)?;
        let published = volumes.publish(path, next);
        next.file.close();
        published
    }

    #[test]
    fn the_oldest_file_makes_room_and_the_newest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, volumes) = (path(folder.path()), Volumes { size: 1, count: 9 });
        ["0", "1", "2"].iter().for_each(|text| next(volumes, &path, text).unwrap());
        assert!(volumes.make_room(&path, room_count()));
        assert_eq!(files(folder.path()), ["a.log 2", "a.log.1 1"]);
        // Another thread has made room meanwhile.
        assert!(volumes.make_room(&path, room_count().wrapping_sub(1)));
        assert_eq!(files(folder.path()), ["a.log 2", "a.log.1 1"]);
        // The newest has both names for an instant.
        let [one, new] = ["a.log.1", "a.log"].map(|at| folder.path().join(at));
        std::fs::remove_file(&one).unwrap();
        std::fs::hard_link(&new, &one).unwrap();
        assert!(!volumes.make_room(&path, room_count()));
        assert_eq!(files(folder.path()), ["a.log 2", "a.log.1 2"]);
    }

    #[test]
    fn a_file_with_another_name_is_not_emptied_for_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        let [log, other] = ["a.log", "victim"].map(|name| folder.path().join(name));
        let before = Held::none();
        for (has_other, left) in [(true, &["victim precious"][..]), (false, &[])] {
            std::fs::write(&log, "precious").unwrap();
            if has_other {
                std::fs::hard_link(&log, &other).unwrap();
            }
            before.set(sys::open_log(&path).unwrap().ok());
            assert!(give_up(&path, &before));
            assert_eq!(before.get().unwrap().look().unwrap().size, if has_other { 8 } else { 0 });
            assert_eq!(files(folder.path()), left);
            assert!(!give_up(&path, &before), "it has the name no more");
            before.close();
            let _ = std::fs::remove_file(&other);
        }
    }

    #[test]
    fn the_next_volume_completes_an_interrupted_change() {
        let folder = tempfile::tempdir().unwrap();
        let (path, volumes) = (path(folder.path()), Volumes { size: 1, count: 3 });
        ["0", "1", "2"].iter().for_each(|text| next(volumes, &path, text).unwrap());
        // The oldest is gone, the newest has both names, and the next one has none yet.
        let [old, middle, new] = ["a.log.2", "a.log.1", "a.log"].map(|at| folder.path().join(at));
        std::fs::rename(&middle, &old).unwrap();
        std::fs::hard_link(&new, &middle).unwrap();
        next(volumes, &path, "3").unwrap();
        assert_eq!(files(folder.path()), ["a.log 3", "a.log.1 2", "a.log.2 1"]);
    }
}
