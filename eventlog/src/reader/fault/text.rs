//! The message of each fault: what is wrong, what it costs, what to do.
//!
//! ```text
//!  FaultKind ── Display ──▶ "block checksum is wrong: its 2044 events are lost"
//! ```
//!
//! Design: `.read.*` in `design/format.md`.

use super::kind::FaultKind;
use super::releases::ToRead;
use std::fmt;

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FaultKind::*;
        match self {
            HeaderChecksum => {
                write!(f, "stream header checksum is wrong: its fields are used where plausible")
            }
            HeaderMissing => {
                write!(f, "stream header is damaged: taken from the blocks that follow")
            }
            HeaderField { field, found, used } => {
                write!(f, "stream header's {field} is {found}: {used} is used instead")
            }
            HeaderVersion { found, known } => write!(
                f,
                "stream format {found} is newer than {known}, which this reader knows: additions \
                 are skipped; use a newer reader to see them"
            ),
            HeaderMajor { found, known } => write!(
                f,
                "stream format {found} cannot be read by this reader of {known}: the stream is \
                 skipped; use a newer reader"
            ),
            StreamLimit => {
                write!(f, "too many streams in one log: those from here on are not read")
            }
            VolumeMissing { first, missing } => write!(
                f,
                "before this volume of the stream {missing} are missing, from volume {first} on"
            ),
            BlockMagic { size } => {
                write!(f, "no block here: {size} bytes skipped to the next one")
            }
            BlockField { field, found } => {
                write!(f, "block header's {field} is {found}: the block is skipped")
            }
            BlockChecksum { count } => {
                write!(f, "block checksum is wrong: its {count} events are lost")
            }
            BlockForeign => write!(f, "block of another stream: skipped"),
            BlockType { found } => write!(
                f,
                "block type {found} is unknown: all of its type are skipped; use a newer reader \
                 to see them"
            ),
            BlockHole { size } => {
                write!(
                    f,
                    "{size} bytes were never written: the host failed, or the program was stopped"
                )
            }
            StreamCut { missing, stated } => write!(
                f,
                "the stream ends here, {missing} of its {stated} blocks are missing: copy the \
                 whole log again"
            ),
            BlockCut { missing } => {
                write!(f, "the log ends within this block: {missing} bytes are missing")
            }
            PartMagic { size } => {
                write!(f, "no part of a block here: {size} bytes skipped to the next one")
            }
            Registry { index, what } => {
                write!(f, "registry {index}: {what}: event types beyond are given by code only")
            }
            EventChain { size, lost } => {
                write!(f, "event size {size} is wrong: {lost} older events of the block are lost")
            }
            EventCount { stated, found } => {
                write!(f, "block header states {stated} events, but the block holds {found}")
            }
            EventShort { code, size } => write!(
                f,
                "event of code {code:#06x} has {size} bytes, too few for its parameters: those \
                 that fit are given"
            ),
            EventUnknown { registry, code } => write!(
                f,
                "code {code:#06x} is not in registry {registry}: its events are given without \
                 parameters"
            ),
            Lost { buffer, count } => write!(f, "{count} events of buffer {buffer} are lost"),
            LabelLimit => {
                write!(f, "too many strings or labels: some values are shown without their label")
            }
            Io { message } => write!(f, "cannot read: {message}"),
            EventLate { ticks, sync } => write!(
                f,
                "an event at {ticks:#X} is later than the clock sync of its block, {sync:#X}: a \
                 selection by time may miss it"
            ),
            BlockSequence { buffer, found, before } => write!(
                f,
                "block {found} of buffer {buffer} has lower numbers than its block {before}, or \
                 higher ones against the order of the two"
            ),
            SyncBack { ticks, by } => write!(
                f,
                "clock sync at {ticks:#X}: the monotonic clock went back by {by} ns: wall times \
                 near it are wrong"
            ),
            SyncSet { ticks, by } => {
                write!(f, "clock sync at {ticks:#X}: the time of day was set back by {by} ns")
            }
            MpsVersion { found: Some(found), known } => write!(
                f,
                "written by telemetry version {found} of the Memory Pool System, and the \
                 registry at hand is of {known}: events are given by code only; to read them, {}",
                ToRead(*found)
            ),
            MpsMinor { found, known } => write!(
                f,
                "written by telemetry version {found} of the Memory Pool System, and the \
                 registry at hand is of {known}: event types that were added since are given by \
                 code only; to read them, pass eventdef.h of version {found} with --eventdef"
            ),
            MpsVersion { found: None, known } => write!(
                f,
                "the events do not fit telemetry version {known} of the Memory Pool System, and \
                 the log does not say which version wrote it: they are given by code only; to \
                 read them, pass that version's eventdef.h with --eventdef"
            ),
            MpsPlatform { used, others } => write!(
                f,
                "the log does not say which platform wrote it: read as {used}, may be {}",
                others.join(" or ")
            ),
            Core(fault) => write!(f, "{fault}"),
            Mps { what, size } => write!(f, "{what}: {size} bytes skipped"),
        }
    }
}
