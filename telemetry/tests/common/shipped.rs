//! The machine code of an example, compiled with a library as that is shipped.
//!
//! ```text
//!  examples/NAME.rs ─ rustc, as shipped ─▶ .s ─ one function, made plain ─▶ golden file
//! ```
//!
//! Tests of several crates include this file.
#![allow(missing_docs, unreachable_pub, reason = "a module of a test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The processor that this test runs on.
pub const HERE: &str = "x86_64-unknown-linux-gnu";

/// Leaves LLVM's passes, which take most of the time, to the build of the example alone. The
/// compiler's own passes still run on the library, and the example inlines their result. (Without
/// `--emit=mir`, `cargo check` would leave the functions out.)
const LIBRARIES: &str = "--emit=mir\x1f-Cno-prepopulate-passes\x1f-Cdebuginfo=0";

/// Builds the library of this package with cargo and an example with rustc: cargo would also build
/// the dependencies of all tests, for each processor. Other tests of the shipped form build in the
/// same folder. Returns the assembly of the example.
pub fn assemble(example: &str, library: &str, target: &str, features: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("shipped");
    let run = |command: &mut Command| {
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let built = run(Command::new(env!("CARGO"))
        .args(["check", "--release", "--quiet", "--locked", "--lib", "--features", features])
        .args(["--message-format=json", "--target", target, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", LIBRARIES));
    let name = format!("lib{library}-");
    let is_library = |path: &&str| path.contains(&name) && path.ends_with(".rmeta");
    let file = built.split('"').find(is_library).expect("cargo built the library");
    let assembly = folder.join(target).join(example).with_extension("s");
    // Nothing is linked: a linker for the other processor may be missing.
    run(Command::new("rustc")
        .args(["--edition=2024", "--target", target, "--emit", "asm", "-C", "opt-level=3"])
        .args(["-C", "debuginfo=0", "-C", "codegen-units=1"])
        .arg("--extern")
        .arg(format!("{library}={file}"))
        .args(folders(&folder).iter().map(|folder| format!("-Ldependency={}", folder.display())))
        .arg(Path::new("examples").join(example).with_extension("rs"))
        .arg("-o")
        .arg(&assembly));
    std::fs::read_to_string(assembly).unwrap()
}

/// Returns all folders below a folder: each version of cargo puts libraries elsewhere.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let own: Vec<PathBuf> = files.filter(|file| file.is_dir()).collect();
    own.iter().flat_map(|own| folders(own)).chain(own.iter().cloned()).collect()
}

/// Returns the instructions of the function whose name contains `part_of_name`, one a line. Labels
/// are numbered in order.
pub fn function(assembly: &str, part_of_name: &str) -> Vec<String> {
    let is_begin =
        |line: &&str| line.starts_with("_") && line.ends_with(':') && line.contains(part_of_name);
    let mut lines = assembly.lines().skip_while(|line| !is_begin(line)).skip(1);
    let body: Vec<&str> =
        lines.by_ref().take_while(|line| !line.starts_with(".Lfunc_end")).collect();
    assert!(!body.is_empty(), "no function {part_of_name}");
    let mut labels = BTreeMap::new();
    for label in body.iter().filter(|line| line.starts_with(".LBB")) {
        let next = format!("L{}", labels.len());
        labels.insert(label.trim_end_matches(':'), next);
    }
    let kept = |line: &&str| {
        let line = line.trim();
        !line.starts_with('.') || line.starts_with(".LBB")
    };
    let plain = |line: &str| {
        // A comment begins with a character that means a number on the other processor.
        let comment = if assembly.contains("%rip") { "#" } else { "//" };
        let line = line.split(comment).next().unwrap_or_default().trim_end().replace('\t', " ");
        let line = labels.iter().rev().fold(line, |line, (label, name)| line.replace(*label, name));
        without_hashes(&line)
    };
    body.iter().copied().filter(kept).map(plain).filter(|line| !line.trim().is_empty()).collect()
}

/// Removes the hash at the end of a name: `17h` and sixteen digits.
fn without_hashes(line: &str) -> String {
    match line.find("17h") {
        Some(at) if line.len() >= at + 20 => format!("{}{}", &line[..at], &line[at + 19..]),
        _ => line.to_owned(),
    }
}

/// Compares with the golden file, if this compiler made it.
pub fn compare(name: &str, code: &[String]) {
    let version = Command::new("rustc").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let text = format!("# {}\n{}\n", version.trim(), code.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    if golden.lines().next() == text.lines().next() {
        assert_eq!(golden, text, "BLESS=1 rewrites {}", path.display());
    } else {
        println!("{name} is of another compiler; only the rules were checked");
    }
}
