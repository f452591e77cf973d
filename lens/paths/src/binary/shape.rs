//! The blocks of a function while its code is being found, and the ways to a block.

use super::draft::Draft;
use super::flow::{self, Flow};
use super::image::Image;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use std::collections::{BTreeMap, BTreeSet};

/// The most blocks before the jump that are followed.
const BLOCKS_MAX: usize = 12;
/// The most ways to the block of a jump that are followed.
const WAYS_MAX: usize = 8;

/// The blocks of a draft, and the blocks before each.
#[derive(Debug)]
pub(super) struct Shape<'d> {
    pub(super) draft: &'d Draft,
    blocks: BTreeMap<u64, Vec<u64>>,
    before: BTreeMap<u64, Vec<u64>>,
}

impl<'d> Shape<'d> {
    pub(super) fn of(image: &Image<'_>, draft: &'d Draft) -> Shape<'d> {
        let blocks = blocks(draft);
        let mut before: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (start, block) in &blocks {
            let last = block.last().and_then(|at| draft.instructions.get(at));
            for next in last.map(|one| nexts(image, draft, one)).unwrap_or_default() {
                before.entry(next).or_default().push(*start);
            }
        }
        Shape { draft, blocks, before }
    }

    /// Returns the ways to a jump: the addresses of the instructions, as far back as each block has
    /// one predecessor. The block of the jump may have several.
    pub(super) fn ways(&self, jump: u64) -> Vec<Vec<u64>> {
        let Some((first, block)) = self.blocks.range(..=jump).next_back() else {
            return Vec::new();
        };
        match self.before.get(first).map(Vec::as_slice) {
            Some(several) if (2..=WAYS_MAX).contains(&several.len()) => {
                several.iter().map(|one| self.way(*one, vec![block])).collect()
            }
            _ => vec![self.way(*first, Vec::new())],
        }
    }

    fn way<'s>(&'s self, mut at: u64, mut way: Vec<&'s Vec<u64>>) -> Vec<u64> {
        let mut seen = BTreeSet::new();
        while let Some(block) = self.blocks.get(&at).filter(|_| way.len() < BLOCKS_MAX) {
            way.push(block);
            at = match self.before.get(&at).map(Vec::as_slice) {
                Some([one]) if at != self.draft.start && seen.insert(*one) => *one,
                _ => break,
            };
        }
        way.into_iter().rev().flatten().copied().collect()
    }

    /// Returns the address that a register holds at a block, if every way there loaded it.
    pub(super) fn reaching(&self, block: u64, register: Register) -> Option<u64> {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![block]);
        let mut found: Option<u64> = None;
        while let Some(at) = todo.pop() {
            if at == self.draft.start {
                return None;
            }
            for from in self.before.get(&at).into_iter().flatten() {
                if !seen.insert(*from) {
                    continue;
                }
                match last_write(self.draft, self.blocks.get(from)?, register) {
                    Write::None => todo.push(*from),
                    Write::Address(value) if found.is_none_or(|found| found == value) => {
                        found = Some(value);
                    }
                    _ => return None,
                }
            }
        }
        found
    }
}

/// Returns the instructions of each block, by the leader.
fn blocks(draft: &Draft) -> BTreeMap<u64, Vec<u64>> {
    let mut blocks: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut expected = 0;
    let mut leader = 0;
    for (at, one) in &draft.instructions {
        if *at != expected || draft.leaders.contains(at) {
            leader = *at;
        }
        expected = one.next_ip();
        blocks.entry(leader).or_default().push(*at);
    }
    blocks
}

/// Returns where control may go on within the function.
fn nexts(image: &Image<'_>, draft: &Draft, one: &Instruction) -> Vec<u64> {
    let next = one.next_ip();
    match flow::flow(image, draft, one) {
        Flow::Next => vec![next],
        Flow::Branch(taken) => vec![taken, next],
        Flow::Jump(target) => vec![target],
        Flow::JumpIndirect => draft.tables.get(&one.ip()).cloned().unwrap_or_default(),
        Flow::Call(_) if draft.leaders.contains(&next) && !draft.waits_at(next) => vec![next],
        Flow::Call(_) | Flow::Tail(_) | Flow::Return | Flow::Stop => Vec::new(),
    }
}

enum Write {
    None,
    Address(u64),
    Other,
}

fn last_write(draft: &Draft, block: &[u64], register: Register) -> Write {
    let mut factory = InstructionInfoFactory::new();
    for one in block.iter().rev().filter_map(|at| draft.instructions.get(at)) {
        let is_call = one.mnemonic() == Mnemonic::Call;
        let is_saved = matches!(
            register,
            Register::RBX
                | Register::RBP
                | Register::R12
                | Register::R13
                | Register::R14
                | Register::R15
        );
        if is_call && !is_saved {
            return Write::Other;
        }
        let is_written = factory.info(one).used_registers().iter().any(|used| {
            used.register().full_register() == register
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
        });
        if is_written && one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand() {
            return Write::Address(one.ip_rel_memory_address());
        }
        if is_written {
            return Write::Other;
        }
    }
    Write::None
}
