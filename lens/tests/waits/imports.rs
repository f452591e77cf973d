//! Imports of recordings of `perf` and `trace-cmd`: rows as these tools count events, equal rows of
//! each form of a recording, and damage.
//!
//! Fixtures: `tests/golden/waits/load*` are recordings of one program: a ping-pong over pipes, a
//! sleep, a file with fsync, TCP. `design/waits.md` tells how they were made.

use super::fixtures;

use eventlog::format::ClockSource;
use eventlog::reader::{ClockBase, Filter, Log, Order};
use eventlog::writer::uuid_of;
use fixtures::{counts, golden, import, rows, text};
use lens::waits::model::{Cause, What};
use lens::waits::source::import::{Clock, Place};
use lens::waits::source::perf;
use std::collections::BTreeMap;

/// Returns how often `perf script` prints each tracepoint, by the name of its row.
fn printed(text: &[u8]) -> BTreeMap<&'static str, usize> {
    let names = [
        ("sched:sched_switch: ", "Switch"),
        ("sched:sched_waking: ", "Waking"),
        ("sched:sched_wakeup: ", "Woken"),
        ("sched:sched_wakeup_new: ", "Woken"),
        ("sched:sched_process_fork: ", "Fork"),
        ("sched:sched_process_exec: ", "Exec"),
        ("sched:sched_process_exit: ", "Exit"),
        ("irq:irq_handler_entry: ", "IrqEnter"),
        ("irq:irq_handler_exit: ", "IrqLeave"),
        ("timer:hrtimer_expire_entry: ", "TimerFire"),
        ("block:block_rq_insert: ", "BlockInsert"),
        ("block:block_rq_issue: ", "BlockIssue"),
        ("block:block_rq_complete: ", "BlockComplete"),
        ("sock:sock_send_length: ", "SocketSend"),
        ("sock:sk_data_ready: ", "SocketReady"),
        ("sock:inet_sock_set_state: ", "SocketState"),
        ("raw_syscalls:sys_enter: ", "Syscall"),
        ("raw_syscalls:sys_exit: ", "SyscallDone"),
    ];
    let mut counts = BTreeMap::new();
    for (mark, row) in names {
        let count = memchr::memmem::find_iter(text, mark).count();
        *counts.entry(row).or_default() += count;
    }
    counts.retain(|_, count| *count > 0);
    counts
}

#[test]
fn rows_of_perf_data_are_as_many_as_perf_script_prints() {
    for name in ["load", "load-g"] {
        let (done, log) = import(&golden(&format!("{name}.perf.data.gz"))).unwrap();
        let printed = printed(&golden(&format!("{name}.default.txt.gz")));
        let counts = counts(&log);
        assert!(printed.len() >= 12, "{printed:?}");
        for (row, count) in &printed {
            assert_eq!(counts.get(*row), Some(count), "{name}: {row}");
        }
        assert_eq!((done.fault_count, done.damaged_count), (0, 0), "{:?}", done.faults);
    }
}

#[test]
fn rows_of_text_are_as_many_as_its_events() {
    for name in ["load.default", "load.seed", "load-g.default", "load-g.seed"] {
        let text = golden(&format!("{name}.txt.gz"));
        let (done, log) = import(&text).unwrap();
        let counts = counts(&log);
        for (row, count) in printed(&text) {
            assert_eq!(counts.get(row), Some(&count), "{name}: {row}");
        }
        assert_eq!(done.fault_count, 0, "{name}: {:?}", done.faults);
    }
}

/// Returns the rows that both forms of a recording carry whole: without names, stacks, contexts,
/// and what the text does not print.
fn shared(log: &[u8]) -> Vec<(String, String)> {
    let dropped = ["Frame", "Symbol", "Mapping", "ThreadName", "Member", "SocketName", "Thread"];
    let partial = ["TimerFire", "SocketReady", "SocketState", "Fork"];
    let mut found = rows(log);
    found.retain(|(name, _)| !dropped.contains(&name.as_str()));
    for (name, row) in &mut found {
        if partial.contains(&name.as_str()) {
            // Addresses and processes: only when and where are in both.
            row.truncate(row.find(':').unwrap_or(0));
        }
        for mark in [" stack=", " context="] {
            if let Some(at) = row.find(mark) {
                let end = row[at + 1..].find(' ').map_or(row.len(), |end| at + 1 + end);
                row.replace_range(at..end, "");
            }
        }
    }
    found
}

