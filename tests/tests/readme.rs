//! Checks the README and the pages of `docs/`.
//!
//! ```text
//!  README.md ─┬─ ```console  bash runs each command; BLESS=1 writes its output into the README
//!             ├─ ```toml     cargo finds the crates of these lines
//!             ├─ ```rust     is the first program of docs/guide.md
//!             └─ times, ratios    are those of telemetry/benches/record/
//!  docs/*.md ──── commands run, variables and limits are those of the sources
//!  *.md ───────── every link leads to a file and a heading
//! ```
//!
//! Design: `.first` in `design/telemetry.md`.
#![forbid(unsafe_code)]

#[path = "sessions/page.rs"]
mod page;
#[path = "sessions/terminal.rs"]
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::programs::{eventcnv, lines, replay, root, run};

/// Returns the text of a document.
fn document(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the first block of code in a language, in the README.
fn block(language: &str) -> String {
    block_of("README.md", "# The event log", language)
}

/// Returns the first block of code in a language after a heading of a document.
fn block_of(path: &str, heading: &str, language: &str) -> String {
    let text = document(path);
    let (_, text) = text.split_once(heading).expect("a heading");
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("a block");
    rest.split("```").next().unwrap_or_default().to_owned()
}

/// Runs what cargo would build and run: the programs of this build. `./proofs readme` runs the
/// commands with cargo itself.
const CARGO: &str = r#"cargo() {
    [ "$1" = run ] || return 0
    local program
    while shift; [ "${1:---}" != -- ]; do
        case $1 in -p) program=${2#mps-} ;; --example) program=examples/$2 ;; esac
    done
    shift
    "target/debug/$program" "$@"
}"#;

/// Makes a directory look like the root of the repository with all programs built.
fn lay_out(home: &Path) {
    let built = Path::new(replay().get_program()).parent().expect("a folder").to_owned();
    fs::create_dir(home.join("target")).expect("a directory can be made");
    for profile in ["debug", "release"] {
        symlink(&built, home.join("target").join(profile)).expect("a link can be made");
    }
    for name in ["LICENSE", "calls", "tests"] {
        symlink(root().join(name), home.join(name)).expect("a link can be made");
    }
}

/// Each section of the README has a shell of its own, as a reader may begin with any of them.
#[test]
fn each_command_of_the_readme_prints_what_it_shows() {
    let readme = document("README.md");
    let mut printed = Vec::new();
    let mut count = 0;
    for (_, steps) in page::sessions(&readme) {
        let mut terminal = terminal::Terminal::open("README.md", true, lay_out);
        terminal.send("export PATH=$PWD/target/debug:$PATH");
        CARGO.lines().for_each(|line| terminal.send(line));
        for step in steps {
            count += 1;
            if let Some(output) = terminal.run(&step) {
                printed.push((step, output));
            }
        }
    }
    assert!(count > 15, "{count} commands");
    if !printed.is_empty() {
        let text = page::corrected(&readme, &printed);
        fs::write(root().join("README.md"), text).expect("the README can be written");
    }
}

/// Runs each command line of a block, in a directory with the files that the lines name.
#[test]
fn the_replay_commands_of_the_pages_run() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| directory.path().join(name);
    let copy = |from: &str, to: &str| fs::copy(root().join(from), path(to)).map(drop);
    copy("tests/golden/mps/mpmss-cut.log", "mpsio.log").expect("a log of the MPS");
    fs::write(path("script.py"), "print([str(i) for i in range(99)])\n").expect("a script");
    fs::write(path("mine.c"), MINE).expect("a library");
    let mut compiler = Command::new("cc");
    run(compiler.args(["-shared", "-fPIC", "-o", "libmine.so", "mine.c"]).current_dir(&directory));
    let block = block_of("docs/commands.md", "## Replay", "text");
    assert!(block.lines().count() > 8, "{block}");
    for line in block.lines() {
        let line = line.split("   ").next().expect("a command");
        let words = line.strip_prefix("$ replay ").expect("replay is run");
        let quick = if words.starts_with("play") { " --settle 0 --runs 1" } else { "" };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("\"$REPLAY\" {words}{quick}")]).current_dir(&directory);
        let output = shell.env("REPLAY", replay().get_program()).output().expect("sh runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {errors}");
        // The second log is that of another run.
        fs::copy(path("a.log"), path("b.log")).expect("copied");
    }
}

