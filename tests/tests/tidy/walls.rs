//! The dependencies between crates, and the modules with unsafe code.
//!
//! ```text
//!  eventdef ◀─ eventlog::format ◀─ telemetry        nothing ──▶ tests
//!                 eventlog::reader ◀─ eventcnv, replay
//! ```
//!
//! Rules: `ARCHITECTURE.md`, Invariants.

use super::tree::{File, files, judge, read, rust_files};

/// Members, and the members on which each may depend, tests and benchmarks included.
const WALLS: [(&str, &[&str]); 20] = [
    ("eventdef", &[]),
    ("eventlog", &["eventdef"]),
    ("telemetry", &["eventdef", "eventlog"]),
    ("telemetry/examples/heap", &["telemetry"]),
    ("telemetry/tests/models", &["eventdef", "eventlog"]),
    // Its tests and its benchmark read logs.
    ("calls", &["eventdef", "eventlog", "telemetry", "calls-macros"]),
    ("calls/macros", &["lens-paths"]),
    ("calls/tcl", &["calls"]),
    ("cli", &["eventlog"]),
    ("stacks", &["eventlog"]),
    ("lens", &["eventdef", "eventlog"]),
    ("lens/paths", &["eventdef", "eventlog"]),
    ("record/paths", &["eventlog", "lens-paths"]),
    ("record/waits", &["eventdef", "eventlog", "lens"]),
    ("record/command", &["eventlog", "cli", "record-waits"]),
    (
        "eventcnv",
        &["eventdef", "eventlog", "cli", "lens", "lens-paths", "record-paths", "record-command"],
    ),
    // Its tests preload the library.
    ("replay", &["eventdef", "eventlog", "cli", "stacks", "record-command", "interpose"]),
    ("interpose", &["eventdef", "eventlog", "telemetry", "calls"]),
    (
        "tests",
        &["eventdef", "eventlog", "telemetry", "calls", "eventcnv", "replay", "lens", "lens-paths"],
    ),
    ("tests/annotated", &["telemetry", "calls"]),
];

/// The members that allow unsafe code module by module; all others forbid unsafe code.
const HAVE_UNSAFE: [&str; 5] = ["telemetry", "calls", "calls/tcl", "replay", "interpose"];
/// The attribute that allows unsafe code in a module, with a reason.
const LET_IN: &str = "expect(unsafe_code, reason";

/// Returns, of each line in a manifest's `[…dependencies]` tables, the crate's name and the line.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table.ends_with("dependencies") && !table.starts_with("workspace");
            if let Some((_, name)) = table.rsplit_once("dependencies.") {
                found.push((name.to_owned(), line.to_owned()));
            }
        } else if inside && let Some((key, _)) = line.split_once('=') {
            let name = key.trim().split('.').next().unwrap_or_default();
            found.push((name.to_owned(), line.to_owned()));
        }
    }
    found
}

#[test]
fn each_crate_depends_only_on_crates_to_its_left() {
    let mut breaches = Vec::new();
    for (member, allowed) in WALLS {
        for (name, _) in dependencies(&read(&format!("{member}/Cargo.toml"))) {
            let is_it = |ours: &str| {
                ours.rsplit('/').next() == Some(&name) || ours.replace('/', "-") == name
            };
            let is_ours = WALLS.iter().any(|(ours, _)| is_it(ours));
            if is_ours && !allowed.contains(&name.as_str()) {
                breaches.push(format!("{member}/Cargo.toml: depends on {name}"));
            }
        }
    }
    judge("A crate depends only on those that ARCHITECTURE.md draws to its left.", breaches);
}

#[test]
fn the_walls_know_every_member_of_the_workspace() {
    let manifest = read("Cargo.toml");
    let line = manifest.lines().find(|line| line.starts_with("members")).unwrap_or_default();
    let members: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    let known: Vec<&str> = WALLS.iter().map(|(member, _)| *member).collect();
    assert_eq!(members, known, "a new member needs its walls: add it to WALLS");
}

#[test]
fn the_runtime_does_not_use_the_reader() {
    let manifest = read("telemetry/Cargo.toml");
    let lines = dependencies(&manifest).into_iter().filter(|(name, _)| name == "eventlog");
    let mut breaches: Vec<String> = lines
        .filter(|(_, line)| line.contains("features") || line.contains("path"))
        .map(|(_, line)| format!("telemetry/Cargo.toml: {line}"))
        .collect();
    if !read("Cargo.toml")
        .lines()
        .any(|l| l.starts_with("eventlog") && l.contains("default-features = false"))
    {
        breaches
            .push("Cargo.toml: eventlog has its default features on, the reader among them".into());
    }
    breaches.extend(uses("telemetry/", "eventlog::reader"));
    breaches.extend(uses("eventcnv/", "telemetry::"));
    breaches.extend(uses("replay/", "telemetry::"));
    breaches.extend(uses("lens/", "telemetry::"));
    breaches.extend(uses("calls/src/", "eventlog::"));
    judge("The runtime never uses the reader; the tools never use the runtime.", breaches);
}

