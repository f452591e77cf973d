//! Builds a program, function by function, block by block. Nothing that a caller adds makes it
//! panic.
//!
//! Design: `.paths.graph` in `design/paths.md`.

use super::{
    BEFORE_BLOCKS, Block, BlockId, Call, Edge, EdgeKind, Function, FunctionId, Note, Program,
};
use core::fmt;
use std::collections::BTreeMap;

/// Blocks, edges and functions of a program in all, at most.
const SIZE_MAX: usize = 1 << 26;

/// Why a graph cannot be built or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// The program has no function.
    Empty,
    /// A function has no block.
    NoBlocks {
        /// its name
        function: String,
    },
    /// The program has no function of this number.
    NoFunction(FunctionId),
    /// A function has no block of this number.
    NoBlock(FunctionId, BlockId),
    /// The graph has too many functions, blocks and edges.
    TooLarge,
    /// A line of text is wrong.
    Line {
        /// its number, from 1
        line: usize,
        /// what is wrong
        what: String,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Empty => f.write_str("the graph has no function"),
            GraphError::NoBlocks { function } => write!(f, "function {function} has no block"),
            GraphError::NoFunction(id) => write!(f, "the graph has no function {}", id.0),
            GraphError::NoBlock(function, block) => {
                write!(f, "function {} has no block {}", function.0, block.0)
            }
            GraphError::TooLarge => {
                write!(f, "the graph has more than {SIZE_MAX} functions, blocks and edges")
            }
            GraphError::Line { line, what } => write!(f, "line {line}: {what}"),
        }
    }
}

impl core::error::Error for GraphError {}

/// A function that is being built.
#[derive(Clone, Debug, Default)]
struct Draft {
    name: String,
    address: Option<u64>,
    entry: Option<BlockId>,
    blocks: Vec<Block>,
    edges: Vec<Edge>,
}

/// Builds a [`Program`].
///
/// ```
/// use lens_paths::graph::{Builder, EdgeKind};
///
/// let mut builder = Builder::default();
/// let main = builder.function("main", Some(0x1000))?;
/// let test = builder.block(main, Some(0x1000), None)?;
/// let body = builder.block(main, Some(0x1010), Some("body"))?;
/// let end = builder.block(main, Some(0x1020), None)?;
/// builder.edge(main, test, body, EdgeKind::Taken)?;
/// builder.edge(main, body, test, EdgeKind::Jump)?;
/// builder.edge(main, test, end, EdgeKind::Next)?;
/// builder.returns(main, end)?;
/// let program = builder.build()?;
/// assert_eq!(program.element_count(), 2 + 3 + 3);
/// # Ok::<(), lens_paths::graph::GraphError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    drafts: Vec<Draft>,
    main: Option<FunctionId>,
    size: usize,
}

impl Builder {
    /// Adds a function. The first block that it gets is its entry.
    ///
    /// # Errors
    ///
    /// Fails if the graph is too large.
    pub fn function(&mut self, name: &str, address: Option<u64>) -> Result<FunctionId, GraphError> {
        self.grow()?;
        self.drafts.push(Draft { name: name.to_owned(), address, ..Draft::default() });
        Ok(FunctionId(self.drafts.len() as u32 - 1))
    }

    /// Adds a block to a function.
    ///
    /// # Errors
    ///
    /// Fails if the function does not exist, or the graph is too large.
    pub fn block(
        &mut self,
        function: FunctionId,
        address: Option<u64>,
        label: Option<&str>,
    ) -> Result<BlockId, GraphError> {
        self.grow()?;
        let draft = self.draft(function)?;
        draft.blocks.push(Block { address, label: label.map(str::to_owned), ..Block::default() });
        Ok(BlockId(draft.blocks.len() as u32 - 1))
    }

    /// Gives a block the address and the label that are known.
    pub(super) fn describe(
        &mut self,
        function: FunctionId,
        block: BlockId,
        address: Option<u64>,
        label: Option<&str>,
    ) -> Result<(), GraphError> {
        let own = self.own(function, block)?;
        own.address = address.or(own.address);
        own.label = label.map(str::to_owned).or(own.label.take());
        Ok(())
    }

