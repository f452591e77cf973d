//! Walks: every execution is rebuilt, and nothing wrong is given out as the path.

mod common;

use common::executions::{blocks, collected, executions};
use common::run::{run, structured};
use common::{Random, random_profile, random_program};
use lens_paths::graph::{BlockId, Element, ElementId, FunctionId, Program, text};
use lens_paths::plan::{Kind, Options, plan};
use lens_paths::walk::{Cause, Collection, Step, WalkError, Walked, Walker};
use lens_paths::{Profile, Weights, clashes};

fn walk(walker: &Walker<'_>, collections: &[Collection]) -> (Vec<Step>, Walked) {
    let mut steps = Vec::new();
    let walked = walker.walk(collections, &mut |step| steps.push(step)).unwrap();
    (steps, walked)
}

fn steps_of(program: &Program, elements: &[ElementId]) -> Vec<Step> {
    let steps = elements.iter().filter_map(|own| match program.element(*own)? {
        Element::Enter(function) => Some(Step::Enter(function)),
        Element::Leave(function) => Some(Step::Leave(function)),
        Element::Block(function, block) => Some(Step::Block(function, block)),
        Element::Edge(..) => None,
    });
    steps.collect()
}

fn walked_blocks(steps: &[Step]) -> Vec<(FunctionId, BlockId)> {
    let blocks = steps.iter().filter_map(|step| match step {
        Step::Block(function, block) => Some((*function, *block)),
        _ => None,
    });
    blocks.collect()
}

fn wholes(profiles: &[Profile], elements: &[ElementId]) -> Vec<Collection> {
    profiles.iter().map(|own| Collection::whole(collected(own, elements))).collect()
}

/// Checks that all executions of a program are rebuilt. Returns how many.
fn rebuild(program: &Program, profiles: &[Profile], what: &str) -> usize {
    let walker = Walker::new(program, profiles).unwrap();
    let all = executions(program, 40, 60);
    for own in &all {
        let (steps, walked) = walk(&walker, &wholes(profiles, own));
        assert_eq!(steps, steps_of(program, own), "{what}\n{}{profiles:?}", text::write(program));
        assert!(walked.is_whole && walked.unknown == 0, "{what}: {walked:?}");
        let used: usize = profiles.iter().map(|profile| collected(profile, own).len()).sum();
        assert_eq!(walked.letters, used as u64, "{what}");
    }
    all.len()
}

#[test]
fn all_executions_of_1500_distributions_are_rebuilt() {
    let (mut distributions, mut rebuilt, mut seed) = (0, 0, 0);
    while distributions < 1500 {
        seed += 1;
        let mut random = Random(seed);
        let program = random_program(&mut random, 3, 6);
        let profiles: Vec<Vec<Profile>> = if random.one_in(2) {
            let count = 2 + random.below(2);
            vec![(0..count).map(|_| random_profile(&mut random, &program, 2)).collect()]
        } else {
            let kind = if random.one_in(3) { Kind::Blocks } else { Kind::Edges };
            let options = Options { machines: 2 + random.below(2), kind, ..Options::default() };
            let plans = plan(&program, &Weights::basic(&program), &options);
            plans
                .map(|own| own.all.iter().map(|plan| plan.profiles()).collect())
                .unwrap_or_default()
        };
        for own in profiles {
            if clashes(&program, &own).unwrap().is_empty() {
                rebuilt += rebuild(&program, &own, &format!("seed {seed}"));
                distributions += 1;
            }
        }
    }
    println!("{rebuilt} executions of {distributions} distributions");
    assert!(rebuilt > 15_000, "{rebuilt}");
}

#[test]
fn blocks_edges_and_machines_give_the_same_path() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let program = structured(&mut random, 4, 3);
        let Some(own) = run(&mut random, &program, 20_000) else { continue };
        for (kind, machines) in
            [(Kind::Edges, 1), (Kind::Blocks, 1), (Kind::Edges, 3), (Kind::Blocks, 2)]
        {
            let options = Options { machines, kind, ..Options::default() };
            let plans = plan(&program, &Weights::basic(&program), &options).unwrap();
            let profiles = plans.best().unwrap().profiles();
            let walker = Walker::new(&program, &profiles).unwrap();
            let (steps, walked) = walk(&walker, &wholes(&profiles, &own));
            assert_eq!(steps, steps_of(&program, &own), "seed {seed}");
            assert!(walked.is_whole);
        }
    }
}

/// Returns a program, the one profile of its plan, and an execution of some length.
fn one(seed: u64) -> Option<(Program, Profile, Vec<ElementId>)> {
    let mut random = Random(seed);
    let program = structured(&mut random, 3, 3);
    let own = run(&mut random, &program, 400).filter(|own| own.len() > 60)?;
    let plans = plan(&program, &Weights::basic(&program), &Options::default()).unwrap();
    let profile = plans.best().unwrap().profiles().remove(0);
    Some((program, profile, own))
}