/// Runs the commands of the pages for selections and databases, on the log of the example.
#[test]
fn the_dump_and_query_commands_of_the_pages_run() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let copy = |from: &str, to: &str| {
        fs::copy(root().join(from), directory.path().join(to)).expect("a golden log");
    };
    copy("tests/golden/log/heap.log", "mpsio.log");
    copy("tests/golden/mps/labels.log", "telemetry.mps");
    let select = block_of("docs/commands.md", "## Dump and select", "text");
    let query = block_of("docs/commands.md", "## Query", "text");
    let text = format!("{select}{query}");
    let commands: Vec<&str> = text.split("$ ").filter(|part| !part.trim().is_empty()).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands.iter().filter(|command| !command.starts_with("sqlite3 ")) {
        // Three spaces separate the command from its explanation, unless the command continues.
        let words = command.split("   ").next().expect("a command");
        let words = words.strip_prefix("eventcnv ").expect("eventcnv is run");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("\"$TOOL\" {words}")]).current_dir(&directory);
        let output = shell.env("TOOL", eventcnv().get_program()).output().expect("sh runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}: {errors}");
    }
}

/// The C library's heap under its other names.
const MINE: &str = "
#include <stddef.h>
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *memory) { __libc_free(memory); }
";

#[test]
fn the_program_of_the_readme_is_the_first_of_the_guide() {
    assert_eq!(block("rust"), block_of("docs/guide.md", "# Guide", "rust src/main.rs"));
}

/// Cargo resolves the lines in a program next to a checkout, as the README describes.
#[test]
fn the_dependency_lines_of_the_readme_resolve() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    symlink(root(), directory.path().join("event-log")).expect("a link");
    let program = directory.path().join("program");
    fs::create_dir_all(program.join("src")).expect("a directory");
    let package = "[package]\nname = \"shop-program\"\nedition = \"2024\"\n\n";
    fs::write(program.join("Cargo.toml"), format!("{package}{}", block("toml"))).expect("a file");
    fs::write(program.join("src/main.rs"), block("rust")).expect("a file");
    fs::copy(root().join("Cargo.lock"), program.join("Cargo.lock")).expect("a lock file");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--depth", "1", "--prefix", "none"]).current_dir(&program);
    let found = lines(&mut cargo);
    for name in ["telemetry", "eventlog", "calls"] {
        assert!(found.iter().any(|line| line.starts_with(&format!("mps-{name} v"))), "{found:#?}");
    }
}

/// Returns the value and the ratio of a row in the last run of a record file.
fn recorded(file: &str, row: &str) -> (f64, f64) {
    let text = document(&format!("telemetry/benches/record/{file}.tsv"));
    let rows = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut found = rows.filter(|cells| cells.first() == Some(&row));
    let last = found.next_back().unwrap_or_else(|| panic!("{file}: no row {row}"));
    let number = |index: usize| last.get(index).and_then(|cell| cell.parse().ok());
    number(1).zip(number(3)).unwrap_or_else(|| panic!("{row}: {last:?}"))
}

/// Returns the rows of the first table after a sentence: cells without `*` and backquotes.
fn table(path: &str, after: &str) -> Vec<Vec<String>> {
    let text = document(path);
    let (_, rest) = text.split_once(after).unwrap_or_else(|| panic!("{path}: no {after:?}"));
    let lines = rest.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).filter(|l| !l.starts_with("|-"));
    let plain = |cell: &str| cell.replace(['*', '`'], "").trim().to_owned();
    lines.map(|line| line.trim_matches('|').split('|').map(plain).collect()).collect()
}

/// Compares a figure of a page, if its cell has one, with the record, to its last digit: a ratio,
/// or nanoseconds and a ratio.
fn check_figure(shown: &str, file: &str, row: &str) -> usize {
    if shown.is_empty() {
        return 0;
    }
    let (value, ratio) = recorded(file, row);
    let (time, factor) = match shown.split_once(" ns, ") {
        Some((time, factor)) => (Some(time), factor.strip_suffix('×').expect("a ratio")),
        None => (None, shown),
    };
    for (shown, recorded) in [(Some(factor), ratio), (time, value)] {
        let Some(shown) = shown else { continue };
        let number: f64 = shown.parse().unwrap_or_else(|_| panic!("{row}: {shown:?}"));
        let digits = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
        let error = (number - recorded).abs();
        let half = 0.5 / 10f64.powi(digits.try_into().expect("few digits"));
        assert!(error <= half * 1.001, "{file}: {row}: {shown} differs from {recorded}");
    }
    1
}

#[test]
fn the_ratios_of_the_pages_equal_the_record() {
    let mut count = 0;
    let readme = table("README.md", "## What it costs");
    let heading = readme.first().expect("a heading");
    for row in &readme[1..] {
        let name = row[0].split(':').next().expect("a name");
        for (peer, shown) in heading.iter().zip(row).skip(1) {
            count += match peer.as_str() {
                "event log" => check_figure(shown, "2026-11-20-recording", name),
                "dial9" => {
                    let row = format!("dial9-trace-format-{name}");
                    check_figure(shown, "2026-11-20-peers", &row)
                }
                peer => check_figure(shown, "2026-11-20-peers", &format!("{peer}-{name}")),
            };
        }
    }
    assert_eq!(count, 3 + 1 + 2 + 3 + 3, "{readme:?}");
    let ours = table("docs/benchmarks.md", "## Recording");
    for row in &ours[1..] {
        for (file, shown) in ours[0].iter().zip(row).skip(1) {
            count += check_figure(shown, file, &row[0]);
        }
    }
    let peers = table("docs/benchmarks.md", "## Peers");
    for row in &peers[1..] {
        for (name, shown) in peers[0].iter().zip(row).skip(1).take(4) {
            count += check_figure(shown, "2026-11-20-peers", &format!("{}-{name}", row[0]));
        }
    }
    assert_eq!(count, 12 + 7 * 3 + 2 + 3 + 4 + 4);
}

