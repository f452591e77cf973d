//! The greatest sizes of lines, functions and macros.
//!
//! ```text
//!  line 100 columns · function 70 lines · macro 60
//! ```
//!
//! A reader can hold a page of code in mind. A file is as long as its idea.

use super::tree::{File, files, judge, rust_files};

const LINE_COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const MACRO_LINES_MAX: usize = 60;
/// Tables: a registry is as long as its list of event types.
const TABLES: [&str; 1] = ["eventdef/src/mps/mod.rs"];

#[test]
fn no_line_is_longer_than_100_columns() {
    let mut breaches = Vec::new();
    for file in rust_files().iter().chain(&scripts()).filter(|file| !is_table(file)) {
        let long = file.lines().filter(|(_, line)| line.chars().count() > LINE_COLUMNS_MAX);
        breaches.extend(long.map(|(number, line)| {
            format!("{}:{number}: {} columns", file.path, line.chars().count())
        }));
    }
    judge("A line has at most 100 columns.", breaches);
}

#[test]
fn no_line_of_a_design_document_is_longer_than_100_columns() {
    let mut breaches = Vec::new();
    for page in files().iter().filter(|file| file.path.starts_with("design/")) {
        let mut is_verbatim = false;
        for (number, line) in page.lines() {
            is_verbatim ^= line.starts_with("```");
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX && !is_verbatim && !line.starts_with('|') {
                breaches.push(format!("{}:{number}: {columns} columns", page.path));
            }
        }
    }
    judge("A line of prose has at most 100 columns; tables and examples may have more.", breaches);
}

/// Returns the Python scripts of gdb and of its tests.
fn scripts() -> Vec<File> {
    let all: Vec<File> = files().into_iter().filter(|file| file.path.contains("gdb/")).collect();
    let scripts: Vec<File> = all.into_iter().filter(|file| file.path.ends_with(".py")).collect();
    assert!(scripts.len() > 10, "only {} scripts were found", scripts.len());
    scripts
}

#[test]
fn no_function_is_longer_than_70_lines_and_no_macro_than_60() {
    let mut breaches = Vec::new();
    for file in rust_files().iter() {
        for (number, what, lines) in items(file) {
            let is_macro = what.starts_with("macro_rules!");
            let max = if is_macro { MACRO_LINES_MAX } else { FUNCTION_LINES_MAX };
            if lines > max {
                breaches.push(format!("{}:{number}: {lines} lines: {what}", file.path));
            }
        }
    }
    judge("A function has at most 70 lines, a macro 60.", breaches);
}

fn is_table(file: &File) -> bool {
    TABLES.contains(&file.path.as_str())
}

/// Returns functions and macros: line number, first line, number of lines. The formatter puts the
/// closing brace below the beginning of the item.
fn items(file: &File) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| begins_item(line)) {
        let indent = line.len() - line.trim_start().len();
        let closing = format!("{}}}", " ".repeat(indent));
        let rest = lines.get(index + 1..).unwrap_or_default();
        let is_end = |l: &&str| **l == closing || l.trim_end().ends_with("; }");
        let one_line = line.trim_end().ends_with('}') || line.trim_end().ends_with(';');
        let size = if one_line { 1 } else { rest.iter().position(is_end).map_or(1, |n| n + 2) };
        found.push((index + 1, line.trim().to_owned(), size));
    }
    found
}

fn begins_item(line: &str) -> bool {
    const BEFORE_FN: [&str; 6] = ["pub", "const", "unsafe", "async", "extern", "default"];
    let mut words = line.split_whitespace();
    let is_qualifier = |word: &&str| {
        let word = word.split('(').next().unwrap_or_default();
        BEFORE_FN.contains(&word) || word == "\"C\""
    };
    let first = words.find(|word| !is_qualifier(word)).unwrap_or_default();
    first == "fn" || first == "macro_rules!"
}

#[test]
fn the_rule_measures_an_item_to_its_closing_brace() {
    let function = "pub(crate) const fn a() {\n    b(|| {\n    });\n}\n";
    let text = format!("{function}fn c() {{}}\nmacro_rules! d {{\n    () => {{}};\n}}\n");
    let file = File { path: "x.rs".into(), text };
    let sizes: Vec<usize> = items(&file).into_iter().map(|(_, _, size)| size).collect();
    assert_eq!(sizes, [4, 1, 3]);
}
