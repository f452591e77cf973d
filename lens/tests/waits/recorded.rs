//! The promises of a systemic profiler, on recordings: programs print their own truth, or the rows
//! of the recording are counted one by one.
//!
//! ```text
//!  tests/golden/waits/{paths,names,files,peers}.c ── a kernel's log, cut ──▶ Model, account ┐
//!                             their own lines, the rows of the log ───────────────────────┴─▶ same
//! ```
//!
//! The numbers of the tests are those of the promises, as in `rows.rs`. Design: `.waits.rows` in
//! `design/waits.md`.

use super::fixtures;
use super::made;

use eventlog::reader::{Clock, Filter, Log, Order};
use fixtures::golden;
use lens::waits::account::{Account, Window, account, windows_of_former};
use lens::waits::critical::{Piece, Share, Walker};
use lens::waits::model::{Cause, Life, Link, Model, NONE, Options, Stretch, What};
use lens::waits::names::Names;
use lens::waits::waited::{Waited, waits_of};
use made::{account_of, check_paths, check_tiling, life, model_of, parts_of, stacks_of};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Recordings of the whole system, by `waits record`.
const ALL: [&str; 7] = ["paths", "names", "ends", "files", "peers", "veth", "lodger.kernel"];

fn log(name: &str) -> Log {
    Log::from_source(golden(&format!("{name}.log.gz"))).unwrap()
}

fn recording(name: &str) -> Model {
    model_of(&log(name), &Options::default())
}

/// A row: its time, its type, its numbers.
type Row = (u64, String, HashMap<String, u64>);

/// Thread and time of the insert and of the issue of an operation.
type Stages = [Option<(u64, u64)>; 2];

/// Returns the rows of a recording in order of time.
fn rows(name: &str) -> Vec<Row> {
    let log = log(name);
    let clock = Clock::new(&log);
    let mut events = log.events(Order::Time, &Filter::default());
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        let numbers = event
            .params()
            .filter_map(|(param, value)| Some((param.name.to_string(), value.as_u64()?)));
        let ns = clock.ns(event.stream, event.ticks);
        found.push((ns, event.name().to_owned(), numbers.collect()));
    }
    found
}

/// The lines of `paths`: the time in ms that the thread of each scene waited, and that of the work.
fn truth() -> BTreeMap<String, (f64, f64)> {
    let text = String::from_utf8(golden("paths.txt")).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, subject, waited, work] = words[..] else { panic!("{line}") };
        (subject.to_owned(), (waited.parse().unwrap(), work.parse().unwrap()))
    };
    text.lines().map(line).collect()
}

/// A scene of `paths`: the pieces of the wait of its asker, and their account.
struct Scene {
    pieces: Vec<Piece>,
    account: Account,
    tries: u32,
    waited: f64,
    work: f64,
}

fn scene(model: &Model, subject: &str) -> Scene {
    // The asker is the first thread; the names follow each other, the last one stays.
    let is_asker = |own: &Window| {
        model.lives[own.life as usize].process == model.lives[own.life as usize].thread
    };
    let leader = (0..).zip(&model.lives).find(|(_, own)| *own.name == *b"tri-a").unwrap().0;
    let window = windows_of_former(model, subject).into_iter().find(is_asker);
    let own = &model.lives[leader as usize];
    let last = own.former.last().unwrap().0;
    let window = window.unwrap_or(Window { life: leader, from: last, to: own.end });
    let mut walker = Walker::new(model, Options::default().grace);
    let waits = waits_of(model, &[window], &mut walker).all;
    let (waited, work) = truth()[subject];
    // Of the calls that wait for an answer, the longest.
    let is_answer = |own: &&Waited| {
        let call = model.call_name(model.stretches[own.place as usize].call);
        matches!(call, Some("read" | "poll"))
    };
    let wait = waits.iter().filter(is_answer).max_by_key(|own| own.ns).unwrap();
    let (from, to) = (wait.begin, model.stretches[wait.place as usize].end);
    let ms = (to - from) as f64 / 1e6;
    assert!((ms - waited).abs() <= 0.02 * waited, "{subject}: {ms}, in truth {waited}");
    let window = Window { life: window.life, from, to };
    let mut pieces = Vec::new();
    walker.walk(window.life, from, to, |piece| pieces.push(*piece));
    let account = account(model, &[window], &mut walker);
    Scene { pieces, account, tries: wait.tries, waited, work }
}

