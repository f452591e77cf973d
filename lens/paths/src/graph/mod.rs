//! The graph of a program: functions, their blocks, the edges between blocks, the calls of blocks.
//!
//! ```text
//!  Builder ── build ──▶ Program ─┬ Function ─┬ Block: address, label, call, returns, stops
//!  text ── text::read ──▲        │           └ Edge: from, to, kind, weight
//!                                └ elements: what an event can stand for, numbered from 0
//! ```
//!
//! Invariants of a [`Program`]: every number in it is that of a function, block or edge that
//! exists; the edges of a function are in the order of their first blocks; two blocks have at most
//! one edge from the one to the other; a block without edges returns or stops. Design:
//! `.paths.graph` in `design/paths.md`.

mod build;
mod dot;
mod mir;
mod read;
pub mod text;

pub use build::{Builder, GraphError};
pub use read::read;

use core::fmt;
use core::ops::Range;

/// The number of a function in its program, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// The number of a block in its function, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// The number of an edge in its function, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// How a program gets from a block to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// Always, by a jump or by running on.
    #[default]
    Jump,
    /// By a condition that holds.
    Taken,
    /// By a condition that does not hold.
    Next,
    /// By one value of several: a switch, a table of jumps.
    Case,
    /// By unwinding, to the code that cleans up.
    Unwind,
}

impl EdgeKind {
    /// All kinds, with their words.
    pub const WORDS: [(EdgeKind, &str); 5] = [
        (EdgeKind::Jump, "jump"),
        (EdgeKind::Taken, "taken"),
        (EdgeKind::Next, "next"),
        (EdgeKind::Case, "case"),
        (EdgeKind::Unwind, "unwind"),
    ];
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = EdgeKind::WORDS.iter().find(|(kind, _)| kind == self);
        f.write_str(word.map_or("jump", |(_, word)| word))
    }
}

/// An edge between two blocks of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that it leaves.
    pub from: BlockId,
    /// The block that it reaches.
    pub to: BlockId,
    /// How a program takes it.
    pub kind: EdgeKind,
    /// How often a program takes it, if that is known.
    pub weight: Option<u64>,
}

/// The call at the end of a block. The program goes on with the edges of the block when it returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The functions of the program that it can call: one, or several for an indirect call.
    pub targets: Vec<FunctionId>,
    /// Whether it can call code without a graph, which gives no events.
    pub outside: bool,
}

/// A block: code with one beginning and one end. Its call, if any, is at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The address of its first instruction.
    pub address: Option<u64>,
    /// Its name for people.
    pub label: Option<String>,
    /// The call at its end.
    pub call: Option<Call>,
    /// Whether the function can return after it.
    pub returns: bool,
    /// Whether the program can end after it.
    pub stops: bool,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    name: String,
    address: Option<u64>,
    entry: BlockId,
    blocks: Vec<Block>,
    edges: Vec<Edge>,
    /// The first edge of each block, and the number of edges.
    first_edges: Vec<u32>,
    /// The number of its first element.
    first_element: u32,
}

impl Function {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of its first instruction.
    pub fn address(&self) -> Option<u64> {
        self.address
    }

    /// Returns the block where each call of it begins.
    pub fn entry(&self) -> BlockId {
        self.entry
    }

    /// Returns its blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns a block.
    pub fn block(&self, block: BlockId) -> Option<&Block> {
        self.blocks.get(block.0 as usize)
    }

    /// Returns its edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the numbers of the edges that leave a block.
    pub fn range(&self, block: BlockId) -> Range<usize> {
        let at = |index| self.first_edges.get(index).map_or(0, |edge| *edge as usize);
        let index = block.0 as usize;
        if index >= self.blocks.len() { 0..0 } else { at(index)..at(index + 1) }
    }

    /// Returns the edges that leave a block.
    pub fn leaving(&self, block: BlockId) -> &[Edge] {
        self.edges.get(self.range(block)).unwrap_or_default()
    }

    /// Returns the number of ways on from a block: its edges, its return, its stop.
    pub fn way_count(&self, block: BlockId) -> usize {
        let own = self.block(block);
        let is = |test: fn(&Block) -> bool| usize::from(own.is_some_and(test));
        self.range(block).len() + is(|own| own.returns) + is(|own| own.stops)
    }
}

