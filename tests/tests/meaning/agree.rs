//! Counters and slices of a log in all outputs, against a computation by Python from the CSV.
//!
//! ```text
//!  log ─┬─ --style csv ──▶ tests/meaning.py ──▶ changes, slices ─┐
//!       ├─ sql, parquet ──▶ rows                                 │
//!       ├─ export ──▶ tracks, entries of Chrome, replayed        ├─ the same
//!       ├─ pairs ──▶ counts, percentiles                         │
//!       └─ report ──▶ the same, charts, the longest bars ────────┘
//! ```
//!
//! Design: `.cnv.counters`, `.cnv.timeline`, `.cnv.pairs`, `.slice.pair`.

#[allow(dead_code, reason = "the tests of exports use the rest")]
#[path = "../../../eventcnv/tests/export/protobuf.rs"]
mod protobuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use protobuf::Trace;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use tests::programs::{eventcnv, root, run, system};

/// A change of a counter.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) struct Change {
    ticks: u64,
    thread: u64,
    name: String,
    value: Number,
    change: Number,
    key: String,
    /// In a table: the least first value of the counter, if it is relative.
    least: Option<Number>,
    ns: i64,
}

/// A slice: its end in ticks, its duration, and where it ends on a timeline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slice {
    pair: String,
    label: String,
    key: String,
    thread: u64,
    ticks: u64,
    ns: i64,
    end: Option<u64>,
    duration: Option<u64>,
    pub(crate) verdict: String,
    shut: Option<i64>,
}

/// The value of a counter: an integer of 64 bits, or a double.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn read(text: &str) -> Number {
        let whole = text.parse().map(Number::Whole);
        whole.unwrap_or_else(|_| Number::Real(text.parse().expect("a number")))
    }

    pub(crate) fn real(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }
}

/// What Python computes of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Computed {
    pub(crate) changes: Vec<Change>,
    pub(crate) slices: Vec<Slice>,
    /// By pair: ends that end nothing.
    pub(crate) alone: HashMap<String, u64>,
    /// By counter: its least value before an event states it.
    lows: HashMap<String, Number>,
    /// The counters that are relative in the tables.
    pub(crate) relative: BTreeSet<String>,
    /// The time of the first event.
    first: i64,
}

impl Computed {
    /// Returns it with two doubles for each change that is not two integers of 64 bits.
    fn rounded(&self) -> Computed {
        let mut rounded = self.clone();
        for Change { value, change, .. } in &mut rounded.changes {
            if !matches!((&value, &change), (Number::Whole(_), Number::Whole(_))) {
                (*value, *change) = (Number::Real(value.real()), Number::Real(change.real()));
            }
        }
        rounded
    }
}

impl Slice {
    /// Returns the name in tables: that of the pair stands before the names of spans.
    fn name(&self, spans: &[&str]) -> String {
        match &*self.label {
            "" => self.pair.clone(),
            label if spans.contains(&&*self.pair) => format!("{} {label}", self.pair),
            label => label.to_owned(),
        }
    }

    /// Returns what a timeline shows: name, beginning and end.
    fn drawn(&self, first: i64) -> (String, i64, Option<i64>) {
        let name = if self.label.is_empty() { &self.pair } else { &self.label };
        (name.clone(), self.ns - first, self.shut.map(|shut| shut - first))
    }
}

/// Runs the tool, which may find faults.
fn told(args: &[&str], log: &Path, more: &[&str]) -> Vec<u8> {
    let output = eventcnv().args(args).arg(log).args(more).output().expect("the tool runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{args:?} {more:?}: {errors}");
    output.stdout
}

/// Returns a key as all outputs can have it: integers and doubles in decimal.
fn plain(key: &str) -> String {
    let part = |part: &str| {
        if let Some(digits) = part.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).expect("hexadecimal").to_string();
        }
        match (part.parse::<u64>(), part.parse::<f64>()) {
            // SQLite has NULL in place of NaN.
            (Err(_), Ok(value)) if value.is_nan() => String::new(),
            (Err(_), Ok(value)) => value.to_string(),
            _ => part.to_owned(),
        }
    };
    key.split(' ').map(part).collect::<Vec<_>>().join(" ")
}