    /// Adds an edge. A second edge between two blocks is the first one.
    ///
    /// # Errors
    ///
    /// Fails if the function or a block does not exist, or the graph is too large.
    pub fn edge(
        &mut self,
        function: FunctionId,
        from: BlockId,
        to: BlockId,
        kind: EdgeKind,
    ) -> Result<(), GraphError> {
        self.weighted_edge(function, Edge { from, to, kind, weight: None })
    }

    /// Adds an edge with its weight. The weights of several edges between two blocks are added.
    ///
    /// # Errors
    ///
    /// Fails as [`Builder::edge`] does.
    pub fn weighted_edge(&mut self, function: FunctionId, edge: Edge) -> Result<(), GraphError> {
        self.grow()?;
        self.own(function, edge.from)?;
        self.own(function, edge.to)?;
        self.draft(function)?.edges.push(edge);
        Ok(())
    }

    /// Lets a block end with a call of a function. Several calls of one block are the targets of
    /// one indirect call.
    ///
    /// # Errors
    ///
    /// Fails if a function or the block does not exist.
    pub fn call(
        &mut self,
        function: FunctionId,
        block: BlockId,
        callee: FunctionId,
    ) -> Result<(), GraphError> {
        self.draft(callee)?;
        let targets = &mut self.call_of(function, block)?.targets;
        if !targets.contains(&callee) {
            targets.push(callee);
        }
        Ok(())
    }

    /// Lets a block end with a call of code that has no graph, or of such code as well.
    ///
    /// # Errors
    ///
    /// Fails if the function or the block does not exist.
    pub fn call_outside(&mut self, function: FunctionId, block: BlockId) -> Result<(), GraphError> {
        self.call_of(function, block)?.outside = true;
        Ok(())
    }

    /// Lets the function return after a block.
    ///
    /// # Errors
    ///
    /// Fails if the function or the block does not exist.
    pub fn returns(&mut self, function: FunctionId, block: BlockId) -> Result<(), GraphError> {
        self.own(function, block)?.returns = true;
        Ok(())
    }

    /// Lets the program end after a block, as by `exit`, `abort`, or a call that never returns.
    ///
    /// # Errors
    ///
    /// Fails if the function or the block does not exist.
    pub fn stops(&mut self, function: FunctionId, block: BlockId) -> Result<(), GraphError> {
        self.own(function, block)?.stops = true;
        Ok(())
    }

    /// Lets a function begin with a block.
    ///
    /// # Errors
    ///
    /// Fails if the function or the block does not exist.
    pub fn entry(&mut self, function: FunctionId, block: BlockId) -> Result<(), GraphError> {
        self.own(function, block)?;
        self.draft(function)?.entry = Some(block);
        Ok(())
    }

    /// Lets the program begin with a function. Default: the one called `main`, else the first.
    ///
    /// # Errors
    ///
    /// Fails if the function does not exist.
    pub fn main(&mut self, function: FunctionId) -> Result<(), GraphError> {
        self.draft(function)?;
        self.main = Some(function);
        Ok(())
    }

    /// Checks and returns the program.
    ///
    /// # Errors
    ///
    /// Fails if the program has no function, or a function has no block.
    pub fn build(self) -> Result<Program, GraphError> {
        let named = self.drafts.iter().position(|draft| draft.name == "main").unwrap_or(0);
        let main = self.main.unwrap_or(FunctionId(named as u32));
        let (mut functions, mut notes, mut element_count) = (Vec::new(), Vec::new(), 0);
        for (id, draft) in (0..).map(FunctionId).zip(self.drafts) {
            let function = draft.finish(id, element_count, &mut notes)?;
            let count = BEFORE_BLOCKS + function.blocks.len() + function.edges.len();
            element_count += count as u32;
            functions.push(function);
        }
        if functions.is_empty() {
            return Err(GraphError::Empty);
        }
        Ok(Program { functions, main, notes, element_count })
    }

