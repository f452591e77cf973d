//! A Python module reads a log, and gives the values that the dump prints. `.cnv.py`

use crate::logs;
use crate::support::{mps, run};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Prints each event in the numeric form, without the index of its registry.
const PRINT: &str = r#"
import sys, re
import telemetry_log as t
assert t.EVENT and all(desc.code == code for code, desc in t.EVENT.items())
for event in t.events(sys.argv[1]):
    words = ["%016X" % event.time, "%X" % type(event).desc.code]
    for param, value in zip(type(event).desc.params, event[2:]):
        if value is None:
            continue
        if param.sort == "S":
            assert type(value) is str
            bits = lambda m: m[0].encode("utf8", "surrogateescape")
            codes = lambda m: "".join("\\x%02X" % byte for byte in bits(m))
            escape = lambda m: "\\" + m[0] if m[0] in '"\\' else codes(m)
            value = re.sub('["\\\\\0-\x1f\x7f-\x9f\udc80-\udc9f]', escape, value)
            words.append('"%s"' % value.encode("utf8", "surrogateescape").decode("utf8", "replace"))
        else:
            words.append("\x03%r" % value if param.sort == "D" else "%X" % value)
    print("\x01".join(words) + "\x02", end="")
"#;

/// Runs a script next to the module of a log. Returns its standard output.
fn python(directory: &Path, script: &str, log: &Path) -> String {
    let mut command = Command::new("python3");
    command.args(["-B", "-c", script]).arg(log).current_dir(directory);
    let output = command
        .env("PYTHONIOENCODING", "utf8")
        .output()
        .expect("python3 runs; ./test --install installs it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", log.display());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_module_reads_the_values_that_the_dump_prints() {
    let directory = TempDir::new().unwrap();
    let mut all = logs::all(directory.path());
    let pools = directory.path().join("pools.log");
    fs::write(&pools, logs::pools(9)).unwrap();
    all.push(pools);
    all.push(crate::support::golden_path("log/heap.log"));
    let module = directory.path().join("telemetry_log.py");
    for log in &all {
        let words = ["py", log.to_str().unwrap(), "-o", module.to_str().unwrap(), "--force"];
        run(&words);
        let text = python(directory.path(), PRINT, log);
        let lines = text.split_terminator('\x02');
        let mut found: Vec<Vec<String>> =
            lines.map(|line| line.split('\x01').map(str::to_owned).collect()).collect();
        found.sort();
        let mut expected = logs::numeric(log);
        for line in &mut expected {
            line[1] = line[1].rsplit(':').next().unwrap().to_owned();
        }
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{}", log.display());
        for (found, expected) in found.iter_mut().zip(&expected) {
            let is_double: Vec<bool> = found.iter().map(|word| word.starts_with('\x03')).collect();
            for word in found.iter_mut() {
                *word = word.trim_start_matches('\x03').to_owned();
            }
            let is = |index: usize| is_double.get(index) == Some(&true);
            assert!(logs::agree(found, expected, is), "{found:?}, not {expected:?}");
        }
    }
}

#[test]
fn names_that_are_invalid_in_python_become_valid() {
    let directory = TempDir::new().unwrap();
    let (log, module) =
        (directory.path().join("a'\"\"\"b.log"), directory.path().join("telemetry_log.py"));
    fs::write(&log, logs::pools(9)).unwrap();
    let words = ["py", log.to_str().unwrap(), "-o", module.to_str().unwrap()];
    assert_eq!(run(&words), (Vec::new(), 0, String::new()));
    let script = "import telemetry_log as t; e = [e for e in t.events(__import__('sys').argv[1])
        if type(e).desc.code == 4][0]; print(type(e).__name__, e._fields, e.number)";
    let expected = "Poll___DROP_TABLE_logs____ \
        ('time', 'thread', 'time_', 'Log', 'a__b', 'number') \
        it's \"so\"\n";
    assert_eq!(python(directory.path(), script, &log), expected);
    let script = "import telemetry_log as t; print(t.Event.PoolInit.params[0], t.__version__,
        t.REGISTRY[0].events[3].name, t.Kind.Pool.code, t.HEADER_SIZE, t.Event.PoolInit.format)";
    let expected = "EventParam(sort='P', name='pool', doc='pool') (1, 2, 3) Label 0 8 <QQQ\n";
    assert_eq!(python(directory.path(), script, &log), expected);
    let (_, code, errors) = run(&words);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
}

