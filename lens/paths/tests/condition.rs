//! The condition: against recorded verdicts of an independent program, and against all executions.

mod common;

use common::executions::{executions, twins};
use common::{Random, function_of, random_profile, random_program, recorded};
use lens_paths::graph::{BlockId, EdgeId, Element, ElementId, Program, text};
use lens_paths::{Profile, clashes};

/// A recorded case.
struct Case {
    line: String,
    program: Program,
    profiles: Vec<Profile>,
    /// Whether the condition holds.
    holds: bool,
    /// Whether no two executions have equal collections, as far as they were tried.
    told_apart: bool,
}

fn cases(packed: &[u8]) -> Vec<Case> {
    recorded(packed).iter().map(|line| case(line)).collect()
}

fn case(line: &str) -> Case {
    let parts: Vec<&str> = line.split('|').collect();
    let mut graph = parts[0].split_whitespace();
    let count = graph.next().unwrap().parse().unwrap();
    let digits = |word: &str| -> Vec<u32> { word.chars().filter_map(|c| c.to_digit(10)).collect() };
    let edges: Vec<(u32, u32)> = graph.map(|word| (digits(word)[0], digits(word)[1])).collect();
    let program = function_of(count, &edges);
    let main = program.main();
    let element = |word: &str| match digits(word)[..] {
        [block] => program.id(Element::Block(main, BlockId(block))),
        [from, to] => {
            let edges = program.functions()[0].edges();
            let at = edges.iter().position(|edge| (edge.from.0, edge.to.0) == (from, to));
            program.id(Element::Edge(main, EdgeId(at.unwrap() as u32)))
        }
        _ => None,
    };
    let profile =
        |part: &str| Profile::of(part.split_whitespace().map(|word| element(word).unwrap()));
    let profiles = parts[1].split(';').map(profile).collect();
    let verdicts = parts[2].trim();
    let (holds, told_apart) = (verdicts.starts_with('1'), verdicts.ends_with('1'));
    Case { line: line.to_owned(), program, profiles, holds, told_apart }
}

#[test]
fn verdicts_are_those_of_an_independent_program() {
    let nodes = cases(include_bytes!("recorded/nodes.txt.gz"));
    let edges = cases(include_bytes!("recorded/edges.txt.gz"));
    assert_eq!((nodes.len(), edges.len()), (4000, 1000));
    let mut accepted = 0;
    for Case { line, program, profiles, holds, told_apart } in nodes.iter().chain(&edges) {
        let found = clashes(program, profiles).unwrap();
        assert_eq!(found.is_empty(), *holds, "{line}: {found:?}");
        assert!(*told_apart || !holds, "{line}");
        accepted += usize::from(*holds);
    }
    assert_eq!(accepted, 1978 + 774);
}

/// Returns profiles of blocks of `main`, or of any function: "B2 bar.1".
fn profiles_of(program: &Program, sets: &[&str]) -> Vec<Profile> {
    let element = |word: &str| {
        let (function, label) = word.split_once('.').unwrap_or(("main", word));
        let id = program.named(function).unwrap();
        let blocks = program.function(id).unwrap().blocks();
        let at = blocks.iter().position(|block| block.label.as_deref() == Some(label));
        program.id(Element::Block(id, BlockId(at.unwrap() as u32))).unwrap()
    };
    sets.iter().map(|set| Profile::of(set.split_whitespace().map(element))).collect()
}

/// The first figure of the paper.
const LOOP: &str = "function main\nentry_ > B1\nB1 > B2 exit_\nB2 > B3 B4\nB3 > B5\nB4 > B5\n\
                    B5 > B1\nexit exit_\nentry entry_\n";
/// Its third figure: a callee with two ways, called in a circle.
const CALLS: &str = "function main\nentry_ > C1\nC1 > R1\nR1 > C1 exit_\ncall C1 bar\nexit exit_\n\
                     function bar\nB1 > B2\nB2 > B3 B4\nB3 > B5\nB4 > B5\nexit B5\n";
/// Its ninth figure.
const THREE: &str = "function main\nentry_ > B0\nB0 > B1 B2 B3 exit_\nB1 > B4\nB2 > B4\nB3 > B4\n\
                     B4 > B0\nexit exit_\n";

#[test]
fn counter_examples_are_rejected_at_their_fork() {
    let program = text::read(LOOP).unwrap();
    let blocks = program.functions()[0].blocks();
    for sets in [&["entry_ B1 B2 B5", "B3 exit_", "B4"][..], &["B3", "B4"]] {
        let found = clashes(&program, &profiles_of(&program, sets)).unwrap();
        let forks: Vec<_> = found
            .iter()
            .map(|clash| blocks[clash.fork.block.0 as usize].label.as_deref().unwrap())
            .collect();
        assert!(forks.contains(&"B2"), "{sets:?}: {forks:?}");
        assert!(twins(&executions(&program, 60, 900), &profiles_of(&program, sets)).is_some());
    }
    let program = text::read(CALLS).unwrap();
    let sets = profiles_of(&program, &["C1", "bar.B4"]);
    let found = clashes(&program, &sets).unwrap();
    assert!(found.iter().any(|clash| clash.fork.function == program.named("bar").unwrap()));
    assert!(twins(&executions(&program, 60, 3000), &sets).is_some());
}

#[test]
fn accepted_examples_are_accepted() {
    let program = text::read(LOOP).unwrap();
    let sets = profiles_of(&program, &["B2 B3", "B2 B4"]);
    assert_eq!(clashes(&program, &sets).unwrap(), []);
    let program = text::read(THREE).unwrap();
    let sets = profiles_of(&program, &["B1 B3", "B1 B2", "B2 B3"]);
    assert_eq!(clashes(&program, &sets).unwrap(), []);
    assert_eq!(twins(&executions(&program, 60, 3000), &sets), None);
}

