//! Why a path cannot be collected.

use std::io;
use std::path::PathBuf;

/// Why a path cannot be collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The program cannot be started.
    #[error("{}: cannot be run ({cause})", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The graph of the program cannot be found.
    #[error("{}: {cause}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The cause.
        cause: String,
    },
    /// A job cannot be made or run.
    #[error("{0}")]
    Job(String),
    /// The system refuses to trace the program.
    #[error("cannot trace the program ({0}); a container may forbid ptrace")]
    Trace(#[from] nix::Error),
    /// The memory of the program cannot be read or written.
    #[error("cannot read or write the memory of the program ({0})")]
    Memory(#[source] io::Error),
    /// No room near the program.
    #[error("no free memory within 2 GiB of the program")]
    NoRoom,
    /// The file that runs is not the file that was read.
    #[error("the program that runs is not the file that the graph is of")]
    OtherImage,
    /// The program ended before the first function of the path.
    #[error("the program ended before the path began ({0})")]
    NotBegun(String),
    /// The program cannot be prepared at its first instruction.
    #[error("the program did not stop again at its first instruction ({0})")]
    NotPrepared(String),
    /// The program began a thread.
    #[error("the program began a thread; only programs of one thread have one path")]
    Thread,
    /// The program became another one.
    #[error("the program executed another program; the path of that one needs a plan of its own")]
    Executed,
    /// A jump went where the graph has no block.
    #[error("the jump at {from:#x} went to {to:#x}, which the graph does not know")]
    UnknownTarget {
        /// The address of the jump in the file.
        from: u64,
        /// The address in the file where it went.
        to: u64,
    },
    /// The program hit a breakpoint instruction of its own.
    #[error("the program has a breakpoint of its own at {0:#x}")]
    OwnBreakpoint(u64),
    /// Valgrind cannot be run.
    #[error("valgrind: cannot be run ({0}); it is the package valgrind")]
    Valgrind(#[source] io::Error),
    /// Valgrind did not trace the program.
    #[error("valgrind: {0}")]
    Lackey(String),
}
