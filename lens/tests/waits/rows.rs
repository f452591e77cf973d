//! The promises of a systemic profiler, each on a log that tells it in a few rows.
//!
//! ```text
//!  rows by hand ──▶ model, account ──▶ the stretches, links and shares that they mean
//! ```
//!
//! The numbers of the tests are those of the promises in the paper on RSP. Design: `.waits.rows`,
//! `.waits.model`, `.waits.account` in `design/waits.md`.

use super::made;

use lens::waits::critical::{Share, Walker};
use lens::waits::events::kernel::*;
use lens::waits::model::{Cause, Link, NONE, Options, What};
use lens::waits::waited::{Waits, waits_of};
use made::scenes::{US, helped, pass, polled, triangle};
use made::*;

/// Thread 1 asks thread 2, which works from 100 to 400 µs; thread 9 spins on processor 1.
fn asked() -> Made {
    let mut made = Made::new();
    made.switch(1, 10, 0, 9, 0).switch(0, 10 * US, 0, 1, 0);
    made.waking(0, 95 * US, 1, 2, THREAD).switch(0, 100 * US, 1, 2, ASLEEP);
    made.waking(0, 400 * US, 2, 1, THREAD).switch(0, 410 * US, 2, 1, ASLEEP);
    made.switch(0, 500 * US, 1, 0, ASLEEP).switch(1, 600 * US, 9, 0, READY);
    made
}

#[test]
fn an_unrelated_spinner_is_in_no_result() {
    let model = asked().model();
    let account = account_of(&model, "1");
    let owners: Vec<u32> =
        account.owners.keys().map(|life| model.lives[*life as usize].thread).collect();
    assert_eq!(owners, [1, 2]);
    assert_eq!(account.owners[&life(&model, 2)], 300 * US);
}

#[test]
fn runs_and_waits_alternate_and_tile_the_time() {
    let model = asked().model();
    check_tiling(&model);
    let (run, wait) = (What::Run, What::Wait);
    let expected = [
        (wait, 10 * US, 10 * US),
        (run, 10 * US, 100 * US),
        (wait, 100 * US, 410 * US),
        (run, 410 * US, 500 * US),
        (wait, 500 * US, 600 * US),
    ];
    assert_eq!(story(&model, 1), expected);
    assert_eq!(story(&model, 2)[..2], [(wait, 95 * US, 100 * US), (run, 100 * US, 410 * US)]);
}

#[test]
fn each_of_the_events_of_the_paper_is_used() {
    let mut made = asked();
    made.fork(0, 20 * US, 1, 3, 1).name(20 * US, 3, 1, "three");
    made.add(0, 30 * US, Exec { thread: 1, was: 1, path: b"/bin/one" });
    let request = (3, 8 << 20, 77);
    made.add(0, 40 * US, insert(request)).add(0, 50 * US, issue(request));
    made.add(1, 60 * US, complete(request));
    made.add(1, 70 * US, IrqEnter { irq: 5, name: b"eth0" }).add(1, 71 * US, IrqLeave { irq: 5 });
    made.sample(0, 80 * US, 1);
    let model = made.model();
    assert_eq!(model.lives.len(), 4);
    assert_eq!((model.operations.len(), model.irqs.len()), (1, 1));
    let samples: u32 = model.stretches.iter().map(|stretch| stretch.samples).sum();
    assert_eq!((samples, model.counts.rows), (1, 17));
    assert_eq!(&*model.lives[life(&model, 3) as usize].name, b"three");
}

type Request = (u32, u32, usize);

fn insert((thread, device, sector): Request) -> BlockInsert {
    BlockInsert { thread, device, sector, count: 8, operation: 1 }
}

fn issue((thread, device, sector): Request) -> BlockIssue {
    BlockIssue { thread, device, sector, count: 8, operation: 1 }
}

fn complete((thread, device, sector): Request) -> BlockComplete {
    BlockComplete { thread, device, sector, count: 8, operation: 1 }
}

