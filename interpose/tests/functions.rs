//! Programs built with `-finstrument-functions`: their calls, against the program's own truth and
//! against callgrind.
//!
//! ```text
//!  cc -finstrument-functions ─▶ program ─┬─ LD_PRELOAD ─▶ log ─▶ caller, function, count ┐ equal
//!                                        └─ callgrind ──────────▶ caller, function, count ┘
//! ```
//!
//! Design: `.calls.instrumented` in `design/calls.md`.

mod common;

use common::{Recorded, compile, compile_by, recording, run, word};
use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The counts of caller and function; the caller of an outermost call is "".
type Edges = BTreeMap<(String, String), u64>;

/// Compiles a program with the hooks.
fn instrumented(source: &str, folder: &Path, options: &[&str]) -> PathBuf {
    compile(source, folder, &[&["-finstrument-functions"], options].concat())
}

fn record(program: &Path, words: &[impl AsRef<OsStr>], folder: TempDir) -> Recorded {
    let mut command = recording(program, folder.path());
    command.env("TELEMETRY_CALLS", "1").env("TELEMETRY_CONTROL", "Call").args(words);
    run(command, folder)
}

/// The calls of a log.
#[derive(Default)]
struct Calls {
    edges: Edges,
    /// Calls that a jump or an exception left.
    left: u64,
    /// Calls in progress at the end, of all threads.
    open: Vec<String>,
    other: Vec<String>,
}

impl Calls {
    /// Reads a log, and checks each stack: a call's caller is the innermost open call, and calls
    /// end from the inside. `inherited` calls are open at the beginning.
    fn of(log: &Log, inherited: &[&str]) -> Calls {
        let mut calls = Calls::default();
        let (mut strings, mut names) = (HashMap::new(), HashMap::new());
        let mut stacks: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let mut events = log.events(Order::Time, &Filter::default());
        while let Some(event) = events.next() {
            let name = |names: &HashMap<u64, String>, param| match word(&event, param) {
                0 => String::new(),
                address => names.get(&address).expect("a label").clone(),
            };
            let stack = stacks
                .entry(event.thread)
                .or_insert_with(|| inherited.iter().map(|name| (*name).to_owned()).collect());
            match event.name() {
                "Intern" => {
                    let Some(Value::S(string)) = event.param("string") else { panic!() };
                    let string = String::from_utf8(string.to_vec()).unwrap();
                    strings.insert(word(&event, "stringId"), string);
                }
                "Label" => {
                    let string = strings[&word(&event, "stringId")].clone();
                    names.insert(word(&event, "address"), string);
                }
                "CallEnter" => {
                    let edge = (name(&names, "caller"), name(&names, "function"));
                    assert_eq!(stack.last(), (!edge.0.is_empty()).then_some(&edge.0), "{edge:?}");
                    stack.push(edge.1.clone());
                    *calls.edges.entry(edge).or_default() += 1;
                }
                "CallLeave" => assert_eq!(stack.pop(), Some(name(&names, "function"))),
                "CallUnwind" => calls.left += 1,
                name if event.registry.index != 0 => calls.other.push(name.to_owned()),
                _ => {}
            }
        }
        assert!(events.faults().is_empty(), "{:?}", events.faults());
        calls.open = stacks.into_values().flatten().collect();
        calls
    }

    /// Returns the count of an edge.
    fn count(&self, caller: &str, function: &str) -> u64 {
        self.edges.get(&(caller.to_owned(), function.to_owned())).copied().unwrap_or(0)
    }
}

impl Recorded {
    /// Returns the calls of the program's first log, which has no other events.
    fn calls(&self) -> Calls {
        let calls = Calls::of(&self.logs()[&(self.process, 1)], &[]);
        assert_eq!(calls.other, [""; 0], "malloc is not recorded");
        calls
    }
}

/// Records `functions.c`, whose last word is its way.
fn recorded(options: &[&str], words: &[&str]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented("functions.c", folder.path(), options);
    record(&program, words, folder)
}

