//! Checks whether a file is a library with a malloc to play against.
//!
//! ```text
//!  PATH ──▶ ELF? shared? of this machine? with malloc and free? ──▶ Library │ error
//! ```
//!
//! Design: `.rep.heap.library` in `design/replay.md`.

use object::{Architecture, Object, ObjectKind, ObjectSymbol};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) path: PathBuf,
    /// The inode, by which the playing process checks that the library was loaded.
    pub(crate) inode: u64,
}

/// The required symbols: `free` must get the memory that the same library's `malloc` handed out.
const NEEDED: [&str; 2] = ["malloc", "free"];

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Library, String> {
        let name = path.display();
        let failed = |error| format!("{name}: {error}");
        let path = path.canonicalize().map_err(failed)?;
        let bytes = fs::read(&path).map_err(failed)?;
        judge(&bytes).map_err(|why| format!("{name}: {why}"))?;
        let inode = fs::metadata(&path).map_err(failed)?.ino();
        if path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
            return Err(format!(
                "{name}: cannot be preloaded (its path has a blank or a colon); copy it elsewhere"
            ));
        }
        Ok(Library { path, inode })
    }
}

fn judge(bytes: &[u8]) -> Result<(), String> {
    let file = object::File::parse(bytes);
    let file = file.map_err(|error| format!("not a shared library: {error}"))?;
    if file.kind() != ObjectKind::Dynamic {
        return Err("not a shared library, but another kind of file".to_owned());
    }
    if !is_ours(file.architecture()) {
        return Err(format!("is for another machine: {:?}", file.architecture()));
    }
    let has = |name: &str| {
        file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(name))
    };
    match NEEDED.iter().find(|name| !has(name)) {
        Some(name) => Err(format!("the library has no {name}; name an allocator")),
        None => Ok(()),
    }
}

fn is_ours(architecture: Architecture) -> bool {
    match std::env::consts::ARCH {
        "x86_64" => architecture == Architecture::X86_64,
        "x86" => architecture == Architecture::I386,
        "aarch64" => architecture == Architecture::Aarch64,
        "arm" => architecture == Architecture::Arm,
        "riscv64" => architecture == Architecture::Riscv64,
        // The dynamic linker decides.
        _ => true,
    }
}
