//! The ring of a client: rates against its own counts; hard names and values in each form.
//!
//! ```text
//!  client 9000 ─┬─ ring:ring.log?size=90000 ──▶ eventcnv: events a second, columns, names
//!               └─ counted.txt: how many steps it made, and when ──▶ the truth
//! ```
//!
//! `tests/src/bin/client.rs` recorded both. Rules: `.cnv.history`, `.cnv.styles`, `.cnv.json`,
//! `.cnv.where`, `.cnv.marks`, `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::{golden_path, run};
use tempfile::TempDir;

/// Told rates differ from counted ones by the time that a hundred steps take.
const TOLERANCE: f64 = 0.03;

fn ring() -> String {
    golden_path("client/ring.log").to_str().unwrap().to_owned()
}

fn out(args: &[&str]) -> String {
    let (text, code, errors) = run(args);
    assert!(code < 2, "{args:?}: {errors}");
    String::from_utf8(text).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(args)).unwrap()
}

/// Returns the row with a name.
fn row<'j>(json: &'j Value, list: &str, key: &str, name: &str) -> &'j Value {
    let rows = json[list].as_array().unwrap();
    rows.iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("{name}: {json:#}"))
}

/// Returns how many steps a second the program made by its own account, in its last `count` ones.
fn counted(count: u64) -> f64 {
    let text = fs::read_to_string(golden_path("client/counted.txt")).unwrap();
    let point = |line: &str| {
        let (steps, ns) = line.split_once(' ').unwrap();
        (steps.parse::<u64>().unwrap(), ns.parse::<u64>().unwrap())
    };
    let points: Vec<(u64, u64)> = text.lines().map(point).collect();
    let (last, end) = *points.last().unwrap();
    // A hundred steps come at once, after a pause.
    let (_, begin) = points.iter().find(|(steps, _)| *steps > last - count).unwrap();
    count as f64 * 1e9 / (end - begin) as f64
}

fn assert_near(told: &Value, truth: f64, what: &str) {
    let told = told.as_f64().unwrap();
    assert!((told - truth).abs() < TOLERANCE * truth, "{what}: {told} told, {truth} counted");
}