/// The edges that callgrind counts, between functions of the program.
fn by_callgrind(program: &Path, words: &[&str], functions: &[&str]) -> Edges {
    let out = program.with_extension("callgrind");
    let mut valgrind = Command::new("valgrind");
    let named = format!("--callgrind-out-file={}", out.display());
    valgrind.args(["-q", "--tool=callgrind", &named]).arg(program).args(words);
    let output = valgrind.output().expect("this test needs valgrind: ./test --install");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut names, mut edges) = (HashMap::<String, String>::new(), Edges::new());
    // `(7) name` at first, `(7)` after; a recursive call has `'2` behind its name.
    let mut name = |text: &str| {
        let (number, name) = text.split_once(' ').unwrap_or((text, ""));
        let name = name.split('\'').next().unwrap_or_default();
        let known = names.entry(number.to_owned()).or_insert_with(|| name.to_owned());
        known.clone()
    };
    let (mut caller, mut function) = (String::new(), String::new());
    for line in std::fs::read_to_string(out).unwrap().lines() {
        if let Some(text) = line.strip_prefix("fn=") {
            caller = name(text);
        } else if let Some(text) = line.strip_prefix("cfn=") {
            function = name(text);
        } else if let Some(text) = line.strip_prefix("calls=") {
            let count = text.split(' ').next().unwrap().parse::<u64>().unwrap();
            *edges.entry((caller.clone(), function.clone())).or_default() += count;
        }
    }
    let is_ours = |name: &String| functions.contains(&&**name);
    edges.retain(|(caller, function), _| is_ours(caller) && is_ours(function));
    edges
}

/// Without inlining, which callgrind cannot see.
#[test]
fn the_counts_of_edges_are_those_of_callgrind() {
    let functions = ["main", "whole", "part", "fibonacci", "leaf", "early", "late", "jump", "fall"];
    for way in ["plain", "jump"] {
        let recorded = recorded(&["-fno-inline"], &[way]);
        assert!(recorded.status.success());
        let mut edges = recorded.calls().edges;
        edges.retain(|(caller, function), _| {
            functions.contains(&&**caller) && functions.contains(&&**function)
        });
        assert!(edges.len() > 4, "{edges:?}");
        let program = recorded.folder.path().join("functions");
        assert_eq!(edges, by_callgrind(&program, &[way], &functions), "{way}");
    }
}

/// A function that the compiler puts into its caller has its hooks there.
#[test]
fn inlined_functions_and_recursion_have_their_callers() {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let calls = recorded(&[level], &["plain"]).calls();
        assert_eq!((calls.count("", "main"), calls.count("", "early")), (1, 1), "{level}");
        assert_eq!((calls.count("main", "whole"), calls.count("whole", "part")), (10, 10));
        assert_eq!((calls.count("early", "leaf"), calls.count("late", "leaf")), (1, 1));
        assert_eq!(calls.count("fibonacci", "fibonacci"), 464, "{level}");
        assert_eq!((calls.left, calls.open), (0, Vec::new()), "{level}");
    }
    let calls = recorded(&[], &["sort"]).calls();
    let compared = calls.count("main", "compare");
    assert!(compared >= 4 && calls.count("compare", "leaf") == compared, "{:?}", calls.edges);
}

#[test]
fn calls_that_a_jump_leaves_end_at_the_jump() {
    for level in ["-O0", "-O2"] {
        let calls = recorded(&[level], &["jump"]).calls();
        assert_eq!(calls.count("jump", "fall"), 100, "{level}");
        // 100 falls from 0 to 6 deep: 14 times 21, and 0 + 1.
        assert_eq!(calls.count("fall", "fall"), 14 * 21 + 1, "{level}");
        assert_eq!((calls.count("jump", "thrower"), calls.count("jump", "wide")), (100, 100));
        assert_eq!((calls.left, calls.open), (100 + 14 * 21 + 1 + 100, Vec::new()), "{level}");
    }
}

#[test]
fn recursion_of_a_million_calls_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented("functions.c", folder.path(), &["-O0"]);
    let mut command = recording("sh", folder.path());
    command.env("TELEMETRY_CALLS", "1").env("TELEMETRY_CONTROL", "Call");
    command.args(["-c", "ulimit -s unlimited && exec \"$0\" deep 1000000"]).arg(program);
    let recorded = run(command, folder);
    assert_eq!(recorded.output, "1000000\n");
    assert_eq!(recorded.calls().count("deep", "deep"), 1_000_000);
}

