//! A naive twin of the model and of the account, under random schedules; and logs that contradict
//! themselves.
//!
//! ```text
//!  a schedule, step by step ─┬─▶ a kernel log ──▶ model, account ─┐
//!                            └─▶ a note for each µs of each thread ┴─▶ equal
//! ```
//!
//! Design: `.waits.model`, `.waits.account` in `design/waits.md`.

use super::made;

use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::Origin;
use lens::waits::account::windows_of;
use lens::waits::critical::{Share, Walker};
use lens::waits::events::kernel::*;
use lens::waits::model::{Cause, Model, Options, Stretch, What};
use lens::waits::output::Output;
use lens::waits::parts::parts;
use lens::waits::stack::ControlPath;
use made::*;
use proptest::prelude::*;

const CPU_COUNT: usize = 3;
const THREAD_COUNT: usize = 6;
/// The length of a step, in ns: longer than the grace, so that fits are clear.
const STEP: u64 = 150_000;

/// What a thread does in a step of the twin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Runs,
    /// It sleeps, and nothing has woken it yet.
    Sleeps,
    /// Woken by a thread, by a timer, or preempted: it waits for a processor.
    Ready,
}

/// A random schedule, and what each thread does in each step.
struct Twin {
    made: Made,
    /// By thread and step.
    notes: Vec<Vec<Doing>>,
    /// Wakes: step, target, waker (a timer has none).
    wakes: Vec<(usize, usize, Option<usize>)>,
    preempted: Vec<(usize, usize)>,
}

/// Plays choices: in each step, each processor goes on, switches, or wakes.
fn play(choices: &[u8]) -> Twin {
    let mut made = Made::new();
    let mut doing = [Doing::Ready; THREAD_COUNT];
    let mut on = [None::<usize>; CPU_COUNT];
    let (mut notes, mut wakes, mut preempted) = (vec![Vec::new(); THREAD_COUNT], vec![], vec![]);
    for thread in 0..THREAD_COUNT {
        made.there(0, number(thread), 1, READY);
    }
    let steps = choices.len() / CPU_COUNT;
    for (step, choices) in choices.chunks_exact(CPU_COUNT).enumerate() {
        let at = STEP * (step as u64 + 1);
        for (cpu, choice) in choices.iter().enumerate() {
            let (what, who) = (choice % 5, usize::from(choice / 5) % THREAD_COUNT);
            let cpu_number = cpu as u32;
            let of = |thread: Option<usize>| thread.map_or(0, number);
            match what {
                // A wake by the running thread, or by a timer.
                0 | 1 if doing[who] == Doing::Sleeps => {
                    let waker = on[cpu].filter(|_| what == 0);
                    match waker {
                        Some(waker) => {
                            made.waking(cpu_number, at, number(waker), number(who), THREAD);
                        }
                        None => {
                            made.timeout(cpu_number, at, number(who));
                        }
                    }
                    doing[who] = Doing::Ready;
                    wakes.push((step, who, waker));
                }
                // A switch: the thread sleeps, or is preempted.
                2..=4 => {
                    let next = Some(who).filter(|who| doing[*who] == Doing::Ready);
                    let prev = on[cpu];
                    if prev.is_none() && next.is_none() {
                        continue;
                    }
                    let is_preempted = what == 4 && prev.is_some();
                    let state = if is_preempted { READY } else { ASLEEP };
                    made.switch(cpu_number, at, of(prev), of(next), state);
                    if let Some(prev) = prev {
                        doing[prev] = if is_preempted { Doing::Ready } else { Doing::Sleeps };
                        if is_preempted {
                            preempted.push((step, prev));
                        }
                    }
                    if let Some(next) = next {
                        doing[next] = Doing::Runs;
                    }
                    on[cpu] = next;
                }
                _ => {}
            }
        }
        for (thread, notes) in notes.iter_mut().enumerate() {
            notes.push(doing[thread]);
        }
    }
    // A last row, which ends the log one step later.
    made.add(0, STEP * (steps as u64 + 1), IrqLeave { irq: 0 });
    Twin { made, notes, wakes, preempted }
}

