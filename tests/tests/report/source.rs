//! The tab of source, used as a person does: clicks, keys, words to search, files that changed.
//!
//! ```text
//!  text of a program ── statements ──▶ Maker ──▶ log ── eventcnv report ──▶ page ── chromium ─┐
//!                                            └── eventcnv lines --csv ──▶ the same numbers ───┘
//! ```
//!
//! Rules: `.cnv.report.source` in `design/eventcnv.md`.

use super::calls::page_with;
use super::events;
use crate::{Page, READY_MAX};
use eventdef::field::P;
use events::StatementSum;
use made::{log, place_in, sum};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tests::programs::{eventcnv, run};

/// The log of a shop, as the tests of the command make it.
#[path = "../../../eventcnv/tests/lines/made.rs"]
#[allow(dead_code, reason = "those tests use the rest")]
mod made;

/// Bytes of the page of a log with statements, at most.
const SIZE_MAX: u64 = 12_000_000;
/// What each test does on the page.
const STEPS: &str = include_str!("source.js");

/// A directory with a log and source files.
struct Program {
    directory: tempfile::TempDir,
    log: PathBuf,
}

impl Program {
    fn new(log: &[u8]) -> Program {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("run.log");
        fs::write(&path, log).expect("the log can be written");
        Program { directory, log: path }
    }

    fn file(self, name: &str, text: impl AsRef<[u8]>) -> Program {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, text).expect("the file can be written");
        self
    }

    fn page_path(&self, args: &[&str]) -> PathBuf {
        let folder = self.directory.path().to_str().expect("a name");
        page_with(&self.log, self.directory.path(), &[&["--source", folder], args].concat(), STEPS)
    }

    fn page(&self, args: &[&str]) -> Page {
        let page = Page::open(&self.page_path(args), "tab=source");
        assert_eq!(page.console, [""; 0]);
        page
    }

    /// Returns the rows of `eventcnv lines`.
    fn lines(&self, args: &[&str]) -> Vec<Value> {
        let output = run(eventcnv().args(["lines", "--json"]).args(args).arg(&self.log));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        found["rows"].as_array().expect("rows").clone()
    }
}

fn shop() -> Program {
    Program::new(&made::shop(100)).file("src/shop.rs", made::TEXT)
}

/// Returns a log of statements without calls.
pub(super) fn sums_alone() -> Vec<u8> {
    let text = made::TEXT;
    log(|made| {
        made.costs([0.0, 0.0, 0.0]);
        made.state_all(text);
        made.add(sum(0, &[10], 10));
    })
}

/// Returns a time as the page shows it.
fn time(ns: f64) -> String {
    let (size, unit) = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]
        .into_iter()
        .find(|(size, _)| ns >= *size)
        .unwrap_or((1.0, "ns"));
    let value = ns / size;
    let digits = if value == 0.0 { 0 } else { 2 - value.log10().floor() as i32 };
    let scale = 10f64.powi(digits);
    format!("{} {unit}", (value * scale).round() / scale)
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

