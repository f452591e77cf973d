//! The registry of the event log: a program declares its event types in one list.
//!
//! ```
//! mod heap {
//!     eventdef::events! {
//!         /// The events of a heap.
//!         registry "heap" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// A pool was created.
//!         PoolInit(0x002D, always, Pool) {
//!             /// the pool
//!             pool: P,
//!         }
//!         /// Memory was handed out.
//!         PoolAlloc(0x002A, sometimes, Object) {
//!             /// the pool
//!             pool: P,
//!             /// the memory
//!             addr: A,
//!             /// its size in bytes
//!             size: W,
//!         }
//!         /// The program looked at a pool, in versions before 1.0.
//!         retired PoolGlance(0x0007, sometimes, Pool) {}
//!     }
//! }
//! use eventdef::{Event, Sort};
//! use heap::{Kinds, PoolAlloc};
//!
//! // An event is a struct, typed by its row. `telemetry::event!` makes it and records it.
//! let pool = String::from("a pool");
//! let event = PoolAlloc::new(&pool, 0x7f00_1000, 64usize);
//! assert_eq!((event.size, PoolAlloc::CODE), (64, 0x002A));
//!
//! // The list as data, in order of code.
//! let names: Vec<&str> = heap::REGISTRY.event_types.iter().map(|row| row.name).collect();
//! assert_eq!(names, ["PoolGlance", "PoolAlloc", "PoolInit"]);
//! assert_eq!(heap::REGISTRY.event_types[1].doc, "Memory was handed out.");
//! assert_eq!(heap::REGISTRY.event_types[1].params[1].sort, Sort::A);
//!
//! // By default all kinds are recorded.
//! assert!(heap::CONTROL.is_recorded((Kinds::Object | Kinds::Pool).bits()));
//! ```
//! ```text
//!  events! { … }  ──▶ struct PoolAlloc { pool, addr, size }   what an annotation makes
//!   one list      ──▶ REGISTRY   names, codes, sorts, docs    what a reader decodes by
//!                 ──▶ Kinds, CONTROL                          what is switched on and off
//!                 ──▶ compile errors                          where the list breaks a law
//! ```
//!
//! A log carries the list, so any tool can read it years later, even one that never saw the
//! program. A new event type is one more row and no other edit.
//!
//! The crate needs Rust 1.91 and words of at least 32 bits, and no standard library. It has no
//! unsafe code and no features. Two registries come with it: [`store`] of the runtime, and [`mps`].
//!
//! # A row
//!
//! - The **code** is a number from 0001 to FEFF that the event type keeps for ever. A program that
//!   no longer records a row does not delete it, but puts `retired` before it: so nobody uses its
//!   code again, and old logs keep their meaning. Each registry has its own codes.
//! - **always** rows are in every variety of a program. **sometimes** rows, those on the critical
//!   path, are not in the hot variety.
//! - `coarse` before a row lets its events repeat the time that their thread read last, which costs
//!   a third of a reading of the clock. The log says so. It is for the most frequent events.
//! - The **kind** groups event types that are switched together: one of the seven [standard
//!   kinds](Kinds), or of up to 64 kinds of the registry.
//! - The **sort** of a parameter decides which Rust types it accepts:
//!
//! | sort | meaning | arguments | field |
//! |---|---|---|---|
//! | `P` | pointer to a structure | [`PointerArg`]: pointers, references | [`P`](field::P) |
//! | `A` | address in managed memory | [`AddressArg`]: pointers, `usize` | [`A`](field::A) |
//! | `W` | word: size, count, index | [`WordArg`]: `usize` and smaller integers | `usize` |
//! | `U` | unsigned integer | [`UnsignedArg`]: `u8`, `u16`, `u32` | `u32` |
//! | `D` | double | [`DoubleArg`]: `f64`, `f32` | `f64` |
//! | `B` | Boolean | [`BooleanArg`]: `bool` | `bool` |
//! | `S` | string, the last parameter | [`StringArg`]: references to `str`, `[u8]`, … | `&[u8]` |
//!
//! # Marks: slices, spans, counters, units
//!
//! A reader pairs events by the names of their types: `JobBegin` and `JobEnd` (also `JobEnter`,
//! `JobLeave`) are a slice, work of a thread; `FileOpen` and `FileClose` (also `FileStart`,
//! `FileStop`; `FileCreate`, `FileDestroy`) are a span, the life of a thing in any threads. A doc
//! string declares other pairs, and names, values over time, and units:
//!
//! ```
//! mod jobs {
//!     eventdef::events! {
//!         /// The jobs of a program.
//!         registry "jobs" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// A job began. [slice Taken=Done:job] [name title] [counter running += 1]
//!         Taken(0x0001, always, Object) {
//!             /// the job
//!             job: P,
//!             /// its title
//!             title: S,
//!         }
//!         /// A job is done. [counter running -= 1]
//!         /// [counter written += bytes:disk] [unit bytes bytes] [unit ns waited]
//!         Done(0x0002, always, Object) {
//!             /// the job
//!             job: P,
//!             /// the disk that it wrote to
//!             disk: U,
//!             /// how much it wrote
//!             bytes: W,
//!             /// how long it waited for the disk, in ns
//!             waited: W,
//!         }
//!     }
//! }
//! # use eventdef::marks::{Mark, Unit, in_doc};
//! # let marks: Vec<_> = in_doc(jobs::REGISTRY.event_types[1].doc).collect();
//! # let units = [Mark::Unit(Unit::Bytes, "bytes"), Mark::Unit(Unit::Ns, "waited")];
//! # assert_eq!(marks[2..], units.map(Ok));
//! ```
//!
//! | in a doc string | meaning |
//! |---|---|
//! | `[slice A=B:key]` | a slice from an A to the B with the same parameter `key` |
//! | `[span A=B:key]` | a span, in whatever thread it ends |
//! | `[flow A=B:key]` | an arrow from an A to the next B |
//! | `[name p]` | on the type that begins a slice or span: p, or its label, names it |
//! | `[counter n += p:key]` | for each `key` a counter n: the event adds p to it, or the number 1 |
//! | `[counter n -= p:key]` | the event subtracts p from it, or the number 1 |
//! | `[counter n = p:key]` | p is its value from now on, or the number 0 |
//! | `[counter A.p-B.q:key]` | a counter: the sum of p of all A, less that of q of all B |
//! | `[unit bytes p]` | p is a number of bytes; also `ns`, and `count` for things |
//!
//! Up to four keys stand behind the colon, with commas. Without keys, two events belong together if
//! all pointers and addresses that they share are equal. All rows that name a counter change the
//! same one; without a key, there is one for each value of another parameter that is called like
//! it: `[counter pool += size]`. Counters appear in the pages, tables and exports of `eventcnv`.
//!
//! # Laws
//!
//! The compiler refuses a list that breaks a law, and names the row: a code that is used twice or
//! reserved, a kind that does not exist, a name that is used twice or too long, a parameter after a
//! string, an event type too large for the smallest block, a missing doc string, a mark that names
//! no parameter.
//!
//! ```text
//! error: evaluation panicked: event type `PoolAlloc`: code 0x002A is already used by `PoolInit`
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]

mod arg;
#[doc(hidden)]
pub mod check;
mod control;
#[doc(hidden)]
pub mod doc;
mod event;
pub mod field;
pub mod layout;
mod macros;
pub mod marks;
pub mod mps;
pub mod path;
mod registry;
mod row;
mod sort;
pub mod store;
mod text;

pub use arg::*;
pub use control::{Control, KindSet, TypedControl};
pub use event::{Event, ParamSink};
pub use registry::*;
#[doc(hidden)]
pub use row::Row;
pub use sort::Sort;

#[doc(hidden)]
pub use bitflags as __bitflags;
