//! Perfetto's own user interface opens an exported trace, and its trace processor finds each event.
//!
//! ```text
//!  golden log ── eventcnv export ──▶ trace ─┐
//!  PERFETTO_UI: the user interface ─────────┴▶ a server ──▶ chromium: check.html
//!                                                  ◀── POST: slices by name, counters, faults ──┘
//! ```
//!
//! The interface is 30 MB of foreign builds: `./proofs perfetto` fetches it; `./test` uses this
//! project's own decoder of the format. Design: `.cnv.perfetto` in `design/eventcnv.md`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{env, fs, thread};
use tests::programs::{eventcnv, lines, root, run, system};

const CHECK: &[u8] = include_bytes!("perfetto/check.html");

/// The results of the trace processor: for each question, counts by name.
type Found = BTreeMap<(String, String), u64>;

/// Answers one request: the check, the trace, a file of the interface, or the results.
fn answer(stream: TcpStream, ui: &Path, trace: &Path, found: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut request, mut size) = (String::new(), 0);
    reader.read_line(&mut request).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            size = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1)?.split('?').next()?;
    let body = match path {
        "/found" => {
            let mut text = vec![0; size];
            reader.read_exact(&mut text).ok()?;
            found.send(String::from_utf8_lossy(&text).into_owned()).ok()?;
            Some(Vec::new())
        }
        "/check.html" => Some(CHECK.to_vec()),
        "/trace" => fs::read(trace).ok(),
        _ => fs::read(ui.join(path.trim_start_matches('/'))).ok(),
    };
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).ok()
}

/// Returns the results of the interface's trace processor for a trace.
fn found_in(trace: &Path, ui: &Path) -> Found {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = channel();
    let (trace, ui) = (trace.to_owned(), ui.to_owned());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (trace, ui, sender) = (trace.clone(), ui.clone(), sender.clone());
            thread::spawn(move || answer(stream, &ui, &trace, &sender));
        }
    });
    let profile = tempfile::tempdir().expect("a directory can be made");
    let mut browser = system("chromium");
    browser.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    browser.args(["--window-size=1500,1000", "--remote-debugging-port=0"]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.arg(format!("http://{address}/check.html"));
    browser.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = browser.spawn().expect("chromium runs");
    let text = receiver.recv_timeout(Duration::from_secs(120));
    browser.kill().and_then(|()| browser.wait()).expect("chromium ends");
    let text = text.expect("an answer within two minutes");
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        let (what, name) = (fields.next()?, fields.next()?);
        Some(((what, name), fields.next()?.parse().ok()?))
    };
    text.lines().map(|line| row(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Counts the events of a type in a log.
fn count(log: &Path, event_type: &str) -> u64 {
    lines(eventcnv().args(["--events", event_type]).arg(log)).len() as u64
}

/// `.cnv.perfetto`, `.cnv.chrome`
#[test]
#[ignore = "needs Perfetto's user interface: ./proofs perfetto fetches it and runs this"]
fn perfetto_finds_each_event_of_an_exported_trace() {
    let ui = env::var_os("PERFETTO_UI").map(PathBuf::from);
    let ui = ui.expect("PERFETTO_UI: the folder of Perfetto's index.html");
    assert!(ui.join("index.html").exists(), "{}: no index.html", ui.display());
    let folder = tempfile::tempdir().expect("a directory can be made");
    for name in ["log/heap.log", "log/heap-2.log", "mps/mpmss-cut.log"] {
        let log = root().join("tests/golden").join(name);
        for ending in ["pftrace", "json"] {
            let trace = folder.path().join("trace").with_extension(ending);
            run(eventcnv().args(["export", "--force", "-o"]).arg(&trace).arg(&log));
            let found = found_in(&trace, &ui);
            let of = |what: &str, name: &str| {
                found.get(&(what.to_owned(), name.to_owned())).copied().unwrap_or(0)
            };
            let wrong = found.keys().filter(|(what, _)| what == "wrong" || what == "failed");
            assert_eq!(wrong.count(), 0, "{name} as {ending}: {found:?}");
            let allocations = count(&log, "PoolAlloc");
            assert!(allocations > 100, "{name}");
            assert_eq!(of("slices", "PoolAlloc"), allocations, "{name} as {ending}");
            assert_eq!(of("slices", "PoolFree"), count(&log, "PoolFree"), "{name} as {ending}");
            // One change for each allocation and each free; the MPS has more of both.
            let changes = allocations + count(&log, "PoolFree");
            assert!(of("counters", "all") >= changes, "{name} as {ending}");
            if name.starts_with("log") {
                assert_eq!(of("counters", "all"), changes, "{name} as {ending}");
                assert_eq!(of("slices", "File"), count(&log, "FileBegin"), "{name} as {ending}");
                assert_eq!(of("slices", "Pool"), count(&log, "PoolInit"), "{name} as {ending}");
            }
        }
    }
    // Calls, polls and tasks have the names of their functions.
    let log = root().join("tests/golden/calls/shop.log");
    for ending in ["pftrace", "json"] {
        let trace = folder.path().join("trace").with_extension(ending);
        run(eventcnv().args(["export", "--force", "-o"]).arg(&trace).arg(&log));
        let found = found_in(&trace, &ui);
        let of = |name: &str| found.get(&("slices".to_owned(), name.to_owned())).copied();
        let wrong = found.keys().filter(|(what, _)| what == "wrong" || what == "failed");
        assert_eq!(wrong.count(), 0, "{ending}: {found:?}");
        assert_eq!(of("shop::sell"), Some(3 + 2 + 2), "{ending}: {found:?}");
        assert_eq!(of("shop::Shelf::put(int)"), Some(2), "{ending}: {found:?}");
        assert_eq!([of("Call"), of("Poll"), of("Task")], [None; 3], "{ending}: {found:?}");
    }
}
