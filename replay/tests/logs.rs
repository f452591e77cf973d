//! Tests of logs and saved operations on the command line: output, refusals, exit codes.
//!
//! ```text
//!  golden logs of the MPS ─▶ replay show │ compile ─▶ text, JSON, faults, exit code
//! ```
//!
//! Design: `.rep.source`, `.rep.file`, `.rep.exit` in `design/replay.md`.

#[path = "report/design.rs"]
#[allow(dead_code, reason = "other tests compare titles and pages")]
mod design;

use design::stated;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, str};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn replay(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command.args(words);
    command
}

/// Returns standard output, standard error, and the exit code.
fn run(command: &mut Command) -> (String, String, i32) {
    let Output { stdout, stderr, status } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), status.code().unwrap())
}

fn json(words: &[&str]) -> serde_json::Value {
    let (out, errors, code) = run(replay(&["show", "--json"]).args(words));
    assert_eq!(code, 0, "{errors}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_log_of_the_mps_is_shown_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("mpmss.ops");
    let (log, saved) = (golden("mps/mpmss-cut.log"), saved.to_str().unwrap());
    let log = log.to_str().unwrap();
    let (out, errors, code) = run(&mut replay(&["compile", log, "-o", saved]));
    assert_eq!((errors.as_str(), code), ("", 0));
    assert!(out.contains("mpmss.ops: 1938 events: "), "{out}");
    // `.rep.show`: PoolAlloc and PoolFree as `eventcnv stats` counts them.
    let (of_log, of_saved) = (json(&[log]), json(&[saved]));
    for key in ["allocation_count", "free_count", "left_count", "live_peak", "sizes", "lifetimes"] {
        assert_eq!(of_log[key], of_saved[key], "{key}");
    }
    assert_eq!(
        (of_log["allocation_count"].as_u64(), of_log["free_count"].as_u64()),
        (Some(1059), Some(879))
    );
    assert_eq!(of_log["left_count"].as_u64(), Some(180));
    for name in ["sizes", "live", "lifetimes", "threads", "pools"] {
        let table: &[&str] =
            if name == "sizes" { &["replay show"] } else { &["replay show", name] };
        let members = of_log[name][0].as_object().expect("a row").keys();
        let mut fields = stated(table);
        fields.sort();
        assert_eq!(members.cloned().collect::<Vec<_>>(), fields, "{name}");
    }
    let (out, _, code) = run(&mut replay(&["show", saved]));
    assert!(code == 0 && out.contains("allocations           1,059"), "{out}");
    let larger = folder.path().join("larger.ops");
    let larger = larger.to_str().unwrap();
    let (_, _, code) = run(&mut replay(&["compile", saved, "--round-size=64", "-o", larger]));
    assert_eq!(code, 0);
    let (small, large) = (json(&[saved]), json(&[larger]));
    assert_eq!(small["allocation_count"], large["allocation_count"]);
    assert_eq!(
        (&small["sizes"][0]["up_to_bytes"], &large["sizes"][0]["up_to_bytes"]),
        (&8.into(), &64.into())
    );
}

#[test]
fn modifications_are_done_and_printed() {
    let log = golden("mps/mpmss-cut.log");
    let log = log.to_str().unwrap();
    let large = json(&[log, "--keep-size", "64K.."]);
    let small = json(&[log, "--drop-size", "64K.."]);
    let whole = json(&[log])["allocation_count"].as_u64().unwrap();
    let count = |shown: &serde_json::Value| shown["allocation_count"].as_u64().unwrap();
    assert!(count(&large) > 0 && count(&large) + count(&small) == whole);
    let copies = json(&[log, "--copies", "3"]);
    assert_eq!((count(&copies), copies["thread_count"].as_u64()), (whole * 3, Some(3)));
    let (out, _, _) = run(&mut replay(&["show", log, "--scale-size=2", "--drop-free=100%"]));
    assert!(out.starts_with("modified: --scale-size 2 --drop-free 100%\n"), "{out}");
}

#[test]
fn a_file_is_not_overwritten_and_a_pipe_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ops");
    let saved = path.to_str().unwrap();
    fs::write(&path, "mine").unwrap();
    let log = golden("mps/labels.log");
    let words = ["compile", "-", "-o", saved];
    let from = || Stdio::from(fs::File::open(&log).unwrap());
    let (_, errors, code) = run(replay(&words).stdin(from()));
    assert!(code == 2 && errors.contains("already exists"), "{errors}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let (_, errors, code) = run(replay(&words).arg("--force").stdin(from()));
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("standard input: note: 5 objects that were not freed"), "{errors}");
    let mut cat = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let (out, _, code) = run(replay(&["show", "-"]).stdin(cat.stdout.take().unwrap()));
    cat.wait().unwrap();
    assert!(code == 0 && out.contains("pools                 4"), "{out}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_unreadable_file_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("text"), "no log").unwrap();
    fs::write(at("empty"), "").unwrap();
    // The registries of a log, without its events.
    let log = fs::read(golden("log/heap.log")).unwrap();
    fs::write(at("registries"), &log[..4096]).unwrap();
    for (name, message) in [
        ("none", "No such file"),
        ("text", "is not a log"),
        ("empty", "is empty"),
        ("registries", "has no events of allocation (it has the registries heap, telemetry)"),
        ("", "is a directory"),
    ] {
        let (out, errors, code) = run(&mut replay(&["show", &at(name)]));
        assert_eq!((out.as_str(), code), ("", 2), "{name}");
        assert!(errors.lines().last().unwrap().contains(message), "{name}: {errors}");
    }
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    // `.rep.file.damage`
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ops");
    let saved = path.to_str().unwrap();
    let log = golden("mps/mpmss-32bit-cut.log");
    let (_, _, code) = run(&mut replay(&["compile", log.to_str().unwrap(), "-o", saved]));
    assert_eq!(code, 0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 30_000]).unwrap();
    let (_, errors, code) = run(&mut replay(&["show", saved]));
    assert_eq!(code, 1);
    assert!(errors.contains("the log ends within this block"), "{errors}");
}

