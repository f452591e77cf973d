//! Threads that have several names: a recording of a program that prints the names of those that
//! waited for each other, and rows that name threads in another order than that of time.
//!
//! ```text
//!  tests/golden/waits/names.c ── a kernel's log, cut ──▶ Model, Names, Groups ┐
//!                             ── its own lines ───────────────────────────────┴─▶ the same
//! ```
//!
//! Design: `.waits.names` in `design/waits.md`.

use super::fixtures;
use super::made;

use eventlog::reader::Log;
use eventlog::writer::Origin;
use fixtures::golden;
use lens::waits::account::{account, lives_of, windows_of, windows_of_former};
use lens::waits::critical::Walker;
use lens::waits::model::{Cause, Model, NONE, Options, What};
use lens::waits::names::Names;
use lens::waits::output::Output;
use lens::waits::waited::{groups, waits_of};
use made::{Made, check_tiling, model_of};

/// Lines of the program: the thread that waited, the other one, ms.
fn truth() -> Vec<(String, String, f64)> {
    let text = String::from_utf8(golden("names.txt")).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [subject, whom, ms] = words[..] else { panic!("{line}") };
        (subject.to_owned(), whom.to_owned(), ms.parse().unwrap())
    };
    text.lines().map(line).collect()
}

fn recording() -> Model {
    let log = Log::from_source(golden("names.log.gz")).unwrap();
    let model = model_of(&log, &Options::default());
    check_tiling(&model);
    model
}

/// Returns a name without the number of the thread.
fn word(name: &str) -> &str {
    name.split(' ').next().unwrap()
}

#[test]
fn a_wait_has_the_names_that_its_threads_then_had() {
    let model = recording();
    let names = Names::new(&model);
    let windows = windows_of(&model, &lives_of(&model, "true"));
    let mut walker = Walker::new(&model, Options::default().grace);
    let waits = waits_of(&model, &windows, &mut walker).all;
    let all = groups(&model, &names, &waits, |_| [[0; 2]; 2]).all;
    for (subject, whom, ms) in truth() {
        let is_it = |group: &&lens::waits::waited::Group| {
            let [own, waker] = &group.bearers;
            group.key.cause == Cause::Thread
                && (word(&names.threads(own)), word(&names.threads(waker))) == (&*subject, &*whom)
        };
        let ns: u64 = all.iter().filter(is_it).map(|group| group.ns).sum();
        let told = ns as f64 / 1e6;
        assert!((told - ms).abs() <= 0.02 * ms, "{subject} {whom}: {told}, in truth {ms}");
    }
}

#[test]
fn time_belongs_to_the_name_under_which_it_was_taken() {
    let model = recording();
    let names = Names::new(&model);
    let windows = windows_of(
        &model,
        &windows_of_former(&model, "later").iter().map(|own| own.life).collect::<Vec<_>>(),
    );
    let mut walker = Walker::new(&model, Options::default().grace);
    let account = account(&model, &windows, &mut walker);
    for (_, whom, ms) in truth() {
        let is_it = |((life, at), _): &(&(u32, u32), &u64)| {
            let life = &model.lives[*life as usize];
            *life.former[*at as usize].1 == *whom.as_bytes()
        };
        let ns: u64 = account.former.iter().filter(is_it).map(|(_, ns)| *ns).sum();
        // The helper could run for a moment before, and has the name for a moment longer.
        let told = ns as f64 / 1e6;
        assert!(told >= 0.9 * ms, "{whom}: {told} of {ms}");
    }
    assert!(lives_of(&model, "server").is_empty(), "no thread has this name at its end");
    let [server] = windows_of_former(&model, "server")[..] else { panic!() };
    assert_eq!(word(&names.thread(server.life, server.from)), "server");
    assert_eq!(word(&names.thread(server.life, server.to)), "true");
    assert_eq!(word(&names.thread(server.life, server.from - 1)), "later");
}

/// `.waits.names`: the pages of one processor come after those of another one.
#[test]
fn names_that_come_in_another_order_hold_at_their_times() {
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &Origin::new()).unwrap();
    let switch =
        |prev, next| lens::waits::events::kernel::Switch { prev, next, state: 1, stack: 0 };
    out.begin_at(1);
    for (cpu, at, name) in [(0, 10, "a"), (0, 50, "b"), (0, 90, "b"), (1, 20, "a"), (1, 30, "b")] {
        out.thread(at, 7, 7, name.as_bytes()).unwrap();
        out.add(cpu, at, &switch(0, 7)).unwrap();
        out.add(cpu, at + 5, &switch(7, 0)).unwrap();
    }
    out.finish().unwrap();
    let model = model_of(&Log::from_source(bytes).unwrap(), &Options::default());
    let life = &model.lives[0];
    // The log begins at 10.
    let told: Vec<&[u8]> = [0, 10, 19, 20, 40, 80].map(|at| life.name_at(at).1).into();
    assert_eq!(told, [b"a", b"a", b"a", b"b", b"b", b"b"], "{life:?}");
    assert_eq!(life.former.len(), 1);
}

/// `.waits.names`: without a row of the change, a switch tells the name of the run before it.
#[test]
fn a_name_that_a_switch_tells_was_given_in_the_run_before() {
    for (has_call, since) in [(false, 30), (true, 40)] {
        let mut made = Made::new();
        made.switch(0, 10, 0, 1, 0).name(10, 1, 1, "old").switch(0, 20, 1, 0, 1);
        made.switch(0, 30, 0, 1, 0);
        if has_call {
            made.call(0, 40, 1, 157, 15).done(0, 41, 1, 157);
        }
        made.name(60, 1, 1, "new").switch(0, 60, 1, 0, 1).switch(0, 70, 0, 2, 0);
        let model = made.model();
        assert_eq!(model.lives[0].former, [(since, b"old"[..].into())]);
    }
}

#[test]
fn the_whole_name_of_a_program_is_kept() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).name(10, 1, 1, "sh");
    let path = b"/bin/a-program-with-a-long-name";
    made.add(0, 50, lens::waits::events::kernel::Exec { thread: 1, was: 1, path });
    made.name(90, 1, 1, "a-program-with-").switch(0, 90, 1, 0, 1).switch(0, 95, 0, 2, 0);
    let model = made.model();
    assert_eq!(&*model.lives[0].name, b"a-program-with-a-long-name");
    assert_eq!(model.lives[0].former, [(50, b"sh"[..].into())]);
    let names = Names::new(&model);
    assert_eq!(names.thread(0, 49), "sh (1)");
    assert_eq!(names.thread(NONE, 49), "an unknown thread");
    assert!(model.stretches.iter().any(|own| own.what == What::Run && own.is_exec));
}
