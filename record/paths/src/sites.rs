//! The places of a program where a profile needs breakpoints, and what a hit of each tells.
//!
//! ```text
//!  Enter f            the first instruction of f
//!  Block              its first instruction
//!  Edge from > to     to, if no other edge leads there │ the end of from: the outcome of its jump
//!  Leave f            each return of f
//!  a function that code outside may call: its first instruction, to see where the call is from
//!  a landing pad, a call that returns twice: where an unwinding or a long jump arrives
//! ```
//!
//! Design: `.collect.sites` in `design/collect.md`.

use crate::follow::returns_twice;
use lens_paths::UNWOUND;
use lens_paths::binary::{Block, Callee, Chart, Ends, unwinds};
use lens_paths::graph::{BlockId, EdgeId, Element, ElementId, Function, FunctionId};
use std::collections::{BTreeMap, BTreeSet};

/// The number that the log has for a hit.
pub type Letter = u32;

/// What the end of a block tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// Nothing.
    #[default]
    Nothing,
    /// These letters, each time.
    Always(Vec<Letter>),
    /// The letter of the outcome, of these.
    Outcome(BTreeMap<u64, Option<Letter>>),
}

/// An instruction with a breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    /// Letters before it: a function begins, an edge was taken, a block begins.
    pub(crate) before: [Option<Letter>; 3],
    pub(crate) at_end: AtEnd,
    /// Whether code outside may call it.
    pub(crate) is_callable: bool,
    pub(crate) arrival: Arrival,
}

/// When the arrival at an instruction is that of an unwinding or a long jump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Arrival {
    #[default]
    Never,
    /// Always: a landing pad of the graph.
    Always,
    /// If the root ended by it: a landing pad of other code.
    AboveRoot,
    /// If the call before has a result: it returns again, as `setjmp` does.
    WithResult,
}

/// The breakpoints of a profile, by addresses of the file.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    pub(crate) sites: BTreeMap<u64, Site>,
    /// The addresses after the calls of the graph that may reach a function of it, and the one that
    /// they reach, if others are reached by code outside alone: it may jump to them at its end.
    pub(crate) backs: BTreeMap<u64, Option<u64>>,
    pub(crate) root: u64,
    /// Whether the root is the program's `main`: then all calls from outside are counted, before
    /// and after it, too.
    pub(crate) is_main: bool,
}