#[test]
fn threads_have_stacks_of_their_own() {
    let calls = recorded(&[], &["threads"]).calls();
    assert_eq!((calls.count("", "work"), calls.count("work", "leaf")), (160, 160_000));
    assert_eq!((calls.count("work", "fibonacci"), calls.open), (160, Vec::new()));
}

/// Handlers on a stack of their own, above and below that of the thread.
#[test]
fn signal_handlers_have_the_interrupted_function_as_caller() {
    let calls = recorded(&[], &["signals"]).calls();
    let counts = [("signals", "handler"), ("handler", "leaf"), ("signals", "escape")];
    assert_eq!(counts.map(|(caller, function)| calls.count(caller, function)), [20, 20, 20]);
    assert_eq!(calls.count("signals", "leaf"), 40);
    assert_eq!((calls.left, calls.open), (20, Vec::new()));
}

/// The second library has the place of the first one.
#[test]
fn a_library_in_the_place_of_another_has_its_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut libraries = Vec::new();
    for name in ["first", "second"] {
        let within = folder.path().join(name);
        std::fs::create_dir(&within).unwrap();
        let options = ["-shared", "-fPIC", &format!("-DNAME={name}")];
        libraries.push(instrumented("plugin.c", &within, &options));
    }
    let program = instrumented("functions.c", folder.path(), &[]);
    let words = [vec!["plugins".into()], libraries.clone(), libraries].concat();
    let recorded = record(&program, &words, folder);
    assert!(recorded.status.success());
    let calls = recorded.calls();
    assert_eq!(calls.count("plugins", "plugin"), 4);
    assert_eq!((calls.count("plugin", "first"), calls.count("plugin", "second")), (2, 2));
}

#[test]
fn each_process_and_program_has_its_calls() {
    let recorded = recorded(&[], &["fork"]);
    assert!(recorded.status.success(), "errno is the program's own");
    let mut logs = recorded.logs();
    let own = Calls::of(&logs.remove(&(recorded.process, 1)).unwrap(), &[]);
    assert_eq!((own.count("main", "leaf"), &own.open[..]), (2, &["main".to_owned()][..]));
    let next = Calls::of(&logs.remove(&(recorded.process, 2)).unwrap(), &[]);
    assert_eq!((next.count("main", "leaf"), &next.open[..]), (1, &["main".to_owned()][..]));
    assert_eq!(logs.len(), 1, "the child has a log");
    let child = Calls::of(&logs.pop_first().unwrap().1, &["main"]);
    assert_eq!((child.count("main", "whole"), child.count("late", "leaf")), (1, 1));
}

/// Names are those of the symbols, of a stripped program those of its places.
#[test]
fn names_come_from_the_symbols_that_a_file_has() {
    let calls = recorded(&["-s", "-rdynamic"], &["plain"]).calls();
    assert_eq!(calls.count("", "main"), 1, "{:?}", calls.edges);
    let places = calls.edges.keys().filter(|(_, name)| name.starts_with("functions+0x"));
    assert!(places.count() > 3, "{:?}", calls.edges);
    // Two files have a function of one name.
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("a.c", "static int init(int n) { return n; } int a(void) { return init(0); }"),
        ("b.c", "static int init(int n) { return n; } int b(void) { return init(0); }"),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let main = folder.path().join("main.c");
    std::fs::write(&main, "int a(void), b(void); int main(void) { return a() + b() + b(); }")
        .unwrap();
    let [a, b] = ["a.c", "b.c"].map(|file| folder.path().join(file).display().to_string());
    let program = instrumented(main.to_str().unwrap(), folder.path(), &["-O0", &a, &b]);
    let calls = record(&program, &[""; 0], folder).calls();
    assert_eq!(calls.count("a", "init (a.c)"), 1, "{:?}", calls.edges);
    assert_eq!(calls.count("b", "init (b.c)"), 2, "{:?}", calls.edges);
}

#[test]
fn an_exception_ends_calls() {
    let folder = tempfile::tempdir().unwrap();
    let program =
        instrumented("functions.cc", folder.path(), &["-O2", "-Wl,--no-as-needed,-lstdc++"]);
    let recorded = record(&program, &[""; 0], folder);
    assert!(recorded.status.success());
    let calls = recorded.calls();
    let put = calls.edges.iter().filter(|((_, name), _)| name == "_ZN4shop6Basket3putEi");
    assert_eq!(put.map(|(_, count)| count).sum::<u64>(), 30, "{:?}", calls.edges);
    assert_eq!((calls.left, calls.open), (0, Vec::new()), "the compiler ends them");
}

