//! Names the systems whose linkers collect statics into sections that a program finds by name.
//! Design: `.calls.site` in `design/calls.md`.

const SYSTEMS: [&str; 6] = ["linux", "android", "freebsd", "netbsd", "openbsd", "dragonfly"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(has_sections)");
    // Miri has no linker.
    let is_miri = std::env::var_os("CARGO_CFG_MIRI").is_some();
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if SYSTEMS.contains(&&*system) && !is_miri {
        println!("cargo::rustc-cfg=has_sections");
    }
}
