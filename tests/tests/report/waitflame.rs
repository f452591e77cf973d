//! The flame of waits, used as a person does: points, clicks, zooms, searches, keys, saves.
//!
//! ```text
//!  control paths, frames, stacks ──▶ Maker ──▶ log ── eventcnv report ──▶ page ── chromium
//!                                               └── eventcnv query ──▶ SQL's sums = the page's
//! ```
//!
//! Rules: `.cnv.report.flame` in `design/eventcnv.md`.

use super::calls::page_with;
use super::threads::registries::waits::{
    ControlPath, FrameBegin, FrameEnd, RunBegin, RunEnd, Stack,
};
use super::threads::{label, origin, plain, sync};
use crate::{Page, READY_MAX};
use eventlog::writer::Maker;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use tests::programs::{eventcnv, lines, root, run};

const STEPS: &str = include_str!("waitflame.js");
/// A name that would end a script, or mark up a page.
const HOSTILE: &str = "</script><img src=http://a.example/> \"work\"";
const NONE: u32 = u32::MAX;

/// Kinds of frames.
const PROCESS: u32 = 0;
const THREAD: u32 = 1;
const RUN: u32 = 2;
const WAIT: u32 = 3;
const IO: u32 = 4;
const PATH: u32 = 5;

/// A log of waits that is being made; its names have labels.
struct Flames<'o> {
    maker: Maker<'o>,
    names: HashMap<String, usize>,
}

/// Returns a time in µs as ticks.
fn us(us: u64) -> u64 {
    us * 1000 + 2
}

impl Flames<'_> {
    /// Adds a stack on a track, from and to in ns.
    fn stack(&mut self, track: u32, path: u32, (from, to): (u64, u64), frames: &[(&str, u32)]) {
        for (depth, (name, kind)) in (0..).zip(frames) {
            let next = 0x1000 + self.names.len();
            let frame = match self.names.get(*name) {
                Some(known) => *known,
                None => label(&mut self.maker, next, name),
            };
            self.names.insert((*name).to_owned(), frame);
            let begin = FrameBegin { frame, depth, kind: *kind };
            self.maker.add(track, track, from, &begin).expect("an event");
        }
        let text: Vec<&str> = frames.iter().map(|(name, _)| *name).collect();
        let text = text.join(";");
        let (share, thread, waker) = (1, 4711 + path, if path == 0 { 4712 } else { 0 });
        let other = if text.contains("other work") { 1 } else { NONE };
        let (kind, ns) = (path.min(1), (to - from) as usize);
        let frames_text = text.as_bytes();
        let row = Stack { path, kind, share, thread, waker, other, ns, frames: frames_text };
        self.maker.add(track, track, from, &row).expect("an event");
        for depth in (0..frames.len() as u32).rev() {
            self.maker.add(track, track, to, &FrameEnd { depth }).expect("an event");
        }
    }
}

