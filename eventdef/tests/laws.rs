//! The laws of a registry: each file in `laws/` breaks one.
//!
//! ```text
//!  laws/code_used_twice.rs      the breach; after //~, what the compiler must say
//!  laws/code_used_twice.stderr  all that the compiler of RUSTC says
//! ```
//!
//! Compilers differ in the words around a message. So the test compares the second file only under
//! the compiler that wrote it. `TRYBUILD=overwrite cargo test -p mps-eventdef` rewrites the file.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that wrote `laws/*.stderr`.
const RUSTC: &str = "rustc 1.95.";

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
}

/// Returns the library of this test: the newest in its folder.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libeventdef-") && name.ends_with(".rlib")
    };
    let files = test.parent().unwrap().read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .filter(is_library)
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap()
}

/// Returns the messages of the compiler, if the file does not compile.
fn complaint(file: &Path, library: &Path) -> Option<String> {
    let output = rustc()
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "-o", "-"])
        .arg("-L")
        .arg(library.parent().unwrap())
        .arg("--extern")
        .arg(format!("eventdef={}", library.display()))
        .arg(file)
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_broken_law_is_a_compile_error_that_names_the_row() {
    let library = library();
    let laws = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laws");
    let mut count = 0;
    for file in laws.read_dir().unwrap().map(|file| file.unwrap().path()) {
        if file.extension() != Some("rs".as_ref()) {
            continue;
        }
        count += 1;
        let complaint = complaint(&file, &library);
        let complaint = complaint.unwrap_or_else(|| panic!("{} compiles", file.display()));
        let source = std::fs::read_to_string(&file).unwrap();
        let expected: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix("//~ ")).collect();
        assert!(!expected.is_empty(), "{} states no expected message", file.display());
        for message in expected {
            assert!(complaint.contains(message), "{}: {complaint}", file.display());
        }
    }
    assert!(count >= 48, "{count} laws");
}

#[test]
fn compiler_messages_for_broken_laws_equal_the_golden_files() {
    let version = String::from_utf8(rustc().arg("-V").output().unwrap().stdout).unwrap();
    if version.starts_with(RUSTC) {
        trybuild::TestCases::new().compile_fail("tests/laws/*.rs");
    } else {
        eprintln!("{}: compared by message alone, see the other test", version.trim());
    }
}
