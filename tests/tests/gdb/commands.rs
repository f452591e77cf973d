//! Each command, its errors, and the switches, on a live process of eight threads.
//!
//! ```text
//!  dump ─▶ lines ═ eventcnv ◀─ file ◀─ save           set ─▶ continue ─▶ the log has the kind
//! ```
//!
//! Rules: `.debug.commands`, `.debug.describe`, `.control.output` in `design/telemetry.md`.

use super::session::{Session, text};
use std::path::Path;
use tests::programs::{eventcnv, lines, run};

/// Eight threads, three kinds, and too few events to overwrite any.
const THREADS: usize = 8;
const EVENTS: usize = 700;

/// Returns the lines that eventcnv prints of a log, without a fault.
pub(crate) fn converted(options: &[&str], log: &Path) -> Vec<String> {
    lines(eventcnv().args(options).arg(log))
}

/// Checks that two texts are equal, or names the first line that differs.
pub(crate) fn agree(what: &str, shown: &str, expected: &[String]) {
    let shown: Vec<&str> = shown.lines().collect();
    for (index, (shown, expected)) in shown.iter().zip(expected).enumerate() {
        assert_eq!(shown, expected, "{what}: line {index}: gdb, eventcnv");
    }
    assert_eq!(shown.len(), expected.len(), "{what}: number of lines");
}

/// Counts the lines that have an event of this name.
pub(crate) fn count(text: &str, name: &str) -> usize {
    text.lines().filter(|line| line.split(' ').nth(1) == Some(name)).count()
}

/// `.root.stream`, `.root.extent`, `.root.preamble`, `.event.fill`, `.time.order`, `.store.label`
#[test]
fn dump_prints_what_eventcnv_prints_of_the_saved_log() {
    let session = Session::of(&format!("threads {THREADS} {EVENTS}"));
    let commands = ["telemetry save all.log", "telemetry dump", "telemetry dump -vv"];
    let more = ["telemetry registry", "telemetry dump object PAUSE -vv", "telemetry dump -v -n 7"];
    let more = [&more[..], &["telemetry dump -vvv"]].concat();
    let said = session.run(&[&commands[..], &more].concat());
    let log = session.path("all.log");
    assert!(said[0].ends_with(" are in all.log\n"), "{}", said[0]);
    agree("-v", &said[1], &converted(&["-v"], &log));
    agree("-vv", &said[2], &converted(&["-vv"], &log));
    agree("-vvv", &said[6], &converted(&["-vvv"], &log));
    let of_worker = |line: &str| line.split(' ').nth(2) == Some("worker");
    assert_eq!(said[6].lines().filter(|line| of_worker(line)).count(), 3 * THREADS * EVENTS);
    agree("registry", &said[3], &converted(&["registry"], &log));
    agree("kinds", &said[4], &converted(&["-vv", "--kinds", "object,pause"], &log));
    let newest = converted(&["-v"], &log);
    agree("-n", &said[5], &newest[newest.len() - 7..]);
    // The dump has all recorded events, in the order of each thread.
    assert_eq!(count(&said[1], "Made"), THREADS * EVENTS);
    assert_eq!(count(&said[1], "Grown"), THREADS * EVENTS + 1);
    assert_eq!(count(&said[1], "Said"), THREADS * EVENTS);
    assert_eq!((count(&said[1], "Thread"), count(&said[1], "Paused")), (THREADS + 1, 1));
    let made = said[1].lines().filter(|line| line.contains(" Made "));
    let mut next = [0; THREADS];
    for line in made {
        let values: Vec<usize> = line.split_whitespace().skip(2).map(hex).collect();
        let [thread, index, square] = values[..] else { panic!("{line}") };
        assert_eq!((index, square), (next[thread], index * index), "{line}");
        next[thread] += 1;
    }
    assert_eq!(next, [EVENTS; THREADS]);
    assert!(said[2].contains("pool:00007F4960004000[\"the \\\"word\\\" pool\"]"));
}

