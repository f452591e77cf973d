//! The tool as a user meets it: help, names, input of every kind, exit codes.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use support::{assert_golden, eventcnv, golden_path, mps, run, told};
use tempfile::TempDir;

/// Returns a directory with one file in it, and the file's name.
fn file_with(bytes: &[u8]) -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("some.log");
    fs::write(&path, bytes).unwrap();
    let name = path.to_str().unwrap().to_owned();
    (directory, name)
}

/// Runs the tool in a directory, with `MPS_TELEMETRY_FILENAME` set.
fn run_in(directory: &Path, variable: Option<&str>, args: &[&str]) -> (Vec<u8>, i32, String) {
    let mut command = eventcnv(args);
    command.current_dir(directory);
    variable.map(|value| command.env("MPS_TELEMETRY_FILENAME", value));
    told(command.output().unwrap())
}

fn log() -> Vec<u8> {
    fs::read(mps("labels.log")).unwrap()
}

fn numeric() -> Vec<u8> {
    run(&[&mps("labels.log")]).0
}

#[test]
fn help_and_forms_equal_the_golden_files() {
    let labels = mps("labels.log");
    for (name, args) in [
        ("help-short.txt", ["-h"].as_slice()),
        ("help.txt", &["--help"]),
        ("help-listen.txt", &["listen", "--help"]),
        ("help-core.txt", &["core", "--help"]),
        ("help-check.txt", &["check", "--help"]),
        ("help-control-short.txt", &["control", "-h"]),
        ("help-control.txt", &["control", "--help"]),
        ("columns.txt", &["-v", &labels]),
        ("stats.txt", &["stats", &labels]),
        ("registry.txt", &["registry", "--events", "PoolAlloc,GenInit,Intern", &labels]),
    ] {
        let (found, code, errors) = run(args);
        assert_eq!((code, errors.as_str()), (0, ""), "{name}");
        assert_golden(&format!("cli/{name}"), &found);
    }
}

#[test]
fn a_dump_is_the_same_with_and_without_its_command() {
    let labels = mps("labels.log");
    for args in [vec![], vec!["-v"], vec!["-vv", "--kinds", "User"]] {
        let without = run(&[&args[..], &[&labels]].concat());
        let with = run(&[&["dump"], &args[..], &[&labels]].concat());
        assert_eq!((with, without.1), (without.clone(), 0), "{args:?}");
    }
    let (_, code, errors) = run(&["-v", "dump", &labels]);
    assert_eq!(code, 2, "{errors}");
}

#[test]
fn an_unknown_thread_is_a_hyphen_after_the_clock() {
    let [named, threaded] = ["-vv", "-vvv"].map(|form| run(&[form, &mps("labels.log")]));
    let named = String::from_utf8(named.0).unwrap();
    let expected: String =
        named.lines().map(|line| format!("{} -{}\n", &line[..16], &line[16..])).collect();
    assert!(expected.lines().count() > 10);
    assert_eq!((String::from_utf8(threaded.0).unwrap(), threaded.1), (expected, 0));
}

#[test]
fn a_log_with_the_name_of_a_command_needs_its_path() {
    let directory = TempDir::new().unwrap();
    for name in ["check", "control", "core", "dump", "listen", "help"] {
        fs::write(directory.path().join(name), log()).unwrap();
        for args in [[&*format!("./{name}")].as_slice(), &["dump", name], &["-f", name]] {
            assert_eq!(run_in(directory.path(), None, args).0, numeric(), "{args:?}");
        }
    }
    assert_eq!(run_in(directory.path(), None, &["help"]).0, run(&["--help"]).0, "it is a command");
}

