//! Finds the instructions that a program may reach from its roots.
//!
//! ```text
//!  roots ─▶ a draft of each function: instructions, leaders
//!             │ call ─▶ another draft; the code after it once the callee is known to return
//!             │ jump out of the function ─▶ tail call │ part of the function (cold code)
//!             └ jump through a register ─▶ tables.rs │ tail call │ trouble
//! ```
//!
//! The drafts contain at least what the program can do: an edge that it never takes only costs a
//! witness. A function whose edges may be incomplete has a [`Trouble`].

use super::draft::{Draft, Trouble};
use super::flow::{self, Callee, Flow};
use super::image::Image;
use super::named;
use super::shape::Shape;
use super::tables::{self, Told};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most instructions that all drafts together may have.
const INSTRUCTIONS_MAX: usize = 1 << 23;

/// All functions that the roots may reach.
#[derive(Debug)]
pub(super) struct Explored {
    pub(super) drafts: BTreeMap<u64, Draft>,
    /// Functions whose address some code or data names.
    pub(super) taken: BTreeSet<u64>,
    /// Addresses of data that some code names.
    named: BTreeSet<u64>,
    /// Addresses inside of functions that some code or data names.
    pub(super) labels: BTreeSet<u64>,
}

/// Finds what the roots may reach.
pub(super) fn explore(image: &mut Image<'_>, roots: &[u64]) -> Explored {
    // Code far from the rest of its function has a frame of its own. It is known by its jumps into
    // the middle of that function. And a table may end where other code names the data.
    loop {
        let explored = explore_once(image, roots);
        let parts: Vec<u64> = explored
            .drafts
            .values()
            .filter(|draft| draft.jumps_into_others && !image.parts.contains(&draft.start))
            .map(|draft| draft.start)
            .collect();
        let named = image.named.len();
        image.named.extend(&explored.named);
        if parts.is_empty() && image.named.len() == named {
            return explored;
        }
        image.parts.extend(parts);
    }
}

fn explore_once(image: &Image<'_>, roots: &[u64]) -> Explored {
    let mut explorer = Explorer {
        image,
        drafts: BTreeMap::new(),
        queue: roots.iter().copied().collect(),
        in_data: image.named_in_data(),
        taken: BTreeSet::new(),
        named: BTreeSet::new(),
        labels: image.labels_in_data(),
        is_any_indirect: false,
        left: INSTRUCTIONS_MAX,
    };
    explorer.run();
    let Explorer { drafts, mut taken, named, labels, in_data, .. } = explorer;
    taken.extend(in_data);
    taken.retain(|at| drafts.contains_key(at));
    Explored { drafts, taken, named, labels }
}

struct Explorer<'i, 'a> {
    image: &'i Image<'a>,
    drafts: BTreeMap<u64, Draft>,
    queue: VecDeque<u64>,
    in_data: BTreeSet<u64>,
    taken: BTreeSet<u64>,
    named: BTreeSet<u64>,
    labels: BTreeSet<u64>,
    is_any_indirect: bool,
    left: usize,
}

impl Explorer<'_, '_> {
    fn run(&mut self) {
        loop {
            while let Some(start) = self.queue.pop_front() {
                self.open(start);
            }
            if self.is_any_indirect {
                // A call through a register may reach each function whose address is named.
                let reached: Vec<u64> = self.in_data.union(&self.taken).copied().collect();
                self.queue.extend(reached.iter().filter(|at| !self.drafts.contains_key(at)));
            }
            let changed = self.settle_returns();
            if !changed && self.queue.is_empty() {
                return;
            }
        }
    }

    /// Begins the draft of a function, unless it has one.
    fn open(&mut self, start: u64) {
        if self.drafts.contains_key(&start) {
            return;
        }
        let end = match self.image.extents.get(&start) {
            Some(extent) => extent.end,
            // No symbol, no frame: up to the next function.
            None => match self.image.extents.range(start..).next() {
                Some((next, _)) => *next,
                None => start.saturating_add(self.image.code(start).map_or(0, <[u8]>::len) as u64),
            },
        };
        let mut draft = Draft::new(start, end);
        self.decode(&mut draft, vec![start]);
        self.drafts.insert(start, draft);
    }

    /// Lets code after a call be part of a function once the callee is known to return.
    fn settle_returns(&mut self) -> bool {
        let mut changed = false;
        loop {
            let returning: BTreeSet<u64> =
                self.drafts.values().filter(|d| d.returns).map(|d| d.start).collect();
            let mut more = false;
            let starts: Vec<u64> = self.drafts.keys().copied().collect();
            for start in starts {
                let Some(mut draft) = self.drafts.remove(&start) else { continue };
                let (ready, waiting) = core::mem::take(&mut draft.waiting)
                    .into_iter()
                    .partition::<Vec<_>, _>(|(callee, _)| returning.contains(callee));
                draft.waiting = waiting;
                more |= !ready.is_empty();
                if !ready.is_empty() {
                    self.decode(&mut draft, ready.into_iter().map(|(_, back)| back).collect());
                }
                // Where edges may be missing, a return may be among them.
                let returns = draft.returns
                    || !draft.troubles.is_empty()
                    || draft.label(&self.labels).is_some()
                    || draft.tails.iter().any(|callee| returning.contains(callee));
                more |= returns && !returning.contains(&start);
                draft.returns = returns;
                self.drafts.insert(start, draft);
            }
            changed |= more;
            if !more {
                return changed;
            }
        }
    }