#[test]
fn the_map_of_the_readme_names_paths_that_exist() {
    let text = document("README.md");
    let (_, map) = text.split_once("## Find your way").expect("a map");
    let rows = map.lines().filter(|line| line.starts_with("| `"));
    let paths: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "{path} is on the map, but not in the tree");
    }
}

/// `.control.env`: one table has all variables, and no other.
#[test]
fn the_page_of_variables_lists_each_variable_of_the_runtime() {
    let prefix = "MPS_TELEMETRY_";
    let text = document("docs/environment.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut shown: Vec<String> =
        rows.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect();
    let mut read = Vec::new();
    let mut folders = vec![root().join("telemetry/src"), root().join("calls/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(path).expect("a source");
            let names =
                source.split("&CStr = c\"").skip(1).filter_map(|rest| rest.split('"').next());
            read.extend(names.filter(|name| name.starts_with(prefix)).map(str::to_owned));
        }
    }
    shown.sort();
    read.sort();
    // The runtime that cannot record declares two of the names a second time.
    read.dedup();
    assert!(read.len() >= 8, "{read:?}");
    assert_eq!(shown, read);
}

/// Returns the headings of a document, as links name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    headings
        .map(|line| line.trim_start_matches('#').trim().chars().filter_map(kept).collect())
        .collect()
}

/// Returns the Markdown files at the top level, in `docs/` and in `design/`.
fn pages() -> Vec<PathBuf> {
    let folders = ["", "docs", "design"].map(|name| root().join(name));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("a file").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a document");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let found = fs::read_to_string(&target).map(|text| anchors(&text)).ok();
            let leads = match found {
                Some(anchors) => anchor.is_empty() || anchors.contains(anchor),
                None => target.is_dir(),
            };
            assert!(leads, "{}: the link {link} leads nowhere", page.display());
        }
    }
    assert!(count > 20, "only {count} links were found");
}

/// Compares the limits with the constants in the crates.
#[test]
fn the_page_of_limits_has_the_numbers_of_the_sources() {
    use eventlog::format::{BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, EVENT_SIZE_MAX};
    let (least, most) = (1u32 << BLOCK_SIZE_LOG2_MIN, 1u32 << BLOCK_SIZE_LOG2_MAX);
    let rows = table("docs/limits.md", "## Sizes and counts");
    let limits = [
        ("event", format!("{EVENT_SIZE_MAX} bytes,")),
        ("registries of a process", format!("{},", telemetry::REGISTRY_COUNT_MAX - 1)),
        ("size of a block", format!("{least} to {most} bytes;")),
        (
            "strings, labels and names of threads of a process",
            format!("{} blocks", telemetry::STORE_BLOCK_COUNT_MAX),
        ),
    ];
    for (what, limit) in limits {
        let row = rows.iter().find(|row| row[0] == what).unwrap_or_else(|| panic!("no {what}"));
        assert!(row[1].starts_with(&limit), "{what}: {} is not {limit}", row[1]);
    }
}

/// The proofs, the checks and the tests that the page for contributors names exist.
#[test]
fn the_page_for_contributors_names_the_proofs_checks_and_tests() {
    let page = document("CONTRIBUTING.md");
    let script = document("proofs");
    let proofs = script.lines().filter_map(|line| line.strip_prefix("prove_")?.split('(').next());
    let proofs: Vec<&str> = proofs.collect();
    assert!(proofs.len() >= 7, "{proofs:?}");
    for proof in proofs {
        assert!(page.contains(&format!("| `{proof}` | ")), "no proof {proof}");
    }
    let checks = document(".ci/run");
    let checks = checks.lines().skip_while(|line| !line.starts_with("./test"));
    let commands = checks.map(|line| line.split(" ||").next().unwrap_or_default());
    for check in commands.map(|line| line.trim_start_matches("RUSTDOCFLAGS=\"-D warnings\" ")) {
        assert!(page.contains(&format!(". `{check}`")), "no check {check}");
    }
    for command in page.split("cargo test --locked -p ").skip(1) {
        let words: Vec<&str> = command.split(['`', '\n']).next().unwrap_or("").split(' ').collect();
        let [package, "--test", test, ..] = words.as_slice() else { continue };
        let folder = package.trim_start_matches("mps-");
        assert!(root().join(format!("{folder}/tests/{test}.rs")).exists(), "{words:?}");
    }
}
