//! Perfetto's format: each line of the dump is in the trace.
//!
//! ```text
//!  log ─┬─ export ──▶ protobuf.rs ──▶ track events ─┐
//!       └─ dump ────────────────────────────────────┴─ one for each line
//! ```
//!
//! Design: `.cnv.perfetto` in `design/eventcnv.md`.

use crate::protobuf::{Field, Trace, TrackEvent};
use crate::{
    FLOWS, dumped, exported, is_double, is_number, live, logs, of_calls, of_two_processes,
};
use serde_json::Value;
use std::collections::HashMap;
use tempfile::TempDir;

pub(crate) fn trace(args: &[&str]) -> Trace {
    Trace::read(&exported("trace.pftrace", args).0)
}

/// Returns whether an annotation equals the value in the dump.
fn is_value((field, found): &(u32, Field), expected: &Value) -> bool {
    match field {
        2 | 3 | 7 => is_number(expected, found.number()),
        5 => is_double(expected, f64::from_bits(found.number())),
        6 => expected == &found.text(),
        _ => false,
    }
}

/// `.cnv.perfetto`
#[test]
fn every_event_is_in_the_trace_once_with_its_parameters() {
    for log in logs() {
        let trace = trace(&[&log]);
        let own: Vec<&TrackEvent> =
            trace.events.iter().filter(|event| !event.params.is_empty()).collect();
        let lines = dumped(&[&log]);
        assert_eq!(own.len(), lines.len(), "{log}");
        let mut ns_before = 0;
        for (event, line) in own.iter().zip(&lines) {
            let (ticks, params) = event.params.split_last().unwrap();
            assert_eq!(ticks.0, "ticks");
            assert!(is_number(&line["ticks"], ticks.1.1.number()));
            let name = line["event"].as_str().unwrap();
            assert!(event.of != 3 || event.name == name, "{event:?} {line}");
            assert!(event.of != 1 || name.starts_with(&event.name), "{event:?} {line}");
            assert!(event.ns >= ns_before && (event.of == 2 || line["kind"] == event.category));
            ns_before = event.ns;
            let labels = line["labels"].as_object().map_or(0, |labels| labels.len());
            assert_eq!(params.len(), line["params"].as_object().unwrap().len() + labels);
            for (name, value) in params {
                let expected = match name.strip_suffix(" label") {
                    Some(name) => &line["labels"][name],
                    None => &line["params"][name],
                };
                assert!(is_value(value, expected), "{name} {value:?} {line}");
            }
        }
    }
}

#[test]
fn each_end_belongs_to_the_open_slice_of_its_track() {
    for (log, count) in logs().iter().zip([4, 5, 258, 7]) {
        let trace = trace(&[log]);
        let mut open: HashMap<u64, u64> = HashMap::new();
        let mut ends = 0;
        for event in &trace.events {
            let depth = open.entry(event.track).or_default();
            match event.of {
                1 => *depth += 1,
                2 => {
                    *depth = depth.checked_sub(1).unwrap();
                    ends += 1;
                }
                _ => {}
            }
        }
        assert_eq!(ends, count, "{log}");
    }
}

/// `.cnv.marks`
#[test]
fn calls_and_tasks_have_the_names_of_their_functions() {
    let (log, expected) = of_calls();
    let trace = trace(&[&log]);
    let begins = trace.events.iter().filter(|event| event.of == 1);
    assert_eq!(begins.map(|event| &*event.name).collect::<Vec<_>>(), expected);
}

#[test]
fn tracks_are_processes_threads_lanes_and_counters() {
    let [log, ..] = logs();
    let trace = trace(&[&log, "--flow=PoolInit=PoolFinish"]);
    let mut names: Vec<&str> = trace.tracks.values().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names[..5],
        [
            "Arena",
            "Pool",
            "Pool",
            "Pool size 0x556289605a10 counts",
            "Pool size 0x556289605ae0 letters"
        ]
    );
    assert_eq!(names[5..], ["heap", "heap", "no thread"]);
    assert_eq!(trace.tracks.values().filter(|(parent, _)| parent.is_none()).count(), 1);
    let counted = trace.events.iter().filter(|event| event.of == 4);
    let last: HashMap<u64, i64> =
        counted.map(|event| (event.track, event.value.unwrap())).collect();
    let live: HashMap<String, i64> = live(&log).into_iter().collect();
    assert_eq!(last.len(), live.len());
    for (track, value) in last {
        let pool = live.iter().find(|(pool, _)| trace.tracks[&track].1.contains(*pool)).unwrap();
        assert_eq!(*pool.1, value);
    }
    let flows = |side: usize| -> Vec<u64> {
        let mut all: Vec<u64> =
            trace.events.iter().flat_map(|event| event.flows[side].clone()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!((flows(0), flows(1)), (vec![1, 2], vec![1, 2]));
}

/// Returns the events of one process, and numbers their flows from 1: a trace numbers the flows of
/// all processes together.
fn of_process(trace: &Trace, pid: u64) -> Vec<String> {
    let mut flows = HashMap::new();
    let mut lines = Vec::new();
    for event in &trace.events {
        // The names of the tracks below that of the process, which may have its host's name.
        let (mut path, mut track) = (Vec::new(), event.track);
        while let (Some(parent), name) = &trace.tracks[&track] {
            path.push(&**name);
            track = *parent;
        }
        if trace.pids[&track] != pid {
            continue;
        }
        let flows = event.flows.each_ref().map(|ids| {
            let mut number = |id| {
                let next = flows.len() + 1;
                *flows.entry(id).or_insert(next)
            };
            ids.iter().copied().map(&mut number).collect::<Vec<usize>>()
        });
        let TrackEvent { ns, of, name, category, params, value, .. } = event;
        lines.push(format!("{ns} {of} {path:?} {name} {category} {params:?} {value:?} {flows:?}"));
    }
    lines
}

/// `.cnv.timeline`: slices, spans, flows and counters of two processes in one log equal those in
/// the log of each alone, on separate tracks.
#[test]
fn a_process_has_the_same_tracks_alone_and_among_others() {
    let directory = TempDir::new().unwrap();
    let (both, alone) = of_two_processes(&directory);
    let of = |log| trace(&[&[log], &FLOWS[..]].concat());
    let merged = of(&both);
    assert_eq!(merged.pids.len(), 2);
    let mut count = 0;
    for log in &alone {
        let alone = of(log);
        let [pid] = *alone.pids.values().copied().collect::<Vec<u64>>() else { panic!("one pid") };
        let (found, expected) = (of_process(&merged, pid), of_process(&alone, pid));
        assert_eq!(expected.len(), alone.events.len());
        assert_eq!(found.len(), expected.len(), "{log}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{log}");
        }
        for of in 1..=4 {
            assert!(alone.events.iter().any(|event| event.of == of), "{log} {of}");
        }
        count += found.len();
    }
    assert_eq!(count, merged.events.len());
    let mut ends: HashMap<u64, [u32; 2]> = HashMap::new();
    for event in &merged.events {
        for side in 0..2 {
            event.flows[side].iter().for_each(|id| ends.entry(*id).or_default()[side] += 1);
        }
    }
    assert!(ends.len() > 4 && ends.values().all(|sides| sides[0] == 1 && sides[1] <= 1));
}