/// An `eventdef.h` with the event types of version 1.6.1.
fn header_1_6_1() -> String {
    let (mut list, mut params) = (String::new(), String::new());
    let rows = fs::read_to_string(golden("mps/registry-1.6.1.tsv")).unwrap();
    for row in rows.lines() {
        let mut columns = row.split('\t');
        let mut next = || columns.next().unwrap();
        let (code, name, kind) = (next(), next(), next());
        write!(list, " \\\n  EVENT(X, {name:19}, 0x{code}, TRUE, {kind})").unwrap();
        write!(params, "\n#define EVENT_{name}_PARAMS(PARAM, X)").unwrap();
        for (index, param) in columns.enumerate() {
            let (sort, name) = param.split_once(' ').unwrap();
            write!(params, " \\\n  PARAM(X, {index}, {sort}, {name})").unwrap();
        }
    }
    let version = [("MAJOR", 1), ("MEDIAN", 6), ("MINOR", 1)]
        .map(|(part, number)| format!("#define EVENT_VERSION_{part} ((unsigned){number})\n"));
    format!("{}#define EVENT_LIST(EVENT, X){list}\n{params}\n", version.concat())
}

#[test]
fn a_log_of_another_mps_is_read_with_its_eventdef_h() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("eventdef.h");
    fs::write(&header, header_1_6_1()).unwrap();
    let log = golden("mps/mpmss-1.116-cut.log");
    let (_, errors, code) = run(&mut replay(&["show", log.to_str().unwrap()]));
    let first = errors.lines().next().unwrap();
    let asks = "pass eventdef.h of version 1.6.1 with --eventdef: code/eventdef.h of the MPS that ";
    // The message names the option of this tool, and no other tool.
    assert!(code == 2 && first.contains(asks) && !first.contains("eventcnv"), "{errors}");
    let shown = json(&[log.to_str().unwrap(), "--eventdef", header.to_str().unwrap()]);
    // PoolAlloc is 0017 and PoolFree 0018 in the output of its own mpseventcnv.
    let cnv = fs::read_to_string(golden("mps/mpmss-1.116-cut.cnv")).unwrap();
    let count = |code: &str| {
        let is_it = |line: &&str| line[17..].trim_start().starts_with(code);
        cnv.lines().filter(is_it).count() as u64
    };
    assert_eq!(shown["allocation_count"].as_u64(), Some(count("17 ")));
    let made_up = shown["skipped"][0][1].as_u64().unwrap();
    assert_eq!(shown["free_count"].as_u64(), Some(count("18 ") + made_up), "with their pool");
}
