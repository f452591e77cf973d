//! Where an instruction goes on: the next one, a jump, a call, a tail call, nowhere.
//!
//! Design: `.collect.binary` in `design/collect.md`.

use super::draft::Draft;
use super::image::Image;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

/// What a call or a tail call reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Callee {
    /// A function of the image, by its address.
    Own(u64),
    /// A function of another image, by its name; or one of the image that jumps out of calls.
    Import(String),
    /// A function that the program chooses as it runs.
    Indirect,
}

/// Where an instruction goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Branch(u64),
    Jump(u64),
    JumpIndirect,
    Call(Callee),
    Tail(Callee),
    Return,
    Stop,
}

/// The imports that never return. Mangled names are those of the C++ runtime and of unwinding.
const NEVER_RETURN: [&str; 29] = [
    "_Exit",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "_ZSt16__throw_bad_castv",
    "_ZSt17__throw_bad_allocv",
    "_ZSt20__throw_length_errorPKc",
    "_ZSt20__throw_out_of_rangePKc",
    "_ZSt24__throw_out_of_range_fmtPKcz",
    "_ZSt25__throw_bad_function_callv",
    "_ZSt28__throw_bad_array_new_lengthv",
    "_ZSt19__throw_logic_errorPKc",
    "__assert_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_rethrow",
    "__cxa_throw",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "verr",
];

/// Returns whether an import never returns to its caller.
pub(super) fn never_returns(import: &str) -> bool {
    import == "verrx" || NEVER_RETURN.contains(&import)
}

/// Returns whether an import lets the program go on in a caller that has not returned: by an
/// exception, or a jump out of several calls.
pub fn unwinds(import: &str) -> bool {
    const BEGINNINGS: [&str; 6] = [
        "__cxa_throw",
        "__cxa_rethrow",
        "_Unwind_R",
        "_Unwind_Forced",
        "setcontext",
        "swapcontext",
    ];
    let is_throw = import.contains("__throw_") || import.contains("longjmp");
    is_throw || BEGINNINGS.iter().any(|own| import.starts_with(own))
}

/// Returns whether a jump from elsewhere comes back to the calls of an import.
pub fn returns_twice(import: &str) -> bool {
    const NAMES: [&str; 5] = ["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "getcontext"];
    NAMES.contains(&import)
}

/// Returns where an instruction of a function goes on.
pub(super) fn flow(image: &Image<'_>, draft: &Draft, one: &Instruction) -> Flow {
    match one.mnemonic() {
        Mnemonic::Syscall => return Flow::Next,
        Mnemonic::Hlt | Mnemonic::Int3 | Mnemonic::Int1 => return Flow::Stop,
        _ => {}
    }
    match one.flow_control() {
        FlowControl::Next | FlowControl::Interrupt => Flow::Next,
        FlowControl::XbeginXabortXend if one.mnemonic() != Mnemonic::Xbegin => Flow::Next,
        FlowControl::XbeginXabortXend | FlowControl::Exception => Flow::Stop,
        FlowControl::ConditionalBranch => Flow::Branch(one.near_branch_target()),
        FlowControl::UnconditionalBranch => jump(image, draft, one.near_branch_target()),
        FlowControl::Return => Flow::Return,
        FlowControl::Call => Flow::Call(callee(image, one.near_branch_target())),
        FlowControl::IndirectCall => Flow::Call(through(image, one).unwrap_or(Callee::Indirect)),
        FlowControl::IndirectBranch => match through(image, one) {
            Some(callee) => Flow::Tail(callee),
            None if draft.tables.contains_key(&one.ip()) => Flow::JumpIndirect,
            None if draft.pointers.contains(&one.ip()) => Flow::Tail(Callee::Indirect),
            None => Flow::JumpIndirect,
        },
    }
}

fn jump(image: &Image<'_>, draft: &Draft, target: u64) -> Flow {
    match image.extents.get(&target) {
        _ if target == draft.start => Flow::Jump(target),
        Some(extent) if image.is_part(extent) => Flow::Jump(target),
        Some(_) => Flow::Tail(Callee::Own(target)),
        None if image.is_stub(target) => Flow::Tail(callee(image, target)),
        None => Flow::Jump(target),
    }
}

/// Returns what a direct call reaches: a function, or through a stub an import.
fn callee(image: &Image<'_>, target: u64) -> Callee {
    if !image.is_stub(target) {
        return Callee::Own(target);
    }
    let code = image.code(target).unwrap_or_default();
    let decoder = Decoder::with_ip(64, code, target, DecoderOptions::NONE);
    let jump = decoder.into_iter().take(3).find(|one| one.mnemonic() == Mnemonic::Jmp);
    jump.and_then(|one| through(image, &one)).unwrap_or(Callee::Indirect)
}

/// Returns what a jump or call through a slot that the loader fills reaches.
fn through(image: &Image<'_>, one: &Instruction) -> Option<Callee> {
    if one.op0_kind() != OpKind::Memory || !one.is_ip_rel_memory_operand() {
        return None;
    }
    let slot = one.ip_rel_memory_address();
    if let Some(name) = image.import(slot) {
        return Some(Callee::Import(name.to_owned()));
    }
    let own = image.own(slot).filter(|at| image.extents.contains_key(at))?;
    Some(Callee::Own(own))
}