#[test]
fn a_module_gives_labels_and_names_of_threads() {
    let directory = TempDir::new().unwrap();
    let (log, module) = (directory.path().join("a.log"), directory.path().join("telemetry_log.py"));
    fs::write(&log, logs::pools(9)).unwrap();
    run(&["py", log.to_str().unwrap(), "-o", module.to_str().unwrap()]);
    let script = r#"
import sys, telemetry_log as t
log = t.Log(sys.argv[1])
for e in log:
    if isinstance(e, t.Event.PoolInit.record):
        names = [log.label(e.pool), log.label(e.arena), log.label(e.pool, 1110)]
        print(e.time, *names, log.thread_name(e))
print(log.string(7), log.string(99))
"#;
    let expected = "1200 symbols None symbols None\n1700 old None symbols None\nsymbols None\n";
    assert_eq!(python(directory.path(), script, &log), expected);
    // The tool prints the same names, for logs of both formats.
    for log in [crate::support::golden_path("log/heap.log"), mps("labels.log").into()] {
        let name = log.to_str().unwrap();
        run(&["py", name, "-o", module.to_str().unwrap(), "--force"]);
        let script = r#"
import sys, telemetry_log as t
log = t.Log(sys.argv[1])
for e in log:
    for param, value in zip(type(e).desc.params, e[2:]):
        label = log.label(value) if param.sort in "PA" and value is not None else None
        if label is not None:
            print(e.time, param.name, label)
    if log.thread_name(e):
        print(e.time, e.thread, log.thread_name(e))
"#;
        let mut found: Vec<String> =
            python(directory.path(), script, &log).lines().map(str::to_owned).collect();
        found.sort();
        let (threads, ..) = run(&["query", name, "SELECT thread, name FROM threads", "--json"]);
        let threads: Vec<serde_json::Value> = String::from_utf8(threads)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (events, ..) = run(&[name, "--style", "json"]);
        let mut expected = Vec::new();
        for line in String::from_utf8(events).unwrap().lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            for (param, label) in event["labels"].as_object().into_iter().flatten() {
                expected.push(format!("{} {param} {}", event["ticks"], label.as_str().unwrap()));
            }
            let thread = threads.iter().find(|thread| thread["thread"] == event["thread"]);
            let thread = thread.map_or("", |thread| thread["name"].as_str().unwrap());
            if !thread.is_empty() {
                expected.push(format!("{} {} {thread}", event["ticks"], event["thread"]));
            }
        }
        expected.sort();
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{name}");
    }
}

/// `.cut.numbers`: the numbers of events of several cuts alternate.
#[test]
fn overlapping_cuts_give_each_event_once() {
    let directory = TempDir::new().unwrap();
    let name = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let log = crate::support::golden_path("log/heap-2.log");
    let log = log.to_str().unwrap();
    let conditions =
        ["@event == \"PoolAlloc\"", "@event ~ \"Free\"", "not (@event == \"PoolFree\")"];
    let mut both = Vec::new();
    for (cut, condition) in ["a.log", "b.log", "c.log"].into_iter().zip(conditions) {
        run(&["cut", log, "--where", condition, "-o", &name(cut)]);
        both.extend(fs::read(name(cut)).unwrap());
    }
    fs::write(name("both.log"), both).unwrap();
    run(&["py", log, "-o", &name("telemetry_log.py")]);
    for file in ["both.log", "a.log", "b.log", "c.log"] {
        let text = python(directory.path(), PRINT, Path::new(&name(file)));
        let mut found: Vec<&str> = text.split_terminator('\x02').collect();
        found.sort();
        let expected = logs::numeric(Path::new(&name(file)));
        assert_eq!(found.len(), expected.len(), "{file}");
        found.dedup();
        let mut expected: Vec<_> = expected.iter().map(|line| line.join(" ")).collect();
        expected.sort();
        expected.dedup();
        assert_eq!(found.len(), expected.len(), "{file}");
    }
    let whole = logs::numeric(Path::new(log)).len();
    assert_eq!(logs::numeric(Path::new(&name("both.log"))).len(), whole);
    let parts = ["a.log", "b.log"].map(|file| logs::numeric(Path::new(&name(file))).len());
    assert!(parts.iter().all(|part| (500..whole).contains(part)), "{parts:?}");
}

/// `.cnv.py`: the module holds a block in memory, not the file.
#[test]
fn a_log_is_read_in_bounded_memory() {
    let directory = TempDir::new().unwrap();
    let (log, module) = (directory.path().join("a.log"), directory.path().join("telemetry_log.py"));
    fs::write(&log, logs::pools(9)).unwrap();
    run(&["py", log.to_str().unwrap(), "-o", module.to_str().unwrap()]);
    // Zeros follow, and another log.
    let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.set_len(128 << 20).unwrap();
    (&file).write_all(&logs::pools(9)).unwrap();
    let script = r#"
import resource, sys, telemetry_log as t
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before = size()
print(sum(1 for e in t.events(sys.argv[1])), size() - before < 32)
"#;
    assert_eq!(python(directory.path(), script, &log), "8 True\n");
}

#[test]
fn streams_with_other_registries_are_reported() {
    let directory = TempDir::new().unwrap();
    let [of_pools, both] = ["pools.log", "both.log"].map(|name| directory.path().join(name));
    let heap = fs::read(crate::support::golden_path("log/heap.log")).unwrap();
    let said = |log: &Path| {
        let words = ["py", log.to_str().unwrap(), "-o", "-"];
        run(&words).2
    };
    fs::write(&of_pools, logs::pools(9)).unwrap();
    fs::write(&both, [heap, logs::pools(9)].concat()).unwrap();
    assert_eq!(said(&of_pools), "");
    assert!(said(&both).contains("the first stream; 1 more"), "{}", said(&both));
}