/// How an element is witnessed.
enum Witness<'c> {
    At(u64, usize),
    AtEnd(&'c Block),
    Outcome(&'c Block, u64),
    Returns(Vec<u64>),
}

impl Sites {
    /// Finds the breakpoints of some witnesses with their letters. Fails with the first element
    /// that breakpoints cannot witness.
    ///
    /// # Errors
    ///
    /// [`can_witness`](Sites::can_witness) denies an element.
    pub fn new(
        chart: &Chart,
        witnesses: impl IntoIterator<Item = (ElementId, Letter)>,
    ) -> Result<Sites, ElementId> {
        let root = chart.program.function(chart.program.main()).and_then(Function::address);
        let root = root.unwrap_or_default();
        let mut sites = Sites { root, is_main: chart.is_main, ..Sites::default() };
        let inside: BTreeSet<u64> =
            chart.program.functions().iter().filter_map(Function::address).collect();
        for block in chart.blocks.iter().flatten() {
            if let Ends::Call { callee, back: Some(back) } = &block.ends {
                match callee {
                    Callee::Own(at) if !inside.contains(at) => sites.backs.insert(*back, Some(*at)),
                    Callee::Own(_) | Callee::Indirect => sites.backs.insert(*back, None),
                    Callee::Import(_) => None,
                };
                if returns_twice(&block.ends) {
                    sites.sites.entry(*back).or_default().arrival = Arrival::WithResult;
                }
            }
            // Where the program goes on is not in the graph: a letter of no profile says so.
            let (Ends::Call { callee, .. } | Ends::Tail(callee)) = &block.ends else { continue };
            if matches!(callee, Callee::Import(name) if unwinds(name)) {
                sites.always(block.last, UNWOUND);
            }
        }
        for at in chart.callable.keys() {
            sites.sites.entry(*at).or_default().is_callable = true;
        }
        for (at, is_inside) in &chart.landings {
            let arrival = if *is_inside { Arrival::Always } else { Arrival::AboveRoot };
            sites.sites.entry(*at).or_default().arrival = arrival;
        }
        for (element, letter) in witnesses {
            let witness = chart.program.element(element).and_then(|own| witness(chart, own));
            sites.add(witness.ok_or(element)?, letter);
        }
        Ok(sites)
    }

    /// Returns whether breakpoints can witness an element.
    ///
    /// They cannot witness that a function begins whose first block is part of a loop, that one
    /// returns which ends with a jump to another function, and the edge after a call to a block
    /// that other edges reach.
    pub fn can_witness(chart: &Chart, element: Element) -> bool {
        witness(chart, element).is_some()
    }

    /// Returns the element that occurs as often as the program stops for an edge that the outcome
    /// of a jump tells.
    pub(crate) fn stopping(chart: &Chart, element: Element) -> Option<Element> {
        let Element::Edge(function, edge) = element else { return None };
        let from = chart.program.function(function)?.edges().get(edge.0 as usize)?.from;
        let is_outcome = matches!(witness(chart, element)?, Witness::Outcome(..));
        is_outcome.then_some(Element::Block(function, from))
    }

    /// Returns the number of breakpoints.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    fn add(&mut self, witness: Witness<'_>, letter: Letter) {
        match witness {
            Witness::At(at, order) => {
                if let Some(slot) = self.sites.entry(at).or_default().before.get_mut(order) {
                    *slot = Some(letter);
                }
            }
            Witness::AtEnd(block) => self.always(block.last, letter),
            Witness::Returns(all) => all.into_iter().for_each(|at| self.always(at, letter)),
            Witness::Outcome(block, target) => {
                let end = &mut self.sites.entry(block.last).or_default().at_end;
                if !matches!(end, AtEnd::Outcome(_)) {
                    let targets = outcomes(&block.ends);
                    *end = AtEnd::Outcome(targets.into_iter().map(|to| (to, None)).collect());
                }
                if let AtEnd::Outcome(letters) = end {
                    letters.insert(target, Some(letter));
                }
            }
        }
    }

    fn always(&mut self, at: u64, letter: Letter) {
        match &mut self.sites.entry(at).or_default().at_end {
            AtEnd::Always(letters) => letters.push(letter),
            end => *end = AtEnd::Always(vec![letter]),
        }
    }
}

fn outcomes(ends: &Ends) -> Vec<u64> {
    match ends {
        Ends::Branch { taken, next } => vec![*taken, *next],
        Ends::Table(targets) => targets.clone(),
        _ => Vec::new(),
    }
}

fn witness(chart: &Chart, element: Element) -> Option<Witness<'_>> {
    match element {
        Element::Enter(function) => {
            let own = chart.program.function(function)?;
            let at = chart.block(function, own.entry())?.start;
            let is_alone = own.edges().iter().all(|edge| edge.to != own.entry());
            is_alone.then_some(Witness::At(at, 0))
        }
        Element::Leave(function) => {
            let blocks = chart.blocks.get(function.0 as usize)?;
            let is_tail = |block: &Block| matches!(block.ends, Ends::Tail(_));
            let returns = blocks.iter().filter(|block| block.ends == Ends::Return);
            let places = returns.map(|block| block.last).collect();
            (!blocks.iter().any(is_tail)).then_some(Witness::Returns(places))
        }
        Element::Block(function, block) => {
            Some(Witness::At(chart.block(function, block)?.start, 2))
        }
        Element::Edge(function, edge) => edge_witness(chart, function, edge),
    }
}

fn edge_witness(chart: &Chart, function: FunctionId, edge: EdgeId) -> Option<Witness<'_>> {
    let own = chart.program.function(function)?;
    let edge = own.edges().get(edge.0 as usize)?;
    let (from, to) = (chart.block(function, edge.from)?, chart.block(function, edge.to)?);
    let into = |to: BlockId| own.edges().iter().filter(|other| other.to == to).count();
    if into(edge.to) == 1 && edge.to != own.entry() {
        return Some(Witness::At(to.start, 1));
    }
    match &from.ends {
        Ends::Next(_) | Ends::Jump(_) => Some(Witness::AtEnd(from)),
        // Both outcomes may lead to one block.
        Ends::Branch { taken, next } if taken == next => Some(Witness::AtEnd(from)),
        Ends::Branch { .. } | Ends::Table(_) => Some(Witness::Outcome(from, to.start)),
        _ => None,
    }
}