/// Returns what Python computes of the events that `part` selects, among all events of a log or, if
/// `is_alone`, among themselves.
fn computed(log: &Log<'_>, part: &[&str], is_alone: bool) -> Computed {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, args: &[&str]| {
        let path = directory.path().join(name);
        let mut dump = eventcnv();
        let output =
            dump.args(["--style", "csv"]).args(args).args(log.clock).arg(log.path).output();
        fs::write(&path, output.expect("the tool runs").stdout).expect("a file");
        path
    };
    let all = if is_alone { part } else { &[] };
    let files = [
        file("all", all),
        file("part", part),
        // Without seconds the dump is empty, and a tick counts as a ns.
        file("times", &[&["--time", "seconds"], all].concat()),
    ];
    let mut python = system("python3");
    let output = run(python.arg(root().join("tests/meaning.py")).args(files).args(log.rules));
    let mut computed = Computed::default();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let line: Vec<Value> = serde_json::from_str(line).expect("JSON");
        computed.take(&line);
    }
    computed
}

impl Computed {
    fn take(&mut self, line: &[Value]) {
        let text = |at: usize| line[at].as_str().unwrap_or_default().to_owned();
        let number = |at: usize| text(at).parse().expect("a number");
        let ns = |at: usize| line[at].as_i64().expect("a time");
        match (&*text(0), line.len()) {
            ("first", 2) => self.first = ns(1),
            ("change", 8) => self.changes.push(Change {
                ticks: number(1),
                thread: number(3),
                name: text(4).replace('_', " "),
                key: plain(&text(5)),
                value: Number::read(&text(6)),
                change: Number::read(&text(7)),
                least: None,
                ns: ns(2),
            }),
            ("slice", 11) => self.slices.push(Slice {
                pair: text(1),
                label: text(2),
                key: plain(&text(3)),
                thread: number(4),
                ticks: number(5),
                ns: ns(6),
                end: text(7).parse().ok(),
                duration: line[8].as_u64(),
                verdict: text(9),
                shut: line[10].as_i64(),
            }),
            ("low", 4) => {
                let counter = format!("{} {}", text(1).replace('_', " "), plain(&text(2)));
                self.lows.insert(counter, Number::read(&text(3)));
            }
            ("alone", 2) => *self.alone.entry(text(1)).or_default() += 1,
            _ => panic!("{line:?}"),
        }
    }
}

/// A log, with the rules of `meaning.py` for its marks.
pub(crate) struct Log<'l> {
    pub(crate) path: &'l Path,
    /// Options of its clock.
    pub(crate) clock: &'l [&'l str],
    pub(crate) rules: &'l [&'l str],
}

/// A tick is a ns then. By the syncs of a recorded log, seconds are those of the time of day, and
/// durations those of CLOCK_MONOTONIC, which differ by some ns.
pub(crate) const TICKS: [&str; 2] = ["--clock-rate", "1GHz"];

