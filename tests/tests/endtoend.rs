//! The whole path of a user: a program records, and its log is dumped.
//!
//! ```text
//!  recorder ── MPS_TELEMETRY_CONTROL, MPS_TELEMETRY_FILENAME ──▶ log ──▶ eventcnv ──▶ lines
//! ```
//!
//! Rules: `.control.env`, `.sol.control`, `.req.multi` in `design/telemetry.md`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use tests::naive::{self, Platform};
use tests::programs::{eventcnv, lines, recording, run};

fn recorder(words: &[&str], kinds: &str, log: &Path) -> Command {
    let mut command = recording(Command::new(env!("CARGO_BIN_EXE_recorder")), kinds, log);
    command.args(words);
    command
}

/// Returns the names of the events in a dump, without those of registry 0.
fn names(log: &Path) -> Vec<String> {
    let dump =
        lines(eventcnv().args(["-v", "--kinds", "Arena,Pool,Trace,Seg,Ref,Object,User"]).arg(log));
    let second = |line: &String| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    dump.iter().map(second).collect()
}

#[test]
fn the_dump_shows_only_the_requested_kinds() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    for (kinds, expected) in [
        ("Pool Arena", vec!["ArenaCreate", "PoolInit"]),
        ("pool", vec!["PoolInit"]),
        ("0x20", vec!["PoolAlloc"]),
        (
            "all",
            vec![
                "ArenaCreate",
                "PoolInit",
                "TraceStart",
                "SegAlloc",
                "TraceFix",
                "PoolAlloc",
                "Said",
            ],
        ),
    ] {
        run(&mut recorder(&["kinds"], kinds, &log));
        assert_eq!(names(&log), expected, "MPS_TELEMETRY_CONTROL={kinds}");
    }
}

/// `.read.end`: a killed program does not close its log: that is not a fault.
#[test]
fn the_statistics_state_whether_a_log_was_closed() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for is_closed in [true, false] {
        let log = directory.path().join("mpsio.log");
        let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
        let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
        writer.registry(1, naive::KINDS, naive::TYPES, 300);
        if is_closed {
            writer.end();
        }
        std::fs::write(&log, writer.bytes()).expect("the log can be written");
        let counts = lines(eventcnv().arg("stats").arg(&log));
        let stream = counts.iter().find(|line| line.starts_with("stream 0: ")).expect("a stream");
        assert_eq!(!stream.contains("not closed"), is_closed, "{stream}");
        let lacking = "the log was not closed: the last block of each thread and kind may be \
                       missing, up to 4.00 KiB each; ";
        assert_eq!(!counts.iter().any(|line| line.starts_with(lacking)), is_closed, "{counts:#?}");
        let [else_lost, verdict] =
            if is_closed { ["", "sound"] } else { [" else", "sound, but not closed"] };
        let last = format!("nothing{else_lost} is known to be lost");
        assert_eq!(*counts.last().expect("a line"), last, "{counts:#?}");
        let checked = lines(eventcnv().arg("verify").arg(&log));
        let last = checked.last().expect("a line");
        assert!(last.ends_with(&format!(": {verdict}")), "{checked:#?}");
    }
}

/// `.dumper`: the statistics state the events of each thread, and no loss.
#[test]
fn the_statistics_know_the_threads_that_shared_a_buffer() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    run(&mut recorder(&["one-by-one", "3", "10"], "all", &log));
    let counts = lines(eventcnv().arg("stats").arg(&log));
    assert_eq!(counts.last().expect("a line"), "nothing is known to be lost", "{counts:#?}");
    for thread in 1..=3 {
        let of_thread = format!("{thread} \"recorder\" ");
        let line = counts.iter().find(|line| line.starts_with(&of_thread)).expect("a thread");
        assert_eq!(line.split_whitespace().nth(2), Some("10"), "{line}");
    }
}

#[test]
fn a_label_shows_its_string() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    run(&mut recorder(&["kinds"], "Pool", &log));
    let dump = lines(eventcnv().args(["-vv", "--events", "PoolInit"]).arg(&log));
    assert_eq!(dump.len(), 1, "{dump:?}");
    assert!(dump[0].contains(r#"pool:00007F4960004000["the \"word\" pool"]"#), "{dump:?}");
}

/// A live reader, and the log of a killed program, have a beginning of the stream.
#[test]
fn events_follow_their_labels_and_thread_names_in_the_stream() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (log, cut) = (directory.path().join("log"), directory.path().join("cut"));
    run(&mut recorder(&["kinds"], "all", &log));
    let bytes = std::fs::read(&log).expect("the log can be read");
    let shown = |log: &Path| -> Vec<String> {
        let output = eventcnv().arg("-vvv").arg(log).output().expect("eventcnv runs");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(str::to_owned).collect()
    };
    let whole = shown(&log);
    let mut counts = std::collections::BTreeSet::new();
    let magic = &eventlog::format::BLOCK_MAGIC;
    let starts = (1..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(magic));
    for end in starts {
        std::fs::write(&cut, &bytes[..end]).expect("a file can be written");
        let begun = shown(&cut);
        let other = begun.iter().find(|line| !whole.contains(line));
        assert_eq!(other, None, "{end} bytes show a line that the whole log does not have");
        counts.insert(begun.len());
    }
    assert!(counts.len() > 5, "the cuts are between events: {counts:?}");
}