/// Clang calls no hook where an exception leaves a function, and GCC does.
#[test]
fn exceptions_end_calls_as_well_without_hooks() {
    let edges = |compiler: &str, level: &str| {
        let folder = tempfile::tempdir().unwrap();
        let options = ["-finstrument-functions", level, "-fno-inline"];
        let options = [&options[..], &["-Wl,--no-as-needed,-lstdc++"]].concat();
        let program = compile_by(compiler, "exceptions.cc", folder.path(), &options);
        let recorded = record(&program, &[""; 0], folder);
        assert!(recorded.status.success());
        let calls = recorded.calls();
        assert_eq!(calls.open, Vec::<String>::new());
        // A destructor has two symbols, and each compiler chooses one. A constructor that does
        // nothing may be left out.
        let named = |name: String| name.replace("D1E", "D2E");
        let edges = calls
            .edges
            .into_iter()
            .map(|((caller, function), count)| ((named(caller), named(function)), count));
        let is_ours = |name: &str| name.contains("4shop") && !name.contains("BasketC");
        edges.filter(|((_, function), _)| is_ours(function)).collect::<Edges>()
    };
    for level in ["-O0", "-O2"] {
        let [gcc, clang] = ["gcc", "clang"].map(|compiler| edges(compiler, level));
        assert!(gcc.values().sum::<u64>() > 200, "{gcc:?}");
        assert_eq!(clang, gcc, "{level}");
    }
}

/// What a log has of the calls that a filter chose.
#[derive(Default, Debug)]
struct Chosen {
    /// The calls of each function that are recorded.
    calls: BTreeMap<String, u64>,
    /// The callers of calls above a threshold, and the times of these.
    slow: Vec<(String, String, u64)>,
    /// The calls of each function that were dropped.
    muted: BTreeMap<String, u64>,
    /// The callers of recorded calls.
    callers: BTreeMap<String, Vec<String>>,
    strings: Vec<String>,
}

/// Records a program with a filter.
fn chosen(program: &Path, words: &[&str], folder: TempDir, filter: &str) -> Chosen {
    let mut command = recording(program, folder.path());
    command.env("TELEMETRY_CALLS", "1").env("TELEMETRY_CONTROL", "Call");
    command.env("MPS_TELEMETRY_CALLS", filter).args(words);
    let recorded = run(command, folder);
    assert!(recorded.status.success());
    let log = &recorded.logs()[&(recorded.process, 1)];
    let (mut strings, mut names) = (HashMap::new(), HashMap::new());
    let mut chosen = Chosen::default();
    let mut open = 0i64;
    log.events(Order::Time, &Filter::default()).each(|event| {
        let name = |names: &HashMap<u64, String>, param| {
            names.get(&word(event, param)).cloned().unwrap_or_default()
        };
        match event.name() {
            "Intern" => {
                let Some(Value::S(string)) = event.param("string") else { panic!() };
                let string = String::from_utf8(string.to_vec()).unwrap();
                chosen.strings.push(string.clone());
                strings.insert(word(event, "stringId"), string);
            }
            "Label" => {
                names.insert(word(event, "address"), strings[&word(event, "stringId")].clone());
            }
            "CallEnter" => {
                open += 1;
                *chosen.calls.entry(name(&names, "function")).or_default() += 1;
                let callers = chosen.callers.entry(name(&names, "function")).or_default();
                callers.push(name(&names, "caller"));
                callers.dedup();
            }
            "CallLeave" => open -= 1,
            "CallSlow" => {
                let names = ["caller", "function"].map(|param| name(&names, param));
                let [caller, function] = names;
                chosen.slow.push((caller, function, word(event, "elapsed")));
            }
            "CallsMuted" => {
                chosen.muted.insert(name(&names, "function"), word(event, "count"));
            }
            _ => {}
        }
    });
    assert_eq!(open, 0, "each recorded call ends");
    chosen
}

/// Builds `functions.c`, and records it with a filter.
fn filtered(way: &str, filter: &str) -> Chosen {
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented("functions.c", folder.path(), &["-O1"]);
    chosen(&program, &[way], folder, filter)
}

fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// `.calls.filter`, for functions of C.
#[test]
fn the_filter_excludes_functions_of_c() {
    let found = filtered("plain", "main fib* whole part -whole");
    assert_eq!(found.calls, counts(&[("main", 1), ("fibonacci", 465), ("part", 10)]));
    assert_eq!(found.callers["part"], ["main"], "whole is excluded");
    assert!(!found.strings.contains(&"whole".to_owned()), "and has no label");
    assert!(found.strings.contains(&"MPS_TELEMETRY_CALLS=main fib* whole part -whole".to_owned()));
    assert_eq!((found.muted, found.slow), (BTreeMap::new(), Vec::new()));
}

#[test]
fn the_filter_selects_calls_with_all_calls_in_them() {
    let found = filtered("plain", "main whole%3 part");
    assert_eq!(found.calls, counts(&[("main", 1), ("whole", 4), ("part", 4)]));
    assert_eq!(found.muted, counts(&[("whole", 6), ("part", 6)]));
    // A selected call that calls itself.
    let found = filtered("plain", "fibonacci%1000");
    assert_eq!(found.calls, counts(&[("fibonacci", 465)]));
}

#[test]
fn the_filter_records_calls_above_a_threshold() {
    let found = filtered("plain", "main>=1ns fibonacci>=100s whole");
    let [(caller, function, elapsed)] = &found.slow[..] else { panic!("{found:?}") };
    assert_eq!((&**caller, &**function), ("", "main"));
    assert!(*elapsed > 0);
    assert_eq!(found.calls, counts(&[("whole", 10)]));
    assert_eq!(found.callers["whole"], ["main"]);
    assert_eq!(found.muted, counts(&[("fibonacci", 465)]));
}

/// A jump out of calls that are not recorded does not mute the calls after it.
#[test]
fn a_jump_out_of_a_muted_call_ends_it() {
    let found = filtered("jump", "* thrower%1000 fall>=100s");
    assert_eq!(found.calls["wide"], 100, "{found:?}");
    assert_eq!((found.calls["thrower"], found.muted["thrower"]), (1, 99));
    // 100 falls from 0 to 6 deep.
    assert_eq!(found.muted["fall"], 100 + 14 * 21 + 1);
}

/// Functions that are not recorded show which calls have ended.
#[test]
fn a_jump_that_no_library_sees_ends_calls() {
    assert_eq!(recorded(&["-O1"], &["builtin"]).calls().left, 10);
    for filter in ["leaver", "leaver%1 builtin", "leaver%100 main"] {
        let found = filtered("builtin", filter);
        let [all, muted] = [&found.calls, &found.muted].map(|counts| counts.get("leaver"));
        assert_eq!(all.unwrap_or(&0) + muted.unwrap_or(&0), 10, "{filter}: {found:?}");
    }
}

#[test]
fn patterns_fit_the_symbols_and_the_paths_of_cxx() {
    for (filter, expected) in [
        (
            "shop::Basket::*",
            &["_ZN4shop6Basket3putEi", "_ZN4shop6BasketC2Ev", "_ZN4shop6BasketD2Ev"][..],
        ),
        ("_ZN4shop6Basket3putEi", &["_ZN4shop6Basket3putEi"]),
        ("*::~Basket", &["_ZN4shop6BasketD2Ev"]),
        ("shop::(anonymous*::hash", &["_ZN4shop12_GLOBAL__N_14hashEi"]),
        ("shop::fill main", &["_ZN4shop4fillINS_6BasketEEEiT_i", "main"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["-O2", "-Wl,--no-as-needed,-lstdc++"];
        let program = instrumented("functions.cc", folder.path(), &options);
        let found = chosen(&program, &[], folder, filter);
        assert_eq!(found.calls.keys().collect::<Vec<_>>(), expected, "{filter}");
    }
}

/// The hooks do nothing where malloc is recorded.
#[test]
fn malloc_is_recorded_instead_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented("functions.c", folder.path(), &[]);
    let mut command = recording(program, folder.path());
    command.arg("threads");
    let recorded = run(command, folder);
    let log = &recorded.logs()[&(recorded.process, 1)];
    assert!(log.registries().iter().all(|registry| &*registry.name != "calls"));
}
