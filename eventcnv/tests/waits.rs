//! What threads waited for: recordings of other tools become logs.
//!
//! ```text
//!  tests/golden/waits/load* ── eventcnv waits import ──▶ log ── query, verify
//! ```
//!
//! Design: `.waits.import` in `design/waits.md`.
#![cfg(feature = "waits")]

mod support;

use flate2::read::GzDecoder;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use support::{eventcnv, golden_path, run, told};
use tempfile::TempDir;

/// Returns the bytes of a recording, decompressed.
fn recording(name: &str) -> Vec<u8> {
    let bytes = fs::read(golden_path("waits").join(name)).unwrap();
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

/// Writes a recording to a directory, and returns its path and that of the log to be made.
fn paths(directory: &TempDir, name: &str, bytes: &[u8]) -> (String, String) {
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path(name), bytes).unwrap();
    (path(name), path(&format!("{name}.log")))
}

#[test]
fn each_form_of_a_recording_becomes_a_sound_log() {
    let directory = TempDir::new().unwrap();
    let all = ["load.perf.data.gz", "load.6.dat.gz", "load.7.zstd.dat", "load-g.seed.txt.gz"];
    for (name, switches) in all.into_iter().zip([147, 339, 339, 84]) {
        let (source, log) = paths(&directory, name, &recording(name));
        let (told, code, errors) = run(&["waits", "import", &source, "-o", &log]);
        assert_eq!(code, 0, "{name}: {errors}");
        // trace-cmd did not note the clock of these pages.
        let is_noted = errors.contains("its clock is not CLOCK_MONOTONIC");
        let is_dat = name.starts_with("load.6") || name.starts_with("load.7");
        assert_eq!((is_noted, errors.lines().count()), (is_dat, is_dat.into()), "{errors}");
        assert!(String::from_utf8(told).unwrap().contains(" events, "));
        // The same without decompressing it before.
        let packed = golden_path("waits").join(name).to_str().unwrap().to_owned();
        let again = format!("{log}.again");
        assert_eq!(run(&["waits", "import", &packed, "-o", &again]).1, 0);
        assert!(fs::read(&again).unwrap() == fs::read(&log).unwrap(), "{name}");
        let (_, code, errors) = run(&["verify", &log]);
        assert_eq!(code, 0, "{name}: {errors}");
        if cfg!(feature = "sql") {
            let (count, _, _) = run(&["query", &log, "SELECT count(*) FROM Switch", "--csv"]);
            let count = String::from_utf8(count).unwrap();
            assert!(count.lines().any(|line| line == switches.to_string()), "{name}: {count}");
        }
    }
}

