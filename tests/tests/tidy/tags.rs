//! Code and tests cite each tag of the design, and the design defines each cited tag.
//!
//! ```text
//!  design/format.md `.block.crc` ◀── the code that obeys the sentence
//!                                ◀── the test that checks the code
//! ```
//!
//! A tag names one testable statement of `design/format.md` or one decision on the pages of
//! `design/telemetry/`, which `design/telemetry.md` lists.

use super::tree::{File, files, judge, read, rust_files};
use std::collections::BTreeSet;

/// Endings of paths that look like a tag.
const NOT_TAGS: [&str; 12] =
    [".log", ".cnv", ".txt", ".rs", ".md", ".tsv", ".h", ".py", ".toml", ".json", ".gz", ".so"];
/// The crates whose sources implement the format.
const CODE: [&str; 4] = ["eventdef/src/", "eventlog/src/", "telemetry/src/", "eventcnv/src/"];

/// The requirements, decisions and rules of the MPS's telemetry system, which hold here too.
const REQUIREMENTS: [&str; 17] = [
    ".req.simple",
    ".req.open",
    ".req.multi",
    ".req.share",
    ".req.version",
    ".req.back",
    ".req.type",
    ".req.port",
    ".req.control",
    ".req.examine",
    ".req.pm",
    ".req.perf",
    ".req.small",
    ".req.avail",
    ".req.impl",
    ".req.robust",
    ".req.intern",
];
const SOLUTIONS: [&str; 17] = [
    ".sol.format",
    ".sol.struct",
    ".sol.string",
    ".sol.relation",
    ".sol.dumper",
    ".sol.kind",
    ".sol.control",
    ".sol.variety",
    ".sol.buffer",
    ".sol.traceback",
    ".sol.client",
    ".sol.head",
    ".sol.version",
    ".sol.exit",
    ".sol.block",
    ".sol.code",
    ".sol.msg",
];
const RULES: [&str; 31] = [
    ".annot",
    ".annot.param",
    ".annot.string",
    ".annot.type",
    ".control",
    ".control.buffer",
    ".control.env",
    ".control.external",
    ".control.just",
    ".control.output",
    ".control.tool",
    ".debug",
    ".debug.buffer",
    ".debug.buffer.reverse",
    ".debug.core",
    ".debug.describe",
    ".debug.dump",
    ".dumper",
    ".reg",
    ".reg.always",
    ".reg.code",
    ".reg.doc",
    ".reg.dup",
    ".reg.just",
    ".reg.kind",
    ".reg.param.doc",
    ".reg.param.name",
    ".reg.param.sort",
    ".reg.params",
    ".reg.type",
    ".replayer",
];

/// Returns the tags in a text: `.word.word` after a space, a backquote or a parenthesis, or at the
/// beginning of a line.
fn tags(text: &str, only_quoted: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    for line in text.lines() {
        for (at, _) in line.match_indices('.') {
            let before = line.get(..at).and_then(|head| head.chars().next_back()).unwrap_or(' ');
            let rest = line.get(at..).unwrap_or_default();
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (tag, after) = rest.split_at(end);
            let opens = before == '`' || !only_quoted && (before == ' ' || before == '(');
            let closes = !only_quoted || after.starts_with('`');
            let tag = tag.trim_end_matches(['.', '-']);
            let is_name = tag.get(1..2).is_some_and(|c| c.chars().all(|c| c.is_ascii_lowercase()));
            if opens && closes && is_name && !NOT_TAGS.contains(&tag) && !after.starts_with('(') {
                found.insert(tag.to_owned());
            }
        }
    }
    found
}

/// Returns the tags in the comments of a Rust file, in lines whose number satisfies a condition.
fn cited(file: &File, within: impl Fn(usize) -> bool, only_quoted: bool) -> BTreeSet<String> {
    let comments = file.lines().filter(|(number, _)| within(*number));
    let comments = comments.filter_map(|(_, line)| line.find("//").and_then(|at| line.get(at..)));
    tags(&comments.collect::<Vec<_>>().join("\n"), only_quoted)
}

/// Returns the tags that `design/format.md` defines.
fn format_tags() -> BTreeSet<String> {
    let text = read("design/format.md");
    let found = tags(&text, true);
    let colon = text.replace(":`", "`").replace("`:", "` :");
    let all: BTreeSet<String> = found.union(&tags(&colon, true)).cloned().collect();
    assert!(all.len() > 60, "design/format.md has only {} tags", all.len());
    all
}