#[test]
fn text_and_perf_data_of_one_recording_give_equal_rows() {
    for name in ["load", "load-g"] {
        let (_, data) = import(&golden(&format!("{name}.perf.data.gz"))).unwrap();
        let (_, text) = import(&golden(&format!("{name}.default.txt.gz"))).unwrap();
        let (data, text) = (shared(&data), shared(&text));
        assert!(data.len() > 200);
        for (one, other) in data.iter().zip(&text) {
            assert_eq!(one, other, "{name}");
        }
        assert_eq!(data.len(), text.len());
    }
}

#[test]
fn a_processor_that_is_not_printed_is_found_by_what_runs() {
    let places = |form: &str| {
        let (_, log) = import(&golden(&format!("switches.{form}.txt.gz"))).unwrap();
        let rows = rows(&log).into_iter().filter(|(name, _)| name == "Switch");
        rows.map(|(_, row)| row).collect::<Vec<_>>()
    };
    let (known, found) = (places("default"), places("seed"));
    let equal = known.iter().zip(&found).filter(|(one, other)| one == other).count();
    assert!(known.len() > 300);
    assert!(equal * 100 >= known.len() * 99, "{equal} of {}", known.len());
}

#[test]
fn versions_of_trace_dat_give_equal_rows() {
    let (six, one) = import(&golden("load.6.dat.gz")).unwrap();
    let (seven, other) = import(&golden("load.7.zstd.dat")).unwrap();
    // trace-cmd report prints 964 lines: a line for the processors, and one for each event.
    assert_eq!((six.known_count, seven.known_count), (963, 963));
    assert_eq!(rows(&one), rows(&other));
    assert_eq!((six.fault_count, seven.fault_count), (0, 0), "{:?}", six.faults);
    let counts = counts(&one);
    let expected = [("Switch", 339), ("Waking", 116), ("Woken", 111 + 29), ("Fork", 27)];
    for (name, count) in expected {
        assert_eq!(counts.get(name), Some(&count), "{name}");
    }
}

#[test]
fn what_perf_writes_to_a_pipe_is_read() {
    let (done, log) = import(&golden("pipe.perf.data.gz")).unwrap();
    assert_eq!(done.fault_count, 0, "{:?}", done.faults);
    assert_eq!(counts(&log).get("Switch"), Some(&fixtures::PIPE_SWITCHES));
}

#[test]
fn compressed_records_are_read() {
    let (done, log) = import(&golden("zstd.perf.data.gz")).unwrap();
    assert_eq!(done.fault_count, 0, "{:?}", done.faults);
    assert_eq!(counts(&log).get("Switch"), Some(&fixtures::ZSTD_SWITCHES));
}

#[test]
fn a_source_gives_the_same_log_twice() {
    for name in ["load-g.perf.data.gz", "load.6.dat.gz", "load-g.seed.txt.gz"] {
        let bytes = golden(name);
        assert!(import(&bytes).unwrap().1 == import(&bytes).unwrap().1, "{name}");
    }
}

#[test]
fn stacks_of_perf_data_have_no_markers() {
    let (_, log) = import(&golden("load-g.perf.data.gz")).unwrap();
    let frames: Vec<_> = rows(&log).into_iter().filter(|(name, _)| name == "Frame").collect();
    assert!(frames.len() > 50);
    assert!(frames.iter().all(|(_, row)| !row.contains("fffffffffffff")), "a marker");
}

/// Imports damaged bytes: it ends, whatever they are, and a log that it makes can be read.
fn survive(bytes: &[u8]) {
    if let Ok((_, log)) = import(bytes) {
        let log = Log::from_source(log).unwrap();
        let mut events = log.events(Order::Time, &Filter::default());
        while events.next().is_some() {}
    }
}

