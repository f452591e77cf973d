//! Programs with and without `#[profiled]`: they do the same, and coverage counts the same.
//!
//! ```text
//!  profiled/drops.rs ─┬─ as it is ───────▶ output, counts of llvm-cov
//!                     ├─ --cfg profiled ─▶ the same output, the same counts
//!                     └─ with the recorder of profiled/recorder ─▶ the same number of boundaries
//! ```
//!
//! A program's `//@ editions:` are those that it is compiled for. Design: `.statements.rewrite` in
//! `design/statements.md`.
#![forbid(unsafe_code)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The newest edition; of programs for it, coverage is compared.
const NEWEST: &str = "2024";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiled")
}

/// A program and an edition.
struct Program {
    file: PathBuf,
    edition: String,
}

fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    for file in folder().read_dir().unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            let source = std::fs::read_to_string(&file).unwrap();
            let editions = source.lines().find_map(|line| line.strip_prefix("//@ editions: "));
            let editions = editions.unwrap_or_else(|| panic!("{}: no editions", file.display()));
            let program =
                |edition: &str| Program { file: file.clone(), edition: edition.to_owned() };
            programs.extend(editions.split(' ').map(program));
        }
    }
    assert_eq!(programs.len(), 23, "programs in their editions");
    programs
}

fn newest() -> impl Iterator<Item = Program> {
    programs().into_iter().filter(|program| program.edition == NEWEST)
}

/// Returns the newest library of this name that the test is linked with.
fn library(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let is_library = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy();
        let is_kind = [".rlib", env::consts::DLL_SUFFIX].iter().any(|end| file.ends_with(end));
        file.starts_with(&format!("lib{name}-")) && is_kind
    };
    let files = test.parent().unwrap().read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .filter(is_library)
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap_or_else(|| panic!("no library {name}"))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {text}", output.status);
    output
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
}

/// Compiles a file with a library that it uses.
fn compile(file: &Path, to: &Path, uses: (&str, &Path), options: &[&str]) {
    let mut used = OsString::from(format!("{}=", uses.0));
    used.push(uses.1);
    let mut dependencies = OsString::from("-Ldependency=");
    dependencies.push(library("calls").parent().unwrap());
    run(rustc()
        .arg(file)
        .arg("-o")
        .arg(to)
        .arg("--extern")
        .args([used, dependencies])
        .args(options));
}

impl Program {
    fn compile(&self, to: &Path, library: &Path, more: &[&str]) {
        let edition = format!("--edition={}", self.edition);
        let options = [&[edition.as_str(), "--check-cfg=cfg(profiled)"], more].concat();
        compile(&self.file, to, ("calls", library), &options);
    }
}

/// Returns what a program prints, with its exit status.
fn output(program: &Path, variables: &[(&str, &OsStr)]) -> String {
    let output = Command::new(program).envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    format!("{}{}{}", text[0], text[1], output.status)
}

#[test]
fn the_attribute_changes_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("program");
    for program in programs() {
        let outputs = [&[][..], &["--cfg=profiled"]].map(|more| {
            program.compile(&to, &library("calls"), more);
            let log = folder.path().join("log");
            let on = [
                ("MPS_TELEMETRY_PROFILE", "count".as_ref()),
                ("MPS_TELEMETRY_FILENAME", log.as_os_str()),
            ];
            [output(&to, &[]), output(&to, &on)]
        });
        let name = format!("{} {}", program.file.display(), program.edition);
        assert!(outputs[0][0].lines().count() > 2, "{name}: {}", outputs[0][0]);
        let [plain, [off, on]] = outputs;
        assert_eq!(plain[0], off, "{name}");
        assert_eq!(plain[0], on, "{name}, recorded");
    }
}

