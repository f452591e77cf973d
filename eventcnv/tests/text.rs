//! The form for people: its values are those of the JSON form, and a terminal chooses it.
//!
//! ```text
//!  LOG ─┬─ eventcnv --style text ─────────────────────────▶ lines ─┐
//!       └─ eventcnv --style json --time seconds ─▶ serde ─▶ lines ─┴─▶ equal
//!  a pseudo-terminal ── eventcnv LOG ──▶ the same lines, in colours
//! ```
//!
//! Design: `.dumper.text` in `design/telemetry.md`.

mod support;

use eventdef::field::{A, P};
use eventlog::format::{ClockSource, ClockSync};
use eventlog::writer::{Maker, Origin};
use serde_json::Value;
use std::process::{Command, Stdio};
use support::{eventcnv, golden_path, mps, run};
use till::{Go, Hold, Odd, Paid};

mod till {
    eventdef::events! {
        /// What a till does.
        registry "till" version(1, 0, 0);
        kinds {
            /// Sales.
            Sale = 0,
            /// Anything else.
            Other = 1,
        }

        /// Something was paid. [unit ns took] [unit bytes receipt] [unit ns rate]
        /// [unit count things]
        Paid(1, always, Sale) {
            /// the till
            till: P,
            /// how long it took
            took: W,
            /// the size of the receipt
            receipt: U,
            /// another time
            rate: D,
            /// how many things
            things: W,
        }
        /// A text from anywhere.
        Odd(2, always, Other) {
            /// where
            at: A,
            /// the text
            text: S,
        }
        /// A wait of a till begins. [slice Hold=Go:what] [name what]
        Hold(3, always, Other) {
            /// what it waits for
            what: W,
            /// as much as the label's value
            other: W,
        }
        /// It ends. [unit bytes took]
        Go(4, always, Other) {
            /// what it waited for
            what: W,
            /// its size: the name has another unit elsewhere
            took: W,
        }
    }
}

/// Runs a command in a pseudo-terminal, and prints what it draws.
const TERMINAL: &str = include_str!("support/terminal.py");

fn golden(name: &str) -> String {
    golden_path(name).to_str().unwrap().to_owned()
}

