//! Selections: a dump with a selection has exactly the selected lines of the whole dump.
//!
//! ```text
//!  eventcnv -vv LOG ── lines, judged by their text ──▶ the same as eventcnv -vv LOG --where …
//! ```
//!
//! Design: `.cnv.select` in `design/eventcnv.md`.

mod support;

use support::{golden_path, mps, run};

fn heap() -> String {
    golden_path("log/heap-2.log").to_str().unwrap().to_owned()
}

/// Returns the lines of a dump without faults.
fn lines(log: &str, args: &[&str]) -> Vec<String> {
    let (found, code, errors) = run(&[args, &[log]].concat());
    assert!(
        code == 0 && (errors.is_empty() || errors.ends_with("no event is selected\n")),
        "{errors}"
    );
    String::from_utf8(found).unwrap().lines().map(str::to_owned).collect()
}

/// Returns the value of a parameter in a line of the named form, with its label.
fn param<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let at = line.find(&format!(" {name}:"))? + name.len() + 2;
    line[at..].split(' ').next()
}

fn number(line: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(param(line, name)?.split('[').next()?, 16).ok()
}

fn ticks(line: &str) -> u64 {
    u64::from_str_radix(&line[..16], 16).unwrap()
}

/// `.cnv.where`
#[test]
fn a_condition_selects_the_lines_for_which_it_is_true() {
    let all = lines(&heap(), &["-vv"]);
    type Judge = fn(&str) -> bool;
    let cases: [(&str, Judge); 9] = [
        ("size >= 16", |line| number(line, "size").is_some_and(|size| size >= 16)),
        ("not size >= 16", |line| number(line, "size").is_some_and(|size| size < 16)),
        ("pool == \"letters\" and size = 8", |line| {
            param(line, "pool").is_some_and(|pool| pool.ends_with("[\"letters\"]"))
                && number(line, "size") == Some(8)
        }),
        ("pool != \"letters\"", |line| {
            param(line, "pool").is_some_and(|pool| !pool.ends_with("[\"letters\"]"))
        }),
        ("PoolAlloc.size > 0x10 or @event == poolFREE", |_| false),
        ("@kind == \"pool\"", |line| line.contains(" PoolInit ") || line.contains(" PoolFinish ")),
        ("moving", |line| param(line, "moving") == Some("True")),
        ("moving == false", |line| param(line, "moving") == Some("False")),
        ("name ~ 'ext'", |line| line.contains(" name:\"text")),
    ];
    for (condition, judge) in cases {
        if condition.contains("poolFREE") {
            // A bare word is a parameter; the name of an event type is a string.
            let (_, code, errors) = run(&["--where", condition, &heap()]);
            assert!(code == 2 && errors.contains("unknown parameter \"poolFREE\""), "{errors}");
            assert!(errors.ends_with("; a string has quotes: \"poolFREE\"\n"), "{errors}");
            continue;
        }
        let expected: Vec<&String> = all.iter().filter(|line| judge(line)).collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{condition}");
        let found = lines(&heap(), &["-vv", "--where", condition]);
        assert!(found.iter().eq(expected), "{condition}: {found:#?}");
    }
    let both = lines(&heap(), &["-vv", "--where", "size > 8", "--where", "size < 32"]);
    assert_eq!(both, lines(&heap(), &["-vv", "--where", "size > 8 and size < 32"]));
}

/// Pointers in a log of the MPS have labels. The order of the file differs from that of time.
#[test]
fn a_label_is_a_value_in_every_order_and_form() {
    for order in ["time", "file"] {
        let all = lines(&mps("labels.log"), &["-vv", "--order", order]);
        let expected: Vec<&String> = all
            .iter()
            .filter(|line| param(line, "pointer").is_some_and(|p| p.ends_with("[\"Inst\"]")))
            .collect();
        let args = ["--order", order, "--where", "pointer == 'Inst'"];
        let found = lines(&mps("labels.log"), &[&args[..], &["-vv"]].concat());
        assert!(!expected.is_empty() && found.iter().eq(expected), "{found:#?}");
        assert_eq!(lines(&mps("labels.log"), &args).len(), found.len());
    }
}

