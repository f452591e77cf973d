//! `verify` reports every fault of a log: all that a reader reports, and more.
//!
//! ```text
//!  a small log ── byte by byte ──▶ read: faults ⊆ verify: faults
//!  storm ── log ──▶ dump, stats, verify, report: one number of lost events
//! ```

use eventlog::reader::{Fault, FaultKind, Faults, Filter, Log, Order, What};
use std::fs;
use std::io::Read;
use std::num::NonZero;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use tests::naive::{self, Buffer, KINDS, Platform, Recipe, Ring, TYPES, Value, Writer};
use tests::programs::{eventcnv, recording, run};

const WORDS: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };

fn buffer(index: u32) -> Buffer {
    Buffer { buffer: index, registry: 1, kind: 1, thread: 1 }
}

fn writer() -> Writer {
    let mut writer = Writer::new(WORDS, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    writer
}

fn ring(index: u32, ticks: std::ops::Range<u64>) -> Ring {
    let mut ring = Ring::new(&WORDS, buffer(index), ticks.start);
    for ticks in ticks {
        let words = [Value::P(ticks), Value::A(ticks), Value::W(ticks)];
        assert!(ring.record(&WORDS, ticks, 2, &words));
    }
    ring
}

/// Returns three blocks, and a block with parts.
fn small() -> Vec<u8> {
    let mut writer = writer();
    for index in 0..3 {
        let start = 1000 * u64::from(index);
        ring(index, start..start + 5).write(&mut writer, true);
    }
    writer.head.resize(4096, 0);
    for index in 3..6 {
        let start = 1000 * u64::from(index);
        ring(index, start..start + 2).flush(&mut writer);
    }
    writer.end();
    writer.bytes()
}

fn all(log: &Log, more: &Faults) -> Vec<Fault> {
    log.faults().iter().chain(more).cloned().collect()
}

/// Returns the faults that reading reports, and the faults that verifying reports.
fn both(bytes: Vec<u8>) -> (Vec<Fault>, Vec<Fault>) {
    let log = Log::from_source(bytes).unwrap();
    let mut events = log.events(Order::File, &Filter::default());
    let mut count = 0;
    while events.next().is_some() {
        count += 1;
    }
    let verified = log.verify(NonZero::new(2));
    assert_eq!(verified.event_count, count);
    (all(&log, events.faults()), all(&log, &verified.faults))
}

/// `.cnv.verify`
#[test]
fn verify_reports_every_fault_that_reading_reports() {
    let small = small();
    assert_eq!(both(small.clone()), (vec![], vec![]));
    // Every byte of a header, and some others.
    let is_picked = |at: &usize| at % 4096 < 160 || at.is_multiple_of(29);
    for offset in (0..small.len()).filter(is_picked) {
        let mask = [0x01, 0x06, 0xFF][offset % 3];
        let mut bytes = small.clone();
        bytes[offset] ^= mask;
        let (read, verified) = both(bytes);
        let is_told = |fault: &Fault| verified.contains(fault);
        assert!(read.iter().all(is_told), "{offset} ^ {mask}: {read:?}\n{verified:?}");
    }
}

/// `.cnv.verify`: also a block whose events another block gives.
#[test]
fn verify_checks_a_redundant_copy() {
    let mut writer = writer();
    let ring = ring(0, 0..9);
    ring.write(&mut writer, true);
    ring.write(&mut writer, true);
    writer.end();
    let mut bytes = writer.bytes();
    bytes[3 * 4096 - 1] ^= 1;
    let (_, verified) = both(bytes);
    let found: Vec<_> = verified.iter().map(|fault| (fault.offset, &fault.kind)).collect();
    assert_eq!(found, [(2 * 4096, &FaultKind::BlockChecksum { count: 9 })]);
}

/// `.cnv.verify`, `.event.number`, `.block.sync`, `.time.sync`
#[test]
fn verify_checks_fields_that_no_reader_needs() {
    let mut writer = writer();
    let mut first = ring(0, 100..105);
    first.fields.sequence = 4;
    first.fields.sync_ticks = 103;
    first.fields.sync_realtime = 5000;
    first.write(&mut writer, true);
    let mut second = ring(0, 200..205);
    second.fields.first = 5;
    second.fields.sequence = 3;
    second.fields.sync_realtime = 4000;
    second.write(&mut writer, true);
    writer.end();
    let (read, verified) = both(writer.bytes());
    assert_eq!(read, []);
    let found: Vec<_> = verified.iter().map(|fault| (fault.offset, fault.kind.clone())).collect();
    let expected = [
        (0, FaultKind::SyncSet { ticks: 204, by: 1000 }),
        (4096, FaultKind::EventLate { ticks: 104, sync: 103 }),
        (8192, FaultKind::BlockSequence { buffer: 0, found: 3, before: 4 }),
    ];
    assert_eq!(found, expected);
}

/// `.cnv.verify`
#[test]
fn verify_finds_no_fault_in_sound_logs_of_every_platform() {
    for seed in 0..40 {
        let platform = Platform {
            big_endian: seed % 2 == 1,
            word_size: [4, 8][seed as usize / 2 % 2],
            block_size_log2: 12 + seed as u32 % 3,
        };
        let recipe = Recipe {
            seed,
            platform,
            buffers: 1 + seed as u32 % 5,
            events: 800,
            with_copies: !seed.is_multiple_of(3),
            is_shuffled: seed.is_multiple_of(5),
            stream: 0,
        };
        let (writer, recorded) = naive::write(recipe);
        let log = Log::from_source(writer.bytes()).unwrap();
        let verified = log.verify(NonZero::new(2));
        assert_eq!(verified.event_count, recorded.len() as u64, "{seed}");
        assert_eq!(all(&log, &verified.faults), [], "{seed}");
        let (count, _) = verified.pieces[&(What::Stream, false)];
        assert_eq!(count, 1);
    }
}

/// Returns a tool's exit status, standard output and standard error about a log.
fn told(words: &[&str], log: &Path) -> (Option<i32>, String, String) {
    let output = eventcnv().args(words).arg(log).output().expect("eventcnv runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Returns the number of lost events that a tool states in words.
fn lost(text: &str) -> u64 {
    let mut parts = [" event was requested and is", " events were requested and are"].into_iter();
    let before = parts.find_map(|part| text.split_once(&format!("{part} not in the log: ")));
    let number = before.and_then(|(line, _)| line.split_ascii_whitespace().next_back());
    number.map_or(0, |number| number.parse().expect("a number"))
}

/// Returns the sum of the table of `stats`, without overwritten events.
fn lost_in_table(text: &str) -> u64 {
    let rows = text.lines().skip_while(|line| !line.starts_with("not in the log")).skip(1);
    let cells = |row: &str| -> u64 {
        let cells: Vec<&str> = row.split_ascii_whitespace().collect();
        cells[1..6].iter().map(|cell| cell.parse::<u64>().expect("a count")).sum()
    };
    rows.take_while(|row| !row.is_empty() && !row.starts_with("eventcnv")).map(cells).sum()
}

/// Returns the sum of the table of `query`, without overwritten events.
fn asked(log: &Path) -> u64 {
    let question = "SELECT total(count) FROM losses WHERE cause <> 'overwritten'";
    let asked = eventcnv().arg("query").arg(log).args([question, "--json"]).output();
    let asked = asked.expect("eventcnv runs").stdout;
    let asked: serde_json::Value = serde_json::from_slice(&asked).expect("JSON");
    asked["total(count)"].as_f64().expect("a number") as u64
}

/// `.cnv.losses`: every tool counts the events in damaged blocks as missing.
#[test]
fn all_tools_state_the_same_losses_of_damaged_logs() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    for block in [3, 7, 11] {
        let mut bytes = include_bytes!("../golden/log/heap.log").to_vec();
        bytes[4096 * block - 8] ^= 1;
        let log = folder.path().join(format!("{block}.log"));
        fs::write(&log, bytes).expect("a log");
        let (_, verdict, _) = told(&["verify"], &log);
        let expected = lost(&verdict);
        assert!(expected > 0, "{verdict}");
        for words in ["dump", "dump -v", "dump -vvv", "stats"] {
            let words: Vec<&str> = words.split(' ').collect();
            let (_, _, note) = told(&words, &log);
            assert_eq!(lost(&note), expected, "{words:?}: {note}");
        }
        for (command, ending) in
            [("sql", "db"), ("parquet", "sets"), ("export", "json"), ("report", "html")]
        {
            let out = log.with_extension(ending);
            let (_, _, note) = told(&[command, "-o", out.to_str().expect("a name")], &log);
            assert_eq!(lost(&note), expected, "{command}: {note}");
        }
        let (_, table, _) = told(&["stats"], &log);
        assert_eq!([lost_in_table(&table), asked(&log)], [expected; 2], "{table}");
    }
}

/// How a storm's log loses events, apart from the storm itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Kept,
    /// The host refuses everything beyond 100 KB.
    Refused,
    /// The writer thread is too slow, and events without room are discarded.
    Discarded,
    /// The receiver reads nothing before the program has ended.
    Unread,
}

/// Returns the number of events that a program reported as not sent.
fn not_sent(said: &str) -> Option<u64> {
    let (before, _) = said.split_once(" events were not sent")?;
    before.split(' ').next_back()?.parse().ok()
}

/// The causes for which a storm reports that events are not in its log.
const CAUSES: [&str; 4] = ["full", "nested", "large", "io"];

/// Returns the sum of these causes in the output of `stats --json`.
fn sum_in(json: &serde_json::Value, causes: &[&str]) -> u64 {
    let kinds = json["losses"].as_array().expect("a table").iter();
    let counts = kinds.flat_map(|kind| causes.iter().map(|cause| kind[*cause].as_u64()));
    counts.map(|count| count.expect("a count")).sum()
}

/// Runs a storm into a log. Returns the program's counts before its end, by [`CAUSES`], and its
/// messages.
fn storm(fate: Fate, round: usize, log: &Path) -> ([u64; 4], String) {
    let socket = log.with_extension("socket");
    let receiver = UnixListener::bind(&socket).expect("a socket");
    let (limit, rounds, to) = match fate {
        Fate::Kept | Fate::Discarded => ("unlimited", "3", log.to_owned()),
        Fate::Refused => ("200", "3", log.to_owned()),
        Fate::Unread => ("unlimited", "60", format!("unix:{}", socket.display()).into()),
    };
    let script = format!("ulimit -f {limit}; exec \"$0\" {rounds}");
    let mut storm = recording(Command::new("sh"), "all", &to);
    storm.args(["-c", &script, env!("CARGO_BIN_EXE_storm")]);
    storm.env("MPS_TELEMETRY_BLOCK_SIZE", if round.is_multiple_of(2) { "4096" } else { "8192" });
    match fate {
        Fate::Discarded => {
            storm.env("MPS_TELEMETRY_POLICY", "discard").env("MPS_TELEMETRY_WRITER", "thread");
        }
        Fate::Kept | Fate::Refused if round.is_multiple_of(3) => {
            storm.env("MPS_TELEMETRY_POLICY", "Object=discard");
        }
        _ => {}
    }
    let ended = run(&mut storm);
    if fate == Fate::Unread {
        let (mut sender, _) = receiver.accept().expect("a program");
        let mut bytes = Vec::new();
        sender.read_to_end(&mut bytes).expect("what it sent");
        fs::write(log, bytes).expect("a log");
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let counted = text(&ended.stdout);
    let counts: Vec<u64> =
        counted.split_whitespace().map(|it| it.parse().expect("a count")).collect();
    (counts.try_into().expect("four counts"), text(&ended.stderr))
}

/// `.req.loss`, `.cnv.losses`
#[test]
fn all_tools_state_the_same_losses_of_20_storms() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let mut lossy_count = 0;
    for round in 0..20 {
        let log = folder.path().join(format!("{round}.log"));
        let fates = [Fate::Kept, Fate::Discarded, Fate::Unread, Fate::Refused];
        let fate = fates[round % fates.len()];
        let (counted, said) = storm(fate, round, &log);

        let (dump_status, _, dump) = told(&["dump"], &log);
        let (_, table, note) = told(&["stats"], &log);
        let (_, json, _) = told(&["stats", "--json"], &log);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let (status, verdict, _) = told(&["verify"], &log);
        let numbers =
            [lost(&dump), lost(&note), lost_in_table(&table), lost(&verdict), asked(&log)];
        let in_log = json["lost"].as_u64().expect("a number");
        assert_eq!(numbers, [in_log; 5], "{round}: {dump}\n{note}\n{table}\n{verdict}");
        let of_log = CAUSES.map(|cause| sum_in(&json, &[cause]));
        if fate == Fate::Unread {
            // Events that waited at the program's count are sent at its exit, or counted as lost.
            let of_host = sum_in(&json, &["io", "lost"]);
            assert_eq!(Some(of_host), not_sent(&said), "{round}: {said}\n{table}");
            assert_eq!(of_log[..3], counted[..3], "{round}: {said}\n{table}");
        } else {
            assert_eq!(of_log, counted, "{round}: {said}\n{table}");
            assert_eq!(sum_in(&json, &["lost"]), 0, "{round}: {table}");
        }
        // Damage and losses have different exit codes.
        let expected = match (dump_status, in_log) {
            (Some(0), 0) => 0,
            (Some(0), _) => 3,
            _ => 1,
        };
        assert_eq!(status, Some(expected), "{round}: {verdict}");
        lossy_count += u64::from(in_log > 0);
    }
    assert!(lossy_count >= 15, "only {lossy_count} storms lost something");
}

/// `.store.discarded`: the last two of eight registries have no room, and so no name in the log.
#[test]
fn the_losses_of_a_registry_without_room_are_named() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let log = folder.path().join("log");
    let crowded = Command::new(env!("CARGO_BIN_EXE_crowded"));
    let counted = run(&mut recording(crowded, "all", &log)).stdout;
    let counted: u64 = String::from_utf8_lossy(&counted).trim().parse().expect("a count");
    assert!(counted > 0);
    let (_, json, _) = told(&["stats", "--json"], &log);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let losses = json["losses"].as_array().expect("a table");
    let of_none: Vec<_> = losses.iter().filter(|row| row["full"] == counted).collect();
    assert!(matches!(&of_none[..], [row] if row["kind"] == "kind 63 of no registry"), "{json}");
    let (_, table, _) = told(&["stats"], &log);
    let row = table.lines().find(|row| row.contains("kind 63 of no registry"));
    let row = row.unwrap_or_else(|| panic!("{table}"));
    assert!(row.split_whitespace().any(|cell| cell == counted.to_string()), "{table}");
    let (code, verdict, _) = told(&["verify"], &log);
    assert_eq!((code, lost(&verdict), asked(&log)), (Some(3), counted, counted), "{verdict}");
}