#[test]
fn a_repeated_callee_needs_a_letter_on_each_way_through_it() {
    let program = text::read(CALLS).unwrap();
    let bar = program.named("bar").unwrap();
    let enter = program.id(Element::Enter(bar)).unwrap();
    let own = |sets: &[&str]| profiles_of(&program, sets);
    let without = own(&["C1", "bar.B4"]);
    assert_ne!(clashes(&program, &without).unwrap(), []);
    // The edge from the exit to the entry, as a witness.
    let with: Vec<Profile> = without
        .iter()
        .map(|profile| {
            let own = profile.letters().iter().map(|(element, _)| *element);
            let is_of_bar = own.clone().any(|element| element.0 > enter.0);
            Profile::of(own.chain(is_of_bar.then_some(enter)))
        })
        .collect();
    assert_eq!(clashes(&program, &with).unwrap(), []);
    assert_eq!(clashes(&program, &own(&["C1", "bar.B4 bar.B5"])).unwrap(), []);
    assert_eq!(twins(&executions(&program, 90, 3000), &with), None);
}

#[test]
fn what_the_printed_theorem_accepts_wrongly_is_rejected() {
    let edges = [(0, 1), (1, 3), (1, 4), (2, 1), (2, 3), (3, 1), (3, 2), (3, 4)];
    let program = function_of(5, &edges);
    let block = |block| program.id(Element::Block(program.main(), BlockId(block))).unwrap();
    let profiles = [Profile::of([block(3)]), Profile::of([block(1), block(2)])];
    assert_ne!(clashes(&program, &profiles).unwrap(), []);
    assert!(twins(&executions(&program, 40, 9000), &profiles).is_some());
}

/// Tries random programs and profiles. Returns how many were accepted and rejected.
fn try_all(seeds: u64, profile: impl Fn(&mut Random, &Program) -> Profile) -> (u32, u32) {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random(seed);
        let program = random_program(&mut random, 3, 5);
        let profiles: Vec<Profile> =
            (0..1 + random.below(3)).map(|_| profile(&mut random, &program)).collect();
        if !clashes(&program, &profiles).unwrap().is_empty() {
            rejected += 1;
            continue;
        }
        let found = twins_of(&program, &profiles);
        assert_eq!(found, None, "seed {seed}\n{}{profiles:?}", text::write(&program));
        accepted += 1;
    }
    (accepted, rejected)
}

fn twins_of(program: &Program, profiles: &[Profile]) -> Option<(Vec<ElementId>, Vec<ElementId>)> {
    let all = executions(program, 40, 400);
    twins(&all, profiles).map(|(one, other)| (one.to_vec(), other.to_vec()))
}

#[test]
fn accepted_profiles_tell_all_executions_with_calls_and_recursion() {
    let (accepted, rejected) = try_all(4000, |random, program| {
        let of = 1 + random.below(4);
        random_profile(random, program, of)
    });
    assert!(accepted > 800 && rejected > 800, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn accepted_letters_in_several_places_tell_all_executions() {
    let (accepted, rejected) = try_all(4000, |random, program| {
        let letters = 2 + random.below(6);
        let mut lettered = Vec::new();
        for element in (0..program.element_count() as u32).map(ElementId) {
            if !random.one_in(3) {
                lettered.push((element, random.below(letters) as u32));
            }
        }
        Profile::lettered(lettered)
    });
    assert!(accepted > 400 && rejected > 800, "{accepted} accepted, {rejected} rejected");
}

/// Returns whether a profile tells all executions of a graph in text.
fn tells(graph: &str, blocks: &[(usize, u32)]) -> bool {
    let program = text::read(graph).unwrap();
    let of = |(function, block): &(usize, u32)| {
        let function = program.ids().nth(*function).unwrap();
        program.id(Element::Block(function, BlockId(*block))).unwrap()
    };
    let profile = Profile::of(blocks.iter().map(of));
    clashes(&program, &[profile]).unwrap().is_empty()
}

/// A program that stops gives no letter more, and neither does one that returns.
#[test]
fn a_block_that_may_stop_needs_a_letter_on_the_way_on() {
    let graph = "function main\n0 > 1\nexit 1\nstop 0\n";
    assert!(!tells(graph, &[]));
    assert!(tells(graph, &[(0, 1)]));
}

/// No letter follows, so that the ways of the callee differ in nothing.
#[test]
fn ways_of_a_function_that_is_called_for_ever_need_letters() {
    let graph = "function main\n0 > 0\ncall 0 f\nfunction f\n0 > 1 2\nexit 1 2\n";
    assert!(!tells(graph, &[]));
    assert!(tells(graph, &[(1, 1), (1, 2)]));
}

/// A set of more letters than are kept stands for all of them.
#[test]
fn a_way_with_thousands_of_first_letters_is_like_every_other() {
    let last = 1200;
    let cases: Vec<String> = (3..=last).map(|block| block.to_string()).collect();
    let cases = cases.join(" ");
    let letters: Vec<(usize, u32)> = (3..=last).map(|block| (0, block)).collect();
    for ways in ["1 2", "2 1"] {
        let graph = format!("function main\n0 > {ways}\n1 > {cases}\n2 > 3\nexit {cases}\n");
        assert!(!tells(&graph, &letters), "{ways}: block 3 comes after both");
        let both = [&letters[..], &[(0, 1), (0, 2)]].concat();
        assert!(tells(&graph, &both), "{ways}");
    }
}