/// Makes a log with a thread of the target, and the path of a thread that worked before.
fn shop(path: &Path) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "shop")).expect("a stream");
    sync(&mut maker, 1);
    for (thread, os, name) in [(1, 4711, "main"), (2, 4712, "worker")] {
        maker.thread(2, thread, os, name).expect("a thread");
    }
    maker.thread(2, 3, 0, "flame of main (4711)").expect("a thread");
    maker.thread(2, 4, 0, "flame of other control paths").expect("a thread");
    for (thread, from, to) in [(1, 0, 7000), (2, 1000, 9500), (1, 9500, 12_000)] {
        maker.add(thread, thread, us(from), &RunBegin { cpu: 0 }).expect("an event");
        maker.add(thread, thread, us(to), &RunEnd { cpu: 0 }).expect("an event");
    }
    let (kind, parent, ns, name) = (0, NONE, 12_000_000, b"main (4711)".as_slice());
    let own = ControlPath { path: 0, kind, thread: 4711, parent, waker: 0, ns, name };
    maker.add(3, 3, us(0), &own).expect("an event");
    let mut flames = Flames { maker, names: HashMap::new() };
    let (process, main) = (("shop (4711)", PROCESS), ("main (4711)", THREAD));
    let below = [process, main];
    let with = |more: &[(&'static str, u32)]| [&below[..], more].concat();
    // 1 µs of waiting parts two runs.
    flames.stack(3, 0, (us(0), us(5000)), &with(&[("running", RUN)]));
    flames.stack(3, 0, (us(5000), us(5001)), &with(&[("short", WAIT), ("ready", WAIT)]));
    flames.stack(3, 0, (us(5001), us(7000)), &with(&[("running", RUN)]));
    let other = with(&[("poll", WAIT), ("other work of worker (4712)", PATH)]);
    flames.stack(3, 0, (us(7000), us(9000)), &other);
    flames.stack(3, 0, (us(9000), us(9500)), &with(&[("work", RUN), (HOSTILE, RUN)]));
    let disk = ("a write to disk 8:0", IO);
    flames.stack(3, 0, (us(9500), us(12_000)), &with(&[("work", WAIT), ("fsync", WAIT), disk]));
    let (kind, parent, ns, name) = (1, 0, 8_500_000, b"worker (4712)".as_slice());
    let other = ControlPath { path: 1, kind, thread: 4712, parent, waker: 4711, ns, name };
    flames.maker.add(4, 4, us(1000), &other).expect("an event");
    let worker = [process, ("worker (4712)", THREAD), ("running", RUN)];
    flames.stack(4, 1, (us(1000), us(9500)), &worker);
    sync(&mut flames.maker, us(12_000));
    flames.maker.finish().expect("an end");
}

/// Returns the lines that the page saves: ns, stacks, frames.
fn saved(page: &Page) -> Vec<String> {
    let text = page.said("tsv").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let text = text.replace("&amp;", "&").replace('⇥', "\t");
    let mut lines: Vec<String> = text.split('⏎').map(str::to_owned).collect();
    assert_eq!(lines.remove(0), "ns\tstacks\tframes");
    lines.retain(|line| !line.is_empty());
    lines.sort_unstable();
    lines
}

/// Returns the same lines by SQL.
fn queried(log: &Path) -> Vec<String> {
    let sql = "SELECT sum(ns) || char(9) || count(*) || char(9) || frames AS line FROM Stack \
               WHERE kind = 0 GROUP BY frames";
    let rows = lines(eventcnv().args(["query", "--json"]).arg(log).arg(sql));
    let text = rows.join("\n");
    let mut found: Vec<String> = serde_json::Deserializer::from_str(&text)
        .into_iter::<serde_json::Value>()
        .flat_map(|value| match value.expect("JSON") {
            serde_json::Value::Array(rows) => rows,
            row => vec![row],
        })
        .map(|row| row["line"].as_str().expect("a line").to_owned())
        .collect();
    found.sort_unstable();
    found
}

/// `.cnv.report.flame`, R17
#[test]
fn frames_lead_to_lanes_and_lanes_to_frames() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("waits.log");
    shop(&log);
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=flame");
    assert_eq!(opened.console, [""; 0]);
    let said = |name: &str| plain(opened.said(name));
    let io = said("io");
    for part in
        ["a write to disk 8:0 Begin 9.500000 ms", "Duration 2.5 ms", "Waker thread number 4712"]
    {
        assert!(io.contains(part), "{part}: {io}");
    }
    // R15: the work that did not fit, its own path, who set it to work, and where that ran.
    let work = said("path");
    let words = "That work worker (4712): work that does not fit";
    assert!(work.contains(words), "{work}");
    let other = said("other");
    for part in ["8.5 ms from 1.000000 ms on", "Waited for by main (4711): threads of the target"] {
        assert!(other.contains(part), "{part}: {other}");
    }
    assert_eq!(said("lane"), "Threads | Run");
    assert_eq!(said("hasback"), "true");
    assert!(said("back").starts_with("Flame | running Begin"), "{}", said("back"));
    assert_eq!(said("escaped"), "Click a frame for its details.");
    let address = said("address");
    assert!(address.contains("tab=flame") && address.contains("stack="), "{address}");
    let sent = address.split_once("stack=").expect("a place").1.to_owned();
    let again = Page::open(&path, &format!("tab=flame&stack={sent}"));
    assert_eq!(plain(again.said("opened")), "short");
}

/// `.cnv.report.flame`, R18
#[test]
fn the_flame_over_time_parts_frames_when_it_zooms() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("waits.log");
    shop(&log);
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=flame");
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.number("ready") < READY_MAX, "{} ms", opened.said("ready"));
    let said = |name: &str| plain(opened.said(name));
    assert_eq!(said("tabs"), "Events false | Durations false | Threads false | Flame true");
    let legend = "a process or a thread | running | waiting | running and waiting | \
                  disk or network | work of another control path";
    assert_eq!(said("legend"), legend);
    // Equal neighbours are one; a function that ran and waited is both.
    assert_eq!(
        said("process"),
        "shop (4711): 12 ms at 0.000000 ms, a process or a thread, main (4711)"
    );
    let both = "work: 3 ms at 9.000000 ms, running and waiting, main (4711)";
    assert_eq!(said("both"), both);
    assert_eq!(said("themes"), "true", "the themes differ");
    // At first 1 µs cannot be seen between two runs.
    assert_eq!(said("whole"), "0 12000000");
    assert_eq!(said("split"), "running → short → running");
    let range: Vec<f64> = said("zoomed").split(' ').map(|n| n.parse().expect("ns")).collect();
    assert!(range[1] - range[0] < 100_000.0, "{range:?}");
    assert_eq!(said("plus"), "true");
    assert_eq!(said("slash"), "frameSearch");
    assert_eq!(said("stepped"), "shop (4711) → running → short");
    assert_eq!(said("entered"), "true");
    assert_eq!(said("searched"), "1 name, 2.5 ms in all rows");
    assert_eq!(said("marked"), "1");
    assert_eq!(said("clipped"), "0");
    assert!(!opened.dom.contains("<img"), "a name became an element");
}

