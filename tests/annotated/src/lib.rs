//! A library that is annotated, as any may be: it builds on every platform, whether that can record
//! or not.
//!
//! ```text
//!  .ci/cross ─▶ cargo check --target Windows, WebAssembly, macOS, FreeBSD, 32-bit Arm, …
//! ```
//!
//! Design: `.req.port` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use telemetry::alloc::Recorder;
use telemetry::{FilePlinth, MappedPlinth, MemoryPlinth, Policy, SocketPlinth, TeePlinth, event};

mod events {
    telemetry::events! {
        /// What a cache does.
        registry "cache" version(1, 0, 0);
        kinds standard;

        /// Something was looked up.
        Lookup(0x0001, always, Object) {
            /// the cache
            cache: P,
            /// the key
            key: W,
            /// whether the cache had it
            is_hit: B,
            /// what for
            purpose: S,
        }
        /// The cache has grown.
        Growth(0x0002, sometimes, Pool) {
            /// how full it was
            fraction: D,
        }
    }
}

/// What a program may make its global allocator.
pub const RECORDER: Recorder = Recorder::new();

/// Functions whose calls are recorded.
#[calls::traced]
pub mod traced {
    use super::Cache;

    /// Returns whether a cache is empty.
    pub fn is_empty(cache: &Cache) -> bool {
        cache.keys.is_empty()
    }

    /// Returns the number of keys, later.
    pub async fn count(cache: &Cache) -> usize {
        cache.keys.len()
    }

    /// Starts and ends the recording of calls.
    pub fn release(arguments: &mut Vec<std::ffi::OsString>) {
        let released = calls::release(arguments);
        released.tick();
        println!("{:?}", released.path());
        calls::switch(std::ptr::null::<u8>(), calls::Current::default());
    }
}

/// A cache of keys.
#[derive(Debug, Default)]
pub struct Cache {
    keys: Vec<usize>,
}

impl Cache {
    /// An empty cache, which is called so in the log.
    pub fn new(name: &str) -> Box<Cache> {
        telemetry::prepare();
        let cache = Box::new(Cache::default());
        telemetry::label(&raw const *cache, telemetry::add_string(name));
        let control = telemetry::control::of(&events::CONTROL);
        control.set_policy(events::Kinds::Object, Policy::Discard);
        control.set_output(events::Kinds::Object);
        cache
    }

    /// Returns whether a key is known, and adds it.
    pub fn look_up(&mut self, key: usize, purpose: &str) -> bool {
        let is_hit = self.keys.contains(&key);
        event!(events::Lookup, self, key, is_hit, purpose);
        if !is_hit {
            event!(events::Growth { fraction: self.keys.len() as f64 / 64.0 });
            self.keys.push(key);
        }
        is_hit
    }
}

/// Sets the recording up, as a program does.
///
/// # Errors
///
/// Fails where a setting is invalid or comes too late.
pub fn set_up() -> Result<(), Box<dyn std::error::Error>> {
    let ring = MappedPlinth::new("cache.ring", 1 << 20)?;
    let socket = SocketPlinth::new("unix:socket")?;
    let memory = MemoryPlinth::new();
    let tee = TeePlinth::new([Box::new(socket) as _, Box::new(memory.clone()) as _])?;
    telemetry::setup().block_count(4).writer_thread(true).plinth(tee).start()?;
    telemetry::setup().plinth(ring).start()?;
    telemetry::setup().plinth(FilePlinth::bounded("cache.log", 1 << 20, 2)?).start()?;
    println!("{} bytes", memory.bytes().len());
    Ok(())
}

/// Brings out what was recorded, and tells how many events were lost.
pub fn lost_count() -> u64 {
    telemetry::flush();
    let losses = telemetry::losses_of(&events::CONTROL, events::Kinds::Object);
    losses.full + losses.nested + losses.large + losses.io
}
