//! The tab of threads, used as a person does: points, clicks, zooms, searches, keys alone.
//!
//! ```text
//!  a program, its waits, another process ──▶ Maker ──▶ log ── eventcnv report ──▶ page ── chromium
//!  5,000 threads, 300,000 slices ──▶ Maker ──▶ log ──▶ page: counts and times equal the slices'
//! ```
//!
//! Rules: `.cnv.report.threads` in `design/eventcnv.md`.

use super::calls::page_with;
use crate::{Page, READY_MAX};
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};
use play::{Hand, JobBegin, JobEnd, Sold, ThingCreate, ThingDestroy, Took};
use std::fs;
use std::path::{Path, PathBuf};
use tests::programs::{eventcnv, root, run};
use waits::{RunBegin, RunEnd, WaitBegin, WaitEnd, WakeReceive, WakeSend};

/// The registries of waits.
#[path = "../../../lens/src/waits/events/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the lens uses the rest")]
pub(super) mod registries;
use registries::waits;

pub(super) mod play {
    eventdef::events! {
        /// What a program does.
        registry "play" version(1, 0, 0);
        kinds {
            /// All of it.
            Play = 0,
        }

        /// A job begins. [slice JobBegin=JobEnd] [name job]
        JobBegin(1, always, Play) {
            /// the job, a label
            job: W,
        }
        /// A job ends.
        JobEnd(2, always, Play) {
            /// its result
            result: W,
        }
        /// Something was sold.
        Sold(3, always, Play) {
            /// what
            what: W,
        }
        /// A thing exists from now on. [span ThingCreate=ThingDestroy:thing]
        ThingCreate(4, always, Play) {
            /// it
            thing: W,
        }
        /// A thing exists no more.
        ThingDestroy(5, always, Play) {
            /// it
            thing: W,
        }
        /// A thing is handed over. [flow Hand=Took:thing]
        Hand(6, always, Play) {
            /// it
            thing: W,
        }
        /// A thing is taken.
        Took(7, always, Play) {
            /// it
            thing: W,
        }
    }
}

/// Bytes of the page of a log with slices, at most.
const SIZE_MAX: u64 = 3_000_000;
/// What each test does on the page.
const STEPS: &str = include_str!("threads.js");
/// A name that would end a script, or mark up a page.
pub(super) const HOSTILE: &str = "</script><img src=http://a.example/>\u{1b}[2J\u{202e} job";

pub(super) fn origin(uuid: u8, pid: u64, program: &str) -> Origin {
    let mut origin = Origin::new();
    (origin.uuid, origin.boot_id, origin.pid, origin.start) = ([uuid; 16], [7; 16], pid, pid + 1);
    origin.program = program.to_owned();
    origin
}

pub(super) fn sync(maker: &mut Maker<'_>, ticks: u64) {
    let realtime = 1_700_000_000_000_000_000 + ticks;
    let sync = ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 };
    maker.sync(sync).expect("a sync");
}

pub(super) fn label(maker: &mut Maker<'_>, value: usize, name: &str) -> usize {
    let string = maker.intern(2, name.as_bytes()).expect("a string");
    maker.label(3, value, string).expect("a label");
    value
}

