//! The runtime where it cannot record: the same API, which does nothing.
//!
//! ```text
//!  event! ─▶ is_recorded: false ─▶ no code        setup, label, flush, control ─▶ nothing
//! ```
//!
//! Design: `.req.port` in `design/telemetry.md`.

use crate::offered::plinth::{DestinationError, Operation, Plinth, PlinthError};
use crate::offered::setup::{Setup, SetupError};
use crate::offered::{Losses, Moment, Source, StringId};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::AtomicUsize;
use eventdef::{Event, KindSet, TypedControl};
use std::ffi::OsStr;
use std::path::Path;

/// Returns whether events of this type are recorded now: never.
#[inline(always)]
pub fn is_recorded<E: Event>() -> bool {
    false
}

/// Records nothing.
#[inline(always)]
pub fn record<E: Event>(event: E) {
    let _ = event;
}

/// Records nothing.
#[inline(always)]
pub fn record_here<E: Event>(event: E) {
    let _ = event;
}

/// Counts nothing.
#[inline(always)]
pub fn discard<E: Event>() {}

/// Records nothing before a call.
#[inline(always)]
pub fn before<E: Event>(event: impl FnOnce() -> E) {
    let _ = event;
}

/// Records nothing after a call.
#[inline(always)]
pub fn after<E: Event>(event: impl FnOnce() -> E) {
    let _ = event;
}

/// Returns 0: no clock is read.
pub fn monotonic() -> u64 {
    0
}

/// Returns 0: no counter is read.
pub fn ticks() -> u64 {
    0
}

/// Waits for nothing.
pub fn wait_for_loads() {}

/// Names nothing.
pub fn naming<T>(
    _: impl FnOnce(&mut dyn FnMut(usize, &[u8], Source<'_>) -> bool) -> T,
) -> Option<T> {
    None
}

/// An observer that nothing tells.
#[derive(Debug)]
pub struct Observer(());

impl Observer {
    /// Makes an observer.
    #[must_use]
    pub const fn new(tell: fn(Moment)) -> Observer {
        let _ = tell;
        Observer(())
    }
}

/// Observes nothing.
pub fn observe(_: &'static Observer) {}

/// The right to record sums.
#[derive(Debug)]
pub struct Turn(());

/// Returns `None`: there are no sums to record.
pub fn try_turn() -> Option<Turn> {
    None
}

/// Returns `None`: no memory is mapped.
pub fn zeroed_words(count: usize) -> Option<&'static [AtomicUsize]> {
    let _ = count;
    None
}

/// Passes nothing on: no memory is mapped.
pub fn each_mapped(_: impl FnMut(usize, usize)) {}

/// Returns `None`: no memory is mapped.
pub fn place<T>(value: T) -> Option<&'static T> {
    let _ = value;
    None
}

/// Returns 0: threads have no numbers.
pub fn thread_number() -> usize {
    0
}

/// Returns true: the thread may exist.
pub fn is_thread(number: usize) -> bool {
    let _ = number;
    true
}

/// Returns false: nothing is told of the end of a thread.
pub fn expect_thread_end() -> bool {
    false
}

/// Writes nothing.
pub fn flush_some<K: KindSet>(control: &'static TypedControl<K>, kinds: K) {
    let _ = (control, kinds);
}

/// Does nothing.
pub fn rename_variables(_: &'static &'static [(&'static CStr, &'static CStr)]) {}

/// Passes no value of the environment.
pub fn with_environment<T>(name: &CStr, read: impl FnOnce(Option<&[u8]>) -> T) -> T {
    let _ = name;
    read(None)
}

/// Says nothing.
pub fn say(message: fmt::Arguments<'_>) {
    let _ = message;
}

/// Does the work.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Does the work.
pub fn uncancelled<T>(work: impl FnOnce() -> T) -> T {
    work()
}

impl Setup {
    /// Does nothing, and never fails.
    pub fn start(self) -> Result<(), SetupError> {
        Ok(())
    }
}

/// Prepares nothing.
pub fn prepare() {}

/// Writes nothing.
pub fn flush() {}

/// Adds nothing, and returns [`StringId::NONE`].
pub fn add_string(string: impl AsRef<[u8]>) -> StringId {
    let _ = string;
    StringId::NONE
}

/// Labels nothing.
pub fn label<T: ?Sized>(pointer: *const T, string: StringId) {
    let _ = (pointer, string);
}

/// Labels nothing.
pub fn label_address(address: usize, string: StringId) {
    let _ = (address, string);
}

/// Adds nothing.
pub fn source<T: ?Sized>(pointer: *const T, source: Source<'_>) {
    let _ = (pointer, source);
}

/// Returns zeros.
pub fn losses() -> Losses {
    Losses::default()
}

/// Returns zeros.
pub fn losses_of<K: KindSet>(control: &'static TypedControl<K>, kinds: K) -> Losses {
    let _ = (control, kinds);
    Losses::default()
}

/// Returns zeros.
pub fn store_losses() -> Losses {
    Losses::default()
}

/// Writes one line that says that nothing is recorded.
pub fn traceback(count: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    let _ = count;
    out.write_str("telemetry: recording is not supported on this platform\n")
}

/// Plinths that nothing is written to.
macro_rules! plinths {
    ($($plinth:ident)*) => {$(
        /// A plinth that nothing is written to.
        #[derive(Clone, Debug, Default)]
        pub struct $plinth(());

        impl Plinth for $plinth {
            fn create(&self, _: usize) -> Result<(), PlinthError> {
                Ok(())
            }

            fn write_block(&self, _: u64, _: &[u8]) -> Result<(), PlinthError> {
                Ok(())
            }

            fn can_rewrite(&self) -> bool {
                true
            }
        }
    )*};
}
plinths! { DirectoryPlinth FilePlinth MappedPlinth MemoryPlinth SocketPlinth TeePlinth }

impl DirectoryPlinth {
    /// Never fails.
    pub fn new(_path: impl AsRef<Path>) -> Result<DirectoryPlinth, DestinationError> {
        Ok(DirectoryPlinth::default())
    }

    /// Never fails.
    pub fn per_process(path: impl AsRef<Path>) -> Result<DirectoryPlinth, DestinationError> {
        DirectoryPlinth::new(path)
    }

    /// Never fails.
    pub fn files(self, _count: u32) -> Result<DirectoryPlinth, DestinationError> {
        Ok(self)
    }

    /// Never fails.
    pub fn bounded(self, _size: u64, _count: u32) -> Result<DirectoryPlinth, DestinationError> {
        Ok(self)
    }
}

impl FilePlinth {
    /// Never fails.
    pub fn new(_path: impl AsRef<Path>) -> Result<FilePlinth, DestinationError> {
        Ok(FilePlinth::default())
    }

    /// Never fails.
    pub fn per_process(path: impl AsRef<Path>) -> Result<FilePlinth, DestinationError> {
        FilePlinth::new(path)
    }

    /// Never fails.
    pub fn bounded(
        path: impl AsRef<Path>,
        size: u64,
        count: u32,
    ) -> Result<Self, DestinationError> {
        let _ = (size, count);
        FilePlinth::new(path)
    }
}

impl MappedPlinth {
    /// Never fails.
    pub fn new(_path: impl AsRef<Path>, _size: u64) -> Result<MappedPlinth, DestinationError> {
        Ok(MappedPlinth::default())
    }

    /// Never fails.
    pub fn per_process(path: impl AsRef<Path>, size: u64) -> Result<Self, DestinationError> {
        MappedPlinth::new(path, size)
    }

    /// Returns the same.
    #[must_use]
    pub fn keeping(self) -> MappedPlinth {
        self
    }
}

impl MemoryPlinth {
    /// Returns a plinth whose stream stays empty.
    pub fn new() -> MemoryPlinth {
        MemoryPlinth::default()
    }

    /// Returns no bytes.
    pub fn bytes(&self) -> Vec<u8> {
        Vec::new()
    }
}

impl SocketPlinth {
    /// Never fails.
    pub fn new(address: impl AsRef<OsStr>) -> Result<SocketPlinth, DestinationError> {
        let _ = address;
        Ok(SocketPlinth::default())
    }
}

impl TeePlinth {
    /// Never fails.
    pub fn new(
        plinths: impl IntoIterator<Item = Box<dyn Plinth>>,
    ) -> Result<TeePlinth, DestinationError> {
        plinths.into_iter().for_each(drop);
        Ok(TeePlinth::default())
    }
}

impl core::error::Error for PlinthError {}

impl fmt::Display for PlinthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation::Write = self.operation else {
            return write!(f, "cannot create (os error {})", self.errno);
        };
        write!(f, "cannot write (os error {})", self.errno)
    }
}

