//! The control flow of a program: functions, blocks, and how each block ends.

use super::draft::{Draft, Trouble};
use super::error::BinaryError;
use super::explore::{self, Explored};
use super::flow::{self, Callee, Flow};
use super::image::Image;
use super::named;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the first code that are kept.
const ENTRY_SIZE: usize = 128;

/// How a block ends. Addresses are those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// In front of a block that others jump to.
    Next(u64),
    /// With a jump.
    Jump(u64),
    /// With a conditional jump.
    Branch {
        /// Where it goes if the condition holds.
        taken: u64,
        /// Where it goes if not.
        next: u64,
    },
    /// With a jump through a table.
    Table(Vec<u64>),
    /// With a call.
    Call {
        /// What it calls.
        callee: Callee,
        /// Where it goes on, if the callee returns.
        back: Option<u64>,
    },
    /// With a jump to another function, which returns to the caller of this one.
    Tail(Callee),
    /// With a return.
    Return,
    /// With an instruction that ends the program.
    Stop,
}

/// Instructions that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of the first instruction.
    pub start: u64,
    /// The address of the last instruction.
    pub last: u64,
    /// The address after the last instruction.
    pub end: u64,
    /// How it ends.
    pub ends: Ends,
}

/// A function and its blocks.
#[derive(Clone, Debug)]
pub struct Function {
    /// The address of its first instruction.
    pub start: u64,
    /// Its symbol, or `fn_` and its address.
    pub name: String,
    /// Its blocks, that of its first instruction first, then by address.
    pub blocks: Vec<Block>,
    /// Why its edges may be incomplete; empty if they are not.
    pub troubles: Vec<Trouble>,
    /// Whether it may return.
    pub returns: bool,
    /// Whether the program names its address: pointers may call it.
    pub is_taken: bool,
}

/// The functions that a program may reach from a root.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The address of the root.
    pub root: u64,
    /// The address of the first instruction of the file.
    pub entry: u64,
    /// The first bytes of the code there.
    pub entry_code: Vec<u8>,
    /// By address.
    pub functions: BTreeMap<u64, Function>,
    /// The functions that code or data names, and their names: code outside may call them. A path
    /// from the root may reach none of them.
    pub named: BTreeMap<u64, String>,
    /// Where the program goes on when a callee throws, each with the code of its function.
    pub landings: BTreeMap<u64, (u64, u64)>,
    /// Whether the root is the program's `main`.
    pub is_main: bool,
}

impl Binary {
    /// Finds the functions and blocks that a program may reach from a function, `main` by default.
    ///
    /// # Errors
    ///
    /// The file is not a program for x86-64, or the function does not exist.
    pub fn read(bytes: &[u8], root: Option<&str>) -> Result<Binary, BinaryError> {
        let mut image = Image::read(bytes)?;
        let is_main = root.is_none_or(|name| name == "main");
        let root = find_root(&image, root)?;
        let explored = explore::explore(&mut image, &[root]);
        let code = image.code(image.entry).unwrap_or_default();
        let entry_code = code.get(..ENTRY_SIZE).unwrap_or(code).to_vec();
        let functions = functions(&image, &explored);
        let name = |at: u64| image.extents.get(&at).map(|own| (at, own.name.clone()));
        Ok(Binary {
            root,
            entry: image.entry,
            entry_code,
            functions,
            named: named::all(&image).into_iter().filter_map(name).collect(),
            landings: image.landings,
            is_main,
        })
    }
}

/// Returns a path of Rust as it is part of mangled names: `4shop5order` for `shop::order`.
pub fn mangled(path: &str) -> String {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(|part| format!("{}{part}", part.len())).collect()
}

fn find_root(image: &Image<'_>, name: Option<&str>) -> Result<u64, BinaryError> {
    let wanted = name.unwrap_or("main");
    let mangled = mangled(wanted);
    let is_it = |name: &str| {
        name == wanted
            || wanted.contains("::")
                && (name.ends_with(&mangled) || name.starts_with(&format!("_ZN{mangled}17h")))
    };
    let by_name = image.extents.values().find(|extent| is_it(&extent.name));
    by_name
        .map(|extent| extent.start)
        .or_else(|| if name.is_none() { main_of_entry(image) } else { None })
        .ok_or_else(|| BinaryError::NoRoot(wanted.to_owned()))
}