/// A place of a program that an event can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A function begins.
    Enter(FunctionId),
    /// A function returns.
    Leave(FunctionId),
    /// A block begins.
    Block(FunctionId, BlockId),
    /// An edge is taken.
    Edge(FunctionId, EdgeId),
}

/// The number of an element in its program, from 0: of each function its [`Element::Enter`], its
/// [`Element::Leave`], its blocks and its edges. An event that stands for one element has this
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId(pub u32);

/// A fact about a graph that a user may not expect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// No path from the entry of a function leads to these blocks.
    Unreachable(FunctionId, Vec<BlockId>),
    /// No path through a function returns, or ends the program.
    Endless(FunctionId),
    /// A block had several edges to another, which are one: no path of blocks can tell them apart.
    Doubled(FunctionId, BlockId, BlockId),
}

/// A program: its functions. See the invariants of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    functions: Vec<Function>,
    main: FunctionId,
    notes: Vec<Note>,
    element_count: u32,
}

/// Elements of a function before its blocks.
const BEFORE_BLOCKS: usize = 2;

impl Program {
    /// Returns its functions.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the numbers of its functions.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// Returns a function.
    pub fn function(&self, function: FunctionId) -> Option<&Function> {
        self.functions.get(function.0 as usize)
    }

    /// Returns the function of a name; the first, if several have it.
    pub fn named(&self, name: &str) -> Option<FunctionId> {
        self.ids().find(|id| self.function(*id).is_some_and(|own| own.name == name))
    }

    /// Returns the function where the program begins.
    pub fn main(&self) -> FunctionId {
        self.main
    }

    /// Returns what a user may not expect of the graph.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the number of elements.
    pub fn element_count(&self) -> usize {
        self.element_count as usize
    }

    /// Returns the number of an element.
    pub fn id(&self, element: Element) -> Option<ElementId> {
        let (function, offset) = match element {
            Element::Enter(function) => (function, 0),
            Element::Leave(function) => (function, 1),
            Element::Block(function, block) => {
                self.function(function)?.block(block)?;
                (function, BEFORE_BLOCKS + block.0 as usize)
            }
            Element::Edge(function, edge) => {
                let own = self.function(function)?;
                own.edges.get(edge.0 as usize)?;
                (function, BEFORE_BLOCKS + own.blocks.len() + edge.0 as usize)
            }
        };
        Some(ElementId(self.function(function)?.first_element + offset as u32))
    }

    /// Returns the element of a number.
    pub fn element(&self, id: ElementId) -> Option<Element> {
        if id.0 >= self.element_count {
            return None;
        }
        let after = self.functions.partition_point(|own| own.first_element <= id.0);
        let at = after.checked_sub(1)?;
        let (function, own) = (FunctionId(at as u32), self.functions.get(at)?);
        let offset = (id.0 - own.first_element) as usize;
        Some(match offset.checked_sub(BEFORE_BLOCKS) {
            None if offset == 0 => Element::Enter(function),
            None => Element::Leave(function),
            Some(block) if block < own.blocks.len() => {
                Element::Block(function, BlockId(block as u32))
            }
            Some(edge) => Element::Edge(function, EdgeId((edge - own.blocks.len()) as u32)),
        })
    }

    /// Returns a short name: that of the function, or of the block with its label.
    pub fn title(&self, element: Element) -> String {
        let name = |function| self.function(function).map_or("?", Function::name);
        match element {
            Element::Enter(function) | Element::Leave(function) => name(function).to_owned(),
            Element::Block(function, block) => {
                let own = self.function(function).and_then(|own| own.block(block));
                match own.and_then(|own| own.label.as_deref()) {
                    Some(label) => format!("{} {label}", name(function)),
                    None => self.say(element),
                }
            }
            Element::Edge(..) => self.say(element),
        }
    }

    /// Returns an element in words: `main 3`, `main 3 > 5`, `enter main`.
    pub fn say(&self, element: Element) -> String {
        let name = |function| self.function(function).map_or("?", Function::name);
        match element {
            Element::Enter(function) => format!("enter {}", name(function)),
            Element::Leave(function) => format!("leave {}", name(function)),
            Element::Block(function, block) => format!("{} {}", name(function), block.0),
            Element::Edge(function, edge) => {
                let own = self.function(function).and_then(|own| own.edges.get(edge.0 as usize));
                let (from, to) = own.map_or((0, 0), |own| (own.from.0, own.to.0));
                format!("{} {from} > {to}", name(function))
            }
        }
    }
}
