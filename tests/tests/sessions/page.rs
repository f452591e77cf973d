//! Reads the sessions of a page, and compares output with the page.
//!
//! ```text
//!  ## 1. A crash            a session
//!  ```console
//!  $ ls -l core             a shell command; a gdb command: (gdb) telemetry status
//!  … core                   its output: … is one word that differs from run to run,
//!  …                        and alone any number of lines
//!  ```rust src/main.rs      a file that is written
//! ```
//!
//! Rules: the beginning of `design/postmortem.md`.

use std::fmt;

/// Stands for text that differs from run to run.
const ANYTHING: char = '…';

/// What a step is done by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Shell,
    Gdb,
    /// A file is written.
    File,
}

/// A command and its output; or a file and its text.
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
    let mut block = None;
    for (index, text) in page.lines().enumerate() {
        let line = index + 1;
        let Some((_, steps)) = found.last_mut() else { continue };
        let steps: &mut Vec<Step> = steps;
        let step = |prompt, command: &str| {
            let command = command.to_owned();
            Step { line, prompt, command, shown: Vec::new() }
        };
        match (block, text) {
            (None, "```console") => block = Some(Prompt::Shell),
            (None, text) if text.starts_with("```rust ") => {
                steps.push(step(Prompt::File, &text["```rust ".len()..]));
                block = Some(Prompt::File);
            }
            (Some(_), "```") => block = None,
            (Some(kind), text) => {
                let typed = [("$ ", Prompt::Shell), ("(gdb) ", Prompt::Gdb)]
                    .into_iter()
                    .filter(|_| kind == Prompt::Shell)
                    .find_map(|(mark, prompt)| Some((prompt, text.strip_prefix(mark)?)));
                match (typed, steps.last_mut()) {
                    (Some((prompt, command)), _) => steps.push(step(prompt, command)),
                    (None, Some(last)) => last.shown.push(text.to_owned()),
                    (None, None) => panic!("line {line}: output before any command"),
                }
            }
            (None, text) => {
                if let Some(title) = text.strip_prefix("## ") {
                    found.push((title.to_owned(), Vec::new()));
                }
            }
        }
    }
    found
}

/// Returns the page with the output of some steps replaced by what they printed.
pub(crate) fn corrected(page: &str, printed: &[(Step, Vec<String>)]) -> String {
    let mut lines: Vec<&str> = page.lines().collect();
    for (step, output) in printed.iter().rev() {
        let output = output.iter().map(|line| line.trim_end());
        lines.splice(step.line..step.line + step.shown.len(), output);
    }
    lines.join("\n") + "\n"
}

/// Returns lines with a form in place of each number that differs from run to run: one with a unit
/// of time or size, one with a fraction, one in a column of rates, and an address. One blank stands
/// for several. What is left must be equal: names, counts, columns.
pub(crate) fn forms(lines: &[String]) -> Vec<String> {
    let mut rates: Vec<bool> = Vec::new();
    let mut formed = Vec::new();
    // The columns of `replay play` state their unit in another column.
    let is_rate = |heading: &str| {
        ["/s", "/op"].iter().any(|unit| heading.ends_with(unit))
            || ["spread", "net"].contains(&heading)
    };
    for line in lines {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        if cells.len() != rates.len() || cells.iter().any(|cell| is_rate(cell)) {
            rates = cells.iter().map(|cell| cells.len() > 1 && is_rate(cell)).collect();
        }
        let form = |(cell, is_rate): (&&str, &bool)| form(cell, *is_rate);
        formed.push(cells.iter().zip(&rates).map(form).collect::<Vec<_>>().join(" "));
    }
    formed
}

fn form(cell: &str, is_rate: bool) -> String {
    const UNITS: [&str; 11] =
        ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "events/s", "bytes/s", "ticks"];
    let mut left = cell;
    let mut text = String::new();
    while let Some(first) = left.chars().next() {
        let size = left.find(|c: char| !c.is_alphanumeric() && !"_.,".contains(c));
        let word = left[..size.unwrap_or(left.len())].trim_end_matches(['.', ',']);
        if word.is_empty() {
            text.push(first);
            left = &left[first.len_utf8()..];
            continue;
        }
        left = &left[word.len()..];
        let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
        let unit = left.strip_prefix(' ').and_then(|after| {
            let size = after.find(|c: char| !c.is_alphanumeric() && c != '/');
            let unit = &after[..size.unwrap_or(after.len())];
            UNITS.contains(&unit).then_some(1 + unit.len())
        });
        let is_alone = text.ends_with("process ") || text.ends_with("#–");
        let differs = is_rate || is_alone || word.contains('.') || unit.is_some();
        if is_number && differs || word == "noise" {
            text.truncate(text.trim_end_matches(['+', '-', '≤']).len());
            text.push('#');
            left = left[unit.unwrap_or(0)..].trim_start_matches(['×', '%']);
        } else {
            text.push_str(&without_addresses(word));
        }
    }
    text
}

/// Replaces nine or more digits of a hexadecimal number.
fn without_addresses(word: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || ('A'..='F').contains(&c);
    let mut left = word;
    let mut text = String::new();
    while let Some(at) = left.find(is_digit) {
        let size = left[at..].find(|c| !is_digit(c)).unwrap_or(left.len() - at);
        text.push_str(&left[..at]);
        text.push_str(if size < 9 { &left[at..at + size] } else { "@" });
        left = &left[at + size..];
    }
    text + left
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
fn a_form_stands_for_what_differs_from_run_to_run() {
    let form = |line: &str| forms(&[line.to_owned()]).remove(0);
    for (line, expected) in [
        ("Job   300  1.08 ms", "Job 300 #"),
        ("Job   300  20 ms", "Job 300 #"),
        ("at:00007F2CC4000CA0 size:1001 +81.5", "at:@ size:1001 #"),
        ("12 jobs in 0.5 s, 3 s.", "12 jobs in #, #."),
        ("12 jobs, 24 bytes of process 4711", "12 jobs, 24 bytes of process #"),
        ("p50 1.5× ≤38.5–162  noise", "p50 # #–# #"),
        ("5.8 MiB–6 MiB of 3 files.txt", "#–# of 3 files.txt"),
    ] {
        assert_eq!(form(line), expected);
    }
    let table = ["slice  count  count/s", "Job      300      120", "", "a  1  2"];
    let formed = ["slice count count/s", "Job 300 #", "", "a 1 2"];
    assert_eq!(forms(&table.map(str::to_owned)), formed);
}

#[test]
fn output_replaces_what_a_page_shows() {
    let page = "```console\n$ a\nold\n$ b\n```\n";
    let steps = sessions(page).remove(0).1;
    let printed = [vec!["new".to_owned(), "more".to_owned()], vec!["c".to_owned()]];
    let printed: Vec<_> = steps.into_iter().zip(printed).collect();
    assert_eq!(corrected(page, &printed), "```console\n$ a\nnew\nmore\n$ b\nc\n```\n");
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
