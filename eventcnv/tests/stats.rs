//! Statistics equal those of the dump for every selection.
//!
//! ```text
//!  log ── eventcnv --style json, -vv ──▶ counted by hand ─┐
//!      └─ eventcnv stats --json ───────────────────────────┴──▶ the same
//! ```
//!
//! Design: `.cnv.stats`, `.cnv.gaps`, `.cnv.params` in `design/eventcnv.md`.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use support::{golden_path, mps, run};

fn ours(name: &str) -> String {
    golden_path("log").join(name).to_str().unwrap().to_owned()
}

/// Returns the statistics of a log, as JSON.
fn stats(args: &[&str]) -> Value {
    let (found, code, errors) = run(&[&["stats", "--json"], args].concat());
    assert!(code == 0 || errors.contains("warning") || code == 1, "{errors}");
    serde_json::from_slice(&found).unwrap()
}

/// Returns ticks, name and parameters of every event, from the dump.
fn dumped(args: &[&str]) -> Vec<(u64, String, Vec<String>)> {
    let (found, _, _) = run(&[&["-vv"], args].concat());
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let ticks = u64::from_str_radix(words.next().unwrap(), 16).unwrap();
        let name = words.nth(1).unwrap().to_owned();
        (ticks, name, words.map(str::to_owned).collect())
    };
    String::from_utf8(found).unwrap().lines().map(line).collect()
}

/// `.cnv.stats`
#[test]
fn counts_equal_those_of_the_dump() {
    for log in [ours("heap-2.log"), mps("mpmss-cut.log")] {
        let selections: [&[&str]; 4] =
            [&[], &["--kinds", "Pool,Arena"], &["--where", "size > 8"], &["--last", "50"]];
        for selection in selections {
            let args = [&[log.as_str()], selection].concat();
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            for (_, name, _) in dumped(&args) {
                *expected.entry(name).or_default() += 1;
            }
            let found = stats(&args);
            let rows = found["event_types"].as_array().unwrap().iter();
            let row = |row: &Value| {
                (row["event_type"].as_str().unwrap().to_owned(), row["events"].as_u64().unwrap())
            };
            assert_eq!(rows.map(row).collect::<BTreeMap<_, _>>(), expected, "{args:?}");
            assert_eq!(found["events"].as_u64(), Some(expected.values().sum()));
            assert!(!expected.is_empty());
        }
    }
}

/// Returns the number before a word of a text.
fn number_before(text: &str, word: &str) -> u64 {
    text.split(word).next().unwrap().split_whitespace().last().unwrap().parse().unwrap()
}

/// `.cnv.stats`
#[test]
fn several_raw_streams_are_counted_alike_by_every_command() {
    let logs = ["labels.log", "mpmss-32bit-cut.log", "mpmss-cut.log", "labels.log"].map(mps);
    let directory = tempfile::TempDir::new().unwrap();
    let within = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let whole = within("whole.log");
    fs::write(&whole, logs.iter().flat_map(|log| fs::read(log).unwrap()).collect::<Vec<_>>())
        .unwrap();
    let several: Vec<&str> = logs.iter().map(String::as_str).collect();
    let one: &[&str] = &[&whole];
    for (round, logs) in [one, &several].into_iter().enumerate() {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for (_, name, _) in dumped(logs) {
            *expected.entry(name).or_default() += 1;
        }
        let sum: u64 = expected.values().sum();
        let found = stats(logs);
        let row = |row: &Value| {
            (row["event_type"].as_str().unwrap().to_owned(), row["events"].as_u64().unwrap())
        };
        let rows = found["event_types"].as_array().unwrap().iter().map(row);
        assert_eq!((found["events"].as_u64(), rows.collect()), (Some(sum), expected));
        let threads = found["threads"].as_array().unwrap().iter();
        assert_eq!(threads.map(|row| row["events"].as_u64().unwrap()).sum::<u64>(), sum);
        let of = |command: &str, output: &str| {
            let output = within(&format!("{round}{output}"));
            let (said, code, errors) = run(&[&[command, "-o", &output], logs].concat());
            assert_eq!(code, 0, "{command}: {errors}");
            String::from_utf8(said).unwrap()
        };
        assert_eq!(number_before(&of("sql", ".db"), " events"), sum);
        assert_eq!(number_before(&of("parquet", ".parquet"), " events"), sum);
        of("report", ".html");
        let page = fs::read_to_string(within(&format!("{round}.html"))).unwrap();
        assert!(page.contains(&format!("\"events\":{sum},")), "the page lacks {sum}");
        // Values of parameters are counted alike, too.
        let (values, _, _) =
            run(&[&["stats", "--params", "--json", "--events", "Intern"], logs].concat());
        let values: Value = serde_json::from_slice(&values).unwrap();
        let most = &values["parameters"][1]["top"][0]["count"];
        assert!(most.as_u64() >= Some(2), "no string occurs twice: {values}");
    }
    let (same, code, errors) = run(&["diff", "--json", &whole, &whole]);
    let same: Value = serde_json::from_slice(&same).unwrap();
    assert_eq!((code, &*errors), (0, ""));
    assert_eq!(same["a"]["events"], stats(one)["events"], "{same}");
}