/// Makes the log of a program, of its waits, and of another process that it waits for. Times are
/// in µs.
fn shop(path: &Path) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    // The names are at 2 and 3 ns; time begins with the first job.
    let us = |us: u64| us * 1000 + 4;
    let shop = origin(1, 4711, "shop");
    maker.begin(&shop).expect("a stream");
    sync(&mut maker, 1);
    maker.thread(10, 1, 4711, "main").expect("a thread");
    let hostile = label(&mut maker, 1, HOSTILE);
    let get = label(&mut maker, 2, "get");
    let add = |maker: &mut Maker<'_>, at, event: JobBegin| maker.add(1, 1, us(at), &event);
    add(&mut maker, 0, JobBegin { job: hostile }).expect("an event");
    add(&mut maker, 4900, JobBegin { job: get }).expect("an event");
    maker.add(1, 1, us(8100), &JobEnd { result: 42 }).expect("an event");
    maker.add(1, 1, us(8200), &Sold { what: 5 }).expect("an event");
    maker.add(1, 1, us(8300), &ThingCreate { thing: 6 }).expect("an event");
    maker.add(1, 1, us(8400), &ThingCreate { thing: 7 }).expect("an event");
    maker.add(1, 1, us(9000), &ThingDestroy { thing: 6 }).expect("an event");
    maker.add(1, 1, us(9100), &ThingDestroy { thing: 7 }).expect("an event");
    maker.add(1, 1, us(11_900), &JobEnd { result: 43 }).expect("an event");
    sync(&mut maker, us(12_000));

    let mut of = origin(2, 4711, "shop");
    of.start = shop.start;
    maker.begin(&of).expect("a stream");
    sync(&mut maker, 1);
    maker.thread(10, 1, 4711, "main").expect("a thread");
    let woken = label(&mut maker, 1, "woken by a thread");
    let disk = label(&mut maker, 2, "disk");
    let run = |maker: &mut Maker<'_>, from, to| {
        maker.add(1, 1, us(from), &RunBegin { cpu: 0 }).expect("an event");
        maker.add(1, 1, us(to), &RunEnd { cpu: 0 }).expect("an event");
    };
    let wait = |maker: &mut Maker<'_>, from, to, cause: usize, waker| {
        let begin = WaitBegin { cause, call: 202, object: eventdef::field::A(0x7f00) };
        maker.add(1, 1, us(from), &begin).expect("an event");
        if waker > 0 {
            maker.add(1, 1, us(to), &WakeReceive { wake: 1, waker }).expect("an event");
        }
        let ns = (1000 * (to - from)) as usize;
        let (object, delay) = (eventdef::field::A(0x7f00), 0);
        let (cause, stack) = (2, b"main;get".as_slice());
        let end = WaitEnd { cause, waker, ns, delay, object, openBuffer: 1, openNumber: 1, stack };
        maker.add(1, 1, us(to), &end).expect("an event");
    };
    run(&mut maker, 1000, 5000);
    wait(&mut maker, 5000, 8000, woken, 99);
    run(&mut maker, 8000, 9000);
    wait(&mut maker, 9000, 9500, disk, 0);
    run(&mut maker, 9500, 12_000);
    sync(&mut maker, us(12_000));

    maker.begin(&origin(3, 99, "base")).expect("a stream");
    sync(&mut maker, 1);
    maker.thread(10, 1, 99, "writer").expect("a thread");
    maker.add(1, 1, us(6000), &RunBegin { cpu: 1 }).expect("an event");
    maker.add(1, 1, us(7990), &WakeSend { wake: 1, target: 4711 }).expect("an event");
    maker.add(1, 1, us(8010), &RunEnd { cpu: 1 }).expect("an event");
    sync(&mut maker, us(12_000));
    maker.finish().expect("an end");
}

fn page(log: &Path, directory: &Path) -> PathBuf {
    page_with(log, directory, &[], STEPS)
}