/// Checks all outputs of the events of a log that `part` selects. Returns what Python computes.
pub(crate) fn agree(log: &Log<'_>, part: &[&str]) -> Computed {
    let options = [part, log.clock].concat();
    let directory = tempfile::tempdir().expect("a directory");
    let make = |command: &[&str], name: &str| {
        let path = directory.path().join(name);
        let output = path.to_str().expect("text");
        told(command, log.path, &[&options[..], &["-o", output]].concat());
        path
    };
    let mut expected = computed(log, part, false);
    let spans = log.rules.iter().filter_map(|rule| rule.strip_prefix("span ")?.split(' ').nth(1));
    let spans: Vec<&str> = spans.collect();
    let leasts = assert_rows(by_sql(&make(&["sql"], "log.db")), &expected, &spans, "sql");
    let parquet = by_parquet(&make(&["parquet"], "log.parquet"));
    assert_eq!(assert_rows(parquet, &expected.rounded(), &spans, "parquet"), leasts);
    if part.is_empty() {
        let is_low = |(counter, low): (&String, &Number)| match leasts.get(counter) {
            Some(least) => *least == -low.real(),
            None => low.real() == 0.0,
        };
        assert!(expected.lows.iter().all(is_low), "{leasts:?} {:?}", expected.lows);
    }
    expected.relative = leasts.into_keys().collect();

    let alone = if part.is_empty() { None } else { Some(computed(log, part, true)) };
    let alone = alone.as_ref().unwrap_or(&expected);
    let chrome = fs::read(make(&["export"], "log.json")).expect("a trace");
    let titles = assert_timeline(by_chrome(&chrome), alone, "chrome");
    let perfetto = fs::read(make(&["export"], "log.pftrace")).expect("a trace");
    assert_timeline(by_perfetto(&Trace::read(&perfetto)), alone, "perfetto");

    let groups = groups(&expected, &spans);
    let pairs: Value =
        serde_json::from_slice(&told(&["pairs", "--json"], log.path, &options)).expect("JSON");
    assert_pairs(&pairs["rows"], &groups);
    let page = fs::read_to_string(make(&["report"], "log.html")).expect("a page");
    let (_, data) = page.split_once("id=\"data\"").expect("the data");
    let (_, data) = data.split_once('>').expect("an element");
    let data = data.split("</script>").next().expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_durations(&data, &groups);
    if part.is_empty() {
        assert_charts(&data, &expected, &titles.0);
    }
    expected
}

/// Names of an output and of Python. A string of a key is a hash in tables, the same one each time.
#[derive(Default)]
struct Names(HashMap<String, String>, HashMap<String, String>);

impl Names {
    /// Returns whether two names in a context have always come together.
    fn are_one(&mut self, (context, found): (&str, &str), expected: &str) -> bool {
        let [a, b] = [found, expected].map(|name| format!("{context} {name}"));
        *self.0.entry(a.clone()).or_insert(b.clone()) == b
            && *self.1.entry(b).or_insert(a.clone()) == a
    }
}

/// A slice in a table: name, thread, begin, end, duration, verdict, key.
type Row = (String, u64, u64, Option<u64>, Option<u64>, String, String);

/// Checks the rows of tables, which have no order. Returns the least first values of relative
/// counters.
fn assert_rows(
    (mut changes, mut slices): (Vec<Change>, Vec<Row>),
    computed: &Computed,
    spans: &[&str],
    of: &str,
) -> HashMap<String, f64> {
    let row = |slice: &Slice| {
        let Slice { thread, ticks, end, duration, ref verdict, ref key, .. } = *slice;
        (slice.name(spans), thread, ticks, end, duration, verdict.clone(), key.clone())
    };
    let mut rows: Vec<Row> = computed.slices.iter().map(row).collect();
    rows.sort();
    slices.sort();
    let mut names = Names::default();
    for (mut found, expected) in slices.iter().cloned().zip(&rows) {
        if names.are_one((&found.0, &found.6), &expected.6) {
            found.6.clone_from(&expected.6);
        }
        assert_eq!(found, *expected, "{of}");
    }
    assert_eq!(slices.len(), rows.len(), "{of}");
    let mut expected = computed.changes.clone();
    for changes in [&mut expected, &mut changes] {
        changes.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    }
    let (mut names, mut leasts) = (Names::default(), HashMap::new());
    for (mut found, expected) in changes.iter().cloned().zip(&expected) {
        if names.are_one((&found.name, &found.key), &expected.key) {
            found.key.clone_from(&expected.key);
        }
        if let Some(least) = found.least.take() {
            let of = leasts.entry(format!("{} {}", found.name, found.key)).or_insert(0.0);
            *of = least.real().max(*of);
        }
        assert_eq!(found, Change { ns: 0, ..expected.clone() }, "{of}");
    }
    assert_eq!(changes.len(), expected.len(), "{of}");
    leasts
}

