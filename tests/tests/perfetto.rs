//! Perfetto's own user interface opens an exported trace, and its trace processor finds each event.
//!
//! ```text
//!  golden log ── eventcnv export ──▶ trace ─┐
//!  PERFETTO_UI: the user interface ─────────┴▶ a server ──▶ chromium: check.html
//!                                                  ◀── POST: slices by name, counters, faults ──┘
//! ```
//!
//! Of a kernel's log, its own states of threads are compared with those of the lens on waits.
//!
//! The interface is 30 MB of foreign builds: `./proofs perfetto` fetches it; `./test` uses this
//! project's own decoder of the format. Design: `.cnv.perfetto` in `design/eventcnv.md`.

use eventlog::reader::{Clock, Filter, Log, Order};
use eventlog::writer::Origin;
use lens::waits::events::kernel::{Switch, Waking};
use lens::waits::model::rows::{Row, Rows};
use lens::waits::model::{self, Cause, Options, What};
use lens::waits::output::Output;
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns the folder of the interface.
fn interface() -> PathBuf {
    let ui = env::var_os("PERFETTO_UI").map(PathBuf::from);
    let ui = ui.expect("PERFETTO_UI: the folder of Perfetto's index.html");
    assert!(ui.join("index.html").exists(), "{}: no index.html", ui.display());
    ui
}

/// Times in ns by thread and what it did: `7 run`.
type Times = BTreeMap<String, u64>;

/// Returns the time of each thread, as the lens on waits has it, and the count of waits that a
/// thread ended. Threads of `unsure` are left out.
fn model_of(path: &Path, unsure: &BTreeSet<u32>) -> (Times, u64) {
    let log = Log::open(path).expect("a log");
    let clock = Clock::new(&log);
    let (model, _) = model::read(&log, 0, &clock, &Options::default()).expect("a kernel");
    let is_whole = model.counts.contradictions + model.counts.gaps == 0;
    assert!(is_whole || !unsure.is_empty(), "{:?}", model.counts);
    let mut times = BTreeMap::new();
    let mut wake_count = 0;
    for (life, own) in (0..).zip(&model.lives) {
        if unsure.contains(&own.thread) {
            continue;
        }
        for (at, (_, stretch)) in model.of_life(life).into_iter().enumerate() {
            let mut add = |what: &str, ns: u64| {
                *times.entry(format!("{} {what}", own.thread)).or_insert(0) += ns;
            };
            match stretch.what {
                // Before the first switch or wake of a thread, Perfetto knows nothing of it.
                What::Run if at > 0 => add("run", stretch.ns()),
                // To Perfetto, a new thread is ready from the fork on.
                What::Wait if at == 0 && stretch.cause == Cause::Forked => {
                    add("ready", stretch.ns());
                }
                What::Wait => {
                    add("sleep", if at > 0 { stretch.ns() - stretch.delay() } else { 0 });
                    add("ready", stretch.delay());
                    wake_count += u64::from(stretch.cause == Cause::Thread);
                }
                _ => {}
            }
        }
    }
    (times, wake_count)
}

/// Returns how many switches of a log do not begin with the thread that the switch before them
/// brought to their processor, and the threads whose switches the log lacks: those of such pairs,
/// and those that would run on two processors.
fn torn(path: &Path) -> (u64, BTreeSet<u32>) {
    let log = Log::open(path).expect("a log");
    let rows = Rows::of(&log, 0).expect("a kernel");
    // By processor, its thread; by thread, its processor.
    let (mut running, mut places) = (BTreeMap::new(), BTreeMap::new());
    let (mut count, mut unsure) = (0, BTreeSet::new());
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let Some(Row::Switch { prev, next, .. }) = rows.row(&event) else { continue };
        let cpu = event.buffer;
        if let Some(last) = running.insert(cpu, next).filter(|last| *last != prev) {
            count += 1;
            unsure.extend([last, prev]);
        }
        if places.remove(&prev).is_some_and(|place| place != cpu) {
            unsure.insert(prev);
        }
        if next != 0 && places.insert(next, cpu).is_some() {
            unsure.insert(next);
        }
    }
    unsure.remove(&0);
    (count, unsure)
}

