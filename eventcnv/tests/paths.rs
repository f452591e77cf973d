//! Plans, their check, and the path from the events of their runs.
//!
//! ```text
//!  graph ── paths plan ──▶ plan ── letters of an execution ── paths walk ──▶ log ── pairs, verify
//! ```
//!
//! Design: `design/paths.md`.
#![cfg(feature = "paths")]

#[path = "support/design.rs"]
mod design;
mod support;

use design::{are_of, headings};
use std::fs;
use std::io::Read;
use support::{assert_golden, golden_path, run};
use tempfile::TempDir;

/// The first figure of the paper: a loop with two ways.
const LOOP: &str = "function main\nentry_ > B1\nB1 > B2 exit_\nB2 > B3 B4\nB3 > B5\nB4 > B5\n\
                    B5 > B1\nexit exit_\n";
/// Its execution: twice around, by B3 and by B4.
const RUN: [&str; 11] = ["entry_", "B1", "B2", "B3", "B5", "B1", "B2", "B4", "B5", "B1", "exit_"];

fn write(directory: &TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn path(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

/// Returns the letters that each run of a plan collects of [`RUN`], as texts.
fn letters(plan: &str) -> Vec<String> {
    let mut runs: Vec<Vec<(String, String)>> = Vec::new();
    for line in fs::read_to_string(plan).unwrap().lines().skip(1) {
        match line.split_once(" # ") {
            None => runs.push(Vec::new()),
            Some((element, name)) => {
                runs.last_mut().unwrap().push((name.to_owned(), element.to_owned()));
            }
        }
    }
    let order = ["entry_", "B1", "B2", "exit_", "B3", "B4", "B5"];
    let number = |block: &str| order.iter().position(|own| *own == block).unwrap();
    let edge = |pair: &[&str]| format!("main {} > {}", number(pair[0]), number(pair[1]));
    let edges = RUN.windows(2).map(edge);
    let mut passed = vec!["enter main".to_owned()];
    for (block, edge) in RUN.iter().zip(edges.map(Some).chain([None])) {
        passed.push(format!("main {}", number(block)));
        passed.extend(edge);
    }
    let letter = |own: &Vec<(String, String)>, name: &String| {
        own.iter().find(|(known, _)| known == name).map(|(_, element)| element.clone())
    };
    let text =
        |own| passed.iter().filter_map(|name| letter(own, name)).collect::<Vec<_>>().join(" ");
    (0..).zip(&runs).map(|(at, own)| format!("run {at}\n{}\n", text(own))).collect()
}

/// Plans, and returns the paths of graph and plan, and of the letters of each run.
fn planned(directory: &TempDir, options: &[&str]) -> (String, String, Vec<String>) {
    let (graph, plan) = (write(directory, "loop.graph", LOOP), path(directory, "loop.plan"));
    let (_, code, errors) =
        run(&[&["paths", "plan", &graph, "-o", &plan, "--force"], options].concat());
    assert_eq!((code, errors.as_str()), (0, ""));
    let texts = letters(&plan);
    let each = texts.iter().enumerate();
    let runs = each.map(|(at, text)| write(directory, &format!("run{at}"), text)).collect();
    (graph, plan, runs)
}

#[test]
fn the_path_of_a_plan_is_a_log_that_other_commands_read() {
    let directory = TempDir::new().unwrap();
    for options in [&[][..], &["--blocks"], &["--blocks", "--machines", "2", "--limit", "2"]] {
        let (graph, plan, runs) = planned(&directory, options);
        let log = path(&directory, "path.log");
        let mut words = vec!["paths", "walk", &graph, &plan];
        words.extend(runs.iter().map(String::as_str));
        words.extend(["-o", &log, "--force"]);
        let (told, code, errors) = run(&words);
        assert_eq!((code, errors.as_str()), (0, ""), "{options:?}");
        assert!(String::from_utf8(told).unwrap().contains("11 blocks"));
        assert_eq!(run(&["verify", &log]).1, 0);
        let (pairs, code, _) = run(&["pairs", &log]);
        let pairs = String::from_utf8(pairs).unwrap();
        assert_eq!(code, 0);
        for (name, count) in [("main B1 ", "3"), ("main B3 ", "1"), ("main exit_ ", "1")] {
            let row = pairs.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            assert_eq!(row.split_whitespace().next(), Some(count), "{pairs}");
        }
        // What happened as weights.
        let (table, code, _) = run(&["paths", "plan", &graph, "--weights", &log, "--blocks"]);
        assert_eq!(code, 0);
        assert!(String::from_utf8(table).unwrap().contains("one profile *"));
    }
}

/// `printf 'to be 4 or 5\\n' | words` of `calls/examples` made the log. By its text, and by its
/// result, `number` was called five times, and two words were numbers.
#[test]
fn the_log_of_functions_with_path_has_their_paths() {
    let directory = TempDir::new().unwrap();
    let (packed, log) = (fs::read(golden_path("paths/words.log.gz")).unwrap(), "words.log");
    let log = path(&directory, log);
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    fs::write(&log, text).unwrap();
    let (told, code, errors) = run(&["paths", "walk", &log]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let told = String::from_utf8(told).unwrap();
    assert_golden("paths/words.txt", told.as_bytes());
    let count = |word: &str| told.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!((count("words::line"), count("words::number"), count(" then")), (1, 5, 3));
    let out = path(&directory, "path.log");
    let (told, code, errors) = run(&["paths", "walk", &log, "-o", &out]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(String::from_utf8(told).unwrap().contains("1 thread, 6 calls, "));
    let (pairs, _, _) = run(&["pairs", &out]);
    let pairs = String::from_utf8(pairs).unwrap();
    let row = pairs.lines().find_map(|line| line.strip_prefix("words::number ")).unwrap();
    assert_eq!(row.split_whitespace().next(), Some("5"), "{pairs}");
    // A log without such functions.
    let (_, code, errors) = run(&["paths", "walk", &out]);
    assert_eq!((code, errors.contains("has no function with `#[path]`")), (2, true), "{errors}");
}

#[test]
fn a_log_weighs_a_plan_and_its_events_that_tell_nothing_are_listed() {
    let directory = TempDir::new().unwrap();
    let graph = write(&directory, "loop.graph", LOOP);
    // Each block has an event; the numbers of blocks begin at 2.
    let order = ["entry_", "B1", "B2", "exit_", "B3", "B4", "B5"];
    let number = |block: &&str| 2 + order.iter().position(|own| own == block).unwrap();
    let letters: Vec<String> = RUN.iter().map(|block| number(block).to_string()).collect();
    let events = write(&directory, "run", &format!("run 0\n{}\n", letters.join(" ")));
    let (told, code, errors) = run(&["paths", "plan", &graph, "--blocks", "--log", &events]);
    let told = String::from_utf8(told).unwrap();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(told.contains("of 7 elements with events, 5 tell nothing"), "{told}");
    assert!(told.contains("3        3  main 1"), "B1 is dear, and tells nothing: {told}");
    // A few events do not tell the path: the weights are not from them.
    let events = write(&directory, "few", "run 0\n3 3 3\n");
    let (told, code, errors) = run(&["paths", "plan", &graph, "--weights", &events]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("do not tell the whole path"), "{errors}");
    assert!(!String::from_utf8(told).unwrap().contains("tell nothing"));
    let wrong = write(&directory, "wrong", "run 0\n99\n");
    assert_eq!(run(&["paths", "plan", &graph, "--log", &wrong]).1, 2);
}

#[test]
fn counter_examples_exit_with_1_and_name_the_fork() {
    let directory = TempDir::new().unwrap();
    let graph = write(&directory, "loop.graph", LOOP);
    let verify = |profiles: &[&str]| {
        let each = profiles.iter().flat_map(|own| ["--profile", own]);
        let (out, code, errors) =
            run(&["paths", "verify", &graph].into_iter().chain(each).collect::<Vec<_>>());
        assert_eq!(errors, "");
        (String::from_utf8(out).unwrap(), code)
    };
    let (out, code) = verify(&["B3", "B4"]);
    assert_eq!(code, 1);
    assert!(out.contains("main, after block B2: nothing tells block B3 from block B4"), "{out}");
    assert_eq!(verify(&["B2,B3", "B2,B4"]), ("2 runs: every branch is told\n".into(), 0));
    let (_, code, errors) = run(&["paths", "verify", &graph, "--profile", "B9"]);
    assert_eq!((code, errors.contains("main has no block B9")), (2, true));
}

#[test]
fn runs_of_two_executions_are_told_and_lost_runs_are_named() {
    let directory = TempDir::new().unwrap();
    let (graph, plan, _) = planned(&directory, &[]);
    // Two runs, as the paper distributes them.
    let text = fs::read_to_string(&plan).unwrap();
    let two = "run 0 machine 0 cost 2\n4 # main 2\n6 # main 4\n\
               run 1 machine 1 cost 2\n4 # main 2\n7 # main 5\n";
    fs::write(&plan, format!("{}\n{two}", text.lines().next().unwrap())).unwrap();
    let each = letters(&plan).into_iter().enumerate();
    let runs: Vec<String> =
        each.map(|(at, text)| write(&directory, &format!("run{at}"), &text)).collect();
    let log = path(&directory, "path.log");
    let walk = |runs: &[&String]| {
        let mut words = vec!["paths", "walk", &graph, &plan];
        words.extend(runs.iter().map(|own| own.as_str()));
        words.extend(["-o", &log, "--force"]);
        let (_, code, errors) = run(&words);
        (code, errors)
    };
    let all: Vec<&String> = runs.iter().collect();
    assert_eq!((all.len(), walk(&all)), (2, (0, String::new())));
    let (code, errors) = walk(&all[1..]);
    assert_eq!((code, errors.contains("run 0 of the plan is missing")), (2, true), "{errors}");
    let (code, errors) = walk(&[all[0], all[0]]);
    assert_eq!((code, errors.contains("which another file is, too")), (2, true), "{errors}");
    // One run goes around once more.
    let text = fs::read_to_string(all[1]).unwrap();
    let letters = text.split_once('\n').unwrap().1;
    fs::write(all[1], format!("run 1\n{letters}{letters}")).unwrap();
    let (code, errors) = walk(&all);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("differs after") && errors.contains("open calls at its last letter"));
    let other = write(&directory, "other.graph", "function main\n0 > 1 2\nexit 1 2\n");
    let (_, code, errors) = run(&["paths", "walk", &other, &plan, all[0], "-o", &log, "--force"]);
    assert_eq!((code, errors.contains("the plan is of another graph")), (2, true), "{errors}");
}

#[test]
fn a_page_shows_a_plan_with_its_graph_and_machines() {
    let directory = TempDir::new().unwrap();
    // Two choices in a row: each machine sees one.
    let two = "function main\nentry_ > B1 B2\nB1 > B3\nB2 > B3\nB3 > B4 B5\nB4 > exit_\n\
               B5 > exit_\nexit exit_\n";
    let [graph, plan, page] =
        ["two.graph", "two.plan", "plan.html"].map(|name| path(&directory, name));
    fs::write(&graph, two).unwrap();
    let words = ["paths", "plan", &graph, "--blocks", "--machines", "2", "-o", &plan];
    assert_eq!(run(&words).1, 0);
    let (_, code, errors) = run(&["paths", "report", &graph, &plan, "-o", &page]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let text = fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("<rect class='block'").count(), 7);
    assert_eq!(text.matches("class='edge'").count(), 8);
    let witnesses = fs::read_to_string(&plan).unwrap().matches(" # main").count();
    assert_eq!((text.matches("<circle").count(), witnesses > 1), (witnesses, true));
    for name in ["entry_ · 1000", "B5", "machine 0", "machine 1"] {
        assert!(text.contains(name), "{name}");
    }
    let [runs, witnesses] = headings(&text).try_into().unwrap();
    assert!(are_of(&runs, &["paths plan", "runs"]), "{runs:?}");
    assert!(are_of(&witnesses, &["paths plan", "witnesses"]), "{witnesses:?}");
    assert!(!text.contains("application/json"), "no log, no data");
    let (_, code, errors) = run(&["paths", "report", &graph, &plan, "-o", &page]);
    assert_eq!((code, errors.contains("already exists")), (2, true), "{errors}");
    let (_, code, errors) = run(&["paths", "report", &graph, &plan, "-o", &plan, "--force"]);
    assert_eq!((code, errors.contains("is an input")), (2, true), "{errors}");
    let text = fs::read_to_string(&plan).unwrap().replace("machine 1", "machine 99999999999");
    let many = write(&directory, "many.plan", &text);
    let (_, code, errors) = run(&["paths", "report", &graph, &many, "-o", &page, "--force"]);
    assert_eq!((code, errors.contains("at most 1024 machines")), (2, true), "{errors}");
}

#[test]
fn a_page_of_a_path_has_its_timeline_and_its_plan() {
    let directory = TempDir::new().unwrap();
    let (graph, plan, runs) = planned(&directory, &[]);
    let (log, page) = (path(&directory, "path.log"), path(&directory, "page.html"));
    assert_eq!(run(&["paths", "walk", &graph, &plan, &runs[0], "-o", &log]).1, 0);
    let (_, code, errors) = run(&["paths", "report", &graph, &plan, &log, "-o", &page]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let text = fs::read_to_string(&page).unwrap();
    // The weights are those of the path: B2 ran twice, B3 once.
    for name in ["B2 · 2", "B3 · 1", "machine 0"] {
        assert!(text.contains(name), "{name}");
    }
    let data = text.split_once("<script type=\"application/json\"").unwrap().1;
    let data = data.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["plan"], true);
    assert!(data["lanes"].to_string().contains("main B3"), "{}", data["lanes"]);
    assert!(text.contains("#planTab .block {"), "the page has the style of the plan");
}

#[test]
fn wrong_graphs_and_impossible_limits_say_what_is_wrong() {
    let directory = TempDir::new().unwrap();
    let bad = write(&directory, "bad.graph", "function main\n0 > 1*x\n");
    let (_, code, errors) = run(&["paths", "plan", &bad]);
    assert_eq!((code, errors.contains("bad.graph: line 2:")), (2, true), "{errors}");
    let graph = write(&directory, "loop.graph", LOOP);
    let (_, code, errors) = run(&["paths", "plan", &graph, "--limit", "1"]);
    assert_eq!((code, errors.contains("raise --limit")), (1, true), "{errors}");
    let odd = "function main\n0 > 1 1\n1 > 1\n2 > 1\n";
    let (_, code, errors) = run(&["paths", "plan", &write(&directory, "odd.graph", odd)]);
    assert_eq!(code, 0);
    for note in ["several edges", "leads to 1 block", "returns or ends the program"] {
        assert!(errors.contains(note), "{errors}");
    }
}