/// `.control.tool`: an error is one line, which names the possible processes.
#[test]
fn an_unknown_process_is_answered_with_the_known_ones() {
    let directory = TempDir::new().unwrap();
    let name = directory.path().to_str().unwrap();
    let control = |args: &[&str]| {
        let (found, code, errors) = run(&[&["control", "--socket", name], args].concat());
        assert_eq!(String::from_utf8(found).unwrap(), "", "{args:?}");
        assert!(errors.lines().count() == 1 && errors.starts_with("eventcnv: "), "{errors}");
        (code, errors.strip_prefix("eventcnv: ").unwrap().trim_end().to_owned())
    };
    let none = format!("no program listens in {name}; start one with MPS_TELEMETRY_SOCKET={name}");
    assert_eq!(control(&[]), (0, none.clone()));
    assert_eq!(control(&["all", "flush"]), (2, none.clone()));
    assert_eq!(control(&["flush"]), (2, format!("name a process; {none}")));
    let absent = format!("process 4711: no socket {name}/4711.sock; ");
    assert_eq!(control(&["4711", "status"]), (2, format!("{absent}{none}")));
    // The socket remains without a listener.
    drop(std::os::unix::net::UnixListener::bind(directory.path().join("12.sock")).unwrap());
    fs::write(directory.path().join("notes.txt"), "").unwrap();
    assert_eq!(control(&["4711"]), (2, format!("{absent}programs that listen: 12")));
    let left = format!("the process has ended and left the socket {name}/12.sock");
    assert_eq!(control(&["12", "set", "all"]), (2, format!("process 12: {left}")));
    let (found, code, errors) = run(&["control", "--socket", name]);
    let listed = format!("     PID PROGRAM          STANDING LOG\n      12 - {left}\n");
    assert_eq!((String::from_utf8(found).unwrap(), code, &*errors), (listed, 0, ""));
}

#[test]
fn a_wrong_control_command_is_refused_at_once() {
    for (args, what) in [
        (["control"].as_slice(), "by --socket or MPS_TELEMETRY_SOCKET"),
        (&["control", "4711", "set", "--socket", "."], "<KINDS>"),
        (&["control", "no", "flush", "--socket", "."], "neither the number of a process nor"),
        (&["control", "0", "flush", "--socket", "."], "neither the number of a process nor"),
        (&["control", "4711", "flush", "all", "--socket", "."], "unexpected argument 'all'"),
        (&["control", "4711", "set", " ", "--socket", "."], "`set` needs kinds"),
        (&["control", "4711", "set", "a:b", "--socket", "."], "`a:b` means nothing after `set`"),
        (&["control", "4711", "--registry", "a b", "--socket", "."], "give its index"),
        (&["control", "4711", "--socket", "no/such"], "no/such: No such file or directory"),
    ] {
        let (found, code, errors) = run(args);
        assert_eq!((found.as_slice(), code), (b"".as_slice(), 2), "{args:?}");
        assert!(errors.contains(what), "{args:?}: {errors}");
    }
    let long = "x".repeat(5000);
    let (_, code, errors) = run(&["control", "1", "set", &long, "--socket", "."]);
    assert_eq!((code, &*errors), (2, "eventcnv: the request is longer than 4096 bytes\n"));
    // A path that is too long for a socket.
    let (_, code, errors) = run(&["control", "1", "flush", "--socket", &"d/".repeat(100)]);
    assert!(code == 2 && errors.lines().count() == 1 && errors.contains("SUN_LEN"), "{errors}");
}

#[test]
fn the_tool_prints_the_version_of_the_package() {
    let expected = format!("eventcnv {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (expected.into_bytes(), 0, String::new()));
}

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (found, code, _) = run(&["completions", shell]);
        assert_eq!(code, 0);
        assert!(String::from_utf8(found).unwrap().contains("eventcnv"), "{shell}");
    }
}

