//! Reads the sessions of the page, and compares output with the page.
//!
//! ```text
//!  ## 1. A crash            a session
//!  ```console
//!  $ ls -l core             a shell command; a gdb command: (gdb) telemetry status
//!  … core                   its output: … is one word that differs from run to run,
//!  …                        and alone any number of lines
//! ```
//!
//! Rules: the beginning of `design/postmortem.md`.

use std::fmt;

/// Stands for text that differs from run to run.
const ANYTHING: char = '…';

/// The program that reads a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Shell,
    Gdb,
}

/// A command and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The line number in the page.
    pub(crate) line: usize,
    pub(crate) prompt: Prompt,
    pub(crate) command: String,
    pub(crate) shown: Vec<String>,
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, `{}`", self.line, self.command)
    }
}

/// Returns the steps of each part of a page, by title; the text before the first part has none.
pub(crate) fn sessions(page: &str) -> Vec<(String, Vec<Step>)> {
    let mut found = vec![(String::new(), Vec::new())];
    let mut is_console = false;
    for (index, text) in page.lines().enumerate() {
        let Some((_, steps)) = found.last_mut() else { continue };
        let steps: &mut Vec<Step> = steps;
        match (is_console, text) {
            (false, "```console") => is_console = true,
            (true, "```") => is_console = false,
            (true, text) => {
                let typed = [("$ ", Prompt::Shell), ("(gdb) ", Prompt::Gdb)]
                    .into_iter()
                    .find_map(|(mark, prompt)| Some((prompt, text.strip_prefix(mark)?.to_owned())));
                match (typed, steps.last_mut()) {
                    (Some((prompt, command)), _) => {
                        steps.push(Step { line: index + 1, prompt, command, shown: Vec::new() });
                    }
                    (None, Some(step)) => step.shown.push(text.to_owned()),
                    (None, None) => panic!("line {}: output before any command", index + 1),
                }
            }
            (false, text) => {
                if let Some(title) = text.strip_prefix("## ") {
                    found.push((title.to_owned(), Vec::new()));
                }
            }
        }
    }
    found
}

/// Returns whether lines equal the page, apart from blanks at their ends.
pub(crate) fn is_as_shown(shown: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return printed.is_empty() };
    if first.chars().eq([ANYTHING]) {
        return (0..=printed.len()).any(|count| is_as_shown(rest, &printed[count..]));
    }
    printed.split_first().is_some_and(|(line, after)| {
        is_line_as_shown(first.trim_end(), line.trim_end()) && is_as_shown(rest, after)
    })
}

/// Returns whether a line equals the page. Blanks before three dots are any number of blanks, as
/// numbers of any length stand to the right of a column.
fn is_line_as_shown(shown: &str, printed: &str) -> bool {
    let Some((before, after)) = shown.split_once(ANYTHING) else { return shown == printed };
    let Some(rest) = printed.strip_prefix(before.trim_end()) else { return false };
    // At the beginning of a line there may be none.
    if !before.trim_end().is_empty() && rest.starts_with(' ') != before.ends_with(' ') {
        return false;
    }
    let rest = rest.trim_start();
    let word_size = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.take_while(|end| *end <= word_size).any(|end| is_line_as_shown(after, &rest[end..]))
}

#[test]
fn the_parser_finds_the_commands_and_their_output() {
    let page = "```console\n$ a\n```\n## One\ntext\n```console\n$ b c\nd\n\n(gdb) e\n…\n```\n";
    let step = |line, prompt, command: &str, shown: &[&str]| Step {
        line,
        prompt,
        command: command.to_owned(),
        shown: shown.iter().copied().map(str::to_owned).collect(),
    };
    let one = vec![step(7, Prompt::Shell, "b c", &["d", ""]), step(10, Prompt::Gdb, "e", &["…"])];
    let expected =
        [(String::new(), vec![step(2, Prompt::Shell, "a", &[])]), ("One".to_owned(), one)];
    assert_eq!(sessions(page), expected);
}

#[test]
fn three_dots_match_one_word_and_alone_any_lines() {
    let judge = |shown: &str, printed: &str| {
        let [shown, printed] =
            [shown, printed].map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        is_as_shown(&shown, &printed)
    };
    for (shown, printed) in [
        ("", ""),
        ("a b", "a b  "),
        ("a … c", "a b c"),
        ("process …, died", "process 4711, died"),
        ("…[\"x\"] …:…", "00AB[\"x\"] y:7"),
        ("   … s", "-26.9 s"),
        ("a   … s", "a -26.9 s"),
        ("…", ""),
        ("…\nlast", "first\nsecond\nlast"),
        ("first\n…\nlast\n…", "first\nlast"),
    ] {
        assert!(judge(shown, printed), "{shown:?} does not match {printed:?}");
    }
    for (shown, printed) in [
        ("", "a"),
        ("a", ""),
        ("a … c", "a c"),
        ("a… c", "a b c"),
        ("a … c", "a b b c"),
        ("x…", "x"),
        ("a", "a\nb"),
        ("…\nlast", "last\nmore"),
    ] {
        assert!(!judge(shown, printed), "{shown:?} matches {printed:?}");
    }
}
