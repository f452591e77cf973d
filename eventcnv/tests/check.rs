//! `eventcnv check` lists the changes between two lists of event types, and judges the new version.
//!
//! ```text
//!  old/eventdef.h ─┐
//!                  ├─ eventcnv check ──▶ a line for each difference, the verdict, exit code
//!  new/eventdef.h ─┘
//! ```

mod support;

use std::fs;
use std::path::Path;
use support::{eventcnv, golden_path, mps, run, told};
use tempfile::TempDir;

const ROWS: [&str; 3] = [
    "Alloc, 0x0001, TRUE, Object|P pool, W size",
    "Free, 0x0002, TRUE, Object|P pool",
    "Intern, 0x0005, TRUE, User|W id, S text",
];

/// Returns the text of an `eventdef.h`, in the macros of the MPS.
fn header(version: [u16; 3], rows: &[&str]) -> String {
    let mut text = "/* Event types */\n#ifndef eventdef_h\n".to_owned();
    for (part, number) in ["MAJOR", "MEDIAN", "MINOR"].iter().zip(version) {
        text += &format!("#define EVENT_VERSION_{part} ((unsigned){number})\n");
    }
    let (mut list, mut params) = (String::new(), String::new());
    for row in rows {
        let (row, all) = row.split_once('|').unwrap();
        let name = row.split(',').next().unwrap();
        list += &format!(" \\\n  EVENT(X, {row}) /* {name} */");
        params += &format!("#define EVENT_{name}_PARAMS(PARAM, X)");
        for (index, param) in all.split(", ").enumerate() {
            let (sort, name) = param.split_once(' ').unwrap();
            params += &format!(" \\\n  PARAM(X, {index}, {sort}, {name}, \"the {name}\")");
        }
        params.push('\n');
    }
    format!("{text}#define EVENT_LIST(EVENT, X){list}\n{params}#endif\n")
}

/// Compares two headers. Returns standard output, the exit code, and standard error.
fn check(a: &str, b: &str) -> (String, i32, String) {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.h"), a).unwrap();
    fs::write(directory.path().join("b.h"), b).unwrap();
    check_in(directory.path(), &["a.h", "b.h"])
}

fn check_in(directory: &Path, names: &[&str]) -> (String, i32, String) {
    let mut command = eventcnv(&[&["check"], names].concat());
    let (found, code, errors) = told(command.current_dir(directory).output().unwrap());
    (String::from_utf8(found).unwrap(), code, errors)
}