/// Writes the log of a kernel with 3 processors and 12 threads, which sleep, wake each other, and
/// are preempted at random; some are woken before they sleep.
fn random_kernel(path: &Path, mut seed: u64) {
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &Origin::new()).expect("a log begins");
    let mut any = |count: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 20) as usize % count
    };
    let (mut running, mut asleep, mut ready) = ([0u32; 3], Vec::new(), Vec::new());
    let (mut at, mut woken) = (1000, [false; 13]);
    for thread in 1..=12u32 {
        let name = format!("worker {thread}");
        out.thread(at, thread, 1 + (thread - 1) / 4 * 4, name.as_bytes()).expect("a name");
        asleep.push(thread);
    }
    for _ in 0..20_000 {
        at += 100 + any(9000) as u64;
        let cpu = any(3);
        let own = running[cpu];
        if any(2) == 0 {
            // Asleep, or about to sleep on another processor.
            let others: Vec<u32> =
                running.into_iter().filter(|thread| ![0, own].contains(thread)).collect();
            let is_early = any(4) == 0 && !others.is_empty();
            let target = if is_early {
                others[any(others.len())]
            } else if asleep.is_empty() {
                continue;
            } else {
                let target = asleep.swap_remove(any(asleep.len()));
                ready.push(target);
                target
            };
            woken[target as usize] |= is_early;
            let context = if own == 0 { 2 } else { 0 };
            let row = Waking { waker: own, target, context, stack: 0 };
            out.add(cpu as u32, at, &row).expect("a row");
            continue;
        }
        let next = if ready.is_empty() { 0 } else { ready.swap_remove(any(ready.len())) };
        if own == next {
            continue;
        }
        let state = [0, 1, 2, 0x40, 0x80][any(5)];
        if own != 0 {
            // Some sleep on after such a wake, until the next.
            let is_woken = std::mem::take(&mut woken[own as usize]) && any(3) > 0;
            let is_ready = is_woken || state == 0;
            if is_ready { &mut ready } else { &mut asleep }.push(own);
        }
        running[cpu] = next;
        out.add(cpu as u32, at, &Switch { prev: own, next, state, stack: 0 }).expect("a row");
    }
    out.finish().expect("a log ends");
    fs::write(path, bytes).expect("a file can be written");
}

/// Compares Perfetto's states of threads with the model of a kernel's log, and returns the count of
/// threads. Where a kernel kept switches to itself, Perfetto misses as many, and no more is wrong.
fn compare(name: &str, log: &Path, ui: &Path) -> usize {
    let trace = log.with_extension("pftrace");
    run(eventcnv().args(["export", "--force", "-o"]).arg(&trace).arg(log));
    let found = found_in(&trace, ui);
    let (torn_count, unsure) = torn(log);
    let wrong: Vec<_> =
        found.iter().filter(|((what, _), _)| what == "wrong" || what == "failed").collect();
    let tear = ("wrong".to_owned(), "mismatched_sched_switch_tids".to_owned());
    let expected = (torn_count > 0).then_some((&tear, &torn_count));
    assert_eq!(wrong, Vec::from_iter(expected), "{name}");
    let twice: Vec<_> = found.keys().filter(|(what, _)| what == "twice").collect();
    assert!(twice.is_empty(), "{name}: one thread, two rows: {twice:?}");
    let (expected, wake_count) = model_of(log, &unsure);
    let of = |what: &str, name: &str| {
        found.get(&(what.to_owned(), name.to_owned())).copied().unwrap_or(0)
    };
    let (mut sums, mut worst) = ([0; 3], 0);
    for (key, ns) in &expected {
        let own = of("states", key);
        assert!(own.abs_diff(*ns) <= 1000, "{name}: {key}: {own} ns, not {ns} ns");
        worst = worst.max(own.abs_diff(*ns));
        let what = ["run", "ready", "sleep"].iter().position(|what| key.ends_with(what));
        sums[what.expect("one of three")] += ns;
    }
    let threads: BTreeSet<_> = expected.keys().filter_map(|key| key.split(' ').next()).collect();
    let states = found.keys().filter(|(what, key)| what == "states" && !key.ends_with("over"));
    for (_, key) in states {
        let thread = key.split(' ').next().expect("a thread");
        let is_unsure = thread.parse().is_ok_and(|thread| unsure.contains(&thread));
        let is_known = expected.contains_key(key) || is_unsure;
        assert!(is_known || of("states", key) <= 1000, "{name}: {key}");
    }
    assert!(sums.iter().all(|ns| *ns > 0), "{name}: {sums:?}");
    assert!(of("wakers", "all") >= wake_count && wake_count > 0, "{name}: {wake_count}");
    let (count, torn) = (threads.len(), unsure.len());
    eprintln!(
        "{name}: {count} threads agree to {worst} ns; {wake_count} wakers; {sums:?} ns; \
         {torn_count} switches were kept from the recorder, of {torn} threads"
    );
    count
}

