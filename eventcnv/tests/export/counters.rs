//! Counters of a log in all outputs, against a computation by Python from the CSV.
//!
//! ```text
//!  log ─┬─ --style csv ──▶ tests/counters.py ──▶ time, name, key, value, change ─┐
//!       └─ query, parquet, export ──▶ rows, tracks, entries ─────────────────────┴─ the same
//! ```
//!
//! Design: `.cnv.counters`, `.cnv.sql.counters`.

use crate::chrome::entries;
use crate::exported;
use crate::perfetto::trace;
use crate::support::{mps, run};
use eventdef::field::P;
use eventlog::writer::{Maker, Origin};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The marks of the registry of the MPS.
const MPS: [&str; 6] = [
    "PoolAlloc allocated + size pool",
    "PoolFree allocated - size pool",
    "ArenaAlloc arena_memory + size arena",
    "ArenaAlloc pool_memory + size pool",
    "ArenaFree arena_memory - size arena",
    "ArenaFree pool_memory - size pool",
];
/// The marks of the registry below.
const MADE: [&str; 6] = [
    "Sent in-flight + 1",
    "Sent bytes + size peer",
    "Received in-flight - 1",
    "Received bytes - size peer",
    "Load load + by",
    "Loaded load = to",
];

/// A change: time, name, key, value, change.
type Change = (u64, String, String, f64, f64);

mod net {
    eventdef::events! {
        /// A network.
        registry "net" version(1, 0, 0);
        kinds standard;

        /// A message is under way. [counter in-flight += 1] [counter bytes += size:peer]
        /// [unit bytes size]
        Sent(1, always, User) {
            /// to it
            peer: U,
            /// its size
            size: W,
        }
        /// A message is here. [counter in-flight -= 1] [counter bytes -= size:peer]
        Received(2, always, User) {
            /// by it
            peer: U,
            /// its size
            size: W,
        }
        /// The load changes. [counter load += by]
        Load(3, always, User) {
            /// by so much
            by: D,
        }
        /// The load is measured. [counter load = to]
        Loaded(4, always, User) {
            /// it
            to: D,
        }
        /// Live bytes by pool. [counter pool += size] [unit bytes size]
        Filled(5, always, User) {
            /// the pool
            pool: P,
            /// how much
            size: W,
        }
    }
}
use net::{Filled, Load, Loaded, Received, Sent};

mod disk {
    eventdef::events! {
        /// A counter and an event type with names of the other registry.
        registry "disk" version(1, 0, 0);
        kinds standard;
        /// The load of the disk changes. [counter load += more]
        Load(1, always, User) {
            /// by so much
            more: U,
        }
    }
}

/// Returns the changes that Python computes.
fn expected(log: &str, rules: &[&str]) -> Vec<Change> {
    let (table, code, _) = run(&["--style", "csv", log]);
    assert_eq!(code, 0);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/counters.py");
    let mut python = Command::new("python3")
        .arg(script)
        .args(rules)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs; ./test --install installs it");
    let mut input = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&table));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let change = |line: &str| {
        let [time, name, key, value, change] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let [value, change] = [value, change].map(|number: &str| number.parse().unwrap());
        (time.parse().unwrap(), name.replace('_', " "), key.to_owned(), value, change)
    };
    text.lines().map(change).collect()
}

/// Makes a log of 2000 events by three threads.
fn made(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    let mut seed = 12345u64;
    for ticks in 1000..3000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = (seed >> 33) as usize;
        let (peer, size, thread) = (random as u32 % 4, random % 1000, random as u32 % 3 + 1);
        let (by, to) = (size as f64 / 4.0 - 100.0, size as f64 / 8.0);
        let added = match random / 7 % 8 {
            0..=2 => maker.add(thread, thread, ticks, &Sent { peer, size }),
            3..=5 => maker.add(thread, thread, ticks, &Received { peer, size }),
            6 => maker.add(thread, thread, ticks, &Load { by }),
            _ => maker.add(thread, thread, ticks, &Loaded { to }),
        };
        added.unwrap();
    }
    maker.finish().unwrap();
}

