//! Whether a file is a library whose malloc can be played against.
//!
//! ```text
//!  PATH ──▶ ELF? shared? of this machine? has it malloc and free? ──▶ Library │ why not
//! ```
//!
//! Design: `.rep.heap.library` in `design/replay.md`.

use object::read::elf::{ElfFile32, ElfFile64};
use object::{Architecture, Endianness, Object, ObjectKind, ObjectSymbol};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A library that is preloaded.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    /// With all directories from the root.
    pub(crate) path: PathBuf,
    /// Which file it is, by which the process that plays sees that it was loaded.
    pub(crate) inode: u64,
}

/// What it must have, that a heap's `free` gets what its `malloc` handed out.
const NEEDED: [&str; 2] = ["malloc", "free"];

impl Library {
    /// Looks at a file; what is said about it names it.
    pub(crate) fn open(path: &Path) -> Result<Library, String> {
        let name = path.display();
        let failed = |error| format!("{name}: {error}");
        let path = path.canonicalize().map_err(failed)?;
        let bytes = fs::read(&path).map_err(failed)?;
        judge(&bytes).map_err(|why| format!("{name}: {why}"))?;
        let inode = fs::metadata(&path).map_err(failed)?.ino();
        if path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
            return Err(format!(
                "{name}: a library whose path has a blank or a colon cannot be preloaded: copy it"
            ));
        }
        Ok(Library { path, inode })
    }
}

fn judge(bytes: &[u8]) -> Result<(), String> {
    let not_one = |error| format!("is no shared library: {error}");
    match cfg!(target_pointer_width = "64") {
        true => judge_file(&ElfFile64::<Endianness>::parse(bytes).map_err(not_one)?),
        false => judge_file(&ElfFile32::<Endianness>::parse(bytes).map_err(not_one)?),
    }
}

fn judge_file<'a>(file: &impl Object<'a>) -> Result<(), String> {
    if file.kind() != ObjectKind::Dynamic {
        return Err("is no shared library, but another kind of ELF file".to_owned());
    }
    if !is_ours(file.architecture()) {
        return Err(format!("is for another machine: {:?}", file.architecture()));
    }
    let has = |name: &str| {
        file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(name))
    };
    match NEEDED.iter().find(|name| !has(name)) {
        Some(name) => Err(format!("is a shared library that has no {name}: it is no allocator")),
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
        // The dynamic linker will tell.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// `.rep.heap.library`
    #[test]
    fn what_is_no_allocator_is_refused_with_the_reason() {
        let mut text = tempfile::NamedTempFile::new().expect("a file");
        text.write_all(b"#!/bin/sh\n").expect("written");
        let why = Library::open(text.path()).expect_err("it is text");
        assert!(why.contains("is no shared library"), "{why}");
        let why = Library::open(Path::new("/nowhere/libx.so")).expect_err("it is not there");
        assert!(why.starts_with("/nowhere/libx.so: No such file"), "{why}");
        let this = std::env::current_exe().expect("this is a file");
        let why = Library::open(&this).expect_err("it is a program");
        assert!(why.contains("is no shared library") || why.contains("has no malloc"), "{why}");
    }
}
