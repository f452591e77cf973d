//! The runtime of the event log: records events into blocks in memory, and puts those into a
//! stream.
//!
//! ```text
//!  event! ─▶ record ─▶ ring of this thread and kind ─▶ stream ─▶ plinth
//!            fast path   blocks in memory              places    file · socket · your own
//! ```
//!
//! Declare event types with [`events!`], annotate with [`event!`], run with
//! `MPS_TELEMETRY_CONTROL="Pool Arena"`, and read `mpsio.log` with `eventcnv`. Recording takes no
//! lock, makes no allocation and no system call, but to create a buffer and to hand over a full
//! block.
//!
//! The environment is read with `getenv`, at the first event of each registry. A program that
//! changes its environment (`std::env::set_var`, which is unsafe for such reasons) does so before,
//! or while no other thread can come to a first event.
//!
//! Recording takes a Unix with 64-bit atomics. Elsewhere (Windows, WebAssembly) annotations are
//! type-checked and compile to nothing, which one line says when this crate is built: so a library
//! that is annotated builds everywhere. There, too, is what a library calls; what only a host needs
//! (plinths, `status`, `postmortem`) is not.
//!
//! Design: `design/telemetry.md`; the bytes: `design/format.md`.

/// Either of two lists of items, by what the platform has. By this name rustfmt finds the modules.
macro_rules! cfg_if {
    (if #[cfg($is:meta)] { $($there:item)* } else { $($absent:item)* }) => {
        $(#[cfg($is)] $there)*
        $(#[cfg(not($is))] $absent)*
    };
}

pub mod alloc;
mod annotation;
mod offered;
mod variety;

cfg_if! { if #[cfg(recording)] {
mod account;
mod atomic;
mod chain;
mod clock;
mod coming;
mod config;
mod connection;
pub mod control;
mod crash;
mod debug;
mod destination;
mod flush;
mod fork;
mod gate;
mod gdb;
mod history;
mod host;
mod identity;
mod inheritance;
mod intern;
#[cfg(test)]
mod interruptions;
mod later;
mod link;
mod local;
mod losses;
mod memory;
mod names;
mod outlet;
mod parts;
mod pending;
mod pieces;
mod plinth;
mod policy;
mod pools;
pub mod postmortem;
mod process;
mod record;
mod region;
mod registration;
mod report;
mod request;
mod ring;
mod root;
mod service;
mod signal;
mod sockets;
mod stack;
mod state;
mod status;
mod stream;
mod sync;
mod sys;
mod text;
mod thread;
mod traceback;
mod volume;
mod waiting;
mod words;
mod writer;

pub use config::configure;
pub use crash::on_fatal_signals;
pub use flush::{flush, losses, losses_of, store_losses};
pub use intern::{STORE_BLOCK_COUNT_MAX, intern, label, label_address};
pub use plinth::{
    FilePlinth, MappedPlinth, MemoryPlinth, Operation, Plinth, PlinthError, SocketPlinth, TeePlinth,
};
pub use postmortem::postmortem;
pub use record::{is_recorded, prepare, record};
pub use registration::REGISTRY_COUNT_MAX;
pub use ring::BLOCK_COUNT_MAX;
pub use status::{ClockSource, LastError, RegistryStatus, Rings, Standing, Status, Writer, status};
pub use stream::set_plinth;
pub use thread::SLOT_COUNT;
pub use traceback::{TRACEBACK_COUNT_MAX, traceback};
} else {
mod absent;

pub use absent::{
    configure, control, flush, intern, is_recorded, label, label_address, losses, losses_of,
    on_fatal_signals, prepare, record, store_losses, traceback,
};
use absent::{clock, crash, sync, sys};
} }

#[doc(hidden)]
pub use eventdef as __eventdef;

pub use eventdef::{Control, Event, Kinds, events};
pub use offered::{BLOCK_SIZE_LOG2_DEFAULT, Config, ConfigError, Losses, Policy, StringId};
pub use variety::{VARIETY, Variety};