/// `.cnv.stats`
#[test]
fn successive_runs_last_as_long_as_their_sum() {
    let log = mps("mpmss-cut.log");
    let once = stats(&["--clock-rate", "1GHz", &log]);
    let thrice = stats(&["--clock-rate", "1GHz", &log, &log, &log]);
    let seconds = |found: &Value| found["seconds"].as_f64().unwrap();
    assert!((seconds(&thrice) - 3.0 * seconds(&once)).abs() < 1e-9, "{thrice}");
    let rate = |found: &Value| found["events_per_s"].as_f64().unwrap();
    assert!((rate(&thrice) / rate(&once) - 1.0).abs() < 1e-9);
    // Two processes ran at the same time.
    let [a, b] = [ours("heap.log"), ours("heap-2.log")];
    let [alone, other, both] = [&[&*a][..], &[&b], &[&a, &b]].map(|logs| seconds(&stats(logs)));
    assert!(both >= alone.max(other) && both <= alone + other + 1e-9, "{alone} {other} {both}");
}

/// `.cnv.gaps`
#[test]
fn the_longest_gap_equals_the_longest_in_the_dump() {
    for log in [ours("heap-2.log"), mps("mpmss-cut.log")] {
        let ticks: Vec<u64> = dumped(&[&log]).iter().map(|event| event.0).collect();
        let longest = ticks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        let found = stats(&[&log]);
        assert_eq!(found["gaps"][0]["of"], "all");
        let tick = |name: &str| found["gaps"][0][name].as_u64().unwrap();
        assert_eq!(tick("to_tick") - tick("from_tick"), longest, "{log}");
        assert_eq!(found["holes"].as_array().unwrap().len(), 0);
    }
}

/// `.cnv.params`
#[test]
fn parameters_have_the_values_that_the_dump_shows() {
    let log = ours("heap-2.log");
    let found = stats(&["--params", "--events", "PoolAlloc", &log]);
    let params = found["parameters"].as_array().unwrap();
    let [pool, size] = ["pool", "size"]
        .map(|name| params.iter().find(|param| param["parameter"] == name).unwrap());
    let events = dumped(&["--events", "PoolAlloc", &log]);
    let number = |word: &String| {
        let digits = word.strip_prefix("size:")?;
        u64::from_str_radix(digits, 16).ok()
    };
    let mut sizes: Vec<u64> =
        events.iter().flat_map(|event| event.2.iter().find_map(number)).collect();
    sizes.sort_unstable();
    assert_eq!(sizes.len() as u64, found["events"].as_u64().unwrap());
    let expected = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100) - 1] as f64;
    for (name, percent) in [("min", 0), ("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)] {
        let expected = if percent == 0 { sizes[0] as f64 } else { expected(percent) };
        assert_eq!(size[name].as_f64(), Some(expected), "{name}");
    }
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    assert!((size["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    let labels = pool["top"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap());
    let shown = |label: &str| {
        let label = format!("[\"{label}\"]");
        events.iter().filter(|event| event.2.iter().any(|word| word.contains(&label))).count()
    };
    let counts: Vec<usize> = labels.map(shown).collect();
    let found: Vec<u64> =
        pool["top"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert_eq!(found, counts.iter().map(|&count| count as u64).collect::<Vec<_>>());
    assert!(found.len() >= 2 && found[0] >= found[1], "{found:?}");
}

#[test]
fn an_empty_selection_is_reported() {
    let (_, code, errors) = run(&["stats", "--where", "size == 123456789", &ours("heap.log")]);
    assert_eq!(code, 0);
    assert!(errors.contains("no event is selected"), "{errors}");
}

/// The tool counts the events of undamaged blocks, and reports the damage.
#[test]
fn the_rest_of_a_damaged_log_is_counted() {
    let bytes = std::fs::read(ours("heap-2.log")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.log");
    let middle = bytes.len() / 2;
    let mut damaged = bytes.clone();
    damaged[middle..middle + 64].fill(0xA5);
    std::fs::write(&path, damaged).unwrap();
    let (found, code, errors) = run(&["stats", path.to_str().unwrap()]);
    let found = String::from_utf8(found).unwrap();
    assert_eq!(code, 1, "{errors}");
    assert!(found.contains("PoolAlloc") && errors.contains("eventcnv: "), "{found}{errors}");
    assert!(!found.contains("nothing is known to be lost"), "{found}");
}
