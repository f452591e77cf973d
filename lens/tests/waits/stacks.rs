//! The rows of the paper on RSP that tell of pseudo-stacks and control paths.
//!
//! ```text
//!  scenes ──▶ model ──▶ stacks: parts, paths ──▶ words
//! ```
//!
//! Design: `.waits.stack`, `.waits.flame` in `design/waits.md`.

use super::made;

use lens::waits::critical::Share;
use lens::waits::frames::{FrameKind, Frames, Locks};
use lens::waits::model::{NONE, What};
use lens::waits::names::Names;
use lens::waits::stack::Kind;
use made::scenes::{US, helped, pass, polled, triangle};
use made::*;

#[test]
fn the_stacks_of_a_ping_pong_have_one_run_each_on_top() {
    let mut made = pass(6);
    made.name(0, 1, 1, "ping").name(0, 2, 2, "pong");
    let model = made.model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    let own = "ping (1);ping (1)";
    let round = |run: u64| {
        let work = (190, format!("{own};wait;pong (2);pong (2);running"));
        [(run, format!("{own};running")), work, (5, format!("{own};wait;ready"))]
    };
    let told = told(&model, &stacks, 0);
    let mut golden = vec![(200, format!("{own};wait;unknown"))];
    golden.extend([210, 205, 205].into_iter().flat_map(round));
    golden.push((5, format!("{own};running")));
    assert_eq!(told, golden);
    assert_eq!(stacks.paths.len(), 1, "nothing is of another path");
    let (names, locks) = (Names::new(&model), Locks::default());
    let mut frames = Frames::new(&model, &names, &locks);
    for part in &stacks.parts {
        frames.each(&stacks, part, |_, _, stack, frames| {
            let kinds: Vec<_> = stack.iter().map(|at| frames.frame(*at).unwrap().kind).collect();
            let (_, below) = kinds.split_last().unwrap();
            assert!(!below.contains(&FrameKind::Run), "{kinds:?}");
        });
    }
}

#[test]
fn work_is_on_the_stack_of_a_wait_within_the_grace() {
    for (early, late, is_child) in
        [(99, 99, true), (100, 100, true), (101, 0, false), (0, 101, false)]
    {
        let model = helped(early * US, late * US).model();
        let stacks = stacks_of(&model, "1");
        check_paths(&model, &stacks);
        let parts = parts_of(&stacks, 0);
        let (work, one) = (life(&model, 2), life(&model, 1));
        let top = |place: u32| model.stretches[place as usize].life;
        let part = parts.iter().find(|part| part.place != NONE && top(part.place) == work).unwrap();
        assert_eq!((part.from, part.to), (1000 * US, 2000 * US));
        let [wait] = stacks.waits(part.within)[..] else { panic!("{part:?}") };
        assert_eq!(model.stretches[wait as usize].life, one);
        assert_eq!(part.share == Share::OtherPath, !is_child, "{early} {late}");
        assert_eq!(part.other, if is_child { NONE } else { 1 });
        assert_eq!(stacks.paths.len(), if is_child { 1 } else { 2 });
        if let Some(path) = stacks.paths.get(1) {
            // The work in full, also what lies outside of the wait.
            let whole = ((1000 - early) * US, (2010 + late) * US);
            assert_eq!((path.from, path.to), whole);
            assert_eq!((path.kind, path.life, path.parent), (Kind::Other, work, 0));
        }
    }
}

#[test]
fn tries_that_timed_out_are_one_frame() {
    let model = polled().model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    let told = told(&model, &stacks, 0);
    let waits: Vec<&str> =
        told.iter().map(|(_, text)| &**text).filter(|text| text.contains("thread 2")).collect();
    // Six waits, five of them timed out: all are the work of the thread that ended the last.
    assert_eq!(waits.len(), 6);
    assert!(waits.iter().all(|text| *text == waits[0]), "{waits:?}");
    assert!(waits[0].contains("poll") && waits[0].ends_with("thread 2;running"), "{}", waits[0]);
    assert!(!told.iter().any(|(_, text)| text.contains("timed out")), "{told:?}");
    assert_eq!(stacks.paths.len(), 1);
}

#[test]
fn work_that_was_begun_before_has_a_path_and_its_own_stacks() {
    // Thread 2 is set to work by thread 1 at 100 µs, asks thread 3 from 300 to 700 µs, and ends at
    // 1500 µs. Thread 1 waits for it from 500 to 800 µs by a timeout of its own, then from 1000 µs.
    let mut made = Made::new();
    made.there(0, 2, 2, ASLEEP).there(0, 3, 3, ASLEEP).switch(0, 10 * US, 0, 1, 0);
    made.waking(0, 100 * US, 1, 2, THREAD).switch(1, 110 * US, 0, 2, 0);
    made.waking(1, 290 * US, 2, 3, THREAD).switch(1, 300 * US, 2, 3, ASLEEP);
    made.switch(0, 500 * US, 1, 0, ASLEEP).waking(1, 700 * US, 3, 2, THREAD);
    made.switch(1, 710 * US, 3, 2, ASLEEP).waking(1, 800 * US, 2, 1, THREAD);
    made.switch(0, 810 * US, 0, 1, 0).switch(0, 1000 * US, 1, 0, ASLEEP);
    made.waking(1, 1490 * US, 2, 1, THREAD).switch(0, 1495 * US, 0, 1, 0);
    made.switch(1, 1500 * US, 2, 0, ASLEEP).switch(0, 2000 * US, 1, 0, ASLEEP);
    let model = made.model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    // Both waits are for one path: it begins where thread 1 set thread 2 to work.
    let other: Vec<_> = stacks.parts.iter().filter(|part| part.share == Share::OtherPath).collect();
    assert!(other.len() >= 2 && other.iter().all(|part| part.other == 1), "{other:?}");
    assert_eq!(stacks.paths.len(), 2);
    let path = stacks.paths[1];
    assert_eq!((path.from, path.to), (100 * US, 1500 * US));
    assert_eq!((path.life, path.parent, path.waker), (life(&model, 2), 0, life(&model, 1)));
    let told = told(&model, &stacks, 1);
    let text = |at: usize| told[at].1.split_once(";thread 2").unwrap().1;
    let tops: Vec<_> = (0..told.len()).map(|at| (told[at].0, text(at))).collect();
    assert_eq!(tops[0], (10, ";wait;ready"));
    assert_eq!(tops[1], (190, ";running"));
    assert!(tops[2].1.ends_with("thread 3;running") && tops[2].0 == 400, "{tops:?}");
    assert_eq!(tops[3], (10, ";wait;ready"));
    assert_eq!(tops[4], (790, ";running"));
}

