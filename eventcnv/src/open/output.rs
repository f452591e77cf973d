//! The output of the commands that write a log.
//!
//! ```text
//!  -o FILE ── no name, 256 KiB at a time ──▶ FILE        -o - ──▶ standard output
//! ```
//!
//! Design: `.cnv.recover`, `.cnv.cut` in `design/eventcnv.md`.

use cli::{Stop, output, said};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The output of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// The output to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(crate) path: PathBuf,

    /// Replace an existing output
    #[arg(long)]
    pub(crate) force: bool,
}

impl Output {
    fn is(&self, other: &Path) -> bool {
        is_file(&self.path, other)
    }

    /// Writes a log, which gets its name when it is whole. It must not be one of the inputs.
    pub(crate) fn write<T>(
        &self,
        inputs: &[PathBuf],
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<T, Stop> {
        if let Some(same) = inputs.iter().find(|path| self.is(path)) {
            let name = same.display();
            return Err(Stop::Message(format!("{name}: is an input; give another output")));
        }
        output::write(&self.path, self.force, write)
    }

    /// Prints a line about the log to standard output, unless the log goes there.
    pub(crate) fn print(&self, what: &str) -> Result<(), Stop> {
        if self.path.as_os_str() == "-" {
            return Ok(());
        }
        Ok(writeln!(io::stdout(), "{}: {what}", said(&self.path))?)
    }
}

/// Returns whether two paths name one existing file.
pub(crate) fn is_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(other).is_some_and(|other| real(one) == Some(other))
}
