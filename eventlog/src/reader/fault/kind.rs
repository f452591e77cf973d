//! Faults: what is wrong in a log, where, what it costs, and what to do.
//!
//! ```text
//!  Fault = offset + kind ── Display ──▶ "offset 0x30000: block checksum is wrong: …"
//! ```
//!
//! A fault never stops the reading. An [`OpenError`] says why a log cannot be read at all.
//! Design: `.read.*` in `design/format.md`.

use super::core::{CoreError, CoreFault};
use eventdef::Version;
use std::io;
use thiserror::Error;

/// A fault of a log, or a fact that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("offset {offset:#X}: {kind}")]
pub struct Fault {
    /// Offset in the source.
    pub offset: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong. In the fields, `found` is in the log, `known` is what this library or the
/// registry knows, and sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum FaultKind {
    /// The stream header's checksum is wrong (`.read.header-damage`).
    #[error("stream header checksum is wrong: its fields are used where plausible")]
    HeaderChecksum,
    /// A stream has no header (`.read.no-magic`).
    #[error("stream header is damaged: taken from the blocks that follow")]
    HeaderMissing,
    /// The beginning of the log is missing, and so header and registries: the first whole block is
    /// behind `size` bytes (`.read.beginning`).
    #[error(
        "the beginning of the log is missing, with the names of its event types, and {size} bytes \
         before the first whole block: another program truncated it, or this is the end of a \
         longer log"
    )]
    Beginning { size: u64 },
    /// A field of the stream header is invalid; the reader uses `used` (`.read.header-damage`).
    #[error("stream header's {field} is {found}: {used} is used instead")]
    HeaderField { field: &'static str, found: u64, used: u64 },
    /// The stream has a higher median or minor version (`.read.minor`).
    #[error(
        "stream format {found} is newer than {known}, which this reader knows: additions are \
         skipped; use a newer reader to see them"
    )]
    HeaderVersion { found: Version, known: Version },
    /// A second stream has a higher major version, and is skipped (`.read.major`).
    #[error(
        "stream format {found} cannot be read by this reader of {known}: the stream is skipped; \
         use a newer reader"
    )]
    HeaderMajor { found: Version, known: Version },
    /// The log has too many streams; the reader skips this one and all later ones.
    #[error("too many streams in one log: those from here on are not read")]
    StreamLimit,
    /// No block begins where one should; the reader skips `size` bytes (`.read.resync`).
    #[error("no block here: {size} bytes skipped to the next one")]
    BlockMagic { size: u64 },
    /// A field of a block or part header is invalid; the reader skips the block (`.read.sealed`).
    #[error("block header's {field} is {found}: the block is skipped")]
    BlockField { field: &'static str, found: u64 },
    /// The checksum of a sealed block or part is wrong: its `count` events are lost
    /// (`.read.sealed`).
    #[error("block checksum is wrong: its {count} events are lost")]
    BlockChecksum { count: u32 },
    /// The block belongs to another stream (`.block.stream`).
    #[error("block of another stream: skipped")]
    BlockForeign,
    /// The type of a block or part is unknown (`.block.unknown`).
    #[error(
        "block type {found} is unknown: all of its type are skipped; use a newer reader to see \
         them"
    )]
    BlockType { found: u8 },
    /// Blocks before a written block were never written (`.stream.hole`).
    #[error("{size} bytes were never written: the host failed, or the program was stopped")]
    BlockHole { size: u64 },
    /// The stream had `stated` blocks when it was closed; `missing` are missing (`.read.cut`).
    #[error(
        "the stream ends here, {missing} of its {stated} blocks are missing: copy the whole log \
         again"
    )]
    StreamCut { missing: u64, stated: u64 },
    /// Volumes of a stream are missing, from number `first` on (`.volume.missing`).
    #[error("before this volume of the stream {missing} are missing, from volume {first} on")]
    VolumeMissing { first: u64, missing: u64 },
    /// A file of a stream that was written to several side by side is missing
    /// (`.directory.missing`).
    #[error(
        "file {file} of the {count} that this log was written to is missing{}: find it, and read \
         all together",
        .blocks.map_or(String::new(), |blocks| format!(", with {blocks} blocks"))
    )]
    FileMissing {
        file: u32,
        count: u32,
        /// Its blocks, if the log says so.
        blocks: Option<u64>,
    },
    /// The same, where the other files have nothing but their header block: a warning.
    #[error(
        "file {file} of the {count} that this log was written to is missing, and the others have \
         no events yet: the program ended while it began them, or that file is elsewhere"
    )]
    FileNotBegun { file: u32, count: u32 },
    /// The log ends within a block or part: `missing` bytes are missing.
    #[error("the log ends within this block: {missing} bytes are missing")]
    BlockCut { missing: u64 },
    /// Bytes among parts are not a part; the reader skips `size` bytes (`.parts.sealed`).
    #[error("no part of a block here: {size} bytes skipped to the next one")]
    PartMagic { size: u64 },
    /// The registry with this index does not parse, or pieces of it are missing
    /// (`.registry.trust`).
    #[error("registry {index}: {what}: event types beyond are given by code only")]
    Registry { index: u16, what: &'static str },
    /// An event states the wrong size `size`: `lost` events of the block are lost (`.read.chain`).
    #[error("event size {size} is wrong: {lost} older events of the block are lost")]
    EventChain { size: u16, lost: u64 },
    /// A sealed block states `stated` events and holds `found` (`.block.count`).
    #[error("block header states {stated} events, but the block holds {found}")]
    EventCount { stated: u32, found: u32 },
    /// An event is too short for its parameters (`.event.short`).
    #[error(
        "event of code {code:#06x} has {size} bytes, too few for its parameters: those that fit \
         are given"
    )]
    EventShort { code: u16, size: u16 },
    /// The registry has no event type of this code (`.event.unknown`).
    #[error(
        "code {code:#06x} is not in registry {registry}: its events are given without parameters"
    )]
    EventUnknown { registry: u16, code: u16 },
    /// An event, at `ticks`, is later than the clock sync of its sealed block (`.block.sync`).
    #[error(
        "an event at {ticks:#X} is later than the clock sync of its block, {sync:#X}: a selection \
         by time may miss it"
    )]
    EventLate { ticks: u64, sync: u64 },
    /// Two blocks of a buffer have numbers in one order and *sequence* in the other: `before`
    /// is the sequence of the earlier block (`.event.number`).
    #[error(
        "block {found} of buffer {buffer} has lower numbers than its block {before}, or higher \
         ones against the order of the two"
    )]
    BlockSequence { buffer: u32, found: u64, before: u64 },
    /// CLOCK_MONOTONIC went back by `by` ns at a clock sync (`.time.sync`).
    #[error(
        "clock sync at {ticks:#X}: the monotonic clock went back by {by} ns: wall times near it \
         are wrong"
    )]
    SyncBack { ticks: u64, by: u64 },
    /// The time of day was set back by `by` ns between two clock syncs: a warning.
    #[error("clock sync at {ticks:#X}: the time of day was set back by {by} ns")]
    SyncSet { ticks: u64, by: u64 },
    /// Events of a buffer are neither in the log nor accounted for (`.read.loss`).
    #[error("{count} events of buffer {buffer} are lost")]
    Lost { buffer: u32, count: u64 },
    /// The log has too many strings or labels: some values have no label.
    #[error("too many strings or labels: some values are shown without their label")]
    LabelLimit,
    /// The host failed to read. The bytes there are lost.
    #[error("cannot read: {message}")]
    Io { message: String },
    /// A raw MPS stream has another version than the registry: its codes have other meanings.
    #[error("{}", mps_version(.found, .known))]
    MpsVersion { found: Option<Version>, known: Version },
    /// A raw MPS stream has a later minor version than the registry: event types are missing.
    #[error(
        "written by telemetry version {found} of the Memory Pool System, and the registry at hand \
         is of {known}: event types that were added since are given by code only; to read them, \
         pass eventdef.h of version {found} with --eventdef"
    )]
    MpsMinor { found: Version, known: Version },
    /// The first events of a raw MPS stream fit several platforms; the reader uses `used`.
    #[error(
        "the log does not say which platform wrote it: read as {used}, may be {}",
        .others.join(" or ")
    )]
    MpsPlatform { used: &'static str, others: Vec<&'static str> },
    /// A part of a core is missing.
    #[error("{0}")]
    Core(CoreFault),
    /// Bytes of a raw MPS stream are not an event; the reader skips `size` bytes.
    #[error("{what}: {size} bytes skipped")]
    Mps { what: &'static str, size: u64 },
}