/// `.cnv.report.flame`
#[test]
fn the_flame_of_waits_fits_narrow_and_wide_windows() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("waits.log");
    shop(&log);
    let path = page_with(&log, directory.path(), &[], STEPS);
    for width in [400, 1200] {
        let narrow = Page::open_in(&path, "tab=flame", width);
        assert_eq!(narrow.console, [""; 0]);
        assert_eq!(narrow.said("wide"), "false", "the page is wider than {width} pixels");
        assert_eq!(narrow.said("clipped"), "0", "{width}");
        assert_eq!(plain(narrow.said("split")), "running → short → running", "{width}");
    }
}

/// `.cnv.report.flame`: numbers, places and times of a log that is wrong make no page fail.
#[test]
fn wrong_numbers_of_stacks_and_paths_do_no_harm() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("wrong.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "wrong")).expect("a stream");
    sync(&mut maker, 1);
    let huge = "n".repeat(30_000);
    let deep = "d;".repeat(10_000);
    let texts = ["", ";", ";;;a", "a;b", "\u{1b}[31m;</script>", huge.as_str(), deep.as_str()];
    let numbers = [0, 1, 2, 3, 399, 0x7fff_ffff, NONE - 1, NONE];
    // Paths wait for each other in a circle, and for paths that the log lacks.
    for (at, path) in (0..).zip(numbers.iter().copied().cycle().take(64)) {
        let parent = numbers[(at as usize + 1) % numbers.len()];
        let (kind, thread, waker, ns) = (at % 9, path, parent, u64::MAX >> (at % 64));
        let ns = ns as usize;
        let name = texts[at as usize % texts.len()].as_bytes();
        let row = ControlPath { path, kind, thread, parent, waker, ns, name };
        maker.add(at % 5 + 1, at % 5 + 1, 100 + u64::from(at), &row).expect("an event");
    }
    for at in 0..4000_u32 {
        let pick = |step: u32| numbers[(at / step) as usize % numbers.len()];
        let track = at % 700 + 1;
        let (frame, depth, kind) = (at as usize, pick(1), pick(3));
        // Stacks overlap, and last longer than time does.
        let time = 1000 + u64::from(at);
        maker.add(track, track, time, &FrameBegin { frame, depth, kind }).expect("an event");
        let frames = texts[at as usize % texts.len()].as_bytes();
        let frames = if at > 200 { &frames[..frames.len().min(300)] } else { frames };
        let ns = [0, 1, 50, 1 << 40, usize::MAX][at as usize % 5];
        let (path, kind, share, thread) = (pick(1), pick(2), pick(5), pick(7));
        let (waker, other) = (pick(11), pick(13));
        let row = Stack { path, kind, share, thread, waker, other, ns, frames };
        maker.add(track, track, time, &row).expect("an event");
        maker.add(track, track, time, &FrameEnd { depth }).expect("an event");
    }
    maker.add(1, 1, 9000, &RunBegin { cpu: NONE }).expect("an event");
    sync(&mut maker, 10_000);
    maker.finish().expect("an end");
    let steps = "setTimeout(() => {
      const canvas = document.querySelector('#waitFlame');
      const press = (key, more) => (document.activeElement || document.body).dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
      for (let n = 0; n < 9; n += 1) {
        press('ArrowRight', { shiftKey: true });
        press(n % 2 ? 'ArrowDown' : 'ArrowUp', { shiftKey: true });
        const links = [...document.querySelectorAll('#stack button')];
        if (links.length) links[n % links.length].click();
        if (document.querySelector('#waitFlameTab').hidden)
          [...document.querySelectorAll('#tabs button')].pop().click();
        if (n % 4 === 3) press('Enter');
      }
      document.querySelector('#mergedTsv').click();
      document.documentElement.dataset.walked = canvas.width > 0;
    }, 300);";
    let path = page_with(&log, directory.path(), &[], steps);
    let size = fs::metadata(&path).expect("a page").len();
    assert!(size < 9_000_000, "{size} bytes");
    for state in ["tab=flame", "tab=flame&stack=9-1-0-999"] {
        let opened = Page::open(&path, state);
        assert_eq!(opened.console, [""; 0], "{state}");
        assert_eq!(opened.said("walked"), "true", "{state}");
    }
}