#[test]
fn a_run_that_was_killed_gives_the_begin_of_its_path_alone() {
    let mut tried = 0;
    for (program, profile, own) in (0..200).filter_map(one) {
        let walker = Walker::new(&program, std::slice::from_ref(&profile)).unwrap();
        let truth = blocks(&program, &own);
        // The run ends after any of its elements.
        for end in (1..own.len()).step_by(7) {
            let letters = collected(&profile, &own[..end]);
            let cut = Collection { letters, begins: true, ends: false };
            let (steps, walked) = walk(&walker, &[cut]);
            let found = walked_blocks(&steps);
            assert!(!walked.is_whole);
            assert_eq!(steps.last(), Some(&Step::Unknown(Cause::Cut)));
            let done = blocks(&program, &own[..end]);
            assert!(found.len() <= done.len(), "a block that did not run");
            assert_eq!(found, truth[..found.len()]);
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried}");
}

#[test]
fn a_ring_that_begins_midway_gives_the_end_of_its_path() {
    let mut tried = 0;
    for (program, profile, own) in (0..200).filter_map(one) {
        let walker = Walker::new(&program, std::slice::from_ref(&profile)).unwrap();
        let letters = collected(&profile, &own);
        for begin in (1..letters.len()).step_by(3) {
            let rest = letters[begin..].to_vec();
            let midway = Collection { letters: rest, begins: false, ends: true };
            let (steps, walked) = walk(&walker, &[midway]);
            assert_eq!(steps.first(), Some(&Step::Unknown(Cause::Begin)));
            assert!(!walked.is_whole && walked.unknown > 0);
            // Each block that is given out is one of the run's, in order.
            let mut truth = blocks(&program, &own).into_iter();
            let found = walked_blocks(&steps);
            assert!(found.iter().all(|block| truth.any(|own| own == *block)), "{found:?}");
            tried += usize::from(!found.is_empty());
        }
    }
    assert!(tried > 200, "{tried}");
}

#[test]
fn collections_of_two_executions_are_never_one_path() {
    let (mut mixed, mut told) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let program = structured(&mut random, 3, 3);
        let options = Options { machines: 2, ..Options::default() };
        let plans = plan(&program, &Weights::basic(&program), &options).unwrap();
        let Some(own) = plans.all.iter().find(|plan| plan.runs.len() > 1) else { continue };
        let profiles = own.profiles();
        let walker = Walker::new(&program, &profiles).unwrap();
        let runs = [run(&mut random, &program, 2000), run(&mut random, &program, 2000)];
        let [Some(one), Some(other)] = runs else { continue };
        let (mut all, others) = (wholes(&profiles, &one), wholes(&profiles, &other));
        if all[1] == others[1] {
            continue;
        }
        all[1] = others[1].clone();
        let (_, walked) = walk(&walker, &all);
        mixed += 1;
        if !walked.is_whole {
            assert_eq!(walked.divergences.len(), 1);
            let found = &walked.divergences[0];
            let letters = &all[found.run].letters;
            assert_eq!(found.found, letters.get(found.agreed).copied());
            told += 1;
        }
    }
    // By chance a mixture is an execution of its own.
    assert!(mixed > 60 && told * 10 >= mixed * 8, "{told} of {mixed}");
}

#[test]
fn lost_and_swapped_letters_never_make_a_whole_path_of_other_letters() {
    for (program, profile, own) in (0..200).filter_map(one) {
        let walker = Walker::new(&program, std::slice::from_ref(&profile)).unwrap();
        let letters = collected(&profile, &own);
        let mut random = Random(letters.len() as u64);
        for _ in 0..20 {
            let mut odd = letters.clone();
            let (one, other) = (random.below(odd.len()), random.below(odd.len()));
            match random.below(3) {
                0 => odd.swap(one, other),
                1 => drop(odd.remove(one)),
                _ => odd.insert(one, [7, u32::MAX, odd[other]][random.below(3)]),
            }
            let (steps, walked) = walk(&walker, &[Collection::whole(odd.clone())]);
            if walked.is_whole {
                assert_eq!(walked.letters, odd.len() as u64);
                assert_eq!((walked.unknown, walked.divergences.len()), (0, 0));
            } else {
                let unknown = steps.iter().filter(|step| matches!(step, Step::Unknown(_)));
                assert_eq!(unknown.count() as u64, walked.unknown);
            }
            assert_eq!(walked.letters + walked.passed_over, odd.len() as u64);
        }
    }
}