/// Returns what `llvm-cov` exports of a program, in a format of it.
fn coverage(program: &Program, more: &[&str], format: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let [to, raw, data] = ["program", "raw", "data"].map(|name| folder.path().join(name));
    program.compile(&to, &library("calls"), &[&["-Cinstrument-coverage"], more].concat());
    output(&to, &[("LLVM_PROFILE_FILE", raw.as_os_str())]);
    run(tool("llvm-profdata").arg("merge").arg(raw).arg("-o").arg(&data));
    let mut profile = OsString::from("-instr-profile=");
    profile.push(data);
    let format = format!("-format={format}");
    run(tool("llvm-cov").args(["export", &format]).arg(to).arg(profile).arg(&program.file)).stdout
}

/// A program of the compiler's own LLVM.
fn tool(name: &str) -> Command {
    let libraries = run(rustc().args(["--print", "target-libdir"])).stdout;
    let libraries = PathBuf::from(String::from_utf8(libraries).unwrap().trim_end());
    let program = libraries.parent().unwrap().join("bin").join(name);
    assert!(program.exists(), "{}: not found; rustup component add llvm-tools", program.display());
    Command::new(program)
}

#[test]
fn coverage_counts_the_same_with_the_attribute() {
    for program in newest() {
        let [plain, profiled] = [&[][..], &["--cfg=profiled"]].map(|more| {
            let text = String::from_utf8(coverage(&program, more, "lcov")).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("DA:")).map(str::to_owned);
            lines.collect::<Vec<_>>().join(" ")
        });
        assert!(plain.len() > 100);
        assert_eq!(plain, profiled, "{}", program.file.display());
    }
}

/// Returns the lints that a program breaks, with the lines: all that the compiler and clippy know.
fn lints(program: &Program, more: &[&str]) -> BTreeSet<(String, u64)> {
    let mut dependencies = OsString::from("-Ldependency=");
    dependencies.push(library("calls").parent().unwrap());
    let mut used = OsString::from("calls=");
    used.push(library("calls"));
    let folder = tempfile::tempdir().unwrap();
    let groups = ["all", "pedantic", "nursery", "cargo", "restriction"];
    let mut clippy = Command::new(env::var_os("CLIPPY_DRIVER").unwrap_or("clippy-driver".into()));
    clippy.arg(&program.file).arg(format!("--edition={}", program.edition));
    clippy.args(["--check-cfg=cfg(profiled)", "--emit=metadata", "--error-format=json"]);
    clippy.args(["--cap-lints=warn", "-Aclippy::blanket_clippy_restriction_lints"]);
    clippy.args(groups.map(|group| format!("-Wclippy::{group}")));
    clippy.arg("--extern").args([used, dependencies]).args(more);
    let output = clippy.arg("-o").arg(folder.path().join("program.rmeta")).output();
    let output = output.expect("this test needs clippy-driver: rustup component add clippy");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    // What a macro of the program makes has the place of the one or of the other.
    let is_own = |span: &Value| {
        let made_by = span["expansion"]["macro_decl_name"].as_str();
        made_by.is_none_or(|name| !name.ends_with('!'))
    };
    let found = messages.filter_map(|message| {
        let span = Some(&message["spans"][0]).filter(|span| is_own(span))?;
        let line = span["line_start"].as_u64()?;
        Some((message["code"]["code"].as_str()?.to_owned(), line))
    });
    found.collect()
}

