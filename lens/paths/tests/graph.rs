//! Graphs: the builder, their text, their elements.

mod common;

use common::{Random, random_program};
use lens_paths::graph::{BlockId, Builder, EdgeKind, Element, ElementId, GraphError, Note, text};

#[test]
fn a_written_graph_reads_as_itself() {
    for seed in 0..500 {
        let program = random_program(&mut Random(seed), 4, 9);
        let written = text::write(&program);
        let read = text::read(&written).unwrap();
        assert_eq!(read.functions(), program.functions(), "seed {seed}:\n{written}");
        assert_eq!((read.main(), text::write(&read)), (program.main(), written), "seed {seed}");
    }
}

#[test]
fn names_labels_addresses_kinds_and_weights_survive() {
    let source = "function \"<a b>::\\\"c\\\"\" @0x10 # a comment\nblock 0 @0x10 \"first # one\"\n\
                  start > 2:taken*7 last:next\n\
                  last > start:unwind\ncall last ? \"<a b>::\\\"c\\\"\"\n\
                  exit 2\nstop last\n";
    let program = text::read(source).unwrap();
    let own = &program.functions()[0];
    assert_eq!(own.name(), "<a b>::\"c\"");
    assert_eq!(own.address(), Some(0x10));
    assert_eq!(own.block(BlockId(0)).unwrap().label.as_deref(), Some("first # one"));
    assert_eq!(own.block(BlockId(1)).unwrap().label.as_deref(), Some("start"));
    let edges = own.leaving(BlockId(1));
    assert_eq!((edges[0].kind, edges[0].weight), (EdgeKind::Taken, Some(7)));
    assert_eq!((edges[1].kind, edges[1].weight), (EdgeKind::Next, None));
    let last = own.block(BlockId(3)).unwrap();
    assert!(last.stops && last.call.as_ref().unwrap().outside);
    assert_eq!(text::read(&text::write(&program)), Ok(program));
}

#[test]
fn elements_and_their_numbers_are_one_to_one() {
    for seed in 0..50 {
        let program = random_program(&mut Random(seed), 4, 9);
        for number in 0..program.element_count() as u32 {
            let element = program.element(ElementId(number)).unwrap();
            assert_eq!(program.id(element), Some(ElementId(number)));
        }
        assert_eq!(program.element(ElementId(program.element_count() as u32)), None);
    }
}

#[test]
fn wrong_text_is_refused_with_its_line() {
    let cases = [
        ("0 > 1\n", 1, "before the first function"),
        ("function f\n0 >\n", 2, "lacks a block after >"),
        ("function f\n0 > 1*x\n", 2, "is not a weight"),
        ("function f\n0 > 1:odd\n", 2, "is not a kind of edge"),
        ("function f\n0 > 1\nfunction f\n", 3, "already exists"),
        ("function f\ncall 0 g\n", 2, "not a function of the graph"),
        ("function f\nblock 0 1000\n", 2, "is not an address"),
        ("function f\nblock 0 \"x\n", 2, "quotation mark"),
        ("function f\nwhat 0\n", 2, "is not function"),
        ("function f\n0 > 4000000000\n", 2, "too high"),
        ("function f\n0 > 1\nmain g\n", 3, "has no g"),
    ];
    for (source, line, what) in cases {
        match text::read(source) {
            Err(GraphError::Line { line: at, what: told }) => {
                assert_eq!(at, line, "{source}: {told}");
                assert!(told.contains(what), "{source}: {told}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    assert_eq!(text::read("# nothing\n"), Err(GraphError::Empty));
    let empty = text::read("function f\n");
    assert_eq!(empty, Err(GraphError::NoBlocks { function: "f".into() }));
}

#[test]
fn the_builder_refuses_numbers_that_do_not_exist() {
    let mut builder = Builder::default();
    let f = builder.function("f", None).unwrap();
    let block = builder.block(f, None, None).unwrap();
    let (no_block, no_function) = (BlockId(9), lens_paths::graph::FunctionId(9));
    assert!(builder.edge(f, block, no_block, EdgeKind::Jump).is_err());
    assert!(builder.edge(f, no_block, block, EdgeKind::Jump).is_err());
    assert!(builder.call(f, block, no_function).is_err());
    assert!(builder.call(no_function, block, f).is_err());
    assert!(builder.block(no_function, None, None).is_err());
    assert!(builder.returns(f, no_block).is_err());
    assert!(builder.entry(f, no_block).is_err());
    assert!(builder.main(no_function).is_err());
    let program = builder.build().unwrap();
    assert!(program.functions()[0].block(block).unwrap().stops);
}

#[test]
fn dead_blocks_endless_functions_and_double_edges_are_noted() {
    let program = text::read("function f\n0 > 1*2 1*3\n1 > 0\n2 > 1\n").unwrap();
    let f = program.main();
    let notes = [
        Note::Doubled(f, BlockId(0), BlockId(1)),
        Note::Unreachable(f, vec![BlockId(2)]),
        Note::Endless(f),
    ];
    assert_eq!(program.notes(), notes);
    assert_eq!(program.functions()[0].edges()[0].weight, Some(5));
    let own = program.id(Element::Edge(f, lens_paths::graph::EdgeId(1))).unwrap();
    assert_eq!(program.say(program.element(own).unwrap()), "f 1 > 0");
}
