//! A published parser: `humantime` reads durations. Its own text, with `#[path]` before each
//! function.
//!
//! ```text
//!  duration.rs ─┬─ -C instrument-coverage ─ run ─▶ llvm-cov: counts of regions ────────┐
//!               └─ #[calls::path] ─ run ─▶ log ─ walk ─▶ counts of ways, by place ─────┴─▶ equal
//! ```

use super::{compile, library_arguments};
use eventlog::reader::Log;
use lens_paths::marked::Marked;
use lens_paths::walk::Step;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tests::programs::{lines, recording, root, run};

/// Reads durations, a line each.
const PROGRAM: &str = r#"
#[allow(warnings)]
mod duration;

fn main() {
    for line in std::io::stdin().lines() {
        match duration::parse_duration(&line.unwrap()) {
            Ok(found) => println!("{} {}", found.as_nanos(), duration::format_duration(found)),
            Err(error) => println!("{error}"),
        }
    }
}
"#;

/// Words of ways that begin where a region of llvm-cov does.
const WORDS: [&str; 5] = ["then", "else", "arm", "body", "right side"];

/// Returns the text of the crate's parser.
fn text() -> String {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["metadata", "--locked", "--format-version=1"]).current_dir(root());
    let metadata: Value = serde_json::from_slice(&run(&mut cargo).stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().find(|own| own["name"] == "humantime").expect("a dependency");
    let manifest = Path::new(found["manifest_path"].as_str().unwrap());
    fs::read_to_string(manifest.with_file_name("src/duration.rs")).unwrap()
}

/// Puts the attribute before each function, on its line.
fn marked(text: &str) -> String {
    let line = |line: &str| {
        let code = line.trim_start();
        let is_function = ["fn ", "pub fn "].iter().any(|word| code.starts_with(word));
        let is_declared = code.ends_with(';');
        if is_function && !is_declared {
            format!("#[calls::path] {line}\n")
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(line).collect()
}

/// Returns durations: right ones, and many that the parser refuses.
fn input() -> String {
    let parts = [
        "1",
        "20",
        "3.5",
        "0.25",
        "7.",
        "s",
        "sec",
        "ms",
        "min",
        "h",
        "day",
        "weeks",
        "y",
        "us",
        "ns",
        " ",
        "  ",
        "x",
        "-",
        "99999999999999999999",
        "1.0000000001",
        "months",
        "M",
        "years",
    ];
    let mut seed = 3u64;
    let mut below = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % bound
    };
    let mut text = String::new();
    for _ in 0..2_000 {
        for _ in 0..below(7) {
            let bound = 15 + below(parts.len() - 14);
            text.push_str(parts[below(bound)]);
        }
        text.push('\n');
    }
    text
}

fn fed(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output
}

/// Returns a tool of the compiler's LLVM.
fn llvm(name: &str) -> Command {
    let sysroot = lines(Command::new("rustc").args(["--print", "sysroot"])).join("");
    let found = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).unwrap().flatten();
    let mut paths = found.map(|entry| entry.path().join("bin").join(name));
    let path: Option<PathBuf> = paths.find(|path| path.exists());
    Command::new(path.expect("this test needs rustup's component llvm-tools: ./test --install"))
}

/// Returns how often each region ran, by its line and column.
fn regions(program: &Path, profile: &Path) -> BTreeMap<(u64, u64), u64> {
    let data = profile.with_extension("data");
    run(llvm("llvm-profdata").args(["merge", "-sparse", "-o"]).arg(&data).arg(profile));
    let mut export = llvm("llvm-cov");
    export.args(["export", "-format=text", "-instr-profile"]).arg(&data).arg(program);
    let json: Value = serde_json::from_slice(&run(&mut export).stdout).unwrap();
    let mut found = BTreeMap::new();
    for function in json["data"][0]["functions"].as_array().unwrap() {
        let file = function["filenames"][0].as_str().unwrap();
        for region in function["regions"].as_array().unwrap() {
            let number = |at: usize| region[at].as_u64().unwrap();
            if file.ends_with("duration.rs") && number(7) == 0 {
                *found.entry((number(0), number(1))).or_default() += number(4);
            }
        }
    }
    found
}

/// Returns how often each way was taken, by its line and column, as the log tells it.
fn ways(log: &Path) -> BTreeMap<(u64, u64), u64> {
    let log = Log::open(log).unwrap();
    let marked = Marked::read(&log).unwrap();
    let program = marked.program();
    let mut found = BTreeMap::new();
    for function in program.functions() {
        for block in function.blocks() {
            found.extend(place(block.label.as_ref().unwrap()).map(|place| (place, 0)));
        }
    }
    for thread in marked.threads() {
        let walked = marked.walk(thread, &mut |step| {
            if let Step::Block(function, block) = step {
                let own = program.function(function).unwrap().block(block).unwrap();
                if let Some(place) = place(own.label.as_ref().unwrap()) {
                    *found.entry(place).or_default() += 1;
                }
            }
        });
        assert!(walked.walked.is_whole, "{walked:?}");
    }
    found
}

/// Returns the line and the column of a way that begins where a region does.
fn place(label: &str) -> Option<(u64, u64)> {
    let (place, word) = label.split_once(' ').unwrap();
    let mut numbers = place.split(':').skip(1).map(|number| number.parse().unwrap());
    WORDS.contains(&word).then(|| (numbers.next().unwrap(), numbers.next().unwrap()))
}

#[test]
fn the_ways_of_a_published_parser_are_counted_as_by_llvm_cov() {
    let folder = tempfile::tempdir().unwrap();
    let (text, input) = (text(), input());
    fs::write(folder.path().join("duration.rs"), &text).unwrap();
    let plain = compile(folder.path(), PROGRAM, &["-Cinstrument-coverage".into()]);
    let profile = folder.path().join("own.profraw");
    let mut command = Command::new(&plain);
    command.env("LLVM_PROFILE_FILE", &profile);
    let printed = fed(command, &input).stdout;
    let regions = regions(&plain, &profile);
    fs::write(folder.path().join("duration.rs"), marked(&text)).unwrap();
    let program = compile(folder.path(), PROGRAM, &library_arguments());
    let log = folder.path().join("own.log");
    let recorded = recording(Command::new(program), "all", &log);
    assert_eq!(fed(recorded, &input).stdout, printed, "the program does as before");
    let (mut count, ways) = (0, ways(&log));
    for (place, taken) in &ways {
        let line = text.lines().nth(place.0 as usize - 1).unwrap();
        // llvm-cov has no region of a block without code, or of an `else` that the text lacks.
        let code: String = line.chars().skip(place.1 as usize - 1).collect();
        if code.starts_with("{}") || code.starts_with('}') {
            continue;
        }
        // The region of a block begins with the code in it; that of a turn, with its pattern. That
        // of a `let` has the count after its value.
        let is_turn = line.contains("while ") || line.contains("for ");
        let from = if is_turn { (place.0, 0) } else { *place };
        let mut near = regions.range(from..(place.0 + 3, 0));
        assert!(near.any(|(_, count)| count == taken), "{place:?}: {taken} times");
        count += 1;
    }
    let taken = ways.values().filter(|taken| **taken > 0).count();
    assert!(count >= 70 && taken >= 80, "{count} places, {taken} taken, of {}", ways.len());
}