/// Returns changes by SQL, with the greatest `least` of each counter.
fn by_query(log: &str) -> (Vec<Change>, HashMap<(String, String), f64>) {
    let sql = "SELECT time, name, CASE typeof(key) WHEN 'integer' THEN key ELSE '' END, value,
        change, max(least) OVER (PARTITION BY log, name, key), unit FROM counters
        ORDER BY time, event, place";
    let (rows, code, errors) = run(&["query", log, sql, "--csv"]);
    assert_eq!(code, 0, "{errors}");
    let (mut changes, mut least) = (Vec::new(), HashMap::new());
    for row in String::from_utf8(rows).unwrap().lines().skip(1) {
        let row: Vec<&str> = row.split(',').map(|field| field.trim_start_matches('\'')).collect();
        let (name, key) = (row[1].to_owned(), row[2].to_owned());
        if let Ok(of) = row[5].parse() {
            least.insert((name.clone(), key.clone()), of);
        }
        let [value, change] = [row[3], row[4]].map(|number| number.parse().unwrap());
        changes.push((row[0].parse().unwrap(), name, key, value, change));
    }
    (changes, least)
}

/// Returns changes with keys in decimal, in an order of their own.
fn sorted(mut changes: Vec<Change>) -> Vec<Change> {
    for (_, _, key, ..) in &mut changes {
        if let Some(digits) = key.strip_prefix("0x") {
            *key = u64::from_str_radix(digits, 16).unwrap().to_string();
        }
    }
    changes.sort_by(|a, b| a.partial_cmp(b).unwrap());
    changes
}

/// Checks all outputs of a log. Returns the least first values of its relative counters.
fn agree(log: &str, rules: &[&str]) -> HashMap<(String, String), f64> {
    let expected = expected(log, rules);
    assert!(expected.len() > 100, "{log}: {}", expected.len());
    // Tracks and entries, in order: the title begins with name and key.
    let entries = entries(&[log]);
    let chrome = entries.iter().filter(|entry| entry["ph"] == "C").map(|entry| {
        (entry["name"].as_str().unwrap().to_owned(), entry["args"]["value"].as_f64().unwrap())
    });
    let trace = trace(&[log]);
    let perfetto = trace.events.iter().filter(|event| event.of == 4).map(|event| {
        let value = event.value.map(|value| value as f64).or(event.real).unwrap();
        (trace.tracks[&event.track].1.clone(), value)
    });
    for found in [chrome.collect::<Vec<_>>(), perfetto.collect()] {
        assert_eq!(found.len(), expected.len(), "{log}");
        for ((title, found), (_, name, key, value, _)) in found.iter().zip(&expected) {
            let begin = format!("{name} {}", key.to_lowercase());
            assert!(title.starts_with(begin.trim_end()) && found == value, "{log}: {title}");
        }
    }
    let (changes, least) = by_query(log);
    assert!(sorted(changes) == sorted(expected.clone()), "{log}: query");
    #[cfg(feature = "parquet")]
    assert!(sorted(by_parquet(log)) == sorted(expected.clone()), "{log}: parquet");
    let mut low: HashMap<(String, String), f64> = HashMap::new();
    for (_, name, key, value, _) in sorted(expected) {
        let of = low.entry((name, key)).or_default();
        *of = of.min(value);
    }
    for (counter, least) in least.iter().filter(|((name, _), _)| name != "load") {
        assert_eq!(*least, -low[counter], "{log}: {counter:?}");
    }
    least
}

/// Returns changes from the Parquet data set.
#[cfg(feature = "parquet")]
fn by_parquet(log: &str) -> Vec<Change> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("events");
    let (_, code, errors) = run(&["parquet", log, "-o", output.to_str().unwrap()]);
    assert_eq!(code, 0, "{errors}");
    let (mut changes, mut folders) = (Vec::new(), vec![output.join("counters")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
            for row in reader.get_row_iter(None).unwrap() {
                let row = row.unwrap();
                let of: HashMap<&str, &Field> =
                    row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
                let text = |name| match of[name] {
                    Field::Str(text) => text.clone(),
                    _ => String::new(),
                };
                assert!(["mps", "net", "disk"].contains(&&*text("registry")), "{row}");
                let Field::ULong(time) = of["time"] else { panic!("{row}") };
                let [Field::Double(value), Field::Double(change)] =
                    ["value", "change"].map(|n| of[n])
                else {
                    panic!("{row}")
                };
                if let Field::Long(exact) = of["exact_value"] {
                    assert_eq!(*exact as f64, *value, "{row}");
                }
                changes.push((*time, text("name"), text("key"), *value, *change));
            }
        }
    }
    changes
}

