//! What `#[traced]` and `#[profiled]` refuse, and what the compiler says of errors in traced code.
//!
//! ```text
//!  refused/const_fn.rs      the error; after //~, what the compiler must say; after //~!, what it
//!                           must not say; after //@, an option of the compiler
//! ```
//!
//! Design: `.calls.traced` in `design/calls.md`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the newest library of this name that the test is linked with.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let is_library = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    };
    let files = test.parent().unwrap().read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .filter(is_library)
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap()
}

/// Returns what the compiler says of a file, if the file does not compile.
fn complaint(file: &Path, options: &[&str], library: &Path) -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--crate-type=bin", "--emit=metadata", "-o", "-"])
        .args(options)
        .arg(format!("-Ldependency={}", library.parent().unwrap().display()))
        .arg("--extern")
        .arg(format!("calls={}", library.display()))
        .arg(file)
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_refusal_is_a_sentence_that_tells_what_to_do() {
    let library = library("calls");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused");
    let mut count = 0;
    for file in folder.read_dir().unwrap().map(|file| file.unwrap().path()) {
        count += 1;
        let source = std::fs::read_to_string(&file).unwrap();
        let marked = |mark| -> Vec<&str> {
            source.lines().filter_map(|line| line.strip_prefix(mark)).collect()
        };
        let mut options = marked("//@ ");
        if options.is_empty() {
            options.push("--edition=2024");
        }
        let complaint = complaint(&file, &options, &library);
        let complaint = complaint.unwrap_or_else(|| panic!("{} compiles", file.display()));
        let expected = marked("//~ ");
        for message in marked("//~! ") {
            assert!(!complaint.contains(message), "{}: {complaint}", file.display());
        }
        assert!(!expected.is_empty(), "{} does not say what is expected", file.display());
        for message in expected {
            assert!(complaint.contains(message), "{}: {complaint}", file.display());
        }
    }
    assert_eq!(count, 19);
}
