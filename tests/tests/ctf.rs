//! Logs in the Common Trace Format, as babeltrace2 reads them: its text agrees with ours.
//!
//! ```text
//!  golden logs, naive streams ──┬─ eventcnv export ──▶ CTF ──▶ babeltrace2 ──▶ text ─┬─ equal
//!                               └─ eventcnv --style json ────────────────────────────┘
//! ```
//!
//! Design: `.cnv.ctf` in `design/eventcnv.md`.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;
use tests::naive::{self, Buffer, Platform, Recipe, Ring, Writer};
use tests::programs::{eventcnv, lines, root, run, system};

/// An event, as eventcnv or babeltrace2 prints it.
#[derive(Debug, PartialEq, PartialOrd)]
struct Event {
    ticks: u64,
    name: String,
    /// All except doubles: numbers in decimal, strings in quotation marks.
    params: BTreeMap<String, String>,
    doubles: Vec<f64>,
    /// ns since 1970, in steps of 1 µs.
    time: Option<u64>,
}

/// The parameters that are doubles: event type and name.
type Doubles = BTreeSet<(String, String)>;

/// Returns the fields in braces: `{ a = 1, b = "x, \"y\"" }`.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut rest = text.trim().strip_prefix('{').unwrap().strip_suffix('}').unwrap().trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once(" = ").unwrap();
        let size = match after.strip_prefix('"') {
            Some(inside) => end_of_string(inside) + 1,
            None => after.find(',').unwrap_or(after.len()),
        };
        let (value, after) = after.split_at(size);
        found.push((name.trim().to_owned(), value.trim().to_owned()));
        rest = after.trim_start_matches([',', ' ']);
    }
    found
}

/// Returns the end of a string, after its closing quotation mark.
fn end_of_string(inside: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    panic!("a string without an end: {inside}");
}

/// Returns a string as babeltrace2 prints it.
fn printed(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{2400}'),
            '\\' | '"' | '\'' | '?' => out.extend(['\\', c]),
            '\u{7}' => out += "\\a",
            '\u{8}' => out += "\\b",
            '\u{1B}' => out += "\\e",
            '\u{C}' => out += "\\f",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\u{B}' => out += "\\v",
            c if c.is_ascii_control() => out += &format!("\\x{:02x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns a hexadecimal number in decimal, and any other text as it is.
fn decimal(text: &str) -> String {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap().to_string(),
        None => text.to_owned(),
    }
}

/// Returns a double of JSON, which has infinite ones and NaN as strings (`.cnv.json`).
fn real(value: &Value) -> Option<f64> {
    let is_real = |text: &&str| ["Infinity", "-Infinity", "NaN"].contains(text);
    let named = value.as_str().filter(is_real).and_then(|text| text.parse().ok());
    named.or_else(|| value.as_f64().filter(|_| value.is_f64()))
}

/// Returns the events of the dump, and the parameters that are doubles.
fn dumped(log: &Path) -> (Vec<Event>, Doubles) {
    let json = |time: &str| -> Vec<Value> {
        let text = lines(eventcnv().args(["--style", "json", "--time", time]).arg(log));
        text.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = json("ticks");
    let mut doubles = Doubles::new();
    let mut events = Vec::new();
    for line in &all {
        let name = line["event"].as_str().unwrap();
        for (param, value) in line["params"].as_object().unwrap() {
            if real(value).is_some() {
                doubles.insert((name.to_owned(), param.clone()));
            }
        }
    }
    for line in &all {
        let name = line["event"].as_str().unwrap().to_owned();
        let mut event = Event {
            ticks: line["ticks"].as_u64().unwrap(),
            name,
            params: BTreeMap::new(),
            doubles: Vec::new(),
            time: None,
        };
        for (param, value) in line["params"].as_object().unwrap() {
            let text = match value {
                _ if doubles.contains(&(event.name.clone(), param.clone())) => {
                    event.doubles.push(real(value).unwrap());
                    continue;
                }
                Value::String(text) if text.starts_with("0x") => decimal(text),
                Value::String(text) => printed(text),
                Value::Bool(value) => u64::from(*value).to_string(),
                value => value.to_string(),
            };
            event.params.insert(param.clone(), text);
        }
        events.push(event);
    }
    (events, doubles)
}

/// Returns the events that babeltrace2 prints.
fn read(trace: &Path, doubles: &Doubles) -> Vec<Event> {
    let output = run(system("babeltrace2").args(["--clock-seconds", "--no-delta"]).arg(trace));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let (time, rest) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
        let (head, rest) = rest.split_once(": {").unwrap();
        let name = head.rsplit(' ').next().unwrap().to_owned();
        let (context, rest) = rest.split_once("}, { ticks = ").unwrap();
        assert!(context.contains("buffer = "));
        let (ticks, rest) = rest.split_once(" }").unwrap();
        let mut event = Event {
            ticks: ticks.parse().unwrap(),
            name,
            params: BTreeMap::new(),
            doubles: Vec::new(),
            time: time.replace('.', "").parse().ok(),
        };
        let mut of = fields(rest.strip_prefix(", ").unwrap_or("{ }"));
        of.sort();
        for (param, value) in of {
            if doubles.contains(&(event.name.clone(), param.clone())) {
                event.doubles.push(value.trim_start_matches("-nan").parse().unwrap_or(f64::NAN));
            } else {
                event.params.insert(param, decimal(&value));
            }
        }
        event
    };
    text.lines().map(line).collect()
}

/// Exports a log, and compares. Returns the number of events.
fn assert_agree(log: &Path) -> usize {
    let directory = TempDir::new().unwrap();
    let trace = directory.path().join("trace.ctf");
    run(eventcnv().arg("export").arg(log).arg("-o").arg(&trace));
    let (mut expected, doubles) = dumped(log);
    let mut found = read(&trace, &doubles);
    assert_eq!(found.len(), expected.len());
    // Events of one time may have any order.
    for events in [&mut expected, &mut found] {
        let key = |event: &Event| (event.ticks, event.name.clone(), event.params.clone());
        events.sort_by_key(key);
    }
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(
            (found.ticks, &found.name, &found.params),
            (expected.ticks, &expected.name, &expected.params)
        );
        assert_eq!(found.doubles.len(), expected.doubles.len());
        for (a, b) in found.doubles.iter().zip(&expected.doubles) {
            // babeltrace2 prints six digits.
            let is_near = b.is_finite() && (a - b).abs() <= b.abs() * 1e-5;
            let is_same = is_near || a == b || a.is_nan() && b.is_nan();
            assert!(is_same, "{found:?} {expected:?}");
        }
    }
    found.len()
}

