//! The plinth: the host's services for a stream: files, sockets, mapped files, several at once.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            file.rs · mapped.rs · memory.rs · socket.rs · your own
//!            directory.rs, for several files · tee.rs, for several of any
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.
//!
//! Knows registry and all below, and no stream.

mod connect;
pub(crate) mod destination;
mod directory;
mod file;
pub(crate) mod host;
mod mapped;
mod memory;
mod name;
mod queue;
pub(crate) mod region;
mod seen;
mod socket;
mod tee;
mod volumes;

pub use directory::DirectoryPlinth;
pub(crate) use directory::FILE_COUNT_MIN;
pub use file::FilePlinth;
pub use mapped::MappedPlinth;
pub(crate) use mapped::{keep, loss};
pub use memory::MemoryPlinth;
pub(crate) use name::PATH_SIZE_MAX;
pub use socket::SocketPlinth;
pub use tee::TeePlinth;
pub(crate) use volumes::{COUNT_MAX, COUNT_MIN, Volumes};

pub(crate) use crate::offered::plinth::{DestinationError, Operation, Plinth, PlinthError};

use crate::block::identity;
use crate::block::memory::block_size;
use crate::os::report::{self, Text};
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

/// Returns whether the header of a log is that of this process's stream.
fn is_own_now(header: &StreamHeader) -> bool {
    header.magic == STREAM_MAGIC && header.uuid == identity::uuid()
}

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
debug_by_name! { DirectoryPlinth FilePlinth MappedPlinth SocketPlinth TeePlinth }

impl core::error::Error for PlinthError {}

impl fmt::Display for PlinthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.operation {
            Operation::Create => "cannot create: ",
            Operation::Write | Operation::Renew => "cannot write: ",
            _ => "",
        })?;
        Cause(self).fmt(f)
    }
}

/// The cause of a failure, without what the plinth was doing.
struct Cause<'a>(&'a PlinthError);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.operation {
            Operation::Create | Operation::Write => {
                let mut text = [0; 128];
                return Text(sys::error_text(self.0.errno, &mut text)).fmt(f);
            }
            Operation::Find => "the system knows no address of this host",
            Operation::Claim => "in use by another process, or by a library of this one",
            Operation::Keep => "another process has truncated it",
            Operation::Bound => "a volume must have room for at least 8 blocks in each file",
            Operation::Refuse => "refused",
            Operation::Renew => "another process has removed or truncated it",
        })
    }
}

/// Reports a failure of the host, once for the process (`.sol.quiet`).
pub(crate) fn report(error: &PlinthError, plinth: Option<&dyn Plinth>) {
    let (name, cause) = (Name(plinth), Cause(error));
    match error.operation {
        Operation::Create | Operation::Find => report::say(format_args!(
            "cannot create {name}: {cause}; nothing is output, the program goes on"
        )),
        Operation::Claim => report::say(format_args!(
            "{name} is {cause}; nothing is output, the program goes on (%p in \
             MPS_TELEMETRY_FILENAME gives each process a log of its own)"
        )),
        Operation::Keep => report::say(format_args!(
            "{name}: {cause}; what is recorded from now on is counted as lost, the program goes on"
        )),
        Operation::Bound => report::say(format_args!(
            "cannot create {name}: {cause}, which have {} bytes each; nothing is output, the \
             program goes on",
            block_size()
        )),
        Operation::Refuse | Operation::Renew => {}
        Operation::Write => report::say(format_args!(
            "cannot write to {name}: {cause}; lost events are counted, the program goes on"
        )),
    }
}

/// Reports that a program with a log of its own output no kind (`.sol.quiet`).
pub(crate) fn report_no_output(plinth: Option<&dyn Plinth>, event_count: u64) {
    let name = Name(plinth);
    report::say(format_args!(
        "{name}: nothing was output of {event_count} events, since no kind is output; choose kinds \
         with Setup::output, or set MPS_TELEMETRY_CONTROL=all (=0 omits this line)"
    ));
}

struct Name<'a>(Option<&'a dyn Plinth>);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(plinth) => plinth.describe(f),
            None => f.write_str("the log"),
        }
    }
}
