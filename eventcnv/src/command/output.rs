//! A log that is made of another, as a file or on standard output.
//!
//! ```text
//!  -o FILE ── a temporary name, 256 KiB at a time ──▶ FILE        -o - ──▶ standard output
//! ```
//!
//! Design: `.cnv.recover`, `.cnv.cut` in `design/eventcnv.md`.

use cli::{Stop, output, said};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a log is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// The log to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    path: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

impl Output {
    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Whether it is this file.
    fn is(&self, other: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        real(other).is_some_and(|other| real(&self.path) == Some(other))
    }

    /// Has a log written, which has its name once it is whole. It may not be one that is read.
    pub(crate) fn write<T>(
        &self,
        read: &[PathBuf],
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<T, Stop> {
        if let Some(same) = read.iter().find(|path| self.is(path)) {
            let name = same.display();
            return Err(Stop::Message(format!("{name}: is read, and cannot be written too")));
        }
        output::write(&self.path, self.force, write)
    }

    /// Tells what was written, on standard output, unless the log is there.
    pub(crate) fn tell(&self, what: &str) -> Result<(), Stop> {
        if self.is_stdout() {
            return Ok(());
        }
        Ok(writeln!(io::stdout(), "{}: {what}", said(&self.path))?)
    }
}
