//! Graphs that a compiler printed: MIR, and the same function in the language of graphviz.

mod common;

use common::recorded;
use lens_paths::graph::{self, BlockId, EdgeKind, FunctionId, Program};
use lens_paths::plan::{Kind, Options, plan};
use lens_paths::{Weights, clashes};
use std::collections::BTreeSet;

fn read(packed: &[u8]) -> Program {
    graph::read(&recorded(packed).join("\n")).unwrap()
}

/// Returns the edges of a function but those of unwinding, by the numbers in `bb7`.
fn edges(program: &Program, id: FunctionId) -> BTreeSet<(u32, u32)> {
    let own = program.function(id).unwrap();
    let number = |block: BlockId| match &own.block(block).unwrap().label {
        Some(label) => label[2..].split('_').next().unwrap().parse().unwrap(),
        None => block.0,
    };
    let edges = own.edges().iter().filter(|edge| edge.kind != EdgeKind::Unwind);
    edges.map(|edge| (number(edge.from), number(edge.to))).collect()
}

#[test]
fn mir_and_the_drawing_of_its_compiler_have_the_same_edges() {
    let mir = read(include_bytes!("recorded/words.mir.gz"));
    let drawn = read(include_bytes!("recorded/kind.dot.gz"));
    let kind = mir.named("kind").unwrap();
    let of_mir = edges(&mir, kind);
    assert_eq!(of_mir, edges(&drawn, drawn.main()));
    assert_eq!((of_mir.len(), mir.function(kind).unwrap().blocks().len()), (21, 16));
    // Three values of a match lead to one block.
    assert!(mir.notes().iter().any(
        |note| matches!(note, graph::Note::Doubled(own, BlockId(0), BlockId(5)) if *own == kind)
    ));
}

#[test]
fn mir_has_the_calls_of_its_own_functions() {
    let mir = read(include_bytes!("recorded/words.mir.gz"));
    let callees = |name: &str| {
        let own = mir.function(mir.named(name).unwrap()).unwrap();
        let calls = own.blocks().iter().filter_map(|block| block.call.as_ref());
        let names = calls.flat_map(|call| &call.targets);
        names.map(|id| mir.function(*id).unwrap().name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(callees("main"), ["count", "kind"]);
    assert_eq!(callees("count"), ["is_word"]);
    assert_eq!(callees("kind"), [""; 0]);
    let main = mir.function(mir.main()).unwrap();
    assert_eq!(main.name(), "main");
    assert!(main.edges().iter().any(|edge| edge.kind == EdgeKind::Unwind));
}

#[test]
fn a_compiled_program_has_plans_that_tell_all_its_paths() {
    let mir = read(include_bytes!("recorded/words.mir.gz"));
    let weights = Weights::basic(&mir);
    for (kind, machines) in [(Kind::Edges, 1), (Kind::Edges, 2), (Kind::Blocks, 1)] {
        let options = Options { kind, machines, ..Options::default() };
        let plans = plan(&mir, &weights, &options).unwrap();
        let best = plans.best().unwrap();
        assert_eq!(clashes(&mir, &best.profiles()).unwrap(), []);
        let elements = mir.element_count();
        assert!(best.runs.iter().all(|run| run.profile.size() * 4 < elements));
    }
}

#[test]
fn drawings_of_odd_forms_are_read_or_refused() {
    let source = "strict digraph \"a b\" { node [shape=box]; rank = same\n x:s0 -> y -> \"z w\"; \
                  subgraph cluster_1 { x -> q [label=<a <b>c</b> d>] } /* n */ y -- x; } \
                  digraph { 0 -> 0 }";
    let program = graph::read(source).unwrap();
    let names: Vec<&str> = program.functions().iter().map(|own| own.name()).collect();
    assert_eq!(names, ["a b", "main"]);
    assert_eq!(
        (program.functions()[0].edges().len(), program.functions()[0].blocks().len()),
        (4, 4)
    );
    for wrong in ["digraph x { a -> \"b }", "digraph x { a [label=<b] }", "digraph x {"] {
        assert!(graph::read(wrong).is_err(), "{wrong}");
    }
}
