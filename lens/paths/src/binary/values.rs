//! Values that know where they came from, on the way to an indirect jump.
//!
//! Design: `.collect.binary` in `design/collect.md`.

use super::shape::Shape;
use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedRegister,
};
use std::collections::BTreeMap;

/// The most entries of a table.
pub(super) const ENTRIES_MAX: u64 = 1 << 14;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Some value with a number of its own; those below 16 are what the registers held at first.
    Any(u32),
    Fixed(u64),
    /// A word of 8 bytes that an object or a variable has, with a number of its own.
    Pointer(u32),
    /// A value times 4 or 8.
    Scaled(u32, u64),
    /// The address of the entry of a table at an index, and the size of entries.
    Place(u64, u32, u64),
    /// An entry of 4 bytes of the table at an index.
    Offset(u64, u32),
    /// The sum of an entry of 4 bytes and an address: base, table, index.
    Sum(u64, u64, u32),
    /// An entry of 8 bytes of the table at an index.
    Entry(u64, u32),
}

/// A place in memory that a comparison and a load may share: base, index, scale, displacement.
type Slot = (Register, Register, u32, u64);

pub(super) struct Walk<'d> {
    pub(super) shape: &'d Shape<'d>,
    /// The first instruction of the code that is followed.
    pub(super) start: u64,
    pub(super) registers: BTreeMap<Register, Value>,
    pub(super) slots: BTreeMap<Slot, Value>,
    pub(super) bounds: BTreeMap<u32, u64>,
    pub(super) compared: Option<(u32, u64)>,
    pub(super) next: u32,
}