/// `.cnv.complete`
#[test]
fn a_shell_completes_the_names_in_a_log() {
    // The word to complete ends with a tab.
    let complete = |words: &[&str]| {
        let index = words.iter().position(|word| word.ends_with('\t')).unwrap() + 1;
        let words: Vec<&str> = words.iter().map(|word| word.trim_end()).collect();
        let mut command = eventcnv(&[&["--", "eventcnv"], &words[..]].concat());
        command.env("EVENTCNV_COMPLETE", "bash").env("_CLAP_IFS", "\n");
        command.env("_CLAP_COMPLETE_INDEX", index.to_string());
        let directory = TempDir::new().unwrap();
        let (found, code, errors) = told(command.current_dir(directory.path()).output().unwrap());
        assert_eq!((code, &*errors), (0, ""));
        let found = String::from_utf8(found).unwrap();
        found.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let heap = golden_path("log/heap.log").to_str().unwrap().to_owned();
    assert_eq!(complete(&["--events", "poolf\t", &heap]), ["PoolFinish", "PoolFree"]);
    let found = complete(&["stats", "--kinds", "Ar\t", &heap]);
    assert_eq!(found, ["Arena"]);
    // Without a log, the shell completes names of the MPS. Commas separate several names.
    assert_eq!(complete(&["--kinds", "Pool,Tr\t"]), ["Pool,Trace"]);
    assert!(complete(&["sta\t"]).contains(&"stats".to_owned()));
}

#[test]
fn help_is_a_command() {
    assert!(run(&["hlep"]).2.contains("did you mean the command help?"));
    for (words, same) in
        [(["help"].as_slice(), ["--help"].as_slice()), (&["help", "stats"], &["stats", "--help"])]
    {
        let (found, code, errors) = run(words);
        assert_eq!((code, &*errors), (0, ""), "{words:?}");
        assert_eq!(found, run(same).0);
    }
}

#[test]
fn logs_of_two_formats_are_refused_together() {
    let [ours, raw] = [golden_path("log/heap.log").to_str().unwrap().to_owned(), mps("labels.log")];
    for logs in [[&*raw, &*ours], [&*ours, &*raw]] {
        for command in ["dump", "stats"] {
            let (found, code, errors) = run(&[&[command], &logs[..]].concat());
            assert_eq!((found.len(), code, errors.lines().count()), (0, 2, 1), "{errors}");
            let why = format!("{raw}: a raw log of the MPS cannot be read together with");
            let what = format!(" {ours}; convert it first: eventcnv cut {raw} -o NEW\n");
            assert!(errors.contains(&(why + &what)), "{errors}");
        }
    }
}

#[test]
fn a_damaged_compressed_log_is_refused_with_a_line() {
    for (magic, expected) in [
        (b"\x1F\x8B\x08\0\0\0".as_slice(), "is compressed, and its beginning cannot be read ("),
        (b"\xFD7zXZ\0", "is compressed, and its beginning cannot be read ("),
        (b"\x28\xB5\x2F\xFD", "is compressed, and its beginning cannot be read ("),
        (b"\x04\x22\x4D\x18", "is compressed, and its beginning cannot be read ("),
        (b"BZh9", "is compressed by bzip2: decompress it first\n"),
    ] {
        let bytes = [magic, &[0xFF; 1000]].concat();
        let (_directory, name) = file_with(&bytes);
        let (found, code, errors) = run(&[&name]);
        assert_eq!((found.len(), code, errors.lines().count()), (0, 2, 1), "{errors}");
        assert!(errors.starts_with(&format!("eventcnv: {name}: {expected}")), "{errors}");
        let mut child = eventcnv(&["-"]);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(&bytes);
        let (_, code, errors) = told(child.wait_with_output().unwrap());
        assert!(code == 2 && errors.contains(expected), "{errors}");
    }
}

/// `.cnv.json`
#[test]
fn tables_are_json_on_request() {
    let heap = golden_path("log/heap.log").to_str().unwrap().to_owned();
    let lines = |args: &[&str]| -> Vec<serde_json::Value> {
        let (found, code, errors) = run(args);
        assert_eq!((code, &*errors), (0, ""), "{args:?}");
        String::from_utf8(found)
            .unwrap()
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    };
    let verified = lines(&["verify", "--json", &heap, &mps("labels.log")]);
    assert_eq!((verified.len(), &verified[1]["events"]), (2, &151.into()), "{verified:?}");
    assert_eq!((&verified[0]["sound"], &verified[0]["faults"]), (&true.into(), &0.into()));
    let checked = lines(&["check", "--json", &heap, &heap]);
    assert!(checked.iter().all(|row| row["allowed"] == true), "{checked:?}");
    let listed = lines(&["registry", "--json", "--events", "PoolAlloc", &heap]);
    let rows = listed.iter().flat_map(|registry| registry["event_types"].as_array().unwrap());
    assert_eq!(rows.map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), ["PoolAlloc"]);
}

