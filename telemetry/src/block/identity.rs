//! The identity of the stream: its UUID, and the header about the process that writes it.
//!
//! ```text
//!  UUID · boot · process · clock and first sync · names
//! ```
//!
//! Design: section 2.1 of `design/format.md`.

use crate::block::{clock, memory, root};
use crate::os::sys;
use core::sync::atomic::{AtomicU64, Ordering};
use eventlog::format::{CLOCK_INVARIANT, STREAM_RING, StreamHeader};

static UUID: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// The UUID of the process that forked this one; zero: no process did, or it had no UUID.
static PARENT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Gives a forked child's stream a UUID of its own, and keeps the parent's.
pub(crate) fn fork() {
    // Neither half of a complete UUID is zero: the fork may have come while the parent made its
    // UUID.
    let parent = halves(&UUID);
    if !parent.contains(&0) {
        PARENT[0].store(parent[0], Ordering::Relaxed);
        PARENT[1].store(parent[1], Ordering::Relaxed);
    }
    prepare();
}

fn halves(uuid: &[AtomicU64; 2]) -> [u64; 2] {
    uuid.each_ref().map(|half| half.load(Ordering::Relaxed))
}

/// Makes the UUID of the stream: version 4, random (`.header.uuid`).
pub(crate) fn prepare() {
    let mut uuid = [0u8; 16];
    if !sys::random(&mut uuid) {
        let sync = root::sync();
        let mixed = sync.ticks.rotate_left(32) ^ sync.monotonic ^ sys::process_ids().0 << 48;
        uuid[..8].copy_from_slice(&sync.realtime.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        uuid[8..].copy_from_slice(&mixed.to_le_bytes());
    }
    uuid[6] = uuid[6] & 0x0F | 0x40;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    let halves: [u64; 2] = bytemuck::cast(uuid);
    UUID[0].store(halves[0], Ordering::Relaxed);
    UUID[1].store(halves[1], Ordering::Relaxed);
}

pub(crate) fn uuid() -> [u8; 16] {
    bytemuck::cast(halves(&UUID))
}

/// Returns the part of the UUID that blocks have (`.block.stream`).
pub(crate) fn id() -> [u8; 8] {
    UUID[0].load(Ordering::Relaxed).to_ne_bytes()
}

/// Returns the header of a stream that begins now (`.header.once`, `.header.names`): in a ring, of
/// as many blocks if others follow it, or not.
pub(crate) fn header(ring: Option<u64>) -> StreamHeader {
    let mut header = StreamHeader::native(memory::block_size_log2());
    header.uuid = uuid();
    header.parent = bytemuck::cast(halves(&PARENT));
    header.boot_id = boot_id();
    let (pid, parent_pid) = sys::process_ids();
    header.pid = pid.into();
    header.parent_pid = parent_pid.into();
    header.clock_source = (clock::source() as u32).into();
    header.clock_flags = CLOCK_INVARIANT.into();
    header.clock_rate = clock::rate().into();
    let sync = root::sync();
    header.set_sync(sync);
    header.start = sync.realtime.into();
    // `.header.ring`
    header.flags = if ring.is_some() { STREAM_RING.into() } else { 0.into() };
    header.ring_count = ring.unwrap_or(0).into();
    let producer = concat!("telemetry ", env!("CARGO_PKG_VERSION")).as_bytes();
    header.producer[..producer.len()].copy_from_slice(producer);
    sys::host_name(&mut header.host);
    sys::program_name(&mut header.program);
    header.seal();
    header
}

/// Returns the kernel's identifier of this boot; zeros if it has none.
pub(crate) fn boot_id() -> [u8; 16] {
    let mut text = [0u8; 64];
    let text = sys::read_file(c"/proc/sys/kernel/random/boot_id", &mut text).unwrap_or_default();
    let mut id = [0u8; 16];
    let digits = text.iter().filter_map(|byte| char::from(*byte).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        id[index / 2] = id[index / 2] << 4 | digit as u8;
    }
    id
}