/// Returns the rows of a database.
fn by_sql(path: &Path) -> (Vec<Change>, Vec<Row>) {
    let database = Connection::open(path).expect("a database");
    let key = "CASE typeof(key) WHEN 'integer' THEN printf('%u', key) ELSE coalesce(key, '') END";
    let rows = |sql: &str| {
        let mut statement = database.prepare(&sql.replace("KEY", key)).expect("a query");
        let count = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..count).map(|at| row.get(at)).collect();
        let rows = statement.query_map([], row).expect("rows");
        rows.collect::<Result<Vec<Vec<Cell>>, _>>().expect("rows")
    };
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Real(value) => value.to_string(),
        other => panic!("{other:?}"),
    };
    let whole = |cell: &Cell| match *cell {
        Cell::Integer(value) => Some(value as u64),
        Cell::Null => None,
        ref other => panic!("{other:?}"),
    };
    let number = |cell: &Cell| match *cell {
        Cell::Integer(value) => Number::Whole(value),
        Cell::Real(value) => Number::Real(value),
        ref other => panic!("{other:?}"),
    };
    let known = |cell: &Cell| whole(cell).expect("a number");
    let change = |row: Vec<Cell>| Change {
        ticks: known(&row[0]),
        thread: known(&row[1]),
        name: text(&row[2]),
        key: plain(&text(&row[3])),
        value: number(&row[4]),
        change: number(&row[5]),
        least: Some(&row[6]).filter(|cell| **cell != Cell::Null).map(number),
        ns: 0,
    };
    let slice = |row: Vec<Cell>| {
        let (name, verdict, key) = (text(&row[0]), text(&row[5]), plain(&text(&row[6])));
        (name, known(&row[1]), known(&row[2]), whole(&row[3]), whole(&row[4]), verdict, key)
    };
    let changes = rows("SELECT time, thread, name, KEY, value, change, least FROM counters");
    let slices = rows("SELECT name, thread, begin, end, duration, verdict, KEY FROM slices");
    (changes.into_iter().map(change).collect(), slices.into_iter().map(slice).collect())
}

/// Returns the rows of the data sets in a folder.
fn by_parquet(folder: &Path) -> (Vec<Change>, Vec<Row>) {
    let whole = |cell: &Field| match *cell {
        Field::ULong(value) => Some(value),
        Field::UInt(value) => Some(value.into()),
        Field::Null => None,
        ref other => panic!("{other:?}"),
    };
    let known = |cell: &Field| whole(cell).expect("a number");
    let text = |cell: &Field| match cell {
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => panic!("{other:?}"),
    };
    let number = |real: &Field, exact: &Field| match (real, exact) {
        (&Field::Double(value), &Field::Long(exact)) => {
            assert_eq!(exact as f64, value);
            Number::Whole(exact)
        }
        (&Field::Double(value), Field::Null) => Number::Real(value),
        other => panic!("{other:?}"),
    };
    let change = |row: HashMap<String, Field>| Change {
        ticks: known(&row["time"]),
        thread: known(&row["thread"]),
        name: text(&row["name"]),
        key: plain(&text(&row["key"])),
        value: number(&row["value"], &row["exact_value"]),
        change: number(&row["change"], &row["exact_change"]),
        least: match (&row["relative"], &row["least"]) {
            (Field::Bool(true), Field::Double(least)) => Some(Number::Real(*least)),
            _ => None,
        },
        ns: 0,
    };
    let slice = |row: HashMap<String, Field>| {
        let (end, duration) = (whole(&row["end"]), whole(&row["duration"]));
        let [name, verdict, key] = ["name", "verdict", "key"].map(|name| text(&row[name]));
        (name, known(&row["thread"]), known(&row["begin"]), end, duration, verdict, plain(&key))
    };
    let changes = rows(&folder.join("counters")).into_iter().map(change).collect();
    (changes, rows(&folder.join("slices")).into_iter().map(slice).collect())
}

