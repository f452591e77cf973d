//! The report in a real browser: it draws, finds, zooms, and prints nothing on the console.
//!
//! ```text
//!  log ── eventcnv report ──▶ page.html#check ── chromium, headless ──▶ the page's results
//! ```
//!
//! Rules: `.cnv.report` in `design/eventcnv.md`.

#[path = "report/calls.rs"]
mod calls;
#[path = "report/counters.rs"]
mod counters;
#[path = "report/durations.rs"]
mod durations;
/// The registry of calls.
#[path = "../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "the runtime uses the rest")]
mod events;
#[path = "report/first.rs"]
mod first;
#[path = "report/large.rs"]
mod large;
#[path = "report/odd.rs"]
mod odd;
#[path = "report/shapes.rs"]
mod shapes;
#[path = "report/source.rs"]
mod source;
#[path = "report/tabs.rs"]
mod tabs;
#[path = "report/threads.rs"]
mod threads;
#[path = "report/waitflame.rs"]
mod waitflame;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use tests::naive::{BlockFields, Buffer, EventType, Platform, Ring, Value, Writer};
use tests::programs::{eventcnv, lines, root, run, system};

/// Limits the time until a page is usable, in ms; it is far longer than any machine needs.
const READY_MAX: f64 = 20_000.0;

/// A page after its script has run, and its console output.
struct Page {
    dom: String,
    console: Vec<String>,
}

impl Page {
    fn open(page: &Path, state: &str) -> Page {
        let profile = tempfile::tempdir().expect("a directory can be made");
        let mut browser = system("chromium");
        browser.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]);
        browser.args(["--window-size=1280,1200", "--virtual-time-budget=30000"]);
        browser.arg("--allow-file-access-from-files");
        browser.args(["--enable-logging=stderr", "--dump-dom"]);
        browser.arg(format!("--user-data-dir={}", profile.path().display()));
        browser.arg(format!("file://{}#{state}", page.display())).stdin(Stdio::null());
        let output = run(&mut browser);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let errors = text(&output.stderr);
        let console = errors.lines().filter(|line| line.contains("CONSOLE"));
        let console = console.map(str::to_owned).collect();
        Page { dom: text(&output.stdout), console }
    }

    /// Opens a page in a window of a width in pixels. It is a frame of another page, because a
    /// browser's window has a least width. Only what the page states of itself is in the result, as
    /// soon as it states whether it is too wide: the steps of a test are one script.
    fn open_in(page: &Path, state: &str, width: u32) -> Page {
        let frame = page.with_extension("frame.html");
        let name = page.file_name().expect("a name").to_string_lossy();
        let text = format!(
            "<iframe width={width} height=1200 src=\"{name}#{state}\"></iframe>
            <script>const wait = setInterval(() => {{
              const frame = document.querySelector('iframe').contentDocument.documentElement;
              if (!frame || !('wide' in frame.dataset)) return;
              Object.assign(document.documentElement.dataset, frame.dataset);
              clearInterval(wait);
            }}, 100)</script>"
        );
        fs::write(&frame, text).expect("a page can be written");
        Page::open(&frame, "")
    }

    /// Returns a result that the page states in its own elements.
    fn said(&self, name: &str) -> &str {
        let begin = format!("data-{name}=\"");
        let rest = self.dom.split_once(&begin).map(|(_, rest)| rest);
        let rest = rest.unwrap_or_else(|| panic!("no {name}: {:?}", self.dom.get(..500)));
        rest.split('"').next().expect("a value")
    }

    /// Asserts that the columns of a table of the page are some of those of a command's rows.
    fn assert_columns(&self, table: &str, row: &serde_json::Value) {
        let (_, rest) = self.dom.split_once(&format!("id=\"{table}\"")).expect("the table");
        let head = rest.split("</thead>").next().expect("a heading");
        let fields = head.split("data-field=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let fields: Vec<&str> = fields.collect();
        let known = fields.iter().all(|field| row.get(field).is_some());
        assert!(fields.len() > 3 && known, "{table}: {fields:?}, not as in {row}");
    }

    fn number(&self, name: &str) -> f64 {
        self.said(name).parse().expect("a number")
    }
}

/// `.cnv.report`
#[test]
fn the_page_draws_searches_and_zooms_in_a_browser() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let page = directory.path().join("page.html");
    let log = root().join("tests/golden/log/heap.log");
    run(eventcnv().args(["report", "-o"]).arg(&page).arg(&log));
    let whole = Page::open(&page, "check");
    assert_eq!(whole.console, [""; 0]);
    assert!(whole.number("ready") < READY_MAX, "{} ms", whole.said("ready"));
    assert!(whole.number("colors") >= 3.0, "{} colours in the chart", whole.said("colors"));
    assert_eq!(whole.said("before"), "0.000000 1.000000");
    assert_eq!(whole.said("zoomed"), "0.200000 0.800000");
    assert_eq!(whole.said("reset"), "0.000000 1.000000");
    assert_eq!(whole.said("first"), "ArenaCreate", "the table of types, sorted by name");
    let stats = run(eventcnv().args(["stats", "--json"]).arg(&log)).stdout;
    let stats: serde_json::Value = serde_json::from_slice(&stats).expect("it is JSON");
    whole.assert_columns("types", &stats["event_types"][0]);
    let count = lines(eventcnv().arg(&log)).len();
    assert_eq!(whole.number("found"), count as f64, "a small log is complete");
    let found = Page::open(&page, "check&search=letters%20PoolFree");
    let dump = lines(eventcnv().args(["-vv", "--events", "PoolFree"]).arg(&log));
    let expected = dump.iter().filter(|line| line.contains("\"letters\"")).count();
    assert!(expected > 100);
    assert_eq!(found.number("found"), expected as f64);
    assert!(found.dom.contains("[\"letters\"]"), "the list shows labels");
    let part = Page::open(&page, "range=0.5-1");
    assert_eq!(part.said("range"), "0.500000 1.000000");
    let some = part.number("found");
    assert!(0.0 < some && some < count as f64, "{some}");
}