#[test]
fn importing_a_source_twice_gives_the_same_bytes() {
    let directory = TempDir::new().unwrap();
    let bytes = recording("load-g.perf.data.gz");
    let (source, log) = paths(&directory, "perf.data", &bytes);
    run(&["waits", "import", &source, "-o", &log]);
    let mut child = eventcnv(&["waits", "import", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let (piped, code, errors) = told(child.wait_with_output().unwrap());
    writer.join().unwrap().unwrap();
    assert_eq!(code, 0, "{errors}");
    assert!(piped == fs::read(&log).unwrap(), "a pipe gives what a file gives");
}

#[test]
fn a_cut_source_gives_its_good_part_and_a_fault_with_its_place() {
    let directory = TempDir::new().unwrap();
    let bytes = recording("load.6.dat.gz");
    let (source, log) = paths(&directory, "cut.dat", &bytes[..bytes.len() - 5000]);
    let (_, code, errors) = run(&["waits", "import", &source, "-o", &log]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("cut.dat: offset 0x"), "{errors}");
    // The log states that the events of the cut page are lost.
    assert_eq!(run(&["verify", &log]).1, 3);
}

#[test]
fn a_source_that_is_none_is_refused_and_leaves_no_file() {
    let directory = TempDir::new().unwrap();
    let compressed = fs::read(golden_path("waits").join("load.perf.data.gz")).unwrap();
    let log = fs::read(golden_path("calls/shop.log")).unwrap();
    let cases: [(&str, &[u8], &str); 5] = [
        ("a.gz", &compressed[..20], "is compressed, and its beginning cannot be read (it is cut)"),
        ("a.log", &log, "is not perf.data, trace.dat or the text"),
        ("empty", b"", "is empty"),
        ("letter.txt", b"Dear reader,\nthis is a letter.\n", "has no event"),
        ("cut.data", b"PERFILE2\x68\0\0\0\0\0\0\0", "within the header"),
    ];
    for (name, bytes, expected) in cases {
        let (source, log) = paths(&directory, name, bytes);
        let (_, code, errors) = run(&["waits", "import", &source, "-o", &log]);
        assert_eq!(code, 2, "{name}: {errors}");
        assert!(errors.contains(expected), "{name}: {errors}");
        assert!(!fs::exists(&log).unwrap(), "{name}");
    }
}

#[test]
fn an_import_with_the_boot_of_a_program_lies_next_to_its_log() {
    let directory = TempDir::new().unwrap();
    let program = golden_path("explain/store.log");
    let program = program.to_str().unwrap();
    let (source, log) = paths(&directory, "perf.data", &recording("load.perf.data.gz"));
    let explained = || run(&["waits", "explain", program, &log]).2;
    assert_eq!(run(&["waits", "import", &source, "-o", &log]).1, 0);
    let refused = explained();
    assert!(refused.contains("say it: --same-boot"), "{refused}");
    let first = fs::read(&log).unwrap();
    let again = ["waits", "import", &source, "-o", &log, "--force", "--boot-of", program];
    let (_, code, errors) = run(&again);
    assert_eq!(code, 0, "{errors}");
    assert_ne!(fs::read(&log).unwrap(), first);
    // Now the boot is one, and the times are compared: the recordings are years apart.
    let refused = explained();
    assert!(refused.contains("have no time in common"), "{refused}");
}

#[test]
fn the_boot_of_a_program_is_refused_to_times_of_another_clock() {
    let directory = TempDir::new().unwrap();
    let program = golden_path("explain/store.log");
    let program = program.to_str().unwrap();
    for (name, expected) in [
        ("load.6.dat.gz", "record with trace-cmd record -C mono"),
        ("load.seed.txt.gz", "the text does not name its clock"),
    ] {
        let (source, log) = paths(&directory, name, &recording(name));
        let (_, code, errors) =
            run(&["waits", "import", &source, "-o", &log, "--boot-of", program]);
        assert_eq!(code, 2, "{name}: {errors}");
        assert!(errors.contains("--boot-of: ") && errors.contains(expected), "{name}: {errors}");
        assert!(!fs::exists(&log).unwrap(), "{name}");
    }
    let (source, log) = paths(&directory, "perf.data", &recording("load.perf.data.gz"));
    assert_eq!(run(&["waits", "import", &source, "-o", &log]).1, 0);
    let other = format!("{log}.again");
    let (_, code, errors) = run(&["waits", "import", &source, "-o", &other, "--boot-of", &log]);
    assert_eq!(code, 2);
    assert!(errors.contains("does not state its boot"), "{errors}");
}

/// Returns what `waits explain` prints of a recorded log, and its errors.
fn explained(directory: &TempDir, name: &str, of: &str) -> (String, String) {
    let (log, _) = paths(directory, &format!("{name}.log"), &recording(&format!("{name}.log.gz")));
    let (text, code, errors) = run(&["waits", "explain", &log, "--of", of]);
    assert_eq!(code, 0, "{errors}");
    (String::from_utf8(text).unwrap(), errors)
}

#[test]
fn an_unknown_cause_comes_with_the_events_that_would_tell() {
    let directory = TempDir::new().unwrap();
    let (text, errors) = explained(&directory, "sleep", "sleep");
    assert!(!text.contains("interrupt") && !text.contains("hardware"), "{text}");
    assert!(text.contains("waited 505 ms for something that the log does not tell"), "{text}");
    let note = "; the log has none of the events timer:hrtimer_expire_entry, ";
    assert!(errors.contains("waits with an unknown end: ") && errors.contains(note), "{errors}");
}

#[test]
fn a_thread_has_its_own_name_in_each_sentence() {
    let directory = TempDir::new().unwrap();
    let (text, _) = explained(&directory, "peers", "split-reader");
    let sentence = |subject: &str| text.lines().any(|line| line.contains(subject));
    assert!(sentence(". split-reader (") && sentence(". split-asker ("), "{text}");
    let (text, _) = explained(&directory, "files", "asker");
    assert!(text.contains(", until 4 × helper woke it"), "{text}");
    assert!(text.lines().any(|line| line.contains(". 4 × helper waited ")), "{text}");
}

#[test]
fn a_sentence_tells_who_had_the_processor() {
    let directory = TempDir::new().unwrap();
    let (text, _) = explained(&directory, "files", "writer");
    let of_file = text.lines().find(|line| line.contains(" in fsync of /tmp/w/f.dat ")).unwrap();
    assert!(of_file.contains(" until it was woken, then "), "{of_file}");
    assert!(of_file.contains(" for a processor, which "), "{of_file}");
}

/// `.waits.names`: the last name of both processes is "true".
#[test]
fn a_sentence_has_the_names_of_its_time() {
    let directory = TempDir::new().unwrap();
    let (text, _) = explained(&directory, "names", "true");
    let truth = String::from_utf8(recording("names.txt")).unwrap();
    for line in truth.lines() {
        let [own, whom, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let subject = format!(". {own} (");
        let is_it =
            |own: &&str| own.contains(&subject) && own.contains(&format!(", until {whom} ("));
        assert_eq!(text.lines().filter(is_it).count(), 1, "{line}: {text}");
        // Of the critical path.
        let path = text.lines().skip_while(|own| !own.starts_with("The critical path of true ("));
        assert!(path.clone().any(|own| own.starts_with(&format!("{whom} ("))), "{whom}: {text}");
    }
    // A former name means the time in which a thread had it.
    let (text, _) = explained(&directory, "names", "server");
    assert!(text.starts_with("server (") && !text.contains("true ("), "{text}");
    let log = directory.path().join("names.log");
    let told = run(&["waits", "explain", log.to_str().unwrap(), "--of", "true", "--json"]).0;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    let owners = told["owners"].as_array().unwrap();
    for name in ["first", "second", "server", "asker", "later", "true"] {
        let of =
            |own: &serde_json::Value| own["name"].as_str().unwrap().split(' ').next() == Some(name);
        assert!(owners.iter().any(of), "{name}: {owners:?}");
    }
}

/// `.waits.files`: the program prints the addresses of its sockets.
#[test]
fn a_socket_is_named_once_by_the_addresses_of_its_ends() {
    let directory = TempDir::new().unwrap();
    let truth = String::from_utf8(recording("ends.txt")).unwrap();
    for line in truth.lines() {
        let [who, whom, name, _] = line.split(';').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (text, _) = explained(&directory, "ends", who);
        let own =
            text.lines().find(|own| own.contains(&format!(" in recvfrom of {name}"))).unwrap();
        // Of a Unix socket no row tells that data arrived.
        let is_told = own.contains(&format!("{name} for data, sent by {whom} ("))
            || own.contains(&format!("{name}, until {whom} ("));
        assert!(is_told, "{line}: {own}");
        let port = name.rsplit([':', '-']).next().unwrap();
        assert_eq!(own.matches(port).count(), 1, "{own}");
    }
    let (text, _) = explained(&directory, "peers", "tcp-client");
    let own = text.lines().find(|own| own.contains(" for data, sent by tcp-server (")).unwrap();
    assert_eq!(own.matches("127.0.0.1:").count(), 2, "{own}");
    // The call is not about the socket: both are told.
    let (text, _) = explained(&directory, "peers", "many-server");
    assert!(
        text.contains(" in epoll_wait of anon_inode:[eventpoll] for data of 127.0.0.1:"),
        "{text}"
    );
}

/// Imports a recording to a log. Returns its path, and the errors of the import.
fn imported(directory: &TempDir, sources: &[String]) -> (String, String) {
    let log = directory.path().join("imported.log").to_str().unwrap().to_owned();
    let mut args = vec!["waits", "import", "--force", "-o", &log];
    args.extend(sources.iter().map(String::as_str));
    let (_, code, errors) = run(&args);
    assert!(code < 2, "{errors}");
    (log, errors)
}

/// `.waits.import`: trace-cmd record -C counter, and -C uptime.
#[test]
fn a_clock_that_counts_no_time_is_refused() {
    let directory = TempDir::new().unwrap();
    let (source, _) = paths(&directory, "counter.dat", &recording("counter.7.dat.gz"));
    let (log, _) = imported(&directory, &[source]);
    let (text, code, errors) = run(&["waits", "explain", &log, "--of", "sleep"]);
    assert_eq!((text.len(), code), (0, 2), "{errors}");
    assert!(errors.contains("the log tells no times; record with `trace-cmd record -C mono`"));
    // The user may know the rate.
    let known = ["waits", "explain", &log, "--of", "sleep", "--clock-rate", "1000Hz"];
    assert_eq!(run(&known).1, 0);
    // Ticks of 10 ms are times, and a note says how coarse they are.
    let (source, _) = paths(&directory, "uptime.dat", &recording("uptime.7.dat.gz"));
    let (log, _) = imported(&directory, &[source]);
    let (text, code, errors) = run(&["waits", "explain", &log, "--of", "sleep"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("note: a tick of the clock takes 10.0 ms"), "{errors}");
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("the longest 510 ms"), "{text}");
}

/// `.waits.perf`: perf script prints 1296 switches of the folder, and 201 + 287 of the files.
#[test]
fn the_parts_of_one_recording_of_perf_are_one_log() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("perf.data");
    fs::create_dir(&folder).unwrap();
    for (part, name) in
        [("data", "threads.data.gz"), ("data.0", "threads.0.gz"), ("data.1", "threads.1.gz")]
    {
        fs::write(folder.join(part), recording(name)).unwrap();
    }
    let switches = |log: &str| {
        let (text, code, errors) = run(&["stats", log]);
        assert_eq!(code, 0, "{errors}");
        let text = String::from_utf8(text).unwrap();
        let line = text.lines().find(|line| line.starts_with("Switch ")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let place = folder.to_str().unwrap().to_owned();
    let (log, errors) = imported(&directory, std::slice::from_ref(&place));
    assert_eq!((switches(&log), &*errors), (1296, ""));
    // A part that is missing is named; the rest is read.
    fs::remove_file(folder.join("data.0")).unwrap();
    let (log, errors) = imported(&directory, &[place]);
    assert!(errors.contains("data.0 to data.0 are missing"), "{errors}");
    assert!(switches(&log) < 1296);
    // Files of --switch-output, in any order.
    let series = ["series.1.perf.data", "series.2.perf.data"];
    let mut sources =
        series.map(|name| paths(&directory, name, &recording(&format!("{name}.gz"))).0);
    for _ in 0..2 {
        let (log, errors) = imported(&directory, &sources);
        assert_eq!(switches(&log), 201 + 287);
        assert!(errors.contains("note: goes on in "), "{errors}");
        assert!(errors.contains("note: events lost while recording: 1346"), "{errors}");
        assert_eq!(errors.lines().count(), 2, "{errors}");
        sources.reverse();
    }
    // Two logs of one kernel cannot be explained; one can.
    let (one, _) = imported(&directory, &sources[..1]);
    let other = directory.path().join("other.log");
    fs::rename(&one, &other).unwrap();
    let (two, _) = imported(&directory, &sources[1..]);
    let (_, code, errors) =
        run(&["waits", "explain", &two, other.to_str().unwrap(), "--of", "perf"]);
    assert_eq!(code, 2);
    assert!(errors.contains("2 logs of a kernel are among the logs; name one"), "{errors}");
}

/// `.waits.interrupts`
#[test]
fn time_that_interrupts_took_is_told() {
    let directory = TempDir::new().unwrap();
    let (source, _) = paths(&directory, "soft", &recording("soft.perf.data.gz"));
    let (log, errors) = imported(&directory, &[source]);
    assert_eq!(errors, "");
    let (text, code, errors) = run(&["waits", "explain", &log, "--of", "soft"]);
    assert_eq!(code, 0, "{errors}");
    let text = String::from_utf8(text).unwrap();
    let told = "in which it ran, interrupts took 333 µs; the soft interrupt NET_RX took 333 µs.";
    assert!(text.contains(told), "{text}");
    let (json, ..) = run(&["waits", "explain", &log, "--of", "soft", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["interrupts"][0]["ns"], 333_064, "{json:#}");
}

/// `.waits.under`: perf record -k mono of `unshare --time --monotonic 10000 lodger`. The program's
/// log and that of perf have no counter in common.
#[test]
fn a_program_of_a_namespace_of_times_is_laid_by_realtime() {
    let directory = TempDir::new().unwrap();
    let log = |name: &str| paths(&directory, name, &recording(&format!("{name}.gz"))).0;
    let (kernel, program) = (log("lodger.time-kernel.log"), log("lodger.time.log"));
    let args = ["waits", "explain", &program, &kernel, "--same-boot", "--json"];
    let (text, code, errors) = run(&args);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("laid on one time by CLOCK_REALTIME"), "{errors}");
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let waits = json["waits"].as_array().unwrap();
    let is_it = |own: &&serde_json::Value| own["event"] == "in Care" && own["call"] == "wait4";
    let ns = waits.iter().find(is_it).unwrap()["ns"].as_f64().unwrap();
    let truth = String::from_utf8(recording("lodger.time.txt")).unwrap();
    let child: f64 = truth.lines().nth(1).unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((ns - child).abs() <= 0.02 * child, "{ns}, in truth {child}");
    // A log that fits by neither clock is refused, and the reason is that of the first one.
    let (_, code, errors) =
        run(&["waits", "explain", &golden("explain/store.log"), &kernel, "--same-boot"]);
    assert_eq!(code, 2);
    assert!(errors.contains("have no time in common"), "{errors}");
}

fn golden(name: &str) -> String {
    golden_path(name).to_str().unwrap().to_owned()
}