impl Walk<'_> {
    fn number_new(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn fresh(&mut self) -> Value {
        Value::Any(self.number_new())
    }

    /// Lets a register have a value. What was known of the memory that it pointed to is forgotten.
    fn set(&mut self, register: Register, value: Value) {
        let full = register.full_register();
        self.registers.insert(full, value);
        self.slots.retain(|(base, index, ..), _| *base != full && *index != full);
    }

    pub(super) fn register(&mut self, register: Register) -> Value {
        let full = register.full_register();
        let number = full.number() as u32;
        *self.registers.entry(full).or_insert(Value::Any(number % 16))
    }

    /// Returns the address in a register, if it has one, from before the followed code too.
    fn fixed(&mut self, register: Register) -> Option<u64> {
        match self.register(register) {
            Value::Fixed(value) => Some(value),
            Value::Any(number) if number < 16 => {
                let value = self.shape.reaching(self.start, register.full_register())?;
                self.registers.insert(register.full_register(), Value::Fixed(value));
                Some(value)
            }
            _ => None,
        }
    }

    fn number(&mut self, register: Register) -> Option<u32> {
        match self.register(register) {
            Value::Any(number) | Value::Pointer(number) => Some(number),
            _ => None,
        }
    }

    fn slot(one: &Instruction) -> Option<Slot> {
        let (base, index) = (one.memory_base(), one.memory_index());
        let is_plain = one.segment_prefix() == Register::None && base != Register::None;
        let (scale, shift) = (one.memory_index_scale(), one.memory_displacement64());
        is_plain.then(|| (base.full_register(), index.full_register(), scale, shift))
    }

    /// Returns the place of a memory operand, if it is an entry of a table.
    fn place(&mut self, one: &Instruction) -> Option<Value> {
        let (base, index) = (one.memory_base(), one.memory_index());
        let (scale, shift) = (u64::from(one.memory_index_scale()), one.memory_displacement64());
        if index == Register::None {
            return match self.register(base) {
                Value::Place(table, of, size) => {
                    Some(Value::Place(table.wrapping_add(shift), of, size))
                }
                _ => None,
            };
        }
        let base_value = if base == Register::None { Some(0) } else { self.fixed(base) };
        if scale >= 4 {
            let of = self.number(index)?;
            return Some(Value::Place(base_value?.wrapping_add(shift), of, scale));
        }
        // Without optimisation compilers scale first and add the table's address as the index.
        let (table, scaled) = match (base_value, self.register(index)) {
            (Some(table), scaled) => (table, scaled),
            (None, _) => (self.fixed(index)?, self.register(base)),
        };
        match scaled {
            Value::Scaled(of, by) if scale == 1 => {
                Some(Value::Place(table.wrapping_add(shift), of, by))
            }
            _ => None,
        }
    }

    pub(super) fn load(&mut self, one: &Instruction) -> Value {
        let size = one.memory_size().size() as u64;
        match self.place(one) {
            Some(Value::Place(table, of, 4)) if size == 4 => return Value::Offset(table, of),
            Some(Value::Place(table, of, 8)) if size == 8 => return Value::Entry(table, of),
            _ => {}
        }
        let number = self.number_new();
        let is_pointer = size == 8 && one.memory_index() == Register::None;
        let value = if is_pointer { Value::Pointer(number) } else { Value::Any(number) };
        match Walk::slot(one) {
            Some(slot) => *self.slots.entry(slot).or_insert(value),
            None => Value::Any(number),
        }
    }

    fn source(&mut self, one: &Instruction) -> Value {
        match one.op1_kind() {
            OpKind::Register => self.register(one.op1_register()),
            OpKind::Memory => self.load(one),
            _ => Value::Fixed(one.immediate(1)),
        }
    }

    /// Follows an instruction; control then goes on at `next`.
    pub(super) fn step(&mut self, one: &Instruction, next: u64) {
        let into_register = one.op0_kind() == OpKind::Register;
        match one.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
                let value = self.source(one);
                if into_register {
                    self.set(one.op0_register(), value);
                } else {
                    self.store(one);
                    self.slots.extend(Walk::slot(one).map(|slot| (slot, value)));
                }
            }
            Mnemonic::Cdqe | Mnemonic::Nop | Mnemonic::Endbr64 => {}
            Mnemonic::Lea if into_register => {
                let value = self.address(one);
                self.set(one.op0_register(), value);
            }
            Mnemonic::Shl | Mnemonic::Add | Mnemonic::And if into_register => self.compute(one),
            Mnemonic::Cmp => self.compare(one),
            _ if one.is_jcc_short_or_near() => self.branch(one, next),
            _ => self.forget(one),
        }
    }

    fn address(&mut self, one: &Instruction) -> Value {
        if one.is_ip_rel_memory_operand() {
            return Value::Fixed(one.ip_rel_memory_address());
        }
        let (base, index) = (one.memory_base(), one.memory_index());
        let is_scaled = one.memory_index_scale() >= 4 && one.memory_displacement64() == 0;
        match (base, index) {
            (Register::None, index) if is_scaled && index != Register::None => {
                match self.number(index) {
                    Some(of) => Value::Scaled(of, u64::from(one.memory_index_scale())),
                    None => self.fresh(),
                }
            }
            (_, Register::None) => self.fresh(),
            _ => match self.place(one) {
                Some(place) => place,
                None => self.fresh(),
            },
        }
    }

    fn compute(&mut self, one: &Instruction) {
        let target = one.op0_register();
        let (before, with) = (self.register(target), self.source(one));
        let fixed = |walk: &mut Self, value: Value, register: Option<Register>| match value {
            Value::Fixed(value) => Some(value),
            _ => register.and_then(|register| walk.fixed(register)),
        };
        let value = match (one.mnemonic(), before, with) {
            (Mnemonic::Shl, Value::Any(of) | Value::Pointer(of), Value::Fixed(by @ (2 | 3))) => {
                Value::Scaled(of, 1 << by)
            }
            (Mnemonic::And, _, Value::Fixed(mask)) if mask < ENTRIES_MAX => {
                let value = self.fresh();
                if let Value::Any(number) = value {
                    self.bounds.insert(number, mask);
                }
                value
            }
            (Mnemonic::Add, Value::Offset(table, of), with) => {
                let register = (one.op1_kind() == OpKind::Register).then(|| one.op1_register());
                match fixed(self, with, register) {
                    Some(base) => Value::Sum(base, table, of),
                    None => self.fresh(),
                }
            }
            (Mnemonic::Add, before, Value::Offset(table, of)) => {
                match fixed(self, before, Some(target)) {
                    Some(base) => Value::Sum(base, table, of),
                    None => self.fresh(),
                }
            }
            (Mnemonic::Add, before, Value::Scaled(of, by)) => {
                match fixed(self, before, Some(target)) {
                    Some(base) => Value::Place(base, of, by),
                    None => self.fresh(),
                }
            }
            _ => self.fresh(),
        };
        self.compared = None;
        self.set(target, value);
    }

    fn compare(&mut self, one: &Instruction) {
        let with = match one.op1_kind() {
            OpKind::Register | OpKind::Memory => None,
            _ => Some(one.immediate(1)),
        };
        let value = match one.op0_kind() {
            OpKind::Register => self.register(one.op0_register()),
            _ => self.load(one),
        };
        self.compared = match (value, with) {
            (Value::Any(number) | Value::Pointer(number), Some(with)) => Some((number, with)),
            _ => None,
        };
    }

    fn branch(&mut self, one: &Instruction, next: u64) {
        let Some((number, with)) = self.compared else { return };
        let is_taken = next == one.near_branch_target() && next != one.next_ip();
        let last = match (one.mnemonic(), is_taken) {
            (Mnemonic::Ja, false) | (Mnemonic::Jbe, true) => Some(with),
            (Mnemonic::Jae, false) | (Mnemonic::Jb, true) => with.checked_sub(1),
            _ => None,
        };
        if let Some(last) = last {
            let bound = self.bounds.entry(number).or_insert(last);
            *bound = last.min(*bound);
        }
    }

    /// Forgets what an instruction writes.
    fn forget(&mut self, one: &Instruction) {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(one);
        let is_written = |used: &&UsedRegister| {
            !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
        };
        let written: Vec<Register> =
            info.used_registers().iter().filter(is_written).map(UsedRegister::register).collect();
        let writes_memory = info.used_memory().iter().any(|used| {
            !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
        });
        if one.rflags_modified() != 0 {
            self.compared = None;
        }
        for register in written.iter().map(|register| register.full_register()) {
            let fresh = self.fresh();
            self.set(register, fresh);
        }
        let is_call = matches!(one.mnemonic(), Mnemonic::Call | Mnemonic::Syscall);
        if is_call {
            self.forget_call();
        } else if writes_memory {
            self.store(one);
        }
    }

    /// Forgets the memory that a store may change: its own place, and if it goes through a pointer
    /// all but the stack.
    fn store(&mut self, one: &Instruction) {
        let is_stack = |base: Register| matches!(base, Register::RSP | Register::RBP);
        match Walk::slot(one) {
            Some(slot) if is_stack(slot.0) => {
                self.slots.remove(&slot);
            }
            _ => self.slots.retain(|(base, ..), _| is_stack(*base)),
        }
    }

    /// Forgets what a callee may change.
    fn forget_call(&mut self) {
        use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
        for register in [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11] {
            let fresh = self.fresh();
            self.set(register, fresh);
        }
        self.slots.clear();
        self.compared = None;
    }
}
