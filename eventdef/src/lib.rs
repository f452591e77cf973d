//! The registry of the event log: event types declared in one list.
//!
//! ```text
//!  events! { … }  ──▶ struct PoolAlloc { pool, addr, size }   what an annotation makes
//!   one list      ──▶ REGISTRY   names, codes, sorts, docs    what a reader decodes by
//!                 ──▶ Kinds, CONTROL                          what is switched on and off
//!                 ──▶ compile errors                          where the list breaks a law
//! ```
//!
//! A flight recorder is read years later by a tool that never saw the program. So what the program
//! can record is declared once, in a list of *event types*, and all else is made of the list: a new
//! event type is one more row and no other edit.
//!
//! # Example
//!
//! ```
//! /// The events of the word counter's heap.
//! mod heap {
//!     eventdef::events! {
//!         /// The events of the word counter's heap.
//!         registry "heap" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// A pool was created.
//!         PoolInit(0x002D, always, Pool) {
//!             /// the pool
//!             pool: P,
//!             /// its arena
//!             arena: P,
//!         }
//!         /// Memory was handed out.
//!         PoolAlloc(0x002A, sometimes, Object) {
//!             /// the pool it comes from
//!             pool: P,
//!             /// where it begins
//!             addr: A,
//!             /// its size in bytes
//!             size: W,
//!         }
//!         /// A pool was looked at. No longer recorded.
//!         retired PoolGlance(0x0007, sometimes, Pool) {}
//!     }
//! }
//!
//! use eventdef::{Event, Sort};
//! use heap::{Kinds, PoolAlloc};
//!
//! // An event is a struct, typed by its row. `telemetry::event!` makes it and records it.
//! let pool = String::from("a pool");
//! let event = PoolAlloc::new(&pool, 0x7f00_1000, 64usize);
//! assert_eq!(event.size, 64);
//! assert_eq!(PoolAlloc::CODE, 0x002A);
//!
//! // The list as data, in order of code.
//! let names: Vec<&str> = heap::REGISTRY.event_types.iter().map(|row| row.name).collect();
//! assert_eq!(names, ["PoolGlance", "PoolAlloc", "PoolInit"]);
//! let alloc = &heap::REGISTRY.event_types[1];
//! assert_eq!(alloc.doc, "Memory was handed out.");
//! assert_eq!(alloc.params[1].sort, Sort::A);
//!
//! // Which kinds are recorded: all of them, until somebody says otherwise.
//! assert!(heap::CONTROL.is_recorded((Kinds::Object | Kinds::Pool).bits()));
//! ```
//!
//! # A row
//!
//! ```text
//!  /// Memory was handed out.                  what it says: in the stream, and in rustdoc
//!  PoolAlloc(0x002A, sometimes, Object) {      name, code, variety, kind
//!      /// its size in bytes                   what the parameter says
//!      size: W,                                name and sort
//!  }
//! ```
//!
//! - The **code** is a number from 0001 to FEFF that the event type has for ever. A row that is no
//!   longer recorded is not deleted: `retired` is put before it, so that its code is not used again
//!   and old streams keep their meaning. Codes are scoped to their registry: several libraries do
//!   not clash.
//! - **always** rows are in every variety of a program; **sometimes** rows, those on the critical
//!   path, are left out of the hot one.
//! - The **kind** groups event types that are switched as one: one of the seven [standard
//!   kinds](Kinds), or of up to 64 of the registry's own.
//! - The **sort** of a parameter says what it is and which Rust types may stand for it:
//!
//! | sort | what | arguments ([`arg`](PointerArg)) | field |
//! |---|---|---|---|
//! | `P` | pointer to a structure | pointers, references, `NonNull`, `Option`s | [`P`](field::P) |
//! | `A` | address in memory that it manages | raw pointers, `NonNull`, `usize` | [`A`](field::A) |
//! | `W` | word: size, count, index | `usize`, `u8`, `u16`, `u32`, `u64` on 64 bits | `usize` |
//! | `U` | unsigned integer | `u8`, `u16`, `u32` | `u32` |
//! | `D` | double | `f64`, `f32` | `f64` |
//! | `B` | Boolean | `bool` | `bool` |
//! | `S` | string, the last parameter | references to `str`, `[u8]`, `String`, … | `&[u8]` |
//!
//! Sizes and offsets of the parameters are constants: [`Event::encode`] of three words is three
//! stores.
//!
//! # Laws
//!
//! The compiler refuses a list in which a code is used twice or reserved, a kind does not exist, a
//! name is used twice or too long, a parameter comes after a string, an event type is too large for
//! the smallest block, or a registry, kind, row or parameter has no doc string; and it says which
//! row it is:
//!
//! ```text
//! error: evaluation panicked: event type `PoolAlloc`: code 0x002A is already used by `PoolInit`
//! ```
//!
//! # For the runtime
//!
//! `event!` in `telemetry` hands its arguments to [`event_value!`], which makes the event in both
//! forms, `PoolAlloc, pool, addr, size` and `PoolAlloc { pool, addr, size: n }`: positional
//! arguments go to a function of the row, named ones through [`ToField`], which finds the sort by
//! the type of the field. Arguments are taken by reference, so that `self` may be one in a method
//! with `&mut self`. A retired row has a struct that is not an [`Event`], so that annotating it is
//! an error that says so.
//!
//! This crate has no unsafe code, allocates nothing and needs no standard library. Two registries
//! come with it: [`store`], the runtime's own, and [`mps`], that of the Memory Pool System 2.0.0.
#![no_std]
#![forbid(unsafe_code)]

mod arg;
#[doc(hidden)]
pub mod check;
mod control;
#[doc(hidden)]
pub mod doc;
mod event;
pub mod field;
mod kind;
pub mod layout;
mod macros;
pub mod mps;
mod registry;
mod row;
mod sort;
pub mod store;
mod text;

pub use arg::*;
pub use control::Control;
pub use event::{Event, ParamSink};
pub use kind::Kinds;
pub use registry::*;
#[doc(hidden)]
pub use row::Row;
pub use sort::Sort;

#[doc(hidden)]
pub use bitflags as __bitflags;
