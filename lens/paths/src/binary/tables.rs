//! Finds the targets of a jump through a table.
//!
//! ```text
//!  cmp i, 5 ; ja default        bound of i: 5
//!  lea t, [table]               t is fixed
//!  movsxd x, [t + i*4]          x is an entry of the table
//!  add x, t ; jmp x             a target: the table's address and the entry
//! ```
//!
//! The code before the jump is followed with values that know where they came from. An index with a
//! bound has a table only if each entry is code of the function.

use super::image::Image;
use super::shape::Shape;
use super::values::{ENTRIES_MAX, Value, Walk};
use iced_x86::OpKind;
use std::collections::{BTreeMap, BTreeSet};

/// What the code before an indirect jump tells of its targets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// They are the entries of a table, here without repetition.
    Table(Vec<u64>),
    /// The target is a pointer from an argument or an object: the jump is a tail call.
    Pointer,
    Nothing,
}

/// Returns what is known of the targets of an indirect jump.
pub(super) fn targets(image: &Image<'_>, shape: &Shape<'_>, jump: u64) -> Told {
    let mut all = BTreeSet::new();
    let mut is_pointer = false;
    for way in shape.ways(jump) {
        match told(image, shape, &way, jump) {
            Told::Table(targets) => all.extend(targets),
            Told::Pointer => is_pointer = true,
            Told::Nothing => return Told::Nothing,
        }
    }
    match (is_pointer, all.is_empty()) {
        (true, true) => Told::Pointer,
        (false, false) => Told::Table(all.into_iter().collect()),
        _ => Told::Nothing,
    }
}

/// Returns what the code on one way to a jump tells.
fn told(image: &Image<'_>, shape: &Shape<'_>, way: &[u64], jump: u64) -> Told {
    let Some(start) = way.first().copied() else { return Told::Nothing };
    let mut walk = Walk {
        shape,
        start,
        registers: BTreeMap::new(),
        slots: BTreeMap::new(),
        bounds: BTreeMap::new(),
        compared: None,
        next: 16,
    };
    let code = &shape.draft.instructions;
    for (at, next) in way.iter().zip(way.iter().skip(1)) {
        if let Some(one) = code.get(at) {
            walk.step(one, *next);
        }
    }
    let Some(one) = code.get(&jump) else { return Told::Nothing };
    let value = match one.op0_kind() {
        OpKind::Memory => walk.load(one),
        _ => walk.register(one.op0_register()),
    };
    let is_argument = |number: u32| number < 16 && start == shape.draft.start;
    match value {
        Value::Pointer(_) => Told::Pointer,
        Value::Any(number) if is_argument(number) => Told::Pointer,
        _ => table(&walk, image, value).map_or(Told::Nothing, Told::Table),
    }
}

/// Returns the entries of a table that a value may be.
fn table(walk: &Walk<'_>, image: &Image<'_>, value: Value) -> Option<Vec<u64>> {
    let index = match value {
        Value::Sum(_, _, index) | Value::Entry(_, index) => index,
        _ => return None,
    };
    let entry = |n: u64| match value {
        Value::Sum(base, table, _) => {
            let bytes = image.data(table.checked_add(4 * n)?, 4)?;
            let offset = i32::from_le_bytes(bytes.try_into().ok()?);
            Some(base.wrapping_add_signed(i64::from(offset)))
        }
        Value::Entry(table, _) => image.word(table.checked_add(8 * n)?),
        _ => None,
    };
    let own = |n: u64| entry(n).filter(|target| walk.shape.draft.has(*target));
    let all: Option<BTreeSet<u64>> = match walk.bounds.get(&index) {
        Some(last) if *last < ENTRIES_MAX => (0..=*last).map(own).collect(),
        // A compiler that knows all values tests no bound: the table ends where its entries are
        // not code of the function, or where other code names the data. Targets that do not
        // exist cost, but mislead nobody.
        _ => {
            let (table, size) = match value {
                Value::Sum(_, table, _) => (table, 4),
                Value::Entry(table, _) => (table, 8),
                _ => return None,
            };
            let end = image.named.range(table.saturating_add(1)..).next();
            let count = end.map_or(ENTRIES_MAX, |end| (end - table) / size);
            Some((0..count.min(ENTRIES_MAX)).map_while(own).collect())
        }
    };
    all.filter(|all| !all.is_empty()).map(|all| all.into_iter().collect())
}