/// An event of an unknown type has a code, a time and a thread too.
#[test]
fn a_condition_on_facts_applies_to_unknown_events() {
    let mut bytes = std::fs::read(mps("labels.log")).unwrap();
    bytes[0] = 0xEE; // The code of the first event.
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("unknown.log");
    std::fs::write(&path, bytes).unwrap();
    for (condition, count) in [("@code == 0xEE", 1), ("not @code == 0xEE", 150), ("size > 0", 29)] {
        let (found, _, _) = run(&["--where", condition, path.to_str().unwrap()]);
        let found = String::from_utf8(found).unwrap();
        assert_eq!(found.lines().count(), count, "{condition}");
    }
}

/// `.cnv.time`
#[test]
fn times_select_the_events_between_them() {
    let all = lines(&heap(), &["-v"]);
    let (from, to) = (&all[100], &all[all.len() - 50]);
    let expected: Vec<&String> =
        all.iter().filter(|line| (ticks(from)..=ticks(to)).contains(&ticks(line))).collect();
    let last = format!("#{}", all.len() - 50);
    for (from, to) in [(&from[..16], &to[..16]), ("#100", last.as_str())] {
        let found = lines(&heap(), &["-v", "--from", from, "--to", to]);
        assert!(found.iter().eq(expected.iter().copied()), "{from} {to}");
    }
    // A time in seconds splits the log without a loss.
    for time in ["+2ms", "-1ms", "1.5ms", "+0ns"] {
        let after = lines(&heap(), &["-v", "--from", time]);
        let cut = all.len() - after.len();
        assert_eq!(after, all[cut..], "{time}");
        assert!(cut > 0 || time == "+0ns", "{time}");
        let seconds =
            |line: &str| line.trim_start().split(' ').next().unwrap().parse::<f64>().unwrap();
        let timed = lines(&heap(), &["-v", "--time", "seconds", "--from", time]);
        let whole = lines(&heap(), &["-v", "--time", "seconds"]);
        assert_eq!(timed, whole[cut..]);
        if time == "+2ms" {
            assert!(seconds(&whole[cut]) >= 0.002 && seconds(&whole[cut - 1]) < 0.002);
        }
    }
    let wall = lines(&heap(), &["--time", "wall"]);
    let time = wall[300].split(' ').next().unwrap();
    let found = lines(&heap(), &["--time", "wall", "--from", time]);
    let same = wall.iter().position(|line| line.starts_with(time)).unwrap();
    assert_eq!(found, wall[same..], "{time}");
}

/// Returns the ticks a second of a raw log, from the first and the last clock sync in its dump.
fn rate_by_syncs(log: &str) -> f64 {
    let syncs = lines(log, &["-vv", "--events", "EventInit,EventClockSync"]);
    let hex = |line: &String, name| u64::from_str_radix(param(line, name).unwrap(), 16).unwrap();
    let per_second = hex(&syncs[0], "clocksPerSec");
    let (first, last) = (&syncs[1], &syncs[syncs.len() - 1]);
    let clocks = (hex(last, "clock") - hex(first, "clock")) as f64;
    (ticks(last) - ticks(first)) as f64 * per_second as f64 / clocks
}