/// Flips bytes, and cuts: each byte of these ranges, and every 97th of the others.
fn damage(name: &str, dense: &[std::ops::Range<usize>]) {
    let bytes = golden(name);
    for at in 0..bytes.len() {
        if at % 97 != 0 && !dense.iter().any(|range| range.contains(&at)) {
            continue;
        }
        for flip in [0xFF, 0x01, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            survive(&damaged);
        }
        survive(&bytes[..at]);
    }
}

#[test]
fn damage_of_perf_data_never_stops_an_import() {
    damage("tiny.perf.data", &[0..600, 600..1400, 4600..5000]);
}

#[test]
fn damage_of_trace_dat_never_stops_an_import() {
    damage("tiny.6.dat", &[0..700, 3600..4300, 8180..8240]);
    damage("tiny.7.zstd.dat", &[0..300, 4000..4900, 8100..9212]);
}

#[test]
fn a_cut_source_gives_what_is_good_and_names_the_place() {
    let bytes = golden("load.perf.data.gz");
    let (whole, _) = import(&bytes).unwrap();
    // The formats stand after the records: a file without them keeps names alone.
    assert!(
        import(&bytes[..bytes.len() / 3]).is_err_and(|error| !error.to_string().is_empty())
            || whole.known_count > 0
    );
    let bytes = golden("load.6.dat.gz");
    let (whole, _) = import(&bytes).unwrap();
    let (done, log) = import(&bytes[..bytes.len() - 5000]).unwrap();
    assert!(done.known_count > 500 && done.known_count < whole.known_count);
    assert!(done.fault_count > 0);
    assert!(matches!(done.faults[0].place, Place::Offset(offset) if offset > 30_000));
    assert!(counts(&log).contains_key("Switch"));
}

#[test]
fn a_line_without_meaning_is_counted_and_the_first_is_named() {
    let text = text(&[
        "a line of somebody else",
        "a 7 [000] 1.000002: sched:sched_process_exit: comm=a pid=7 prio=1",
        "and this",
        "",
    ]);
    let (done, _) = import(&text).unwrap();
    assert_eq!((done.known_count, done.fault_count), (1, 2));
    assert_eq!(done.faults[0].place, Place::Line(1));
    let error = import(b"nothing at all\n").unwrap_err().to_string();
    assert!(error.contains("no event") && error.contains("line 1"), "{error}");
}

#[test]
fn names_may_have_spaces_brackets_and_line_ends() {
    for name in
        ["a b", "[x] 1", "==> next_comm=", "x prev_pid=1", "a\nb", "\n", "a\n\nb", "a: b: c"]
    {
        let text = text(&[
            &format!(
                "{name:>16} {:>5} [001]     2.000002:       sched:sched_switch: \
                prev_comm={name} prev_pid=7 prev_prio=120 prev_state=S ==> next_comm={name} \
                next_pid=8 next_prio=120",
                7
            ),
            &format!(
                "{name:>16} {:>5} [001]     2.000003:       block:block_rq_issue: \
                254,0 WS 4096 () 17 + 8 0x2,0,4 [{name}]",
                8
            ),
        ]);
        let (done, log) = import(&text).unwrap();
        let counts = counts(&log);
        assert_eq!(counts.get("Switch"), Some(&1), "{name:?}: {:?}", done.faults);
        assert_eq!(counts.get("BlockIssue"), Some(&1), "{name:?}: {:?}", done.faults);
        assert_eq!(done.fault_count, 0, "{name:?}: {:?}", done.faults);
        let row = rows(&log).into_iter().find(|(row, _)| row == "Switch").unwrap().1;
        assert!(row.contains("prev=") && row.contains('7') && row.contains('8'), "{row}");
    }
}

#[test]
fn any_text_ends_in_bounded_time() {
    let long = "x".repeat(300_000);
    let frames = "\tffffffff81000000 a ([k])\n".repeat(5000);
    let head = "a 7 [000] 1.000002: sched:sched_waking: comm=b pid=8 prio=120 target_cpu=000\n";
    for text in
        [format!("{long}\n{head}"), format!("{head}{frames}{head}"), format!("{head}{long}")]
    {
        let (done, _) = import(text.as_bytes()).unwrap();
        assert!(done.known_count >= 1);
    }
    let part = "a 7 [000] 1.000002: sched:sched_switch: prev_comm=\n".repeat(3);
    assert!(import(format!("{part}{}", "\n".repeat(100_000)).as_bytes()).is_err());
    let prefixes = "ab\n".repeat(50_000);
    assert_eq!(import(format!("{prefixes}{head}").as_bytes()).unwrap().0.known_count, 1);
}