/// `.cnv.report.flame`, R19
#[test]
fn the_merged_flame_has_the_numbers_of_sql() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("waits.log");
    shop(&log);
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=flame");
    let said = |name: &str| plain(opened.said(name));
    // Siblings by their time: the longest first.
    let own = "all time: 12 ms root | shop (4711) f-name | main (4711) f-name | running f-run | \
               work f-both | fsync f-wait | a write to disk 8:0 f-io | ";
    assert!(said("merged").starts_with(own), "{}", said("merged"));
    assert_eq!(
        said("mergedkinds"),
        "threads of the target: 12 ms | work that does not fit the wait for it: 8.5 ms"
    );
    let others =
        "all time: 8.5 ms root | shop (4711) f-name | worker (4712) f-name | running f-run";
    assert_eq!(said("others"), others);
    assert!(!said("threadless").contains("main (4711)"), "{}", said("threadless"));
    assert!(
        said("threadless").starts_with("all time: 12 ms root | shop (4711) f-name | running f-run")
    );
    assert_eq!(said("focused"), "main (4711)");
    assert_eq!(said("zoomedmerged"), "all timeshop (4711)main (4711)");
    assert_eq!(said("outmerged"), "all time");
    assert_eq!(saved(&opened), queried(&log));
    assert_eq!(saved(&opened).len(), 5);
    // The answer about recorded logs, by the command itself.
    let golden = root().join("tests/golden/explain");
    let log = directory.path().join("store.log");
    let logs = [golden.join("store.log"), golden.join("kernel.log")];
    run(eventcnv().args(["waits", "explain"]).args(logs).arg("-o").arg(&log));
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=flame");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(saved(&opened), queried(&log));
    assert!(saved(&opened).iter().any(|line| line.contains(";futex `arena`;other work of tidier")));
    assert!(opened.dom.contains("work that does not fit the wait for it"), "the other path");
    // Folded stacks have the same sums.
    let folded = directory.path().join("all.folded");
    let mut export = eventcnv();
    export.args(["export", "--stack", "frames", "--weight", "ns", "-o"]).arg(&folded).arg(&log);
    run(&mut export);
    let text = fs::read_to_string(&folded).expect("text");
    assert!(text.contains("store (100);store (100);futex `arena`;ready 10000\n"), "{text}");
}

/// `.cnv.report.flame`: many stacks are a small page, with the sums of all.
#[test]
fn a_page_of_many_stacks_stays_small() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("large.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "large")).expect("a stream");
    sync(&mut maker, 1);
    maker.thread(2, 1, 0, "flame of large").expect("a thread");
    let mut random = 42u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let (mut at, mut sum) = (1000, 0);
    for _ in 0..100_000 {
        let ns = 1 + next(3000);
        let text = format!("large;f{};g{};h{}", next(9), next(40), next(200));
        let (path, kind, share, thread, waker, other) = (0, 0, 1, 1, 0, NONE);
        let frames = text.as_bytes();
        let row = Stack { path, kind, share, thread, waker, other, ns: ns as usize, frames };
        maker.add(1, 1, at, &row).expect("an event");
        (at, sum) = (at + ns + next(2), sum + ns);
    }
    let run_of_lane = RunBegin { cpu: 0 };
    maker.add(1, 1, at, &run_of_lane).expect("an event");
    maker.add(1, 1, at + 1, &RunEnd { cpu: 0 }).expect("an event");
    sync(&mut maker, at + 2);
    maker.finish().expect("an end");
    let path = page_with(&log, directory.path(), &[], STEPS);
    let size = fs::metadata(&path).expect("a page").len();
    assert!((500_000..9_000_000).contains(&size), "{size} bytes");
    let opened = Page::open(&path, "tab=flame");
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.number("ready") < READY_MAX, "{} ms", opened.said("ready"));
    let notes = plain(opened.said("notes"));
    assert!(notes.starts_with("100 000 stacks are") && notes.contains("left out"), "{notes}");
    let ns = |line: &String| line.split('\t').next().and_then(|ns| ns.parse::<u64>().ok());
    let all: u64 = saved(&opened).iter().map(|line| ns(line).expect("ns")).sum();
    assert_eq!(all, sum, "frames that are left out count below");
}