/// `.cnv.time`, `.mps.rate`
#[test]
fn seconds_of_a_raw_log_follow_its_clock_syncs() {
    for name in ["mpmss-cut.log", "labels.log", "mpmss-32bit-cut.log"] {
        let log = mps(name);
        let rate = rate_by_syncs(&log);
        let all: Vec<u64> = lines(&log, &["-vv"]).iter().map(|line| ticks(line)).collect();
        let seconds = |at: u64| (at - all[0]) as f64 / rate;
        let (found, code, errors) = run(&["-vv", "--time", "seconds", &log]);
        let found = String::from_utf8(found).unwrap();
        assert!(code == 0 && errors.contains("seconds are approximate"), "{errors}");
        for (line, &at) in found.lines().zip(&all) {
            let shown: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
            assert!((shown - seconds(at)).abs() < 1e-6 * (1.0 + shown), "{name}: {line}");
        }
        // A third of the whole time.
        let third = seconds(all[all.len() - 1]) / 3.0;
        let expected = all.iter().filter(|&&at| seconds(at) >= third).count();
        let args = ["--from", &format!("+{third:.9}s"), &log];
        let (found, _, errors) = run(&args);
        assert!(errors.contains("seconds are approximate"), "{errors}");
        let found = String::from_utf8(found).unwrap().lines().count();
        assert!(found.abs_diff(expected) <= 1, "{name}: {found}, not {expected}");
        let (stats, _, _) = run(&["stats", &log]);
        let stats = String::from_utf8(stats).unwrap();
        assert!(stats.contains(" (about ") && stats.contains("events/s"), "{stats}");
    }
}

/// `.cnv.time`: the time counts from the start of each stream.
#[test]
fn a_time_after_the_start_holds_for_every_raw_stream() {
    let log = mps("mpmss-cut.log");
    let of = |logs: &[&str]| {
        let (found, code, _) =
            run(&[&["--clock-rate", "1GHz", "--from", "+200us", "--order", "file"], logs].concat());
        assert_eq!(code, 0);
        String::from_utf8(found).unwrap()
    };
    let other = mps("labels.log");
    let expected = of(&[&log]) + &of(&[&other]);
    assert!(expected.lines().count() > 100);
    assert_eq!(of(&[&log, &other]), expected);
}

/// `.cnv.time`
#[test]
fn a_stated_clock_rate_overrides_the_log() {
    for log in [mps("mpmss-cut.log"), heap()] {
        let all: Vec<u64> = lines(&log, &["-vv"]).iter().map(|line| ticks(line)).collect();
        let (found, code, errors) = run(&["--time", "seconds", "--clock-rate", "2.1GHz", &log]);
        assert_eq!((code, &*errors), (0, ""), "nothing is approximate");
        let found = String::from_utf8(found).unwrap();
        let shown = |line: &str| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
        // The log may begin before its first event.
        let first = shown(found.lines().next().unwrap());
        for (line, at) in found.lines().zip(&all) {
            let expected = (at - all[0]) as f64 / 2.1e9;
            assert!((shown(line) - first - expected).abs() < 3e-9, "{line}: {expected}");
        }
    }
    for rate in ["fast", "2.1", "0Hz", "-1GHz", "1e9Hz"] {
        let (_, code, errors) = run(&[&format!("--clock-rate={rate}"), &heap()]);
        assert!(code == 2 && errors.contains("not a rate"), "{rate}: {errors}");
    }
}

/// `.cnv.select`
#[test]
fn a_pattern_selects_matching_names() {
    let log = mps("labels.log");
    let all = lines(&log, &["-vv"]);
    let name = |line: &String| line.split_whitespace().nth(2).unwrap().to_owned();
    let expected: Vec<String> =
        all.iter().filter(|line| name(line).starts_with("Pool")).cloned().collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    assert_eq!(lines(&log, &["-vv", "--events", "pool*"]), expected);
    assert_eq!(lines(&log, &["-vv", "--events", "P??l*"]), expected);
    assert_eq!(lines(&log, &["--kinds", "*"]).len(), all.len());
    let (_, code, errors) = run(&["--events", "Pol*", &log]);
    assert!(code == 2 && errors.contains("unknown event type \"Pol*\""), "{errors}");
}

/// `.cnv.where`
#[test]
fn an_unknown_label_suggests_a_similar_one() {
    for (log, asked, near) in
        [(heap(), "lettrs", "mean letters?"), (mps("labels.log"), "Isnt", "mean Inst?")]
    {
        let names = if log == heap() { "pool" } else { "address" };
        let (found, code, errors) = run(&["--where", &format!("{names} == '{asked}'"), &log]);
        assert_eq!((found.len(), code), (0, 0));
        assert!(errors.contains("no event is selected") && errors.contains(near), "{errors}");
    }
}

