//! What the kernel alone can take: full blocks of the floor to one file, or to a file a thread.
//!
//! ```text
//!  one file ─┬─ write(2), the kernel keeps the place      a file a thread ─ write(2)
//!            ├─ pwrite(2), a shared place
//!            └─ mapped, a shared place, a copy
//! ```
#![expect(unsafe_code, reason = "a mapped file")]

use crate::floor::{EVENT_SIZE, Write};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the threads of a row share.
pub(crate) struct Shared {
    folder: PathBuf,
    size: usize,
    file: Arc<File>,
    /// The place of the next block in the file.
    next: Arc<AtomicUsize>,
}

impl Shared {
    /// Makes a file in a folder, for `event_count` events.
    pub(crate) fn new(folder: &Path, event_count: u64) -> Shared {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).open(folder.join("shared"));
        Shared {
            folder: folder.to_owned(),
            size: event_count as usize * EVENT_SIZE,
            file: Arc::new(file.expect("the file can be created")),
            next: Arc::default(),
        }
    }

    pub(crate) fn write(&self) -> Write {
        let file = self.file.clone();
        Box::new(move |block| (&*file).write_all(block).expect("the file can be written"))
    }

    pub(crate) fn write_at(&self) -> Write {
        let (file, next) = (self.file.clone(), self.next.clone());
        Box::new(move |block| {
            let place = next.fetch_add(block.len(), Ordering::Relaxed);
            file.write_all_at(block, place as u64).expect("the file can be written");
        })
    }

    pub(crate) fn own_file(&self) -> Write {
        let name = format!("{:?}", std::thread::current().id());
        let file = File::create(self.folder.join(name)).expect("the file can be created");
        Box::new(move |block| (&file).write_all(block).expect("the file can be written"))
    }

    /// Each thread maps the whole file. Blocks are copied to places that only this thread has.
    pub(crate) fn map(&self) -> Write {
        self.file.set_len(self.size as u64).expect("the file can grow");
        let (size, next) = (self.size, self.next.clone());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = self.file.as_raw_fd();
        // SAFETY: a new mapping, of a file that keeps this size, at an address that nothing uses.
        let start = unsafe { libc::mmap(null_mut(), size, protection, libc::MAP_SHARED, fd, 0) };
        assert_ne!(start, libc::MAP_FAILED, "the file can be mapped");
        Box::new(move |block| {
            let place = next.fetch_add(block.len(), Ordering::Relaxed);
            assert!(place + block.len() <= size, "the file has room for all events");
            // SAFETY: within the mapping, which stays; `next` gives each place to one block.
            unsafe {
                let to = start.cast::<u8>().add(place);
                to.copy_from_nonoverlapping(block.as_ptr(), block.len());
            }
        })
    }
}
