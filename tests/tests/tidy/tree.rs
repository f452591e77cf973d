//! The files of the repository, as the other rules read them.
//!
//! ```text
//!  walk ──▶ [File { path, text }] ──▶ lines, code (comments and strings blanked), test part
//! ```
//!
//! Rules: `ARCHITECTURE.md`, Invariants.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file of the repository: its path from the root, with `/`, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Directories without files of the repository.
const SKIPPED: [&str; 3] = ["target", ".git", "corpus"];
/// The endings of hand-written text. Golden files are evidence, not prose.
const EXTENSIONS: [&str; 7] = ["rs", "md", "toml", "py", "sh", "yml", "stderr"];

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the root").to_path_buf()
}

/// Returns every text file of the repository.
pub(crate) fn files() -> Vec<File> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 20, "the walk found only {} files", found.len());
    found
}

/// Returns every Rust file of the repository.
pub(crate) fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

/// Returns the text of one file; empty if the file is missing.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn walk(directory: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(directory).expect("a directory of the repository is readable") {
        let path = entry.expect("an entry is readable").path();
        // A link leads to a file that the walk finds in its own place.
        if path.is_symlink() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                walk(&path, found);
            }
        } else if is_ours(&name) {
            let relative = path.strip_prefix(root()).expect("below the root");
            let path_text = relative.to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(&path).expect("our files are UTF-8");
            found.push(File { path: path_text, text });
        }
    }
}

fn is_ours(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.contains(&extension),
        None => name == "run" || name == "test",
    }
}

impl File {
    /// Returns lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Returns lines with their numbers, without comments and the insides of strings.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, String)> {
        self.lines().map(|(number, line)| (number, without_comment(line)))
    }

    /// Returns whether the file is compiled for tests alone.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.starts_with("tests/")
    }

    /// Returns the line number where the unit tests begin; without tests, one past the last line.
    pub(crate) fn tests_begin(&self) -> usize {
        let is_mark = |line: &str| line.trim_end() == "#[cfg(test)]";
        self.lines()
            .find(|(_, line)| is_mark(line))
            .map_or(self.text.lines().count() + 1, |(number, _)| number)
    }
}

/// Returns a line without its line comment, and without the insides of its strings and characters.
pub(crate) fn without_comment(line: &str) -> String {
    let mut code = String::new();
    let mut characters = line.chars().peekable();
    let mut in_string = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' if in_string => drop(characters.next()),
            '"' => {
                in_string = !in_string;
                code.push(c);
            }
            _ if in_string => {}
            '/' if characters.peek() == Some(&'/') => break,
            '\'' => skip_character(&mut characters, &mut code),
            _ => code.push(c),
        }
    }
    code
}

/// Skips a character literal after an apostrophe, and keeps a lifetime.
fn skip_character(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, code: &mut String) {
    let ahead: Vec<char> = rest.clone().take(12).collect();
    let end = match ahead.first() {
        // The escaped character may be a quote: the search for the closing one skips it.
        Some('\\') => ahead.iter().skip(2).position(|c| *c == '\'').map(|n| n + 2),
        _ => ahead.get(1).filter(|c| **c == '\'').map(|_| 1),
    };
    match end {
        Some(end) => drop(rest.nth(end)),
        None => code.push('\''),
    }
}

/// Fails with every breach, each on its own line, and the rule that they break.
pub(crate) fn judge(rule: &str, breaches: Vec<String>) {
    assert!(breaches.is_empty(), "{rule}\n  {}\n", breaches.join("\n  "));
}

#[test]
fn the_rule_skips_comments_strings_and_characters() {
    assert_eq!(without_comment(r#"a("x // \" y") // c"#), r#"a("") "#);
    assert_eq!(without_comment(r"f('\'', '\\', '{', 'x')"), "f(, , , )");
    assert_eq!(without_comment("fn f<'a>(x: &'a str)"), "fn f<'a>(x: &'a str)");
}