#[test]
fn first_and_last_count_selected_events() {
    let asked = ["-v", "--where", "size >= 16"];
    let all = lines(&heap(), &asked);
    for count in [0, 1, 7, all.len(), all.len() + 1] {
        let text = count.to_string();
        let first = lines(&heap(), &[&asked[..], &["--first", &text]].concat());
        assert_eq!(first, all[..count.min(all.len())]);
        let last = lines(&heap(), &[&asked[..], &["--last", &text]].concat());
        assert_eq!(last, all[all.len() - count.min(all.len())..]);
    }
}

#[test]
fn threads_are_chosen_by_index_name_and_number() {
    let all = lines(&heap(), &["-vvv"]);
    let expected: Vec<&String> =
        all.iter().filter(|line| line[17..].starts_with("1 heap ")).collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    let thread = all.iter().find(|line| line.contains(" Thread ")).unwrap();
    let tid = format!("tid:{}", number(thread, "osThread").unwrap());
    for name in ["1", "heap", &tid] {
        let found = lines(&heap(), &["-vvv", "--threads", name]);
        assert!(found.iter().eq(expected.iter().copied()), "{name}");
    }
    let (_, code, errors) = run(&["--threads", "hepa", &heap()]);
    assert!(code == 2 && errors.contains("unknown thread \"hepa\"; "), "{errors}");
}

/// `.cnv.styles`
#[test]
fn styles_agree_with_the_named_form() {
    let all = lines(&heap(), &["-vvv"]);
    let json = lines(&heap(), &["--style", "json"]);
    let csv = lines(&heap(), &["--style", "csv"]);
    let lisp = lines(&heap(), &["--style", "lisp"]);
    assert_eq!((json.len(), csv.len(), lisp.len()), (all.len(), all.len() + 1, all.len()));
    let columns: Vec<&str> = csv[0].split(',').collect();
    assert!(csv[0].starts_with("time,event,kind,thread,") && columns.contains(&"size"));
    let size_column = columns.iter().position(|name| *name == "size").unwrap();
    for (n, line) in all.iter().enumerate() {
        let name = line[24..].trim_start().split(' ').nth(1).unwrap();
        assert!(
            json[n].starts_with(&format!("{{\"ticks\":{},\"event\":\"", ticks(line))),
            "{}",
            json[n]
        );
        assert!(json[n].ends_with('}') && lisp[n].ends_with(')'));
        assert!(lisp[n].starts_with(&format!("({} ", &line[..16])), "{}", lisp[n]);
        if line.contains(" name:") {
            continue;
        }
        let cells: Vec<&str> = csv[n + 1].split(',').collect();
        assert_eq!((cells.len(), cells[0]), (columns.len(), ticks(line).to_string().as_str()));
        assert!(line.contains(&format!(" {} ", cells[1])), "{name}: {}", csv[n + 1]);
        let size = number(line, "size").map_or(String::new(), |size| size.to_string());
        assert_eq!(cells[size_column], size, "{line}");
        if !size.is_empty() {
            assert!(json[n].contains(&format!("\"size\":{size}")), "{}", json[n]);
        }
        if line.contains("[\"letters\"]") {
            assert!(json[n].contains(":\"letters\""), "{}", json[n]);
        }
    }
}

/// An independent reader parses every line.
#[test]
fn json_lines_are_json() {
    for log in [heap(), mps("mpmss-cut.log"), mps("labels.log")] {
        let (found, _, _) = run(&["--style", "json", &log]);
        let mut python = std::process::Command::new("python3")
            .args(["-c", "import json,sys\nn=0\nfor l in sys.stdin: json.loads(l); n+=1\nprint(n)"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 runs; ./test --install installs it");
        let count = found.iter().filter(|&&byte| byte == b'\n').count();
        let mut input = python.stdin.take().unwrap();
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, &found));
        let output = python.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), count.to_string(), "{log}");
    }
}
