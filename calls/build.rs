//! Names the systems whose linkers collect statics into sections that a program finds by name.
//! Design: `.calls.site` in `design/calls.md`.

const SYSTEMS: [&str; 6] = ["linux", "android", "freebsd", "netbsd", "openbsd", "dragonfly"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(has_sections)");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if SYSTEMS.contains(&&*system) {
        println!("cargo::rustc-cfg=has_sections");
    }
}
