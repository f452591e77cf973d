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
    ("telemetry/tests/models", &["eventdef", "eventlog"]),
    // Its tests and its benchmark read logs.
    ("calls", &["eventdef", "eventlog", "telemetry", "calls-macros"]),
    ("calls/macros", &["lens-paths"]),
    ("calls/tcl", &["calls"]),
    ("cli", &["eventlog"]),
    ("stacks", &["eventlog"]),
    ("lens/slices", &["eventdef", "eventlog"]),
    ("lens/calls", &["eventdef", "eventlog", "slices"]),
    ("lens/waits", &["eventdef", "eventlog", "slices"]),
    ("lens/paths", &["eventdef", "eventlog"]),
    ("record/paths", &["eventlog", "lens-paths"]),
    ("record/waits", &["eventdef", "eventlog", "lens-waits"]),
    (
        "eventcnv",
        &[
            "eventdef",
            "eventlog",
            "cli",
            "slices",
            "lens-calls",
            "lens-waits",
            "lens-paths",
            "record-paths",
            "record-waits",
        ],
    ),
    // Its tests preload the library.
    ("replay", &["eventdef", "eventlog", "cli", "stacks", "interpose"]),
    ("interpose", &["eventdef", "eventlog", "telemetry", "calls"]),
    (
        "tests",
        &[
            "eventdef",
            "eventlog",
            "telemetry",
            "calls",
            "eventcnv",
            "replay",
            "lens-paths",
            "lens-waits",
        ],
    ),
    ("tests/annotated", &["telemetry", "calls"]),
];

/// The modules that may hold unsafe code, in the product, in its tests and in its benchmarks.
const UNSAFE_MODULES: &[&str] = &[
    "calls/src/list.rs",
    "calls/src/section.rs",
    "calls/src/site.rs",
    "calls/src/statement.rs",
    "calls/tcl/src/system.rs",
    "calls/tcl/src/tcl.rs",
    "calls/tcl/src/tcl/callbacks.rs",
    "calls/tcl/src/tcl/frames.rs",
    "calls/tests/interrupted.rs",
    "calls/tests/profiled/forms.rs",
    "calls/tests/refused/naked.rs",
    "calls/tests/release.rs",
    "calls/tests/statements_survive.rs",
    "interpose/src/calls.rs",
    "interpose/src/chosen.rs",
    "interpose/src/executing.rs",
    "interpose/src/foreign.rs",
    "interpose/src/frames.rs",
    "interpose/src/functions.rs",
    "interpose/src/jumps.rs",
    "interpose/src/lifecycle.rs",
    "interpose/src/loading.rs",
    "interpose/src/mapped.rs",
    "interpose/src/names.rs",
    "interpose/src/own_stack.rs",
    "interpose/src/real.rs",
    "interpose/src/resident.rs",
    "interpose/src/roster.rs",
    "interpose/src/rule.rs",
    "interpose/src/stack.rs",
    "interpose/src/thread.rs",
    "interpose/src/touched.rs",
    "interpose/src/tree.rs",
    "interpose/src/unwind.rs",
    "replay/benches/loop/bare.rs",
    "replay/examples/heaps.rs",
    "replay/src/heap/checked.rs",
    "replay/src/heap/global.rs",
    "replay/src/heap/mod.rs",
    "replay/src/heap/pools.rs",
    "replay/src/heap/system.rs",
    "replay/src/heap/version.rs",
    "replay/src/play/bare.rs",
    "replay/src/play/child.rs",
    "replay/src/play/counter.rs",
    "replay/src/play/run.rs",
    "replay/src/play/shared.rs",
    "replay/tests/common/guard.rs",
    "replay/tests/truth/foretold.rs",
    "telemetry/src/block/clock/arm.rs",
    "telemetry/src/block/clock/x86.rs",
    "telemetry/src/block/memory.rs",
    "telemetry/src/block/memory/claim.rs",
    "telemetry/src/block/memory/hole.rs",
    "telemetry/src/block/memory/mapped.rs",
    "telemetry/src/block/memory/own.rs",
    "telemetry/src/block/memory/parts.rs",
    "telemetry/src/block/root.rs",
    "telemetry/src/ends/signal.rs",
    "telemetry/src/inspect/debug.rs",
    "telemetry/src/inspect/debug/unit.rs",
    "telemetry/src/os/link.rs",
    "telemetry/src/os/local_sockets.rs",
    "telemetry/src/os/pages.rs",
    "telemetry/src/os/process.rs",
    "telemetry/src/os/signals.rs",
    "telemetry/src/os/sockets.rs",
    "telemetry/src/os/stack.rs",
    "telemetry/src/os/sync.rs",
    "telemetry/src/os/sys.rs",
    "telemetry/src/os/sys/held.rs",
    "telemetry/src/os/sys/library.rs",
    "telemetry/src/os/sys/names.rs",
    "telemetry/src/os/sys/own.rs",
    "telemetry/src/os/sys/threads.rs",
    "telemetry/src/record/alloc.rs",
    "telemetry/src/rings/ring/own.rs",
    "telemetry/src/store/intern/own.rs",
    "telemetry/src/service/mask_changes.rs",
    "telemetry/benches/recording/floor.rs",
    "tests/examples/plugin.rs",
    "telemetry/tests/alloc.rs",
    "telemetry/tests/clone.rs",
    "telemetry/tests/closed.rs",
    "telemetry/tests/common/advice.rs",
    "telemetry/tests/common/counting.rs",
    "telemetry/tests/crash.rs",
    "telemetry/tests/debug.rs",
    "telemetry/tests/disk.rs",
    "telemetry/tests/ends.rs",
    "telemetry/tests/directory.rs",
    "telemetry/tests/execute.rs",
    "telemetry/tests/exit.rs",
    "telemetry/benches/fork/main.rs",
    "telemetry/tests/first.rs",
    "telemetry/tests/fork.rs",
    "telemetry/tests/interruptions/forks.rs",
    "telemetry/tests/full.rs",
    "telemetry/tests/last.rs",
    "telemetry/tests/host.rs",
    "telemetry/tests/many.rs",
    "telemetry/tests/mapped.rs",
    "telemetry/tests/models/memory.rs",
    "telemetry/tests/nested.rs",
    "telemetry/tests/nuisance.rs",
    "telemetry/tests/outage.rs",
    "telemetry/tests/own_malloc.rs",
    "telemetry/tests/quiet.rs",
    "telemetry/tests/root.rs",
    "telemetry/tests/service.rs",
    "telemetry/tests/together.rs",
    "telemetry/tests/trouble.rs",
    "telemetry/tests/volumes.rs",
    "telemetry/tests/truncated.rs",
    "tests/src/bin/bank.rs",
    "tests/src/bin/crasher.rs",
    "tests/src/bin/caller.rs",
    "tests/src/bin/ending.rs",
    "tests/src/bin/forker.rs",
    "tests/src/bin/sandboxed.rs",
    "tests/src/bin/storm.rs",
    "tests/tests/soak.rs",
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
    let is_word = |word: &str| word == "unsafe";
    file.code().any(|(_, code)| code.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_word))
}