fn lines(args: &[&str]) -> Vec<String> {
    let (text, code, errors) = run(args);
    assert!(code == 0 || errors.contains("fault"), "{args:?}: {errors}");
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Returns what the tool prints on a terminal with these variables, in lines.
fn on_terminal(variables: &[(&str, &str)], args: &[&str]) -> Vec<String> {
    let tool = eventcnv(args);
    let mut terminal = Command::new("python3");
    terminal.args(["-c", TERMINAL]).arg(tool.get_program()).args(tool.get_args());
    // `CI` gives colours to a dumb terminal, too.
    let colours = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"];
    for name in colours.iter().chain(&["LC_ALL", "MPS_TELEMETRY_FILENAME"]) {
        terminal.env_remove(name);
    }
    terminal.env("TERM", "xterm").envs(variables.iter().copied()).stdin(Stdio::null());
    let output = terminal.output().expect("python3 can be run");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns a line without what colours it.
fn plain(line: &str) -> String {
    let mut parts = line.split('\x1B');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').expect("a colour").1)
}

/// Returns a value as people read it.
fn words(name: &str, value: &Value, event: &Value) -> String {
    let label = &event["labels"][name];
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_ascii_control() => format!("\\x{:02X}", c as u32),
        c => c.to_string(),
    };
    let quoted = |text: &str| format!("\"{}\"", text.chars().map(escaped).collect::<String>());
    match (label, value) {
        (Value::String(label), _) if event["registry"] != "telemetry" => quoted(label),
        (_, Value::String(text)) if text.starts_with("0x") => text.clone(),
        (_, Value::String(text)) => quoted(text),
        (_, Value::Number(value)) if value.is_f64() => {
            let digits = format!("{:.9e}", value.as_f64().unwrap());
            digits.parse::<f64>().unwrap().to_string()
        }
        (_, value) => value.to_string(),
    }
}

/// Returns whether a parameter has the value of the other in its unit.
fn is_scaled(found: &str, expected: &str) -> bool {
    const UNITS: [(&str, f64); 7] = [
        (" B", 1.0),
        (" KiB", 1024.0),
        (" MiB", 1_048_576.0),
        (" ns", 1.0),
        (" us", 1e3),
        (" ms", 1e6),
        (" s", 1e9),
    ];
    let split = |(unit, factor): &(&str, f64)| Some((found.strip_suffix(unit)?, *factor));
    let Some((found, factor)) = UNITS.iter().find_map(split) else { return false };
    let pairs = [found, expected].map(|pair| pair.split_once(' ').expect("a name and a value"));
    let [scaled, value] = pairs.map(|(_, value)| value.parse::<f64>().expect(value));
    pairs[0].0 == pairs[1].0 && (scaled * factor - value).abs() <= 0.006 * value
}

/// Names of threads are compared elsewhere.
#[test]
fn the_text_has_the_values_of_the_json() {
    for (log, more) in [
        (golden("log/heap-2.log"), &[][..]),
        (golden("calls/shop.log"), &[]),
        (golden("lines/till.log"), &["--first", "5000"]),
        (mps("labels.log"), &[]),
    ] {
        let text = lines(&[&["--style", "text", &log], more].concat());
        let json = lines(&[&["--style", "json", "--time", "seconds", &log], more].concat());
        assert!(json.len() > 20 && text.len() == json.len(), "{log}");
        for (text, json) in text.iter().zip(&json) {
            let event: Value = serde_json::from_str(json).unwrap();
            let (time, rest) = text.trim_start().split_once(' ').unwrap();
            let seconds: f64 = time.trim_end_matches('+').parse().unwrap();
            assert_eq!(Some(seconds), event["seconds"].as_f64(), "{text}");
            let name = event["event"].as_str().unwrap();
            let (_, rest) = rest.split_once(name).expect(name);
            let params = event["params"].as_object().unwrap();
            let pair =
                |(name, value): (&String, &Value)| format!("{name} {}", words(name, value, &event));
            // Objects of this parser have their members in the order of letters.
            let mut expected: Vec<String> = params.iter().map(pair).collect();
            let mut found: Vec<&str> =
                rest.trim().split("  ").filter(|pair| !pair.is_empty()).collect();
            expected.sort();
            found.sort();
            assert_eq!(found.len(), expected.len(), "{text}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(*found == expected || is_scaled(found, expected), "{expected}: {text}");
            }
        }
    }
}

#[test]
fn a_terminal_gets_text_and_a_pipe_the_forms_of_the_mps() {
    let (log, raw) = (golden("log/heap-2.log"), mps("labels.log"));
    let text = lines(&["--style", "text", &log]);
    let [mps_form, columns] = [&["--style", "mps", &log][..], &["-v", &log]].map(lines);
    assert_eq!(lines(&[&log]), mps_form);
    assert_eq!(lines(&["--style", "mps", "-v", &log]), columns);
    for dumb in [("TERM", "dumb"), ("NO_COLOR", "1"), ("CLICOLOR", "0")] {
        assert_eq!(on_terminal(&[dumb], &[&log]), text, "{dumb:?}");
    }
    for narrow in [("COLUMNS", "40"), ("LC_ALL", "C")] {
        let coloured = on_terminal(&[narrow], &[&log]);
        assert!(coloured.iter().all(|line| line.contains("\x1B[2m")), "{coloured:?}");
        assert_eq!(coloured.iter().map(|line| plain(line)).collect::<Vec<_>>(), text);
    }
    assert_eq!(on_terminal(&[], &["-v", &log]), columns);
    assert_eq!(on_terminal(&[], &["--style", "mps", &log]), mps_form);
    assert_eq!(on_terminal(&[], &[&raw]), lines(&[&raw]), "a log of the MPS");
    let ticks = lines(&["--style", "text", "--time", "ticks", &log]);
    assert!(ticks[0].starts_with(&mps_form[0][..16]), "{}", ticks[0]);
}

#[test]
fn follow_prints_the_same_forms() {
    let log = golden("log/heap-2.log");
    let text = lines(&["--style", "text", &log]);
    assert_eq!(lines(&["follow", "--style", "text", &log]), text);
    assert_eq!(lines(&["follow", &log]), lines(&[&log]));
    let coloured = on_terminal(&[], &["follow", &log]);
    assert_eq!(coloured.iter().map(|line| plain(line)).collect::<Vec<_>>(), text);
    let json = ["--style", "json", &log];
    assert_eq!(lines(&[&["follow"], &json[..]].concat()), lines(&json));
    for (args, what) in [
        (["follow", "--style", "csv", &log], "columns of CSV need"),
        (["--style", "text", "-v", &log], "-v chooses among the forms of the MPS"),
        (["--style=text", "-vv", "follow", &log], ""),
    ] {
        let (found, code, errors) = run(&args);
        assert!(code == 2 && errors.contains(what) && found.is_empty(), "{args:?}: {errors}");
    }
}

/// Returns the bytes of a log with two threads, a label, units, and text that would steer a
/// terminal.
fn made(sales: &[Paid]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&Origin::new()).unwrap();
    let (start, length) = (1 << 40, 1_000_000_000_000);
    for (ticks, monotonic) in [(start, 0), (start + length, length)] {
        let sync = ClockSync { ticks, monotonic, realtime: monotonic + 5, uncertainty: 0 };
        maker.sync(sync).unwrap();
    }
    maker.thread(start - 9, 1, 77, "main").unwrap();
    maker.thread(start - 8, 2, 78, "caf\u{e9}\x1B[31m").unwrap();
    let name = maker.intern(start - 7, b"till \x1B[5m\"1\"").unwrap();
    maker.label(start - 6, 0xAB, name).unwrap();
    for (sale, at) in sales.iter().zip(0..) {
        maker.add(1, 1, start + at * 123_456_789_000, sale).unwrap();
    }
    let odd = Odd { at: A(0), text: b"a\nb\x1B]0;title\x07\xE2\x80\xAE" };
    maker.add(2, 2, start + 200_000_000_000, &odd).unwrap();
    maker.add(3, 9, start + 300_000_000_000, &Odd { at: A(0xAB), text: b"" }).unwrap();
    maker.finish().unwrap();
    bytes
}