fn uses(member: &str, path: &str) -> Vec<String> {
    let of_member = rust_files().into_iter().filter(|file| file.path.starts_with(member));
    let mut found = Vec::new();
    for file in of_member {
        let lines = file.code().filter(|(_, code)| code.contains(path));
        found.extend(lines.map(|(number, _)| format!("{}:{number}: uses {path}", file.path)));
    }
    found
}

fn says_unsafe(file: &File) -> bool {
    let is_word = |word: &str| ["unsafe", "global_asm"].contains(&word);
    file.code().any(|(_, code)| code.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_word))
}

/// Returns the breaches of a file: unsafe code that no attribute lets in, and the reverse.
fn unsafe_breaches(file: &File) -> Vec<String> {
    let has = |what: &str| file.code().any(|(_, code)| code.contains(what));
    let (is_unsafe, is_let_in) = (says_unsafe(file), has(LET_IN));
    let all = [
        (is_unsafe && !is_let_in, "unsafe code that no `expect(unsafe_code)` lets in"),
        (is_let_in && !is_unsafe, "lets unsafe code in, and has none"),
        (has("allow(unsafe_code"), "allow, not expect"),
    ];
    let found = all.into_iter().filter(|(is_so, _)| *is_so);
    found.map(|(_, what)| format!("{}: {what}", file.path)).collect()
}

#[test]
fn each_file_with_unsafe_code_lets_it_in_with_a_reason() {
    let breaches = rust_files().iter().flat_map(unsafe_breaches).collect();
    judge("Unsafe code lives in files that let it in by an attribute with a reason.", breaches);
}

#[test]
fn the_rule_finds_unsafe_code_without_its_attribute() {
    let count = |text: &str| {
        unsafe_breaches(&File { path: "a.rs".to_owned(), text: text.to_owned() }).len()
    };
    let let_in = format!("#![{LET_IN} = \"a pointer\")]\n");
    assert_eq!(count("fn a() { unsafe { b() } }"), 1);
    assert_eq!(count(&format!("{let_in}fn a() {{ unsafe {{ b() }} }}")), 0);
    assert_eq!(count(&let_in), 1);
    assert_eq!(count("#![allow(unsafe_code)]\n// unsafe\n"), 1);
}

#[test]
fn every_other_crate_forbids_unsafe_code() {
    let mut breaches = Vec::new();
    let roots = ["src/lib.rs", "src/main.rs"];
    for (member, _) in WALLS.iter().filter(|(member, _)| !HAVE_UNSAFE.contains(member)) {
        for path in roots.map(|root| format!("{member}/{root}")) {
            let text = read(&path);
            if !text.is_empty() && !text.contains("#![forbid(unsafe_code)]") {
                breaches.push(format!("{path}: lacks #![forbid(unsafe_code)]"));
            }
        }
    }
    let manifest = read("Cargo.toml");
    if !manifest.contains("unsafe_code = \"deny\"") {
        breaches.push("Cargo.toml: the workspace does not deny unsafe code".into());
    }
    for file in files().iter().filter(|f| f.path.ends_with("/Cargo.toml") && is_member(&f.path)) {
        if !file.text.contains("[lints]\nworkspace = true") {
            breaches.push(format!("{}: does not take the workspace's lints", file.path));
        }
    }
    judge(
        "Every crate but telemetry and replay forbids unsafe code; all take its lints.",
        breaches,
    );
}

fn is_member(manifest: &str) -> bool {
    WALLS.iter().any(|(member, _)| manifest == format!("{member}/Cargo.toml"))
}

#[test]
fn the_rule_finds_a_dependency_in_every_form() {
    let manifest = "[dependencies]\na.workspace = true\n\
                    [dev-dependencies]\nb = { path = \"b\" }\n\
                    [target.'cfg(unix)'.dependencies]\nc = \"1\"\n\
                    [dependencies.d]\nversion = \"1\"\n[package]\ne = \"f\"\n";
    let names: Vec<String> = dependencies(manifest).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}