/// `main` calls `outer` in a circle, which calls `inner`, which has two ways.
const CALLS: &str = "function main\n0 > 1\ncall 0 outer\n1 > 3\n2 > 3\n3 > 0 4\nexit 4\n\
                     function outer\n0 > 1\ncall 0 inner\nexit 1\n\
                     function inner\n0 > 1 2\n1 > 3\n2 > 3\nexit 3\n";

/// Walks letters that are blocks: of `main`, or of the function before the point.
fn walk_words(program: &Program, letters: &str) -> (Vec<Step>, Walked) {
    let element = |word: &str| {
        let (function, block) = word.split_once('.').unwrap_or(("main", word));
        let function = program.named(function).unwrap();
        program.id(Element::Block(function, BlockId(block.parse().unwrap()))).unwrap()
    };
    let profile = Profile::of("0 1 2 4 inner.1 inner.2".split(' ').map(element));
    let walker = Walker::new(program, &[profile]).unwrap();
    let letters = letters.split(' ').map(|word| element(word).0).collect();
    walk(&walker, &[Collection::whole(letters)])
}

#[test]
fn an_unwinding_hides_what_is_not_sure_and_the_walk_goes_on() {
    let program = text::read(&CALLS.replacen("0 > 1\n", "0 > 1 2:unwind\n", 1)).unwrap();
    let [main, outer, inner] = ["main", "outer", "inner"].map(|name| program.named(name).unwrap());
    // The first call unwinds in block 2 of `inner`, the second returns.
    let (steps, walked) = walk_words(&program, "0 inner.2 2 0 inner.1 1 4");
    let at = steps.iter().position(|step| *step == Step::Unwound(inner)).unwrap();
    let around = [
        Step::Block(inner, BlockId(2)),
        Step::Unknown(Cause::Unwinding),
        Step::Unwound(inner),
        Step::Unwound(outer),
        Step::Block(main, BlockId(2)),
    ];
    assert_eq!(steps[at - 2..at + 3], around);
    assert_eq!(steps.last(), Some(&Step::Leave(main)));
    assert_eq!((walked.unknown, walked.is_whole, walked.divergences.len()), (1, false, 0));
}

#[test]
fn a_long_jump_is_told_with_both_stacks_and_the_walk_goes_on() {
    let program = text::read(CALLS).unwrap();
    let [main, outer, inner] = ["main", "outer", "inner"].map(|name| program.named(name).unwrap());
    let block = |function, block| program.id(Element::Block(function, BlockId(block))).unwrap();
    // From `inner` to the begin of `main`'s circle.
    let (steps, walked) = walk_words(&program, "0 inner.2 0 inner.1 1 4");
    let at = steps.iter().position(|step| *step == Step::Unwound(inner)).unwrap();
    let around = [
        Step::Block(inner, BlockId(2)),
        Step::Unknown(Cause::Other),
        Step::Unwound(inner),
        Step::Unwound(outer),
        Step::Block(main, BlockId(0)),
    ];
    assert_eq!(steps[at - 2..at + 3], around);
    assert_eq!(steps.last(), Some(&Step::Leave(main)));
    let [found] = &walked.divergences[..] else { panic!("{walked:?}") };
    assert_eq!((found.run, found.agreed, found.at), (0, 2, block(main, 1)));
    assert_eq!(found.found, Some(block(main, 0).0));
    assert_eq!(found.stack, []);
    assert_eq!(found.agreed_stack, [block(main, 0), block(outer, 0)]);
}

#[test]
fn profiles_that_tell_too_little_and_wrong_counts_are_refused() {
    let program = text::read("function f\n0 > 1 2\n1 > 3\n2 > 3\nexit 3\n").unwrap();
    assert!(
        matches!(Walker::new(&program, &[]), Err(WalkError::Open(clashes)) if clashes.len() == 1)
    );
    let ids = (0..program.element_count() as u32).map(ElementId);
    let profile = Profile::of(ids);
    let walker = Walker::new(&program, &[profile.clone(), profile]).unwrap();
    let mut each = |_| {};
    let count = WalkError::Count { profiles: 2, collections: 0 };
    assert_eq!(walker.walk(&[], &mut each), Err(count));
    let midway = Collection { letters: vec![], begins: false, ends: true };
    let all = [Collection::whole(vec![]), midway];
    assert_eq!(walker.walk(&all, &mut each), Err(WalkError::Midway(1)));
}

#[test]
fn circles_without_events_end_the_walk() {
    let program = text::read("function f\n0 > 0\n").unwrap();
    let walker = Walker::new(&program, &[]).unwrap();
    let (steps, walked) = walk(&walker, &[]);
    assert_eq!((steps, walked.is_whole), (vec![Step::Unknown(Cause::Other)], false));
    let program = text::read("function f\ncall 0 f\nexit 0\n").unwrap();
    let walker = Walker::new(&program, &[]).unwrap();
    assert!(!walk(&walker, &[]).1.is_whole);
}
