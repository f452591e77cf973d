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

mod offered;
mod record;

cfg_if! { if #[cfg(recording)] {
mod block;
mod ends;
mod inspect;
#[cfg(test)]
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
pub use plinth::{
    FilePlinth, MappedPlinth, MemoryPlinth, Operation, Plinth, PlinthError, SocketPlinth, TeePlinth,
};
pub use record::control;
pub use record::fast_path::{is_recorded, prepare, record};
pub use record::setup::on_fatal_signals;
pub use record::strings::{intern, label, label_address};
pub use registry::registration::{REGISTRY_COUNT_MAX, SLOT_COUNT};
pub use rings::config::configure;
pub use rings::ring::BLOCK_COUNT_MAX;
pub use service::flush::{flush, losses, losses_of, store_losses};
pub use service::status::{
    ClockSource, LastError, RegistryStatus, Rings, Standing, Status, Writer, status,
};
pub use store::intern::STORE_BLOCK_COUNT_MAX;
pub use stream::set_plinth;
} else {
mod absent;

pub use absent::{
    configure, control, flush, intern, is_recorded, label, label_address, losses, losses_of,
    on_fatal_signals, prepare, record, store_losses, traceback,
};
use absent::{block, ends, os};
} }

pub use record::alloc;

#[doc(hidden)]
pub use eventdef as __eventdef;

pub use eventdef::{Control, Event, Kinds, events};
pub use offered::{BLOCK_SIZE_LOG2_DEFAULT, Config, ConfigError, Losses, Policy, StringId};
pub use record::variety::{VARIETY, Variety};