#[test]
fn the_argument_the_environment_or_the_default_names_the_log() {
    let directory = TempDir::new().unwrap();
    let (absent, code, errors) = run_in(directory.path(), None, &[]);
    assert_eq!((absent.as_slice(), code), (b"".as_slice(), 2));
    let [name, hint] = ["eventcnv: mpsio.log: ", "name a log"];
    assert!(errors.starts_with(name) && errors.contains(hint), "{errors}");
    assert!(errors.ends_with(" as in MPS_TELEMETRY_CONTROL=all\n"), "{errors}");
    let (_, _, errors) = run_in(directory.path(), None, &["other.log"]);
    assert!(!errors.contains("MPS_TELEMETRY"), "{errors}");
    fs::write(directory.path().join("mpsio.log"), log()).unwrap();
    fs::write(directory.path().join("other.log"), [log(), log()].concat()).unwrap();
    let lines = |variable, args: &[&str]| {
        let (found, code, _) = run_in(directory.path(), variable, args);
        assert_eq!(code, 0);
        found.split(|&byte| byte == b'\n').count() - 1
    };
    assert_eq!(lines(None, &[]), 151);
    assert_eq!(lines(Some(""), &[]), 151);
    assert_eq!(lines(Some("other.log"), &[]), 302);
    assert_eq!(lines(Some("other.log"), &["mpsio.log"]), 151);
    assert_eq!(lines(Some("other.log"), &["-f", "mpsio.log"]), 151);
}

#[test]
fn a_log_name_with_an_unknown_process_number_is_refused() {
    let directory = TempDir::new().unwrap();
    let (found, code, errors) = run_in(directory.path(), Some("run.%p.log"), &[]);
    assert_eq!((found.as_slice(), code), (b"".as_slice(), 2));
    assert!(errors.contains("run.%p.log") && errors.contains("%p is unknown"), "{errors}");
}