    /// Counts one more function, block or edge.
    fn grow(&mut self) -> Result<(), GraphError> {
        self.size += 1;
        if self.size > SIZE_MAX { Err(GraphError::TooLarge) } else { Ok(()) }
    }

    fn draft(&mut self, function: FunctionId) -> Result<&mut Draft, GraphError> {
        self.drafts.get_mut(function.0 as usize).ok_or(GraphError::NoFunction(function))
    }

    fn own(&mut self, function: FunctionId, block: BlockId) -> Result<&mut Block, GraphError> {
        let blocks = &mut self.draft(function)?.blocks;
        blocks.get_mut(block.0 as usize).ok_or(GraphError::NoBlock(function, block))
    }

    fn call_of(&mut self, function: FunctionId, block: BlockId) -> Result<&mut Call, GraphError> {
        Ok(self.own(function, block)?.call.get_or_insert_with(Call::default))
    }
}

impl Draft {
    /// Returns the function: its edges in order and single, its dead ends as stops.
    fn finish(
        mut self,
        id: FunctionId,
        first_element: u32,
        notes: &mut Vec<Note>,
    ) -> Result<Function, GraphError> {
        if self.blocks.is_empty() {
            return Err(GraphError::NoBlocks { function: self.name });
        }
        let edges = single(id, self.edges, notes);
        let mut first_edges = vec![0; self.blocks.len() + 1];
        for edge in &edges {
            if let Some(count) = first_edges.get_mut(edge.from.0 as usize + 1) {
                *count += 1;
            }
        }
        for (block, count) in self.blocks.iter_mut().zip(first_edges.iter().skip(1)) {
            block.stops |= *count == 0 && !block.returns;
        }
        let mut sum = 0;
        for first in &mut first_edges {
            sum += *first;
            *first = sum;
        }
        let entry = self.entry.unwrap_or(BlockId(0));
        let Draft { name, address, blocks, .. } = self;
        let function = Function { name, address, entry, blocks, edges, first_edges, first_element };
        function.note(id, notes);
        Ok(function)
    }
}

/// Puts edges in the order of their first blocks, and makes several between two blocks one.
fn single(id: FunctionId, edges: Vec<Edge>, notes: &mut Vec<Note>) -> Vec<Edge> {
    let mut known: BTreeMap<(BlockId, BlockId), usize> = BTreeMap::new();
    let mut kept: Vec<Edge> = Vec::with_capacity(edges.len());
    for edge in edges {
        let at = *known.entry((edge.from, edge.to)).or_insert(kept.len());
        let Some(first) = kept.get_mut(at) else {
            kept.push(edge);
            continue;
        };
        first.weight = match (first.weight, edge.weight) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        notes.push(Note::Doubled(id, edge.from, edge.to));
    }
    kept.sort_by_key(|edge| edge.from);
    kept
}

impl Function {
    /// Notes blocks that no path reaches, and a function that never ends.
    fn note(&self, id: FunctionId, notes: &mut Vec<Note>) {
        let mut is_reached = vec![false; self.blocks.len()];
        let (mut open, mut ends) = (vec![self.entry], false);
        while let Some(block) = open.pop() {
            let Some(seen) = is_reached.get_mut(block.0 as usize) else { continue };
            if core::mem::replace(seen, true) {
                continue;
            }
            ends |= self.block(block).is_some_and(|own| own.returns || own.stops);
            open.extend(self.leaving(block).iter().map(|edge| edge.to));
        }
        let dead = (0..).map(BlockId).zip(&is_reached).filter(|(_, seen)| !**seen);
        let dead: Vec<BlockId> = dead.map(|(block, _)| block).collect();
        if !dead.is_empty() {
            notes.push(Note::Unreachable(id, dead));
        }
        if !ends {
            notes.push(Note::Endless(id));
        }
    }
}
