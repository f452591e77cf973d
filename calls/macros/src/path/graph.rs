//! The graph of a function: its blocks with their places in the source.
//!
//! ```text
//!  block "then" at a token ─ edges ─▶ Program of one function ─▶ plan
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

use lens_paths::Weights;
use lens_paths::graph::{BlockId, Builder, EdgeKind, Element, ElementId, FunctionId, Program};
use proc_macro2::Span;
use std::collections::BTreeSet;

/// The function: each graph has one.
pub(super) const FUNCTION: FunctionId = FunctionId(0);
/// The weight of a block where no witness may stand.
const DEAR: u64 = 1 << 40;

/// A block.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// What begins here, in a word.
    pub(super) word: &'static str,
    pub(super) span: Span,
    /// Whether a witness may stand at its beginning.
    pub(super) is_free: bool,
    /// Whether its witness is always recorded.
    pub(super) is_needed: bool,
    /// Its letter: the type of the event that it begins with.
    pub(super) letter: Option<String>,
}

/// A graph that is being built.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) places: Vec<Place>,
    edges: BTreeSet<(u32, u32)>,
    stops: BTreeSet<u32>,
}

impl Graph {
    /// Adds a block where a witness may stand, or not.
    pub(super) fn block(&mut self, word: &'static str, span: Span, is_free: bool) -> BlockId {
        self.places.push(Place { word, span, is_free, is_needed: false, letter: None });
        BlockId(self.places.len() as u32 - 1)
    }

    pub(super) fn edge(&mut self, from: BlockId, to: BlockId) {
        self.edges.insert((from.0, to.0));
    }

    /// Lets the program end after a block.
    pub(super) fn stop(&mut self, block: BlockId) {
        self.stops.insert(block.0);
    }

    /// Returns whether something leads to a block.
    pub(super) fn is_reached(&self, block: BlockId) -> bool {
        self.edges.iter().any(|(_, to)| *to == block.0)
    }

    /// Has the witness of a block always recorded.
    pub(super) fn need(&mut self, block: BlockId) {
        self.places[block.0 as usize].is_needed = true;
    }

    /// Returns the program of this function alone, called `name`. It returns after the block
    /// `end`.
    pub(super) fn program(
        &self,
        name: &str,
        end: BlockId,
    ) -> Result<Program, lens_paths::graph::GraphError> {
        let mut builder = Builder::default();
        self.add(&mut builder, name, end)?;
        builder.build()
    }

    /// Adds the function to a program.
    pub(super) fn add(
        &self,
        builder: &mut Builder,
        name: &str,
        end: BlockId,
    ) -> Result<(), lens_paths::graph::GraphError> {
        let function = builder.function(name, None)?;
        for place in &self.places {
            builder.block(function, None, Some(&place.label()))?;
        }
        for (from, to) in &self.edges {
            builder.edge(function, BlockId(*from), BlockId(*to), EdgeKind::Jump)?;
        }
        self.stops.iter().try_for_each(|block| builder.stops(function, BlockId(*block)))?;
        builder.returns(function, end)
    }

    /// Returns the weights of a plan: a witness stands only where it may.
    pub(super) fn weights(&self, program: &Program) -> Weights {
        let basic = Weights::basic(program);
        Weights::from_fn(program, |id| match self.free(program, id) {
            Some(_) => basic.of(id).min(DEAR - 1),
            None => DEAR,
        })
    }

    /// Returns the block of an element, if a witness may stand there.
    pub(super) fn free(&self, program: &Program, id: ElementId) -> Option<BlockId> {
        let Some(Element::Block(_, block)) = program.element(id) else { return None };
        self.places.get(block.0 as usize).filter(|place| place.is_free).map(|_| block)
    }

    /// Returns the blocks where a witness may stand, or must.
    pub(super) fn blocks(&self, test: fn(&Place) -> bool) -> impl Iterator<Item = BlockId> {
        let own = self.places.iter().enumerate().filter(move |(_, place)| test(place));
        own.map(|(at, _)| BlockId(at as u32))
    }
}

impl Place {
    /// Returns its name: `words.rs:14:9 then`.
    pub(super) fn label(&self) -> String {
        let span = self.span.unwrap();
        let file = span.file();
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        format!("{file}:{}:{} {}", span.line(), span.column(), self.word)
    }
}