/// Returns text as the page has it, with usual spaces.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace(['\u{202f}', '\u{a0}'], " ").replace("&quot;", "\"");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// `.cnv.report.threads`, R17
#[test]
fn lanes_show_runs_waits_slices_and_their_wakers() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("shop.log");
    shop(&log);
    let path = page(&log, directory.path());
    let text = fs::read_to_string(&path).expect("text");
    // The page's own two scripts, and the steps.
    assert_eq!(text.matches("</script>").count(), 3, "a name ended a script");
    let opened = Page::open(&path, "tab=threads");
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.number("ready") < READY_MAX, "{} ms", opened.said("ready"));
    let said = |name: &str| plain(opened.said(name));
    assert_eq!(said("tabs"), "Events false | Durations false | Threads true");
    // Lanes of one thread lie together, though the streams differ; spans come last.
    let lanes = [
        "thread stream 0: 1 main: 2 slices, 1 event",
        "thread stream 1: 1 main: 5 slices, 1 event",
        "thread stream 2: 1 writer: 1 slice, 1 event",
        "stream 0: Thing, in any thread: 2 slices, 0 events",
    ];
    assert_eq!(said("lanes"), lanes.join(" | "));
    // A click on a wait: its cause, its waker with a link, what the program did.
    let wait = said("wait");
    for part in [
        "Wait woken by a thread",
        "Begin 5.000000 ms",
        "Duration 3 ms (3 000 000 ns)",
        "Thread stream 1: 1 main, number 4711 of process 4711",
        "At its beginning, the thread is in get, </script><img src=http://a.example/>",
        "/>\u{fffd}[2J\u{fffd} job",
        "call:202 object:7F00",
        "waker:99 ns:3000000",
        "Cause woken by a thread",
        "Waker thread stream 2: 1 writer, at 8.000000 ms",
        "Arrived in it Wake from thread stream 2: 1 writer, sent at 7.990000 ms",
    ] {
        assert!(wait.contains(part), "{part}: {wait}");
    }
    let waker = said("waker");
    assert!(waker.starts_with("Run | stream 2: 1 writer"), "{waker}");
    assert!(said("disk").contains("Cause disk"), "{}", said("disk"));
    let job = said("job");
    assert!(job.contains("Lies in </script><img") && job.contains("job:2"), "{job}");
    assert!(job.contains("result:42"), "{job}");
    let sold = said("sold");
    assert!(sold.contains("Sold") && sold.contains("what:5"), "{sold}");
    assert!(!opened.dom.contains("<img"), "a name became an element");
    // Runs, waits and disk differ in colour, and in shape.
    let colors: Vec<String> = said("colors").split(' ').map(str::to_owned).collect();
    assert_eq!(colors.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{colors:?}");
    assert_eq!(said("heights"), "run higher than wait");
    assert_eq!(said("themes"), "true", "the themes differ");
}

/// `.cnv.report.threads`
#[test]
fn lanes_zoom_to_a_microsecond_and_obey_keys() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("shop.log");
    shop(&log);
    let path = page(&log, directory.path());
    let opened = Page::open(&path, "tab=threads");
    let said = |name: &str| plain(opened.said(name));
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(said("whole"), "0 12000000");
    let range: Vec<f64> = said("wheeled").split(' ').map(|n| n.parse().expect("ns")).collect();
    assert!((range[1] - range[0] - 1000.0).abs() < 1.0, "{range:?}");
    let labels: Vec<String> = said("microlabels").split('|').map(str::to_owned).collect();
    let distinct: std::collections::BTreeSet<_> = labels.iter().collect();
    assert!(labels.len() > 2 && distinct.len() == labels.len(), "{labels:?}");
    assert_eq!(said("back"), "0 12000000", "0 shows all");
    assert_eq!(said("dragged"), "true", "a drag moves");
    assert_eq!(said("moved"), "true", "arrow keys move");
    assert_eq!(said("slash"), "laneSearch");
    assert!(
        said("stepped").starts_with("Run → Wait woken by a thread → Run"),
        "{}",
        said("stepped")
    );
    assert_eq!(said("entered"), "true", "Enter zooms to a bar");
    assert_eq!(said("escaped"), "Click a bar for its details.");
    assert_eq!(said("searched"), "2 bars; Enter goes to the next");
    assert_eq!(said("next"), "Wait woken by a thread");
    assert!(said("address").contains("lanes="), "{}", said("address"));
    assert_eq!(said("clipped"), "0");
    for width in [400, 1200] {
        let narrow = Page::open_in(&path, "tab=threads", width);
        assert_eq!(narrow.console, [""; 0]);
        assert_eq!(narrow.said("wide"), "false", "the page is wider than {width} pixels");
        let wait = plain(narrow.said("wait"));
        assert!(wait.contains("Cause woken by a thread"), "{width}: {wait}");
    }
    // The address opens the same range, and the bar.
    let sent = said("address").split_once("lanes=").expect("a place").1.to_owned();
    let again = Page::open(&path, &format!("tab=threads&lanes={sent}"));
    assert_eq!(plain(again.said("opened")), "Wait woken by a thread");
}