/// `.debug.commands`
#[test]
fn save_replaces_a_file_only_with_force() {
    let session = Session::of("threads 1 10");
    let notes = session.path("notes.txt");
    std::fs::write(&notes, "of somebody's").expect("a file can be written");
    let said = session.run(&[
        "telemetry save notes.txt",
        "shell cp notes.txt kept.txt",
        "telemetry save --force notes.txt",
        "telemetry save nowhere/x.log",
        "telemetry save --force",
    ]);
    let refused = "notes.txt: already exists; choose another name, or replace it by telemetry save \
                   --force notes.txt";
    assert!(said[0].contains(refused), "{}", said[0]);
    let kept = std::fs::read_to_string(session.path("kept.txt")).expect("a file");
    assert_eq!(kept, "of somebody's");
    assert!(said[2].ends_with(" are in notes.txt\n"), "{}", said[2]);
    assert!(!converted(&["-v"], &notes).is_empty());
    assert!(said[3].contains("nowhere/x.log: cannot write (No such file"), "{}", said[3]);
    assert!(said[4].contains("usage: telemetry save [--force] FILE"), "{}", said[4]);
}

/// The root's *unhoused* counts, here of two causes.
#[test]
fn save_reports_events_without_a_buffer_like_a_core() {
    let session = Session::of("threads 2 10");
    let store = "python gdb.selected_inferior().write_memory(\
                 telemetry_roots(TelemetryMemory())[0].address + 112, b'\\3' + bytes(15) + b'\\4')";
    let said =
        session.run(&["telemetry save clean.log", store, "telemetry save all.log", "gcore x"]);
    let note = "note: 7 events were discarded before their buffer existed\n";
    assert!(!said[0].contains("discarded"), "{}", said[0]);
    assert!(said[2].contains(note), "{}", said[2]);
    let output = eventcnv().arg(session.path("x")).output().expect("a process");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(note), "{told}");
}

/// `.control.output`: earlier events are written too, of the switched kinds alone.
#[test]
fn set_writes_a_kind_to_the_log() {
    let mut session = Session::of(&format!("threads {THREADS} {EVENTS}"));
    let log = session.path("run.log");
    session.environment.push(("MPS_TELEMETRY_FILENAME", text(&log)));
    let said = session.run(&[
        "telemetry get",
        "telemetry set Object 0x40",
        "telemetry reset user",
        "continue",
        "telemetry flush --force",
        "shell cp run.log flushed.log",
        "telemetry set pause",
        "continue",
        "telemetry get",
        "continue",
    ]);
    let all = "Arena Pool Trace Seg Ref Object User";
    let of_work = format!("registry.1: work 1.2.3\nregistry.1.kinds: {all}\n");
    let masks = |output: &str, of_rest: &str| {
        format!(
            "{of_work}registry.1.recorded: {all}\nregistry.1.output: {output}\n\
             registry.2: rest 0.1.0\nregistry.2.kinds: Pause\n\
             registry.2.recorded: Pause\nregistry.2.output: {of_rest}\n"
        )
    };
    assert_eq!(said[0], masks("-", "-"));
    assert_eq!(said[1], masks("Object User", "-"));
    assert_eq!(said[2], masks("Object", "-"));
    assert!(said[4].starts_with("flushed"), "{}", said[4]);
    assert_eq!(said[6], masks("Object", "Pause"));
    assert_eq!(said[8], said[6]);
    assert!(said[9].contains("exited normally"), "{}", said[9]);
    let log_has =
        |name: &str, event: &str| count(&converted(&["-v"], &session.path(name)).join("\n"), event);
    assert_eq!(log_has("flushed.log", "Made"), THREADS * EVENTS + 1);
    assert_eq!(log_has("run.log", "Made"), THREADS * EVENTS + 11);
    assert_eq!(log_has("run.log", "Paused"), 1);
    for name in ["flushed.log", "run.log"] {
        assert_eq!([log_has(name, "Said"), log_has(name, "Grown")], [0, 0], "{name}");
    }
}

/// `.control.output`
#[test]
fn reset_keeps_a_kind_out_of_the_log() {
    let mut session = Session::of(&format!("threads {THREADS} {EVENTS}"));
    let log = session.path("run.log");
    session.environment.push(("MPS_TELEMETRY_FILENAME", text(&log)));
    session.environment.push(("MPS_TELEMETRY_CONTROL", "all".to_owned()));
    let said =
        session.run(&["telemetry flush --force", "telemetry reset all", "continue", "continue"]);
    assert!(said[0].starts_with("flushed"), "{}", said[0]);
    assert!(said[1].contains("registry.1.output: -\n"), "{}", said[1]);
    let all = converted(&["-v"], &log).join("\n");
    assert_eq!(count(&all, "Made"), THREADS * EVENTS, "{all}");
    assert_eq!([count(&all, "Grown"), count(&all, "Paused")], [THREADS * EVENTS + 1, 1]);
}

