//! Blocks that a mapped ring keeps: copies behind the ring, which never change.
//!
//! ```text
//!  │ ring: open, sealed, begins again … │ kept │ kept │ …       rest of the block, then its header
//! ```
//!
//! Design: `.sol.mapped` in `design/telemetry.md`; `.ring.kept` in `design/format.md`.

use super::{FILE, failed};
use crate::block::memory::{self, OwnBlock};
use crate::os::sys;
use crate::plinth::{Operation, PlinthError, region};
use eventlog::format::BLOCK_HEADER_SIZE;

/// Writes a block that gets no more events behind the ring, if the ring keeps blocks. Returns
/// whether the copy exists.
pub(crate) fn keep(block: &OwnBlock) -> Result<bool, PlinthError> {
    let put = |place: u64| {
        let offset = place * memory::block_size() as u64;
        block.with_bytes(|bytes| {
            let file = FILE.number()?;
            // A write beyond would end the program by a signal.
            if offset.saturating_add(bytes.len() as u64) > sys::file_size_max() {
                return Err(libc::EFBIG);
            }
            // The header last: without it the rest is not a block.
            let (header, rest) = bytes.split_at(BLOCK_HEADER_SIZE);
            sys::write_all_at(file, rest, offset + BLOCK_HEADER_SIZE as u64)
                .and_then(|()| sys::write_all_at(file, header, offset))
                .map_err(|(_, errno)| errno)
        })
    };
    match region::keep(put) {
        None => Ok(false),
        Some(result) => result.map(|()| true).map_err(|errno| failed(Operation::Write, errno)),
    }
}
