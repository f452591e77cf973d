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

use serde_json::Value;
use std::process::{Command, Stdio};
use support::{eventcnv, golden_path, mps, run};

/// Runs a command in a pseudo-terminal, and prints what it draws.
const TERMINAL: &str = "import os, pty, sys
pid, end = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while drawn := os.read(end, 65536):
        sys.stdout.buffer.write(drawn)
except OSError:
    pass
sys.exit(os.waitpid(pid, 0)[1] != 0)";

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
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "MPS_TELEMETRY_FILENAME"] {
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
            assert_eq!(found, expected, "{text}");
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
