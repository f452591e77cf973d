//! The plinth: the host's services for a stream: files, sockets, mapped files, several at once.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            file.rs · mapped.rs · memory.rs · socket.rs · tee.rs, for several · your own
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.
//!
//! Knows registry and all below, and no stream.

mod connect;
pub(crate) mod destination;
pub(crate) mod failure;
mod file;
pub(crate) mod host;
mod mapped;
mod memory;
mod name;
mod queue;
pub(crate) mod region;
mod socket;
mod tee;
mod volumes;

pub use file::FilePlinth;
pub use mapped::MappedPlinth;
pub(crate) use mapped::loss;
pub use memory::MemoryPlinth;
pub(crate) use name::PATH_SIZE_MAX;
pub use socket::SocketPlinth;
pub use tee::TeePlinth;
pub(crate) use volumes::{COUNT_MAX, COUNT_MIN, Volumes};

pub(crate) use crate::offered::plinth::{DestinationError, Operation, Plinth, PlinthError};

use crate::block::identity;
use crate::os::{process, sys};
use core::fmt;
use eventlog::format::{STREAM_MAGIC, StreamHeader};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns whether the header of a log names this process, before it executed its current program.
/// Another process with the same number, while this one runs, counts too.
fn is_own_before(header: &StreamHeader) -> bool {
    header.magic == STREAM_MAGIC
        && header.boot_id == identity::boot_id()
        && header.pid.get() == sys::process_ids().0
        && process::start().is_none_or(|start| start <= header.start.get())
}

/// A path as a string of C.
fn c_path(path: &Path) -> Result<CString, DestinationError> {
    let bytes = path.as_os_str().as_bytes();
    CString::new(bytes).map_err(|_| DestinationError::new(path.as_os_str(), DestinationError::NUL))
}

macro_rules! debug_by_name {
    ($($plinth:ident)*) => {$(
        impl fmt::Debug for $plinth {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($plinth), "("))?;
                self.describe(f)?;
                f.write_str(")")
            }
        }
    )*};
}
debug_by_name! { FilePlinth MappedPlinth SocketPlinth TeePlinth }

/// The text for a host that cannot be found.
pub(crate) const FIND_TEXT: &str = "the system knows no address of this host";
/// The text for a mapped file that was truncated.
pub(crate) const KEEP_TEXT: &str = "another process has truncated it";
/// The text for volumes that are too small.
pub(crate) const BOUND_TEXT: &str = "a volume must have room for at least 8 blocks";

impl core::error::Error for PlinthError {}

impl fmt::Display for PlinthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 128];
        let text = crate::os::report::Text(crate::os::sys::error_text(self.errno, &mut text));
        match self.operation {
            Operation::Create => write!(f, "cannot create: {text}"),
            Operation::Find => f.write_str(FIND_TEXT),
            Operation::Claim => f.write_str("in use by another process"),
            Operation::Write => write!(f, "cannot write: {text}"),
            Operation::Keep => f.write_str(KEEP_TEXT),
            Operation::Bound => f.write_str(BOUND_TEXT),
            Operation::Refuse => f.write_str("refused"),
        }
    }
}
