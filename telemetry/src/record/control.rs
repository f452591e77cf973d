//! Switches kinds on and off, for the program.
//!
//! ```text
//!  MPS_TELEMETRY_CONTROL ─▶ output of every registry, when it is registered
//!  control::of(&CONTROL) ─▶ masks of one registry: set_output, reset_output, …
//!  …_everywhere          ─▶ masks of every registry, now and later, by the index of the kind
//! ```
//!
//! Begin with [`of`]: a kind belongs to a registry. The functions *everywhere* take bits. A bit
//! means the same kind in all registries with the standard kinds, and otherwise the kind of that
//! index.
//!
//! Design: `.control` in `design/telemetry.md`.

use crate::os::entry::Entry;
use crate::record::setup;
use eventdef::{KindSet, TypedControl};

pub use crate::plinth::host::{FILENAME_DEFAULT, FILENAME_VARIABLE};
pub use crate::service::control::{
    CONTROL_VARIABLE, RegistryControl, recorded_everywhere, reset_output_everywhere,
    reset_recorded_everywhere, set_output_everywhere, set_recorded_everywhere,
};

pub use crate::service::mask_changes::output_everywhere;

/// Returns the masks of the registry with this `CONTROL`, which registers now if it is new.
///
/// ```
/// telemetry::events! {
///     /// The events of a heap.
///     registry "heap" version(1, 0, 0);
///     kinds standard;
///
///     /// Memory was handed out.
///     Allocate(0x0001, always, Object) {
///         /// its size in bytes
///         size: W,
///     }
/// }
/// # telemetry::setup().plinth(telemetry::MemoryPlinth::new()).start().unwrap();
/// let kinds = telemetry::control::of(&CONTROL);
/// kinds.set_output(telemetry::Kinds::Object);
/// telemetry::event!(Allocate, 16usize);
/// kinds.reset_output(telemetry::Kinds::Object);
/// ```
pub fn of<K: KindSet>(control: &'static TypedControl<K>) -> RegistryControl<K> {
    setup::register(&Entry::new(), control);
    RegistryControl::new(control)
}
