//! What the calls of each form of function leave in the log.
//!
//! ```text
//!  a process: calls ─▶ mpsio.log ─▶ CallEnter sell main ─ CallLeave sell ─ …
//! ```
//!
//! Design: `.calls.record`, `.calls.traced` in `design/calls.md`.
#![forbid(unsafe_code)]

mod common;

use calls::traced;
use common::{ON, each, lines, lines_of_one, ran, sources};
use eventlog::reader::marks::{Form, Marks};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[traced]
mod shop {
    pub(crate) struct Shop<T> {
        pub(crate) sold: Vec<T>,
    }

    impl<T: Clone> Shop<T> {
        pub(crate) fn sell(&mut self, article: &T, count: u32) -> Option<u32> {
            let price = price(count)?;
            self.sold.push(article.clone());
            Some(price)
        }
    }

    impl<T> std::fmt::Debug for Shop<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.sold.len())
        }
    }

    /// The naked price.
    fn price(count: u32) -> Option<u32> {
        if count == 0 {
            return None;
        }
        Some(count * 3)
    }

    pub(crate) trait Counted {
        fn count(&self) -> usize;
        fn is_empty(&self) -> bool {
            self.count() == 0
        }
    }

    impl<T> Counted for Shop<T> {
        fn count(&self) -> usize {
            self.sold.len()
        }
    }

    pub(crate) const fn constant() -> u32 {
        7
    }

    #[cfg_attr(unix, calls::traced(skip))]
    pub(crate) fn skipped() -> u32 {
        8
    }

    pub(crate) mod cellar {
        #[cfg_attr(unix, calls::traced)]
        pub(crate) fn depth(of: u32) -> u32 {
            if of == 0 { 0 } else { depth(of - 1) + 1 }
        }
    }

    pub(crate) fn generic<T: std::fmt::Debug>(value: T) -> String {
        format!("{value:?}")
    }

    #[expect(dead_code, reason = "a function that is never called")]
    pub(crate) fn never_called<T>(_: T) -> u32 {
        9
    }
}

fn plain(shop: &mut shop::Shop<u8>) -> u32 {
    use shop::Counted;
    assert_eq!(shop.sell(&1, 0), None);
    assert_eq!(shop.sell(&1, 2), Some(6));
    assert!(!shop.is_empty());
    assert_eq!(format!("{shop:?}"), "1");
    shop::constant() + shop::skipped() + shop::cellar::depth(2)
}

