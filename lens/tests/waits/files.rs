//! File numbers that are several files, threads of one name, delay: recordings of programs that
//! print what they measured themselves.
//!
//! ```text
//!  tests/golden/waits/files.c ── a kernel's log, cut ──▶ Model, Names, Groups ┐
//!                             ── its own lines ───────────────────────────────┴─▶ the same
//! ```
//!
//! Design: `.waits.files`, `.waits.answer` in `design/waits.md`.

use super::fixtures;
use super::made;

use eventdef::field::A;
use eventlog::reader::{Clock, Filter, Log, Order};
use fixtures::golden;
use lens::waits::account::windows_of;
use lens::waits::critical::{Share, Walker};
use lens::waits::delay::{Holder, Ready, holders};
use lens::waits::events::kernel::*;
use lens::waits::model::{Cause, Model, Options, What};
use lens::waits::names::Names;
use lens::waits::waited::{Group, groups, waits_of};
use made::{ASLEEP, HARD, Made, account_of, check_tiling, life, model_of};
use std::collections::BTreeMap;

/// Returns the words of the lines that begin so.
fn lines(kind: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(golden("files.txt")).unwrap();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(words).filter(|words| words[0] == kind).collect()
}

fn log(name: &str) -> Log {
    Log::from_source(golden(&format!("{name}.log.gz"))).unwrap()
}

fn recording(name: &str) -> Model {
    let model = model_of(&log(name), &Options::default());
    check_tiling(&model);
    model
}

/// Returns the last life of a name.
fn named(model: &Model, name: &str) -> u32 {
    let is_it = |life: &lens::waits::model::Life| *life.name == *name.as_bytes();
    model.lives.iter().rposition(is_it).unwrap() as u32
}

fn groups_of(model: &Model, life: u32) -> Vec<Group> {
    let windows = windows_of(model, &[life]);
    let mut walker = Walker::new(model, Options::default().grace);
    let waits = waits_of(model, &windows, &mut walker).all;
    groups(model, &Names::new(model), &waits, |_| [[0; 2]; 2]).all
}

/// Returns the time that a thread waited in fsync, by the last part of the path, in ms.
fn synced(model: &Model, thread: &str) -> BTreeMap<String, f64> {
    let names = Names::new(model);
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (_, own) in model.of_life(named(model, thread)) {
        if own.what == What::Wait && names.call(own).as_deref() == Some("fsync") {
            let path = names.object(own).unwrap();
            let last = path.rsplit('/').next().unwrap().to_owned();
            *sums.entry(last).or_default() += own.ns() as f64 / 1e6;
        }
    }
    sums
}

#[test]
fn a_wait_for_a_file_names_what_its_number_then_was() {
    let model = recording("files");
    for thread in ["numbers", "copies", "child"] {
        let told = synced(&model, thread);
        let lines: Vec<_> = lines("fsync").into_iter().filter(|own| own[1] == thread).collect();
        let truth: Vec<f64> = lines.iter().map(|own| own[3].parse().unwrap()).collect();
        let (all, all_told) = (truth.iter().sum::<f64>(), told.values().sum::<f64>());
        let mut unknown = 0.0;
        for (own, truth) in lines.iter().zip(truth) {
            let percent = 100.0 * truth / all;
            // No look came while a file was open for a moment.
            let of = told.get(&own[2]).copied().unwrap_or_else(|| {
                assert!(truth < 15.0, "{own:?} {told:?}");
                unknown += percent;
                0.0
            });
            let of = 100.0 * of / all_told;
            assert!(of == 0.0 || (percent - of).abs() <= 2.0, "{thread} {own:?}: {told:?}");
        }
        let is_unknown = |path: &&String| path.ends_with(" of unknown path");
        let count = told.keys().filter(is_unknown).count();
        let known = lines.iter().filter(|own| told.contains_key(&own[2])).count();
        assert_eq!(told.len(), known + count, "no other file is named: {told:?}");
        assert_eq!(count > 0, unknown > 0.0, "{told:?}");
    }
}