/// Returns text as the page has it, with usual spaces.
fn plain(text: &str) -> String {
    let text = text.replace(['\u{202f}', '\u{a0}'], " ").replace("&quot;", "\"");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The rows of a CSV table without quotes, by the names of columns.
fn csv(program: &Program, args: &[&str]) -> Vec<Value> {
    let output = run(eventcnv().args(["lines", "--csv"]).args(args).arg(&program.log));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let heading = rows.next().expect("a heading");
    let cell = |text: &String| text.parse::<f64>().map_or(Value::from(text.as_str()), Value::from);
    let row = |row: Vec<String>| heading.iter().cloned().zip(row.iter().map(cell)).collect();
    rows.map(row).collect()
}

/// K5: each number of the page is that of `lines --csv`, in the same order.
#[test]
fn the_table_of_statements_has_the_numbers_of_lines() {
    let program = shop();
    for method in ["raw", "outer", "calibrated"] {
        let page = program.page(&["--method", method]);
        let rows = csv(&program, &["--method", method]);
        let ran: Vec<&Value> = rows.iter().filter(|row| row["waiting_ns"] == "").collect();
        let all: f64 = ran.iter().map(|row| number(row, "own_ns")).sum();
        let shown = |row: &&Value| {
            let own = number(row, "own_ns");
            let of = |name| time(number(row, &format!("{name}_ns")));
            format!(
                "{} ; {} · {:.1} % ; {} ; {} ; {} ; {} ; {} ; {} ; {}",
                row["place"].as_str().expect("text").rsplit_once(':').expect("a column").0,
                time(own),
                100.0 * own / all,
                number(row, "count"),
                of("total"),
                of("mean"),
                of("min"),
                of("max"),
                of("deviation"),
                row["function"].as_str().expect("text"),
            )
        };
        let expected: Vec<String> = ran.iter().map(shown).collect();
        let table = plain(page.said("table"));
        let found: Vec<&str> = table
            .split(" | ")
            .map(|row| row.split_once(" @ ").unwrap_or_else(|| panic!("{table}")).1)
            .collect();
        assert_eq!(found, expected, "{method}");
        let waits = program.lines(&["--method", method]);
        let waits = waits.iter().find(|row| !row["waiting_ns"].is_null()).expect("a statement");
        let waiting = format!("src/shop.rs:20 ; {} ; 2 ;", time(number(waits, "waiting_ns")));
        assert!(plain(page.said("waits")).contains(&waiting), "{}", page.said("waits"));
        assert!(page.said("waitsnotes").contains("contain the time in which nothing ran"));
        let facts = format!("{} time in statements", time(all));
        assert!(plain(page.said("facts")).contains(&facts), "{}", page.said("facts"));
        assert!(page.said("notes").contains(&format!("this is “{method}”")));
    }
}

/// K5: sorted by each column, both ways, as a sort of the command's rows.
#[test]
fn clicks_sort_the_statements_by_each_column() {
    let program = shop();
    let page = program.page(&[]);
    let rows = csv(&program, &["--all"]);
    let place = |row: &Value| {
        let place = row["place"].as_str().expect("text").rsplitn(3, ':').map(str::to_owned);
        let [column, line, file] = place.collect::<Vec<_>>().try_into().expect("a place");
        (file, line.parse::<u32>().expect("a line"), column.parse::<u32>().expect("a column"))
    };
    let names = [
        "place",
        "own_ns",
        "count",
        "total_ns",
        "mean_ns",
        "min_ns",
        "max_ns",
        "deviation_ns",
        "function",
    ];
    let sorts = page.said("sorts");
    assert_eq!(sorts.split(" | ").count(), names.len(), "{}", page.said("headings"));
    for (name, found) in names.into_iter().zip(sorts.split(" | ")) {
        // Rows that are equal keep their order.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.retain(|at| number(&rows[*at], "count") > 0.0 && rows[*at]["waiting_ns"] == "");
        let compare = |a: &usize, b: &usize| {
            let (a, b) = (&rows[*a], &rows[*b]);
            match name {
                "place" => place(a).cmp(&place(b)),
                "function" => a[name].as_str().cmp(&b[name].as_str()),
                _ => number(a, name).total_cmp(&number(b, name)),
            }
        };
        let mut expected = [false, true].map(|is_down| {
            let mut order = order.clone();
            order.sort_by(|a, b| if is_down { compare(b, a) } else { compare(a, b) });
            order.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
        });
        // Numbers begin with the greatest one.
        if !matches!(name, "place" | "function") {
            expected.reverse();
        }
        assert_eq!(found, expected.join(" / "), "{name}");
    }
}

/// K12: a shade is the stronger the more often a line ran, or the more own time it has.
#[test]
fn shades_follow_counts_and_times() {
    let program = shop();
    let page = program.page(&[]);
    let rows = program.lines(&[]);
    page.assert_columns("statements", &rows[0]);
    let of_line = |line: &str, name: &str| -> Vec<f64> {
        let is_of =
            |row: &&Value| row["place"].as_str().expect("text").contains(&format!(":{line}:"));
        rows.iter().filter(is_of).map(|row| row[name].as_f64().unwrap_or(0.0)).collect()
    };
    for (name, shades) in [("own_ns", page.said("own")), ("count", page.said("count"))] {
        let lines: Vec<(f64, f64, &str)> = shades
            .split(" | ")
            .map(|shade| {
                let [line, heat, color] =
                    shade.split(' ').collect::<Vec<_>>().try_into().expect("a shade");
                let values = of_line(line, name);
                let value = if name == "own_ns" {
                    values.iter().sum()
                } else {
                    values.iter().copied().fold(0.0, f64::max)
                };
                (value, heat.trim_end_matches('%').parse().expect("a number"), color)
            })
            .collect();
        assert_eq!(lines.len(), 9, "{shades}");
        for a in &lines {
            for b in &lines {
                assert_eq!(a.0.total_cmp(&b.0), a.1.total_cmp(&b.1), "{name}: {a:?} {b:?}");
                assert_eq!(a.0 == b.0, a.2 == b.2, "{name}: {a:?} {b:?}");
            }
        }
        assert!(lines.iter().any(|(_, heat, _)| *heat == 100.0));
    }
    assert_eq!(
        plain(page.said("ownlegend")),
        "Own time: 4 µs 63.9 µs 196 µs 400 µs never ran The stronger the colour, the more own time."
    );
    assert!(
        plain(page.said("countlegend")).starts_with("Ran: 0 1 2 3 never ran"),
        "{}",
        page.said("countlegend")
    );
    // What never ran has a word and a pattern.
    let never = program.lines(&["--never"]);
    assert_eq!(never.len(), 2);
    let expected = " ; never ;  ;  ;  ; ↳ return refund(price); | 24 ; never ;  ;  ;  ;     price";
    assert_eq!(page.said("never"), expected);
    assert!(page.said("unrun").contains("src/shop.rs:11"), "{}", page.said("unrun"));
}

/// `.cnv.report.source`
#[test]
fn keys_and_clicks_lead_to_lines_and_calls() {
    let page = shop().page(&[]);
    assert_eq!(
        page.said("tabs"),
        "Events false | Calls false | Source true | Durations false | Threads false"
    );
    let hottest = "44.8 % of the time is in println!(\"{total}\"); at src/shop.rs:6";
    assert_eq!(plain(page.said("hottest")), hottest);
    assert_eq!(page.said("entered"), "    println!(\"{total}\");".replace('"', "&quot;"));
    assert_eq!(page.said("isshown"), "true");
    let detail = "src/shop.rs:6:5 in shop::main Show it in Calls  ran 1 own time 400 µs ± 250 ns ";
    assert!(plain(page.said("detail")).starts_with(detail), "{}", page.said("detail"));
    assert_eq!(page.said("down"), "    let price = hash(item);");
    assert_eq!(page.said("closed"), "true");
    assert_eq!(page.said("slash"), "lineSearch");
    assert_eq!(page.said("hits"), "3 of 9 statements");
    assert_eq!(page.said("called"), "shop::main true false");
    assert_eq!(page.said("back"), "6 false true");
    assert_eq!(page.said("walk"), "Durations Threads Durations");
    assert_eq!(page.said("themes"), "true");
    assert_eq!(
        [page.said("foreign"), page.said("wide"), page.said("clipped")],
        ["0", "false", "0"]
    );
}

/// `.cnv.report.source`: in 400 pixels, the text of lines has half of the width.
#[test]
fn a_narrow_window_shows_the_text_of_lines() {
    let program = shop();
    let page = Page::open_in(&program.page_path(&[]), "tab=source", 400);
    assert_eq!(page.said("wide"), "false");
    assert!(page.number("code") >= 150.0, "{} pixels", page.said("code"));
    assert_eq!(plain(page.said("ownlegend")).split(": ").next(), Some("Own time"));
}

/// `.cnv.report.source`: source that is gone, newer or other; counts alone; ticks; a trace.
#[test]
fn odd_sources_and_logs_are_told() {
    let gone = Program::new(&made::shop(100)).page(&[]);
    assert!(gone.said("warnings").starts_with("The source file was not found"));
    assert!(gone.said("lines").contains("6 ; 1 ; 400"), "{}", gone.said("lines"));
    assert!(
        gone.said("lines").contains("(no text)") && gone.said("hottest").contains("a statement at")
    );
    let newer = shop().page(&[]);
    assert!(newer.said("warnings").starts_with("This file is newer than the log"));
    let old = shop();
    let file = fs::File::open(old.directory.path().join("src/shop.rs")).expect("a file");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a time");
    assert_eq!(old.page(&[]).said("warnings"), "");
    // Of another version: each line has moved.
    let other =
        Program::new(&made::shop(100)).file("src/shop.rs", format!("// New.\n{}", made::TEXT));
    let other = other.page(&[]);
    assert!(
        other.said("warnings").contains("12 statements of 12 are not at the stated place"),
        "{}",
        other.said("warnings")
    );
    assert!(other.said("lines").contains("(a statement that is not at 6:5 in this file)"));
    let counted = Program::new(&made::counted()).file("src/shop.rs", made::TEXT).page(&[]);
    assert!(counted.said("notes").contains("The log has counts, and no times."));
    assert_eq!(counted.said("headings"), "Statement | Ran ↓ | Function");
    let ticks = Program::new(&made::log_of(false, |made| {
        made.state_all(made::TEXT);
        made::sums(made, 100);
    }));
    assert!(plain(ticks.page(&[]).said("facts")).contains(" ticks time in statements"));
    let traced = Program::new(&made::traced()).file("src/shop.rs", made::TEXT);
    let leaves = traced.page(&["--method", "leaves"]);
    assert!(
        leaves.said("headings").ends_with("Median | p99 | Function"),
        "{}",
        leaves.said("headings")
    );
    assert!(leaves.said("notes").contains("has the sum of their times"));
}

/// The function and the file of odd statements.
const ODD_NAME: &str = "f::<\u{202e}</script><b>&amp;>\u{1b}";
const ODD_FILE: &str = "src/<b>odd</b>.rs";

/// Makes a program of odd text: a log, a file, and its text.
fn odd() -> (Program, String) {
    let long = format!("let long = [{}];", "1, ".repeat(1000));
    let text = [
        "fn f() {",
        "\tlet é = 1; g(\u{202e}é,\t2);",
        "\tlet m = \"</script><b>x</b><img src=x>\";",
        "\tmac!(\u{7} a); \u{2028}",
        &format!("\t{long}"),
        "\tlet 🦀 = \"\u{1b}[2J\"; h(🦀)",
        "}",
    ]
    .join("\r\n");
    let statements = [
        "let é = 1;",
        "g(\u{202e}é,\t2);",
        "let m = \"</script><b>x</b><img src=x>\";",
        "mac!(\u{7} a);",
        &long,
        "let 🦀 = \"\u{1b}[2J\";",
        "h(🦀)",
        // Three more statements of a macro at one place.
        "mac!(\u{7} a);",
        "mac!(\u{7} a);",
        "mac!(\u{7} a);",
    ];
    let bytes = log(|made| {
        made.costs([0.0, 0.0, 0.0]);
        for (at, what) in statements.iter().enumerate() {
            let place = place_in(&text, what).expect("a place");
            let address = 0x8000 + 16 * at;
            made.state(address, ODD_NAME, ODD_FILE.as_bytes(), place);
            made.add(StatementSum { statement: P(address), ..sum(0, &[10 + at], 10 + at) });
        }
        // Sums that contradict each other.
        let wrong = StatementSum { own: 99, ..sum(0, &[10], 10) };
        made.add(StatementSum { statement: P(0x8000), table: 2, ..wrong });
    });
    (Program::new(&bytes).file(ODD_FILE, &text), text)
}

/// `.cnv.report.source`: text of files is text on the page, letter by letter, and never markup.
#[test]
fn odd_text_stays_text_at_its_place() {
    let (program, text) = odd();
    let page = program.page(&[]);
    let lines = plain(page.said("lines"));
    for (line, code) in [
        (2, " ; 2 statements ;  ;  ; \tlet é = 1; g(\u{fffd}é,\t2);"),
        (3, "\tlet m = \"</script><b>x</b><img src=x>\";"),
        (4, "\tmac!(\u{fffd} a); \u{fffd}"),
        (6, " ; 2 statements ;  ;  ; \tlet 🦀 = \"\u{fffd}[2J\"; h(🦀)"),
    ] {
        let found = lines.split(" | ").find(|found| found.starts_with(&format!("{line} ; ")));
        assert!(found.is_some_and(|found| found.ends_with(code)), "{line}: {found:?} in {lines}");
    }
    for part in ["↳ let é = 1;", "↳ g(\u{fffd}é,\t2);", "↳ let 🦀 = \"\u{fffd}[2J\";", "↳ h(🦀)"]
    {
        assert!(lines.split(" | ").any(|found| found.ends_with(part)), "{part}: {lines}");
    }
    let line = lines.split(" | ").find(|found| found.starts_with("5 ; ")).expect("a line");
    assert!(line.chars().count() < 500 && line.ends_with('…'), "{line}");
    assert_eq!(page.said("foreign"), "0");
    assert!(!page.dom.contains("<b>x</b>") && !page.dom.contains("<b>odd"), "markup");
    assert!(page.said("notes").contains("the sums contradict each other: the own time exceeds"));
    assert!(page.said("notes").contains("places with several statements each"));
    // Bytes that are not UTF-8: their statements have numbers, and no text.
    let latin: Vec<u8> =
        text.chars().map(|c| if c == 'é' { 0xE9 } else { (c as u32 as u8).max(9) }).collect();
    let latin = program.file(ODD_FILE, latin).page(&[]);
    assert!(
        latin.said("warnings").contains("are not at the stated place"),
        "{}",
        latin.said("warnings")
    );
    assert!(latin.said("lines").contains("let \u{fffd} = 1;"), "{}", latin.said("lines"));
}

/// Makes a program of files with functions of 20 statements each: those of every 40th
/// function ran. Returns how many ran, and the place of the hottest one.
fn many(file_count: usize, function_count: usize) -> (Program, usize, String) {
    let text = |file: usize| -> String {
        let function = |function: usize| {
            let lines =
                (0..20).map(|line| format!("    let a{line} = work({file}, {function});\n"));
            format!("fn function{function}() {{\n{}}}\n\n", lines.collect::<String>())
        };
        (0..function_count).map(function).collect()
    };
    let texts: Vec<String> = (0..file_count).map(text).collect();
    let (mut hottest, mut ran) = ((0, String::new()), 0);
    let bytes = log(|made| {
        made.costs([0.0, 0.0, 0.0]);
        for (file, text) in texts.iter().enumerate() {
            let (mut offset, mut at, mut function) = (0, 0, String::new());
            for (line, what) in (1u32..).zip(text.lines()) {
                if let Some(rest) = what.strip_prefix("fn ") {
                    function = format!("part{file}::{}", rest.trim_end_matches("() {"));
                } else if what.starts_with(' ') {
                    let address = 0x10_0000 + (file * 10_000 + at) * 16;
                    let place = [line, 5, offset + 4, what.len() as u32 - 4];
                    let name = format!("src/part{file}.rs");
                    made.state(address, &function, name.as_bytes(), place);
                    if at / 20 % 40 == 7 {
                        let ticks = 5 + (at * 7919 + file * 104_729) % 100_000;
                        ran += 1;
                        hottest = hottest.clone().max((ticks, format!("{name}:{line}")));
                        made.add(StatementSum { statement: P(address), ..sum(0, &[ticks], ticks) });
                    }
                    at += 1;
                }
                offset += what.len() as u32 + 1;
            }
        }
    });
    let name = |file: usize| format!("src/part{file}.rs");
    let program = texts.iter().enumerate();
    let program =
        program.fold(Program::new(&bytes), |program, (file, text)| program.file(&name(file), text));
    (program, ran, hottest.1)
}

/// `.cnv.report.source`: of 10^5 statements, the page has the functions with the hottest ones.
#[test]
fn a_page_of_many_statements_stays_small_and_opens_soon() {
    let (program, ran, hottest) = many(10, 500);
    let path = program.page_path(&[]);
    let size = fs::metadata(&path).expect("a page").len();
    assert!((1_000_000..SIZE_MAX).contains(&size), "{size} bytes");
    let page = Page::open(&path, "tab=source");
    assert_eq!(page.console, [""; 0]);
    println!("{size} bytes, usable after {} ms", page.said("ready"));
    assert!(page.number("ready") < READY_MAX, "{} ms", page.said("ready"));
    assert!(page.said("hottest").ends_with(&hottest), "{} {hottest}", page.said("hottest"));
    let spaced = |n: usize| format!("{} {:03}", n / 1000, n % 1000);
    let facts =
        format!("100 000 statements | {} ran | {} never ran", spaced(ran), spaced(100_000 - ran));
    assert!(plain(page.said("facts")).starts_with(&facts), "{} {facts}", page.said("facts"));
    assert_eq!(page.said("listed"), "200");
    let notes = plain(page.said("notes"));
    assert!(notes.contains("80 000 more statements are not on this page"), "{notes}");
    // Lines without marks have no text either.
    let warnings = plain(page.said("warnings"));
    assert!(warnings.contains(" statements of this file are not on this page."), "{warnings}");
    assert!(page.said("gaps").contains(" lines: not on this page"), "{}", page.said("gaps"));
    assert!((200.0..4000.0).contains(&page.number("seen")), "{}", page.said("seen"));
}

/// `.cnv.report.source`: a long file is folded to the functions that ran; a click opens the rest.
#[test]
fn a_long_file_is_folded_to_the_functions_that_ran() {
    let (program, ran, hottest) = many(2, 50);
    assert_eq!(ran, 2 * 2 * 20);
    let page = program.page(&[]);
    let gaps = "⋯ 161 lines; never ran: part";
    assert!(plain(page.said("gaps")).starts_with(gaps), "{}", page.said("gaps"));
    assert!(page.said("gaps").contains("::function0, "));
    // Two functions with their heads and ends, and what is between and around them.
    assert_eq!(page.number("seen"), 2.0 * (1.0 + 20.0 + 1.0) + 2.0 + 3.0, "{}", page.said("lines"));
    assert!(page.number("opened") > page.number("seen") + 150.0, "{}", page.said("opened"));
    assert!(page.said("hottest").ends_with(&hottest), "{} {hottest}", page.said("hottest"));
    assert_eq!(page.said("wide"), "false");
}
