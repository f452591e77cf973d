//! Compares the machine code of traced functions with golden files, and with rules for any
//! compiler.
//!
//! ```text
//!  examples/traced.rs ─ rustc, as shipped ─▶ .s ─ one function, made plain ─▶ golden/
//! ```
//!
//! `BLESS=1` rewrites the files. The first line of each names its compiler. The code of another
//! compiler is only checked against the rules. Design: `.calls.record` in `design/calls.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Leaves LLVM's passes to the build of the example alone; the compiler's own passes run on the
/// libraries, and the example inlines their result.
const LIBRARIES: &str = "--emit=mir\x1f-Cno-prepopulate-passes\x1f-Cdebuginfo=0";

/// Returns the assembly of the example.
fn assembly() -> &'static str {
    static ASSEMBLY: OnceLock<String> = OnceLock::new();
    ASSEMBLY.get_or_init(assemble)
}

fn assemble() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("shipped");
    let run = |command: &mut Command| {
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let built = run(Command::new(env!("CARGO"))
        .args(["check", "--release", "--quiet", "--locked", "--lib", "--message-format=json"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", LIBRARIES));
    let is_library = |path: &&str| path.contains("libcalls-") && path.ends_with(".rmeta");
    let library = built.split('"').find(is_library).expect("cargo built the library");
    let assembly = folder.join(TARGET).join("traced.s");
    run(Command::new("rustc")
        .args(["--edition=2024", "--target", TARGET, "--emit", "asm", "-C", "opt-level=3"])
        .args(["-C", "debuginfo=0", "-C", "codegen-units=1"])
        .arg("--extern")
        .arg(format!("calls={library}"))
        .args(folders(&folder).iter().map(|folder| format!("-Ldependency={}", folder.display())))
        .arg("examples/traced.rs")
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

/// Returns the instructions of a function of the example, one a line. Labels are numbered in order.
fn function(name: &str) -> Vec<String> {
    let part = format!("6traced{}{name}17h", name.len());
    let is_begin =
        |line: &&str| line.starts_with("_") && line.ends_with(':') && line.contains(&part);
    let mut lines = assembly().lines().skip_while(|line| !is_begin(line)).skip(1);
    let body: Vec<&str> =
        lines.by_ref().take_while(|line| !line.starts_with(".Lfunc_end")).collect();
    assert!(!body.is_empty(), "no function {name}");
    let labels = body.iter().filter(|line| line.starts_with(".LBB"));
    let labels: BTreeMap<&str, String> = labels
        .enumerate()
        .map(|(n, label)| (label.trim_end_matches(':'), format!("L{n}")))
        .collect();
    let is_kept = |line: &&&str| !line.trim().starts_with('.') || line.starts_with(".LBB");
    let plain = |line: &&str| {
        let line = line.split('#').next().unwrap_or_default().trim_end().replace('\t', " ");
        let line = labels.iter().rev().fold(line, |line, (label, name)| line.replace(*label, name));
        without_hashes(&line)
    };
    body.iter().filter(is_kept).map(plain).filter(|line| !line.trim().is_empty()).collect()
}

/// Removes the hash at the end of a name: `17h` and sixteen digits.
fn without_hashes(line: &str) -> String {
    match line.find("17h") {
        Some(at) if line.len() >= at + 20 => format!("{}{}", &line[..at], &line[at + 19..]),
        _ => line.to_owned(),
    }
}

/// Compares with the golden file, if this compiler made it.
fn compare(name: &str, code: &[String]) {
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

fn is(line: &str, instruction: &str) -> bool {
    line.trim_start().starts_with(instruction)
}

/// T6: a call that is off costs one load, one test, one branch.
#[test]
fn t6_a_call_that_is_off_costs_load_test_and_branch() {
    let code = function("known");
    let branch = code.iter().position(|line| is(line, "j")).expect("a branch");
    let before = &code[..branch];
    assert!(is(&before[branch - 1], "test"), "{code:#?}");
    assert_eq!(before.iter().filter(|line| line.contains("CONTROL")).count(), 1, "{code:#?}");
    // A push and a copy for the call behind the branch; two instructions load a mask elsewhere.
    assert!(branch <= 5 && !before.iter().any(|line| is(line, "call")), "{code:#?}");
    assert!(code.last().is_some_and(|last| is(last, "ret")), "{code:#?}");
    compare("known.s", &code);
}

/// The end of such a call costs a test and a branch.
#[test]
fn the_end_of_a_call_that_is_off_costs_test_and_branch() {
    let code = function("calling");
    let inner = code.iter().position(|line| is(line, "callq *%r")).expect("the inner call");
    assert!(is(&code[inner + 1], "test") && is(&code[inner + 2], "j"), "{code:#?}");
    let plain = function("plain");
    let calls = |code: &[String]| code.iter().filter(|line| is(line, "call")).count();
    assert_eq!(calls(&plain), 1, "{plain:#?}");
    compare("calling.s", &code);
}
