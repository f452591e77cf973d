//! The stream header, with which every stream begins.
//!
//! ```text
//!  0       16      32              64        80           120         152      512
//!  │ magic │ order │ UUID │ boot   │ parent  │ pid, clock │ first sync│ names  │ parts …
//!  │version│ sizes │      │        │         │            │           │        │
//! ```
//!
//! Layout: section 2.1 of `design/format.md`.

use super::le::{U16le, U32le, U64le};
use bytemuck::{Pod, Zeroable};

/// The first bytes of a stream (`.header.magic`).
pub const STREAM_MAGIC: [u8; 8] = [0xD5, b'E', b'V', b'L', 0x0D, 0x0A, 0x1A, 0x00];
/// The version of the format that this library writes (`.header.version`).
pub const FORMAT_VERSION: [u16; 3] = [1, 0, 5];

/// The greatest number of files that take the blocks of a stream side by side (`.header.file`).
pub const FILE_COUNT_MAX: u32 = 64;
/// The value of the byte-order mark in the writer's order (`.header.order`).
pub const BYTE_ORDER_MARK: u32 = 0x0A0B_0C0D;
/// log2 of the smallest block size (`.stream.blocks`).
pub const BLOCK_SIZE_LOG2_MIN: u8 = 12;
/// log2 of the largest block size.
pub const BLOCK_SIZE_LOG2_MAX: u8 = 20;
/// Size of the stream header.
pub const STREAM_HEADER_SIZE: usize = size_of::<StreamHeader>();

/// Where the ticks of a stream come from (`.header.clock`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClockSource {
    /// The x86 time-stamp counter.
    Tsc = 1,
    /// The generic timer of Arm, `cntvct_el0`.
    ArmTimer = 2,
    /// CLOCK_MONOTONIC, in ns.
    Monotonic = 3,
    /// The `clock()` of C.
    C = 4,
}

/// Flag of [`StreamHeader::clock_flags`]: the counter has a constant rate.
pub const CLOCK_INVARIANT: u32 = 1;

/// Flag of [`StreamHeader::flags`]: the log is a bounded ring whose blocks are used again
/// (`.header.ring`).
pub const STREAM_RING: u32 = 1;
/// Flag: the log was made of another log, without all of its events (`.cut.flag`).
pub const STREAM_CUT: u32 = 2;

/// One instant on the three clocks (`.time.sync`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSync {
    /// Ticks of the stream's clock.
    pub ticks: u64,
    /// CLOCK_MONOTONIC, ns.
    pub monotonic: u64,
    /// CLOCK_REALTIME, ns since the Unix epoch.
    pub realtime: u64,
    /// Longest time between the readings of the three clocks, ns.
    pub uncertainty: u32,
}

/// Gives a structure with the four numbers of a clock sync the functions that get and set it.
macro_rules! has_sync {
    ($type:ty) => {
        impl $type {
            /// Returns the clock sync.
            pub fn sync(&self) -> ClockSync {
                ClockSync {
                    ticks: self.sync_ticks.into(),
                    monotonic: self.sync_monotonic.into(),
                    realtime: self.sync_realtime.into(),
                    uncertainty: self.sync_uncertainty.into(),
                }
            }

            /// Sets the clock sync.
            pub fn set_sync(&mut self, sync: ClockSync) {
                self.sync_ticks = sync.ticks.into();
                self.sync_monotonic = sync.monotonic.into();
                self.sync_realtime = sync.realtime.into();
                self.sync_uncertainty = sync.uncertainty.into();
            }
        }
    };
}

has_sync!(StreamHeader);
has_sync!(super::block::BlockHeader);
// `.root.sync`: the sync of a root is valid while its turn is even.
has_sync!(super::root::Root);

/// The stream header: section 2.1 of `design/format.md`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 2.1 of design/format.md is the description")]
pub struct StreamHeader {
    pub magic: [u8; 8],
    pub version: [U16le; 3],
    pub header_size: U16le,
    /// In the writer's order. All other integers are little-endian.
    pub byte_order_mark: [u8; 4],
    pub word_size: u8,
    pub address_size: u8,
    pub architecture: U16le,
    pub block_size: U32le,
    pub crc: U32le,
    pub uuid: [u8; 16],
    pub boot_id: [u8; 16],
    pub parent: [u8; 16],
    pub pid: U64le,
    pub parent_pid: U64le,
    pub start: U64le,
    pub clock_source: U32le,
    pub clock_flags: U32le,
    pub clock_rate: U64le,
    pub sync_ticks: U64le,
    pub sync_monotonic: U64le,
    pub sync_realtime: U64le,
    pub sync_uncertainty: U32le,
    pub flags: U32le,
    pub producer: [u8; 64],
    pub host: [u8; 64],
    pub program: [u8; 128],
    /// The number of this file in its stream (`.header.volume`).
    pub volume: U64le,
    /// Blocks of a ring, if others follow it (`.ring.kept`); 0: the file is the ring.
    pub ring_count: U64le,
    /// The number of this file among those that are written side by side (`.header.file`).
    pub file: U32le,
    /// The number of those files; 0: there is one.
    pub file_count: U32le,
    pub reserved_432: [u64; 10],
}