/// A client (1) sends to a server (2) by sockets 0xA and 0xB, and waits for the answer.
fn request_and_answer(has_names: bool) -> Made {
    let mut made = Made::new();
    if has_names {
        made.socket(1, 0xA, "10.0.0.1:5 10.0.0.1:80").socket(1, 0xB, "10.0.0.1:80 10.0.0.1:5");
    }
    made.there(5, 2, 2, ASLEEP).switch(0, 10, 0, 1, 0);
    // A kernel tells a send as its call ends, after the wake.
    made.add(0, 100 * US, SocketReady { socket: eventdef::field::P(0xB) });
    made.waking(0, 100 * US, 1, 2, SOFT).send(0, 101 * US, 1, 0xA);
    made.switch(0, 110 * US, 1, 0, ASLEEP);
    made.switch(1, 111 * US, 0, 2, 0).receive(1, 112 * US, 2, 0xB);
    made.add(1, 300 * US, SocketReady { socket: eventdef::field::P(0xA) });
    made.waking(1, 300 * US, 2, 1, SOFT).send(1, 301 * US, 2, 0xB).switch(0, 305 * US, 0, 1, 0);
    made.receive(0, 306 * US, 1, 0xA).switch(1, 310 * US, 2, 0, ASLEEP);
    made.switch(0, 400 * US, 1, 0, ASLEEP);
    made
}

#[test]
fn sends_and_data_link_threads_by_sockets() {
    for has_names in [true, false] {
        let model = request_and_answer(has_names).model();
        let waits: Vec<_> = model.of_life(life(&model, 1));
        let wait = waits.iter().find(|(_, own)| own.begin == 110 * US).unwrap().1;
        assert_eq!(wait.cause, Cause::Network);
        let wake = model.network_wakes[wait.aid as usize];
        assert_eq!((wake.sent, wake.peer), (300 * US, life(&model, 2)));
        assert_eq!(model.stretch(wait.from).unwrap().life, life(&model, 2));
        let owners = account_of(&model, "1").owners;
        assert_eq!(owners[&life(&model, 2)], 300 * US - 110 * US);
    }
}

#[test]
fn data_of_this_host_arrive_before_the_kernel_tells_the_send() {
    let mut made = Made::new();
    made.there(5, 2, 2, ASLEEP).switch(0, 10, 0, 1, 0);
    // An earlier message, and the one of interest: 2 computes from 20 to 300 µs for 1.
    made.send(0, 12 * US, 1, 0xA).switch(0, 15 * US, 1, 0, ASLEEP);
    made.waking(1, 18 * US, 0, 2, SOFT).switch(1, 20 * US, 0, 2, 0);
    made.add(1, 298 * US, Syscall { thread: 2, call: 44, object: eventdef::field::A(3), value: 0 });
    made.add(1, 300 * US, SocketReady { socket: eventdef::field::P(0xA) });
    made.waking(1, 300 * US, 2, 1, SOFT).send(1, 304 * US, 2, 0xB);
    made.switch(0, 305 * US, 0, 1, 0).switch(0, 400 * US, 1, 0, ASLEEP);
    let model = made.model();
    let waits: Vec<_> = model.of_life(life(&model, 1));
    let wait = waits.iter().find(|(_, own)| own.begin == 15 * US).unwrap().1;
    assert_eq!(wait.cause, Cause::Network);
    let wake = model.network_wakes[wait.aid as usize];
    assert_eq!((wake.sent, wake.peer), (300 * US, life(&model, 2)));
    let owners = account_of(&model, "1").owners;
    assert!(owners[&life(&model, 2)] >= 280 * US, "{owners:?}");
}