#[test]
fn calls_are_recorded_with_their_callers() {
    let what = || assert_eq!(plain(&mut shop::Shop { sold: Vec::new() }), 17);
    let Some(ran) = ran("calls_are_recorded_with_their_callers", &[ON], what) else { return };
    let (sell, fmt) = ("shop::Shop<_>::sell", "<shop::Shop<_> as core::fmt::Debug>::fmt");
    let (empty, count) = ("shop::Counted::is_empty", "<shop::Shop<_> as shop::Counted>::count");
    let depth = "shop::cellar::depth";
    let expected = [
        &*format!("CallEnter {sell} -"),
        &*format!("CallEnter shop::price {sell}"),
        "CallLeave shop::price",
        &*format!("CallLeave {sell}"),
        &*format!("CallEnter {sell} -"),
        &*format!("CallEnter shop::price {sell}"),
        "CallLeave shop::price",
        &*format!("CallLeave {sell}"),
        &*format!("CallEnter {empty} -"),
        &*format!("CallEnter {count} {empty}"),
        &*format!("CallLeave {count}"),
        &*format!("CallLeave {empty}"),
        &*format!("CallEnter {fmt} -"),
        &*format!("CallLeave {fmt}"),
        &*format!("CallEnter {depth} -"),
        &*format!("CallEnter {depth} {depth}"),
        &*format!("CallEnter {depth} {depth}"),
        &*format!("CallLeave {depth}"),
        &*format!("CallLeave {depth}"),
        &*format!("CallLeave {depth}"),
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

/// All functions of the program are known, called or not, with their places.
#[test]
fn the_log_knows_functions_that_are_never_called() {
    let what = || assert_eq!(shop::generic(1) + &shop::generic("a"), "1\"a\"");
    let test = "the_log_knows_functions_that_are_never_called";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let log = ran.log();
    let calls = lines_of_one(&log);
    assert_eq!(calls.iter().filter(|line| *line == "CallEnter shop::generic -").count(), 2);
    let sources = sources(&log);
    let names: Vec<&str> = sources.keys().map(|name| &**name).collect();
    for name in ["shop::generic", "shop::never_called", "shop::price", "shop::Shop<_>::sell"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["shop::constant", "shop::skipped"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
    let text = include_str!("record.rs");
    for (name, (file, [line, column, offset, size])) in &sources {
        assert!(file.ends_with("calls/tests/record.rs"), "{file}");
        let (offset, size) = (*offset as usize, *size as usize);
        let function = &text[offset..offset + size];
        let is_method = name.rsplit("::").next().unwrap();
        let begins = [format!("fn {is_method}"), format!("async fn {is_method}")];
        assert!(begins.iter().any(|begin| function.starts_with(begin)), "{name}: {function}");
        assert!(function.ends_with('}'), "{name}: {function}");
        let before = &text[..offset];
        assert_eq!(before.lines().count() as u64 + u64::from(before.ends_with('\n')), *line);
        let in_line = before.rsplit('\n').next().unwrap();
        assert_eq!(in_line.chars().count() as u64 + 1, *column, "{name}");
    }
}

/// The marks of the registry: a call is a slice with the name of its function.
#[test]
fn the_registry_declares_slices_named_by_functions() {
    let what = || assert_eq!(shop::cellar::depth(0), 0);
    let test = "the_registry_declares_slices_named_by_functions";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let log = ran.log();
    let marks = Marks::of(log.registries());
    let mut found = Vec::new();
    each(&log, |event| {
        let role = marks.role(event);
        if let Some(side) = role.part.filter(|_| &*event.registry.name == "calls") {
            let pair = &marks.pairs[side.pair as usize];
            found.push((pair.form, side.is_end, side.has_key(), role.name));
        }
    });
    let expected = [(Form::Slice, false, true, Some(0)), (Form::Slice, true, true, None)];
    assert_eq!(found, expected);
}

/// The number of calls, which `CALLS_COUNT` makes more.
fn call_count() -> u64 {
    std::env::var("CALLS_COUNT").map_or(1_000_000, |count| count.parse().unwrap())
}

/// Makes that number of calls. The second half takes no more memory than the first.
fn many() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let count = call_count();
    // The first half also changes the files.
    (0..count / 2).for_each(|_| drops());
    let before = resident();
    (count / 2..count).for_each(|_| drops());
    let more = resident().saturating_sub(before);
    assert!(more < 1 << 20, "{more} bytes more");
    assert_eq!(telemetry::losses().recorded, 2 * count);
}

/// T3: memory stays bounded, however many calls a log keeps (`.ring.kept`). All are in the file.
#[test]
fn memory_stays_bounded_where_all_calls_are_kept() {
    let test = "memory_stays_bounded_where_all_calls_are_kept";
    let ring = ("MPS_TELEMETRY_FILENAME", "ring:calls.log?size=2M&keep=all");
    let Some(ran) = ran(test, &[ON, ring], many) else { return };
    let log = ran.log_named("calls.log");
    let mut found = 0;
    for account in log.accounts() {
        assert_eq!((account.overwritten, account.lost), (0, 0));
        let is_of_calls = &*log.registries()[account.registry as usize].name == "calls";
        found += if is_of_calls { account.found } else { 0 };
    }
    assert_eq!(found, 2 * call_count());
}

/// T3: memory and disk stay bounded, however many calls there are.
#[test]
fn memory_and_disk_stay_bounded() {
    let bounded = ("MPS_TELEMETRY_FILENAME", "file:calls.log?size=2M&count=3");
    let Some(ran) = ran("memory_and_disk_stay_bounded", &[ON, bounded], many) else { return };
    let size = |name: &String| std::fs::metadata(ran.folder.path().join(name)).unwrap().len();
    let files = ran.files();
    assert_eq!(files, ["calls.log", "calls.log.1", "calls.log.2"]);
    assert!(files.iter().map(size).sum::<u64>() <= 3 * (2 << 20));
    // Each file knows the functions.
    for name in &files {
        assert!(sources(&ran.log_named(name)).contains_key("drops"), "{name}");
    }
}

#[traced]
fn fails(depth: u32) -> u32 {
    if depth == 0 {
        panic!("on purpose");
    }
    fails(depth - 1)
}

#[traced]
fn drops() {}

/// Calls a traced function when it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        drops();
    }
}

#[traced]
fn catches() {
    let _dropped = Dropped;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let _dropped = Dropped;
        fails(1)
    }));
    assert!(failed.is_err());
}