#[test]
fn a_program_without_a_control_word_writes_no_log() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let output = run(&mut recorder(&["kinds"], "", &log));
    assert!(!log.exists(), "a log without output");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_unknown_kind_is_reported_and_the_known_kinds_count() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let output = run(&mut recorder(&["kinds"], "Pool Swimming", &log));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("Swimming").count(), 1, "{errors}");
    for kind in ["Arena", "Pool", "Trace", "Seg", "Ref", "Object", "User"] {
        assert!(errors.contains(kind), "{kind} is not named: {errors}");
    }
    assert_eq!(names(&log), ["PoolInit"]);
}

#[test]
fn percent_p_in_the_name_of_the_log_is_the_process() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let pattern = directory.path().join("run-%p.log");
    let mut command = recorder(&["kinds"], "all", &pattern);
    let mut child = command.stdout(Stdio::null()).spawn().expect("recorder runs");
    let log = directory.path().join(format!("run-{}.log", child.id()));
    assert!(child.wait().expect("recorder ends").success());
    assert_eq!(names(&log).len(), 7);
}

#[test]
fn an_unwritable_log_is_reported_and_the_program_continues() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("no/such/directory/mpsio.log");
    let output = run(&mut recorder(&["threads", "2", "100000"], "all", &log));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    let named = format!("cannot create {}: ", log.display());
    assert!(errors.contains(&named), "{errors}");
    let [requested, recorded, _, io] = counts(&output.stdout);
    assert_eq!(requested, 200_000);
    assert!(io > 0 && io <= recorded, "the losses are not counted: {io} of {recorded}");
}

fn counts(output: &[u8]) -> [u64; 4] {
    let text = String::from_utf8_lossy(output);
    let numbers: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().expect("a count")).collect();
    numbers.try_into().expect("four counts")
}

/// `.block.discarded`, `.event.monotone`, `.time.order`
#[test]
fn eight_threads_keep_their_order_and_count_their_losses() {
    const THREADS: u64 = 8;
    // Of each thread; more by this variable.
    let events = std::env::var("TELEMETRY_THREAD_EVENTS");
    let events = events.map_or(100_000, |count| count.parse().expect("a number"));
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let words = ["threads", &THREADS.to_string(), &u64::to_string(&events)];
    let output = run(&mut recorder(&words, "Begin Middle End", &log));
    let [requested, recorded, overwritten, io] = counts(&output.stdout);
    assert_eq!(requested, THREADS * events);
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut count, mut ticks_before, mut skipped) = (0, 0, 0);
    each_work_event(&log, |ticks, thread, index, square| {
        assert!(ticks >= ticks_before, "event {count}: time goes back");
        ticks_before = ticks;
        assert_eq!(square, index.wrapping_mul(index), "event {count}: its words are torn");
        let expected = next.insert(thread, index + 1).unwrap_or(0);
        assert!(index >= expected, "thread {thread}: {index} after {expected}");
        skipped += index - expected;
        count += 1;
    });
    assert_eq!(next.len() as u64, THREADS);
    assert_eq!(count, recorded - overwritten - io, "requested {requested}, recorded {recorded}");
    assert_eq!(count + (requested - recorded) + overwritten + io, requested);
    let cut = next.values().map(|next| events - next).sum::<u64>();
    assert_eq!(skipped + cut, requested - count);
}

/// Passes ticks, thread, index and square of every event of the registry `work` to a function. The
/// program's registries come first: the dump shows their codes without an index.
fn each_work_event(log: &Path, mut give: impl FnMut(u64, u64, u64, u64)) {
    let output = run(eventcnv().args(["--kinds", "Begin,Middle,End"]).arg(log));
    let hex = |word: &str| u64::from_str_radix(word, 16).expect("a hexadecimal number");
    let text = String::from_utf8(output.stdout).expect("a dump of numbers is text");
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [ticks, _, thread, index, square] = words[..] else { panic!("{line}") };
        give(hex(ticks), hex(thread), hex(index), hex(square));
    }
}