#[test]
fn the_stack_of_a_triangle_is_cut_where_the_first_thread_called() {
    let model = triangle(false).model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    let lives = |waits: Vec<u32>| -> Vec<u32> {
        let thread = |place: &u32| {
            let life = model.stretches[*place as usize].life;
            model.lives[life as usize].thread
        };
        waits.iter().map(thread).collect()
    };
    let parts = parts_of(&stacks, 0);
    let of = |thread: u32| {
        let part = parts.iter().find(|part| {
            let own = model.stretch(part.place);
            own.is_some_and(|own| own.what == What::Run && own.life == life(&model, thread))
        });
        *part.unwrap()
    };
    // Thread 3 answers to 1: it is the parent of 2, from where 1 called on.
    assert_eq!(lives(stacks.waits(of(3).within)), [1]);
    assert_eq!(lives(stacks.waits(of(2).within)), [1, 3]);
    assert_eq!((of(2).from, of(2).to), (2020 * US, 3000 * US));
    assert_eq!(stacks.paths.len(), 1);
    // If thread 3 worked already, its work is of another path, and not cut there.
    let model = triangle(true).model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    let path = stacks.paths.iter().find(|path| path.kind == Kind::Other).unwrap();
    assert_eq!((path.life, path.from, path.to), (life(&model, 3), 1500 * US, 4020 * US));
}

#[test]
fn work_that_nothing_waited_for_has_a_path() {
    let mut made = Made::new();
    made.there(0, 2, 2, ASLEEP).there(0, 4, 4, ASLEEP).switch(0, 10 * US, 0, 1, 0);
    made.waking(0, 100 * US, 1, 2, THREAD).switch(1, 110 * US, 0, 2, 0);
    // Thread 4 is woken by 2: that is not the work of the target.
    made.waking(1, 200 * US, 2, 4, THREAD).switch(1, 400 * US, 2, 4, ASLEEP);
    made.switch(1, 500 * US, 4, 0, ASLEEP).switch(0, 600 * US, 1, 0, ASLEEP);
    let model = made.model();
    let stacks = stacks_of(&model, "1");
    check_paths(&model, &stacks);
    let found: Vec<_> = stacks.paths.iter().map(|path| (path.kind, path.life, path.from)).collect();
    let (one, two) = (life(&model, 1), life(&model, 2));
    assert_eq!(found[0].0, Kind::Own);
    assert_eq!(found[1..], [(Kind::Unawaited, two, 100 * US)]);
    assert_eq!((stacks.paths[1].to, stacks.paths[1].waker), (400 * US, one));
}

#[test]
fn several_samples_share_a_run_equally() {
    let mut made = Made::new();
    made.symbol(0, 0xA, "main").symbol(0, 0xB, "sort").symbol(0, 0xC, "hash;it");
    made.switch(0, 100 * US, 0, 1, 0).sample_in(0, 110 * US, 1, &[0xB, 0xA]);
    made.sample_in(0, 120 * US, 1, &[0xC, 0xA]).sample_in(0, 130 * US, 1, &[0xC, 0xA]);
    made.switch(0, 400 * US, 1, 0, ASLEEP);
    let model = made.model();
    let stacks = stacks_of(&model, "1");
    let told = told(&model, &stacks, 0);
    let tops: Vec<_> = told
        .iter()
        .filter(|(_, text)| text.contains("main"))
        .map(|(us, text)| (*us, text.split_once(";main").unwrap().1))
        .collect();
    // A separator in a name is another character.
    assert_eq!(tops, [(100, ";sort"), (100, ";hash:it"), (100, ";hash:it")]);
}

#[test]
fn a_chain_of_a_hundred_thousand_waits_has_stacks() {
    const COUNT: u32 = 100_000;
    let mut made = Made::new();
    for thread in 1..=COUNT {
        made.switch(0, u64::from(thread) * 10, thread - 1, thread, ASLEEP);
    }
    for thread in (1..COUNT).rev() {
        let at = u64::from(2 * COUNT - thread) * 10;
        made.waking(0, at, thread + 1, thread, THREAD).switch(
            0,
            at + 5,
            thread + 1,
            thread,
            ASLEEP,
        );
    }
    made.switch(0, u64::from(COUNT) * 20 + 10, 1, 0, ASLEEP);
    let model = made.model();
    let begun = std::time::Instant::now();
    let stacks = stacks_of(&model, "1");
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    let sum: u64 = parts_of(&stacks, 0).iter().map(|part| part.to - part.from).sum();
    let own = &model.lives[life(&model, 1) as usize];
    assert_eq!(sum, own.end - own.begin);
    assert!(stacks.paths.len() > 1000, "{} paths", stacks.paths.len());
    let deepest = stacks.parts.iter().map(|part| stacks.waits(part.within).len()).max();
    assert!(deepest < Some(64), "{deepest:?}");
}
