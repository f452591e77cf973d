//! The manual page has all that the help has.
//!
//! ```text
//!  eventcnv man ── every command, every option, every example
//! ```
//!
//! Design: `.cnv.man` in `design/eventcnv.md`.

mod support;

use support::run;

/// Returns the text of a page without most of its escapes.
fn shown(page: &str) -> String {
    page.replace("\\-", "-")
        .replace("\\e", "\\")
        .replace("\\&", "")
        .replace("\\fB", "")
        .replace("\\fR", "")
}

/// `.cnv.man`
#[test]
fn the_manual_page_has_every_command_option_and_example() {
    let (page, code, errors) = run(&["man"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let page = shown(&String::from_utf8(page).unwrap());
    let (help, _, _) = run(&["-h"]);
    let help = String::from_utf8(help).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut count = 0;
    for command in commands.map(|line| line.split_whitespace().next().unwrap()) {
        let heading = format!(".SH \"EVENTCNV {}\"", command.to_uppercase());
        assert!(page.contains(&heading), "{heading}");
        let (help, _, _) = run(&[command, "--help"]);
        for line in String::from_utf8(help).unwrap().lines() {
            let line = line.trim_start();
            let is_option = line.starts_with("--");
            let is_example = line.starts_with("eventcnv ");
            let text = if is_option { line.split([' ', '[']).next().unwrap() } else { line };
            assert!(!(is_option || is_example) || page.contains(text), "{command}: {text}");
            count += usize::from(is_option || is_example);
        }
    }
    assert!(count > 30, "{count}");
}

/// A line of the help that begins like a request would become one.
#[test]
fn the_manual_page_uses_only_requests_of_the_man_macros() {
    let (page, _, _) = run(&["man"]);
    let is_request = |line: &str| line.starts_with('.') || line.starts_with('\'');
    for line in String::from_utf8(page).unwrap().lines().filter(|line| is_request(line)) {
        let known = [
            ".TH", ".SH", ".SS", ".TP", ".IP", ".RS", ".RE", ".nf", ".fi", ".PP", ".ie", ".el",
            ".br",
        ];
        assert!(known.iter().any(|request| line.starts_with(request)), "{line}");
    }
}