/// Returns the rows of all files below a folder.
fn rows(folder: &Path) -> Vec<HashMap<String, Field>> {
    let (mut rows, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let reader = SerializedFileReader::new(fs::File::open(path).expect("a file"));
            for row in reader.expect("Parquet").get_row_iter(None).expect("rows") {
                let row = row.expect("a row");
                rows.push(row.get_column_iter().map(|(n, f)| (n.clone(), f.clone())).collect());
            }
        }
    }
    rows
}

/// What a timeline shows: values by the titles of counters, in order; and slices.
#[derive(Default)]
struct Timeline {
    changes: Vec<(String, f64)>,
    slices: Vec<(String, i64, Option<i64>)>,
    /// By track, what is open.
    open: HashMap<String, Vec<(String, i64)>>,
}

impl Timeline {
    fn begin(&mut self, track: String, name: &str, ns: i64) {
        self.open.entry(track).or_default().push((name.to_owned(), ns));
    }

    fn end(&mut self, track: &str, ns: i64) {
        let (name, begin) = self.open.get_mut(track).and_then(Vec::pop).expect("an open slice");
        self.slices.push((name, begin, Some(ns)));
    }
}

/// Returns the timeline of a trace for Chrome.
fn by_chrome(bytes: &[u8]) -> Timeline {
    let trace: Value = serde_json::from_slice(bytes).expect("JSON");
    let (mut timeline, mut first) = (Timeline::default(), None);
    for entry in trace["traceEvents"].as_array().expect("entries") {
        let (phase, name) = (entry["ph"].as_str().expect("a phase"), entry["name"].as_str());
        let name = name.unwrap_or_default();
        if phase == "M" {
            continue;
        }
        let ns = (entry["ts"].as_f64().expect("a time") * 1000.0).round() as i64;
        let ns = ns - *first.get_or_insert(ns);
        let track = format!("{} {}", entry["tid"], entry["id2"]);
        let lane = entry["id2"].to_string();
        match phase {
            "B" => timeline.begin(track, name, ns),
            "E" => timeline.end(&track, ns),
            "b" => timeline.begin(lane, name, ns),
            "e" => timeline.end(&lane, ns),
            "C" => {
                let value = entry["args"]["value"].as_f64().expect("a value");
                timeline.changes.push((name.to_owned(), value));
            }
            _ => {}
        }
    }
    timeline
}

/// Returns the timeline of a trace for Perfetto.
fn by_perfetto(trace: &Trace) -> Timeline {
    let (mut timeline, mut first) = (Timeline::default(), None);
    for event in &trace.events {
        let ns = event.ns as i64;
        let ns = ns - *first.get_or_insert(ns);
        match event.of {
            1 => timeline.begin(event.track.to_string(), &event.name, ns),
            2 => timeline.end(&event.track.to_string(), ns),
            4 => {
                let value = event.value.map(|value| value as f64).or(event.real);
                let title = trace.tracks[&event.track].1.clone();
                timeline.changes.push((title, value.expect("a value")));
            }
            _ => {}
        }
    }
    timeline
}

/// Checks a timeline. Returns the titles of the counters.
fn assert_timeline(mut timeline: Timeline, computed: &Computed, of: &str) -> Names {
    let mut names = Names::default();
    assert_eq!(timeline.changes.len(), computed.changes.len(), "{of}");
    for ((title, found), change) in timeline.changes.iter().zip(&computed.changes) {
        let counter = format!("{} {}", change.name, change.key);
        let is_titled = title.starts_with(&change.name) && names.are_one(("", title), &counter);
        assert!(
            is_titled && is_equal(*found, change.value.real()),
            "{of}: {title} {found} {change:?}"
        );
    }
    let open = std::mem::take(&mut timeline.open);
    let open = open.into_values().flatten().map(|(name, begin)| (name, begin, None));
    timeline.slices.extend(open);
    timeline.slices.sort();
    let drawn = computed.slices.iter().map(|slice| slice.drawn(computed.first));
    let mut drawn: Vec<_> = drawn.collect();
    drawn.sort();
    for (found, expected) in timeline.slices.iter().zip(&drawn) {
        assert_eq!(found, expected, "{of}");
    }
    assert_eq!(timeline.slices.len(), drawn.len(), "{of}");
    names
}

