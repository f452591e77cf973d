//! A kernel's events in Perfetto's format: bundles of ftrace events, and the process tree.
//!
//! ```text
//!  rows, made one by one ── export ──▶ bundles by processor ──▶ events ── the same rows
//! ```
//!
//! Design: `.cnv.perfetto.kernel` in `design/eventcnv.md`.

use crate::exported;
use crate::perfetto::trace;
use crate::protobuf::{Message, decode};
use eventdef::field::A;
use eventlog::writer::Origin;
use lens::waits::events::kernel::*;
use lens::waits::output::Output;
use std::fs;
use tempfile::TempDir;

const SWITCH: u32 = 4;
const WAKING: u32 = 20;
const NEW_TASK: u32 = 235;
/// States: asleep, a waiting thread of the kernel, and a thread that ended.
const ASLEEP: u32 = 1;
const IDLE: u32 = 0x80;
const ENDED: u32 = 0x10;

/// Makes a log, and returns its path.
fn made(directory: &TempDir, rows: impl FnOnce(&mut Output<'_>)) -> String {
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &Origin::new()).unwrap();
    rows(&mut out);
    out.finish().unwrap();
    let path = directory.path().join("k.log");
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// An event of a bundle: processor, ns since the first event, thread, kind, flags, and its fields.
struct Told {
    cpu: u64,
    ns: u64,
    pid: u64,
    kind: u32,
    flags: u64,
    fields: Message,
}

/// Returns the packets of an exported log.
fn packets(log: &str) -> Vec<Message> {
    let (bytes, _) = exported("trace.pftrace", &[log]);
    decode(&bytes).0.iter().map(|(_, packet)| packet.fields()).collect()
}

/// Returns the events of all bundles in order of time, and the processors whose bundles state a
/// loss.
fn told(packets: &[Message]) -> (Vec<Told>, Vec<u64>) {
    let (mut all, mut lost) = (Vec::new(), Vec::new());
    for bundle in packets.iter().filter_map(|packet| packet.get(1)) {
        let bundle = bundle.fields();
        let cpu = bundle.number(1);
        if bundle.get(3).is_some() {
            lost.push(cpu);
        }
        for event in bundle.all(2) {
            let event = event.fields();
            let flags = event.get(5).map_or(0, |flags| flags.number());
            let is_kind = |field: &u32| ![1, 2, 5].contains(field);
            let (kind, fields) = event.0.iter().find(|(field, _)| is_kind(field)).unwrap();
            let (ns, pid) = (event.number(1), event.number(2));
            all.push(Told { cpu, ns, pid, kind: *kind, flags, fields: fields.fields() });
        }
    }
    all.sort_by_key(|event| event.ns);
    let first = all.first().map_or(0, |event| event.ns);
    all.iter_mut().for_each(|event| event.ns -= first);
    (all, lost)
}

fn switch(prev: u32, next: u32, state: u32) -> Switch {
    Switch { prev, next, state, stack: 0 }
}

fn waking(waker: u32, target: u32, context: u32) -> Waking {
    Waking { waker, target, context, stack: 0 }
}

/// Returns an event in short: time, processor, thread, kind, and the numbers of these fields.
fn short(event: &Told, fields: &[u32]) -> (u64, u64, u64, u32, Vec<u64>) {
    let numbers = fields.iter().map(|field| event.fields.number(*field)).collect();
    (event.ns, event.cpu, event.pid, event.kind, numbers)
}

/// `.cnv.perfetto.kernel`
#[test]
fn switches_wakes_and_forks_are_ftrace_events() {
    let directory = TempDir::new().unwrap();
    let log = made(&directory, |out| {
        out.thread(1, 7, 7, b"shop").unwrap();
        out.add(0, 10, &switch(0, 7, 0)).unwrap();
        out.add(0, 20, &Fork { parent: 7, child: 8, process: 7 }).unwrap();
        out.add(0, 21, &Fork { parent: 7, child: 9, process: 9 }).unwrap();
        out.add(0, 22, &Fork { parent: 7, child: 6, process: 0 }).unwrap();
        out.add(1, 30, &switch(0, 8, 0)).unwrap();
        out.add(0, 40, &switch(7, 0, IDLE)).unwrap();
        out.add(1, 50, &waking(8, 7, 1)).unwrap();
        out.add(1, 60, &switch(8, 0, ENDED)).unwrap();
    });
    let packets = packets(&log);
    let (events, lost) = told(&packets);
    assert!(lost.is_empty());
    let of = |kind: u32| events.iter().filter(move |event| event.kind == kind);
    let switches: Vec<_> = of(SWITCH).map(|event| short(event, &[2, 4, 6])).collect();
    assert_eq!(
        switches,
        [
            (0, 0, 0, SWITCH, vec![0, 0, 7]),
            (20, 1, 0, SWITCH, vec![0, 0, 8]),
            // A waiting thread of the kernel, in the bits of Linux 4.4.
            (30, 0, 7, SWITCH, vec![7, 0x402, 0]),
            (50, 1, 8, SWITCH, vec![8, ENDED.into(), 0]),
        ]
    );
    let names: Vec<_> = of(SWITCH)
        .map(|event| [1, 5].map(|field| event.fields.get(field).unwrap().text()))
        .collect();
    assert_eq!(names[0], ["swapper", "shop"]);
    assert_eq!(names[1], ["swapper", "shop"], "a new thread has the name of its parent");
    let wakes: Vec<_> = of(WAKING).map(|event| (short(event, &[2]), event.flags)).collect();
    let expected = [((12, 0, 7, WAKING, vec![6]), 0), ((40, 1, 8, WAKING, vec![7]), 0x10)];
    assert_eq!(wakes, expected, "a thread of an unknown process is woken, not forked");
    let tasks: Vec<_> = of(NEW_TASK).map(|event| short(event, &[1, 3])).collect();
    let expected = [(10, 0, 7, NEW_TASK, vec![8, 0x10000]), (11, 0, 7, NEW_TASK, vec![9, 0])];
    assert_eq!(tasks, expected, "a thread, and a process");
    let trees: Vec<Message> =
        packets.iter().filter_map(|packet| packet.get(2)).map(|tree| tree.fields()).collect();
    assert_eq!(trees.len(), 1);
    let process = trees[0].get(1).unwrap().fields();
    assert_eq!((process.number(1), process.get(3).unwrap().text()), (7, "shop".to_owned()));
    let clocks = packets[0].get(6).unwrap().fields();
    let clocks: Vec<u64> = clocks.all(1).map(|clock| clock.fields().number(1)).collect();
    assert!(clocks.contains(&6), "the clock of ftrace events is known: {clocks:?}");
}

/// To Perfetto, a process tree before the fork of its thread is another thread, and one with
/// another parent is another process.
#[test]
fn a_thread_that_is_named_at_its_fork_is_one_thread() {
    let directory = TempDir::new().unwrap();
    let log = made(&directory, |out| {
        out.thread(1, 7, 7, b"shop").unwrap();
        out.add(0, 10, &switch(0, 7, 0)).unwrap();
        out.thread(20, 8, 8, b"till").unwrap();
        out.add(0, 20, &Fork { parent: 7, child: 8, process: 8 }).unwrap();
        out.thread(30, 8, 0, b"sleep").unwrap();
    });
    let packets = packets(&log);
    let (events, _) = told(&packets);
    let forks: Vec<_> = events.iter().filter(|event| event.kind == NEW_TASK).collect();
    assert_eq!(forks.len(), 1);
    assert_eq!(forks[0].fields.get(2).unwrap().text(), "till");
    let trees = packets.iter().filter_map(|packet| packet.get(2));
    let trees: Vec<_> = trees
        .map(|tree| tree.fields().get(1).unwrap().fields())
        .map(|of| (of.number(1), of.number(2), of.get(3).unwrap().text()))
        .collect();
    assert_eq!(trees, [(7, 0, "shop".to_owned()), (8, 7, "sleep".to_owned())]);
}

/// A thread that is woken while it runs does not sleep: Perfetto passes over a wake before the
/// switch.
#[test]
fn a_wake_of_a_running_thread_follows_its_switch() {
    let directory = TempDir::new().unwrap();
    let log = made(&directory, |out| {
        out.add(0, 10, &switch(0, 7, 0)).unwrap();
        out.add(1, 20, &waking(8, 7, 0)).unwrap();
        out.add(1, 21, &waking(9, 7, 0)).unwrap();
        out.add(0, 30, &switch(7, 0, ASLEEP)).unwrap();
        out.add(1, 40, &waking(8, 7, 0)).unwrap();
        out.add(0, 50, &switch(0, 7, 0)).unwrap();
        // This one still runs at the end of the log.
        out.add(1, 60, &waking(8, 7, 0)).unwrap();
    });
    let (events, _) = told(&packets(&log));
    let wakes = events.iter().filter(|event| event.kind == WAKING);
    let wakes: Vec<_> = wakes.map(|event| (event.ns, event.cpu, event.pid)).collect();
    assert_eq!(wakes, [(10, 1, 8), (11, 1, 9), (30, 1, 8), (50, 1, 8)], "a wake ended the sleep");
    let order: Vec<u32> = events.iter().map(|event| event.kind).collect();
    assert_eq!(order, [SWITCH, WAKING, WAKING, SWITCH, WAKING, SWITCH, WAKING]);
    let log = made(&directory, |out| {
        out.add(0, 10, &switch(0, 7, 0)).unwrap();
        out.add(1, 20, &waking(8, 7, 0)).unwrap();
        out.add(0, 30, &switch(7, 0, ASLEEP)).unwrap();
        out.add(0, 50, &switch(0, 7, 0)).unwrap();
    });
    let (events, _) = told(&packets(&log));
    let wakes = events.iter().filter(|event| event.kind == WAKING);
    let wakes: Vec<_> = wakes.map(|event| (event.ns, event.cpu, event.pid)).collect();
    assert_eq!(wakes, [(20, 0, 8)], "none ended the sleep but the early one");
}

#[test]
fn a_loss_is_stated_by_the_next_bundle_of_its_processor() {
    let directory = TempDir::new().unwrap();
    let log = made(&directory, |out| {
        out.add(0, 10, &switch(0, 7, 0)).unwrap();
        out.add(1, 11, &switch(0, 8, 0)).unwrap();
        out.lose(1, 11, 20, 5).unwrap();
        out.add(1, 30, &switch(9, 0, ASLEEP)).unwrap();
    });
    let (events, lost) = told(&packets(&log));
    assert_eq!((events.len(), lost), (3, vec![1]));
    let instants = trace(&[&log]).events;
    let names: Vec<&str> = instants.iter().map(|event| &*event.name).collect();
    assert_eq!(names.iter().filter(|name| **name == "Lost").count(), 1, "{names:?}");
}

/// `.cnv.export`: what Perfetto has no form for is on the tracks of processors.
#[test]
fn every_row_of_a_kernel_is_in_the_trace_once() {
    let directory = TempDir::new().unwrap();
    const ROUND_COUNT: u64 = 20_000;
    let log = made(&directory, |out| {
        for round in 0..ROUND_COUNT {
            let (cpu, at, thread) = ((round % 3) as u32, 10 * round + 1, 7 + (round % 5) as u32);
            let call = Syscall { thread, call: 202, object: A(0x7F00), value: 0 };
            out.add(cpu, at, &switch(0, thread, 0)).unwrap();
            out.add(cpu, at + 1, &call).unwrap();
            out.add(cpu, at + 2, &switch(thread, 0, ASLEEP)).unwrap();
        }
    });
    let packets = packets(&log);
    let (events, _) = told(&packets);
    assert_eq!(events.len() as u64, 2 * ROUND_COUNT);
    assert!(events.iter().all(|event| event.kind == SWITCH));
    let order: Vec<u64> = events.iter().map(|event| event.cpu).collect();
    assert!((0..3).all(|cpu| order.contains(&cpu)));
    let bundles = packets.iter().filter(|packet| packet.get(1).is_some()).count();
    assert!((4..100).contains(&bundles), "bundles of a bounded size: {bundles}");
    let trace = trace(&[&log]);
    let calls = trace.events.iter().filter(|event| event.name == "Syscall").count();
    assert_eq!(calls as u64, ROUND_COUNT);
    assert!(trace.events.iter().all(|event| event.name != "Switch"));
}