/// The test replaces the check of the processor and of gdb's version.
#[test]
fn a_gdb_that_spoils_registers_calls_only_with_force() {
    let mut session = Session::of("threads 2 10");
    session.environment.push(("MPS_TELEMETRY_FILENAME", text(&session.path("run.log"))));
    let said = session.run(&[
        "telemetry set all",
        "python telemetry_spoils_registers = lambda memory: True",
        "telemetry flush",
        "telemetry save saved.log",
        "shell test -e run.log || echo no log",
        "telemetry flush --force",
        "shell test -e run.log && echo a log",
        "python telemetry_spoils_registers = lambda memory: False",
        "telemetry flush",
        "telemetry flush -f",
        "telemetry flush now",
    ]);
    let refusal = &said[2];
    assert!(refusal.starts_with("error: not called: ") && refusal.contains("--force"), "{refusal}");
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
    assert!(said[3].ends_with(" are in saved.log\n"), "{}", said[3]);
    assert_eq!([&*said[4], &*said[6]], ["no log\n", "a log\n"]);
    assert!(said[5].contains("flushed") && said[8].contains("flushed"), "{said:?}");
    for said in &said[9..] {
        assert_eq!(said, "error: usage: telemetry flush [--force]\n");
    }
}

fn hex(word: &str) -> usize {
    usize::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{word} is not a number"))
}

/// `.root.counts`: overwritten events are counted, and a block of each buffer is left.
#[test]
fn status_counts_overwritten_events_and_dump_shows_the_rest() {
    let session = Session::of("threads 8 9000");
    let said = session.run(&["telemetry status", "telemetry save all.log", "telemetry dump"]);
    agree("-v", &said[2], &converted(&["-v"], &session.path("all.log")));
    let value = |key: &str| {
        let line = said[0].lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("{key}: {}", said[0])).to_owned()
    };
    let number = |key: &str| value(key).parse::<usize>().expect("a number");
    let shown = said[2].lines().count() - count(&said[2], "Thread");
    let of_store = count(&said[2], "Intern") + count(&said[2], "Label");
    assert_eq!(number("recorded"), THREADS * 3 * 9000 + 2);
    assert_eq!(number("recorded"), number("overwritten") + number("events"));
    assert_eq!(number("events"), shown - of_store);
    assert!(number("overwritten") > 0 && count(&said[2], "Made") >= THREADS * 2044);
    let settled = [value("lost"), value("threads"), value("program"), value("registry.2.kinds")];
    assert_eq!(settled, ["0", "9", "stopping", "Pause"]);
    let output = [value("registry.1.output"), value("registry.1.recorded")];
    assert_eq!(output, ["-", "Arena Pool Trace Seg Ref Object User"]);
    assert_eq!(value("registry.1"), "work 1.2.3");
}

/// `.root.extent`: the blocks of a mapped file, also sealed ones.
#[test]
fn dump_shows_a_process_with_a_mapped_file() {
    let mut session = Session::of("threads 8 3000");
    let ring = format!("ring:{}?size=8M", text(&session.path("ring.log")));
    session.environment.push(("MPS_TELEMETRY_FILENAME", ring));
    session.environment.push(("MPS_TELEMETRY_CONTROL", "Object Seg".to_owned()));
    session.environment.push(("MPS_TELEMETRY_BLOCK_SIZE", "16384".to_owned()));
    let said = session.run(&["telemetry save all.log", "telemetry dump -vv", "telemetry last Seg"]);
    let expected = converted(&["-vv"], &session.path("all.log"));
    agree("of a mapped file", &said[1], &expected);
    let made = said[1].lines().filter(|line| line.contains(" 0001 Made ")).count();
    assert_eq!(made, THREADS * 3000, "all events");
    assert!(said[2].contains("\n  index:7  which\n"), "{}", said[2]);
}