/// What is recorded and output: nothing, whatever is switched.
pub mod control {
    use crate::offered::Policy;
    use core::ffi::CStr;
    use core::marker::PhantomData;
    use eventdef::{KindSet, TypedControl};

    /// The environment variable with the kinds that are output, where recording is supported.
    pub const CONTROL_VARIABLE: &CStr = c"MPS_TELEMETRY_CONTROL";
    /// The environment variable with the name of the log, where recording is supported.
    pub const FILENAME_VARIABLE: &CStr = c"MPS_TELEMETRY_FILENAME";
    /// The default name of the log.
    pub const FILENAME_DEFAULT: &str = "mpsio.log";

    /// Functions of all registries.
    macro_rules! everywhere {
        ($($get:ident $set:ident $reset:ident)*) => {$(
            /// Returns no kinds.
            pub fn $get() -> u64 {
                0
            }

            /// Switches nothing.
            pub fn $set(kinds: impl Into<u64>) {
                let _ = kinds.into();
            }

            /// Switches nothing.
            pub fn $reset(kinds: impl Into<u64>) {
                let _ = kinds.into();
            }
        )*};
    }
    everywhere! {
        output_everywhere set_output_everywhere reset_output_everywhere
        recorded_everywhere set_recorded_everywhere reset_recorded_everywhere
    }

    /// Returns the control of one registry.
    pub fn of<K: KindSet>(control: &'static TypedControl<K>) -> RegistryControl<K> {
        let _ = control;
        RegistryControl(PhantomData)
    }

    /// What is recorded and output of one registry: nothing.
    #[derive(Clone, Copy, Debug)]
    pub struct RegistryControl<K: KindSet>(PhantomData<fn(K)>);

    /// Functions of one registry.
    macro_rules! one {
        ($($get:ident $set:ident $reset:ident)*) => {$(
            /// Returns no kinds.
            pub fn $get(self) -> K {
                K::empty()
            }

            /// Switches nothing.
            pub fn $set(self, kinds: K) {
                let _ = kinds;
            }

            /// Switches nothing.
            pub fn $reset(self, kinds: K) {
                let _ = kinds;
            }
        )*};
    }

    impl<K: KindSet> RegistryControl<K> {
        one! { output set_output reset_output  recorded set_recorded reset_recorded }

        /// Switches nothing.
        pub fn record_while_output(self, kinds: K) {
            let _ = kinds;
        }

        /// Chooses nothing.
        pub fn set_policy(self, kinds: K, policy: Policy) {
            let _ = (kinds, policy);
        }
    }
}