#[test]
fn a_panic_is_recorded_in_each_function_it_unwinds() {
    let test = "a_panic_is_recorded_in_each_function_it_unwinds";
    let Some(ran) = ran(test, &[ON], catches) else { return };
    let expected = [
        "CallEnter catches -",
        "CallEnter fails catches",
        "CallEnter fails fails",
        "CallUnwind fails",
        "CallLeave fails",
        "CallUnwind fails",
        "CallLeave fails",
        "CallEnter drops catches",
        "CallLeave drops",
        "CallEnter drops catches",
        "CallLeave drops",
        "CallLeave catches",
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

#[traced]
fn leaves() -> ! {
    drops();
    std::process::exit(0)
}

/// T5: a call that is open at the end has no CallLeave.
#[test]
fn a_call_open_at_the_exit_stays_open() {
    let test = "a_call_open_at_the_exit_stays_open";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        leaves();
    }
    let folder = tempfile::tempdir().unwrap();
    let status = common::command(test, &[ON]).current_dir(folder.path()).output().unwrap().status;
    assert!(status.success());
    let expected = ["CallEnter leaves -", "CallEnter drops leaves", "CallLeave drops"];
    assert_eq!(lines_of_one(&common::open(&folder.path().join("mpsio.log"))), expected);
}

#[test]
fn a_call_in_a_thread_has_no_caller_in_another() {
    let what = || {
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| shop::cellar::depth(1))).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 1));
    };
    let test = "a_call_in_a_thread_has_no_caller_in_another";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let threads = lines(&ran.log());
    assert_eq!(threads.len(), 4);
    let depth = "shop::cellar::depth";
    for lines in threads.into_values() {
        assert_eq!(lines[0], format!("CallEnter {depth} -"));
        assert_eq!(lines[1], format!("CallEnter {depth} {depth}"));
        assert_eq!(lines.len(), 4);
    }
}

/// T6: calls that are not enabled leave no file.
#[test]
fn calls_that_are_off_leave_no_file() {
    let what = || {
        assert_eq!(plain(&mut shop::Shop { sold: Vec::new() }), 17);
        assert_eq!(telemetry::losses(), telemetry::Losses::default());
    };
    let Some(ran) = ran("calls_that_are_off_leave_no_file", &[], what) else { return };
    assert_eq!(ran.files(), [""; 0]);
    assert_eq!(ran.said(), [""; 0]);
}

/// A flight recorder: calls in memory, without a log.
#[test]
fn calls_can_be_recorded_in_memory_alone() {
    let what = || {
        calls::control().set_recorded(calls::events::Kinds::Call);
        drops();
        let losses = telemetry::losses_of(&calls::events::CONTROL, calls::events::Kinds::Call);
        assert_eq!((losses.requested, losses.recorded), (2, 2));
    };
    let Some(ran) = ran("calls_can_be_recorded_in_memory_alone", &[], what) else { return };
    assert_eq!(ran.files(), [""; 0]);
}

/// Calls are recorded from the moment when their kind is output, until it no longer is.
#[test]
fn calls_are_recorded_while_their_kind_is_output() {
    let what = || {
        let control = telemetry::control::of(&calls::events::CONTROL);
        drops();
        assert_eq!(control.recorded(), calls::events::Kinds::empty());
        control.set_output(calls::events::Kinds::Call);
        drops();
        control.reset_output(calls::events::Kinds::Call);
        drops();
        control.set_recorded(calls::events::Kinds::Call);
        drops();
        control.set_output(calls::events::Kinds::Call);
    };
    let test = "calls_are_recorded_while_their_kind_is_output";
    let Some(ran) = ran(test, &[], what) else { return };
    let expected = ["CallEnter drops -", "CallLeave drops"].repeat(2);
    assert_eq!(lines_of_one(&ran.log()), expected);
}