const _: () = assert!(size_of::<StreamHeader>() == 512);
const _: () = assert!(core::mem::offset_of!(StreamHeader, producer) == 152);
const _: () = assert!(core::mem::offset_of!(StreamHeader, flags) == 148);
const _: () = assert!(core::mem::offset_of!(StreamHeader, volume) == 408);
const _: () = assert!(core::mem::offset_of!(StreamHeader, ring_count) == 416);
const _: () = assert!(core::mem::offset_of!(StreamHeader, file_count) == 428);

impl StreamHeader {
    /// Returns a header of this platform and version. Every other field is zero, the checksum too.
    pub fn native(block_size_log2: u8) -> StreamHeader {
        let mut header = StreamHeader::zeroed();
        header.magic = STREAM_MAGIC;
        header.version = FORMAT_VERSION.map(U16le::new);
        header.header_size = U16le::new(STREAM_HEADER_SIZE as u16);
        header.byte_order_mark = BYTE_ORDER_MARK.to_ne_bytes();
        header.word_size = size_of::<usize>() as u8;
        header.address_size = size_of::<*const ()>() as u8;
        header.architecture = U16le::new(architecture());
        header.block_size = U32le::new(1 << block_size_log2);
        header
    }

    /// Reads the header at the start of these bytes, if they hold all of it.
    pub fn read(bytes: &[u8]) -> Option<StreamHeader> {
        bytemuck::try_pod_read_unaligned(bytes.get(..STREAM_HEADER_SIZE)?).ok()
    }

    /// Returns whether the magic and the checksum are right.
    pub fn is_sound(&self) -> bool {
        self.magic == STREAM_MAGIC && self.checksum() == self.crc.get()
    }

    /// Returns log2 of the block size, if the format has blocks of that size (`.stream.blocks`).
    pub fn block_size_log2(&self) -> Option<u8> {
        let size = self.block_size.get();
        let log2 = size.checked_ilog2()? as u8;
        let is_allowed = (BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&log2);
        (size.is_power_of_two() && is_allowed).then_some(log2)
    }

    /// Returns whether the writer is big-endian; `None` if the byte-order mark is wrong.
    pub fn is_big_endian(&self) -> Option<bool> {
        let is = |mark: [u8; 4]| self.byte_order_mark == mark;
        let is_big = is(BYTE_ORDER_MARK.to_be_bytes());
        (is_big || is(BYTE_ORDER_MARK.to_le_bytes())).then_some(is_big)
    }

    /// Sets the byte-order mark.
    pub fn set_big_endian(&mut self, is_big: bool) {
        let mark = BYTE_ORDER_MARK;
        self.byte_order_mark = if is_big { mark.to_be_bytes() } else { mark.to_le_bytes() };
    }

    /// Returns the checksum of the header (`.header.crc`).
    pub fn checksum(&self) -> u32 {
        let mut copy = *self;
        copy.crc = U32le::new(0);
        checksum(&[bytemuck::bytes_of(&copy)])
    }

    /// Sets the checksum. Call it last, before the header is written.
    pub fn seal(&mut self) {
        self.crc = U32le::new(self.checksum());
    }
}

/// Returns the CRC-32C of these bytes, in this order (`.crc`). The library uses the processor's
/// instruction if the processor has one: the checksum is most of the cost of a block, apart from
/// writing it.
pub fn checksum(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| checksum_from(crc, piece))
}

/// Returns the checksum of the bytes whose checksum is `crc`, and of these behind them.
pub fn checksum_from(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// The ELF machine number of this platform; 0 if the format does not list the platform.
const fn architecture() -> u16 {
    if cfg!(target_arch = "x86_64") {
        62
    } else if cfg!(target_arch = "aarch64") {
        183
    } else if cfg!(target_arch = "x86") {
        3
    } else if cfg!(target_arch = "arm") {
        40
    } else if cfg!(any(target_arch = "riscv32", target_arch = "riscv64")) {
        243
    } else if cfg!(target_arch = "powerpc64") {
        21
    } else if cfg!(target_arch = "s390x") {
        22
    } else {
        0
    }
}