/// Returns `main` of a program without symbols: what its first code gives to the C library.
fn main_of_entry(image: &Image<'_>) -> Option<u64> {
    let code = image.code(image.entry)?;
    let decoder = Decoder::with_ip(64, code, image.entry, DecoderOptions::NONE);
    for one in decoder.into_iter().take(32) {
        let is_first_argument = one.op_count() > 0
            && one.op0_kind() == OpKind::Register
            && one.op0_register().full_register() == Register::RDI;
        match one.mnemonic() {
            Mnemonic::Lea if is_first_argument && one.is_ip_rel_memory_operand() => {
                return Some(one.ip_rel_memory_address());
            }
            Mnemonic::Mov if is_first_argument && one.op1_kind() != OpKind::Register => {
                return match one.op1_kind() {
                    OpKind::Memory => image.own(one.ip_rel_memory_address()),
                    _ => Some(one.immediate(1)),
                };
            }
            Mnemonic::Call => return None,
            _ => {}
        }
    }
    None
}

fn functions(image: &Image<'_>, explored: &Explored) -> BTreeMap<u64, Function> {
    let mut owners: BTreeMap<u64, u64> = BTreeMap::new();
    let mut shared: BTreeSet<u64> = BTreeSet::new();
    for draft in explored.drafts.values() {
        for at in draft.instructions.keys() {
            if let Some(other) = owners.insert(*at, draft.start) {
                shared.extend([other, draft.start]);
            }
        }
    }
    let mut all = BTreeMap::new();
    for draft in explored.drafts.values() {
        let name = image.extents.get(&draft.start).map(|extent| extent.name.clone());
        let mut troubles: BTreeSet<Trouble> = draft.troubles.clone();
        troubles.extend(draft.label(&explored.labels).map(Trouble::Label));
        if shared.contains(&draft.start) {
            troubles.insert(Trouble::Middle(draft.start));
        }
        let function = Function {
            start: draft.start,
            name: name.unwrap_or_else(|| format!("fn_{:x}", draft.start)),
            blocks: blocks(image, explored, draft),
            troubles: troubles.into_iter().collect(),
            returns: draft.returns,
            is_taken: explored.taken.contains(&draft.start),
        };
        all.insert(draft.start, function);
    }
    all
}

fn blocks(image: &Image<'_>, explored: &Explored, draft: &Draft) -> Vec<Block> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, one) in &draft.instructions {
        let first = *start.get_or_insert(*at);
        let flow = flow::flow(image, draft, one);
        let next = one.next_ip();
        let is_end = flow != Flow::Next
            || draft.leaders.contains(&next)
            || !draft.instructions.contains_key(&next);
        if is_end {
            let ends = ends(explored, draft, one, flow);
            found.push(Block { start: first, last: *at, end: next, ends });
            start = None;
        }
    }
    found.sort_by_key(|block| (block.start != draft.start, block.start));
    found
}

fn ends(explored: &Explored, draft: &Draft, one: &Instruction, flow: Flow) -> Ends {
    let next = one.next_ip();
    match flow {
        // Control that runs out of the code is a trouble of the function.
        Flow::Next if draft.instructions.contains_key(&next) => Ends::Next(next),
        Flow::Next | Flow::Stop => Ends::Stop,
        Flow::Branch(taken) => Ends::Branch { taken, next },
        Flow::Jump(target) => Ends::Jump(target),
        Flow::JumpIndirect => Ends::Table(draft.tables.get(&one.ip()).cloned().unwrap_or_default()),
        Flow::Call(callee) => {
            let returns = match &callee {
                Callee::Own(at) => explored.drafts.get(at).is_some_and(|draft| draft.returns),
                Callee::Import(name) => !flow::never_returns(name),
                Callee::Indirect => true,
            };
            let back = (returns && draft.leaders.contains(&next)).then_some(next);
            Ends::Call { callee, back }
        }
        Flow::Tail(callee) => Ends::Tail(callee),
        Flow::Return => Ends::Return,
    }
}