/// Returns whether two doubles are equal, except for the last bit, in which a parser may err.
fn is_equal(a: f64, b: f64) -> bool {
    a == b || a.abs() >= 9e14 && (a - b).abs() <= a.abs() * f64::EPSILON
}

/// What `pairs` and the page tell of the slices of a name.
#[derive(Debug, Default)]
struct Group {
    /// In order.
    durations: Vec<u64>,
    /// By verdict, and `alone`.
    odd: BTreeMap<String, u64>,
}

/// Returns the slices by their names.
fn groups(computed: &Computed, spans: &[&str]) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for slice in &computed.slices {
        let group = groups.entry(slice.name(spans)).or_default();
        if ["whole", "crossing"].contains(&&*slice.verdict) {
            group.durations.extend(slice.duration);
        }
        *group.odd.entry(slice.verdict.clone()).or_default() += 1;
    }
    for (pair, count) in &computed.alone {
        *groups.entry(pair.clone()).or_default().odd.entry("alone".to_owned()).or_default() +=
            count;
    }
    groups.values_mut().for_each(|group| group.durations.sort_unstable());
    groups
}

impl Group {
    /// Returns the least duration that this part of all does not exceed.
    fn percentile(&self, thousandths: usize) -> Option<u64> {
        let is_it = |at: &usize| (at + 1) * 1000 >= thousandths * self.durations.len();
        (0..self.durations.len()).find(is_it).map(|at| self.durations[at])
    }

    fn odd(&self, verdict: &str) -> u64 {
        self.odd.get(verdict).copied().unwrap_or(0)
    }
}

/// Checks the rows of `pairs`.
fn assert_pairs(rows: &Value, groups: &BTreeMap<String, Group>) {
    let rows = rows.as_array().expect("rows");
    for row in rows {
        let name = row["slice"].as_str().expect("a name");
        let group = groups.get(name).unwrap_or_else(|| panic!("no {name}: {groups:?}"));
        let field = |of: &str| {
            let ns = row.get(format!("{of}_ns")).or_else(|| row.get(format!("{of}_ticks")));
            ns.unwrap_or_else(|| panic!("{of} {row}")).as_u64()
        };
        let count = group.durations.len() as u64;
        assert_eq!((&row["count"], &row["exact"]), (&count.into(), &true.into()), "{row}");
        assert_eq!(field("total"), Some(group.durations.iter().sum()), "{row}");
        for (of, part) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99_9", 999), ("max", 1000)]
        {
            assert_eq!(field(of), group.percentile(part), "{of} {row}");
        }
        let odd = [("crossing", "crossing"), ("again", "again"), ("unfinished", "unfinished")];
        for (of, verdict) in odd.into_iter().chain([("without_beginning", "alone")]) {
            assert_eq!(row[of], group.odd(verdict), "{of} {row}");
        }
    }
    assert_eq!(rows.len(), groups.len(), "{groups:?}");
}