#[test]
fn every_sentence_of_the_format_is_cited_in_code() {
    let sources = rust_files();
    let code =
        sources.iter().filter(|file| CODE.iter().any(|member| file.path.starts_with(member)));
    let cited: BTreeSet<String> =
        code.flat_map(|file| cited(file, |line| line < file.tests_begin(), false)).collect();
    let missing = format_tags().difference(&cited).cloned().collect();
    judge("These sentences of design/format.md are cited by no code.", missing);
}

#[test]
fn every_sentence_of_the_format_is_cited_in_a_test() {
    let mut checked = BTreeSet::new();
    for file in rust_files().iter().filter(|file| !file.path.starts_with("tests/tests/tidy")) {
        let begin = if file.is_test() { 0 } else { file.tests_begin() };
        checked.extend(cited(file, |line| line >= begin, false));
    }
    let missing = format_tags().difference(&checked).cloned().collect();
    judge("These sentences of design/format.md are checked by no test.", missing);
}

#[test]
fn every_tag_that_code_cites_is_in_the_design() {
    let defined: BTreeSet<String> = files()
        .iter()
        .filter(|file| file.path.starts_with("design/"))
        .flat_map(|file| tags(&file.text, false))
        .collect();
    let mut breaches = Vec::new();
    for file in rust_files().iter().filter(|file| !file.path.starts_with("tests/tests/tidy")) {
        // A tag may also stand for all tags that begin with it.
        let stands =
            |tag: &String| defined.iter().any(|known| known.starts_with(&format!("{tag}.")));
        let unknown: Vec<String> = cited(file, |_| true, true)
            .difference(&defined)
            .filter(|tag| !stands(tag))
            .cloned()
            .collect();
        breaches.extend(unknown.iter().map(|tag| format!("{}: {tag}", file.path)));
    }
    judge("These tags are cited and stand in no document of design/.", breaches);
}

#[test]
fn every_requirement_has_its_decision() {
    let decided: BTreeSet<String> =
        telemetry_pages().iter().flat_map(|page| tags(&page.text, false)).collect();
    let all = REQUIREMENTS.iter().chain(&SOLUTIONS).chain(&RULES);
    let missing = all.filter(|tag| !decided.contains(**tag)).map(|tag| (*tag).to_owned());
    judge("These tags of the requirements are not in design/telemetry/.", missing.collect());
}

/// Returns the pages that `design/telemetry.md` lists.
fn telemetry_pages() -> Vec<File> {
    let pages: Vec<File> =
        files().into_iter().filter(|file| file.path.starts_with("design/telemetry/")).collect();
    assert!(pages.len() > 5, "design/telemetry/ has only {} pages", pages.len());
    pages
}

#[test]
fn the_list_of_pages_names_the_page_of_each_tag() {
    let list = read("design/telemetry.md");
    let mut breaches = Vec::new();
    for page in telemetry_pages() {
        let link = page.path.trim_start_matches("design/");
        let row = list.lines().find(|line| line.contains(&format!("({link})")));
        let listed = tags(row.unwrap_or_default(), true);
        let has = |line: &&str| line.starts_with("### ") || line.starts_with("| `.");
        let defined = page.text.lines().filter(has).filter_map(|line| line.split('`').nth(1));
        let defined: BTreeSet<String> =
            defined.filter(|tag| tag.starts_with('.')).map(str::to_owned).collect();
        let missing = defined.difference(&listed).map(|tag| format!("{}: {tag}", page.path));
        breaches.extend(missing);
        let other = listed.iter().filter(|tag| !page.text.contains(&format!("`{tag}`")));
        breaches.extend(other.map(|tag| format!("{}: lacks {tag}", page.path)));
    }
    judge("The table of design/telemetry.md lists each tag with its page.", breaches);
}

#[test]
fn the_rule_distinguishes_a_tag_from_a_path_and_a_call() {
    let quoted = tags("`.block.crc`, x.log `.cnv` and .other", true);
    assert_eq!(quoted.into_iter().collect::<Vec<_>>(), [".block.crc"]);
    let all = tags("// .write.seal: (`.read.open`). .map(f) 0.5 a.b", false);
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [".read.open", ".write.seal"]);
}