fn number(thread: usize) -> u32 {
    thread as u32 + 10
}

/// Returns what the model tells of a thread in the middle of a step.
fn told(model: &Model, thread: usize, step: usize) -> Option<(What, Cause, bool)> {
    let at = STEP * (step as u64 + 1) + STEP / 2;
    let all = model.of_life(life(model, number(thread)));
    let (_, own) = all.into_iter().find(|(_, own)| own.begin <= at && at < own.end)?;
    Some((own.what, own.cause, own.woken <= at))
}

fn check_twin(twin: &Twin) -> Result<(), TestCaseError> {
    let model = twin.made.model();
    check_tiling(&model);
    prop_assert_eq!(model.counts.contradictions, 0);
    for (thread, notes) in twin.notes.iter().enumerate() {
        let first_run = notes.iter().position(|doing| *doing == Doing::Runs);
        for (step, doing) in notes.iter().enumerate() {
            let found = told(&model, thread, step);
            let is_known = first_run.is_some_and(|first| step >= first);
            match (doing, found) {
                // The log does not tell what a thread did that has not run yet.
                (_, Some((What::Unknown, ..))) => prop_assert!(!is_known),
                (Doing::Runs, found) => {
                    prop_assert!(matches!(found, Some((What::Run, ..))), "{thread} {step}");
                }
                (Doing::Sleeps, found) => {
                    prop_assert!(matches!(found, Some((What::Wait, _, false))), "{thread} {step}");
                }
                (Doing::Ready, found) => {
                    prop_assert!(matches!(found, Some((What::Wait, _, true))), "{thread} {step}");
                }
            }
        }
        account_of(&model, &format!("tid:{}", number(thread)));
    }
    for (step, target, waker) in &twin.wakes {
        let Some((What::Wait, cause, _)) = told(&model, *target, *step) else { continue };
        let expected = if waker.is_some() { Cause::Thread } else { Cause::TimedOut };
        prop_assert_eq!(cause, expected, "{} {}", step, target);
    }
    for (step, thread) in &twin.preempted {
        if let Some((What::Wait, cause, _)) = told(&model, *thread, *step) {
            prop_assert_eq!(cause, Cause::Preempted, "{} {}", step, thread);
        }
    }
    Ok(())
}

/// The owner of each step of a thread's time by a walk that follows one step at a time.
fn naive_owner(model: &Model, thread: u32, at: u64, depth: usize) -> Option<u32> {
    let all = model.of_life(thread);
    let (_, own) = all.into_iter().find(|(_, own)| own.begin <= at && at < own.end)?;
    if own.what != What::Wait || at >= own.woken || own.cause != Cause::Thread || depth > 60 {
        return Some(thread);
    }
    // The waker was on the way then, whatever it did.
    naive_owner(model, own.aid, at, depth + 1)
}

/// The stack at a moment by a search that goes one step at a time: the waits, and the stretch at
/// the top with whether its work fits them.
fn naive_stack(model: &Model, thread: u32, at: u64) -> Option<(Vec<u32>, u32, bool)> {
    let (mut waits, mut next) = (Vec::new(), thread);
    let (mut begins, mut ends) = (0, u64::MAX);
    let grace = Options::default().grace;
    loop {
        let all = model.of_life(next);
        let (place, own) = all.into_iter().find(|(_, own)| own.begin <= at && at < own.end)?;
        let is_fit = own.what != What::Run || own.begin >= begins && own.end <= ends;
        if own.what != What::Wait || at >= own.woken || own.cause != Cause::Thread {
            return Some((waits, place, is_fit));
        }
        waits.push(place);
        begins = begins.max(own.begin.saturating_sub(grace));
        ends = ends.min(own.end + grace);
        next = own.aid;
    }
}

