//! One random execution of a program, and programs made of sequences, branches and loops.

use super::Random;
use lens_paths::graph::{
    BlockId, Builder, EdgeId, EdgeKind, Element, ElementId, FunctionId, Program,
};

/// Returns a random execution with its elements, if it ends within some steps.
pub(crate) fn run(random: &mut Random, program: &Program, steps: usize) -> Option<Vec<ElementId>> {
    let mut elements = Vec::new();
    let mut add = |element| elements.push(program.id(element).unwrap());
    let mut stack: Vec<(FunctionId, BlockId)> = Vec::new();
    let mut function = program.main();
    add(Element::Enter(function));
    let mut block = program.function(function)?.entry();
    let mut is_begin = true;
    for _ in 0..steps {
        let own = program.function(function)?;
        if is_begin {
            add(Element::Block(function, block));
            if let Some(call) = &own.block(block)?.call {
                let at = random.below(call.targets.len() + usize::from(call.outside));
                if let Some(callee) = call.targets.get(at) {
                    stack.push((function, block));
                    function = *callee;
                    add(Element::Enter(function));
                    block = program.function(function)?.entry();
                    continue;
                }
            }
        }
        let ways = own.way_count(block);
        let (edges, way) = (own.range(block), random.below(ways.max(1)));
        if way < edges.len() {
            add(Element::Edge(function, EdgeId((edges.start + way) as u32)));
            (block, is_begin) = (own.edges()[edges.start + way].to, true);
            continue;
        }
        if !own.block(block)?.returns || way == edges.len() + 1 {
            return Some(elements);
        }
        add(Element::Leave(function));
        let Some((caller, at)) = stack.pop() else { return Some(elements) };
        (function, block, is_begin) = (caller, at, false);
    }
    None
}

/// Returns a program of functions that are sequences, branches and loops. Each function calls later
/// ones alone.
pub(crate) fn structured(random: &mut Random, functions: usize, depth: u32) -> Program {
    let mut builder = Builder::default();
    let ids: Vec<FunctionId> =
        (0..functions).map(|n| builder.function(&format!("f{n}"), None).unwrap()).collect();
    for (n, id) in ids.iter().enumerate() {
        let first = builder.block(*id, None, None).unwrap();
        let last = part(random, &mut builder, *id, first, depth, &ids[n + 1..]);
        builder.returns(*id, last).unwrap();
    }
    builder.build().unwrap()
}

/// Adds a part after a block. Returns its last block.
fn part(
    random: &mut Random,
    builder: &mut Builder,
    id: FunctionId,
    from: BlockId,
    depth: u32,
    callees: &[FunctionId],
) -> BlockId {
    let jump = EdgeKind::Jump;
    let next = builder.block(id, None, None).unwrap();
    builder.edge(id, from, next, jump).unwrap();
    if !callees.is_empty() && random.one_in(4) {
        builder.call(id, next, callees[random.below(callees.len())]).unwrap();
    }
    if depth == 0 {
        return next;
    }
    match random.below(4) {
        0 => {
            let middle = part(random, builder, id, next, depth - 1, callees);
            part(random, builder, id, middle, depth - 1, callees)
        }
        1 => {
            let body = part(random, builder, id, next, depth - 1, callees);
            builder.edge(id, body, next, jump).unwrap();
            let after = builder.block(id, None, None).unwrap();
            builder.edge(id, next, after, jump).unwrap();
            after
        }
        _ => {
            let after = builder.block(id, None, None).unwrap();
            let one = part(random, builder, id, next, depth - 1, callees);
            builder.edge(id, one, after, jump).unwrap();
            let other = if random.one_in(3) {
                next
            } else {
                part(random, builder, id, next, depth - 1, callees)
            };
            builder.edge(id, other, after, jump).unwrap();
            after
        }
    }
}