#[test]
fn a_row_of_a_thread_shows_a_switch_that_the_log_lacks() {
    // Soon after its wake a thread is about to run; later it may have run all the time.
    for (is_idle, late) in [(true, 0), (false, 0), (true, 200 * US)] {
        let mut made = Made::new();
        made.switch(0, 10 * US, 1, 0, ASLEEP).switch(1, 10 * US, 0, 2, 0);
        if !is_idle {
            made.switch(0, 20 * US, 0, 3, 0);
        }
        made.waking(1, 50 * US, 2, 1, THREAD);
        // The switch to 1 is missing.
        if is_idle {
            made.add(0, 60 * US + late, SyscallDone { thread: 1, call: 0, result: 0 });
        } else {
            made.waking(0, 60 * US, 1, 7, THREAD);
        }
        made.switch(0, 100 * US + late, 1, 0, ASLEEP).switch(1, 120 * US + late, 2, 0, ASLEEP);
        let model = made.model();
        check_tiling(&model);
        let runs = |thread| -> u64 {
            let of = model.of_life(life(&model, thread)).into_iter();
            of.filter(|(_, own)| own.what == What::Run).map(|(_, own)| own.ns()).sum()
        };
        assert_eq!(runs(1), 40 * US);
        let unknown = |thread| -> Vec<_> {
            let of = story(&model, thread).into_iter();
            of.filter(|(what, ..)| *what == What::Unknown).collect()
        };
        let is_late = late > 0;
        let expected = [(What::Unknown, 50 * US, 60 * US + late)];
        assert_eq!(unknown(1), expected[..usize::from(is_late)]);
        assert_eq!(model.counts.missing, u64::from(is_late) + u64::from(!is_idle));
    }
}

#[test]
fn a_wait_has_the_system_call_and_its_object() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).call(0, 50, 1, 202, 0x7F00).switch(0, 60, 1, 0, ASLEEP);
    made.timeout(0, 90, 1).switch(0, 95, 0, 1, 0).done(0, 96, 1, 202);
    made.switch(0, 99, 1, 0, ASLEEP);
    let model = made.model();
    let stretches = model.of_life(life(&model, 1));
    let waits: Vec<_> = stretches.iter().filter(|(_, own)| own.what == What::Wait).collect();
    let call = model.calls[waits[1].1.call as usize];
    assert_eq!((call.number, call.object), (202, 0x7F00));
    assert_eq!(model.call_name(waits[1].1.call), Some("futex"));
    assert_eq!(waits[2].1.call, NONE, "after its end the call is over");
}

#[test]
fn an_exec_is_a_second_run_of_the_thread_without_a_wait() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).add(0, 50, Exec { thread: 1, was: 1, path: b"/bin/second" });
    made.switch(0, 90, 1, 0, ASLEEP);
    let model = made.model();
    let all = story(&model, 1);
    assert_eq!(all[1..], [(What::Run, 10, 50), (What::Run, 50, 90), (What::Wait, 90, 90)]);
    let stretches = model.of_life(life(&model, 1));
    assert_eq!(model.link(stretches[2].0), Some(Link::Exec(stretches[1].0)));
    assert_eq!(&*model.lives[0].name, b"second");
}

#[test]
fn an_exec_of_another_thread_takes_the_number_of_the_first() {
    let mut made = Made::new();
    made.there(5, 1, 1, ASLEEP).switch(0, 10, 0, 2, 0);
    made.add(0, 50, Exec { thread: 1, was: 2, path: b"x" }).switch(0, 90, 1, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    assert_eq!(model.lives.iter().map(|life| life.thread).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((model.lives[0].end, model.lives[1].end), (50, 90));
    assert_eq!(model.counts.contradictions, 0);
}

#[test]
fn a_sample_belongs_to_a_run_that_ended_shortly_before() {
    for (after, kept) in [(0, 1), (19 * US, 1), (20 * US, 1), (21 * US, 0)] {
        let mut made = Made::new();
        made.switch(0, 10, 0, 1, 0).switch(0, 100, 1, 0, ASLEEP).sample(0, 100 + after, 1);
        let model = made.model();
        let samples: u32 = model.stretches.iter().map(|stretch| stretch.samples).sum();
        assert_eq!((samples, model.counts.samples_dropped), (kept, 1 - u64::from(kept)), "{after}");
    }
}

#[test]
fn forks_wakes_and_execs_make_exactly_these_links() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).fork(0, 20, 1, 2, 2).switch(0, 30, 1, 2, ASLEEP);
    made.add(0, 40, Exec { thread: 2, was: 2, path: b"x" }).waking(0, 50, 2, 1, THREAD);
    made.switch(0, 60, 2, 1, ASLEEP).switch(0, 70, 1, 0, ASLEEP);
    let model = made.model();
    let links: Vec<_> = (0..model.stretches.len() as u32)
        .filter_map(|place| Some((model.stretches[place as usize].begin, model.link(place)?)))
        .map(|(begin, link)| match link {
            Link::Wake(from) => (begin, "wake", model.stretches[from as usize].begin),
            Link::Fork(from) => (begin, "fork", model.stretches[from as usize].begin),
            Link::Exec(from) => (begin, "exec", model.stretches[from as usize].begin),
            Link::Horizontal(from) => (begin, "horizontal", model.stretches[from as usize].begin),
        })
        .collect();
    assert_eq!(links, [(30, "fork", 10), (40, "exec", 30), (60, "wake", 40)]);
}