/// `.cnv.report`: the page shows every rare event of a long log. The labels of each time axis
/// differ, for any range.
#[test]
fn the_page_of_a_long_log_shows_rare_events_and_times() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [log, page] = ["long.log", "page.html"].map(|name| directory.path().join(name));
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 16 };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    let rows = (1..).zip(["Often", "TraceStart", "ArenaDestroy"]);
    let params = &[('W', "which")];
    let rows = rows.map(|(code, name)| EventType { code, kind: 0, name, params });
    let rows: Vec<EventType> = rows.collect();
    writer.registry(1, &["Arena"], &rows, 300);
    let mut ring = Ring::new(&platform, Buffer { buffer: 1, registry: 1, kind: 0, thread: 1 }, 0);
    // Most events take two million ticks of a log of 13,000 million ticks; one event is at its end.
    for n in 0..60_000u64 {
        let (ticks, code) = match n {
            59_999 => (13_000_000_000, 3),
            n if n % 5000 == 4321 => (35 * n, 2),
            n => (35 * n, 1),
        };
        if !ring.record(&platform, ticks, code, &[Value::W(n)]) {
            ring.write(&mut writer, true);
            ring.advance(&platform, ticks);
            assert!(ring.record(&platform, ticks, code, &[Value::W(n)]));
        }
    }
    ring.write(&mut writer, true);
    writer.end();
    fs::write(&log, writer.bytes()).expect("the log can be written");
    run(eventcnv().args(["report", "-o"]).arg(&page).arg(&log));
    let found = Page::open(&page, "check&search=TraceStart");
    assert_eq!(found.console, [""; 0]);
    assert_eq!(found.said("found"), "12");
    assert!(found.dom.contains("which:54321"), "the list shows the event");
    assert_eq!(Page::open(&page, "search=ArenaDestroy").said("found"), "1");
    assert!(found.dom.contains("all events of 2 of 3 event types"), "the page states its sample");
    assert_eq!(found.said("clipped"), "", "a table is cut off");
    let axes: Vec<Vec<&str>> =
        found.said("axes").split(" / ").map(|axis| axis.split('|').collect()).collect();
    assert!(axes.len() > 10 && axes.iter().all(|axis| axis.len() > 2), "{axes:?}");
    for axis in &axes {
        let distinct: std::collections::BTreeSet<_> = axis.iter().collect();
        assert_eq!(distinct.len(), axis.len(), "{axis:?}");
    }
}

/// `.cnv.report`: names and strings of a log stay text, whatever they contain.
#[test]
fn nothing_in_a_log_becomes_markup_or_a_request() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let evil = "</script><script>document.title='evil'</script><img src=http://a.example/>";
    let log = directory.path().join("</title><b>.log".replace('/', "\u{2215}"));
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    let said = EventType { code: 1, kind: 0, name: "Said", params: &[('S', "what")] };
    writer.registry(1, &["User"], &[said], 300);
    let event = platform.event(1, &[Value::S(evil.into())]);
    let size = platform.block_size() as u32;
    let last = size - event.len() as u32;
    let fields = BlockFields { block_type: 1, last, count: 1, top: size, ..BlockFields::default() };
    let buffer = Buffer { buffer: 1, registry: 1, kind: 0, thread: 1 };
    writer.event_block(buffer, fields, &event, true);
    writer.end();
    fs::write(&log, writer.bytes()).expect("the log can be written");
    let page = directory.path().join("page.html");
    run(eventcnv().args(["report", "-o"]).arg(&page).arg(&log));
    let text = fs::read_to_string(&page).expect("text");
    assert_eq!(text.matches("</script>").count(), 2);
    assert!(text.contains("default-src 'none'") && text.contains("\\u003c/script>"), "{text}");
    let opened = Page::open(&page, "check");
    assert_eq!(opened.console, [""; 0]);
    assert!(!opened.dom.contains("<title>evil") && !opened.dom.contains("<img"));
    assert!(opened.dom.contains("&lt;img src=http:"), "the page shows text");
}

/// `.cnv.report`: the log may have any length.
#[test]
fn a_page_is_no_larger_than_5_mb_and_is_not_overwritten() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let mut recorder = std::process::Command::new(env!("CARGO_BIN_EXE_recorder"));
    recorder.args(["threads", "3", "100000"]).env("MPS_TELEMETRY_CONTROL", "all");
    run(recorder.env("MPS_TELEMETRY_FILENAME", &log));
    let page = directory.path().join("page.html");
    run(eventcnv().args(["report", "-o"]).arg(&page).arg(&log));
    let size = fs::metadata(&page).expect("a file").len();
    assert!((100_000..5_000_000).contains(&size), "{size} bytes");
    let output = eventcnv().args(["report", "-o"]).arg(&page).arg(&log).output().expect("a child");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--force"));
    let opened = Page::open(&page, "check");
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.dom.contains("of the sample (the log has 300"), "the page states its sample");
}
