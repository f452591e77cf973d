//! Numbers in the memory of a process, in its byte order.
//!
//! Rule: `.root.order` in `design/format.md`.

use crate::format::{ExtentEntry, NodeHead, RegistryEntry, Root};
use bytemuck::bytes_of;
use byteorder::ByteOrder;

/// A value in a process's memory.
pub(super) trait InByteOrder {
    /// Converts a value whose bytes are in the order `O`.
    fn in_order<O: ByteOrder>(self) -> Self;
}

macro_rules! integers {
    ($($int:ty: $read:ident)+) => {$(
        impl InByteOrder for $int {
            fn in_order<O: ByteOrder>(self) -> $int {
                O::$read(bytes_of(&self))
            }
        }
    )+};
}

integers!(u16: read_u16 u32: read_u32 u64: read_u64);

impl<const COUNT: usize> InByteOrder for [u64; COUNT] {
    fn in_order<O: ByteOrder>(self) -> [u64; COUNT] {
        self.map(u64::in_order::<O>)
    }
}

/// Lists the numbers of a structure. All its other fields are bytes.
macro_rules! numbers {
    ($type:ident: $($field:ident)+) => {
        impl InByteOrder for $type {
            fn in_order<O: ByteOrder>(mut self) -> $type {
                $(self.$field = self.$field.in_order::<O>();)+
                self
            }
        }
    };
}

numbers!(Root: byte_order_mark version size own_address pid extents registries sync_turn
    sync_uncertainty sync_ticks sync_monotonic sync_realtime unhoused dump describe flush last
    control);
numbers!(NodeHead: next count stride);
numbers!(ExtentEntry: address count registry counts buffer);
numbers!(RegistryEntry: index recorded output);

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Pod;
    use byteorder::{BigEndian, LittleEndian};

    /// A value with different bytes, as far as 256 suffice, and the same with its numbers swapped.
    fn check<T: Pod + InByteOrder>(numbers: &[(usize, usize)]) {
        let bytes: Vec<u8> = (0..size_of::<T>()).map(|index| index as u8).collect();
        let value: T = bytemuck::pod_read_unaligned(&bytes);
        let swapped = match cfg!(target_endian = "big") {
            true => value.in_order::<LittleEndian>(),
            false => value.in_order::<BigEndian>(),
        };
        let mut expected = bytes;
        numbers.iter().for_each(|(at, size)| expected[*at..at + size].reverse());
        assert_eq!(bytes_of(&swapped), expected);
    }

    /// `.root.order`, `.root.version`, `.root.node`, `.root.extent`
    #[test]
    fn only_numbers_are_swapped() {
        let mut root = vec![(16, 4), (20, 2), (22, 2), (32, 8), (56, 8), (64, 8), (72, 8)];
        root.extend([(80, 4), (84, 4)]);
        root.extend((88..184).step_by(8).map(|at| (at, 8)));
        check::<Root>(&root);
        check::<NodeHead>(&[(0, 8), (8, 4), (12, 4)]);
        check::<ExtentEntry>(&[(0, 8), (8, 4), (14, 2), (16, 8), (24, 4)]);
        check::<RegistryEntry>(&[(0, 4), (8, 8), (16, 8)]);
    }
}
