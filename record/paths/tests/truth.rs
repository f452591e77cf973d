//! The path by breakpoints is the path by single steps, and the path by valgrind's lackey.
//!
//! ```text
//!  source ─ gcc, clang, rustc ─▶ program ─┬ plan ─ breakpoints ─ walk ─▶ path ─┐
//!                                         ├ single steps ──────────────────────┼─ equal
//!                                         └ lackey ────────────────────────────┘
//! ```
//!
//! Design: `.collect.truth` in `design/collect.md`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{collected, compile, launch, walk};
use lens_paths::UNWOUND;
use lens_paths::graph::{EdgeId, Element};
use lens_paths::plan::{Kind, Options};
use record_paths::{Choice, Ended, Sites, Step, Subject, collect, lackey, step};
use std::path::{Path, PathBuf};

/// Blocks around a difference that are named.
const NEAR: usize = 3;

/// Returns where two paths differ.
fn difference(one: &[Step], other: &[Step]) -> Option<usize> {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    (at < one.len().max(other.len())).then_some(at)
}

/// Returns the blocks near a place.
fn say(subject: &Subject, path: &[Step], at: usize) -> String {
    let near = path.get(at.saturating_sub(NEAR)..path.len().min(at + NEAR)).unwrap_or_default();
    let name = |step: &Step| subject.program().say(Element::Block(step.0, step.1));
    near.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Returns a program of the system.
fn system(name: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|own| own.join(name)).find(|own| own.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: install it, or run ./test --install"))
}

const SMALL: &[(usize, Kind)] = &[(1, Kind::Edges), (2, Kind::Edges), (1, Kind::Blocks)];
/// A program of thousands of blocks is planned once.
const LARGE: &[(usize, Kind)] = &[(1, Kind::Edges)];

/// Asserts that all ways to a path give one path. Returns its length.
fn assert_one_path(program: &Path, arguments: &[&str], plans: &[(usize, Kind)]) -> usize {
    let subject = Subject::read(program, &Choice::default()).unwrap();
    let launch = launch(program, arguments);
    let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
    assert!(stepped.is_whole, "{}", program.display());
    for &(machines, kind) in plans {
        let options = Options { machines, limit: None, kind };
        let walked = walk(&subject, &Choice::default(), &launch, &options);
        let name = format!("{} {machines} {kind:?}", program.display());
        same(&subject, &walked.path, &stepped.path, &name);
        assert!(walked.is_whole, "{name}");
    }
    let (entry, code) = (subject.binary.entry, &subject.binary.entry_code);
    let printed = lackey(&launch, &subject.chart, entry, code).unwrap();
    same(&subject, &printed, &stepped.path, &format!("{} lackey", program.display()));
    stepped.path.len()
}

/// Asserts that two paths are equal; else names the first difference.
fn same(subject: &Subject, one: &[Step], other: &[Step], name: &str) {
    if let Some(at) = difference(one, other) {
        let near = |path: &[Step]| say(subject, path, at);
        panic!("{name}: differs at {at}: {} against {}", near(one), near(other));
    }
}

#[test]
fn programs_of_two_compilers_have_one_path_by_each_way() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, flags) in [
        ("gcc", &["-O2"][..]),
        ("gcc", &["-O0"]),
        ("gcc", &["-O2", "-s", "-no-pie", "-fcf-protection=full"]),
        ("clang", &["-O2"]),
        ("clang", &["-O0", "-no-pie"]),
    ] {
        let program = compile(folder.path(), compiler, flags, "maze.c");
        for arguments in [&[][..], &["leave"]] {
            assert!(assert_one_path(&program, arguments, SMALL) > 150);
        }
    }
}

#[test]
#[ignore = "takes minutes, and needs gzip and sqlite3: ./proofs paths runs it"]
fn gzip_and_sqlite_have_one_path_by_each_way() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    std::fs::write(&input, include_str!("common/mod.rs").get(..400).unwrap()).unwrap();
    let words = ["-c", input.to_str().unwrap()];
    assert!(assert_one_path(&system("gzip"), &words, LARGE) > 5_000);
    let words =
        [":memory:", "create table a(b); insert into a values(1),(2); select sum(b) from a"];
    assert!(assert_one_path(&system("sqlite3"), &words, LARGE) > 200);
}

