//! Links the program `replay-interpose` as a shared library that exports what `exports.ld` lists.

use std::{env, path::Path};

fn main() {
    let list =
        Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("exports.ld");
    let text = std::fs::read_to_string(&list).expect("exports.ld is readable");
    println!("cargo::rerun-if-changed={}", list.display());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let link = |argument: &str| println!("cargo::rustc-link-arg-bin=replay-interpose={argument}");
    link("-shared");
    if ["x86_64", "aarch64"].contains(&&*env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default()) {
        link("-Wl,--entry=replay_interpose_tell");
    }
    link(&format!("-Wl,--version-script={}", list.display()));
    // The linker takes from a Rust library only what something asks for.
    let names = text.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(';'));
    names.for_each(|name| link(&format!("-Wl,--undefined={name}")));
}