/// Returns the time in ms of the threads whose last or former name this is.
fn owned(model: &Model, account: &Account, name: &str) -> f64 {
    let has = |life: u32| {
        let life = &model.lives[life as usize];
        *life.name == *name.as_bytes()
    };
    let ns: u64 = account.owners.iter().filter(|(life, _)| has(**life)).map(|(_, ns)| *ns).sum();
    ns as f64 / 1e6
}

fn share(account: &Account, share: Share) -> f64 {
    account.shares[share as usize].ns as f64 / 1e6
}

#[test]
fn strangers_that_ran_meanwhile_own_nothing() {
    for (name, target) in [("names", "true"), ("paths", "tri-a")] {
        let model = recording(name);
        let account = account_of(&model, target);
        let of = processes_of(&model, target);
        let is_own = |own: &Life| {
            let parent = model.life(own.parent).map_or(0, |own| own.process);
            of.contains(&own.process) || of.contains(&parent)
        };
        let all = (0..).zip(&model.lives);
        let own: BTreeSet<u32> = all.filter(|(_, own)| is_own(own)).map(|(at, _)| at).collect();
        let mut strangers = 0;
        for run in model.stretches.iter().filter(|own| own.what == What::Run) {
            strangers += u64::from(!own.contains(&run.life)) * run.ns();
        }
        assert!(strangers > 20_000_000, "{name}: {strangers}");
        for life in account.owners.keys() {
            // The tool made the first thread.
            let is_maker = model.lives[own.first().copied().unwrap() as usize].parent == *life;
            assert!(own.contains(life) || is_maker, "{name}: {:?}", model.lives[*life as usize]);
        }
    }
}

/// Returns the processes whose first thread has this name.
fn processes_of(model: &Model, name: &str) -> BTreeSet<u32> {
    let leads = model.lives.iter().filter(|own| own.thread == own.process);
    leads.filter(|own| *own.name == *name.as_bytes()).map(|own| own.process).collect()
}

#[test]
fn stretches_of_recordings_tile_the_time_of_each_thread() {
    for name in ALL {
        let model = recording(name);
        check_tiling(&model);
        assert!(model.stretches.len() > 200, "{name}");
        for at in 0..model.lives.len() as u32 {
            let all = model.of_life(at);
            for pair in all.windows(2) {
                let [(_, one), (_, other)] = pair else { panic!() };
                let is_run = |own: &Stretch| own.what == What::Run;
                // Only an exec parts two runs.
                assert!(!(is_run(one) && is_run(other)) || other.is_exec, "{name}: {pair:?}");
            }
        }
    }
}

#[test]
fn an_exec_parts_a_run_where_its_row_is() {
    for name in ["names", "paths", "files"] {
        let model = recording(name);
        let execs: Vec<Row> = rows(name).into_iter().filter(|row| row.1 == "Exec").collect();
        assert!(execs.len() > 1);
        for (ns, _, numbers) in execs {
            let thread = numbers["thread"] as u32;
            let is_it = |own: &&Stretch| {
                own.is_exec && own.begin == ns && model.lives[own.life as usize].thread == thread
            };
            let run = model.stretches.iter().find(is_it).unwrap();
            let before = model.stretches[run.before as usize];
            assert_eq!((before.what, before.end, before.life), (What::Run, ns, run.life), "{name}");
        }
    }
}

#[test]
fn samples_of_a_recording_belong_to_the_runs_of_their_threads() {
    let model = recording("paths");
    let all = rows("paths").into_iter().filter(|row| row.1 == "CpuSample").count() as u64;
    let kept: u64 = model.stretches.iter().map(|own| u64::from(own.samples)).sum();
    let counts = &model.counts;
    assert_eq!(kept + counts.samples_dropped + counts.samples_unknown, all);
    assert!(kept * 100 >= all * 98, "{kept} of {all}");
    // 1,000 a second; the helper computed for 20 ms.
    let helper = (0..).zip(&model.lives).find(|(_, own)| *own.name == *b"fit-helper").unwrap().0;
    let samples: u32 = model.of_life(helper).iter().map(|(_, own)| own.samples).sum();
    assert!((18..=22).contains(&samples), "{samples}");
}

