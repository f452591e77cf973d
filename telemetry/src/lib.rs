//! The runtime of the event log: a flight recorder for systems software that stays on in
//! production.
//!
//! # Declare, record, look
//!
//! A program declares its event types in one list, and records events by [`event!`]:
//!
//! ```
//! mod jobs {
//!     telemetry::events! {
//!         /// A work queue.
//!         registry "jobs" version(1, 0, 0);
//!         kinds standard;
//!
//!         /// A worker begins a job. [name title] [counter queue = length]
//!         JobBegin(0x0001, always, User) {
//!             /// its number
//!             job: W,
//!             /// the jobs that still wait
//!             length: W,
//!             /// its title
//!             title: S,
//!         }
//!         /// The job is done. [counter written += size] [unit bytes size]
//!         JobEnd(0x0002, always, User) {
//!             /// its number
//!             job: W,
//!             /// what it wrote
//!             size: W,
//!         }
//!     }
//! }
//! use jobs::{JobBegin, JobEnd};
//!
//! for job in 0..3usize {
//!     telemetry::event!(JobBegin, job, 2 - job, "report");
//!     telemetry::event!(JobEnd, job, 4096usize);
//! }
//! # assert_eq!(jobs::REGISTRY.event_types.len(), 2);
//! ```
//!
//! This records into memory, at about the cost of reading the clock. The environment chooses the
//! kinds that go to a log, here `MPS_TELEMETRY_CONTROL=User ./program`, and `eventcnv` reads it:
//!
//! ```text
//!  eventcnv          the events, one a line       eventcnv report    a page for a browser
//!  eventcnv pairs    how long each job took       eventcnv stats     counts, and what was lost
//! ```
//!
//! The log explains itself, even to a tool that never saw the program: it carries the list, with
//! the documentation of each event type and parameter. `docs/guide.md` of the repository goes on
//! from here: measure, draw, compare two runs, look into a core.
//!
//! # Declare: what a row says
//!
//! - `JobBegin` and `JobEnd` are a *slice*, work of a thread, by their names; so are `XEnter` and
//!   `XLeave`. `FileOpen` and `FileClose` are a *span*, the life of a thing in any threads. A mark
//!   in a doc string declares another pair: `[slice Taken=Done:job]`, `[span Queued=Done:job]`.
//! - `[name title]` names the slice. `[counter queue = length]`, `[counter live += size]` and
//!   `[counter live -= size]` declare a value over time: a chart on the page, a track in Perfetto,
//!   rows of the table `counters` of `eventcnv query`. With `:pool` at its end it is one for each
//!   value of `pool`.
//! - `[unit bytes size]` is the unit of a parameter and of its counters: `bytes`, `ns` or `count`.
//!   Marks cost nothing when events are recorded, and a wrong one is a compile error.
//! - The kind, here `User`, groups what is switched on and off together. `sometimes` in place of
//!   `always` leaves a row out of release builds.
//!
//! The documentation of `eventdef`, which has the macro [`events!`], has the sorts of parameters,
//! all marks and the laws of a list.
//!
//! # Record: where events go
//!
//! A program can decide what the environment decides otherwise:
//!
//! ```
//! # mod jobs {
//! #     telemetry::events! {
//! #         /// A work queue.
//! #         registry "queue" version(1, 0, 0);
//! #         kinds standard;
//! #         /// A job is done.
//! #         JobDone(0x0001, always, User) {
//! #             /// its number
//! #             job: W,
//! #         }
//! #     }
//! # }
//! # let path = std::env::temp_dir().join("telemetry-example.log");
//! # #[cfg(any())]
//! let path = "jobs.log";
//! telemetry::setup().plinth(telemetry::FilePlinth::new(&path)?).start()?;
//! telemetry::control::of(&jobs::CONTROL).set_output(jobs::Kinds::User);
//!
//! telemetry::event!(jobs::JobDone, 1usize);
//! telemetry::flush();
//! # assert!(std::fs::read(&path)?.starts_with(b"\xD5EVL"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//!  event! ─▶ record ─▶ ring of this thread and kind ─▶ stream ─▶ plinth
//!            fast path   blocks in memory              places    file · socket · your own
//! ```
//!
//! Recording takes no lock and allocates nothing. It makes a system call only to create a buffer
//! and to hand over a full block. Recording never fails: [`losses`] counts each event that is lost.
//!
//! # After a crash
//!
//! Events of all kinds are in memory, even where no log was written: `eventcnv core` prints them
//! from a core, and a command of gdb from a process that hangs. A [`MappedPlinth`] keeps the newest
//! events in a file through any end of the program.
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