/// `.cnv.report.threads`
#[test]
fn a_log_without_slices_has_no_tab_of_threads() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("plain.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 1, "plain")).expect("a stream");
    sync(&mut maker, 1);
    maker.add(1, 1, 1000, &Sold { what: 5 }).expect("an event");
    maker.finish().expect("an end");
    let path = page(&log, directory.path());
    let text = fs::read_to_string(&path).expect("text");
    assert!(!text.contains("Threads over time"), "the page has the script of the tab");
    let opened = Page::open(&path, "tab=threads");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(opened.said("tabs"), "");
}

/// What a thread of the large log has.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Sum {
    count: u64,
    busy: u64,
    ticks: u64,
}

/// Makes a log of slices that nest, of other events and flows, of threads in two streams. Returns
/// the sums of each stream and thread.
pub(super) fn large(
    path: &Path,
    thread_count: u32,
    slice_count: u64,
    has_time: bool,
) -> Vec<Vec<Sum>> {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    let mut sums = vec![vec![Sum::default(); thread_count as usize + 1]; 2];
    let mut random = 42u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    for (stream, sums) in (1..).zip(&mut sums) {
        maker.begin(&origin(stream, 4711, "large")).expect("a stream");
        sync(&mut maker, 1);
        let jobs: Vec<usize> =
            (1..=20).map(|job| label(&mut maker, job, &format!("job {job}"))).collect();
        let mut stacks: Vec<Vec<u64>> = vec![Vec::new(); thread_count as usize + 1];
        let (mut ticks, mut left) = (1000u64, slice_count / 2);
        let mut open = 0;
        while left > 0 || open > 0 {
            let thread = 1 + next(u64::from(thread_count)) as usize;
            ticks += if has_time { 1 + next(2000) } else { 0 };
            let (at, stack, sum) = (thread as u32, &mut stacks[thread], &mut sums[thread]);
            let is_end = left == 0 || stack.len() > 6 || next(100) < 50;
            if is_end && let Some(begin) = stack.pop() {
                maker.add(at, at, ticks, &JobEnd { result: 1 }).expect("an event");
                open -= 1;
                sum.count += 1;
                sum.busy += ticks - begin;
            } else if left > 0 {
                let job = jobs[next(20) as usize];
                maker.add(at, at, ticks, &JobBegin { job }).expect("an event");
                stack.push(ticks);
                (left, open) = (left - 1, open + 1);
            }
            let thing = left as usize;
            match next(10) {
                0 => {
                    maker.add(at, at, ticks, &Sold { what: 3 }).expect("an event");
                    sum.ticks += 1;
                }
                1 => {
                    maker.add(at, at, ticks, &Hand { thing }).expect("an event");
                    maker.add(at, at, ticks, &Took { thing }).expect("an event");
                    sum.ticks += 2;
                }
                _ => {}
            }
        }
        sync(&mut maker, ticks + 1);
    }
    maker.finish().expect("an end");
    sums
}