/// `.cnv.ctf`
#[test]
fn babeltrace2_prints_the_events_of_the_dump() {
    let golden = root().join("tests/golden");
    let count = |name: &str| assert_agree(&golden.join(name));
    assert_eq!(count("log/heap.log"), 1690);
    assert_eq!(count("log/heap-2.log"), 4028);
    assert_eq!(count("mps/amcss-arena-pool-trace.log"), 3233);
    assert_eq!(count("mps/mpmss-32bit-cut.log"), 3875);
}

/// Random bytes in strings, random doubles, and several registries, buffers and packets.
#[test]
fn babeltrace2_reads_streams_of_every_platform() {
    for (seed, big_endian, word_size) in [(1, false, 8), (2, true, 8), (3, false, 4), (4, true, 4)]
    {
        let platform = Platform { big_endian, word_size, block_size_log2: 12 };
        let (buffers, events) = (5, 1500);
        let recipe = Recipe {
            seed,
            platform,
            buffers,
            events,
            with_copies: true,
            is_shuffled: seed > 2,
            stream: 0,
        };
        let directory = TempDir::new().unwrap();
        let log = directory.path().join("made.log");
        std::fs::write(&log, naive::write(recipe).0.bytes()).unwrap();
        assert_eq!(assert_agree(&log), 1500, "seed {seed}");
    }
}

/// The wall time agrees with the dump, apart from the drift between the two clocks.
#[test]
fn babeltrace2_prints_the_time_of_day() {
    let log = root().join("tests/golden/log/heap-2.log");
    let directory = TempDir::new().unwrap();
    let trace = directory.path().join("trace.ctf");
    run(eventcnv().arg("export").arg(&log).arg("-o").arg(&trace));
    let found = read(&trace, &Doubles::new());
    let wall = lines(eventcnv().args(["--time", "wall"]).arg(&log));
    assert_eq!(wall.len(), found.len());
    for (event, line) in found.iter().zip(&wall) {
        // 2026-11-22T05:39:29.280692128Z
        let (_, time) = line.split_whitespace().next().unwrap().split_once('T').unwrap();
        let parts: Vec<f64> =
            time.trim_end_matches('Z').split(':').map(|part| part.parse().unwrap()).collect();
        let seconds = parts[0] * 3600.0 + parts[1] * 60.0 + parts[2];
        let day = 86_400_000_000_000;
        let ns = event.time.unwrap() % day;
        assert!((ns as f64 / 1e9 - seconds).abs() < 1e-4, "{line} {event:?}");
    }
}

/// The trace states what a buffer lost, and babeltrace2 reports that.
#[test]
fn babeltrace2_reports_discarded_events() {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, [5; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 200);
    let buffer = Buffer { buffer: 3, registry: 1, kind: 1, thread: 1 };
    let mut ring = Ring::new(&platform, buffer, 1000);
    for ticks in 1000..1020 {
        let words = [naive::Value::P(1), naive::Value::A(2), naive::Value::W(ticks)];
        assert!(ring.record(&platform, ticks, 2, &words));
    }
    assert!(ring.record(&platform, 1021, 0x77, &[naive::Value::W(7)]));
    ring.fields.discarded = [10, 20, 30, 40];
    ring.write(&mut writer, true);
    writer.end();
    let directory = TempDir::new().unwrap();
    let log = directory.path().join("lossy.log");
    std::fs::write(&log, writer.bytes()).unwrap();
    let trace = directory.path().join("trace.ctf");
    run(eventcnv().arg("export").arg(&log).arg("-o").arg(&trace));
    let output = run(system("babeltrace2").arg(&trace));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 21);
    // An event of a type that the log does not declare appears as its bytes.
    let last = text.lines().last().unwrap();
    assert!(
        last.contains(" ?: {") && last.contains("{ code = 119, size = 16, bytes = ["),
        "{last}"
    );
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("100 events"), "{errors}");
}
