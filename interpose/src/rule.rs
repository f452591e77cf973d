//! How the caller of a function is found, for one return address: the unwinder's table, read once.
//!
//! ```text
//!  a return address ─▶ _Unwind_Find_FDE ─▶ the row of the table ─▶ Rule, one word
//! ```
//!
//! Design: `.rep.stack.walk` in `design/replay.md`.
#![expect(unsafe_code, reason = "tables for the unwinder")]

use crate::tree::Place;
use core::ffi::c_void;
use core::ptr::with_exposed_provenance;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, NativeEndian, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindSection, UnwindTableRow, X86_64,
};

/// The maximum number of registers whose rules are kept while a table is read.
const REGISTER_COUNT_MAX: usize = 24;
/// The maximum number of states that a table may put aside.
const ASIDE_COUNT_MAX: usize = 3;
const WORD: usize = size_of::<usize>();

/// The rule for one return address, as a word: its kind, the generation, the place of the caller's
/// frame pointer, and the end of the frame.
///
/// ```text
///  │ kind: 4 │ generation: 16 │ words below the end to the frame pointer: 12 │ offset: 32 │
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule(u64);

/// Kinds of rules.
pub(crate) const BY_STACK_POINTER: u64 = 1;
pub(crate) const BY_FRAME_POINTER: u64 = 2;
/// The frame has no caller.
pub(crate) const OUTERMOST: u64 = 3;
/// Only the unwinder can follow this frame.
const STRANGE: u64 = 4;

impl Rule {
    fn new(kind: u64, offset: i32, saved: usize, generation: u16) -> Rule {
        let offset = u64::from(offset as u32);
        Rule(kind << 60 | u64::from(generation) << 44 | (saved as u64) << 32 | offset)
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u64 {
        self.0 >> 60
    }

    #[inline(always)]
    fn generation(self) -> u16 {
        (self.0 >> 44) as u16
    }

    /// Returns the words from the end of the frame down to the caller's frame pointer; 0: the frame
    /// pointer is unchanged.
    #[inline(always)]
    pub(crate) fn saved(self) -> usize {
        (self.0 >> 32 & 0xfff) as usize
    }

    #[inline(always)]
    pub(crate) fn offset(self) -> isize {
        self.0 as i32 as isize
    }

    /// Returns the rule for an address at its place in the tree. For an address without a known
    /// rule, `is_outermost` decides before the unwinder is asked.
    #[inline(always)]
    pub(crate) fn at(
        place: Place,
        address: usize,
        generation: u16,
        is_outermost: &dyn Fn(usize) -> bool,
    ) -> Rule {
        let rule = Rule(place.rule());
        match rule.kind() != 0 && rule.generation() == generation {
            true => rule,
            false if is_outermost(address) => Rule::new(OUTERMOST, 0, 0, generation),
            false => Rule::look_up(place, address, generation),
        }
    }

    /// Returns the rule that was already found for an address on this stack.
    #[inline(always)]
    pub(crate) fn known(place: Place) -> Rule {
        Rule(place.rule())
    }

    #[cold]
    #[inline(never)]
    fn look_up(place: Place, address: usize, generation: u16) -> Rule {
        let strange = Rule::new(STRANGE, 0, 0, generation);
        let rule = Rule::of(address, generation).unwrap_or(strange);
        place.set_rule(rule.0);
        rule
    }

    /// Reads the rule from the unwinder's table.
    fn of(address: usize, generation: u16) -> Option<Rule> {
        // The call lies before its return address, and may be the last instruction of its function.
        let call = address.checked_sub(1)?;
        let Some((table, entry)) = table(call) else {
            return Some(Rule::new(OUTERMOST, 0, 0, generation));
        };
        let bases = BaseAddresses::default().set_eh_frame(table.as_ptr().addr() as u64);
        let section = EhFrame::new(table, NativeEndian);
        let entry = section.fde_from_offset(&bases, entry.into(), EhFrame::cie_from_offset).ok()?;
        if entry.is_signal_trampoline() {
            return None;
        }
        let mut context = UnwindContext::<usize, Storage>::new_in();
        let row =
            entry.unwind_info_for_address(&section, &bases, &mut context, call as u64).ok()?;
        let returns_to = match row.register(X86_64::RA) {
            Some(RegisterRule::Undefined) => return Some(Rule::new(OUTERMOST, 0, 0, generation)),
            Some(RegisterRule::Offset(offset)) => offset,
            _ => return None,
        };
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let kind = match *register {
            X86_64::RSP => BY_STACK_POINTER,
            X86_64::RBP => BY_FRAME_POINTER,
            _ => return None,
        };
        let saved = match row.register(X86_64::RBP) {
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => 0,
            Some(RegisterRule::Offset(offset)) => usize::try_from(-offset).ok()?,
            _ => return None,
        };
        let is_plain = returns_to == -(WORD as i64) && saved.is_multiple_of(WORD);
        let saved = Some(saved / WORD).filter(|saved| is_plain && *saved < 1 << 12)?;
        Some(Rule::new(kind, i32::try_from(*offset).ok()?, saved, generation))
    }
}

/// Space on the stack for reading a table.
struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(gimli::Register, RegisterRule<usize>); REGISTER_COUNT_MAX];
    type Stack = [UnwindTableRow<usize, Storage>; ASIDE_COUNT_MAX];
}

/// The addresses that the unwinder returns with an entry.
#[repr(C)]
#[derive(Default)]
struct Bases([usize; 3]);

unsafe extern "C" {
    fn _Unwind_Find_FDE(address: *const c_void, bases: *mut Bases) -> *const u32;
}

/// Returns the part of the unwinder's table for an address, and the offset of the entry in it.
/// `None`: the unwinder does not know the function.
fn table(address: usize) -> Option<(&'static [u8], usize)> {
    let mut bases = Bases::default();
    // SAFETY: the unwinder accepts any address; the bases are this function's.
    let entry = unsafe { _Unwind_Find_FDE(with_exposed_provenance(address), &mut bases) };
    if entry.is_null() {
        return None;
    }
    // SAFETY: an entry begins with its size, and then the distance back to the part that it shares
    // with others. Both lie in one section of a file. The file is mapped as long as its code, and
    // so as long as the examined frame exists.
    unsafe {
        let (size, back) = (entry.read_unaligned(), entry.add(1).read_unaligned());
        let size = size as usize + size_of::<u32>();
        let before = (back as usize).checked_sub(size_of::<u32>())?;
        let begin = entry.byte_sub(before).cast::<u8>();
        Some((core::slice::from_raw_parts(begin, before + size), before))
    }
}