/// Compares the paths of a target with the naive search.
fn check_stacks(model: &Model, target: u32) -> Result<(), TestCaseError> {
    let thread = model.lives[target as usize].thread;
    let stacks = stacks_of(model, &format!("tid:{thread}"));
    prop_assert!(stacks.is_complete);
    check_paths(model, &stacks);
    let mut shares = [0; Share::ALL.len()];
    for part in parts_of(&stacks, 0) {
        shares[part.share as usize] += part.to - part.from;
    }
    let account = account_of(model, &format!("tid:{thread}"));
    prop_assert_eq!(account.shares.map(|sum| sum.ns), shares, "the stacks have the shares");
    for (at, path) in (0..).zip(&stacks.paths) {
        // Each run of a thread is in at most one place of a path.
        let mut places = std::collections::HashMap::new();
        for part in parts_of(&stacks, at) {
            let middle = part.from + (part.to - part.from) / 2;
            let (waits, top, is_fit) = naive_stack(model, path.life, middle).unwrap();
            prop_assert_eq!(stacks.waits(part.within), waits, "{:?}", part);
            prop_assert_eq!(part.place, top, "{:?}", part);
            prop_assert_eq!(part.share == Share::OtherPath, !is_fit, "{:?}", part);
            if is_fit && model.stretches[top as usize].what == What::Run {
                let place = places.entry(top).or_insert(part.within);
                prop_assert_eq!(stacks.waits(*place), stacks.waits(part.within), "{:?}", part);
            }
        }
    }
    // Of work that the target caused, something is on a path: the next part of it that a wait
    // lasted for, or else all.
    for life in (0..model.lives.len() as u32).filter(|life| *life != target) {
        let all = model.of_life(life);
        let is_caused = |wait: &Stretch| wait.cause == Cause::Thread && wait.aid == target;
        for at in 1..all.len() {
            let (wait, run) = (all[at - 1].1, all[at].1);
            if !(wait.what == What::Wait && is_caused(wait) && run.what == What::Run) {
                continue;
            }
            let is_end = |own: &Stretch| is_caused(own) || own.cause == Cause::TimedOut;
            let work = all[at..].iter().take_while(|(_, own)| !is_end(own));
            let is_told = |(place, own): &(u32, &Stretch)| {
                let is_on = |path: &ControlPath| {
                    path.life == life && path.from <= own.begin && own.end <= path.to
                };
                own.what == What::Run
                    && (stacks.parts.iter().any(|part| part.place == *place)
                        || stacks.paths.iter().any(is_on))
            };
            prop_assert!(work.into_iter().any(is_told), "{:?}", run);
        }
    }
    Ok(())
}