#[test]
fn standard_input_may_be_a_file_or_a_pipe() {
    let expected = numeric();
    let mut command = eventcnv(&["-"]);
    command.stdin(File::open(mps("labels.log")).unwrap());
    assert_eq!(told(command.output().unwrap()), (expected.clone(), 0, String::new()));

    let mut command = eventcnv(&["-f", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&log()).unwrap();
    assert_eq!(told(child.wait_with_output().unwrap()), (expected, 0, String::new()));
}

#[test]
fn an_unreadable_file_is_named_and_costs_exit_code_2() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\x08\x06\0\0\0\xf4x\xd4\xfa";
    let text = "Not a log, but a text.\n".repeat(1000);
    let directory = TempDir::new().unwrap();
    let absent = directory.path().join("absent.log").to_str().unwrap().to_owned();
    let (_empty, empty) = file_with(b"");
    let (_png, png) = file_with(png);
    let (_text, text) = file_with(text.as_bytes());
    for (name, what) in [
        (absent.as_str(), "No such file"),
        (directory.path().to_str().unwrap(), "is a directory"),
        (&empty, "is empty"),
        (&png, "is not a log"),
        (&text, "is not a log"),
    ] {
        for form in ["--order=time", "-vv", "stats", "registry"] {
            let (found, code, errors) = run(&[form, name]);
            assert_eq!((found.as_slice(), code), (b"".as_slice(), 2), "{form} {name}");
            assert!(errors.starts_with(&format!("eventcnv: {name}: ")), "{errors}");
            assert!(errors.contains(what) && errors.lines().count() == 1, "{errors}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_device_is_refused_before_it_fills_the_disk() {
    let (found, code, errors) = run(&["/dev/zero"]);
    assert_eq!((found.as_slice(), code), (b"".as_slice(), 2));
    assert!(errors.starts_with("eventcnv: /dev/zero: is not a log"), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_reports_no_size_is_read() {
    let (found, code, errors) = run(&["/proc/cpuinfo"]);
    assert_eq!((found.as_slice(), code), (b"".as_slice(), 2));
    assert!(errors.starts_with("eventcnv: /proc/cpuinfo: is not a log"), "{errors}");
}

#[test]
fn standard_input_is_read_from_its_current_offset() {
    let (_directory, name) = file_with(&[b"A heading.\n".as_slice(), &log()].concat());
    let mut file = File::open(name).unwrap();
    file.read_exact(&mut [0; 11]).unwrap();
    let mut command = eventcnv(&["-"]);
    command.stdin(file);
    assert_eq!(told(command.output().unwrap()), (numeric(), 0, String::new()));
}

#[test]
fn a_wrong_command_line_costs_exit_code_2() {
    for args in [["--order", "size"].as_slice(), &["--fast"], &["a", "-f", "b"]] {
        let (found, code, errors) = run(args);
        assert_eq!((found.as_slice(), code), (b"".as_slice(), 2));
        assert!(errors.contains("--help"), "{errors}");
    }
}

/// A log may have any name, so the tool suggests a command only if no file has that name.
#[test]
fn a_misspelt_command_suggests_a_similar_one() {
    let golden = mps("labels.log");
    for (word, expected) in [
        ("dupm", Some("; did you mean the command dump?\n")),
        ("verfiy", Some("; did you mean the command verify?\n")),
        ("mpsio.lgo", None),
        (&*golden, None),
    ] {
        let (_, code, errors) = run(&[word, "none.log"]);
        assert_eq!(code, 2, "{errors}");
        assert_eq!(errors.contains("did you mean the command"), expected.is_some(), "{errors}");
        assert!(errors.contains("No such file") && expected.is_none_or(|it| errors.ends_with(it)));
    }
}

#[test]
fn standard_input_is_read_once() {
    let golden = mps("labels.log");
    for args in [
        &["-", "-"][..],
        &["stats", "-", "-"],
        &["diff", "-", "-"],
        &["pairs", "-", "--against", "-"],
        &["check", "-", "-"],
        &["verify", "-", "-"],
    ] {
        let mut command = eventcnv(args);
        let (_, code, errors) = told(command.stdin(File::open(&golden).unwrap()).output().unwrap());
        assert_eq!(code, 2, "{args:?}: {errors}");
        let refusal =
            "eventcnv: standard input: can be read only once; name files for the others\n";
        assert!(errors.ends_with(refusal), "{args:?}: {errors}");
    }
    let mut command = eventcnv(&["diff", "-", &golden]);
    let (_, code, errors) = told(command.stdin(File::open(&golden).unwrap()).output().unwrap());
    assert_eq!((code, &*errors), (0, ""));
}

/// `.waits.import`
#[test]
#[cfg(feature = "waits")]
fn a_recording_of_another_tool_leads_to_its_import() {
    let directory = TempDir::new().unwrap();
    let within = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str| fs::read(golden_path("waits").join(name)).unwrap();
    fs::create_dir(within("perf.data")).unwrap();
    fs::write(within("perf.data/data"), b"PERFILE2 and so on").unwrap();
    fs::write(within("perf.txt"), "x 1 [000] 1.5: sched:sched_switch: prev_comm=x\n").unwrap();
    fs::write(within("perf.data.gz"), read("bound.perf.data.gz")).unwrap();
    fs::write(within("trace.dat.gz"), read("calls.7.dat.gz")).unwrap();
    for name in ["perf.data", "perf.data/data", "perf.txt", "perf.data.gz", "trace.dat.gz"] {
        let name = within(name);
        let (_, code, errors) = run(&["stats", &name]);
        let end = format!("make a log of it: eventcnv waits import {name} -o NEW.log\n");
        assert!(code == 2 && errors.ends_with(&end), "{errors}");
    }
    fs::write(within("notes.txt"), "some text\n").unwrap();
    let (_, _, errors) = run(&["stats", &within("notes.txt")]);
    assert!(errors.contains("is not a log") && !errors.contains("waits import"), "{errors}");
}

#[test]
fn a_cut_log_gives_the_events_before_the_cut() {
    let whole = log();
    let expected = fs::read(mps("labels.cnv")).unwrap();
    for size in (48..whole.len()).step_by(61) {
        let (_directory, name) = file_with(&whole[..size]);
        let (found, code, errors) = run(&["--order", "file", &name]);
        assert!(expected.starts_with(&found), "cut at {size}");
        if code == 1 {
            assert!(errors.starts_with(&format!("eventcnv: {name}: offset 0x")), "{errors}");
            assert!(errors.contains("ends within this event") && errors.lines().count() == 1);
        } else {
            assert_eq!((code, errors.as_str()), (0, ""));
        }
    }
}

#[test]
fn damage_is_reported_with_file_offset_and_fault() {
    let mut bytes = log();
    bytes[0xF0 + 2] = 0;
    let (_directory, name) = file_with(&bytes);
    let (found, code, errors) = run(&["--order", "file", &name]);
    assert_eq!(code, 1);
    let expected = format!(
        "eventcnv: {name}: offset 0xF0: no event has the size that stands here: 56 bytes skipped\n"
    );
    assert_eq!(errors, expected);
    let cnv = fs::read_to_string(mps("labels.cnv")).unwrap();
    let lines: Vec<&str> =
        cnv.lines().enumerate().filter(|&(n, _)| n != 3).map(|(_, line)| line).collect();
    assert_eq!(String::from_utf8(found).unwrap().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn statistics_of_a_damaged_log_admit_losses() {
    let mut bytes = log();
    bytes[0xF0 + 2] = 0;
    let (_directory, name) = file_with(&bytes);
    let (found, code, _) = run(&["stats", &name]);
    let found = String::from_utf8(found).unwrap();
    assert_eq!(code, 1);
    assert!(found.ends_with("\n1 fault was found, which may have cost events\n"), "{found}");
}

#[test]
fn no_flipped_byte_stops_the_tool() {
    let whole = log();
    let count = whole.len();
    for at in (0..count).step_by(83) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xFF;
        let (_directory, name) = file_with(&bytes);
        let (found, code, _) = run(&["-vv", &name]);
        let lines = found.split(|&byte| byte == b'\n').count() - 1;
        // A change of the first or last event can cost up to three neighbours.
        assert!(code < 2 && lines + 4 >= 151, "byte {at}: exit code {code}, {lines} lines");
    }
}

/// Runs the tool with an output that its reader closed before.
fn unread(args: &[&str]) -> (i32, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (_, code, errors) = told(eventcnv(args).stdout(writer).output().unwrap());
    (code, errors)
}

#[test]
fn a_closed_pipe_is_not_a_fault() {
    let log = mps("amcss-arena-pool-trace.log");
    for args in [&["-vv", &log][..], &["stats", &log], &["diff", &log, &log], &["verify", &log]] {
        assert_eq!(unread(args), (0, String::new()), "{args:?}");
    }
}

/// `.dumper`
#[test]
fn a_closed_pipe_changes_no_verdict() {
    let [one, other] = ["log/heap.log", "log/heap-2.log"].map(golden_path);
    let mut bytes = std::fs::read(&one).unwrap();
    bytes[20_000..20_008].copy_from_slice(b"damage!!");
    let (_directory, damaged) = file_with(&bytes);
    let [one, other] = [&one, &other].map(|path| path.to_str().unwrap());
    for (args, faults) in [
        (&["diff", one, other][..], false),
        (&["diff", one, &damaged], true),
        (&["verify", &damaged], true),
        (&["verify", "--json", &damaged], true),
        (&["stats", &damaged], true),
        (&["pairs", &damaged], true),
    ] {
        let expected = run(args);
        assert_eq!((expected.1, !expected.2.is_empty()), (1, faults), "{args:?}");
        assert_eq!(unread(args), (1, expected.2), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_costs_exit_code_2() {
    let mut command = eventcnv(&[&mps("labels.log")]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let (_, code, errors) = told(command.output().unwrap());
    assert_eq!(code, 2);
    assert!(errors.contains("cannot write the output"), "{errors}");
}

#[test]
fn names_in_any_case_and_codes_select_kinds_and_events() {
    let labels = mps("labels.log");
    let all = String::from_utf8(run(&["-v", &labels]).0).unwrap();
    let lines = |args: &[&str]| {
        let (found, code, errors) = run(&[&["-v", labels.as_str()], args].concat());
        let note = format!("eventcnv: {labels}: no event is selected\n");
        let expected = if found.is_empty() { note.as_str() } else { "" };
        assert_eq!((code, errors.as_str()), (0, expected));
        String::from_utf8(found).unwrap()
    };
    let having = |names: &[&str]| {
        let is_asked = |line: &&str| names.contains(&line[17..].split(' ').next().unwrap());
        all.lines().filter(is_asked).map(|line| format!("{line}\n")).collect::<String>()
    };
    let expected = having(&["Label", "EventInit"]);
    assert!(expected.lines().count() > 3);
    assert_eq!(lines(&["--events", "label,1D"]), expected);
    assert_eq!(lines(&["--events", "EVENTINIT", "--events", "0x22"]), expected);
    assert_eq!(lines(&["--kinds", "user"]), having(&["Intern", "Label", "LabelPointer"]));
    assert_eq!(lines(&["--kinds", "user", "--events", "Label,EventInit"]), having(&["Label"]));
    assert_eq!(lines(&["--events", "0x7FFF"]), "");
    assert_eq!(lines(&["--events", "1:22"]), having(&["Label"]));
}

#[test]
fn an_unknown_name_is_answered_with_known_names() {
    let labels = mps("labels.log");
    for (args, what, one) in [
        (["--kinds", "Pol"], "unknown kind \"Pol\"", "; did you mean Pool?"),
        (["--kinds", "heap"], "unknown kind \"heap\"", "Arena, Pool, Trace"),
        (["--events", "PoolAloc"], "unknown event type \"PoolAloc\"", "; did you mean PoolAlloc"),
        (["--events", "2:22"], "unknown event type \"2:22\"", "ArenaAlloc, "),
        (["--events", "7FFF"], "unknown event type \"7FFF\"", " more (eventcnv registry"),
        (["--threads", "main"], "the log does not record threads", ""),
        (["--where", "sise > 1"], "--where: unknown parameter \"sise\"", "; did you mean size?"),
        (["--where", "Pool.size > 1"], "unknown event type \"Pool\"", " more (eventcnv"),
        (["--where", "size >"], "expected a parameter, a number", "\n        ^"),
        (["--from", "#1000000"], "no event #1000000: the log has 15", ""),
    ] {
        let (found, code, errors) = run(&[args.as_slice(), &[&labels]].concat());
        assert_eq!((found.as_slice(), code), (b"".as_slice(), 2));
        assert!(errors.contains(what) && errors.contains(one), "{errors}");
    }
}

#[test]
fn events_that_are_not_printed_still_define_labels() {
    let labels = mps("labels.log");
    let all = fs::read_to_string(mps("labels.txt")).unwrap();
    let expected: String = all
        .lines()
        .filter(|line| line[22..].starts_with("Label "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(expected.contains("[\"Inst\"]"));
    let (found, code, _) = run(&["-vv", "--events", "Label", &labels]);
    assert_eq!((String::from_utf8(found).unwrap(), code), (expected, 0));
}

#[test]
fn a_log_of_another_version_is_read_with_its_own_eventdef() {
    let mut bytes = log();
    bytes[16] = 3; // The major version, in EventInit.
    let (directory, name) = file_with(&bytes);
    let (found, code, errors) = run(&["-v", "--order", "file", &name]);
    assert_eq!(code, 1);
    assert!(found.starts_with(b"000003DEDE65282C [Unknown 001D]\n"));
    assert!(
        errors.contains("telemetry version 3.0.0") && errors.contains("--eventdef"),
        "{errors}"
    );
    let header = directory.path().join("eventdef.h");
    let text = "\
        #define EVENT_VERSION_MAJOR ((unsigned)3)\n\
        #define EVENT_VERSION_MEDIAN 0\n\
        #define EVENT_VERSION_MINOR 0\n\
        #define EVENT_LIST(EVENT, X) EVENT(X, Init, 0x001d, TRUE, Arena)\n\
        #define EVENT_Init_PARAMS(PARAM, X) PARAM(X, 0, U, a) PARAM(X, 1, U, b) \\\n\
        PARAM(X, 2, U, c) PARAM(X, 3, U, d) PARAM(X, 4, U, e) PARAM(X, 5, U, f) \\\n\
        PARAM(X, 6, W, g)\n";
    fs::write(&header, text).unwrap();
    let header = header.to_str().unwrap();
    let (found, _, _) = run(&["-v", "--order", "file", "--eventdef", header, &name]);
    let first =
        "000003DEDE65282C Init                        3        0        0       5C       13";
    let found = String::from_utf8(found).unwrap();
    assert!(found.starts_with(first) && found.lines().count() == 151, "{found}");
    fs::write(header, "no list\n").unwrap();
    let (_, code, errors) = run(&["--eventdef", header, &name]);
    assert_eq!(code, 2);
    assert!(errors.contains("eventdef.h: EVENT_VERSION_MAJOR: is not defined"), "{errors}");
}

#[test]
fn concatenated_logs_are_read_one_after_the_other() {
    let (_directory, name) = file_with(&[log(), log()].concat());
    let one = numeric();
    assert_eq!(run(&[&name]), ([one.clone(), one].concat(), 0, String::new()));
}

#[test]
fn golden_files_are_all_used() {
    let used = [
        "help-short.txt",
        "help.txt",
        "help-listen.txt",
        "help-core.txt",
        "help-check.txt",
        "help-control-short.txt",
        "help-control.txt",
        "columns.txt",
        "stats.txt",
        "registry.txt",
    ];
    for entry in fs::read_dir(golden_path("cli")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(used.contains(&name.as_str()), "no test reads {name}");
    }
}