#[test]
fn the_uuid_of_a_log_is_that_of_its_source() {
    let source = golden("tiny.perf.data");
    let mut log = Vec::new();
    perf::import(&source, uuid_of(b"x").into(), &mut log).unwrap();
    let log = Log::from_source(log).unwrap();
    assert_eq!(log.streams()[0].uuid, uuid_of(b"x"));
}

#[test]
fn an_instance_of_trace_dat_has_the_clock_of_traceclock() {
    // The same of both versions: trace-cmd record -B foo -C x86-tsc … sleep 0.2.
    for name in ["instance.7.dat.gz", "instance.6.dat.gz"] {
        let (done, log) = import(&golden(name)).unwrap();
        assert_eq!((done.fault_count, done.clock), (0, Clock::Counter), "{:?}", done.faults);
        let log = Log::from_source(log).unwrap();
        assert_eq!(log.streams()[0].clock_source, ClockSource::Tsc as u32, "{name}");
    }
}

#[test]
fn a_group_of_events_in_text_gives_no_wakes() {
    // perf record -e '{sched:sched_switch,sched:sched_waking}:S', as perf script prints it: each
    // record of a switch also stands there as a wake.
    let text = golden("group.txt.gz");
    let count = |name| memchr::memmem::find_iter(&text, name).count();
    let (switches, wakes) = (count(b" sched:sched_switch: "), count(b" sched:sched_waking: "));
    assert!(switches > 100 && wakes > 100);
    let (done, log) = import(&text).unwrap();
    assert_eq!(done.fault_count, 0, "{:?}", done.faults);
    assert_eq!(counts(&log).get("Switch"), Some(&switches));
    assert_eq!(counts(&log).get("Waking"), None);
    assert!(done.notes[0].starts_with(&format!("{wakes} lines are left out")), "{:?}", done.notes);
    // The recording has the records of the switches alone.
    let (_, log) = import(&golden("group.perf.data.gz")).unwrap();
    assert_eq!(counts(&log).get("Switch"), Some(&switches));
    assert_eq!(counts(&log).get("Waking"), None);
}

#[test]
fn times_that_count_from_the_event_before_are_refused() {
    // perf script --deltatime of load.perf.data.
    let error = import(&golden("delta.txt.gz")).unwrap_err().to_string();
    assert!(error.contains("--deltatime"), "{error}");
}

#[test]
fn tracepoints_of_one_system_call_are_system_calls() {
    let text = golden("calls.txt.gz");
    let count = |name: &[u8]| memchr::memmem::find_iter(&text, name).count();
    let (done, log) = import(&golden("calls.perf.data.gz")).unwrap();
    let counts = counts(&log);
    assert_eq!(counts.get("Syscall"), Some(&count(b" syscalls:sys_enter_")));
    assert_eq!(counts.get("SyscallDone"), Some(&count(b" syscalls:sys_exit_")));
    // perf script: "sys_enter_write: fd: 0x00000005, buf: …" and "sys_exit_wait4: …".
    let rows: Vec<(String, String)> = rows(&log);
    let has = |name: &str, row: &str| rows.iter().any(|own| own.0 == name && own.1.contains(row));
    assert!(has("Syscall", "call=U(1) object=A(5)"), "{rows:?}");
    assert!(has("Syscall", "call=U(230) object=A(0) value=W(0)"), "{rows:?}");
    assert!(has("SyscallDone", "call=U(1) result=W(1)"), "{rows:?}");
    // perf script prints the calls by their names alone.
    let (_, of_text) = import(&text).unwrap();
    let calls = |log: &[u8]| {
        let mut calls = shared(log);
        calls.retain(|(name, _)| name.starts_with("Syscall"));
        calls
    };
    assert_eq!(calls(&of_text), calls(&log));
    // The types without a meaning are named.
    let faults = done.left_out.iter().find(|(own, _)| own == "page-faults").unwrap();
    assert_eq!(faults.1, count(b" page-faults: ") as u64, "{:?}", done.left_out);
    assert_eq!(done.left_out.iter().map(|(_, count)| count).sum::<u64>(), done.unknown_count);
}

