//! Logs that a user makes from logs: verify, recover, cut, merge, index.
//!
//! ```text
//!  heap.log ── damage ── recover ──▶ verify: sound          ── cut, cut ── merge ──▶ the same dump
//! ```

mod support;

use eventdef::field::{A, P};
use eventlog::format::{STREAM_HEADER_SIZE, StreamHeader};
use eventlog::writer::{Cause, Maker, Origin, uuid_of};
use serde_json::Value;
use shop::{Restock, Sale};
use std::fs;
use std::path::Path;
use support::{golden_path, mps, run};
use tempfile::TempDir;

fn heap() -> String {
    golden_path("log/heap.log").to_str().unwrap().to_owned()
}

/// Returns the path of a name in a directory.
fn within(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

/// Runs a command that must end with this exit status. Returns standard output and standard error.
fn expect(status: i32, args: &[&str]) -> (String, String) {
    let (found, code, errors) = run(args);
    assert_eq!(code, status, "{args:?}: {errors}");
    (String::from_utf8(found).unwrap(), errors)
}

fn dump(log: &str) -> String {
    let (found, _, _) = run(&["-vvv", log]);
    String::from_utf8(found).unwrap()
}

/// `.cnv.verify`, `.cnv.recover`
#[test]
fn a_recovered_log_is_sound() {
    let directory = TempDir::new().unwrap();
    let [damaged, sound] = ["damaged.log", "sound.log"].map(|name| within(&directory, name));
    let mut bytes = fs::read(heap()).unwrap();
    bytes[0x4800] ^= 1;
    bytes.truncate(0xE100);
    fs::write(&damaged, bytes).unwrap();
    let (found, errors) = expect(1, &["verify", &damaged]);
    assert!(found.ends_with(": 2 faults\n"), "{found}");
    assert!(errors.contains("offset 0x4000: block checksum is wrong: its 124 events are lost"));
    let (found, _) = expect(1, &["recover", &damaged, "-o", &sound]);
    assert!(found.contains("1442 events") && found.contains("; 248 are lost"), "{found}");
    // The new log states the events that the damage cost.
    let (found, errors) = expect(3, &["verify", &sound]);
    assert!(found.ends_with(": undamaged, but events were lost\n"), "{found}");
    assert!(found.contains(": 248 events were requested") && errors.is_empty(), "{found}{errors}");
    assert_eq!(dump(&sound), dump(&damaged));
    assert_eq!(expect(3, &["verify", "-q", &sound]), Default::default());
    let (found, _) = expect(0, &["verify", &heap()]);
    assert!(found.ends_with(": sound\n"), "{found}");
    let (quiet, _) = expect(1, &["verify", "-q", &damaged]);
    assert_eq!(quiet, "");
    // Several logs, and a log that does not exist.
    let (found, _) = expect(1, &["verify", &sound, &damaged]);
    assert!(found.contains(": undamaged, ") && found.ends_with(" faults\n"), "{found}");
    expect(2, &["verify", &within(&directory, "none.log")]);
}

/// `.header.word`: a word size that no platform has is read as 8, and written as 8.
#[test]
fn a_merged_log_has_the_platform_of_its_input() {
    let directory = TempDir::new().unwrap();
    let [odd, merged] = ["odd.log", "merged.log"].map(|name| within(&directory, name));
    let mut bytes = fs::read(heap()).unwrap();
    let (head, _) = bytes.split_at_mut(STREAM_HEADER_SIZE);
    let mut header: StreamHeader = bytemuck::pod_read_unaligned(head);
    header.word_size = 255;
    header.seal();
    head.copy_from_slice(bytemuck::bytes_of(&header));
    fs::write(&odd, &bytes).unwrap();
    let (_, errors) = expect(1, &["verify", &odd]);
    assert!(errors.contains("word size is 255"), "{errors}");
    for words in [&["merge", &odd][..], &["cut", &odd], &["recover", &odd]] {
        let (_, code, errors) = run(&[words, &["-o", &merged, "--force"]].concat());
        assert!(code < 2, "{errors}");
        let (found, errors) = expect(0, &["verify", &merged]);
        assert!(found.ends_with(": sound\n") && errors.is_empty(), "{words:?}: {found}{errors}");
        assert_eq!(dump(&merged), dump(&odd));
    }
}

/// `.cnv.cut`, `.cnv.merge`
#[test]
fn pieces_cut_from_a_log_merge_to_the_same_log() {
    let directory = TempDir::new().unwrap();
    for log in [heap(), mps("labels.log")] {
        let name = |name: &str| within(&directory, name);
        let force = |args: &[&str]| expect(0, &[args, &["--force"]].concat());
        let all = dump(&log);
        let kinds = ["Pool,User", "Arena,Trace,Seg,Ref,Object"];
        let pieces = ["a.log", "b.log"].map(name);
        for (piece, kinds) in pieces.iter().zip(kinds) {
            force(&["cut", &log, "--kinds", kinds, "-o", piece]);
            let (found, _) = expect(0, &["-vvv", piece, "--kinds", kinds]);
            let (expected, _) = expect(0, &["-vvv", &log, "--kinds", kinds]);
            assert_eq!(found, expected);
        }
        force(&["merge", &pieces[0], &pieces[1], "-o", &name("c.log")]);
        assert_eq!(dump(&name("c.log")), all);
        expect(0, &["verify", &name("c.log")]);
        // By number, by time, by a condition: the log has all lines of the selection's dump.
        for select in [["--last", "20"], ["--from", "+1ms"], ["--where", "@size > 40"]] {
            if log.contains("labels") && select[0] == "--from" {
                continue;
            }
            force(&[&["cut", &log, "-o", &name("d.log")], &select[..]].concat());
            let (expected, _) = expect(0, &[&["-vvv", &*log], &select[..]].concat());
            let found = dump(&name("d.log"));
            assert!(expected.lines().all(|line| found.contains(line)), "{select:?}");
            let is_naming =
                |line: &&str| ["Intern", "Label", "Thread"].iter().any(|name| line.contains(name));
            let others = |text: &str| text.lines().filter(|line| !is_naming(line)).count();
            assert_eq!(others(&found), others(&expected), "{select:?}");
        }
    }
}

/// `.cnv.merge`
#[test]
fn a_refused_merge_leaves_existing_outputs() {
    let directory = TempDir::new().unwrap();
    let out = within(&directory, "out.log");
    let (_, errors) = expect(2, &["merge", &heap(), &mps("labels.log"), "-o", &out]);
    assert!(errors.contains("eventcnv cut") && !Path::new(&out).exists(), "{errors}");
    fs::write(&out, "mine").unwrap();
    for command in ["cut", "recover", "merge"] {
        let (_, errors) = expect(2, &[command, &heap(), "-o", &out]);
        assert!(errors.contains("--force"), "{errors}");
    }
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    fs::copy(heap(), &out).unwrap();
    let (_, errors) = expect(2, &["cut", &out, "-o", &out, "--force"]);
    assert!(errors.contains("is an input; give another output"), "{errors}");
    assert_eq!(fs::read(&out).unwrap(), fs::read(heap()).unwrap());
    let (found, _) = expect(0, &["merge", &heap(), &heap(), "-o", &out, "--force"]);
    assert!(found.contains("1690 events"), "{found}");
    let other = golden_path("log/heap-2.log").to_str().unwrap().to_owned();
    let (found, errors) = expect(0, &["merge", &heap(), &other, "-o", &out, "--force"]);
    assert!(found.contains("have one clock") && errors.is_empty(), "{found}{errors}");
    // The log of another boot has another clock.
    let mut bytes = fs::read(&other).unwrap();
    bytes[48] ^= 1;
    let header: eventlog::format::StreamHeader = bytemuck::pod_read_unaligned(&bytes[..512]);
    let crc = header.checksum();
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    let far = within(&directory, "far.log");
    fs::write(&far, bytes).unwrap();
    let (_, errors) = expect(0, &["merge", &heap(), &far, "-o", &out, "--force"]);
    assert!(errors.contains("different clocks") && errors.contains(" us by "), "{errors}");
}

/// `.cnv.index`
#[test]
fn the_index_has_each_block_and_part_once() {
    let (text, _) = expect(0, &["index", &heap()]);
    let (json, _) = expect(0, &["index", "--json", &heap()]);
    let rows = |json: &str| -> Vec<Value> {
        let mut json: Value = serde_json::from_str(json).unwrap();
        serde_json::from_value(json["rows"].take()).unwrap()
    };
    let found = rows(&json);
    assert_eq!(text.lines().count(), 1 + found.len());
    let count: u64 = found.iter().filter_map(|row| row["count"].as_u64()).sum();
    assert_eq!(count, 1690);
    let mut end = 0;
    for block in found.iter().filter(|row| row["part"] == false) {
        assert_eq!(block["offset"], end);
        end += block["size"].as_u64().unwrap();
    }
    assert_eq!(end, fs::metadata(heap()).unwrap().len());
    let (mps, _) = expect(0, &["index", &mps("labels.log"), "--json"]);
    assert_eq!((&rows(&mps)[0]["what"], &rows(&mps)[0]["count"]), (&"events".into(), &151.into()));
    let most = found.iter().filter_map(|row| row["count"].as_u64()).max().unwrap();
    let sorted = ["index", &heap(), "--sort", "count", "--top", "1"];
    let (first, _) = expect(0, &[&sorted[..], &["--json"]].concat());
    assert_eq!(rows(&first).iter().map(|row| &row["count"]).collect::<Vec<_>>(), [&most]);
    let (sorted, _) = expect(0, &sorted);
    assert_eq!(sorted.lines().count(), 2, "{sorted}");
    let (_, errors) = expect(2, &["index", &heap(), "--sort", "colour"]);
    assert!(errors.contains("no column \"colour\", but what, offset, size, "), "{errors}");
}

/// `.cnv.index`: the index shows the facts in the header of a truncated block.
#[test]
fn the_index_reports_a_truncated_block() {
    let directory = TempDir::new().unwrap();
    let cut = within(&directory, "cut.log");
    fs::write(&cut, &fs::read(heap()).unwrap()[..0xE100]).unwrap();
    let (found, errors) = expect(1, &["index", &cut]);
    assert!(found.lines().last().unwrap().contains(" E000 "), "{found}");
    let fault = "offset 0xE000: the log ends within this block: 3840 bytes are missing\n";
    assert_eq!(errors, format!("eventcnv: {cut}: {fault}"));
}

#[test]
fn a_stream_without_a_name_is_named_by_its_place() {
    let directory = TempDir::new().unwrap();
    let both = within(&directory, "both.log");
    let (_, errors) = expect(0, &["merge", &mps("labels.log"), &mps("mpmss-cut.log"), "-o", &both]);
    let of = |index| format!("stream {index} (Memory Pool System)");
    assert!(errors.contains(&format!("{} and {} have different clocks", of(0), of(1))), "{errors}");
}

#[test]
fn one_fault_is_reported_in_the_singular() {
    let directory = TempDir::new().unwrap();
    let damaged = within(&directory, "damaged.log");
    let mut bytes = fs::read(heap()).unwrap();
    bytes[0x4800] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let (found, _) = expect(1, &["verify", &damaged]);
    assert!(found.ends_with(": 1 fault\n") && found.contains(", 1 stream\n"), "{found}");
}

mod shop {
    eventdef::events! {
        /// The events of a shop.
        registry "shop" version(1, 0, 0);
        kinds {
            /// Sales.
            Out = 0,
            /// Purchases.
            In = 1,
        }

        /// Something was sold.
        Sale(0x0001, always, Out) {
            /// the shelf
            shelf: P,
            /// how many
            count: W,
            /// what
            item: S,
        }
        /// Something was put on a shelf.
        Restock(0x0002, always, In) {
            /// the shelf
            shelf: P,
            /// where
            place: A,
        }
    }
}

/// Writes a log with the maker: two streams take turns, each with both kinds in one buffer.
fn made(path: &str, lost: u64) {
    let mut file = fs::File::create(path).unwrap();
    let mut maker = Maker::new(&mut file);
    let streams = ["one", "two"].map(|name| {
        let mut origin = Origin::new();
        (origin.uuid, origin.boot_id) = (uuid_of(name.as_bytes()), [9; 16]);
        (origin.program, origin.block_size_log2) = (name.into(), 12);
        maker.begin(&origin).unwrap()
    });
    for n in 0..1000 {
        let ticks = 1000 + n as u64;
        maker.turn(streams[n / 300 % 2]).unwrap();
        if n % 300 == 0 {
            maker.thread(ticks, 1, 4711 + n, "till").unwrap();
            let name = maker.intern(ticks, b"apples").unwrap();
            maker.label(ticks, 0x7000, name).unwrap();
        }
        let shelf = P(0x7000);
        maker.add(1, 1, ticks, &Sale { shelf, count: n, item: b"apples" }).unwrap();
        maker.add(1, 1, ticks, &Restock { shelf, place: A(n) }).unwrap();
    }
    maker.lose::<Sale>(1, 1, Cause::Full, lost).unwrap();
    maker.finish().unwrap();
}

/// `.made`, `.made.turn`, `.made.kinds`, `.cnv.verify`, `.cnv.cut`, `.cnv.merge`
#[test]
fn every_command_reads_a_log_that_a_tool_made() {
    let directory = TempDir::new().unwrap();
    let name = |name: &str| within(&directory, name);
    let [log, lossy, out] = ["made.log", "lossy.log", "out.log"].map(name);
    made(&log, 0);
    made(&lossy, 7);
    let (found, errors) = expect(0, &["verify", &log]);
    assert!(found.ends_with(": sound\n") && errors.is_empty(), "{found}{errors}");
    let (found, _) = expect(3, &["verify", &lossy]);
    assert!(found.contains(": 7 events were requested"), "{found}");
    let all = dump(&log);
    assert_eq!(all.lines().count(), 2000 + 3 * 4);
    assert_eq!(all.matches("[\"apples\"]").count(), 2000 + 4, "{all}");
    // In each tick the sale comes first.
    let kinds: Vec<bool> = all.lines().map(|line| line.contains("Restock")).collect();
    assert!(!kinds.windows(2).any(|pair| pair == [true, true]));
    let (stats, _) = expect(0, &["stats", &log]);
    assert!(stats.contains("till") && stats.contains("nothing is known to be lost"), "{stats}");
    let query = "SELECT count(*), sum(count) FROM Sale";
    let (found, _) = expect(0, &["query", "--csv", &log, query]);
    assert!(found.contains("1000,499500"), "{found}");
    expect(0, &["sql", &log, "-o", &name("out.db")]);
    expect(0, &["parquet", &log, "-o", &name("sets")]);
    for words in [&["merge", &log, &log][..], &["merge", &log], &["cut", &log], &["recover", &log]]
    {
        expect(0, &[words, &["-o", &out, "--force"]].concat());
        assert_eq!(dump(&out), all, "{words:?}");
        expect(0, &["verify", &out]);
    }
    let pieces = ["Out", "In"].map(|kind| {
        let piece = name(kind);
        expect(0, &["cut", &log, "--kinds", kind, "-o", &piece]);
        piece
    });
    expect(0, &["merge", &pieces[0], &pieces[1], "-o", &out, "--force"]);
    assert_eq!(dump(&out), all);
    expect(0, &["merge", &log, &heap(), "-o", &out, "--force"]);
    assert_eq!(dump(&out).lines().count(), all.lines().count() + dump(&heap()).lines().count());
}