/// `.dumper.quoted`, `.cnv.marks`: nothing of the log colours a line.
#[test]
fn units_threads_and_hostile_text_fit_a_line() {
    let sale =
        |till, took, receipt, rate, things| Paid { till: P(till), took, receipt, rate, things };
    let made = made(&[
        sale(0xAB, 1_250_000, 4096, 0.25, 4096),
        sale(0xABC, 999, u32::MAX, f64::NAN, usize::MAX),
        sale(0, usize::MAX, 1000, -1.5e9, 0),
        sale(0, 999, 0, f64::MAX, 0),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("till.log").to_str().unwrap().to_owned();
    std::fs::write(&path, made).unwrap();
    let text = lines(&["--style", "text", &path]);
    let (label, odd) = (r#""till \x1B[5m\"1\"""#, r#""a\x0Ab\x1B]0;title\x07\xE2\x80\xAE""#);
    let [main, other] = ["1 main     ", "2 caf\u{e9}\u{fffd}[31m"];
    let expected = [
        format!(
            "  0.000000000 {main} Paid  till {label}  took 1.25 ms  receipt 4.00 KiB  \
             rate 0.25 ns  things 4096"
        ),
        format!(
            "123.456789000 {main} Paid  till 0xABC  took 999 ns  receipt 4.00 GiB  rate NAN  \
             things 18446744073709551615"
        ),
        format!("200.000000000 {other} Odd   at 0x0  text {odd}"),
        format!(
            "246.913578000 {main} Paid  till 0x0  took 585 y  receipt 1000 B  rate -1.50 s  \
             things 0"
        ),
        format!("300.000000000 9           Odd   at {label}  text \"\""),
        format!(
            "370.370367000 {main} Paid  till 0x0  took 999 ns  receipt 0 B  rate 5.70e291 y  \
             things 0"
        ),
    ];
    let is_own = |line: &&String| line.contains(" Paid ") || line.contains(" Odd ");
    assert_eq!(text.iter().filter(is_own).collect::<Vec<_>>(), expected.each_ref(), "{text:#?}");
    let coloured = on_terminal(&[], &[&path]);
    assert_eq!(coloured.iter().map(|line| plain(line)).collect::<Vec<_>>(), text);
    for (printed, count) in
        [("took > 584 y", 1), ("took > 585 y", 0), ("receipt > 4.00 KiB", 1), ("rate < -1.4 s", 1)]
    {
        assert_eq!(lines(&["--where", printed, &path]).len(), count, "{printed}");
    }
    let params = lines(&["stats", "--params", &path]).join("\n");
    for scaled in ["4.00 KiB ×1", "1.25 ms ×1", "999 ns", "4096 ×1"] {
        assert!(params.contains(scaled), "{params}");
    }
    let (json, _, _) = run(&["stats", "--params", "--json", &path]);
    let json: Value = serde_json::from_slice(&json).unwrap();
    let mut rows = json["parameters"].as_array().unwrap().iter();
    let took = rows.find(|row| row["parameter"] == "took").unwrap();
    assert_eq!((&took["min"], &took["top"][0]["value"]), (&999.0.into(), &"999".into()));
}

/// `.output.fields`: a terminal without UTF-8 gets units in ASCII; a pipe does not.
#[test]
fn a_table_on_a_terminal_without_utf_8_is_ascii() {
    let args = ["pairs", &golden("calls/shop.log")];
    let text = lines(&args);
    assert!(text.iter().any(|line| line.contains('µ')), "{text:?}");
    let ascii: Vec<String> = text.iter().map(|line| line.replace('µ', "u")).collect();
    assert_eq!(on_terminal(&[("LC_ALL", "C")], &args), ascii);
    assert_eq!(on_terminal(&[("LC_ALL", "C.UTF-8")], &args), text);
}

/// `.dumper.text`: the form for people needs no clock.
#[test]
fn a_log_without_a_rate_has_ticks() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.clock_source, origin.clock_rate) = (ClockSource::Tsc, 0);
    maker.begin(&origin).unwrap();
    maker.add(1, 1, 0xBEEF, &Odd { at: A(1), text: b"x" }).unwrap();
    maker.finish().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("odd.log").to_str().unwrap().to_owned();
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(lines(&["--style", "text", &path]), ["000000000000BEEF Odd   at 0x1  text \"x\""]);
    assert_eq!(lines(&["follow", "--style", "text", &path]), lines(&["--style", "text", &path]));
    let (_, code, errors) = run(&["--style", "text", "--time", "seconds", &path]);
    assert!(code == 2 && errors.contains("does not relate its clock to seconds"), "{errors}");
}

/// Writes a log with a wait for what a label names, and returns its path: the parameter `took` is
/// ns in one event type, and bytes in another.
fn of_waits(directory: &tempfile::TempDir) -> String {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&Origin::new()).unwrap();
    let name = maker.intern(10, b"paper").unwrap();
    maker.label(11, 0xAB, name).unwrap();
    let sale = |took| Paid { till: P(0xAB), took, receipt: 4096, rate: 2.0, things: 7 };
    maker.add(1, 1, 20, &sale(6_000_000)).unwrap();
    maker.add(1, 1, 21, &sale(4_000_000)).unwrap();
    maker.add(2, 1, 30, &Hold { what: 0xAB, other: 0xAB }).unwrap();
    maker.add(2, 1, 31, &Go { what: 0xAB, took: 6_000_000 }).unwrap();
    maker.add(2, 1, 40, &Hold { what: 0xAC, other: 0xAB }).unwrap();
    maker.finish().unwrap();
    let path = directory.path().join("waits.log").to_str().unwrap().to_owned();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// `.dumper.text`: a word that a mark takes for an identity, as a block of a path is.
#[test]
fn a_word_that_identifies_is_printed_as_its_label() {
    let directory = tempfile::tempdir().unwrap();
    let lines = lines(&["--style", "text", "--events", "Hold,Go", &of_waits(&directory)]);
    let of =
        |line: &String| line.trim_start_matches([' ', '.', '0', '1', '2', '3', '4']).to_owned();
    let expected = [
        "Hold  what \"paper\"  other 171",
        "Go    what \"paper\"  took 5.72 MiB",
        "Hold  what 172  other 171",
    ];
    assert_eq!(lines.iter().map(of).collect::<Vec<_>>(), expected);
}

/// `.cnv.where`: a unit selects the event types whose parameter has it; if none has, that is an
/// error.
#[test]
fn a_condition_compares_a_number_with_its_own_unit_alone() {
    let directory = tempfile::tempdir().unwrap();
    let log = of_waits(&directory);
    for (condition, count) in [
        ("took > 5ms", 1),
        ("took > 5 MiB", 1),
        ("took > 5e6", 2),
        ("took > 5000000", 2),
        ("took > 4M", 2),
        ("5ms < took", 1),
        // Neither true nor false.
        ("not took > 5ms", 1),
        ("not took > 5MiB", 0),
        ("took > 5ms or what", 4),
        ("took > 5ms or not things", 1),
        ("took > took", 0),
        ("rate >= 2ns and receipt >= 4KiB", 2),
        ("things < 8 and till == \"paper\"", 2),
        ("other > 100ns", 2),
        ("other > 1B", usize::MAX),
        ("@ticks > 20ns", 4),
        ("@size > 1KiB", 0),
    ] {
        if count == usize::MAX {
            let (_, code, errors) = run(&["--where", condition, &log]);
            assert!(code == 2 && errors.contains("1B is not a number"), "{errors}");
            continue;
        }
        let found = lines_or_none(&["--where", condition, &log]);
        assert_eq!(found.len(), count, "{condition}: {found:#?}");
    }
    let (bytes, time, count) =
        ("bytes, such as 4096, 4K or 4KiB", "a time, such as 5ms, 2s or 5000 (ns)", "a number");
    for (args, what, write) in [
        (&["receipt > 5ms"][..], "receipt (bytes) with 5ms (a time)", bytes),
        (&["rate < 4 KiB"], "rate (a time) with 4KiB (bytes)", time),
        (&["4KiB > rate"], "4KiB (bytes) with rate (a time)", time),
        (&["Paid.took > 4KiB"], "Paid.took (a time) with 4KiB (bytes)", time),
        (&["took > 4KiB", "--events", "Paid"], "took (a time) with 4KiB (bytes)", time),
        (&["things == 4KiB"], "things (a count) with 4KiB (bytes)", count),
        (&["receipt < rate"], "receipt (bytes) with rate (a time)", "(a time)"),
        (&["what and receipt > 5ms"], "receipt (bytes) with 5ms (a time)", bytes),
        (&["@size > 5ms"], "@size (bytes) with 5ms (a time)", bytes),
        (&["text > 5ms"], "text (a string) with 5ms (a number)", "quotes: \"5ms\""),
    ] {
        let (found, code, errors) = run(&[&["--where"], args, &[&*log]].concat());
        assert!(code == 2 && found.is_empty(), "{args:?}: {errors}");
        assert!(errors.contains(&format!("cannot compare {what}")), "{args:?}: {errors}");
        assert!(errors.contains(write), "{args:?}: {errors}");
    }
}

/// As [`lines`], of a selection that may select nothing.
fn lines_or_none(args: &[&str]) -> Vec<String> {
    let (found, code, errors) = run(args);
    assert!(
        code == 0 && (errors.is_empty() || errors.contains("no event is selected")),
        "{errors}"
    );
    String::from_utf8(found).unwrap().lines().map(str::to_owned).collect()
}