/// `.cnv.perfetto.kernel`: Perfetto's own states of threads are the runs and waits of the lens.
#[test]
#[ignore = "needs Perfetto's user interface: ./proofs perfetto fetches it and runs this"]
fn perfetto_draws_the_states_that_the_model_has() {
    let ui = interface();
    let folder = tempfile::tempdir().expect("a directory can be made");
    for seed in [7, 88_172_645_463_325_252] {
        let log = folder.path().join("random.log");
        random_kernel(&log, seed);
        assert_eq!(compare(&format!("seed {seed}"), &log, &ui), 12);
    }
    // A real kernel, where this user may record it. Some guests keep many switches of a processor
    // to themselves, from perf too.
    let log = folder.path().join("real.log");
    let program = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.02; ls / | cat; done";
    let mut record = eventcnv();
    record.args(["waits", "record", "-o"]).arg(&log).args(["--", "taskset", "-c", "0"]);
    record.args(["sh", "-c", program]);
    let output = record.output().expect("eventcnv runs");
    if output.status.success() {
        assert!(compare("a real kernel", &log, &ui) > 5);
    } else {
        eprintln!("no real kernel: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `.cnv.perfetto`, `.cnv.chrome`
#[test]
#[ignore = "needs Perfetto's user interface: ./proofs perfetto fetches it and runs this"]
fn perfetto_finds_each_event_of_an_exported_trace() {
    let ui = interface();
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

/// The path of a compiled program has the calls that the program counts itself.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
#[ignore = "needs Perfetto's user interface: ./proofs perfetto fetches it and runs this"]
fn perfetto_finds_each_call_of_a_walked_path() {
    let ui = interface();
    let folder = tempfile::tempdir().expect("a directory can be made");
    let source = root().join("tests/tests/paths/steps.c");
    run(system("cc").current_dir(&folder).args(["-O1", "-o", "steps"]).arg(source));
    let collect = ["paths", "collect", "-o", "path.log", "--", "./steps", "97"];
    let counted = run(eventcnv().current_dir(&folder).args(collect)).stdout;
    let counted: u64 = String::from_utf8_lossy(&counted).trim().parse().expect("a count");
    for ending in ["pftrace", "json"] {
        let trace = folder.path().join("trace").with_extension(ending);
        run(eventcnv().current_dir(&folder).args(["export", "path.log", "-o"]).arg(&trace));
        let found = found_in(&trace, &ui);
        let of = |name: &str| found.get(&("slices".to_owned(), name.to_owned())).copied();
        let wrong = found.keys().filter(|(what, _)| what == "wrong" || what == "failed");
        assert_eq!(wrong.count(), 0, "{ending}: {found:?}");
        assert_eq!([of("main"), of("step")], [Some(1), Some(counted)], "{ending}: {found:?}");
    }
}
