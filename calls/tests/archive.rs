//! A C program links a static library of Rust, by each linker that the system has.
//!
//! ```text
//!  shop.rs ─ rustc ─▶ libshop.a ─ cc, bfd · lld · mold ─▶ program ─▶ mpsio.log: its functions
//! ```
//!
//! A linker takes those parts of the library alone that something refers to. Design: `.calls.site`
//! in `design/calls.md`.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use common::{lines_of_one, open, sources};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With `-C incremental` each module is a part of the library, with its functions of one body.
const LIBRARY: &str = "
    #[calls::traced]
    #[no_mangle]
    pub extern \"C\" fn sell(count: u32) -> u32 {
        count * 3
    }

    macro_rules! one_more {
        ($count:expr) => { $count + 1 };
    }

    #[calls::traced]
    pub mod cellar {
        #[no_mangle]
        pub extern \"C\" fn keep(count: u32) -> u32 {
            one_more!(count)
        }
    }
";

const PROGRAM: &str = "
    unsigned sell(unsigned);
    int main(void) { return sell(2) != 6; }
";

const WHOLE: [&str; 3] = ["-Wl,--whole-archive", "libshop.a", "-Wl,--no-whole-archive"];

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {text}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Builds the crate `calls` in a form of its own. Returns the library.
fn calls(profile: &str, incremental: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("archive").join(incremental);
    let messages = run(Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--lib", "--message-format=json"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .env("CARGO_INCREMENTAL", incremental)
        .current_dir(env!("CARGO_MANIFEST_DIR")));
    let is_library = |path: &&str| path.ends_with("/libcalls.rlib");
    messages.split('"').find(is_library).expect("cargo built the library").into()
}

/// Returns the linkers of the system, as options of the compiler of C.
fn linkers() -> Vec<String> {
    let is_linker =
        |name: &&&str| Command::new(format!("ld.{name}")).arg("--version").output().is_ok();
    let linkers: Vec<String> = ["bfd", "lld", "mold"]
        .iter()
        .filter(is_linker)
        .map(|name| format!("-fuse-ld={name}"))
        .collect();
    println!("{linkers:?}");
    assert!(!linkers.is_empty(), "no linker");
    linkers
}

/// Compiles the library, in parts as small as those of `calls`.
fn compile(folder: &Path, calls: &Path) {
    fs::write(folder.join("shop.rs"), LIBRARY).unwrap();
    fs::write(folder.join("program.c"), PROGRAM).unwrap();
    run(Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition=2021", "--crate-type=staticlib", "-Cincremental=parts", "shop.rs"])
        .arg(format!("-Ldependency={}", calls.with_file_name("deps").display()))
        .arg(format!("--extern=calls={}", calls.display()))
        .current_dir(folder));
}

/// Links the program, and runs it. Returns the functions that its log knows.
fn linked(folder: &Path, words: &[&str]) -> Vec<String> {
    run(Command::new("cc").args(["-o", "program", "program.c"]).args(words).current_dir(folder));
    let log = folder.join("mpsio.log");
    let _ = fs::remove_file(&log);
    let mut program = Command::new("./program");
    program.env("MPS_TELEMETRY_CONTROL", "Call").env("MPS_TELEMETRY_FILENAME", "mpsio.log");
    run(program.current_dir(folder));
    let log = open(&log);
    assert_eq!(lines_of_one(&log), ["CallEnter shop::sell -", "CallLeave shop::sell"], "{words:?}");
    sources(&log).into_keys().collect()
}

#[test]
fn a_c_program_links_a_static_library_of_any_profile() {
    let [sell, keep] = ["shop::sell", "shop::cellar::keep"];
    for (profile, incremental) in [("dev", "1"), ("release", "0")] {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), &calls(profile, incremental));
        for linker in linkers() {
            let built = format!("{profile}, {linker}");
            assert_eq!(linked(folder.path(), &["libshop.a", &linker]), [sell], "{built}");
            let words = [&WHOLE[..], &[&linker]].concat();
            assert_eq!(linked(folder.path(), &words), [keep, sell], "{built}");
        }
    }
}
