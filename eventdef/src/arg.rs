//! Arguments: which Rust types may stand for which sort.
//!
//! ```text
//!  event!(PoolAlloc, pool, addr, size)
//!                    │     │     └ W  usize u8 u16 u32 (u64)         ─▶ usize
//!                    │     └────── A  pointers, NonNull, usize       ─▶ A(usize)
//!                    └──────────── P  pointers, references, NonNull  ─▶ P(usize)
//! ```
//!
//! No conversion loses anything, and a wrong type is an error that says which types are right.
//! Arguments are taken by reference, so that an annotation does not use up a `&mut`.
//! Design: `.annot.param`, `.param.types` in `design/telemetry.md`.

use crate::field::{A, B, D, P, S, U, W};
use core::ptr::NonNull;

/// What may stand for sort P: pointers and references, which become the address they point to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort P, a pointer",
    label = "expected a raw pointer, a reference, `NonNull`, or an `Option` of one of the last two",
    note = "a number that is an address in managed memory has sort A, any other number sort W"
)]
pub trait PointerArg {
    /// The address it points to.
    fn pointer(&self) -> usize;
}

/// What may stand for sort A: addresses in memory that the program manages.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort A, an address",
    label = "expected a raw pointer, `NonNull`, `Option<NonNull>` or `usize`"
)]
pub trait AddressArg {
    /// The address.
    fn address(&self) -> usize;
}

/// What may stand for sort W: unsigned integers that fit in a word.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort W, a word",
    label = "expected an unsigned integer that fits in a word: `usize`, \
             `u8`, `u16`, `u32` or, on platforms of 64 bits, `u64`",
    note = "write a literal with its type: `16usize`"
)]
pub trait WordArg {
    /// The word.
    fn word(&self) -> usize;
}

/// What may stand for sort U: unsigned integers of at most 32 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort U, an unsigned integer of 32 bits",
    label = "expected `u8`, `u16` or `u32`",
    note = "write a literal with its type: `16u32`"
)]
pub trait UnsignedArg {
    /// The integer.
    fn unsigned(&self) -> u32;
}

/// What may stand for sort D.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort D, a double",
    label = "expected `f64` or `f32`"
)]
pub trait DoubleArg {
    /// The number.
    fn double(&self) -> f64;
}

/// What may stand for sort B.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort B, a Boolean",
    label = "expected `bool`"
)]
pub trait BooleanArg {
    /// The Boolean.
    fn boolean(&self) -> bool;
}

/// What may stand for sort S: a reference to a string or to bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort S, a string",
    label = "expected `&str`, `&[u8]` or a reference to what holds one"
)]
pub trait StringArg<'a> {
    /// Its bytes.
    fn bytes(&self) -> &'a [u8];
}

/// Makes the field of an event of an argument. `F` is the type of the field, and says the sort:
/// what `Event { field: argument }` needs, where the sort is known by the field alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter that is stored as `{F}`",
    label = "of a wrong type for its parameter",
    note = "stored as `P`, a pointer: expected a raw pointer, a reference, `NonNull`, \
            or an `Option` of one of the last two",
    note = "stored as `A`, an address: expected a raw pointer, `NonNull`, \
            `Option<NonNull>` or `usize`",
    note = "stored as `usize`, a word: expected `usize`, `u8`, `u16`, `u32` or, \
            on platforms of 64 bits, `u64`",
    note = "stored as `u32`: expected `u8`, `u16` or `u32`; as `f64`: `f64` or `f32`; \
            as `bool`: `bool`",
    note = "stored as `&[u8]`, a string: expected `&str`, `&[u8]` or a reference to what holds one"
)]
pub trait ToField<F> {
    /// The field.
    fn to_field(&self) -> F;
}

/// The types that have a trait, each with the value that a reference to it gives.
macro_rules! stands_for {
    ($trait:ident::$method:ident -> $value:ty;
        $([$($generic:tt)*] $type:ty, $arg:ident => $with:expr;)*) => {
        $(impl<$($generic)*> $trait for $type {
            #[inline(always)]
            fn $method(&self) -> $value {
                let $arg = self;
                $with
            }
        })*
    };
}

stands_for! { PointerArg::pointer -> usize;
    [T: ?Sized] *const T, p => p.addr();
    [T: ?Sized] *mut T, p => p.addr();
    [T: ?Sized] &T, p => core::ptr::from_ref::<T>(p).addr();
    [T: ?Sized] &mut T, p => core::ptr::from_ref::<T>(p).addr();
    [T: ?Sized] NonNull<T>, p => p.as_ptr().addr();
    [T: ?Sized] Option<&T>, p => p.map_or(0, |p| core::ptr::from_ref::<T>(p).addr());
    [T: ?Sized] Option<&mut T>, p => p.as_deref().map_or(0, |p| core::ptr::from_ref::<T>(p).addr());
    [T: ?Sized] Option<NonNull<T>>, p => p.map_or(0, |p| p.as_ptr().addr());
    [] P, p => p.0;
}

stands_for! { AddressArg::address -> usize;
    [T: ?Sized] *const T, p => p.addr();
    [T: ?Sized] *mut T, p => p.addr();
    [T: ?Sized] NonNull<T>, p => p.as_ptr().addr();
    [T: ?Sized] Option<NonNull<T>>, p => p.map_or(0, |p| p.as_ptr().addr());
    [] usize, address => *address;
    [] A, address => address.0;
}

stands_for! { WordArg::word -> usize;
    [] usize, n => *n;
    [] u8, n => usize::from(*n);
    [] u16, n => usize::from(*n);
    [] u32, n => *n as usize;
}

#[cfg(target_pointer_width = "16")]
compile_error!("the event log needs words of at least 32 bits");

#[cfg(target_pointer_width = "64")]
stands_for! { WordArg::word -> usize;
    [] u64, n => *n as usize;
}

stands_for! { UnsignedArg::unsigned -> u32;
    [] u8, n => u32::from(*n);
    [] u16, n => u32::from(*n);
    [] u32, n => *n;
}

stands_for! { DoubleArg::double -> f64;
    [] f32, n => f64::from(*n);
    [] f64, n => *n;
}

stands_for! { BooleanArg::boolean -> bool;
    [] bool, b => *b;
}

impl<'a, T: AsRef<[u8]> + ?Sized> StringArg<'a> for &'a T {
    #[inline(always)]
    fn bytes(&self) -> &'a [u8] {
        (*self).as_ref()
    }
}

/// A sort's trait makes the field of that sort.
macro_rules! makes_field {
    ($([$($life:lifetime)?] $trait:path, $method:ident => $field:ty, $wrap:expr;)*) => {
        $(impl<$($life,)? T: $trait> ToField<$field> for T {
            #[inline(always)]
            fn to_field(&self) -> $field {
                $wrap(self.$method())
            }
        })*
    };
}

makes_field! {
    [] PointerArg, pointer => P, P;
    [] AddressArg, address => A, A;
    [] WordArg, word => W, core::convert::identity;
    [] UnsignedArg, unsigned => U, core::convert::identity;
    [] DoubleArg, double => D, core::convert::identity;
    [] BooleanArg, boolean => B, core::convert::identity;
    ['a] StringArg<'a>, bytes => S<'a>, core::convert::identity;
}