/// A process (1) waits in fsync of the file 3 for 10 µs from each of these times on.
fn syncing(times: &[u64], told: impl Fn(&mut Made)) -> Vec<String> {
    let mut made = Made::new();
    made.there(5, 1, 1, ASLEEP).name(5, 1, 1, "one").switch(0, 10, 0, 1, 0);
    told(&mut made);
    for at in times {
        made.call(0, *at, 1, 74, 3).switch(0, at + 1, 1, 0, ASLEEP);
        made.waking(0, at + 10_000, 0, 1, HARD).switch(0, at + 10_001, 0, 1, 0);
        made.done(0, at + 10_002, 1, 74);
    }
    let (model, mut found) = (made.model(), Vec::new());
    let names = Names::new(&model);
    for (_, own) in model.of_life(life(&model, 1)) {
        if names.call(own).as_deref() == Some("fsync") {
            found.push(names.object(own).unwrap().trim_end_matches(" of unknown path").to_owned());
        }
    }
    found
}

#[test]
fn what_no_row_tells_of_a_file_number_is_unknown() {
    const MS: u64 = 1_000_000;
    let open = |made: &mut Made, at: u64, file: usize| {
        made.call(0, at - 10, 1, 257, 0);
        made.add(0, at, SyscallDone { thread: 1, call: 257, result: file });
    };
    let look = |made: &mut Made, at: u64, path: &'static [u8]| {
        made.add(0, at, OpenFile { process: 1, file: 3, path });
    };
    // Opened before the log; closed and opened again without a look.
    let found = syncing(&[MS, 5 * MS], |made| {
        look(made, 2 * MS, b"/a");
        made.call(0, 3 * MS, 1, 3, 3).done(0, 3 * MS + 5, 1, 3);
        open(made, 4 * MS, 3);
    });
    assert_eq!(found, ["/a", "file 3"]);
    // A look that comes later holds from the opening on, and not before.
    let found = syncing(&[MS, 5 * MS, 7 * MS], |made| {
        open(made, 4 * MS, 3);
        look(made, 6 * MS, b"/b");
    });
    assert_eq!(found, ["file 3", "/b", "/b"]);
    // The kernel lost rows; another program; a copy over it.
    for case in 0..3 {
        let found = syncing(&[MS, 5 * MS, 7 * MS], |made| {
            look(made, MS / 2, b"/a");
            match case {
                0 => {
                    made.lost(1, 3 * MS, 4 * MS);
                }
                1 => {
                    made.add(0, 4 * MS, Exec { thread: 1, was: 1, path: b"/bin/x" });
                }
                _ => {
                    let row = Syscall { thread: 1, call: 33, object: A(9), value: 3 };
                    made.add(0, 4 * MS, row);
                    made.add(0, 4 * MS + 9, SyscallDone { thread: 1, call: 33, result: 3 });
                }
            }
            look(made, 6 * MS, b"/c");
        });
        // After a loss, a look holds from the loss on; after the others, from them on.
        assert_eq!(found, ["/a", "/c", "/c"], "{case}");
    }
    // /proc tells another path, and no row tells when it changed.
    let found = syncing(&[MS, 5 * MS, 7 * MS], |made| {
        look(made, 2 * MS, b"/a");
        look(made, 6 * MS, b"/b");
    });
    assert_eq!(found, ["/a", "file 3", "/b"]);
    // A socket that gets an address stays the same one.
    let found = syncing(&[MS, 5 * MS, 7 * MS], |made| {
        look(made, 2 * MS, b"socket:[7]");
        look(made, 6 * MS, b"socket:[7] udp 127.0.0.1:5");
    });
    assert_eq!(found, ["udp 127.0.0.1:5"; 3]);
    // A process with the same number.
    let found = syncing(&[5 * MS], |made| {
        look(made, MS, b"/a");
        made.exit(0, 2 * MS, 1).switch(0, 2 * MS + 1, 1, 0, made::ENDED);
        made.fork(1, 3 * MS, 9, 1, 1).switch(0, 3 * MS + 1, 0, 1, 0);
    });
    assert_eq!(found, ["file 3"]);
}

