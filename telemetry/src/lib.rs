//! The runtime of the event log: a flight recorder for systems software that stays on in
//! production.
//!
//! ```
//! mod shop {
//!     telemetry::events! {
//!         /// What happens in a shop.
//!         registry "shop" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// A customer bought something.
//!         Sold(0x0001, always, Object) {
//!             /// the number of pieces
//!             count: W,
//!             /// the name of the article
//!             article: S,
//!         }
//!     }
//! }
//!
//! # let path = std::env::temp_dir().join("telemetry-example.log");
//! # #[cfg(any())]
//! let path = "shop.log";
//! telemetry::setup().plinth(telemetry::FilePlinth::new(&path)?).start()?;
//! telemetry::control::of(&shop::CONTROL).set_output(shop::Kinds::Object);
//!
//! telemetry::event!(shop::Sold, 3usize, "apples");
//! telemetry::flush();
//! # assert!(std::fs::read(&path)?.starts_with(b"\xD5EVL"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `eventcnv shop.log` prints the log; the log explains itself, even to a tool that never saw the
//! program. Without a [`setup`](setup()) the environment decides: `MPS_TELEMETRY_CONTROL=Object`
//! writes the events of one kind to `mpsio.log`.
//!
//! ```text
//!  event! ─▶ record ─▶ ring of this thread and kind ─▶ stream ─▶ plinth
//!            fast path   blocks in memory              places    file · socket · your own
//! ```
//!
//! Recording takes no lock and allocates nothing. It makes a system call only to create a buffer
//! and to hand over a full block. Recording never fails: [`losses`] counts each event that is lost.
//!
//! # Marks: slices, spans, counters, units
//!
//! `eventcnv` pairs events by the names of their types: `JobBegin` and `JobEnd` are a slice, work
//! of a thread; `FileOpen` and `FileClose` are a span, the life of a thing. A doc string declares
//! other pairs, `[slice Taken=Done:job]`, and `[name title]`, the parameter that names a slice. It
//! also declares values over time and units, and costs nothing when events are recorded:
//!
//! ```
//! mod heap {
//!     telemetry::events! {
//!         /// A heap.
//!         registry "heap" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// Memory was handed out. [counter live += size:pool] [unit bytes size]
//!         Alloc(0x0001, always, Object) {
//!             /// the pool
//!             pool: P,
//!             /// how much
//!             size: W,
//!         }
//!         /// Memory was given back. [counter live -= size:pool] [unit bytes size]
//!         Free(0x0002, always, Object) {
//!             /// the pool
//!             pool: P,
//!             /// how much
//!             size: W,
//!         }
//!     }
//! }
//! # let pool = String::from("a pool");
//! telemetry::event!(heap::Alloc, &pool, 64usize);
//! telemetry::event!(heap::Free, &pool, 64usize);
//! ```
//!
//! The live bytes of each pool are then a chart on the page, a track in Perfetto, and rows of the
//! table `counters` of `eventcnv query`. The compiler refuses a mark that names no parameter. The
//! documentation of `eventdef`, which has the macro [`events!`], lists all marks.
//!
//! # Platforms
//!
//! The runtime records on a Unix with 64-bit atomics. All tests run on Linux on x86-64; many of
//! them run for AArch64, s390x and 32-bit ARM, under an emulator. macOS, FreeBSD and Linux on
//! 32-bit x86 compile. On other platforms (Windows, WebAssembly) the same API compiles to nothing,
//! and one line of the build reports that: an annotated library builds everywhere. Only
//! [`status`], [`postmortem`](postmortem()) and their types are missing there.
//!
//! The least Rust version is 1.91.
//!
//! # Features
//!
//! The *variety* of a build says which annotations are compiled in: see [`VARIETY`].
//!
//! - `cool`: all annotations. The default with debug assertions.
//! - `hot`: the annotations whose event type is *always*. The default otherwise.
//! - `rash`: no annotations.
//!
//! # Environment
//!
//! The runtime reads the environment with `getenv`, at the first event of each registry. A program
//! that changes its environment (`std::env::set_var`) does so before, or while no other thread can
//! record its first event.
//!
//! Design: `design/telemetry.md`; the bytes: `design/format.md`.
#![deny(missing_debug_implementations)]

/// One of two lists of items, by the platform. rustfmt finds modules in a macro of this name.
macro_rules! cfg_if {
    (if #[cfg($is:meta)] { $($there:item)* } else { $($absent:item)* }) => {
        $(#[cfg($is)] $there)*
        $(#[cfg(not($is))] $absent)*
    };
}

mod offered;
mod record;

cfg_if! { if #[cfg(recording)] {
mod block;
mod ends;
mod inspect;
#[cfg(test)]
#[path = "../tests/interruptions/mod.rs"]
mod interruptions;
mod os;
mod plinth;
mod registry;
mod rings;
mod service;
mod store;
mod stream;

pub use inspect::postmortem::{self, postmortem};
pub use inspect::traceback::{TRACEBACK_COUNT_MAX, traceback};
pub use plinth::{DirectoryPlinth, FilePlinth, MappedPlinth, MemoryPlinth, SocketPlinth, TeePlinth};
pub use record::control;
pub use record::setup::prepare;
pub use record::strings::{add_string, label, label_address, source};
pub use registry::registration::REGISTRY_COUNT_MAX;
pub use service::flush::{flush, losses, losses_of, store_losses};
pub use service::status::{
    ClockSource, LastError, RegistryStatus, Rings, Standing, Status, Writer, status,
};
pub use store::intern::STORE_BLOCK_COUNT_MAX;
} else {
mod absent;

pub use absent::{
    DirectoryPlinth, FilePlinth, MappedPlinth, MemoryPlinth, SocketPlinth, TeePlinth, add_string,
    control, flush, label, label_address, losses, losses_of, prepare, source, store_losses,
    traceback,
};
} }

pub use record::alloc;

pub use eventdef::{Control, Event, KindSet, Kinds, TypedControl, events};
pub use offered::plinth::{DestinationError, Operation, Plinth, PlinthError};
pub use offered::setup::{Setup, SetupError, setup};
pub use offered::{BLOCK_COUNT_MAX, Losses, Policy, Source, StringId};
pub use record::annotation::{VARIETY, Variety};

/// The code behind [`event!`], behind the library that `replay` records with, and behind `calls`.
/// Not an API: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::offered::Moment;
    pub use crate::record::around::{
        Observer, Turn, after, before, each_mapped, expect_thread_end, flush_some, is_thread,
        monotonic, naming, observe, place, rename_variables, say, thread_number, ticks, try_turn,
        uncancelled, wait_for_loads, with_environment, without_signals, zeroed_words,
    };
    pub use crate::record::fast_path::{discard, is_recorded, record, record_here};
    pub use eventdef;

    /// Whether anything can be recorded in this build.
    pub const IS_RECORDING: bool =
        cfg!(recording) && !matches!(crate::VARIETY, crate::Variety::Rash);
}
