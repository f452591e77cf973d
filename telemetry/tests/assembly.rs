//! Compares the machine code of an annotation with golden files, and with rules for any compiler.
//!
//! ```text
//!  examples/annotation.rs ─ rustc, as shipped ─▶ .s ─ one function, made plain ─▶ golden/asm/
//! ```
//!
//! `BLESS=1` rewrites the files. The first line of each names its compiler. The code of another
//! compiler is only checked against the rules. Design: `.annot` in `design/telemetry.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The functions of the example, in the order of its table.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    Annotated,
    Glanced,
    Nothing,
}
use Function::{Annotated, Glanced, Nothing};

/// The processor that this test runs on; `ARM` is another one.
const HERE: &str = "x86_64-unknown-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";

/// Returns the assembly of the example in a variety.
fn assembly(target: &'static str, variety: &'static str) -> &'static str {
    static ASSEMBLIES: Mutex<BTreeMap<(&str, &str), &str>> = Mutex::new(BTreeMap::new());
    let mut assemblies = ASSEMBLIES.lock().unwrap_or_else(PoisonError::into_inner);
    assemblies.entry((target, variety)).or_insert_with(|| assemble(target, variety).leak())
}

/// Leaves LLVM's passes, which take most of the time, to the build of the example alone. The
/// compiler's own passes still run on the runtime, and the example inlines their result. (Without
/// `--emit=mir`, `cargo check` would leave the functions out.)
const RUNTIME: &str = "--emit=mir\x1f-Cno-prepopulate-passes\x1f-Cdebuginfo=0";

/// Builds the runtime with cargo and the example with rustc: cargo would also build the
/// dependencies of all tests, for each processor. Other tests of the shipped form build in the same
/// folder.
fn assemble(target: &str, variety: &str) -> String {
    check_target(target);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("shipped");
    let run = |command: &mut Command| {
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let built = run(Command::new(env!("CARGO"))
        .args(["check", "--release", "--quiet", "--locked", "--lib", "--features", variety])
        .args(["--message-format=json", "--target", target, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", RUNTIME));
    let is_runtime = |path: &&str| path.contains("libtelemetry-") && path.ends_with(".rmeta");
    let runtime = built.split('"').find(is_runtime).expect("cargo built the runtime");
    let assembly = folder.join(target).join("annotation.s");
    // Nothing is linked: a linker for the other processor may be missing.
    run(Command::new("rustc")
        .args(["--edition=2024", "--target", target, "--emit", "asm", "-C", "opt-level=3"])
        .args(["-C", "debuginfo=0", "-C", "codegen-units=1"])
        .arg("--extern")
        .arg(format!("telemetry={runtime}"))
        .args(folders(&folder).iter().map(|folder| format!("-Ldependency={}", folder.display())))
        .arg("examples/annotation.rs")
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

/// Returns the name of a function of the example from the table. The compiler merges equal
/// functions, so several places may hold one name.
fn name_of(assembly: &str, function: Function) -> &str {
    let table = assembly.lines().skip_while(|line| !(line.contains("KEPT") && line.ends_with(':')));
    let mut names = table.skip(1).filter_map(|line| {
        let line = line.trim();
        line.strip_prefix(".quad").or_else(|| line.strip_prefix(".xword")).map(str::trim)
    });
    names.nth(function as usize).expect("the example has a table of its functions")
}

/// Returns the instructions of a function of the example.
fn code_of(assembly: &'static str, function: Function) -> Vec<String> {
    self::function(assembly, name_of(assembly, function))
}

/// Returns the instructions of the function whose name contains `part_of_name`, one a line. Labels
/// are numbered in order.
fn function(assembly: &'static str, part_of_name: &str) -> Vec<String> {
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
        println!("{name} is of another compiler; only the rules were checked");
    }
}

fn count(code: &[String], part: &str) -> usize {
    code.iter().filter(|line| line.contains(part)).count()
}

/// An annotation that is switched off costs one load, one test, one branch.
#[test]
fn an_annotation_that_is_off_costs_load_test_and_branch() {
    for (variety, functions) in [("hot", &[Annotated][..]), ("cool", &[Annotated, Glanced])] {
        for function in functions {
            let code = code_of(assembly(HERE, variety), *function);
            let begins = |index: usize, how: &str| code[index].trim_start().starts_with(how);
            assert!(begins(0, "mov") && code[0].contains("(%rip)"), "load: {code:#?}");
            assert!(begins(1, "test"), "test: {code:#?}");
            assert!(begins(2, "j"), "branch: {code:#?}");
            if *function == Annotated {
                compare("off.s", &code);
            }
        }
    }
}

/// The processors that the example is compiled for.
const TARGETS: [&str; 2] = [HERE, ARM];

/// Fails if the compiler lacks the standard library of the target.
fn check_target(target: &str) {
    let mut command = Command::new("rustc");
    let output = command.args(["--print", "target-libdir", "--target", target]).output().unwrap();
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let has_library = Path::new(&folder).is_dir();
    assert!(has_library, "{target}: Rust target not installed; ./test --install installs it");
}

/// `.sol.variety`: a compiled-out annotation leaves no instruction, on either processor.
#[test]
fn a_compiled_out_annotation_leaves_no_instruction() {
    for target in TARGETS {
        for (variety, functions) in [("hot", &[Glanced][..]), ("rash", &[Annotated, Glanced])] {
            let assembly = assembly(target, variety);
            let nothing = code_of(assembly, Nothing);
            assert_eq!(nothing.len(), 1, "a return: {nothing:#?}");
            for function in functions {
                assert_eq!(code_of(assembly, *function), nothing, "{target} {variety}");
            }
        }
        assert!(!assembly(target, "rash").contains("6record"), "{target}: a recorder");
    }
}

/// The load takes two instructions, because an address has two halves; test and branch are one.
#[test]
fn an_annotation_that_is_off_costs_as_little_on_arm() {
    for (variety, function) in [("hot", Annotated), ("cool", Annotated), ("cool", Glanced)] {
        let code = code_of(assembly(ARM, variety), function);
        let begins = |index: usize, how: &str| code[index].trim_start().starts_with(how);
        assert!(begins(0, "adrp") && begins(1, "ldr"), "load: {code:#?}");
        assert!(begins(2, "tbz") || begins(2, "tbnz"), "test and branch: {code:#?}");
        assert!(code.last().is_some_and(|last| last.trim() == "ret"), "{code:#?}");
    }
}

/// Recording three words makes no call, takes no lock and reads the counter once.
#[test]
fn recording_three_words_calls_no_function_and_takes_no_lock() {
    let code = function(assembly(HERE, "hot"), "fast_path6record");
    assert_eq!(count(&code, "rdtsc"), 1, "{code:#?}");
    for absent in ["call", "lock", "xchg", "mfence", "syscall"] {
        assert_eq!(count(&code, absent), 0, "{absent}: {code:#?}");
    }
    assert!(code.len() <= 50, "{} instructions: {code:#?}", code.len());
    compare("record-three-words.s", &code);
}
