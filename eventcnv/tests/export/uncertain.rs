//! What a counter cannot tell: of a log that was not closed; of a selection; of a parameter that
//! does not count.
//!
//! ```text
//!  Came (one kind) ──────•───•──•│            │   the file ends with these blocks
//!  Went (another)  ──•────•──│ (not written)  │   stock: wrong after the last Went
//! ```
//!
//! Design: `.cnv.counters` in `design/eventcnv.md`.

use crate::exported;
use crate::support::{mps, run};
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};
use serde_json::Value;
use std::fs;
use std::path::Path;
use stock::{Came, Price, Went};
use tempfile::TempDir;

mod stock {
    eventdef::events! {
        /// What a shop has.
        registry "stock" version(1, 0, 0);
        kinds {
            /// Goods come.
            In = 0,
            /// Goods go.
            Out = 1,
        }

        /// Things came. [counter stock += n]
        Came(1, always, In) {
            /// how many
            n: W,
            /// where from
            from: S,
        }
        /// Things went. [counter stock -= n]
        Went(2, always, Out) {
            /// how many
            n: W,
        }
        /// They have a price. [counter price = p]
        Price(3, always, In) {
            /// the price
            p: D,
        }
    }
}

/// An event: its time, and what it is.
enum Step {
    Came(u64),
    Went(u64),
    Price(u64),
}
use Step::{Came as In, Price as At, Went as Out};

/// Makes a log, and leaves out its end if it `is_killed`. Returns its path.
fn made(directory: &Path, steps: &[Step], is_killed: bool) -> String {
    let path = directory.join("stock.log");
    let mut file = fs::File::create(&path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    // A later one would tell until when the blocks have all events.
    let sync = ClockSync { ticks: 1_000_000, monotonic: 5, realtime: 9, uncertainty: 0 };
    maker.sync(sync).unwrap();
    for step in steps {
        let added = match step {
            In(at) => maker.add(1, 1, 1_000_000 + at, &Came { n: 2, from: b"a" }),
            Out(at) => maker.add(2, 1, 1_000_000 + at, &Went { n: 1 }),
            At(at) => maker.add(1, 1, 1_000_000 + at, &Price { p: 0.5 }),
        };
        added.unwrap();
    }
    maker.finish().unwrap();
    let path = path.to_str().unwrap().to_owned();
    if is_killed {
        let (index, ..) = run(&["index", &path, "--json"]);
        let index: Value = serde_json::from_slice(&index).unwrap();
        let mut rows = index["rows"].as_array().unwrap().iter();
        let end = rows.find(|row| row["what"] == "end").unwrap()["offset"].as_u64().unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(end).unwrap();
    }
    path
}

/// Returns what the commands with counters write to standard error, and what a page has.
fn notes(log: &str) -> [String; 4] {
    let directory = TempDir::new().unwrap();
    let out = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let notes = |args: &[&str]| {
        let (_, code, errors) = run(args);
        assert_eq!(code, 0, "{errors}");
        errors
    };
    let (page, ..) = run(&["report", log, "-o", "-"]);
    let page = String::from_utf8(page).unwrap();
    let (_, of_page) = page.split_once("\"certainty\":").expect("a tab of counters");
    let of_page = of_page.strip_prefix('"').map(|text| text.split('"').next().unwrap());
    [
        notes(&["query", log, "SELECT max(value) FROM counters"]),
        notes(&["export", log, "-o", &out("trace.json")]),
        notes(&["sql", log, "-o", &out("stock.db")]),
        of_page.unwrap_or_default().to_owned(),
    ]
}

#[test]
fn counters_of_a_killed_log_say_how_long_they_are_right() {
    let directory = TempDir::new().unwrap();
    let steps = [In(0), Out(100), In(200), At(250), Out(300), In(700), In(900)];
    let all = |killed| notes(&made(directory.path(), &steps, killed));
    // The history begins with the first event.
    let expected = "may be wrong after +0.0000003s (times as --to takes them)";
    for note in all(true) {
        assert!(note.contains("was not closed") && note.contains(expected), "{note}");
    }
    assert!(all(false).iter().all(String::is_empty), "a log that was closed: {:?}", all(false));
    let until = "SELECT max(time) FROM counters WHERE name = 'stock'";
    let log = made(directory.path(), &steps, true);
    let (last, ..) = run(&["query", &log, until, "--to", "+0.0000003s", "--csv"]);
    assert!(String::from_utf8(last).unwrap().ends_with("\n1000300\n"), "--to takes the time");
    // Blocks of one buffer change a counter: it ends early, and its values are right.
    let of_one = notes(&made(directory.path(), &[At(1), At(2), At(3)], true));
    assert!(of_one.iter().all(String::is_empty), "{of_one:?}");
    // No block of one of the two kinds was written.
    for note in notes(&made(directory.path(), &[In(5), In(6), At(7)], true)) {
        assert!(note.contains("may be wrong after +0s (times"), "{note}");
    }
}

#[test]
fn a_selection_has_the_values_of_the_whole_log_or_says_so() {
    let log = mps("mpmss-cut.log");
    let sql = "SELECT count(*), max(value), max(least) FROM counters WHERE name = 'allocated'";
    let all = run(&["query", &log, sql, "--csv"]).0;
    let part = run(&["query", &log, "--events", "PoolFree", sql, "--csv"]).0;
    let [all, part] = [all, part].map(|rows| String::from_utf8(rows).unwrap());
    let fields = |text: &str| -> Vec<String> {
        text.lines().nth(1).unwrap().split(',').map(str::to_owned).collect()
    };
    let (all, part) = (fields(&all), fields(&part));
    assert!(part[0] != "0" && part[0] != all[0], "{all:?} {part:?}");
    assert_eq!((&*all[2], &*part[2]), ("", ""), "values are those of the whole log");
    let (_, errors) = exported("trace.json", &[&log, "--events", "PoolFree"]);
    assert!(errors.contains(" counters are relative to a first value"), "{errors}");
    let (_, errors) = exported("trace.json", &[&log, "--events", "PoolAlloc,PoolF*"]);
    assert!(!errors.contains("relative"), "{errors}");
}

/// `.cnv.marks`
#[test]
fn a_counter_of_a_string_is_refused_with_the_numbers_that_there_are() {
    let directory = TempDir::new().unwrap();
    let log = made(directory.path(), &[In(1), Out(2)], false);
    let out = directory.path().join("trace.json").to_str().unwrap().to_owned();
    for counter in ["Came.from", "Came.n-Came.from", "came.from:n"] {
        let (_, code, errors) = run(&["export", &log, "-o", &out, "--counter", counter]);
        let why = "from of Came has another sort than W, U or D: only these count (integers and \
                   doubles); Came has n\n";
        assert!(code == 2 && errors.ends_with(&format!("--counter {counter}: {why}")), "{errors}");
    }
    let (_, code, errors) = run(&["export", &log, "-o", &out, "--counter", "Came.n:from"]);
    assert_eq!((code, &*errors), (0, ""));
}
