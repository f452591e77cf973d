//! What the compiler makes of an annotation: golden files, and what must hold of any compiler's.
//!
//! ```text
//!  examples/annotation.rs ─ cargo rustc --release ─▶ .s ─ one function, made plain ─▶ golden/asm/
//! ```
//!
//! `BLESS=1` rewrites the files. Each says in its first line which compiler it is of; another
//! compiler's code is only looked at for what must hold. Design: `.annot` in `design/telemetry.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The assembly of the example, in a folder of its own so that other builds are not waited for.
fn assembly() -> &'static str {
    static ASSEMBLY: OnceLock<String> = OnceLock::new();
    ASSEMBLY.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("assembly");
        let examples = folder.join("release/examples");
        let _ = std::fs::remove_dir_all(&examples);
        let output = Command::new(env!("CARGO"))
            .args(["rustc", "--release", "--quiet", "--example", "annotation", "--target-dir"])
            .arg(&folder)
            .args(["--", "--emit", "asm", "-C", "debuginfo=0", "-C", "codegen-units=1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let is_assembly = |path: &PathBuf| path.extension().is_some_and(|name| name == "s");
        let mut files = std::fs::read_dir(&examples).unwrap().map(|file| file.unwrap().path());
        std::fs::read_to_string(files.find(is_assembly).unwrap()).unwrap()
    })
}

/// The instructions of the function whose name has this in it, one a line, labels numbered as they
/// come.
fn function(part_of_name: &str) -> Vec<String> {
    let is_begin = |line: &&str| line.starts_with("_") && line.contains(part_of_name);
    let mut lines = assembly().lines().skip_while(|line| !is_begin(line)).skip(1);
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
        let line = line.split('#').next().unwrap_or_default().trim_end().replace('\t', " ");
        let line = labels.iter().rev().fold(line, |line, (label, name)| line.replace(*label, name));
        without_hashes(&line)
    };
    body.iter().copied().filter(kept).map(plain).filter(|line| !line.trim().is_empty()).collect()
}

/// Names without the hash that ends them: `17h` and sixteen digits.
fn without_hashes(line: &str) -> String {
    match line.find("17h") {
        Some(at) if line.len() >= at + 20 => format!("{}{}", &line[..at], &line[at + 19..]),
        _ => line.to_owned(),
    }
}

/// Compares with the golden file, if it is of this compiler.
fn compare(name: &str, code: &[String]) {
    let version = Command::new("rustc").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let text = format!("# {}\n{}\n", version.trim(), code.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/asm").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    if golden.lines().next() == text.lines().next() {
        assert_eq!(golden, text, "BLESS=1 rewrites {}", path.display());
    } else {
        println!("{name} is of another compiler; what must hold was looked at");
    }
}

fn count(code: &[String], part: &str) -> usize {
    code.iter().filter(|line| line.contains(part)).count()
}

/// An annotation that is switched off is one load, one test, one branch.
#[test]
fn an_annotation_that_is_off_is_load_test_and_branch() {
    let code = function("annotated");
    let begins = |index: usize, how: &str| code[index].trim_start().starts_with(how);
    assert!(begins(0, "mov") && code[0].contains("(%rip)"), "load: {code:#?}");
    assert!(begins(1, "test"), "test: {code:#?}");
    assert!(begins(2, "j"), "branch: {code:#?}");
    compare("off.s", &code);
}

/// Recording three words calls nobody, locks nothing, reads the counter once, and has a line for
/// each store.
#[test]
fn recording_three_words_is_a_counter_read_and_five_stores() {
    let code = function("record6record");
    assert_eq!(count(&code, "rdtsc"), 1, "{code:#?}");
    for absent in ["call", "lock", "xchg", "mfence", "syscall"] {
        assert_eq!(count(&code, absent), 0, "{absent}: {code:#?}");
    }
    assert!(code.len() <= 50, "{} instructions: {code:#?}", code.len());
    compare("record-three-words.s", &code);
}