    fn flow(&self, draft: &Draft, one: &Instruction) -> Flow {
        flow::flow(self.image, draft, one)
    }

    /// Decodes a function from some leaders on, and through its tables.
    fn decode(&mut self, draft: &mut Draft, mut leaders: Vec<u64>) {
        loop {
            while let Some(leader) = leaders.pop() {
                draft.leaders.insert(leader);
                self.decode_run(draft, leader, &mut leaders);
            }
            leaders = self.resolve(draft);
            if leaders.is_empty() {
                return;
            }
        }
    }

    /// Decodes up to the end of a block, or to what is known already.
    fn decode_run(&mut self, draft: &mut Draft, leader: u64, leaders: &mut Vec<u64>) {
        let mut at = leader;
        while !draft.instructions.contains_key(&at) {
            let code = self.image.code(at).filter(|_| draft.has(at)).unwrap_or_default();
            let mut decoder = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
            let one = decoder.decode();
            if code.is_empty() || one.is_invalid() {
                draft.troubles.insert(Trouble::NotCode(at));
                return;
            }
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                draft.troubles.insert(Trouble::TooLarge);
                return;
            }
            let before = draft.instructions.range(..at).next_back();
            let after = draft.instructions.range(at..one.next_ip()).next();
            if before.is_some_and(|(_, before)| before.next_ip() > at) || after.is_some() {
                draft.troubles.insert(Trouble::Overlap(at));
                return;
            }
            draft.instructions.insert(at, one);
            self.note_addresses(&one);
            if !self.follow(draft, &one, leaders) {
                return;
            }
            at = one.next_ip();
        }
    }

    /// Follows an instruction. Returns whether the block goes on.
    fn follow(&mut self, draft: &mut Draft, one: &Instruction, leaders: &mut Vec<u64>) -> bool {
        match self.flow(draft, one) {
            Flow::Next => return true,
            Flow::Branch(target) => {
                leaders.push(target);
                leaders.push(one.next_ip());
                self.adopt(draft, target);
            }
            Flow::Jump(target) => {
                leaders.push(target);
                self.adopt(draft, target);
            }
            Flow::JumpIndirect => {}
            Flow::Call(callee) => self.call(draft, callee, Some(one.next_ip()), leaders),
            Flow::Tail(callee) => self.call(draft, callee, None, leaders),
            Flow::Return => draft.returns = true,
            Flow::Stop => {}
        }
        if one.mnemonic() == Mnemonic::Xbegin {
            draft.troubles.insert(Trouble::Transaction(one.ip()));
        }
        false
    }

    fn call(&mut self, draft: &mut Draft, to: Callee, back: Option<u64>, leaders: &mut Vec<u64>) {
        let returns = match &to {
            Callee::Own(start) => {
                self.queue.push_back(*start);
                match back {
                    Some(back) => draft.waiting.push((*start, back)),
                    None => draft.tails.extend([*start]),
                }
                false
            }
            Callee::Import(name) => !flow::never_returns(name),
            Callee::Indirect => {
                self.is_any_indirect = true;
                true
            }
        };
        draft.returns |= back.is_none() && returns;
        // A call at the very end of a function does not return: compilers knew that.
        leaders.extend(back.filter(|back| returns && draft.has(*back)));
    }

    /// Makes the part that a jump reaches a part of the function: cold code.
    fn adopt(&mut self, draft: &mut Draft, target: u64) {
        if draft.has(target) {
            return;
        }
        match self.image.extent_at(target) {
            Some(extent) => {
                draft.jumps_into_others |= !self.image.is_part(extent);
                draft.ranges.push((extent.start, extent.end));
            }
            None => {
                draft.troubles.insert(Trouble::Middle(target));
            }
        }
    }

    /// Resolves the jumps through tables that the code so far explains. Returns new targets.
    fn resolve(&mut self, draft: &mut Draft) -> Vec<u64> {
        let jumps: Vec<u64> = draft
            .instructions
            .values()
            .filter(|one| one.flow_control() == FlowControl::IndirectBranch)
            .filter(|one| self.flow(draft, one) == Flow::JumpIndirect)
            .map(Instruction::ip)
            .filter(|at| !draft.tables.contains_key(at))
            .collect();
        if jumps.is_empty() {
            return Vec::new();
        }
        let shape = Shape::of(self.image, draft);
        let told: Vec<(u64, Told)> =
            jumps.into_iter().map(|at| (at, tables::targets(self.image, &shape, at))).collect();
        let mut found = Vec::new();
        for (at, told) in told {
            draft.troubles.remove(&Trouble::Jump(at));
            match told {
                Told::Table(targets) => {
                    found.extend(&targets);
                    draft.tables.insert(at, targets);
                }
                Told::Pointer => {
                    draft.pointers.insert(at);
                    draft.returns = true;
                    self.is_any_indirect = true;
                }
                Told::Nothing => {
                    draft.troubles.insert(Trouble::Jump(at));
                }
            }
        }
        found
    }

    /// Notes functions whose address an instruction has: they may be called through a pointer.
    fn note_addresses(&mut self, one: &Instruction) {
        if one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand() {
            self.named.insert(one.ip_rel_memory_address());
        }
        self.taken.extend(named::by(self.image, one));
        self.labels.extend(named::labels(self.image, one));
    }
}