/// Compares what the page has of each lane with the sums.
fn compare(opened: &Page, sums: &[Vec<Sum>], lane_count: usize) {
    assert_eq!(opened.console, [""; 0]);
    let lanes = plain(opened.said("sums"));
    let lanes: Vec<&str> = lanes.split(" | ").collect();
    assert_eq!(lanes.len(), lane_count);
    let (mut count, mut ticks) = (0, 0);
    for lane in lanes {
        let (name, numbers) = lane.split_once('=').expect("numbers");
        let name = name.strip_prefix("thread stream ").expect("a thread");
        let (stream, thread) = name.split_once(": ").expect("a stream");
        let place: (usize, usize) = (stream.parse().expect("n"), thread.parse().expect("n"));
        let sum = sums[place.0][place.1];
        let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().expect("n")).collect();
        assert_eq!(numbers, [sum.count, sum.busy, sum.ticks], "{name}");
        count += sum.count;
        ticks += sum.ticks;
    }
    let all = |of: fn(&Sum) -> u64| sums.iter().flatten().map(of).sum::<u64>();
    let elsewhere = format!("{} {}", all(|sum| sum.count) - count, all(|sum| sum.ticks) - ticks);
    assert_eq!(opened.said("elsewhere"), elsewhere);
    assert_eq!(opened.said("left"), "0 0 0");
}

/// `.cnv.report.threads`: bars and cells of each lane have the counts and times of all its slices.
#[test]
fn a_page_of_many_slices_and_threads_stays_small() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("large.log");
    // Events of no thread, those of the names, take no lane from a thread.
    for (thread_count, slice_count, lane_count) in [(3, 300_000, 6), (2500, 30_000, 300)] {
        let sums = large(&log, thread_count, slice_count, true);
        let path = page(&log, directory.path());
        let size = fs::metadata(&path).expect("a page").len();
        assert!((500_000..SIZE_MAX).contains(&size), "{size} bytes");
        let opened = Page::open(&path, "tab=threads");
        assert!(opened.number("ready") < READY_MAX, "{} ms", opened.said("ready"));
        compare(&opened, &sums, lane_count);
        let notes = plain(opened.said("notes"));
        let is_merged = notes.contains(" slices are bars of their own: the longest");
        assert_eq!(is_merged, thread_count < 100, "{notes}");
        let left = notes.contains("4 700 more threads with fewer events have no lane here");
        assert_eq!(left, thread_count > 100, "{notes}");
        let cell = plain(opened.said("cell"));
        assert_eq!(cell.contains("Time in them"), is_merged, "{cell}");
    }
}

/// `.cnv.report.threads`: all events at one time still have their counts.
#[test]
fn a_page_without_times_counts_its_slices() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("still.log");
    let sums = large(&log, 2, 30_000, false);
    let opened = Page::open(&page(&log, directory.path()), "tab=threads");
    compare(&opened, &sums, 4);
}

/// `.cnv.report.threads`: any log of the repository opens.
#[test]
fn golden_logs_open_in_the_tab_of_threads() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for log in ["log/heap.log", "calls/shop.log", "mps/mpmss-cut.log"] {
        let path = page(&root().join("tests/golden").join(log), directory.path());
        let opened = Page::open(&path, "tab=threads");
        assert_eq!(opened.console, [""; 0], "{log}");
        let lanes = opened.said("lanes");
        assert!(lanes.contains("slice") && !lanes.contains("none"), "{log}: {lanes}");
        assert_eq!(lanes.contains("no thread"), log.starts_with("mps"), "{log}: {lanes}");
    }
}

/// `.cnv.report.threads`: a selection chooses slices by their beginnings.
#[test]
fn a_part_of_the_time_has_the_slices_that_begin_in_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("shop.log");
    shop(&log);
    let path = page_with(&log, directory.path(), &["--from", "+4.95ms"], STEPS);
    let opened = Page::open(&path, "tab=threads");
    assert_eq!(opened.console, [""; 0]);
    let lanes = plain(opened.said("lanes"));
    assert!(lanes.contains("stream 1: 1 main: 4 slices"), "{lanes}");
    assert!(plain(opened.said("notes")).contains("A selection chose these events"));
    let help = run(eventcnv().args(["report", "--help"]));
    assert!(String::from_utf8_lossy(&help.stdout).contains("tab of threads"));
}