/// `.debug.describe`
#[test]
fn describe_finds_an_event_by_its_kind_or_its_address() {
    let session = Session::of("threads 8 300");
    let said = session.run(&[
        "telemetry last Seg",
        "python last = gdb.execute('telemetry last 6', to_string=True).split('address: ')[1]",
        "python address = int(last.split(',')[0], 16)",
        "python gdb.set_convenience_variable('inside', address + 9)",
        "python of = telemetry_open(TelemetryMemory())[0].buffers.values()",
        "python all = [block.address for blocks in of for block in blocks]",
        "python begin = max(block for block in all if block <= address)",
        "python gdb.set_convenience_variable('before', begin + 200)",
        "telemetry describe $inside",
        "telemetry last user",
        "telemetry last Pool",
        "telemetry describe $sp",
        "telemetry describe $before",
        "telemetry describe nothing",
    ]);
    let seg: Vec<&str> = said[0].lines().collect();
    assert_eq!(
        seg[..4],
        ["0002 Grown", "  A segment was made.", "  registry: 1 work", "  kind: Seg"]
    );
    assert!(seg[4].starts_with("  thread: 9 stopping ("), "{}", seg[4]);
    assert!(seg[7].starts_with("  address: 0x") && seg[7].ends_with(", 32 bytes"), "{}", seg[7]);
    assert_eq!(seg[8], "  base:00007F4960008001[\"second, later\"]  its first byte");
    assert_eq!(
        seg[9],
        "  pool:00007F4960004000[\"the \\\"word\\\" pool\"]  the pool that it is for"
    );
    assert_eq!(seg[10..], ["  index:7  which"]);
    let [described, last, none, on_stack, before, nothing] = &said[8..] else { panic!("{said:?}") };
    assert_eq!(described, last);
    assert!(described.starts_with("0003 Said\n"), "{described}");
    assert!(described.contains("\n  heard:False  whether anybody heard it\n"), "{described}");
    assert_eq!(none, "error: no event of kind Pool is in memory\n");
    assert!(on_stack.ends_with(" is in no block of events\n"), "{on_stack}");
    assert!(before.contains("is in the header or the free space of the block"), "{before}");
    assert!(nothing.starts_with("error: telemetry describe: No symbol "), "{nothing}");
}

#[test]
fn each_invalid_command_prints_one_clear_line() {
    let session = Session::of("threads 1 1");
    let kinds = "there are Store, Arena, Pool, Trace, Seg, Ref, Object, User, Pause";
    let cases = [
        ("telemetry dump Pol", format!("no kind is called Pol; {kinds}")),
        ("telemetry last Pol", format!("no kind is called Pol; {kinds}")),
        ("telemetry set Pol", format!("no kind is called Pol; {kinds}")),
        ("telemetry dump -n", "usage: telemetry dump [KIND…] [-n COUNT] [-v|-vv|-vvv]".to_owned()),
        (
            "telemetry dump -n -3",
            "usage: telemetry dump [KIND…] [-n COUNT] [-v|-vv|-vvv]".to_owned(),
        ),
        ("telemetry dump -x", "usage: telemetry dump [KIND…] [-n COUNT] [-v|-vv|-vvv]".to_owned()),
        ("telemetry last", "usage: telemetry last KIND".to_owned()),
        ("telemetry describe", "usage: telemetry describe ADDRESS".to_owned()),
        ("telemetry save", "usage: telemetry save [--force] FILE".to_owned()),
        ("telemetry set", "usage: telemetry set KIND…".to_owned()),
        ("telemetry reset", "usage: telemetry reset KIND…".to_owned()),
        (
            "telemetry save no/where",
            "no/where: cannot write (No such file or directory)".to_owned(),
        ),
    ];
    let said = session.run(&cases.each_ref().map(|case| case.0));
    for ((command, expected), said) in cases.iter().zip(said) {
        assert_eq!(said, format!("error: {expected}\n"), "{command}");
    }
}

/// `.root.self`, `.root.magic`
#[test]
fn each_command_reports_a_missing_event_log_in_one_line() {
    let no_process = "there is no process and no core: run or attach to a program, or name a core";
    let said = Session::empty().run(&["telemetry dump", "telemetry set Pool"]);
    assert_eq!(said, [format!("error: {no_process}\n"), format!("error: {no_process}\n")]);
    let said = Session::of("never").run(&["telemetry dump", "telemetry status"]);
    for said in said {
        assert!(said.starts_with("error: nothing was recorded yet: the root at 0x"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
    let mut other = Session::empty();
    other.arguments = vec!["gdb".to_owned()];
    other.preparation.push("starti".to_owned());
    let said = other.run(&["telemetry dump"]);
    assert!(said[0].starts_with("error: no event log here: no symbol EventRoot"), "{}", said[0]);
    assert_eq!(said[0].lines().count(), 1);
    run(eventcnv().arg("--version"));
}