/// A crate may deny any lint.
#[test]
fn the_attribute_breaks_no_lint() {
    let mut broken = Vec::new();
    for program in newest() {
        let [plain, profiled] = [&[][..], &["--cfg=profiled"]].map(|more| lints(&program, more));
        assert!(!plain.is_empty());
        let file = program.file.file_name().unwrap().to_owned();
        broken.extend(profiled.difference(&plain).map(|lint| (file.clone(), lint.clone())));
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Line, column, offset and size of a statement, and whether it waits.
type Place = ([usize; 4], bool);

/// Returns how often each place began, by a recorder made by hand.
fn recorded(program: &Program) -> BTreeMap<Place, u64> {
    let folder = tempfile::tempdir().unwrap();
    let [to, recorder, record] =
        ["program", "libcalls.rlib", "record"].map(|name| folder.path().join(name));
    let source = self::folder().join("recorder/calls.rs");
    let macros = library("calls_macros");
    let options = ["--crate-type=rlib", "--edition=2024"];
    compile(&source, &recorder, ("calls_macros", &macros), &options);
    program.compile(&to, &recorder, &["--cfg=profiled"]);
    output(&to, &[("RECORDED", record.as_os_str())]);
    let mut counts = BTreeMap::new();
    for line in std::fs::read_to_string(record).unwrap().lines() {
        let place: Vec<usize> = line.split(':').map(|number| number.parse().unwrap()).collect();
        let waits = place[3] >> 31 == 1;
        let place = [place[0], place[1], place[2], place[3] & !(1 << 31)];
        *counts.entry((place, waits)).or_insert(0) += 1;
    }
    counts
}

/// Returns the line and the column of an offset.
fn place_of(source: &str, offset: usize) -> (u64, u64) {
    let before = &source[..offset];
    let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line as u64, (before[line_begin..].chars().count() + 1) as u64)
}

/// Returns where the code of a statement begins: a pattern gets its values after it has begun.
fn code_begin(text: &str) -> usize {
    let is_let = text.starts_with("let ");
    let after_equals = text.find(" = ").filter(|_| is_let).map(|at| at + 3);
    let after = |word: &str| text.starts_with(word).then_some(word.len());
    after_equals.or_else(|| after("if ")).or_else(|| after("match ")).unwrap_or(0)
}

#[test]
fn a_statement_begins_as_often_as_it_is_covered() {
    for program in newest() {
        let source = std::fs::read_to_string(&program.file).unwrap();
        let exported: Value = serde_json::from_slice(&coverage(&program, &[], "text")).unwrap();
        let segments = exported["data"][0]["files"][0]["segments"].as_array().unwrap();
        let begins = segments.iter().filter(|segment| segment[4] == true);
        let covered: BTreeMap<_, _> = begins
            .map(|at| ((at[0].as_u64().unwrap(), at[1].as_u64().unwrap()), at[2].as_u64().unwrap()))
            .collect();
        let (mut compared, mut wrong) = (0, Vec::new());
        let recorded = recorded(&program);
        for (([line, column, offset, size], _), count) in &recorded {
            assert_eq!(place_of(&source, *offset), (*line as u64, *column as u64));
            let text = &source[*offset..offset + size];
            if text.starts_with("give!") {
                // Coverage counts a macro that may return where it does not.
                continue;
            }
            let begin = place_of(&source, offset + code_begin(text));
            if let Some(covered) = covered.get(&begin) {
                compared += 1;
                if covered != count {
                    wrong.push(format!("{count}, covered {covered}: {text}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", program.file.display());
        println!("{}: {compared} of {}", program.file.display(), recorded.len());
        assert!(compared * 2 > recorded.len());
    }
}

#[test]
fn statements_that_may_wait_are_marked() {
    let file = folder().join("futures.rs");
    let source = std::fs::read_to_string(&file).unwrap();
    let begun = recorded(&Program { file, edition: NEWEST.to_owned() });
    let waiting: BTreeSet<_> =
        begun.keys().filter(|(_, waits)| *waits).map(|([line, ..], _)| *line).collect();
    let marked = (1..).zip(source.lines()).filter(|(_, line)| line.ends_with("// waits"));
    assert_eq!(waiting, marked.map(|(line, _)| line).collect());
}

/// A file as an editor of another system leaves it, and a macro of another file.
#[test]
fn places_are_those_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.rs");
    let text = "\u{feff}#[macro_use]\r\nmod other;\r\n#[calls::profiled]\r\nmod code {\r\n\
        \tpub fn f() -> usize {\r\n\
        \t\tlet été = \"日本\"; let x = été.chars().map(|c| c.len_utf8()).sum::<usize>();\r\n\
        \t\tif x > 5 {\r\n\t\t\t/* ß */ return x;\r\n\t\t} x + 1\r\n\t}\r\n}\r\n\
        spread!(g { let x = 1; assert!(x > 0); });\r\nfn main() { code::f(); g() }\r\n";
    std::fs::write(&file, text).unwrap();
    let other = "macro_rules! spread {\n    ($name:ident $body:block) => {\n        \
        #[calls::profiled]\n        fn $name() $body\n    };\n}\n";
    std::fs::write(folder.path().join("other.rs"), other).unwrap();
    let begun = recorded(&Program { file, edition: NEWEST.to_owned() });
    let elsewhere = ([4, 9, other.find("fn").unwrap(), 0], false);
    assert_eq!(begun.get(&elsewhere), Some(&2), "the place of their function");
    let begun = begun.into_keys().filter(|place| *place != elsewhere);
    let statements = begun.map(|([line, column, offset, size], _)| {
        // An editor does not count the mark either.
        let line_and_column = place_of(&text['\u{feff}'.len_utf8()..], offset - 3);
        assert_eq!(line_and_column, (line as u64, column as u64));
        &text[offset..offset + size]
    });
    let expected = [
        "let été = \"日本\";",
        "let x = été.chars().map(|c| c.len_utf8()).sum::<usize>();",
        "c.len_utf8()",
        "if x > 5 {\r\n\t\t\t/* ß */ return x;\r\n\t\t}",
        "return x;",
    ];
    assert_eq!(statements.collect::<Vec<_>>(), expected);
}

/// A file with items of every form.
const ITEMS: &str = include_str!("common/items.txt");

/// The page of `#[traced]` has a command: after it, each function is in the log, called or not.
#[test]
fn the_command_of_the_page_reaches_each_item() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program, log] =
        ["items.rs", "items", "items.log"].map(|name| folder.path().join(name));
    std::fs::write(&source, ITEMS).unwrap();
    // The macros are a package of their own, next to an unpacked one.
    let mut pages = ["macros", "../mps-calls-macros"]
        .map(|macros| Path::new(env!("CARGO_MANIFEST_DIR")).join(macros).join("src/lib.rs"))
        .into_iter()
        .filter_map(|page| std::fs::read_to_string(page).ok());
    let page = pages.next().expect("the source of calls-macros").replace("\n///   ", "\n");
    let command = page.split_once("sed -Ei ").unwrap().1.split_once(" FILE\n").unwrap().0;
    run(Command::new("sh").arg("-c").arg(format!("sed -Ei {command} \"$0\"")).arg(&source));
    let written = std::fs::read_to_string(&source).unwrap();
    assert_eq!(written.lines().count(), ITEMS.lines().count(), "lines stay where they are");
    let options = ["--edition=2024", "-Adead_code", "--crate-name=items"];
    compile(&source, &program, ("calls", &library("calls")), &options);
    output(
        &program,
        &[
            ("MPS_TELEMETRY_FILENAME", log.as_os_str()),
            ("MPS_TELEMETRY_CONTROL", OsStr::new("Call")),
        ],
    );
    let log = eventlog::reader::Log::open(&log).unwrap();
    let mut names = BTreeSet::new();
    let filter = eventlog::reader::Filter::new().event("Intern");
    log.events(eventlog::reader::Order::File, &filter).each(|event| {
        if let Some(eventlog::reader::Value::S(name)) = event.param("string") {
            names.insert(String::from_utf8_lossy(name).into_owned());
        }
    });
    for name in [
        "plain",
        "raw",
        "both",
        "foreign",
        "later",
        "Cart::add",
        "Area::area",
        "Risky::risk",
        "inner::deep",
        "inner::inmost::deeper",
        "type::there",
        "main",
    ] {
        assert!(names.contains(&format!("items::{name}")), "{name}: {names:?}");
    }
    assert!(names.contains("<items::Cart as items::Area>::area"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("known")), "{names:?}");
}
