//! Logs made for exports: several threads that do the same at once, and more events than the tables
//! of a timeline hold.
//!
//! ```text
//!  thread 1  ┤ Work ┤ Part ├ ├     ticks 0 12 24 36, 60 …
//!  thread 2   ┤ Work ┤ Part ├ ├    a tick later: each has the same item
//! ```
//!
//! Design: `.cnv.timeline` in `design/eventcnv.md`.

use crate::chrome::entries;
use crate::exported;
use crate::perfetto::trace;
use eventdef::field::P;
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use work::{
    AskBegin, AskEnd, Clocked, MailReceive, MailSend, PartBegin, PartEnd, PoolAlloc, TaskCreate,
    TaskDestroy, WorkBegin, WorkEnd,
};

mod work {
    eventdef::events! {
        /// Events on a timeline.
        registry "work" version(1, 0, 0);
        kinds {
            /// All of it.
            Work = 0,
        }

        /// An item.
        WorkBegin(1, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        WorkEnd(2, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        PartBegin(3, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        PartEnd(4, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        TaskCreate(5, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        TaskDestroy(6, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        MailSend(7, always, Work) {
            /// it
            item: P,
        }
        /// An item.
        MailReceive(8, always, Work) {
            /// it
            item: P,
        }
        /// A request [slice AskBegin=AskEnd:item] [name item].
        AskBegin(11, always, Work) {
            /// it
            item: P,
        }
        /// A request.
        AskEnd(12, always, Work) {
            /// it
            item: P,
        }
        /// A time.
        Clocked(13, always, Work) {
            /// when
            ticks: W,
        }
        /// A size.
        PoolAlloc(9, always, Work) {
            /// of what
            pool: P,
            /// in bytes
            size: W,
        }
        /// A size.
        PoolFree(10, always, Work) {
            /// of what
            pool: P,
            /// in bytes
            size: W,
        }
    }
}

/// Writes a log whose threads record events: thread, ticks, code, item.
fn write(path: &Path, events: impl Iterator<Item = (u32, u64, u16, u64)>) {
    let mut file = fs::File::create(path).unwrap();
    let mut maker = Maker::new(&mut file);
    let mut origin = Origin::new();
    origin.program = "program".into();
    maker.begin(&origin).unwrap();
    for (thread, ticks, code, item) in events {
        let item = P(item as usize);
        let added = match code {
            1 => maker.add(thread, thread, ticks, &WorkBegin { item }),
            2 => maker.add(thread, thread, ticks, &WorkEnd { item }),
            3 => maker.add(thread, thread, ticks, &PartBegin { item }),
            4 => maker.add(thread, thread, ticks, &PartEnd { item }),
            5 => maker.add(thread, thread, ticks, &TaskCreate { item }),
            6 => maker.add(thread, thread, ticks, &TaskDestroy { item }),
            7 => maker.add(thread, thread, ticks, &MailSend { item }),
            8 => maker.add(thread, thread, ticks, &MailReceive { item }),
            13 => maker.add(thread, thread, ticks, &Clocked { ticks: item.0 }),
            _ => maker.add(thread, thread, ticks, &PoolAlloc { pool: item, size: 1 }),
        };
        added.unwrap();
    }
    maker.finish().unwrap();
}

/// `.cnv.chrome`, `.cnv.perfetto`: the ticks of an event have an argument of their own.
#[test]
fn a_parameter_called_ticks_keeps_its_value() {
    let (_directory, log) = log(|path| write(path, [(1, 10, 13, 77)].into_iter()));
    let entries = entries(&[&log]);
    let args = &entries.iter().find(|entry| entry["name"] == "Clocked").unwrap()["args"];
    assert_eq!(
        (args["ticks_"].as_u64(), args["ticks"].as_str()),
        (Some(77), Some("000000000000000A"))
    );
    let (perfetto, _) = exported("trace.pftrace", &[&log]);
    assert!(perfetto.windows(6).any(|bytes| bytes == b"ticks_"));
}

const THREADS: u32 = 3;
const ROUNDS: u64 = 50;

/// Writes a log of threads: each works at an item, and at a part of it. The first thread sends an
/// item to the last, which ends the task of the first.
fn threads(path: &Path) {
    let rounds = (0..ROUNDS).flat_map(|round| {
        let step = move |step: u64, code| {
            (1..=THREADS).map(move |thread| {
                let ticks = 1000 + round * 60 + step * 12 + u64::from(thread);
                (thread, ticks, code, round)
            })
        };
        let begun = step(0, 1).chain(step(1, 3));
        let ended = step(2, 4).chain(step(3, 2));
        let at = 1000 + round * 60 + 12 * 3 + 5;
        let one = move |thread, after: u64, code| (thread, at + after, code, round);
        let between = [one(1, 0, 5), one(1, 1, 7), one(THREADS, 2, 8), one(THREADS, 3, 6)];
        begun.chain(ended).chain(between)
    });
    write(path, rounds);
}

/// Returns a log in its own directory.
fn log(make: fn(&Path)) -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("made.log");
    make(&path);
    (directory, path.to_str().unwrap().to_owned())
}

/// `.cnv.timeline`, `.cnv.chrome`: a thread ends its own slices, while others begin and end theirs.
#[test]
fn slices_nest_in_a_thread_and_spans_and_flows_cross_threads() {
    let (_directory, log) = log(threads);
    let entries = entries(&[&log]);
    let mut stacks: HashMap<u64, Vec<(&str, f64)>> = HashMap::new();
    let mut times: BTreeMap<(u64, &str), Vec<f64>> = BTreeMap::new();
    let mut linked: HashMap<(&str, String), u64> = HashMap::new();
    let mut link_count = 0;
    for entry in &entries {
        let name = entry["name"].as_str().unwrap();
        let (phase, ts) = (entry["ph"].as_str().unwrap(), entry["ts"].as_f64().unwrap());
        let tid = || entry["tid"].as_u64().unwrap();
        let id = || entry.get("id").unwrap_or(&entry["id2"]).to_string();
        match phase {
            "B" => stacks.entry(tid()).or_default().push((name, ts)),
            "E" => {
                let (begun, from) = stacks.get_mut(&tid()).unwrap().pop().unwrap();
                assert_eq!(begun, name, "{entry}");
                times.entry((tid(), name)).or_default().push((1000.0 * (ts - from)).round());
            }
            "s" | "b" => assert!(linked.insert((name, id()), tid()).is_none(), "{entry}"),
            "f" | "e" => {
                assert_ne!(linked.remove(&(name, id())), Some(tid()), "one thread has both ends");
                link_count += 1;
            }
            _ => {}
        }
    }
    assert!(stacks.values().all(Vec::is_empty) && linked.is_empty());
    assert_eq!(link_count, 2 * ROUNDS);
    assert_eq!(times.len(), 2 * THREADS as usize);
    for ((_, name), times) in times {
        let expected = if name == "Work" { 36.0 } else { 12.0 };
        assert_eq!(times, [expected; ROUNDS as usize], "{name}");
    }
}

/// `.cnv.timeline`: a slice that crosses ends on its track with the slice around it. Its own end
/// ends no other slice.
#[test]
fn an_end_outside_its_slice_ends_no_other_slice() {
    let (_directory, log) = log(|path| {
        let codes = [3, 1, 3, 2, 4, 4];
        write(path, codes.into_iter().zip(1000..).map(|(code, ticks)| (1, ticks, code, 7)));
    });
    let entries = entries(&[&log]);
    let found: Vec<(&str, f64)> = entries
        .iter()
        .filter(|entry| ["B", "E", "i"].iter().any(|phase| entry["ph"] == *phase))
        .map(|entry| (entry["ph"].as_str().unwrap(), 1000.0 * entry["ts"].as_f64().unwrap()))
        .map(|(phase, ns)| (phase, ns.round()))
        .collect();
    let nested = [("B", 0.0), ("B", 1.0), ("B", 2.0), ("E", 3.0), ("E", 3.0)];
    assert_eq!(found[..5], nested);
    assert_eq!(found[5..], [("i", 4.0), ("E", 5.0)]);
}

/// `.cnv.perfetto`: each thread has its own track.
#[test]
fn the_track_of_a_thread_has_only_its_slices() {
    let (_directory, log) = log(threads);
    let trace = trace(&[&log]);
    let mut stacks: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for event in &trace.events {
        let open = stacks.entry(event.track).or_default();
        match event.of {
            1 => open.push(event.ns),
            2 => {
                let from = open.pop().unwrap();
                let track = &trace.tracks[&event.track].1;
                times.entry(track).or_default().push(event.ns - from);
            }
            _ => {}
        }
    }
    let names: Vec<&str> = times.keys().copied().collect();
    assert_eq!(names, ["Task", "thread 1", "thread 2", "thread 3"]);
    assert_eq!(times["Task"], [3; ROUNDS as usize]);
    for thread in &names[1..] {
        assert_eq!(times[thread], [12, 36].repeat(ROUNDS as usize), "{thread}");
    }
    let flows = trace.events.iter().flat_map(|event| {
        let track = &*trace.tracks[&event.track].1;
        [0, 1]
            .into_iter()
            .flat_map(move |side| event.flows[side].iter().map(move |id| (*id, (side, track))))
    });
    let mut ends: BTreeMap<u64, Vec<(usize, &str)>> = BTreeMap::new();
    flows.for_each(|(id, end)| ends.entry(id).or_default().push(end));
    assert_eq!(ends.len() as u64, ROUNDS);
    assert!(ends.values().all(|ends| *ends == [(0, "thread 1"), (1, "thread 3")]), "{ends:?}");
}

mod post {
    eventdef::events! {
        /// Letters between processes.
        registry "post" version(1, 0, 0);
        kinds {
            /// All of it.
            Post = 0,
        }

        /// A letter leaves [flow LetterSend=LetterReceive:letter].
        LetterSend(1, always, Post) {
            /// its number, which no other letter has
            letter: W,
        }
        /// A letter arrives.
        LetterReceive(2, always, Post) {
            /// its number
            letter: W,
        }
        /// A thing leaves [flow ThingSend=ThingReceive:thing].
        ThingSend(3, always, Post) {
            /// its address, which another process may use too
            thing: P,
        }
        /// A thing arrives.
        ThingReceive(4, always, Post) {
            /// its address
            thing: P,
        }
    }
}

/// Writes a log of two processes that send letters to each other and to themselves, and things.
fn letters(path: &Path) {
    use post::*;
    let mut file = fs::File::create(path).unwrap();
    let mut maker = Maker::new(&mut file);
    let thing = P(0x7000);
    for process in 1..=2u64 {
        let mut origin = Origin::new();
        origin.uuid = [process as u8; 16];
        origin.boot_id = [7; 16];
        origin.pid = process;
        maker.begin(&origin).unwrap();
        let at = |step: u64| 1000 + 10 * step + process;
        let (own, other) = (process as usize, 3 - process as usize);
        maker.add(1, 1, at(0), &LetterSend { letter: own }).unwrap();
        maker.add(1, 1, at(1), &LetterReceive { letter: other }).unwrap();
        // Both have one number: each arrives in its own process.
        maker.add(1, 1, at(2), &LetterSend { letter: 9 }).unwrap();
        maker.add(1, 1, at(3), &LetterReceive { letter: 9 }).unwrap();
        maker.add(1, 1, at(4), &ThingSend { thing }).unwrap();
        if process == 2 {
            maker.add(1, 1, at(5), &ThingReceive { thing }).unwrap();
            maker.add(1, 1, at(6), &ThingReceive { thing }).unwrap();
        }
        for ticks in [1, 5000] {
            let (monotonic, uncertainty) = (ticks, 0);
            maker.sync(ClockSync { ticks, monotonic, realtime: ticks, uncertainty }).unwrap();
        }
    }
    maker.finish().unwrap();
}

/// `.cnv.flows`: a number may arrive in another process, a pointer may not.
#[test]
fn flows_with_numbers_go_from_process_to_process() {
    let (_directory, log) = log(letters);
    let trace = trace(&[&log]);
    let mut ends: BTreeMap<u64, [Vec<u64>; 2]> = BTreeMap::new();
    for event in &trace.events {
        let mut track = event.track;
        while let (Some(parent), _) = trace.tracks[&track] {
            track = parent;
        }
        for side in 0..2 {
            for id in &event.flows[side] {
                ends.entry(*id).or_default()[side].push(trace.pids[&track]);
            }
        }
    }
    let ends: Vec<[Vec<u64>; 2]> = ends.into_values().collect();
    let of = |from: u64, to: &[u64]| [vec![from], to.to_vec()];
    let expected = [of(1, &[2]), of(2, &[1]), of(1, &[1]), of(2, &[2]), of(1, &[]), of(2, &[2])];
    assert_eq!(ends, expected);
    let entries = entries(&[&log]);
    let mut linked: HashMap<String, (u64, Vec<u64>)> = HashMap::new();
    for entry in &entries {
        let pid = || entry["pid"].as_u64().unwrap();
        match entry["ph"].as_str().unwrap() {
            "s" => drop(linked.insert(entry["id"].to_string(), (pid(), Vec::new()))),
            "f" => linked.get_mut(&entry["id"].to_string()).unwrap().1.push(pid()),
            _ => {}
        }
    }
    let mut found: Vec<(u64, Vec<u64>)> = linked.into_values().collect();
    found.sort();
    let mut told: Vec<(u64, Vec<u64>)> =
        expected.into_iter().map(|[from, to]| (from[0], to)).collect();
    told.sort();
    assert_eq!(found, told);
}

/// `.cnv.folded`
#[test]
fn slices_of_several_threads_are_folded_apart() {
    let (_directory, log) = log(threads);
    let (bytes, _) = exported("stacks.folded", &[&log]);
    let mut expected = String::new();
    for thread in 1..=THREADS {
        for (stack, ns) in [("Work", 24), ("Work;Part", 12)] {
            expected += &format!("program;thread {thread};{stack} {}\n", ns * ROUNDS);
        }
    }
    let sorted = |text: &str| text.lines().map(str::to_owned).collect::<HashSet<_>>();
    assert_eq!(sorted(&String::from_utf8(bytes).unwrap()), sorted(&expected));
}

/// The maximum number of open slices, spans and flows, and of counters.
const OPEN_COUNT: u64 = 1 << 16;
const COUNTER_COUNT: u64 = 1 << 12;

/// Writes slices, spans and flows that never end, and counters: of each more than the tables hold.
fn full(path: &Path) {
    let all = [(1, OPEN_COUNT + 70), (5, OPEN_COUNT + 30), (7, OPEN_COUNT + 5)];
    let items = all.into_iter().flat_map(|(code, count)| (0..count).map(move |item| (code, item)));
    let counted = (0..COUNTER_COUNT + 9).map(|pool| (9, pool));
    // These three have room in the tables, and end.
    let ended = [(2, OPEN_COUNT - 1), (6, 0), (8, 0)];
    let events = items.chain(counted).chain(ended).zip(1000..);
    write(path, events.map(|((code, item), ticks)| (1, ticks, code, item)));
}

/// Asserts that standard error reports the events without room.
fn assert_told(errors: &str) {
    for note in [
        "100 slices and spans are instants: they began while 65536 were open",
        "5 flows are left out: they began while 65536 were open",
        "9 changes are left out: their counters came after the first 4096",
    ] {
        assert!(errors.contains(&format!("note: {note}\n")), "{errors}");
    }
}

/// `.cnv.timeline`
#[test]
fn an_event_beyond_the_limits_is_an_instant_and_reported() {
    let (_directory, log) = log(full);
    let (bytes, errors) = exported("trace.json", &[&log]);
    assert_told(&errors);
    let text = String::from_utf8(bytes).unwrap();
    let count = |phase: &str| text.matches(&format!("\"ph\":\"{phase}\"")).count() as u64;
    let found = ["B", "b", "s", "E", "e", "f", "C"].map(count);
    // The beginning of a flow is an instant with a duration.
    let open = OPEN_COUNT;
    assert_eq!(found, [open, open, open, 1, 1, 1, COUNTER_COUNT]);
    assert_eq!(count("i") + count("X"), 70 + 30 + (open + 5) + 1 + (COUNTER_COUNT + 9));
    let (_, errors) = exported("trace.pftrace", &[&log]);
    assert_told(&errors);
}

/// `.cnv.folded`
#[test]
fn only_the_outermost_of_deep_slices_are_folded() {
    let (_directory, log) = log(full);
    let (bytes, errors) = exported("stacks.folded", &[&log]);
    let text = String::from_utf8(bytes).unwrap();
    let deepest = text.lines().map(|line| line.matches(";Work").count()).max();
    assert_eq!(deepest, Some(256));
    assert!(errors.contains(" weights are of slices nested deeper than 256"), "{errors}");
}

/// `.cnv.perfetto`: each slice has its own label; the table of names holds fewer.
#[test]
fn labels_beyond_the_table_of_names_name_their_slices() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("names.log");
    let mut file = fs::File::create(&path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    let count = OPEN_COUNT + 70;
    for n in 0..count {
        let item = P(n as usize + 1);
        let name = maker.intern(1000 + 2 * n, format!("ask {n}").as_bytes()).unwrap();
        maker.label(1000 + 2 * n, item.0, name).unwrap();
        maker.add(1, 1, 1000 + 2 * n, &AskBegin { item }).unwrap();
        maker.add(1, 1, 1001 + 2 * n, &AskEnd { item }).unwrap();
    }
    maker.finish().unwrap();
    let trace = trace(&[path.to_str().unwrap()]);
    let begins = trace.events.iter().filter(|event| event.of == 1);
    let names: Vec<&str> = begins.map(|event| &*event.name).collect();
    assert_eq!(names.len() as u64, count);
    assert!(names.iter().enumerate().all(|(n, name)| *name == format!("ask {n}")));
}

/// Returns a stream in which thread 1 has an OS number, and records a begin and an end.
fn stream_of_thread(uuid: &[u8; 16], os_thread: usize, [begin, end]: [u64; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.uuid, origin.boot_id, origin.pid) = (*uuid, [9; 16], 4711);
    maker.begin(&origin).unwrap();
    maker.thread(1000, 1, os_thread, "teller").unwrap();
    let item = |ticks: u64| P((ticks - ticks % 10) as usize);
    maker.add(2, 1, begin, &WorkBegin { item: item(begin) }).unwrap();
    maker.add(2, 1, end, &WorkEnd { item: item(end) }).unwrap();
    maker.finish().unwrap();
    bytes
}

/// `.cnv.export`: streams of one boot and process are one process, threads by their OS numbers.
#[test]
fn two_streams_of_one_process_are_one_process_with_its_threads() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("two.log");
    // The second stream's slices lie within the first one's.
    let first = stream_of_thread(b"the first stream", 77, [1010, 1019]);
    let same = stream_of_thread(b"another stream !", 77, [1011, 1018]);
    let other = stream_of_thread(b"the third stream", 78, [1012, 1017]);
    fs::write(&path, [first, same, other].concat()).unwrap();
    let path = path.to_str().unwrap();
    let entries = entries(&[path]);
    let of = |phase: &str| -> Vec<(u64, u64)> {
        let found = entries.iter().filter(|entry| entry["ph"] == phase && entry["name"] == "Work");
        found
            .map(|entry| (entry["pid"].as_u64().unwrap(), entry["tid"].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(of("B"), [(4711, 77), (4711, 77), (4711, 78)]);
    assert_eq!(of("E"), [(4711, 78), (4711, 77), (4711, 77)]);
    let named = |what: &str| entries.iter().filter(|entry| entry["name"] == what).count();
    // Two threads, and a track for events without a thread: names.
    assert_eq!((named("process_name"), named("thread_name")), (1, 3));
}
