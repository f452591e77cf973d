//! Integers that are little-endian in memory, whatever the platform (`.order.header`).

use bytemuck::{Pod, Zeroable};

macro_rules! little_endian {
    ($name:ident, $int:ty) => {
        #[doc = concat!("A `", stringify!($int), "` stored in little-endian order.")]
        #[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name($int);

        impl $name {
            /// Stores a value.
            #[inline(always)]
            pub const fn new(value: $int) -> Self {
                Self(value.to_le())
            }

            /// Returns the value.
            #[inline(always)]
            pub const fn get(self) -> $int {
                <$int>::from_le(self.0)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&self.get(), f)
            }
        }

        impl From<$int> for $name {
            fn from(value: $int) -> Self {
                Self::new(value)
            }
        }

        impl From<$name> for $int {
            fn from(value: $name) -> Self {
                value.get()
            }
        }
    };
}

little_endian!(U16le, u16);
little_endian!(U32le, u32);
little_endian!(U64le, u64);
