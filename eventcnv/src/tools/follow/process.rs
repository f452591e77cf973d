//! Whether the program that writes a log still runs.
//!
//! ```text
//!  header: boot, process, start ── /proc: another boot? no such process? ─┐
//!  file ── does a program claim it (flock)? ──────────────────────────────┴─▶ it has ended
//! ```
//!
//! Each of the two answers alone can be wrong: a program in a container has another number there,
//! and some file systems have no claims. Design: `.cnv.follow.sql` in `design/eventcnv.md`; claims:
//! `.sol.plinth` in `design/telemetry.md`.

use eventlog::reader::Stream;
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// Greatest difference between the start of a process in the header and in /proc, in ns.
const START_ERROR: u64 = 3_000_000_000;
/// Ticks a second of the times in /proc.
const TICK_RATE: u64 = 100;
/// The place of the start in /proc/PID/stat, after the state, which follows the program's name.
const START_FIELD: usize = 19;

/// Returns whether the programs that wrote these streams have ended on this host without closing
/// the log at a path.
pub(super) fn have_ended(streams: &[Stream], path: &Path) -> bool {
    let Some(boot) = boot_id() else { return false };
    let has_ended = |stream: &Stream| {
        stream.closed || stream.boot_id == boot && stream.pid != 0 && !is_running(stream)
    };
    streams.iter().all(has_ended) && !is_claimed(path)
}

/// Returns the identity of this boot of the host.
fn boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

/// Returns whether the process of a stream runs on this host, as far as this is known.
fn is_running(stream: &Stream) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{}/stat", stream.pid)) else { return false };
    // The name is in parentheses, and may have any bytes.
    let name_end = stat.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    let rest = String::from_utf8_lossy(stat.get(name_end + 1..).unwrap_or_default()).into_owned();
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.clone().next(), Some("Z" | "X")) {
        return false;
    }
    let ticks = fields.nth(START_FIELD).and_then(|field| field.parse::<u64>().ok());
    let Some((ticks, boot)) = ticks.zip(boot_time()) else { return true };
    let start = boot.saturating_add(ticks.saturating_mul(1_000_000_000 / TICK_RATE));
    stream.start == 0 || stream.start.abs_diff(start) <= START_ERROR
}

/// Returns the time of the boot, in ns since 1970.
fn boot_time() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse::<u64>().ok()?.checked_mul(1_000_000_000)
}

/// Returns whether a program claims a file.
fn is_claimed(path: &Path) -> bool {
    let locked = File::open(cli::log::first_file(path)).map(|file| file.try_lock_shared());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}
