//! Waits for sockets: recordings of programs that print how long they waited, and for whom.
//!
//! ```text
//!  tests/golden/waits/peers.c ── a kernel's log, cut ──▶ Model ┐
//!                             ── its own lines ────────────────┴─▶ the same culprit, the same time
//! ```
//!
//! `peers` is a recording of tracefs, `peers-sock` one of perf without system calls, `veth` one of
//! two network namespaces, and `veth-one` has only the rows that one side of it would have. Design:
//! `.waits.model` in `design/waits.md`.

use super::fixtures;
use super::made;

use fixtures::golden;
use lens::waits::critical::Share;
use lens::waits::model::{Cause, Did, Model, Options, What};
use made::{account_of, check_tiling, model_of};

/// A line that the program printed: times are in ms.
#[derive(Debug)]
struct Truth {
    who: String,
    whom: String,
    waited: f64,
    did: f64,
}

fn truth(name: &str) -> Vec<Truth> {
    let text = String::from_utf8(golden(&format!("{name}.txt"))).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, who, whom, waited, did] = words[..] else { panic!("{line}") };
        let (who, whom) = (who.to_owned(), whom.trim_end_matches(char::is_numeric).to_owned());
        Truth { who, whom, waited: waited.parse().unwrap(), did: did.parse().unwrap() }
    };
    text.lines().map(line).collect()
}

fn model(name: &str) -> Model {
    let log = eventlog::reader::Log::from_source(golden(&format!("{name}.log.gz"))).unwrap();
    let model = model_of(&log, &Options::default());
    check_tiling(&model);
    model
}

fn name(model: &Model, life: u32) -> String {
    model.life(life).map_or_else(String::new, |life| String::from_utf8_lossy(&life.name).into())
}

/// What a thread did, in ms.
#[derive(Debug, Default)]
struct Told {
    thread: u32,
    /// Its waits that one thread ended, that others ended, and that it could have run.
    by_whom: f64,
    by_others: f64,
    preempted: f64,
    ran: f64,
}

fn told(model: &Model, truth: &Truth) -> Told {
    let is_it = |life: &u32| name(model, *life) == truth.who;
    let life = (0..model.lives.len() as u32).rfind(is_it).unwrap();
    let mut told = Told { thread: model.lives[life as usize].thread, ..Told::default() };
    for (_, own) in model.of_life(life) {
        let ms = own.ns() as f64 / 1e6;
        match (own.what, own.cause) {
            (What::Run, _) => told.ran += ms,
            (What::Wait, Cause::Preempted) => told.preempted += ms,
            // Its maker, and an exec of the thread before.
            (What::Wait, Cause::Forked | Cause::Open) => {}
            (What::Wait, _) if name(model, model.waker(own)).starts_with(&truth.whom) => {
                told.by_whom += ms;
            }
            (What::Wait, _) => told.by_others += ms,
            _ => {}
        }
    }
    told
}

/// Returns the time of a thread that each life whose name begins so owns, and all its time, in ms.
fn owned(model: &Model, told: &Told, whom: &str) -> (f64, f64) {
    let account = account_of(model, &format!("tid:{}", told.thread));
    let owners = account.owners.iter().filter(|(life, _)| name(model, **life).starts_with(whom));
    let ns: u64 = owners.map(|(_, ns)| *ns).sum();
    (ns as f64 / 1e6, account.total as f64 / 1e6)
}

#[test]
fn a_wait_for_a_socket_names_the_thread_at_the_other_end() {
    for recording in ["peers", "peers-sock", "veth"] {
        let model = model(recording);
        for truth in truth(recording) {
            // Without system calls no row tells that the reader was in one as it made room.
            if recording == "peers-sock" && truth.who == "full-writer" {
                continue;
            }
            let told = told(&model, &truth);
            let all = told.by_whom + told.by_others;
            assert!(told.by_whom >= 0.98 * all, "{recording}: {truth:?} {told:?}");
            assert!(told.by_whom <= 1.02 * truth.waited, "{recording}: {truth:?} {told:?}");
            let most = told.by_whom + told.preempted + told.ran;
            assert!(most >= 0.98 * truth.waited, "{recording}: {truth:?} {told:?}");
        }
    }
}

#[test]
fn the_work_of_the_other_end_owns_the_wait() {
    for recording in ["peers", "veth"] {
        let model = model(recording);
        for truth in truth(recording) {
            let told = told(&model, &truth);
            let (ms, _) = owned(&model, &told, &truth.whom);
            let account = account_of(&model, &format!("tid:{}", told.thread));
            let share = |share: Share| account.shares[share as usize].ns as f64 / 1e6;
            // It may begin before the wait, or work while the woken thread has no processor.
            let most = ms + share(Share::Scheduler);
            assert!(most >= 0.8 * truth.did, "{recording}: {truth:?} {ms} {account:?}");
            let vague = share(Share::Hardware) + share(Share::Unknown) + share(Share::Lost);
            assert!(vague <= 0.03 * truth.waited, "{recording}: {truth:?} {account:?}");
        }
    }
}

#[test]
fn what_the_other_end_did_is_told() {
    let model = model("peers");
    for (who, did) in [
        ("tcp-client", &[Did::Sent][..]),
        ("udp-client", &[Did::Sent]),
        ("full-writer", &[Did::Read]),
        ("close-server", &[Did::Connected, Did::Closed]),
        ("close-server", &[Did::Closed, Did::Connected]),
        ("many-server", &[Did::Sent, Did::Connected]),
    ] {
        let life = (0..model.lives.len() as u32).rfind(|life| name(&model, *life) == who).unwrap();
        let waits = model.of_life(life).into_iter().map(|(_, own)| own);
        let ns = |wanted: Option<&[Did]>| -> u64 {
            let is_it = |own: &&lens::waits::model::Stretch| match own.cause {
                Cause::Network => {
                    let wake = model.network_wakes[own.aid as usize];
                    wanted.is_none_or(|wanted| wanted.contains(&wake.did))
                }
                _ => false,
            };
            waits.clone().filter(is_it).map(|own| own.ns()).sum()
        };
        let (told, all) = (ns(Some(did)), ns(None));
        assert!(all > 10_000_000 && told * 100 >= all * 98, "of {who}: {told} of {all}");
        assert!(ns(Some(&did[..1])) > 0, "of {who}");
    }
}

#[test]
fn a_peer_on_another_machine_is_the_network() {
    let model = model("veth-one");
    let truth = &truth("veth")[0];
    let told = told(&model, truth);
    assert!(told.by_whom == 0.0, "{told:?}");
    let life = (0..model.lives.len() as u32).rfind(|life| name(&model, *life) == truth.who);
    let waits = model.of_life(life.unwrap()).into_iter().map(|(_, own)| own);
    let wakes: Vec<_> = waits
        .filter(|own| own.cause == Cause::Network)
        .map(|own| model.network_wakes[own.aid as usize])
        .collect();
    assert!(wakes.len() >= 5 && wakes.iter().all(|own| own.did == Did::Outside), "{wakes:?}");
    let account = account_of(&model, &format!("tid:{}", told.thread));
    let hardware = account.shares[Share::Hardware as usize].ns as f64 / 1e6;
    assert!(hardware >= 0.9 * told.by_others - told.preempted, "{told:?} {hardware}");
}
