//! A stream of a log: what its header says, and the clock syncs of its blocks.
//!
//! Layout: section 2.1 of `design/format.md`.

use super::registry::Platform;
use super::registry::padded_name;
use crate::format::{ClockSync, STREAM_CUT, STREAM_RING, StreamHeader};
use eventdef::Version;

/// Clock syncs that are kept, at most; beyond, every second one is dropped.
pub(crate) const SYNC_COUNT_MAX: usize = 1 << 16;

/// A stream of the log. In an MPS log, most fields are empty.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stream {
    /// Offset of its header in the source.
    pub offset: u64,
    /// The platform that wrote it.
    pub platform: Platform,
    /// Version of the format. In an MPS log: the version in `EventInit`.
    pub version: Version,
    /// ELF machine number; 0 unknown.
    pub architecture: u16,
    /// Size of a block in bytes; 0 in an MPS log.
    pub block_size: u32,
    /// Identifies the stream.
    pub uuid: [u8; 16],
    /// Identifies the boot of the host; zero unknown.
    pub boot_id: [u8; 16],
    /// The stream of the process that forked this one; zero none.
    pub parent: [u8; 16],
    /// Process identifier.
    pub pid: u64,
    /// The parent's process identifier.
    pub parent_pid: u64,
    /// When the process began, ns since the Unix epoch.
    pub start: u64,
    /// Where the ticks come from, as numbered in `.header.clock`.
    pub clock_source: u32,
    /// Ticks per second, as the platform states it or the clock syncs of the MPS tell it; 0
    /// unknown.
    pub clock_rate: u64,
    /// Whether the rate is approximate (`.mps.rate`).
    pub is_rate_approximate: bool,
    /// Name and version of the writer.
    pub producer: Box<str>,
    /// Name of the host.
    pub host: Box<str>,
    /// Name of the program.
    pub program: Box<str>,
    /// Clock syncs in ascending order of ticks.
    pub syncs: Vec<ClockSync>,
    /// Whether the stream was closed (`.part.end`).
    pub closed: bool,
    /// The lowest and the highest volume in the log (`.header.volume`); 0 and 0 for one file.
    pub volumes: (u64, u64),
    /// The volume after the last one in the log, as that one states it (`.volume.end`).
    pub next_volume: Option<u64>,
    /// Whether the stream is a bounded ring, whose blocks are used again (`.header.ring`).
    pub is_ring: bool,
    /// Whether the ring keeps the blocks that it uses again (`.ring.kept`).
    pub is_kept: bool,
    /// Whether the log was made of another log, without all of its events (`.cut.flag`).
    pub is_cut: bool,
}

impl Stream {
    /// Returns the stream that a header describes. A header of zeros gives a stream of unknowns.
    pub(crate) fn of_header(
        header: &StreamHeader,
        offset: u64,
        platform: Platform,
        block_size: u32,
    ) -> Stream {
        let [major, median, minor] = header.version.map(|part| part.get());
        Stream {
            offset,
            platform,
            version: Version { major, median, minor },
            architecture: header.architecture.get(),
            block_size,
            uuid: header.uuid,
            boot_id: header.boot_id,
            parent: header.parent,
            pid: header.pid.get(),
            parent_pid: header.parent_pid.get(),
            start: header.start.get(),
            clock_source: header.clock_source.get(),
            clock_rate: header.clock_rate.get(),
            is_rate_approximate: false,
            producer: padded_name(&header.producer),
            host: padded_name(&header.host),
            program: padded_name(&header.program),
            // `.made.sync`
            syncs: Vec::from_iter(Some(header.sync()).filter(|sync| *sync != ClockSync::default())),
            closed: false,
            volumes: (header.volume.get(), header.volume.get()),
            next_volume: None,
            is_ring: header.flags.get() & STREAM_RING != 0,
            is_kept: header.flags.get() & STREAM_RING != 0 && header.ring_count.get() != 0,
            is_cut: header.flags.get() & STREAM_CUT != 0,
        }
    }

    /// Adds a clock sync. Of too many, it keeps every second one.
    pub(crate) fn add_sync(&mut self, sync: ClockSync) {
        if self.syncs.len() >= SYNC_COUNT_MAX {
            let mut is_kept = false;
            self.syncs.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.syncs.push(sync);
    }
}