#[test]
fn only_listed_modules_hold_unsafe_code() {
    let mut breaches = Vec::new();
    for file in rust_files() {
        let named = UNSAFE_MODULES.contains(&file.path.as_str());
        if says_unsafe(&file) && !named {
            breaches.push(format!("{}: unsafe code in a module that is not named", file.path));
        }
        if named && !says_unsafe(&file) {
            breaches.push(format!("{}: named, and needs no unsafe code: unname it", file.path));
        }
        if named && !file.text.contains(LET_IN) && !let_in_by_parent(&file.path) {
            breaches.push(format!("{}: is not let in by `#[{LET_IN} = …)]`", file.path));
        }
        let allows = file.code().filter(|(_, code)| code.contains("allow(unsafe_code"));
        breaches
            .extend(allows.map(|(number, _)| format!("{}:{number}: allow, not expect", file.path)));
    }
    let missing = UNSAFE_MODULES.iter().filter(|path| read(path).is_empty());
    breaches.extend(missing.map(|path| format!("{path}: named, and not there")));
    judge(
        "Unsafe code lives in the modules named in UNSAFE_MODULES, each let in with a reason.",
        breaches,
    );
}

/// Returns whether the `mod` line of a module of telemetry, or the line before it, allows it.
fn let_in_by_parent(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    let parent = read("telemetry/src/lib.rs");
    let before: Vec<&str> = parent.split(&format!("mod {name};")).collect();
    let lines: Vec<&str> =
        before.first().copied().unwrap_or_default().lines().rev().take(6).collect();
    before.len() > 1 && lines.iter().any(|line| line.contains(LET_IN))
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