#[test]
fn forks_and_wakes_of_a_recording_are_links() {
    let model = recording("names");
    let mut forks = 0;
    for (ns, _, numbers) in rows("names").into_iter().filter(|row| row.1 == "Fork") {
        let child = |own: &&Life| own.thread == numbers["child"] as u32 && own.begin == ns;
        let at = model.lives.iter().position(|own| child(&own)).unwrap() as u32;
        let run = model.of_life(at).into_iter().find(|(_, own)| own.what == What::Run);
        let Some((run, _)) = run else { continue };
        let Some(Link::Fork(from)) = model.link(run) else { panic!("{:?}", model.link(run)) };
        let maker = &model.lives[model.stretches[from as usize].life as usize];
        assert_eq!(maker.thread, numbers["parent"] as u32);
        forks += 1;
    }
    assert!(forks >= 2, "{forks}");
    // The threads that the asker waited for, as it prints.
    let names = Names::new(&model);
    let truth = String::from_utf8(golden("names.txt")).unwrap();
    let asker = life(
        &model,
        model
            .lives
            .iter()
            .find(|own| {
                own.former.iter().any(|(_, name)| **name == *b"asker") && own.process == own.thread
            })
            .unwrap()
            .thread,
    );
    for line in truth.lines() {
        let [subject, whom, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let is_it = |own: &Stretch| {
            own.what == What::Wait
                && own.cause == Cause::Thread
                && own.ns() > 15_000_000
                && names.thread(asker, own.begin).starts_with(&format!("{subject} ("))
                && names.threads(&[names.waker(own)]).starts_with(&format!("{whom} ("))
        };
        let all = model.of_life(asker);
        let at = all.iter().position(|(_, own)| is_it(own)).unwrap_or_else(|| panic!("{line}"));
        let run = all[at + 1].0;
        assert!(matches!(model.link(run), Some(Link::Wake(_))), "{line}");
    }
}

#[test]
fn disk_operations_are_those_of_the_rows() {
    let model = recording("files");
    // By device and sector: thread and time of the insert, time of the issue.
    let mut open: HashMap<(u64, u64), Stages> = HashMap::new();
    let mut expected = Vec::new();
    for (ns, name, numbers) in rows("files") {
        let key = || (numbers["device"], numbers["sector"]);
        let told = || (numbers["thread"], ns);
        match name.as_str() {
            "BlockInsert" => drop(open.insert(key(), [Some(told()), None])),
            "BlockIssue" => open.entry(key()).or_default()[1] = Some(told()),
            "BlockComplete" => {
                let Some([insert, issue]) = open.remove(&key()) else { continue };
                let Some((thread, inserted)) = insert.or(issue) else { continue };
                let issued = issue.map_or(inserted, |(_, ns)| ns);
                expected.push((key(), thread, inserted, issued, ns));
            }
            _ => {}
        }
    }
    assert!(expected.len() > 100);
    let told: Vec<_> = model
        .operations
        .iter()
        .filter(|own| own.inserted > 0 && own.issuer != NONE)
        .map(|own| {
            let thread = u64::from(model.lives[own.issuer as usize].thread);
            ((u64::from(own.device), own.sector), thread, own.inserted, own.issued, own.done)
        })
        .collect();
    let missing = told.iter().filter(|own| !expected.contains(own)).count();
    assert!(told.len() > 50 && missing * 100 <= told.len(), "{missing} of {}", told.len());
}

#[test]
fn network_operations_are_those_of_the_rows() {
    let model = recording("peers");
    // By socket: the last send and its thread, and an operation that receives make longer.
    let mut sent: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut expected: Vec<(u64, u64, u64, u32)> = Vec::new();
    let of = |thread: u64| {
        model.lives.iter().rfind(|own| own.thread == thread as u32).map_or(0, |own| own.process)
    };
    for (ns, name, numbers) in rows("peers") {
        let socket = numbers.get("socket").copied().unwrap_or(0);
        match name.as_str() {
            "SocketSend" => {
                sent.insert(socket, (ns, numbers["thread"]));
                open.remove(&socket);
            }
            // It begins to listen or to connect: the kernel uses its address again.
            "SocketState" if matches!(numbers["state"], 2 | 3 | 10) => {
                sent.remove(&socket);
                open.remove(&socket);
            }
            "SocketReceive" => {
                if let Some(own) = open.get(&socket).map(|at| &mut expected[*at]) {
                    (own.2, own.3) = (ns, own.3 + 1);
                } else if let Some((from, by)) = sent.get(&socket)
                    && of(*by) == of(numbers["thread"])
                    && of(*by) != 0
                {
                    open.insert(socket, expected.len());
                    expected.push((socket, *from, ns, 1));
                }
            }
            _ => {}
        }
    }
    let told: Vec<_> = model
        .network
        .iter()
        .map(|own| (model.sockets[own.socket as usize].address, own.from, own.to, own.receives))
        .collect();
    assert!(told.len() > 20, "{}", told.len());
    assert_eq!(told, expected);
}

#[test]
fn a_timer_of_a_recording_links_only_the_thread_itself() {
    let model = recording("paths");
    let mut count = 0;
    for (at, own) in (0..).zip(&model.lives) {
        let all = model.of_life(at);
        for trio in all.windows(3) {
            let [(before, _), (_, wait), (run, _)] = trio else { panic!() };
            if !matches!(wait.cause, Cause::Slept | Cause::TimedOut) || wait.what != What::Wait {
                continue;
            }
            assert_eq!(model.link(*run), Some(Link::Horizontal(*before)), "{own:?}");
            count += usize::from(wait.cause == Cause::Slept);
        }
    }
    // The program sleeps 5 times: before each scene, and in one helper.
    assert!(count >= 5, "{count}");
}

#[test]
fn of_a_recorded_chain_only_the_last_runs() {
    let model = recording("paths");
    let scene = scene(&model, "tri-a");
    let mut depths = BTreeMap::new();
    for piece in scene
        .pieces
        .iter()
        .filter(|piece| piece.share == Share::Unsampled || piece.share == Share::Understood)
    {
        let own = &model.lives[model.stretches[piece.place as usize].life as usize];
        *depths
            .entry((String::from_utf8_lossy(&own.name).into_owned(), piece.depth))
            .or_insert(0) += piece.to - piece.from;
    }
    let ms = |name: &str, depth: u32| {
        depths.get(&(name.to_owned(), depth)).copied().unwrap_or(0) as f64 / 1e6
    };
    assert!(
        (ms("tri-b", 1) - 10.0).abs() < 0.3 && (ms("tri-c", 2) - 20.0).abs() < 0.4,
        "{depths:?}"
    );
    let sum: u64 = scene.pieces.iter().map(|piece| piece.to - piece.from).sum();
    assert!((sum as f64 / 1e6 - scene.waited).abs() <= 0.02 * scene.waited);
    // In words: each stack has one top.
    let stacks = stacks_of(&model, "tri-a");
    check_paths(&model, &stacks);
    assert!(!parts_of(&stacks, 0).is_empty());
}

#[test]
fn work_within_a_recorded_wait_is_that_of_its_helper() {
    let model = recording("paths");
    let scene = scene(&model, "fit-asker");
    let told = owned(&model, &scene.account, "fit-helper");
    assert!((told - scene.work).abs() <= 0.02 * scene.work, "{told}");
    assert!(share(&scene.account, Share::OtherPath) < 0.1, "{:?}", scene.account);
}

#[test]
fn recorded_tries_that_time_out_are_one_wait() {
    let model = recording("paths");
    let scene = scene(&model, "poll-asker");
    // Tries of 2 ms in 20 ms.
    assert!((9..=11).contains(&scene.tries), "{}", scene.tries);
    let told = owned(&model, &scene.account, "poll-helper");
    assert!(told >= 0.97 * scene.work, "{told}");
    assert!(share(&scene.account, Share::TimedOut) < 0.1, "{:?}", scene.account);
}

#[test]
fn recorded_work_that_was_begun_before_is_another_path() {
    let model = recording("paths");
    let scene = scene(&model, "other-asker");
    let other = share(&scene.account, Share::OtherPath);
    assert!((other - scene.work).abs() <= 0.02 * scene.work, "{:?}", scene.account);
    let told = owned(&model, &scene.account, "other-helper");
    assert!((told - scene.work).abs() <= 0.02 * scene.work, "{told}");
}

#[test]
fn a_recorded_triangle_is_cut_where_the_first_thread_called() {
    let model = recording("paths");
    let scene = scene(&model, "tri-a");
    for (name, work) in [("tri-b", 10.0), ("tri-c", 20.0)] {
        let told = owned(&model, &scene.account, name);
        assert!((told - work).abs() <= 0.03 * work, "{name}: {told}");
    }
    assert!(share(&scene.account, Share::OtherPath) < 0.1, "{:?}", scene.account);
}

#[test]
fn the_shares_of_each_recorded_thread_sum_to_its_time() {
    for name in ALL {
        let model = recording(name);
        let numbers: BTreeSet<u32> = model.lives.iter().map(|own| own.thread).collect();
        // The sums are compared within.
        for thread in numbers.into_iter().take(200) {
            account_of(&model, &format!("tid:{thread}"));
        }
    }
}

#[test]
fn recorded_sleeps_are_deliberate() {
    let model = recording("paths");
    let account = account_of(&model, "tri-a");
    // usleep of 3, 12, 3 and 3 ms, and of 2 ms in a helper, whose time lies in none of its waits.
    let slept = share(&account, Share::Sleep);
    assert!((21.0..38.0).contains(&slept), "{slept}");
    assert!(share(&account, Share::TimedOut) < 1.0, "{account:?}");
}
