//! The runtime where it cannot record: what a library calls, which does nothing.
//!
//! ```text
//!  event! ─▶ is_recorded: false ─▶ no code        intern, label, flush, control ─▶ nothing
//! ```
//!
//! Design: `.req.port` in `design/telemetry.md`.

use crate::offered::{Config, ConfigError, Losses, StringId};
use core::fmt;
use eventdef::{Control, Event};

/// Whether events of this type are recorded now: never.
#[inline(always)]
pub fn is_recorded<E: Event>() -> bool {
    false
}

/// Records no event.
#[inline(always)]
pub fn record<E: Event>(event: E) {
    let _ = event;
}

/// Has nothing to prepare.
pub fn prepare() {}

/// Brings out nothing.
pub fn flush() {}

/// Chooses nothing.
pub fn configure(config: Config) -> Result<(), ConfigError> {
    let _ = config;
    Ok(())
}

/// Watches no signal.
pub fn on_fatal_signals() {}

/// Gives no number: [`StringId::NONE`].
pub fn intern(string: impl AsRef<[u8]>) -> StringId {
    let _ = string;
    StringId::NONE
}

/// Labels nothing.
pub fn label<T: ?Sized>(what: *const T, string: StringId) {
    let _ = (what, string);
}

/// Labels nothing.
pub fn label_address(address: usize, string: StringId) {
    let _ = (address, string);
}

/// What was requested and lost: nothing.
pub fn losses() -> Losses {
    Losses::default()
}

/// The same of the kinds of one registry.
pub fn losses_of(control: &'static Control, kinds: impl Into<u64>) -> Losses {
    let _ = (control, kinds.into());
    Losses::default()
}

/// The same of the store.
pub fn store_losses() -> Losses {
    Losses::default()
}

/// Shows no events.
pub fn traceback(count: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    let _ = count;
    out.write_str("telemetry: recording is not supported on this platform\n")
}

/// What is recorded and output: nothing, whatever is switched.
pub mod control {
    use crate::offered::Policy;
    use core::ffi::CStr;
    use eventdef::Control;

    /// The environment variable with the kinds that are output, where recording is supported.
    pub const CONTROL_VARIABLE: &CStr = c"MPS_TELEMETRY_CONTROL";
    /// The environment variable with the name of the log, where recording is supported.
    pub const FILENAME_VARIABLE: &CStr = c"MPS_TELEMETRY_FILENAME";
    /// The name of the log without it.
    pub const FILENAME_DEFAULT: &str = "mpsio.log";

    /// No kinds.
    pub fn output_everywhere() -> u64 {
        0
    }

    /// Switches nothing.
    pub fn set_output_everywhere(kinds: impl Into<u64>) {
        let _ = kinds.into();
    }

    /// Switches nothing.
    pub fn reset_output_everywhere(kinds: impl Into<u64>) {
        let _ = kinds.into();
    }

    /// No kinds.
    pub fn recorded_everywhere() -> u64 {
        0
    }

    /// Switches nothing.
    pub fn set_recorded_everywhere(kinds: impl Into<u64>) {
        let _ = kinds.into();
    }

    /// Switches nothing.
    pub fn reset_recorded_everywhere(kinds: impl Into<u64>) {
        let _ = kinds.into();
    }

    /// The control of one registry.
    pub fn of(control: &'static Control) -> RegistryControl {
        let _ = control;
        RegistryControl(())
    }

    /// What is recorded and output of one registry: nothing.
    #[derive(Clone, Copy, Debug)]
    pub struct RegistryControl(());

    impl RegistryControl {
        /// No kinds.
        pub fn output(self) -> u64 {
            0
        }

        /// Switches nothing.
        pub fn set_output(self, kinds: impl Into<u64>) {
            let _ = kinds.into();
        }

        /// Switches nothing.
        pub fn reset_output(self, kinds: impl Into<u64>) {
            let _ = kinds.into();
        }

        /// No kinds.
        pub fn recorded(self) -> u64 {
            0
        }

        /// Switches nothing.
        pub fn set_recorded(self, kinds: impl Into<u64>) {
            let _ = kinds.into();
        }

        /// Switches nothing.
        pub fn reset_recorded(self, kinds: impl Into<u64>) {
            let _ = kinds.into();
        }

        /// Chooses nothing.
        pub fn set_policy(self, kinds: impl Into<u64>, policy: Policy) {
            let _ = (kinds.into(), policy);
        }
    }
}

/// What [`alloc`](crate::alloc) asks for where it records.
pub(crate) mod block {
    pub(crate) mod clock {
        pub(crate) fn wait_for_loads() {}
    }
}

pub(crate) mod ends {
    pub(crate) mod crash {
        pub(crate) fn note_allocator() {}
    }
}

pub(crate) mod os {
    pub(crate) mod sync {
        pub(crate) fn without_unwinding(what: impl FnOnce()) {
            what();
        }
    }

    pub(crate) mod sys {
        pub(crate) struct Uncancelled;

        impl Uncancelled {
            pub(crate) fn begin() -> Uncancelled {
                Uncancelled
            }
        }
    }
}