/// Checks the durations of a page, and the longest bars of its lanes.
fn assert_durations(data: &Value, groups: &BTreeMap<String, Group>) {
    let (durations, bars) = (&data["durations"], &data["lanes"]["bars"]);
    let rows = durations["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let bytes = |of: &str| {
        let text = bars[of].as_str().unwrap_or_default();
        STANDARD.decode(text).expect("base64")
    };
    let names = bytes("names");
    let names = names.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let lengths = bytes("lengths");
    let lengths = lengths.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let places = bytes("places");
    // The lowest byte is the verdict: whole, crossing, or one without a duration.
    let verdicts = places.as_chunks().0.iter().map(|[verdict, _, _, _]| *verdict);
    let bars = names.zip(lengths).zip(verdicts).filter(|(_, verdict)| *verdict < 2);
    let bars: Vec<(usize, f64)> = bars.map(|(bar, _)| bar).collect();
    for (at, row) in rows.iter().enumerate() {
        let name = row["name"].as_str().expect("a name");
        let group = groups.get(name).unwrap_or_else(|| panic!("no {name}: {groups:?}"));
        assert_eq!(row["count"], group.durations.len(), "{row}");
        let total = group.durations.iter().sum::<u64>();
        assert_eq!(row["total"].as_f64(), Some(total as f64), "{row}");
        for (at, part) in [500, 900, 990, 999].into_iter().enumerate() {
            assert_eq!(row["percentiles"][at].as_u64(), group.percentile(part), "{row}");
        }
        assert_eq!(row["max"].as_u64(), group.durations.last().copied(), "{row}");
        let odd = ["crossing", "doubtful", "again", "unfinished", "gave way", "alone"];
        assert_eq!(row["odd"], Value::from(odd.map(|of| group.odd(of)).to_vec()), "{row}");
        let mut octaves: BTreeMap<u64, u64> = BTreeMap::new();
        for ns in &group.durations {
            *octaves.entry(ns.checked_ilog2().map_or(0, |bit| 1 << bit)).or_default() += 1;
        }
        let octaves = octaves.iter().map(|(from, count)| vec![*from, *count]);
        assert_eq!(row["bars"], Value::from(octaves.map(Value::from).collect::<Vec<_>>()), "{row}");
        let is_of = |name: usize| durations["rowOf"][name] == at;
        let mut longest: Vec<f64> =
            bars.iter().filter(|(name, _)| is_of(*name)).map(|(_, length)| *length).collect();
        longest.sort_by(|a, b| b.total_cmp(a));
        let slowest = group.durations.iter().rev().map(|ns| *ns as f64);
        let count = group.durations.len().min(8);
        assert!(longest.len() >= count, "{row}");
        assert!(slowest.take(count).eq(longest.into_iter().take(count)), "{row}");
    }
    assert_eq!(rows.len(), groups.len(), "{groups:?}");
}

/// Checks the charts of a page: least, greatest and last value in each part of the time.
fn assert_charts(data: &Value, computed: &Computed, titles: &HashMap<String, String>) {
    let mut values: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
    for change in &computed.changes {
        let of = values.entry(format!("{} {}", change.name, change.key)).or_default();
        of.push((change.ns, change.value.real()));
    }
    let counters = &data["counters"];
    let rows = counters["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(rows.len(), values.len().min(32));
    let parts = counters["parts"].as_i64().unwrap_or(1);
    // Seconds count from the beginning of the page's time.
    let length = data["length"].as_f64().expect("a length");
    let (first, length) = match data["isSeconds"].as_bool() {
        Some(true) => (0, (length * 1e9).round() as i64),
        _ => (computed.first, length as i64),
    };
    for row in rows {
        let title = row["name"].as_str().expect("a title");
        let values = &values[titles[&format!(" {title}")].trim_start()];
        let expected = cells(values, first, length, parts);
        let found = row["cells"].as_array().expect("cells").iter();
        let found: Vec<f64> = found.map(|cell| cell.as_f64().expect("a number")).collect();
        assert_eq!(found.len(), expected.as_flattened().len(), "{row}");
        let mut all = found.iter().zip(expected.as_flattened());
        assert!(all.all(|(a, b)| is_equal(*a, *b)), "{row} {expected:?}");
    }
}

/// Returns the part of the time, and the least, the greatest and the last value in it, for each
/// part with a value.
fn cells(values: &[(i64, f64)], first: i64, length: i64, parts: i64) -> Vec<[f64; 4]> {
    let mut cells: Vec<[f64; 4]> = Vec::new();
    let mut is_early = false;
    for &(ns, value) in values {
        let at = i128::from((ns - first).max(0)) * 1024 / i128::from(length + 1);
        let at = (at as i64 / (1024 / parts)) as f64;
        match cells.last_mut() {
            // Of the time before, the last value counts.
            Some(cell) if is_early => *cell = [at, value, value, value],
            Some(cell) if cell[0] == at => {
                *cell = [at, cell[1].min(value), cell[2].max(value), value];
            }
            _ => cells.push([at, value, value, value]),
        }
        is_early = ns < first;
    }
    cells
}