/// Thread 1 reads from a disk, directly: it asks at 100 µs, and is woken at 900 µs.
fn read(has_issue: bool) -> Made {
    let mut made = Made::new();
    let request = (1, 8 << 20, 4096);
    made.switch(0, 10, 0, 1, 0).add(0, 100 * US, insert(request));
    made.switch(0, 110 * US, 1, 0, 2);
    if has_issue {
        made.add(0, 300 * US, issue((5, 8 << 20, 4096)));
    }
    // Another operation ends just before, of another thread.
    made.add(1, 200 * US, insert((7, 8 << 20, 1))).add(0, 890 * US, complete((0, 8 << 20, 1)));
    made.add(0, 899 * US, complete((0, 8 << 20, 4096))).waking(0, 900 * US, 0, 1, HARD);
    made.switch(0, 910 * US, 0, 1, 0).switch(0, 950 * US, 1, 0, ASLEEP);
    made
}

#[test]
fn a_disk_operation_belongs_to_the_thread_that_asked() {
    let mut made = read(true);
    // The thread that runs as it is issued does not matter.
    let model = made.model();
    let operation = model.operations[1];
    assert_eq!((operation.issuer, operation.issued), (life(&model, 1), 300 * US));
    let shares = shares_of(&model, "tid:1");
    assert!(shares.contains(&(Share::Disk, 600 * US)), "{shares:?}");
    assert!(shares.contains(&(Share::DiskQueue, 190 * US)), "{shares:?}");
    // The operation that ended last is another's: the thread's own is meant.
    made.add(0, 899 * US + 500, complete((0, 8 << 20, 1)));
    made.add(1, 850 * US, insert((7, 8 << 20, 1)));
    let model = made.model();
    let wait = model.of_life(life(&model, 1)).into_iter().find(|(_, own)| own.begin == 110 * US);
    assert_eq!(model.operations[wait.unwrap().1.aid as usize].issuer, life(&model, 1));
}

#[test]
fn an_operation_without_an_issue_was_issued_at_once() {
    let model = read(false).model();
    assert_eq!(model.operations[1].issued, 100 * US);
    let shares = shares_of(&model, "tid:1");
    assert!(shares.contains(&(Share::Disk, 790 * US)), "{shares:?}");
}

#[test]
fn a_network_operation_lasts_from_the_last_send_to_the_last_receive() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0);
    made.send(0, 20, 1, 0xA).send(0, 30, 1, 0xA).receive(0, 40, 1, 0xA).receive(0, 55, 1, 0xA);
    made.send(0, 60, 1, 0xB).receive(0, 70, 1, 0xC).send(0, 80, 1, 0xA).receive(0, 90, 1, 0xA);
    made.switch(0, 99, 1, 0, ASLEEP);
    let model = made.model();
    let found: Vec<_> = model.network.iter().map(|own| (own.from, own.to, own.receives)).collect();
    assert_eq!(found, [(30, 55, 2), (80, 90, 1)], "a send without a receive makes none");
}

