//! Copies of instructions that run elsewhere, and the outcomes of jumps.
//!
//! ```text
//!  at a breakpoint the instruction …
//!   conditional jump, return, jump by a register   is not run: its outcome is computed
//!   endbr, nop                                     is passed over
//!   call                                           pushes the address after its place, and jumps
//!   any other                                      runs in a copy, which jumps back
//!   one without a copy                             runs alone in its place: one step
//! ```
//!
//! Design: `.collect.traps` in `design/collect.md`.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Instruction, InstructionBlock, Mnemonic, OpKind,
    Register,
};
use nix::libc::user_regs_struct as Registers;

/// The greatest size of a copy.
pub(crate) const COPY_SIZE: u64 = 64;

/// How a program goes on from a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// At an address of memory: a copy, or the next instruction.
    To(u64),
    /// At the outcome of a conditional jump.
    Condition { taken: u64, next: u64, code: iced_x86::ConditionCode },
    /// At the address in a register.
    Register(Register),
    /// By one step in place.
    Step,
}

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;

/// Returns whether a condition holds.
pub(crate) fn holds(code: iced_x86::ConditionCode, flags: u64) -> bool {
    use iced_x86::ConditionCode as C;
    let is = |flag: u64| flags & flag != 0;
    let less = is(SIGN) != is(OVERFLOW);
    match code {
        C::o => is(OVERFLOW),
        C::no => !is(OVERFLOW),
        C::b => is(CARRY),
        C::ae => !is(CARRY),
        C::e => is(ZERO),
        C::ne => !is(ZERO),
        C::be => is(CARRY | ZERO),
        C::a => !is(CARRY | ZERO),
        C::s => is(SIGN),
        C::ns => !is(SIGN),
        C::p => is(PARITY),
        C::np => !is(PARITY),
        C::l => less,
        C::ge => !less,
        C::le => less || is(ZERO),
        C::g => !less && !is(ZERO),
        _ => false,
    }
}

/// Returns what a register holds.
pub(crate) fn value(registers: &Registers, register: Register) -> Option<u64> {
    Some(match register.full_register() {
        Register::RAX => registers.rax,
        Register::RBX => registers.rbx,
        Register::RCX => registers.rcx,
        Register::RDX => registers.rdx,
        Register::RSI => registers.rsi,
        Register::RDI => registers.rdi,
        Register::RBP => registers.rbp,
        Register::RSP => registers.rsp,
        Register::R8 => registers.r8,
        Register::R9 => registers.r9,
        Register::R10 => registers.r10,
        Register::R11 => registers.r11,
        Register::R12 => registers.r12,
        Register::R13 => registers.r13,
        Register::R14 => registers.r14,
        Register::R15 => registers.r15,
        _ => return None,
    })
}

/// Returns how to go on from an instruction, decoded at its place in memory, and the bytes of its
/// copy at `room`, if it needs one.
pub(crate) fn over(one: &Instruction, room: u64) -> (Over, Vec<u8>) {
    let none = |over| (over, Vec::new());
    match one.mnemonic() {
        Mnemonic::Endbr64 | Mnemonic::Nop => return none(Over::To(one.next_ip())),
        Mnemonic::Syscall | Mnemonic::Xbegin | Mnemonic::Int | Mnemonic::Int3 => {
            return none(Over::Step);
        }
        _ => {}
    }
    if one.is_jcc_short_or_near() {
        let (taken, next) = (one.near_branch_target(), one.next_ip());
        return none(Over::Condition { taken, next, code: one.condition_code() });
    }
    if one.is_jmp_short_or_near() {
        return none(Over::To(one.near_branch_target()));
    }
    if one.is_jmp_near_indirect() && one.op0_kind() == OpKind::Register {
        return none(Over::Register(one.op0_register()));
    }
    if one.is_call_near() || one.is_call_near_indirect() {
        return match call(one, room) {
            Some(bytes) => (Over::To(room), bytes),
            None => none(Over::Step),
        };
    }
    let is_loop = one.is_jcx_short() || one.is_loop() || one.is_loopcc();
    if is_loop || one.is_ip_rel_memory_operand() && one.memory_displacement64() == 0 {
        return none(Over::Step);
    }
    let Ok(back) = Instruction::with_branch(Code::Jmp_rel32_64, one.next_ip()) else {
        return none(Over::Step);
    };
    match encode(&[*one, back], room) {
        Some(bytes) => (Over::To(room), bytes),
        None => none(Over::Step),
    }
}

fn encode(code: &[Instruction], at: u64) -> Option<Vec<u8>> {
    let block = InstructionBlock::new(code, at);
    let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?;
    (encoded.code_buffer.len() as u64 <= COPY_SIZE).then_some(encoded.code_buffer)
}

/// Returns a call whose return address is the one of its place. It leaves the flags alone.
fn call(one: &Instruction, room: u64) -> Option<Vec<u8>> {
    let uses_stack = one.op0_kind() == OpKind::Memory
        && (one.memory_base().full_register() == Register::RSP
            || one.memory_index().full_register() == Register::RSP)
        || one.op0_kind() == OpKind::Register
            && one.op0_register().full_register() == Register::RSP;
    if uses_stack {
        return None;
    }
    let back = one.next_ip().to_le_bytes();
    // lea rsp, [rsp-8]; mov dword [rsp], …; mov dword [rsp+4], …
    let mut bytes = vec![0x48, 0x8d, 0x64, 0x24, 0xf8, 0xc7, 0x04, 0x24];
    bytes.extend(&back[..4]);
    bytes.extend([0xc7, 0x44, 0x24, 0x04]);
    bytes.extend(&back[4..]);
    let jump = if one.is_call_near() {
        Instruction::with_branch(Code::Jmp_rel32_64, one.near_branch_target()).ok()?
    } else {
        let mut jump = *one;
        jump.set_code(Code::Jmp_rm64);
        jump
    };
    bytes.extend(encode(&[jump], room + bytes.len() as u64)?);
    (bytes.len() as u64 <= COPY_SIZE).then_some(bytes)
}