#[test]
fn counters_equal_a_computation_on_the_csv() {
    for name in ["mpmss-cut.log", "amcss-arena-pool-trace.log"] {
        assert!(agree(&mps(name), &MPS).is_empty(), "{name}: all values are absolute");
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("made.log");
    made(&path);
    let least = agree(path.to_str().unwrap(), &MADE);
    // Each falls below zero, the load before an event states it.
    assert_eq!(least.len(), 6, "{least:?}");
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
    let (_, errors) = exported("trace.json", &[&log, "--events", "PoolAlloc,PoolFree"]);
    assert!(!errors.contains("relative"), "{errors}");
}

/// `.cnv.sql.counters`, `.cnv.query`: names that two registries have.
#[test]
fn namesakes_of_two_registries_are_told_apart() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("made.log");
    let mut file = fs::File::create(&path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    for ticks in 0..3 {
        maker.add(1, 1, ticks, &Load { by: 0.5 }).unwrap();
        maker.add(2, 1, ticks, &disk::Load { more: 2 }).unwrap();
    }
    maker.finish().unwrap();
    let log = path.to_str().unwrap();
    let ask = |sql: &str| {
        let (rows, code, errors) = run(&["query", log, sql, "--csv"]);
        assert_eq!(code, 0, "{errors}");
        (String::from_utf8(rows).unwrap(), errors)
    };
    let sql = "SELECT registry, name, max(value) FROM counters GROUP BY 1, 2";
    assert_eq!(ask(sql).0, "registry,name,max(value)\ndisk,load,6\nnet,load,1.5\n");
    let note = |table: &str, other: &str| {
        let (_, errors) = ask(&format!("SELECT count(*) FROM {table}"));
        let expected = format!(" they are in {other}\n");
        assert!(errors.contains(&format!("note: {table} lacks ")), "{errors}");
        assert!(errors.ends_with(&expected), "{errors}");
    };
    note("Load", "disk_Load");
    note("disk_Load", "Load");
    let (_, errors) = ask("SELECT (SELECT count(*) FROM Load) + (SELECT count(*) FROM disk_Load)");
    assert_eq!(errors, "");
    #[cfg(feature = "parquet")]
    assert_eq!(by_parquet(log).len(), 6);
}

#[test]
fn a_name_that_is_a_parameter_makes_a_counter_for_each_value() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("made.log");
    let mut file = fs::File::create(&path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    for (ticks, pool) in (0..).zip([1, 2, 1, 1]) {
        maker.add(1, 1, ticks, &Filled { pool: P(pool), size: usize::MAX / 2 }).unwrap();
    }
    maker.finish().unwrap();
    let sql = "SELECT name, key, unit, typeof(value), max(value) FROM counters GROUP BY key";
    let (rows, ..) = run(&["query", path.to_str().unwrap(), sql, "--csv"]);
    let rows = String::from_utf8(rows).unwrap();
    // A sum of more than 63 bits is a double.
    let sum = 3.0 * (usize::MAX / 2) as f64;
    let last: Vec<&str> = rows.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(last[..4], ["pool", "1", "bytes", "real"]);
    assert_eq!(last[4].parse(), Ok(sum));
    assert_eq!(rows.lines().nth(2), Some("pool,2,bytes,integer,9223372036854775807"));
    let tracks = trace(&[path.to_str().unwrap()]).units;
    assert_eq!(tracks, HashMap::from([("pool 0x1".into(), 3), ("pool 0x2".into(), 3)]));
}