#[test]
fn rates_of_a_ring_are_those_that_its_program_counted() {
    let stats = json(&["stats", "--json", &ring()]);
    let steps = row(&stats, "event_types", "event_type", "Step");
    let count = steps["events"].as_u64().unwrap();
    assert!((1000..8000).contains(&count), "most steps are overwritten: {count}");
    assert_near(&steps["events_per_s"], counted(count), "Step");
    // A request has ten steps.
    let requests =
        row(&stats, "event_types", "event_type", "RequestBegin")["events"].as_u64().unwrap();
    let truth = counted(requests * 10) / 10.0;
    let rate = |name| &row(&stats, "event_types", "event_type", name)["events_per_s"];
    assert_near(rate("RequestBegin"), truth, "RequestBegin");
    let all = counted(count) + 2.0 * truth;
    assert_near(&stats["events_per_s"], all, "all events");
    assert_near(&stats["threads"][1]["events_per_s"], all, "the thread");
    let pairs = json(&["pairs", "--json", &ring()]);
    let told: f64 = pairs["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["count_per_s"].as_f64().unwrap())
        .sum();
    assert_near(&told.into(), truth, "Request");
    // Rare events were never overwritten: they are few in all the time.
    assert!(rate("Connect").as_f64().unwrap() < 20.0);
}

#[test]
fn overwritten_time_is_neither_a_gap_nor_unmarked() {
    let stats = json(&["stats", "--json", &ring()]);
    let late = |kind| row(&stats, "kinds", "kind", kind)["complete_after_ns"].as_u64();
    let (steps, requests) = (late("Object").unwrap(), late("Trace").unwrap());
    assert!(steps > requests && requests > 0 && late("User").is_none(), "{stats:#}");
    for gap in stats["gaps"].as_array().unwrap() {
        assert!(gap["after_ns"].as_u64().unwrap() >= steps, "{gap}");
    }
    let text = out(&["stats", &ring()]);
    let heading = text.lines().find(|line| line.starts_with("kind ")).unwrap();
    assert!(heading.ends_with("complete after"), "{text}");
    let page = out(&["report", "-o", "-", &ring()]);
    let data = page.split_once("id=\"data\"").unwrap().1.split_once('>').unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let late = row(&data, "kinds", "name", "Object")["late"].as_f64().unwrap();
    let length = data["length"].as_f64().unwrap();
    assert!(late > length / 2.0 && late < length, "{late} of {length}");
    assert_eq!(data["reason"], "overwritten");
    // Steps begin and end nothing, but the lane of their thread is complete with them.
    let lane = data["lanes"]["lanes"][0][6].as_f64().unwrap() / 1e9;
    assert!((lane - late).abs() < 1e-4, "{lane} and {late}");
}

#[test]
fn the_time_of_a_cut_log_begins_with_its_first_event() {
    let directory = TempDir::new().unwrap();
    let cut = directory.path().join("cut.log");
    let cut = cut.to_str().unwrap();
    out(&["cut", &ring(), "--events", "Step,RequestBegin", "--from", "-10ms", "-o", cut]);
    let stats = json(&["stats", "--json", cut]);
    let steps = row(&stats, "event_types", "event_type", "Step");
    let count = steps["events"].as_u64().unwrap();
    assert_near(&steps["events_per_s"], counted(count), "Step");
    assert!(stats["seconds"].as_f64().unwrap() < 0.011, "{stats:#}");
    let before = &stats["streams"][0]["before"];
    assert_eq!(before["events"], "left out", "{stats:#}");
    let text = out(&["stats", cut]);
    assert!(text.contains(" s before are left out"), "{text}");
    // The runtime named the thread long before.
    let first = out(&["-v", "--time", "seconds", cut]);
    assert!(first.trim_start().starts_with("-0."), "{first}");
}

/// `.cnv.styles`
#[test]
fn csv_columns_have_names_of_their_own() {
    let text = out(&["--style", "csv", &ring()]);
    let heading: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let distinct: BTreeSet<String> = heading.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), heading.len(), "{heading:?}");
    let connect = text.lines().find(|line| line.contains(",Connect,")).unwrap();
    let cells: Vec<&str> = connect.split(',').collect();
    let cell = |name| cells[heading.iter().position(|found| *found == name).unwrap()];
    assert_eq!([cell("kind"), cell("thread")], ["User", "1"]);
    let own = ["kind_", "process", "Host", "thread_", "Thread__2", "host_"].map(cell);
    assert_eq!(own, ["1", "4711", "9", "10", "11", "db1.example.org"]);
}

/// `.cnv.json`
#[test]
fn json_has_infinite_numbers_as_strings() {
    let reals = ["0.5", "\"-Infinity\"", "\"Infinity\"", "\"NaN\"", "-0.0"];
    let dump = out(&["--style", "json", "--events", "Limit", &ring()]);
    for (line, real) in dump.lines().zip(reals) {
        assert!(line.ends_with(&format!("\"real\":{real}}}}}")), "{line}");
    }
    let stats = json(&["stats", "--params", "--json", "--events", "Limit", &ring()]);
    let params = &stats["parameters"];
    let real = row(&stats, "parameters", "parameter", "real");
    assert_eq!([&real["min"], &real["max"]], ["-Infinity", "Infinity"], "{params:#}");
    let chrome = out(&["export", "--format", "chrome", "-o", "-", "--events", "Limit", &ring()]);
    for real in ["-Infinity", "Infinity", "NaN"] {
        assert!(chrome.contains(&format!("\"real\":\"{real}\"")), "{chrome}");
    }
}

/// `.cnv.where`
#[test]
fn a_comparison_of_a_string_with_a_number_is_refused() {
    for (condition, expected) in [
        (
            "path > 3",
            "cannot compare path (a string) with 3 (a number); a string has quotes: \"3\"",
        ),
        ("n == 1 or not RequestBegin.path == 2.5", "cannot compare RequestBegin.path (a string)"),
        ("filename == \"x\"", "cannot compare filename (a number) with \"x\" (a string)"),
        ("word ~ 3", "~ finds text in a string"),
        ("@kind < 3", "cannot compare @kind (a string) with 3 (a number)"),
    ] {
        let (text, code, errors) = run(&["--where", condition, &ring()]);
        assert!(code == 2 && text.is_empty() && errors.contains(expected), "{condition}: {errors}");
    }
    // Where any event type can be compared, the others are left out.
    for condition in ["path > \"/c\"", "word > 3", "host ~ \"db1\"", "kind == 1"] {
        assert!(!out(&["--where", condition, &ring()]).is_empty(), "{condition}");
    }
}