#[test]
fn timers_and_interrupts_link_no_other_thread() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(0, 100, 1, 2, ASLEEP).timeout(0, 200, 1);
    made.switch(0, 210, 2, 1, READY).switch(0, 300, 1, 2, ASLEEP);
    made.add(0, 400, IrqEnter { irq: 9, name: b"nvme0" }).waking(0, 401, 2, 1, HARD);
    made.add(0, 402, IrqLeave { irq: 9 }).switch(0, 410, 2, 1, READY);
    made.switch(0, 500, 1, 2, READY).switch(0, 600, 2, 1, READY).switch(0, 700, 1, 0, ASLEEP);
    let model = made.model();
    let stretches = model.of_life(life(&model, 1));
    let causes: Vec<_> = stretches.iter().filter(|(_, own)| own.what == What::Wait).collect();
    let causes: Vec<_> = causes.iter().map(|(_, own)| own.cause).collect();
    use Cause::*;
    assert_eq!(causes, [Unknown, TimedOut, Hardware, Preempted, Open]);
    let runs: Vec<u32> =
        stretches.iter().filter(|(_, own)| own.what == What::Run).map(|(at, _)| *at).collect();
    for pair in runs.windows(2) {
        assert_eq!(model.link(pair[1]), Some(Link::Horizontal(pair[0])));
    }
    assert_eq!(&*model.irqs[stretches[4].1.aid as usize], b"nvme0");
}

#[test]
fn of_a_stack_of_callers_only_the_top_runs() {
    let model = pass(6).model();
    let (one, two) = (life(&model, 1), life(&model, 2));
    let pieces = pieces_of(&model, one);
    // The last stretch is open: it tells nothing.
    let told: Vec<_> = pieces
        .iter()
        .filter(|piece| piece.share != Share::Unknown)
        .map(|piece| (model.stretches[piece.place as usize].life, piece.depth, piece.share))
        .collect();
    let run = Share::Unsampled;
    let round = [(one, 0, run), (two, 1, run), (one, 0, Share::Scheduler)];
    let expected: Vec<_> = std::iter::repeat_n(round, 3).flatten().chain([(one, 0, run)]).collect();
    assert_eq!(told, expected);
}

#[test]
fn a_child_fits_within_the_grace() {
    for (early, late, is_child) in
        [(99, 99, true), (100, 100, true), (101, 0, false), (0, 101, false)]
    {
        let model = helped(early * US, late * US).model();
        let shares = shares_of(&model, "1");
        let other = shares.iter().find(|(share, _)| *share == Share::OtherPath);
        assert_eq!(other.is_none(), is_child, "{early} {late}: {shares:?}");
        assert!(is_child || other == Some(&(Share::OtherPath, 1000 * US)));
        assert_eq!(account_of(&model, "1").owners[&life(&model, 2)], 1000 * US);
    }
}

#[test]
fn waits_that_time_out_and_are_tried_again_are_one_wait() {
    let model = polled().model();
    let mut walker = Walker::new(&model, Options::default().grace);
    let windows = lens::waits::account::windows_of(&model, &[life(&model, 1)]);
    let Waits { all: waits, dropped, .. } = waits_of(&model, &windows, &mut walker);
    let found: Vec<_> =
        waits.iter().map(|own| (own.begin, own.ns, own.tries)).filter(|own| own.1 > 0).collect();
    let tries = 5500 * US - 5 * 50 * US;
    assert_eq!((found, dropped), (vec![(1000 * US, tries, 6)], 0));
    // The whole time is the other thread's, and nothing timed out.
    let expected = [(Share::Unsampled, 7000 * US - 11), (Share::Scheduler, 1)];
    assert_eq!(shares_of(&model, "1"), expected);
    assert_eq!(account_of(&model, "1").owners[&life(&model, 2)], tries - 1);
}

#[test]
fn work_that_was_begun_long_before_is_another_path() {
    let model = helped(900 * US, 0).model();
    let account = account_of(&model, "1");
    assert_eq!(account.shares[Share::OtherPath as usize].ns, 1000 * US);
    assert_eq!(account.shares[Share::Scheduler as usize].ns, 10 * US);
}