#[test]
fn system_calls_of_trace_dat_are_rows() {
    let (done, log) = import(&golden("calls.7.dat.gz")).unwrap();
    let counts = counts(&log);
    // trace-cmd report prints 3 + 2 + 1 ways in, 2 + 2 + 1 ways out, and 21 soft interrupts.
    assert_eq!((counts["Syscall"], counts["SyscallDone"]), (6, 5));
    assert_eq!((counts["SoftEnter"], &done.left_out[..]), (21, &[][..]));
}

#[test]
fn clocks_that_do_not_count_ns_state_their_rate() {
    // trace-cmd record -C uptime -e sched_switch -e sched_waking sleep 0.5
    let (_, log) = import(&golden("uptime.7.dat.gz")).unwrap();
    let model = fixtures::model(&log);
    let life = model.lives.iter().find(|life| *life.name == *b"sleep").unwrap();
    let waited = fixtures::ms(&model, life, What::Wait);
    assert!((490.0..560.0).contains(&waited), "{waited}");
    // A count of events has no rate.
    let (_, log) = import(&golden("counter.7.dat.gz")).unwrap();
    let log = Log::from_source(log).unwrap();
    assert_eq!(eventlog::reader::Clock::new(&log).base, ClockBase::Ticks);
}

#[test]
fn a_folder_of_perf_record_threads_is_read_in_order_of_time() {
    let parts = ["threads.data.gz", "threads.0.gz", "threads.1.gz"].map(golden);
    let [head, threads @ ..] = &parts;
    let mut log = Vec::new();
    let [one, other] = threads;
    perf::import_parts(head, &[one, other], [7; 16].into(), &mut log).unwrap();
    // As perf script prints the folder.
    let all = counts(&log);
    assert_eq!((all["Switch"], all["Waking"]), (1296, 719));
    assert_eq!(fixtures::model(&log).counts.backwards, 0);
    // A part that is missing takes its events with it, and no others.
    let mut log = Vec::new();
    perf::import_parts(head, &[other], [7; 16].into(), &mut log).unwrap();
    let rest = counts(&log)["Switch"];
    let mut log = Vec::new();
    perf::import_parts(head, &[one], [7; 16].into(), &mut log).unwrap();
    assert_eq!(rest + counts(&log)["Switch"], 1296);
}

#[test]
fn files_of_one_recording_are_joined_in_order_of_time() {
    // Two files of perf record --switch-output: perf script prints 201 and 287 switches.
    let [one, other] = ["series.1.perf.data.gz", "series.2.perf.data.gz"].map(golden);
    assert!(perf::are_of_one_recording(&one, &other));
    assert!(!perf::are_of_one_recording(&one, &golden("load.perf.data.gz")));
    for (first, second) in [(&one, &other), (&other, &one)] {
        let mut log = Vec::new();
        perf::import_parts(first, &[second], [7; 16].into(), &mut log).unwrap();
        assert_eq!(counts(&log)["Switch"], 201 + 287);
        let model = fixtures::model(&log);
        assert_eq!((model.counts.backwards, model.counts.contradictions), (0, 0));
    }
}

#[test]
fn a_thread_that_a_signal_stopped_is_stopped() {
    // A program stops its child by SIGSTOP. perf script: the child is switched out in state T at
    // 17473.643048165, and woken at 17473.921541309.
    let (_, log) = import(&golden("stop.perf.data.gz")).unwrap();
    let model = fixtures::model(&log);
    let stopped = model.stretches.iter().filter(|own| own.cause == Cause::Stopped);
    let stopped: Vec<_> = stopped.collect();
    assert_eq!(stopped.len(), 1);
    assert_eq!(stopped[0].woken - stopped[0].begin, 921_541_309 - 643_048_165);
    let by = |life: u32| model.life(life).map(|life| (life.thread, life.name.clone()));
    assert_eq!(by(stopped[0].life).unwrap().0, 21219);
    assert_eq!(by(stopped[0].aid), Some((21208, b"spin".as_slice().into())));
}
