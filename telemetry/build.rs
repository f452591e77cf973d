//! Checks whether this platform can record. Where it cannot, one line reports that, and annotations
//! compile to nothing. Design: `.req.port` in `design/telemetry.md`.

use std::env::var;

fn main() {
    // No file matters, and the package of the models has this one at another path.
    println!("cargo::rerun-if-env-changed=CARGO_CFG_TARGET_FAMILY");
    println!("cargo::rustc-check-cfg=cfg(recording)");
    let has_word =
        |name: &str, word: &str| var(name).is_ok_and(|list| list.split(',').any(|it| it == word));
    let is_unix = has_word("CARGO_CFG_TARGET_FAMILY", "unix");
    let is_wasm = has_word("CARGO_CFG_TARGET_FAMILY", "wasm");
    if is_unix && !is_wasm && has_word("CARGO_CFG_TARGET_HAS_ATOMIC", "64") {
        println!("cargo::rustc-cfg=recording");
    } else {
        let target = var("TARGET").unwrap_or_default();
        println!(
            "cargo::warning=telemetry: {target}: recording is not supported (it needs a Unix \
             with 64-bit atomics); annotations compile to nothing"
        );
    }
}
