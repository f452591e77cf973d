//! A log to operations that are saved, modified if that is asked for.
//!
//! ```text
//!  LOG ─▶ operations ─ modify ─▶ FILE.ops: no addresses, no names, no contents
//! ```
//!
//! Design: `.rep.file`, `.rep.modify` in `design/replay.md`.

use crate::script::{Modify, write};
use crate::source::input::{Input, Opened};
use crate::stop::Stop;
use std::fs::Permissions;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Reads what a program asked of its memory manager, and saves it as a file of operations: sizes, \
alignments, pools, threads, and when. There are no addresses, names or contents in it, so that it \
gives nothing away; `play`, `show` and `compare` read it as they read a log, and faster.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay compile program.log -o program.ops
  replay compile program.ops --scale-size 1.5 --round-size 16 -o larger.ops
  replay compile program.log --keep-size 4K.. -o large.ops     only large objects
  replay compile program.log --copies 4 -o server.ops          four of it at once
  replay compile - -o program.ops < program.log

Exit status:
  0  saved
  1  saved, as far as the log could be read; faults are told on standard error
  2  the log could not be read, or the file not be written";

/// What is compiled, and to where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    /// Where the operations are saved
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite the file if it is there
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    modify: Modify,
}

/// Saves operations. Whether the log was read whole.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let path = &args.output;
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Stop::Message(format!(
            "{}: is there already, and is not overwritten: give another name, or --force",
            path.display()
        )),
        _ => Stop::Message(format!("{}: {error}", path.display())),
    };
    if !args.force && path.symlink_metadata().is_ok() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    let opened = Opened::open(&args.input)?;
    let mut operations = opened.operations(&args.modify.list)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".replay-").permissions(Permissions::from_mode(0o666));
    let pending = builder.tempfile_in(directory.unwrap_or(Path::new("."))).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 18, pending);
    let counts = write(operations.by_ref(), &mut out).map_err(failed)?;
    let pending = out.into_inner().map_err(|error| failed(error.into_error()))?;
    let size = pending.as_file().metadata().map_err(failed)?.len();
    let named = match args.force {
        true => pending.persist(path),
        false => pending.persist_noclobber(path),
    };
    named.map_err(|error| failed(error.error))?;
    let is_whole = operations.end(false);
    let each = size as f64 / counts.operations.max(1) as f64;
    writeln!(
        io::stdout().lock(),
        "{}: {} operations on {} objects, {} threads: {size} bytes, {each:.1} an operation",
        path.display(),
        counts.operations,
        counts.objects,
        counts.threads
    )?;
    Ok(is_whole)
}