/// Checks that the walks of all parts, one after the other, are the walk of the whole.
fn check_parts(model: &Model, step: usize) -> Result<(), TestCaseError> {
    for life in 0..model.lives.len() as u32 {
        let windows = windows_of(model, &[life]);
        let (mut whole, mut in_parts) = (Vec::new(), Vec::new());
        let mut walker = Walker::new(model, 100_000);
        for window in &windows {
            walker.walk(life, window.from, window.to, |piece| whole.push(*piece));
        }
        for part in parts(model, &windows, step) {
            walker.walk_part(&part, |piece| in_parts.push(*piece));
        }
        prop_assert_eq!(whole, in_parts);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_schedules_are_told_as_they_were(
        choices in prop::collection::vec(any::<u8>(), 30..400),
    ) {
        check_twin(&play(&choices))?;
    }

    #[test]
    fn each_moment_has_the_owner_of_the_naive_walk(
        choices in prop::collection::vec(any::<u8>(), 30..200),
    ) {
        let twin = play(&choices);
        let model = twin.made.model();
        for own in 0..model.lives.len() as u32 {
            let pieces = pieces_of(&model, own);
            let mut end = model.lives[own as usize].begin;
            for piece in &pieces {
                prop_assert_eq!(piece.from, end, "pieces tile the time");
                end = piece.to;
                let middle = piece.from + (piece.to - piece.from) / 2;
                let owner = model.stretch(piece.place).map(|stretch| stretch.life);
                prop_assert_eq!(owner, naive_owner(&model, own, middle, 0), "{:?}", piece);
            }
            prop_assert_eq!(end, model.lives[own as usize].end);
        }
    }

    #[test]
    fn parts_of_any_length_tell_what_the_whole_tells(
        rows in prop::collection::vec(any::<(u8, u16, u8, u8, u8)>(), 1..400),
        choices in prop::collection::vec(any::<u8>(), 30..300),
        step in 1..40usize,
    ) {
        let options = Options { stretch_count_max: 300, ..Options::default() };
        check_parts(&play(&choices).made.model(), step)?;
        check_parts(&model_of(&hostile(&rows).log(), &options), step)?;
    }

    #[test]
    fn each_moment_has_the_stack_of_the_naive_search(
        choices in prop::collection::vec(any::<u8>(), 30..300),
    ) {
        let model = play(&choices).made.model();
        for target in 0..model.lives.len() as u32 {
            check_stacks(&model, target)?;
        }
    }

    #[test]
    fn rows_that_contradict_each_other_still_tile_the_time(
        rows in prop::collection::vec(any::<(u8, u16, u8, u8, u8)>(), 1..400),
        stretch_count_max in prop::sample::select(vec![usize::MAX, 40]),
    ) {
        let log = hostile(&rows).log();
        let options = Options { stretch_count_max, ..Options::default() };
        let model = model_of(&log, &options);
        check_tiling(&model);
        for life in 0..model.lives.len() as u32 {
            let target = format!("tid:{}", model.lives[life as usize].thread);
            account_of(&model, &target);
            pieces_of(&model, life);
            let stacks = stacks_of(&model, &target);
            for (at, path) in (0..).zip(&stacks.paths) {
                let parts = parts_of(&stacks, at);
                let sum: u64 = parts.iter().map(|part| part.to - part.from).sum();
                prop_assert_eq!(sum, path.to - path.from);
            }
        }
    }
}

/// Returns rows in any order, with few numbers, so that they meet.
fn hostile(rows: &[(u8, u16, u8, u8, u8)]) -> Made {
    let mut made = Made::new();
    let (device, sector, count, operation) = (8, 1, 1, 0);
    for &(kind, at, a, b, c) in rows {
        let (at, cpu) = (u64::from(at), u32::from(c % 3));
        let (a, b) = (u32::from(a % 7), u32::from(b % 7));
        let socket = eventdef::field::P(b as usize);
        match kind % 20 {
            0..=4 => made.switch(cpu, at, a, b, [0, 1, 2, 0x10, 0x20][usize::from(c % 5)]),
            5..=7 => made.waking(cpu, at, a, b, u32::from(c % 6)),
            8 => made.fork(cpu, at, a, b, 0),
            9 => made.add(cpu, at, Exec { thread: a, was: b, path: b"p" }),
            10 => made.exit(cpu, at, a),
            11 => made.there(at, a, b, u32::from(c % 2)),
            12 => made.lost(cpu, u64::from(c) * 300, at),
            13 => made.timeout(cpu, at, a),
            14 => made.sample(cpu, at, a),
            15 => made.call(cpu, at, a, 202, b as usize),
            16 => made.add(cpu, at, BlockInsert { thread: a, device, sector, count, operation }),
            17 => made.add(cpu, at, BlockComplete { thread: a, device, sector, count, operation }),
            18 => made.send(cpu, at, a, b as usize),
            _ => made.add(cpu, at, SocketReady { socket }),
        };
    }
    made
}

#[test]
fn a_hundred_thousand_threads_are_told() {
    let mut made = Made::new();
    let count = 100_000;
    for thread in 1..=count {
        made.switch(thread % 4, u64::from(thread) * 10, 0, thread, 0);
        made.switch(thread % 4, u64::from(thread) * 10 + 5, thread, 0, ASLEEP);
    }
    // One thread wakes all of them.
    for thread in 2..=count {
        made.waking(0, 2_000_000 + u64::from(thread), 1, thread, THREAD);
    }
    let model = made.model();
    check_tiling(&model);
    assert_eq!(model.lives.len(), count as usize);
    let lives: Vec<u32> = (0..count).collect();
    let windows = lens::waits::account::windows_of(&model, &lives);
    let mut walker = lens::waits::critical::Walker::new(&model, 100_000);
    let account = lens::waits::account::account(&model, &windows, &mut walker);
    let total: u64 = windows.iter().map(|window| window.to - window.from).sum();
    assert_eq!(account.shares.iter().map(|sum| sum.ns).sum::<u64>(), total);
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).exit(0, 20, 1).switch(0, 30, 1, 2, ENDED);
    made.fork(0, 40, 2, 1, 5).switch(0, 50, 2, 1, ASLEEP).switch(0, 90, 1, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    let of_one: Vec<_> = model.lives.iter().filter(|life| life.thread == 1).collect();
    assert_eq!(
        of_one.iter().map(|life| (life.begin, life.end)).collect::<Vec<_>>(),
        [(10, 30), (40, 90)]
    );
    assert_eq!(model.counts.contradictions, 0);
    assert_eq!(shares_of(&model, "1"), [(Share::Unsampled, 60), (Share::Scheduler, 10)]);
}

#[test]
fn a_clock_that_goes_back_is_counted_and_no_time_is_negative() {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(0, 500, 1, 0, ASLEEP).switch(0, 300, 0, 1, 0);
    made.switch(0, 700, 1, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    assert_eq!(model.counts.backwards, 1);
}

#[test]
fn a_thread_that_is_about_to_sleep_has_run_until_then() {
    // /proc told its next state; the wake belongs to the wait that follows.
    let mut made = Made::new();
    made.there(10, 1, 1, ASLEEP).waking(1, 50, 2, 1, HARD).switch(0, 100, 1, 3, ASLEEP);
    made.switch(0, 200, 3, 1, ASLEEP).switch(0, 300, 1, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    assert_eq!((model.counts.contradictions, model.counts.missing), (0, 0));
    assert_eq!(shares_of(&model, "1")[0], (Share::Unsampled, 190));
}

#[test]
fn a_switch_that_the_log_lacks_costs_its_threads_a_part() {
    // Processor 0 went from thread 1 to thread 2, which no row tells.
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(0, 20, 1, 2, ASLEEP).switch(0, 30, 2, 1, ASLEEP);
    made.switch(1, 15, 0, 4, 0).switch(1, 95, 4, 0, ASLEEP);
    made.switch(0, 90, 2, 1, ASLEEP).switch(0, 100, 1, 0, ASLEEP);
    let model = made.model();
    check_tiling(&model);
    assert_eq!((model.counts.contradictions, model.counts.missing), (0, 2));
    let missing = |thread| model.lives.iter().find(|life| life.thread == thread).unwrap().missing;
    assert_eq!([1, 2, 4].map(missing), [1, 1, 0]);
    let of_one = [(What::Wait, 20, 30), (What::Unknown, 30, 90), (What::Run, 90, 100)];
    assert_eq!(story(&model, 1)[2..5], of_one);
    // The log has no wake for the wait, either.
    assert!(shares_of(&model, "1").contains(&(Share::Unknown, 60 + 10)));
}

#[test]
fn frames_come_before_all_rows_that_have_them() {
    // The pages of processor 1 are read first, and are later.
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &Origin::new()).unwrap();
    out.begin_at(10);
    for (cpu, at) in [(1, 100), (0, 50)] {
        let stack = out.stack(at, [3, 2, 1].into_iter()).unwrap();
        out.add(cpu, at, &Switch { prev: cpu + 1, next: 0, state: 1, stack }).unwrap();
    }
    out.finish().unwrap();
    let log = Log::from_source(bytes).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let (mut frames, mut switches) = (0, 0);
    while let Some(event) = events.next() {
        frames += u64::from(event.name() == "Frame");
        if event.name() == "Switch" {
            assert!(event.param("stack").and_then(|stack| stack.as_u64()).unwrap() <= frames);
            switches += 1;
        }
    }
    assert_eq!((frames, switches), (3, 2));
}