/// `.cnv.marks`: a string names a slice as a label does.
#[test]
fn strings_name_slices_in_each_form() {
    let paths = ["/", "/cart", "/pay"];
    let pairs = json(&["pairs", "--json", &ring()]);
    let mut names: Vec<&str> = pairs["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["slice"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, paths);
    let by_path = json(&["pairs", "--json", "--by", "path", &ring()]);
    for row in by_path["rows"].as_array().unwrap() {
        assert_eq!(row["slice"], row["value"], "the parameter that names it has its value");
    }
    let slowest = json(&["pairs", "--json", "--slowest", "5", &ring()]);
    assert!(paths.contains(&slowest["slowest"][0]["slice"].as_str().unwrap()), "{slowest:#}");
    let folded = out(&["export", "--format", "folded", "-o", "-", &ring()]);
    let chrome = out(&["export", "--format", "chrome", "-o", "-", &ring()]);
    let (perfetto, ..) = run(&["export", "--format", "perfetto", "-o", "-", &ring()]);
    let perfetto = String::from_utf8_lossy(&perfetto).into_owned();
    for path in paths {
        assert!(folded.contains(&format!("client;client;{path} ")), "{folded}");
        assert!(chrome.contains(&format!("\"name\":\"{path}\",\"cat\":\"Trace\",\"ph\":\"E\"")));
        assert!(perfetto.contains(path));
    }
    assert_eq!(pairs, json(&["pairs", "--json", "--no-names", &ring()]));
    let [slice, pair] = ["--slice", "--pair"]
        .map(|option| out(&["pairs", option, "Step=RequestEnd", "--no-names", &ring()]));
    assert_eq!(slice, pair);
}

/// `.cnv.sql`
#[cfg(feature = "sql")]
#[test]
fn a_note_counts_words_that_sql_lacks() {
    let sql = "SELECT printf('%u', word), word FROM \"Limit\" ORDER BY event";
    let (text, code, errors) = run(&["query", "--csv", &ring(), sql]);
    let text = String::from_utf8(text).unwrap();
    let words: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(code, 0, "{errors}");
    assert_eq!(words[3], "9223372036854775808,-9223372036854775808");
    assert_eq!(words[4], "18446744073709551615,-1");
    assert!(errors.contains("note: 2 words of 2^63 or more are negative in SQLite"), "{errors}");
    let (_, _, errors) = run(&["query", &ring(), "SELECT count(*) FROM Step"]);
    assert!(!errors.contains("negative"), "{errors}");
    let names = "SELECT name, count(*) FROM slices GROUP BY name";
    let (text, ..) = run(&["query", "--csv", &ring(), names]);
    let text = String::from_utf8(text).unwrap();
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["/", "/cart", "/pay"]);
    let (text, ..) = run(&["query", "--json", &ring(), "SELECT real FROM \"Limit\""]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("{\"real\":\"-Infinity\"}"), "{text}");
}

/// `.cnv.parquet`: the parameter is not the partition.
#[cfg(feature = "parquet")]
#[test]
fn no_parameter_has_the_name_of_a_readers_column() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    out(&["parquet", &ring(), "-o", data.to_str().unwrap()]);
    let host = fs::read_dir(data.join("Connect")).unwrap().next().unwrap().unwrap().path();
    let process = fs::read_dir(&host).unwrap().next().unwrap().unwrap().path();
    let file = fs::File::open(process.join("kind=User/part-0.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let found: Vec<(String, String)> = row
        .get_column_iter()
        .skip(8)
        .map(|(name, field)| (name.clone(), field.to_string()))
        .collect();
    let expected = [
        ("kind_", "1"),
        ("process_", "4711"),
        ("filename_", "7"),
        ("__filename_", "8"),
        ("Host_", "9"),
        ("thread_", "10"),
        ("Thread__2", "11"),
        ("host__2", "\"db1.example.org\""),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found[..8], expected, "{found:?}");
    let is_zstd = |at| reader.metadata().row_group(0).column(at).compression();
    assert!(format!("{:?}", is_zstd(0)).starts_with("ZSTD"));
}