#[test]
fn signals_children_and_long_jumps_leave_the_path_whole() {
    let folder = tempfile::tempdir().unwrap();
    for source in ["signals.c", "children.c"] {
        let program = compile(folder.path(), "gcc", &["-O1"], source);
        assert_one_path(&program, &[], SMALL);
    }
    // A jump leaves open calls: the walk tells the path after it, not that nothing is missing.
    let program = compile(folder.path(), "gcc", &["-O1"], "jumps.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let launch = launch(&program, &[]);
    let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
    let (entry, code) = (subject.binary.entry, &subject.binary.entry_code);
    assert_eq!(lackey(&launch, &subject.chart, entry, code).unwrap(), stepped.path);
    let walked = walk(&subject, &Choice::default(), &launch, &Options::default());
    assert!(!walked.is_whole && walked.unknown > 0);
}

#[test]
fn functions_with_labels_that_pointers_reach_are_code_outside() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, flags) in [
        ("gcc", &["-O2"][..]),
        ("gcc", &["-O0"]),
        ("gcc", &["-O1", "-no-pie"]),
        ("gcc", &["-O1", "-Wl,-z,pack-relative-relocs"]),
        ("clang", &["-O1"]),
    ] {
        let program = compile(folder.path(), compiler, flags, "labels.c");
        let subject = Subject::read(&program, &Choice::default()).unwrap();
        let has = |name: &str| subject.chart.left.iter().any(|own| own.name == name);
        assert!(has("on_run") && has("on_attempt"), "{compiler} {flags:?}");
        assert!(assert_one_path(&program, &[], SMALL) > 20);
    }
}

#[test]
fn jumps_out_of_calls_of_a_static_program_make_a_path_that_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let choice = Choice { root: None, functions: vec!["deep".to_owned()] };
    for flags in [&["-O1", "-static"][..], &["-O0", "-static-pie"]] {
        let program = compile(folder.path(), "gcc", flags, "jumps.c");
        let subject = Subject::read(&program, &choice).unwrap();
        let launch = launch(&program, &[]);
        let walked = walk(&subject, &choice, &launch, &Options::default());
        assert!(!walked.is_whole && walked.unknown > 0, "{flags:?}");
        let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
        let sure = walked.sure.min(stepped.path.len());
        same(&subject, &walked.path[..sure], &stepped.path[..sure], "before the jump");
    }
}

#[test]
fn a_jump_that_leaves_the_root_is_a_letter() {
    let folder = tempfile::tempdir().unwrap();
    let choice = Choice { root: Some("deep".to_owned()), functions: Vec::new() };
    let program = compile(folder.path(), "gcc", &["-O1"], "jumps.c");
    let subject = Subject::read(&program, &choice).unwrap();
    let (run, _) = collected(&subject, &choice, &launch(&program, &[]));
    assert_eq!(run.letters.last(), Some(&UNWOUND), "{:?}", run.letters);
}

#[test]
fn an_exception_makes_a_path_that_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "g++", &["-O1"], "unwinds.cc");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let launch = launch(&program, &[]);
    let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
    assert!(!stepped.is_whole);
    let walked = walk(&subject, &Choice::default(), &launch, &Options::default());
    assert!(!walked.is_whole);
    // What the walk gives before it is the truth.
    let sure = walked.sure.min(stepped.path.len());
    same(&subject, &walked.path[..sure], &stepped.path[..sure], "before the exception");
}

#[test]
fn a_crash_ends_the_path_at_its_last_sure_block() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1"], "crash.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let launch = launch(&program, &[]);
    let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
    assert_eq!(stepped.ended, Ended::Killed(11));
    let walked = walk(
        &subject,
        &Choice::default(),
        &launch,
        &Options { kind: Kind::Blocks, ..Options::default() },
    );
    assert!(!walked.is_whole && walked.path.len() > 2);
    let length = walked.path.len();
    same(&subject, &walked.path, &stepped.path[..length], "up to the crash");
}

#[test]
fn the_outcome_of_each_condition_is_that_of_the_processor() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1"], "conditions.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let (launch, entry) = (launch(&program, &[]), subject.binary.entry);
    let path = step(&launch, entry, &subject.chart, Some(0)).unwrap().path;
    let (main, own) = (subject.program().main(), &subject.program().functions()[0]);
    let id = |edge: usize| {
        let element = Element::Edge(main, EdgeId(edge as u32));
        Sites::can_witness(&subject.chart, element).then(|| subject.program().id(element)).flatten()
    };
    let taken = path.windows(2).filter_map(|two| {
        let mut edges = own.range(two[0].1);
        id(edges.find(|at| own.edges()[*at].to == two[1].1)?)
    });
    let taken: Vec<u32> = taken.map(|own| own.0).collect();
    let witnesses = (0..own.edges().len()).filter_map(id).map(|own| (own, own.0));
    let sites = Sites::new(&subject.chart, witnesses).unwrap();
    let letters = collect(&launch, entry, &sites, Some(0)).unwrap().letters;
    assert!(letters.len() > 64 * 16 && letters == taken, "{letters:?} {taken:?}");
}
