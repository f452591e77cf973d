//! One op of a workload: eight bytes.
//!
//! ```text
//!  63          32 31 29 28                    0
//!  ┌─────────────┬─────┬───────────────────────┐
//!  │ size        │kind │ slot                  │   Allocate…, Free; Reallocate, from this size
//!  │ count       │     │ thread                │   Wait
//!  │ count       │     │ 0                     │   Post; 1 instead of 0: all threads have met
//!  │ size, upper │     │ alignment │ pool      │   Prefix: 5 bits log2 │ 24 bits, of the next op
//!  │ 0           │     │ pool                  │   EndPool
//!  ├─────────────┴─────┴───────────────────────┤
//!  │1│ size                                    │   the new size, which follows a Reallocate
//!  └───────────────────────────────────────────┘
//! ```
//!
//! Design: `.rep.workload` in `design/replay.md`.

use bytemuck::{Pod, Zeroable};

/// The maximum number of slots.
pub const SLOT_COUNT_MAX: u32 = 1 << SLOT_BITS;

/// The maximum new size of a Reallocate: more than any memory has.
pub const NEW_SIZE_MAX: u64 = u64::MAX >> 1;
/// The number of ops that the loop does at once.
pub(crate) const STRIDE: usize = 4;
/// The number of orders of Allocates and Frees among them.
pub(crate) const ORDER_COUNT: usize = 1 << STRIDE;

const SLOT_BITS: u32 = 29;
const POOL_BITS: u32 = 24;
const LOW_MASK: u64 = (1 << SLOT_BITS) - 1;

/// The kind of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Fills a slot with memory of a size.
    Allocate = 0,
    /// Empties a slot; `size` is that of its object.
    Free = 1,
    /// Fills a slot with zeroed memory of a size.
    AllocateZeroed = 2,
    /// Changes the size of the object in a slot. `size` is the old size. The new size is the lower
    /// 63 bits of the next word, which is not an op, but has an index among them. The top bit of
    /// that word is set if the object need no longer be aligned as before.
    Reallocate = 3,
    /// Waits until a thread has posted a count.
    Wait = 4,
    /// Posts a count.
    Post = 5,
    /// Holds more of the next op: alignment, pool, the upper half of its size.
    Prefix = 6,
    /// Ends a pool, whose slots are empty.
    EndPool = 7,
}

/// An op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Op(u64);

const _: () = assert!(size_of::<Op>() == 8);

impl Op {
    /// Returns an op of a slot, which must be less than [`SLOT_COUNT_MAX`], with the lower 32 bits
    /// of a size.
    pub const fn of_slot(kind: OpKind, slot: u32, size: u64) -> Op {
        Op(size << 32 | (kind as u64) << SLOT_BITS | slot as u64 & LOW_MASK)
    }

    /// Returns the word after a Reallocate: the new size, at most [`NEW_SIZE_MAX`], and whether the
    /// object need no longer be aligned as before.
    pub const fn new_size(size: u64, is_unaligned: bool) -> Op {
        Op(size & NEW_SIZE_MAX | (is_unaligned as u64) << 63)
    }

    /// Returns the new size in such a word.
    #[inline(always)]
    pub const fn as_new_size(self) -> u64 {
        self.0 & NEW_SIZE_MAX
    }

    /// Returns whether the object need no longer be aligned as before.
    #[inline(always)]
    pub const fn is_unaligned(self) -> bool {
        self.0 >> 63 != 0
    }

    /// Returns a wait until `thread` has posted `count`.
    pub const fn wait(thread: u32, count: u32) -> Op {
        Op::of_slot(OpKind::Wait, thread, count as u64)
    }

    /// Returns a post of `count`.
    pub const fn post(count: u32) -> Op {
        Op::of_slot(OpKind::Post, 0, count as u64)
    }

    /// Returns a post that posts nothing: all threads have come to the peak of live bytes, and none
    /// further.
    pub const fn met() -> Op {
        Op::of_slot(OpKind::Post, 1, 0)
    }

    /// Returns whether a Post is that one.
    #[inline(always)]
    pub const fn is_met(self) -> bool {
        self.slot() != 0
    }

    /// Returns a prefix for the next op: the logarithm of its alignment, its pool, and the upper 32
    /// bits of its size.
    pub const fn prefix(alignment_log2: u32, pool: u32, size: u64) -> Op {
        Op::of_slot(OpKind::Prefix, alignment_log2 << POOL_BITS | pool, size >> 32)
    }

