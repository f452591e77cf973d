//! Arguments: which Rust types each sort accepts.
//!
//! ```text
//!  event!(PoolAlloc, pool, addr, size)
//!                    │     │     └ W  usize u8 u16 u32 (u64)         ─▶ usize
//!                    │     └────── A  pointers, NonNull, usize       ─▶ A(usize)
//!                    └──────────── P  pointers, references, NonNull  ─▶ P(usize)
//! ```
//!
//! No conversion loses anything. A wrong type is an error that names the right types. Annotations
//! take arguments by reference, so that they do not use up a `&mut`.
//! Design: `.annot.param`, `.param.types` in `design/telemetry.md`.

use crate::field::{A, B, D, P, S, U, W};
use core::ptr::NonNull;

/// An argument of sort P: a pointer or reference, which becomes its address.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort P, a pointer",
    label = "expected a raw pointer, a reference, `NonNull`, or an `Option` of one of the last two",
    note = "a number that is an address in managed memory has sort A, any other number sort W"
)]
pub trait PointerArg {
    /// Returns the address.
    fn pointer(&self) -> usize;
}

/// An argument of sort A: an address in memory that the program manages.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort A, an address",
    label = "expected a raw pointer, `NonNull`, `Option<NonNull>` or `usize`"
)]
pub trait AddressArg {
    /// Returns the address.
    fn address(&self) -> usize;
}

/// An argument of sort W: an unsigned integer that fits in a word.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort W, a word",
    label = "expected an unsigned integer that fits in a word: `usize`, \
             `u8`, `u16`, `u32` or, on platforms of 64 bits, `u64`",
    note = "write a literal with its type: `16usize`"
)]
pub trait WordArg {
    /// Returns the word.
    fn word(&self) -> usize;
}

/// An argument of sort U: an unsigned integer of at most 32 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort U, an unsigned integer of 32 bits",
    label = "expected `u8`, `u16` or `u32`",
    note = "write a literal with its type: `16u32`"
)]
pub trait UnsignedArg {
    /// Returns the integer.
    fn unsigned(&self) -> u32;
}

/// An argument of sort D.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort D, a double",
    label = "expected `f64` or `f32`"
)]
pub trait DoubleArg {
    /// Returns the number.
    fn double(&self) -> f64;
}

/// An argument of sort B.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort B, a Boolean",
    label = "expected `bool`"
)]
pub trait BooleanArg {
    /// Returns the Boolean.
    fn boolean(&self) -> bool;
}

/// An argument of sort S: a reference to a string or to bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a parameter of sort S, a string",
    label = "expected `&str`, `&[u8]` or a reference to what holds one"
)]
pub trait StringArg<'a> {
    /// Returns the bytes.
    fn bytes(&self) -> &'a [u8];
}

/// Converts an argument to a field of type `F`, which decides the sort. `Event { field: argument }`
/// needs it: there only the type of the field shows the sort.
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
    /// Returns the field.
    fn to_field(&self) -> F;
}

/// Implements a trait for types, each with the value of a reference to it.
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

/// Implements the conversion to a field by the trait of its sort.
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
