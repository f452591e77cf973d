//! The library to preload: where it lies, and what else is preloaded.
//!
//! ```text
//!  --library │ next to this program │ ../lib ──▶ libinterpose.so ─┐
//!  LD_PRELOAD of this process ────────────────────────────────────┴──▶ LD_PRELOAD of the program
//! ```
//!
//! Design: `.rep.record.library` in `design/replay.md`.

use cli::Stop;
use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The library's names: that of a build, and that by which `cargo install` installs it.
const NAMES: [&str; 2] = ["libinterpose.so", "replay-interpose"];

/// Returns the libraries to preload: the one that records, and those in the environment.
pub(crate) fn preload(named: Option<&Path>) -> Result<OsString, Stop> {
    let library = find(named)?;
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(Stop::Message(format!(
            "{}: cannot be preloaded (its path has a space or a colon); copy it elsewhere, and \
             name it by --library",
            library.display()
        )));
    }
    let mut list = library.into_os_string();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    Ok(list)
}

fn find(named: Option<&Path>) -> Result<PathBuf, Stop> {
    if let Some(path) = named {
        let unread = |error| Stop::Message(format!("{}: {error}", path.display()));
        return path.canonicalize().map_err(unread);
    }
    let unknown = |error| Stop::Message(format!("the path of this program is unknown: {error}"));
    let this = env::current_exe().map_err(unknown)?;
    let folder = this.parent().unwrap_or(Path::new("/"));
    // Cargo builds into `deps`, and links from there what it was asked for.
    let folders = [folder.join("deps"), folder.to_owned(), folder.join("../lib")];
    let mut places = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places.find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        Stop::Message(format!(
            "{}: the library that records not found (neither {} nor {} here or in ../lib); in a \
             checkout run `cargo install --locked --path interpose`, or name the library by \
             --library",
            folder.display(),
            NAMES[0],
            NAMES[1]
        ))
    })
}
