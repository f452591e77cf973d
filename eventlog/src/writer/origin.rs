//! Where the events of a stream come from: the facts in its header.
//!
//! ```text
//!  Origin { uuid, process, host, clock } ──▶ StreamHeader       source bytes ── uuid_of ──▶ UUID
//! ```
//!
//! Layout: 2.1 of `design/format.md`; rules: `.made.origin`, `.mps.uuid`.

use crate::format::{CLOCK_INVARIANT, ClockSource, ClockSync, StreamHeader, checksum};
use std::hash::{BuildHasher, RandomState};

const BLOCK_SIZE_LOG2: u8 = 16;

/// Where the events of a stream come from: its process, its host and its clock.
///
/// [`Origin::new`] returns a stream with a random UUID, whose ticks are ns of CLOCK_MONOTONIC. Set
/// the other known facts.
///
/// ```
/// use eventlog::writer::{Origin, uuid_of};
///
/// let mut origin = Origin::new();
/// origin.uuid = uuid_of(b"the bytes that are imported"); // imported twice, each event is once
/// origin.producer = "import 0.1.0".into();
/// origin.program = "shop".into();
/// origin.pid = 4711;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The UUID of the stream: unique in a log.
    pub uuid: [u8; 16],
    /// The boot of the host; zero if unknown. Only ticks of streams with the same boot compare.
    pub boot_id: [u8; 16],
    /// The UUID of the stream of the process that forked this one; zero if none.
    pub parent: [u8; 16],
    /// Process identifier.
    pub pid: u64,
    /// The parent's process identifier.
    pub parent_pid: u64,
    /// When the process began, ns since the Unix epoch.
    pub start: u64,
    /// Where the ticks come from.
    pub clock_source: ClockSource,
    /// Whether the clock has a constant rate.
    pub is_clock_invariant: bool,
    /// Ticks per second; 0 if unknown.
    pub clock_rate: u64,
    /// The first clock sync; its ticks are 0 if there is none.
    pub sync: ClockSync,
    /// Name and version of the program that writes the stream. The header holds 64 bytes of this
    /// name, 64 of the host and 128 of the program.
    pub producer: String,
    /// Name of the host.
    pub host: String,
    /// Name of the program.
    pub program: String,
    /// log2 of the block size: 12 to 20. An event has at most the size of a block minus 128 bytes.
    pub block_size_log2: u8,
}

impl Origin {
    /// Returns an origin with a random UUID, whose ticks are ns of CLOCK_MONOTONIC. All other facts
    /// are unknown.
    pub fn new() -> Origin {
        Origin {
            uuid: random_uuid(),
            boot_id: [0; 16],
            parent: [0; 16],
            pid: 0,
            parent_pid: 0,
            start: 0,
            clock_source: ClockSource::Monotonic,
            is_clock_invariant: true,
            clock_rate: 1_000_000_000,
            sync: ClockSync::default(),
            producer: concat!("eventlog ", env!("CARGO_PKG_VERSION")).into(),
            host: String::new(),
            program: String::new(),
            block_size_log2: BLOCK_SIZE_LOG2,
        }
    }

    pub(super) fn header(&self) -> StreamHeader {
        let mut header = StreamHeader::native(self.block_size_log2);
        header.uuid = self.uuid;
        header.boot_id = self.boot_id;
        header.parent = self.parent;
        header.pid = self.pid.into();
        header.parent_pid = self.parent_pid.into();
        header.start = self.start.into();
        header.clock_source = (self.clock_source as u32).into();
        header.clock_flags = if self.is_clock_invariant { CLOCK_INVARIANT } else { 0 }.into();
        header.clock_rate = self.clock_rate.into();
        header.set_sync(self.sync);
        put_name(&mut header.producer, &self.producer);
        put_name(&mut header.host, &self.host);
        put_name(&mut header.program, &self.program);
        header.seal();
        header
    }
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::new()
    }
}

/// Copies a name, padded with zeros (`.header.names`).
pub(super) fn put_name(to: &mut [u8], name: &str) {
    let size = name.floor_char_boundary(to.len());
    to.iter_mut().zip(name.as_bytes().iter().take(size)).for_each(|(to, from)| *to = *from);
}

/// Returns the UUID of a stream that is made of these bytes. Two logs that are made of one source
/// have the same UUID (`.made.origin`).
pub fn uuid_of(source: &[u8]) -> [u8; 16] {
    numbered_uuid(source, &[])
}

/// Returns the UUID of one of several streams of a source; `place` distinguishes them
/// (`.mps.uuid`).
pub(super) fn numbered_uuid(source: &[u8], place: &[u8]) -> [u8; 16] {
    let mut uuid = [0; 16];
    for (n, to) in (1u8..).zip(uuid.chunks_exact_mut(4)) {
        to.copy_from_slice(&checksum(&[&[n], source, place]).to_le_bytes());
    }
    versioned(uuid, 8) // UUID version 8: made by a private rule.
}

/// Returns a random UUID. The standard library takes the numbers from the operating system.
fn random_uuid() -> [u8; 16] {
    let mut uuid = [0; 16];
    for (n, to) in (0u8..).zip(uuid.chunks_exact_mut(8)) {
        to.copy_from_slice(&RandomState::new().hash_one(n).to_le_bytes());
    }
    versioned(uuid, 4)
}

/// Sets the version and variant of RFC 9562.
fn versioned(mut uuid: [u8; 16], version: u8) -> [u8; 16] {
    uuid[6] = uuid[6] & 0x0F | version << 4;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    uuid
}