impl Fault {
    /// Returns whether the fault is a warning: nothing is lost.
    pub fn is_warning(&self) -> bool {
        use FaultKind::*;
        if let Core(fault) = &self.kind {
            return fault.is_warning();
        }
        matches!(
            self.kind,
            HeaderVersion { .. }
                | BlockType { .. }
                | EventUnknown { .. }
                | FileNotBegun { .. }
                | LabelLimit
                | MpsPlatform { .. }
                | MpsMinor { .. }
                | SyncSet { .. }
        )
    }
}

/// Returns whether a registry of version `known` decodes a stream of version `found`
/// (`.mps.version`): a minor version adds event types and changes none.
pub(crate) fn is_decoded_by(found: Version, known: Version) -> bool {
    (found.major, found.median) == (known.major, known.median)
}

/// Returns the message about a raw stream of another version (`.mps.version`).
fn mps_version(found: &Option<Version>, known: &Version) -> String {
    let Some(found) = found else {
        return format!(
            "the events do not fit telemetry version {known} of the Memory Pool System, and the \
             log does not say which version wrote it: they are given by code only; to read them, \
             pass that version's eventdef.h with --eventdef"
        );
    };
    let to_read = if is_decoded_by(*found, eventdef::mps::REGISTRY.version) {
        "leave --eventdef out: that version is known".to_owned()
    } else {
        format!(
            "pass eventdef.h of version {found} with --eventdef: code/eventdef.h of the MPS that \
             it was built with"
        )
    };
    format!(
        "written by telemetry version {found} of the Memory Pool System, and the registry at hand \
         is of {known}: events are given by code only; to read them, {to_read}"
    )
}

/// Why a log cannot be read at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The host cannot read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is a directory.
    #[error("is a directory without files of a log (00.log, 01.log …)")]
    Directory,
    /// It is empty.
    #[error("is empty: no log was written to it")]
    Empty,
    /// It is neither a stream in our format nor one of the Memory Pool System.
    #[error(
        "is not a log: offset 0 has neither the magic of a stream nor an event of the Memory Pool \
         System"
    )]
    NotALog,
    /// It is an ELF file from which no stream can be rescued.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// Its major version is too high (`.read.major`): `found` in the log, `known` here.
    #[error("has stream format {found}, and this reader knows {known}: use a newer reader")]
    Major {
        /// The version of the stream.
        found: Version,
        /// The version that this library knows.
        known: Version,
    },
}