#[test]
fn a_triangle_is_cut_where_the_first_thread_called() {
    let model = triangle(false).model();
    let owners = account_of(&model, "1").owners;
    // The last one waited before the call: that part is cut, and the second one fits.
    assert_eq!(owners[&life(&model, 2)], 980 * US);
    assert_eq!(owners[&life(&model, 3)], 1000 * US);
    let shares = shares_of(&model, "1");
    assert!(!shares.iter().any(|(share, _)| *share == Share::OtherPath), "{shares:?}");
    let delays = (3010 - 3000 + 4010 - 4000) * US;
    assert!(shares.contains(&(Share::Scheduler, delays)), "{shares:?}");
    // If the last one worked already, its work is of another path.
    let model = triangle(true).model();
    let shares = shares_of(&model, "1");
    assert!(shares.contains(&(Share::OtherPath, 1980 * US)), "{shares:?}");
}

#[test]
fn the_shares_sum_to_the_total() {
    for made in [asked(), read(true), polled(), request_and_answer(true), helped(1, 1)] {
        let model = made.model();
        check_tiling(&model);
        for life in &model.lives {
            account_of(&model, &format!("tid:{}", life.thread));
        }
    }
}

#[test]
fn a_sleep_is_deliberate_if_the_call_is_a_sleep() {
    for (call, share) in [(35, Share::Sleep), (230, Share::Sleep), (7, Share::TimedOut)] {
        let mut made = Made::new();
        made.switch(0, 10, 0, 1, 0).call(0, 50, 1, call, 0).switch(0, 100, 1, 0, ASLEEP);
        made.timeout(0, 900, 1).switch(0, 900, 0, 1, 0).switch(0, 950, 1, 0, ASLEEP);
        let shares = shares_of(&made.model(), "1");
        assert!(shares.contains(&(share, 800)), "{call}: {shares:?}");
    }
}

#[test]
fn what_is_lost_is_in_its_place() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(1, 10, 0, 3, 0).switch(0, 100, 1, 2, ASLEEP);
    // Thread 2 runs; then rows of processor 0 are missing until thread 4 is switched out.
    made.lost(0, 200, 500).switch(0, 600, 4, 2, ASLEEP).waking(1, 700, 3, 1, THREAD);
    made.switch(0, 800, 2, 1, ASLEEP).switch(0, 900, 1, 0, ASLEEP).switch(1, 900, 3, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    use What::*;
    assert_eq!(story(&model, 2)[1..3], [(Run, 100, 200), (Lost, 200, 600)]);
    let of_one = [(Run, 10, 100), (Wait, 100, 200), (Lost, 200, 600), (Wait, 600, 800)];
    assert_eq!(story(&model, 1)[1..5], of_one);
    assert_eq!(story(&model, 3)[1..2], [(Run, 10, 900)], "another processor lost nothing");
    let shares = shares_of(&model, "1");
    assert!(shares.contains(&(Share::Lost, 400)), "{shares:?}");
    assert_eq!((model.counts.gaps, model.counts.contradictions), (1, 0));
}

#[test]
fn a_wake_of_a_running_thread_counts_for_its_next_wait() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(1, 10, 0, 2, 0).waking(1, 90, 2, 1, THREAD);
    made.switch(0, 100, 1, 0, ASLEEP).switch(0, 130, 0, 1, 0).switch(0, 200, 1, 0, ASLEEP);
    made.switch(1, 250, 2, 0, ASLEEP);
    let model = made.model();
    let wait = *model.of_life(life(&model, 1))[2].1;
    assert_eq!((wait.cause, wait.woken, wait.delay()), (Cause::Thread, 100, 30));
    // A later wake shows that the earlier one was another attempt.
    made.waking(1, 230, 2, 1, THREAD).switch(0, 240, 0, 1, 0).waking(1, 220, 2, 1, THREAD);
    let wait = *made.model().of_life(life(&model, 1))[4].1;
    assert_eq!((wait.woken, wait.end), (220, 240));
}