#[test]
fn threads_of_one_name_are_one_waker() {
    let model = recording("files");
    let [_, asker, helper, count, waited] = &lines("pool")[0][..] else { panic!() };
    let asker = named(&model, asker);
    let names = Names::new(&model);
    let all = groups_of(&model, asker);
    let own = |group: &&Group| group.key.cause == Cause::Thread && group.bearers[1].len() > 1;
    let group = all.iter().find(own).unwrap();
    assert_eq!(names.threads(&group.bearers[1]), format!("{count} × {helper}"));
    assert_eq!(group.bearers[0], [names.bearer(asker, u64::MAX)]);
    let (ms, waited): (f64, f64) = (group.ns as f64 / 1e6, waited.parse().unwrap());
    assert!(ms <= waited && ms >= 0.8 * waited, "{ms} of {waited}");
    let rest: u64 = all.iter().filter(|own| own.key.cause == Cause::Thread).map(|g| g.ns).sum();
    assert!(group.ns * 100 >= rest * 90, "{all:?}");
}

/// Returns the time of the last call of `read` of a thread.
fn last_read(log: &Log, thread: u32) -> u64 {
    let (clock, mut found) = (Clock::new(log), 0);
    log.events(Order::Time, &Filter::new().event("Syscall")).each(|event| {
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        if number("thread") == Some(thread.into()) && number("call") == Some(0) {
            found = clock.ns(event.stream, event.ticks);
        }
    });
    found
}

#[test]
fn a_ready_thread_tells_who_had_its_processor() {
    let (log, model) = (log("files"), recording("files"));
    let [_, writer, hog, delay] = &lines("delay")[0][..] else { panic!() };
    let writer = named(&model, writer);
    let windows = windows_of(&model, &[writer]);
    let mut walker = Walker::new(&model, Options::default().grace);
    let waits = waits_of(&model, &windows, &mut walker).all;
    // It read its truth by its last call of `read`.
    let told = last_read(&log, model.lives[writer as usize].thread);
    let before =
        |waited: &&lens::waits::waited::Waited| model.stretch(waited.place).unwrap().begin < told;
    let ready = waits.iter().filter(before).map(|waited| {
        let wait = model.stretch(waited.place).unwrap();
        let from = wait.woken.max(wait.begin);
        Ready { cpu: waited.cpu, from, to: wait.end, life: writer, of: 0 }
    });
    let delays: u64 = waits.iter().filter(before).map(|waited| waited.delay).sum();
    let found = &holders(&model, ready.collect(), 1, |life, _| life)[0];
    let has = |life: u32| found.contains_key(&Holder::Thread(life));
    let (told, truth): (f64, f64) = (delays as f64 / 1e6, delay.parse().unwrap());
    assert!((told - truth).abs() <= 0.02 * truth, "{told} {truth}");
    assert!(has(named(&model, hog)) && !has(writer), "{found:?}");
    let had: u64 = found.values().sum();
    assert!(had <= delays && had * 100 >= delays * 90, "{had} of {delays}: {found:?}");
}

#[test]
fn a_sleep_without_rows_of_timers_is_unknown() {
    let model = recording("sleep");
    assert!(!model.has.timers && !model.has.calls);
    let account = account_of(&model, "sleep");
    let ms = |share: Share| account.shares[share as usize].ns as f64 / 1e6;
    assert!(ms(Share::Unknown) >= 490.0, "{account:?}");
    assert!(ms(Share::Hardware) < 1.0, "{account:?}");
}

#[test]
fn a_sleep_whose_call_is_known_is_one_without_timers() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).call(0, 50, 1, 35, 0).switch(0, 60, 1, 0, ASLEEP);
    made.waking(0, 9000, 0, 1, HARD).switch(0, 9010, 0, 1, 0);
    let model = made.model();
    let all = model.of_life(life(&model, 1));
    assert_eq!(all.iter().rfind(|(_, own)| own.what == What::Wait).unwrap().1.cause, Cause::Slept);
}