/// T17: the log has the calls of the program alone, and no row of the recorder's own work, which
/// also begins in a first call and in a thread that flushes.
#[test]
fn the_recorder_has_no_rows_of_its_own() {
    let test = "the_recorder_has_no_rows_of_its_own";
    let what = || {
        let words = "+TURTLES -enabled -intervalMillis 1 -TURTLES";
        let released = calls::release(&mut words.split(' ').map(Into::into).collect());
        for _ in 0..20 {
            drops();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(released);
    };
    let Some(ran) = ran(test, &[], what) else { return };
    let [name] = &ran.files()[..] else { panic!("{:?}", ran.files()) };
    let log = ran.log_named(name);
    let expected = ["CallEnter drops -", "CallLeave drops"].repeat(20);
    assert_eq!(lines_of_one(&log), expected);
    // No function of the recorder is known either.
    let known = sources(&log);
    assert!(known.values().all(|(file, _)| file.ends_with("record.rs")), "{known:?}");
}

/// T18: the interval of an empty call lacks a part of what its recording costs, since the counter
/// is read late at the beginning, and early at the end.
#[test]
fn the_recording_lies_in_part_outside_of_the_interval() {
    const COUNT: u64 = 20_000;
    let test = "the_recording_lies_in_part_outside_of_the_interval";
    let Some(ran) = ran(test, &[ON], || (0..COUNT).for_each(|_| drops())) else { return };
    let mut ticks = Vec::new();
    each(&ran.log(), |event| {
        if &*event.registry.name == "calls" {
            ticks.push(event.ticks);
        }
    });
    assert_eq!(ticks.len() as u64, 2 * COUNT);
    // The median of what passes from one beginning to the next, and of what the interval has of it.
    let mut inner: Vec<u64> = ticks.chunks(2).map(|pair| pair[1] - pair[0]).collect();
    let mut all: Vec<u64> = ticks.windows(3).step_by(2).map(|three| three[2] - three[0]).collect();
    inner.sort_unstable();
    all.sort_unstable();
    let [inner, all] = [inner, all].map(|times| times[times.len() / 2]);
    assert!(inner * 10 <= all * 8, "{inner} of {all} ticks");
}

/// T21: what was flushed is in the file; a call that is not finished is in memory alone until then.
#[test]
fn flushed_calls_are_in_the_file() {
    #[traced]
    fn flushes() {
        drops();
        telemetry::flush();
        let path = std::env::current_dir().unwrap().join("mpsio.log");
        let function = "flushed_calls_are_in_the_file::flushes";
        let begin = format!("CallEnter {function} -");
        let expected = [&*begin, &*format!("CallEnter drops {function}"), "CallLeave drops"];
        assert_eq!(lines_of_one(&common::open(&path)), expected);
        drops();
        assert_eq!(lines_of_one(&common::open(&path)), expected);
    }
    let Some(ran) = ran("flushed_calls_are_in_the_file", &[ON], flushes) else { return };
    assert_eq!(lines_of_one(&ran.log()).len(), 6);
}

/// T25: a program that records calls links these crates, and no other.
#[test]
fn the_dependencies_are_few() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "-p", "mps-calls", "-e", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--format", "{p}", "--target", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    let names: std::collections::BTreeSet<&str> =
        text.lines().filter_map(|line| line.split(' ').next()).collect();
    let ours = ["mps-calls", "mps-eventdef", "mps-eventlog", "mps-telemetry"];
    let others = ["bitflags", "bytemuck", "crc32c", "libc"];
    assert_eq!(names, ours.into_iter().chain(others).collect());
}

/// T27: a function has the path of its definition, whatever the name of an import by which it is
/// called; methods of nested impls too.
#[test]
fn a_function_has_the_path_of_its_origin() {
    use shop::Counted as Alias;
    use shop::cellar::depth as renamed;
    #[traced]
    fn outer() -> usize {
        struct Local;
        #[traced]
        impl Alias for Local {
            fn count(&self) -> usize {
                renamed(0) as usize
            }
        }
        let count: fn(&Local) -> usize = Alias::count;
        count(&Local)
    }
    let test = "a_function_has_the_path_of_its_origin";
    let Some(ran) = ran(test, &[ON], || assert_eq!(outer(), 0)) else { return };
    let outer = format!("{test}::outer");
    let local = format!("<{outer}::Local as shop::Counted>::count");
    let expected = [
        format!("CallEnter {outer} -"),
        format!("CallEnter {local} {outer}"),
        format!("CallEnter shop::cellar::depth {local}"),
        "CallLeave shop::cellar::depth".to_owned(),
        format!("CallLeave {local}"),
        format!("CallLeave {outer}"),
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}
