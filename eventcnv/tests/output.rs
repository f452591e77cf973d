//! Tables: text, CSV, JSON and pages have the columns that `design/output.md` states, in its order.
//!
//! ```text
//!  design/output.md ── the row of a command ──────────┐
//!  eventcnv COMMAND --csv ── its first line ──────────┼──▶ the same
//!  eventcnv COMMAND --json ── the members of a row ───┤
//!  eventcnv COMMAND ── titles ────────────────────────┤
//!  eventcnv report ── data-field of the headings ─────┘
//! ```

#[path = "support/design.rs"]
mod design;
mod support;

use design::{are_of, headings, rows, stated};
use serde_json::Value;
use std::collections::BTreeSet;
use support::{golden_path, run};

#[test]
fn text_csv_and_json_have_the_columns_of_the_design() {
    let [calls, lines, heap] =
        ["calls/shop.log", "lines/till.log", "log/heap.log"].map(golden_path);
    let [calls, lines, heap] = [&calls, &lines, &heap].map(|path| path.to_str().unwrap());
    let [other, names] = ["log/heap-2.log", "waits/names.log.gz"]
        .map(|name| golden_path(name).to_str().unwrap().to_owned());
    let [against_calls, against_lines, against_heap] =
        [calls, lines, heap].map(|log| ["--against", log]);
    let no_source = ["--source", "none"];
    for (stated_as, log, args) in [
        ("pairs", heap, &["--by", "key"][..]),
        ("pairs --against", heap, &[&against_heap[..], &["--by", "key"]].concat()),
        ("calls", calls, &[]),
        ("calls --against", calls, &[&against_calls[..], &["--by", "edge"]].concat()),
        ("calls --by edge", calls, &["--by", "edge"]),
        ("calls --by path", calls, &["--by", "path"]),
        ("calls --by cluster", calls, &["--by", "cluster"]),
        ("calls --by thread", calls, &["--by", "thread"]),
        ("calls --by task", calls, &["--by", "task"]),
        ("calls --unused", calls, &["--unused"]),
        ("calls --unfinished", calls, &["--unfinished"]),
        ("index", heap, &[]),
        ("lines", lines, &no_source),
        ("lines --by function", lines, &["--by", "function"]),
        ("lines --by file", lines, &["--by", "file"]),
        ("lines --against", lines, &[against_lines, no_source].concat()),
    ] {
        let command = stated_as.split(' ').next().unwrap();
        compare(stated_as, &[&[command, log], args].concat(), "rows");
    }
    #[cfg(feature = "paths")]
    let graph = golden_path("paths/shop.graph").to_str().unwrap().to_owned();
    for (stated_as, args) in [
        ("stats", &["stats", heap, "--params"][..]),
        ("diff", &["diff", heap, &other]),
        #[cfg(feature = "paths")]
        ("paths plan", &["paths", "plan", &graph]),
        #[cfg(feature = "waits")]
        ("waits explain", &["waits", "explain", &names, "--of", "names", "--path"]),
    ] {
        let rows = match stated_as {
            "waits explain" => "waits",
            "paths plan" => "plans",
            _ => "event_types",
        };
        compare(stated_as, args, rows);
    }
}

#[test]
fn the_tables_of_a_page_have_the_columns_of_the_design() {
    let heap = golden_path("log/heap.log");
    let (page, code, errors) = run(&["report", heap.to_str().unwrap(), "-o", "-"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let page = String::from_utf8(page).unwrap();
    let found = headings(&page);
    for (title, name) in [("Threads", "threads"), ("Longest gaps", "gaps")] {
        let at = page.find(&format!("<section aria-label=\"{title}\"")).expect("a section");
        let before = page[..at].matches("<table class=\"sorted\">").count();
        assert!(are_of(&found[before], &["stats", name]), "{title}: {:?}", found[before]);
    }
}

/// Compares the columns that a command prints, in three forms, with those that the design states;
/// `rows` are the rows of the JSON that CSV has, too.
fn compare(stated_as: &str, args: &[&str], rows: &str) {
    let (csv, code, errors) = run(&[args, &["--csv"]].concat());
    assert!(code == 0 || stated_as == "diff", "{stated_as}: {errors}");
    let csv = String::from_utf8(csv).unwrap();
    let fields: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(fields, stated(&[stated_as]), "{stated_as}");
    let (json, ..) = run(&[args, &["--json"]].concat());
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert!(json[rows][0].is_object(), "{stated_as}: {json}");
    let (text, ..) = run(args);
    let text = String::from_utf8(text).unwrap();
    for (name, found) in json.as_object().unwrap() {
        let Some(row) = found.get(0).and_then(Value::as_object) else { continue };
        let fields = match name {
            _ if name == rows => stated(&[stated_as]),
            // These are lists of facts, and not in CSV or text.
            _ if FACTS.contains(&&**name) => continue,
            _ => stated(&[stated_as, name]),
        };
        let members: BTreeSet<&str> = row.keys().map(|name| &**name).collect();
        assert_eq!(members, fields.iter().map(|name| &**name).collect(), "{stated_as} {name}");
        // Waits are sentences in text.
        let is_heading = |line: &str| is_heading(line, &fields, args);
        let heading = text.lines().find(|line| is_heading(line));
        assert!(name == "waits" || heading.is_some(), "{stated_as} {name}: {fields:?} in\n{text}");
        let titles = heading.unwrap_or_default().split("  ").map(str::trim);
        // Paths and clusters have an order of their own, and so have the parts of a whole.
        let is_sorted = !["calls --by path", "calls --by cluster"].contains(&stated_as);
        let is_sorted = is_sorted && !["losses", "shares", "path"].contains(&&**name);
        for title in titles.filter(|title| is_sorted && !title.is_empty()) {
            let (_, code, errors) = run(&[args, &["--sort", title, "--top", "1"]].concat());
            assert!(code == 0 || stated_as == "diff", "{stated_as} {name} {title}: {errors}");
        }
    }
}

/// The members of the JSON that are lists, and no tables.
const FACTS: [&str; 5] = ["octaves", "slowest", "streams", "owners", "interrupts"];

/// Returns whether a line has titles of these columns, in their order, and none other.
fn is_heading(line: &str, fields: &[String], args: &[&str]) -> bool {
    let rows = rows();
    let names = |title: &str| -> Vec<String> {
        let other = rows.iter().find(|[titles, _]| titles.iter().any(|own| own == title));
        let own = title.replace([' ', '.'], "_").replace("_%", "_percent").replace("/s", "_per_s");
        let mut names = other.map_or_else(Vec::new, |[_, names]| names.clone());
        names.extend(["", "_ns", "_ticks"].map(|unit| own.to_lowercase() + unit));
        names.extend((args.contains(&title) || title == "caller").then(|| "value".to_owned()));
        names
    };
    let mut rest = fields.iter();
    let titles = line.split("  ").map(str::trim).filter(|title| !title.is_empty());
    let mut fits = titles.map(|title| {
        let names = names(title);
        rest.any(|field| names.contains(field))
    });
    !line.is_empty() && fits.all(|is_one| is_one)
}