fn with(row: &'static str) -> Vec<&'static str> {
    [&ROWS[..], &[row]].concat()
}

const NEW: &str = "New, 0x0003, TRUE, Ref|B isNew";

#[test]
fn a_version_is_allowed_if_high_enough_for_the_changes() {
    // `.sol.version.check`
    let old = header([2, 3, 4], &ROWS);
    let changed = ["Alloc, 0x0001, TRUE, Object|P pool, A size", ROWS[1], ROWS[2]];
    let gone = [ROWS[0], ROWS[2]];
    let same = ROWS.to_vec();
    for (rows, version, expected) in [
        (&same, [2, 3, 4], "mps 2.3.4: the same\n"),
        (&same, [2, 3, 5], "  allowed: no change needs a version above 2.3.4\n"),
        (&same, [2, 3, 3], "  not allowed: 2.3.3 is below 2.3.4; is B the older one?\n"),
        (&with(NEW), [2, 3, 4], "  not allowed: this needs 2.3.5 or above\n"),
        (&with(NEW), [2, 3, 5], "  allowed: this needs 2.3.5 or above\n"),
        (&with(NEW), [3, 0, 0], "  allowed: this needs 2.3.5 or above\n"),
        (&changed.to_vec(), [2, 3, 5], "  not allowed: this needs 2.4.0 or above\n"),
        (&changed.to_vec(), [2, 4, 0], "  allowed: this needs 2.4.0 or above\n"),
        (&gone.to_vec(), [2, 3, 9], "  not allowed: this needs 2.4.0 or above\n"),
    ] {
        let (found, code, errors) = check(&old, &header(version, rows));
        assert!(found.ends_with(expected), "{version:?}: {found}");
        assert_eq!((code, &*errors), (i32::from(expected.contains("not allowed")), ""), "{found}");
    }
}

#[test]
fn differences_are_listed_with_the_most_severe_first() {
    let rows = [
        NEW,
        "Alloc, 0x0001, TRUE, Seg|P pool, W size",
        "Freed, 0x0002, TRUE, Object|P pool",
        "Intern, 0x0005, FALSE, User|W id, S text",
    ];
    let (found, code, _) = check(&header([2, 0, 0], &ROWS), &header([2, 0, 1], &rows));
    let expected = "\
mps 2.0.0 -> 2.0.1
  changed    0001  Alloc   its kind is Seg, was Object
  changed    0002  Freed   its code was Free's
  added      0003  New     Ref(B isNew)
  retired    0005  Intern  is not recorded any more
  not allowed: this needs 2.1.0 or above
";
    assert_eq!((&*found, code), (expected, 1));
}

/// Writes the files that the examples in the help name.
fn files_of_examples(directory: &Path) {
    for name in ["old", "new"] {
        fs::create_dir(directory.join(name)).unwrap();
        let header = golden_path("eventdef").join(name).with_extension("h");
        fs::copy(header, directory.join(name).join("eventdef.h")).unwrap();
    }
    for name in ["release.log", "mpsio.log", "old.log"] {
        fs::copy(mps("labels.log"), directory.join(name)).unwrap();
    }
}

#[test]
fn the_examples_in_the_help_work() {
    let help = String::from_utf8(run(&["check", "--help"]).0).unwrap();
    let examples = help.split_once("Examples:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let directory = TempDir::new().unwrap();
    files_of_examples(directory.path());
    let mut count = 0;
    for example in examples.lines() {
        let command = example.trim_start().split("  ").next().unwrap();
        let program = env!("CARGO_BIN_EXE_eventcnv");
        let command = command.replace("eventcnv", program);
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &command]).current_dir(directory.path());
        let (found, code, errors) = told(shell.output().unwrap());
        let found = String::from_utf8(found).unwrap();
        assert_eq!((code, &*errors), (0, ""), "{example}: {found}");
        assert!(found.starts_with("mps "), "{example}: {found}");
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn a_file_that_cannot_be_compared_is_named() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    files_of_examples(path);
    let mut other = fs::read(mps("labels.log")).unwrap();
    other[16] = 1; // The major version, in EventInit.
    for (name, bytes) in [
        ("none.h", &b"int main(void) { return 0; }\n"[..]),
        ("half.h", &header([2, 0, 0], &ROWS).as_bytes()[..260]),
        ("empty", b""),
        ("zeros", &[0; 5000]),
        ("large.h", &vec![b' '; (1 << 20) + 1]),
        ("other.log", &other),
    ] {
        fs::write(path.join(name), bytes).unwrap();
    }
    let header = "old/eventdef.h";
    for (name, expected) in [
        ("none.h", "EVENT_VERSION_MAJOR: is not defined: is this an eventdef.h"),
        ("half.h", "Alloc: its parameters are not defined"),
        ("empty", "empty: "),
        ("zeros", "zeros: "),
        ("large.h", "is larger than any eventdef.h"),
        ("other.log", "a log of telemetry version 1.0.0"),
        ("missing", "missing: No such file"),
        ("old", "old: is a directory"),
    ] {
        for names in [[name, header], [header, name]] {
            let (found, code, errors) = check_in(path, &names);
            assert_eq!((&*found, code), ("", 2), "{name}: {errors}");
            assert!(errors.contains(expected) && errors.lines().count() == 1, "{name}: {errors}");
        }
    }
    assert_eq!(check_in(path, &["-", "-"]).1, 2);
}
