//! The rules for names, first lines, unfinished work, the licence, and paths of one machine.
//!
//! ```text
//!  identifiers ──▶ their words ──▶ none of them banned
//! ```
//!
//! Rules: `ARCHITECTURE.md`, Invariants.

use super::tree::{File, files, judge, read, rust_files};
use std::collections::HashSet;

/// Words that may not occur in the name of a type or file.
const EMPTY_NAMES: [&str; 6] = ["manager", "handler", "util", "utils", "misc", "helper"];
/// Words of other systems, which may not occur in any name.
const FOREIGN_NAMES: [&str; 3] = ["probe", "backend", "sink"];
/// The one exception; a file that contains this name may call a value `sink`.
const EXCEPTION: &str = "ParamSink";
/// Marks of unfinished work.
const UNDONE: [&str; 4] = ["todo!", "unimplemented!", "FIXME", "XXX"];
/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 5] = ["/root/", "/home/", "/work/", "/Users/", "C:\\"];
/// Marks of a licence text.
const LICENCE_MARKS: [&str; 4] =
    ["SPDX-", "Licensed under", "Copyright (c)", "Permission is hereby"];

/// Returns whether a file is one of these rules, which name banned words.
fn is_rule(file: &File) -> bool {
    file.path.starts_with("tests/tests/tidy")
}

/// Returns the words of an identifier: `ParamSink` and `param_sink` are both `param`, `sink`.
fn words(identifier: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut before_is_lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && before_is_lower) {
            found.push(String::new());
        }
        before_is_lower = c.is_lowercase();
        if let Some(last) = found.last_mut().filter(|_| c != '_') {
            last.extend(c.to_lowercase());
        }
    }
    found
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[test]
fn names_contain_no_empty_or_foreign_word() {
    let mut breaches = Vec::new();
    for file in rust_files().iter().filter(|file| !is_rule(file)) {
        let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if words(stem).iter().any(|word| EMPTY_NAMES.contains(&word.as_str())) {
            breaches.push(format!("{}: the file's name", file.path));
        }
        for (number, code) in file.code() {
            let is_exception = |name: &str| name == "sink" && file.text.contains(EXCEPTION);
            let banned = identifiers(&code).filter(|name| is_banned(name, &code));
            let banned = banned.filter(|name| !is_exception(name));
            breaches.extend(banned.map(|name| format!("{}:{number}: {name}", file.path)));
        }
    }
    judge("These names are empty, or another system's words.", breaches);
}

fn is_banned(name: &str, code: &str) -> bool {
    let parts = words(name);
    let is_type = name.starts_with(|c: char| c.is_uppercase()) && name.contains(char::is_lowercase);
    let is_std = name == "sink" && code.contains("io::sink");
    let has = |list: &[&str]| parts.iter().any(|part| list.contains(&part.as_str()));
    name != EXCEPTION && !is_std && (has(&FOREIGN_NAMES) || is_type && has(&EMPTY_NAMES))
}

/// Returns the name of the function that a line declares.
fn declared(code: &str) -> Option<&str> {
    let (_, rest) = code.split_once("fn ")?;
    identifiers(rest).next()
}

/// Returns whether a name begins with the number of a promise: `t3_…`, `k12_…`.
fn is_row(name: &str) -> bool {
    let row = name.split_once('_').and_then(|(row, _)| row.strip_prefix(['t', 'k']));
    row.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The tables of promises name the tests: so a test needs no number, and each one exists.
#[test]
fn promises_have_tests_that_are_not_called_after_them() {
    let (mut breaches, mut declarations) = (Vec::new(), HashSet::new());
    for file in rust_files() {
        for (number, code) in file.code() {
            let Some(name) = declared(&code) else { continue };
            if is_row(name) {
                breaches.push(format!("{}:{number}: {name}", file.path));
            }
            declarations.insert(name.to_owned());
        }
    }
    for (path, letter, count) in [("design/calls.md", 'T', 27), ("design/statements.md", 'K', 12)] {
        let text = read(path);
        for number in 1..=count {
            let row = text.lines().find(|line| line.starts_with(&format!("| {letter}{number} | ")));
            let tests = row.and_then(|row| row.trim_end_matches(" |").rsplit(" | ").next());
            let names = tests.unwrap_or_default().split('`').skip(1).step_by(2);
            let missing = names.clone().filter(|name| !declarations.contains(*name));
            breaches
                .extend(missing.map(|name| format!("{path}: {letter}{number}: no test {name}")));
            if names.count() == 0 {
                breaches.push(format!("{path}: {letter}{number}: no test"));
            }
        }
    }
    judge("A promise has a test, in the table of its design page.", breaches);
    assert!(is_row("t3_memory") && is_row("k12_modes") && !is_row("take_t3") && !is_row("t_3"));
}

#[test]
fn no_file_has_a_mark_of_unfinished_work() {
    find("Nothing is left undone in the tree.", &UNDONE, |file| file.path.ends_with(".rs"));
}

#[test]
fn no_file_has_a_path_of_one_machine() {
    find("A path of one machine means nothing on another.", &MACHINE_PATHS, |_| true);
}

#[test]
fn one_file_alone_has_the_licence() {
    find("The licence is in LICENSE, and nowhere else.", &LICENCE_MARKS, |_| true);
    assert!(super::tree::root().join("LICENSE").is_file(), "LICENSE is missing");
}

/// Checks that none of the marks occurs in the selected files.
fn find(rule: &str, marks: &[&str], looked_at: fn(&File) -> bool) {
    let mut breaches = Vec::new();
    for file in files().iter().filter(|file| looked_at(file) && !is_rule(file)) {
        for (number, line) in file.lines() {
            let found = marks.iter().filter(|mark| line.contains(**mark));
            breaches.extend(found.map(|mark| format!("{}:{number}: {mark}", file.path)));
        }
    }
    judge(rule, breaches);
}

#[test]
fn the_first_line_of_a_file_describes_the_file() {
    let mut breaches = Vec::new();
    for file in files().iter().filter(|file| !file.path.ends_with(".stderr")) {
        if !says_what_it_is(file) {
            let first = file.text.lines().next().unwrap_or_default();
            breaches.push(format!("{}: {first}", file.path));
        }
    }
    judge("The first line of a file describes the file.", breaches);
}

fn says_what_it_is(file: &File) -> bool {
    let mut lines = file.text.lines();
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    match file.path.rsplit('.').next().unwrap_or_default() {
        "rs" => (first.starts_with("//! ") || first.starts_with("// ")) && first.len() > 20,
        "md" => first.starts_with("# "),
        "py" => first.starts_with("#!") && second.starts_with("\"\"\"") && second.len() > 20,
        "toml" | "yml" => true,
        _ => first.starts_with("#!") && second.starts_with("# "),
    }
}

#[test]
fn the_rule_splits_an_identifier_into_words() {
    assert_eq!(words("ParamSink"), ["param", "sink"]);
    assert_eq!(words("block_size_max"), ["block", "size", "max"]);
    assert_eq!(words("SEALED"), ["sealed"]);
    assert!(
        is_banned("EventHandler", "") && is_banned("my_probe", "") && !is_banned("ParamSink", "")
    );
}