    /// Returns the end of a pool.
    pub const fn end_pool(pool: u32) -> Op {
        Op::of_slot(OpKind::EndPool, pool, 0)
    }

    /// Returns the kind of the op.
    #[inline(always)]
    pub const fn kind(self) -> OpKind {
        match self.0 >> SLOT_BITS & 7 {
            0 => OpKind::Allocate,
            1 => OpKind::Free,
            2 => OpKind::AllocateZeroed,
            3 => OpKind::Reallocate,
            4 => OpKind::Wait,
            5 => OpKind::Post,
            6 => OpKind::Prefix,
            _ => OpKind::EndPool,
        }
    }

    /// Returns the order of Allocates and Frees: a bit for each, 1 for a Free, the first the
    /// lowest. ORDER_COUNT stands for any other op among them.
    #[inline(always)]
    pub(crate) const fn order(ops: [Op; STRIDE]) -> usize {
        const SELDOM: u64 = (!(OpKind::Free as u64) & 7) << SLOT_BITS;
        let (mut all, mut order, mut at) = (0, 0, 0);
        while at < STRIDE {
            all |= ops[at].0;
            order |= (ops[at].0 >> SLOT_BITS & 1) << at;
            at += 1;
        }
        if all & SELDOM == 0 { order as usize } else { ORDER_COUNT }
    }

    /// Returns the slot; the thread of a Wait, the pool of an EndPool.
    #[inline(always)]
    pub const fn slot(self) -> u32 {
        (self.0 & LOW_MASK) as u32
    }

    /// Returns the lower 32 bits of the size; the count of a Wait or Post; for a Prefix, the upper
    /// 32 bits of the next op's size.
    #[inline(always)]
    pub const fn size(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the logarithm of the alignment and the pool in a Prefix.
    #[inline(always)]
    pub const fn alignment_and_pool(self) -> (u32, u32) {
        (self.slot() >> POOL_BITS, self.slot() & ((1 << POOL_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_plain_ops_has_a_bit_for_each_free() {
        const KINDS: [OpKind; 8] = [
            OpKind::Allocate,
            OpKind::Free,
            OpKind::AllocateZeroed,
            OpKind::Reallocate,
            OpKind::Wait,
            OpKind::Post,
            OpKind::Prefix,
            OpKind::EndPool,
        ];
        for number in 0..KINDS.len().pow(STRIDE as u32) {
            let kinds: [OpKind; STRIDE] =
                std::array::from_fn(|at| KINDS[number / KINDS.len().pow(at as u32) % KINDS.len()]);
            let is_plain = |kind: &OpKind| matches!(kind, OpKind::Allocate | OpKind::Free);
            let expected = match kinds.iter().all(is_plain) {
                true => (0..STRIDE).filter(|at| kinds[*at] == OpKind::Free).map(|at| 1 << at).sum(),
                false => ORDER_COUNT,
            };
            // Only the kinds count.
            let op = |kind| Op::of_slot(kind, SLOT_COUNT_MAX - 1, number as u64 * 0x0101_0101);
            assert_eq!(Op::order(kinds.map(op)), expected, "{kinds:?}");
        }
    }

    #[test]
    fn an_op_returns_its_parts() {
        let op = Op::of_slot(OpKind::Free, SLOT_COUNT_MAX - 1, u64::from(u32::MAX));
        assert_eq!((op.kind(), op.slot(), op.size()), (OpKind::Free, SLOT_COUNT_MAX - 1, u32::MAX));
        let op = Op::prefix(21, (1 << POOL_BITS) - 1, 7 << 32 | 5);
        assert_eq!((op.kind(), op.size()), (OpKind::Prefix, 7));
        assert_eq!(op.alignment_and_pool(), (21, (1 << POOL_BITS) - 1));
        assert_eq!((Op::wait(3, 9).slot(), Op::wait(3, 9).size()), (3, 9));
        for (size, is_unaligned) in [(NEW_SIZE_MAX - 1, false), (NEW_SIZE_MAX, true)] {
            let op = Op::new_size(size, is_unaligned);
            assert_eq!((op.as_new_size(), op.is_unaligned()), (size, is_unaligned));
        }
        assert_eq!((Op::post(9).kind(), Op::end_pool(4).slot()), (OpKind::Post, 4));
    }
}
