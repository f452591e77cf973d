//! Copies of blocks, which a mapped ring keeps behind itself, and the file that has them.
//!
//! ```text
//!  │ ring: open, sealed, begins again … │ kept │ kept │ …       rest of the block, then its header
//! ```
//!
//! Design: `.sol.mapped` in `design/telemetry.md`; `.ring.kept` in `design/format.md`.

use crate::block::memory::{self, OwnBlock};
use crate::os::sync::Locked;
use crate::os::sys::{self, Errno, Held, without_signals};
use crate::plinth::{Operation, PATH_SIZE_MAX, PlinthError, region};
use core::ffi::{CStr, c_int};
use eventlog::format::BLOCK_HEADER_SIZE;

/// The longest name of a file, with its suffix and a NUL, in bytes.
pub(super) const NAME_SIZE_MAX: usize = PATH_SIZE_MAX + 64;

/// The file that is mapped, once it has its name.
pub(super) static FILE: Held = Held::none();
/// The path of the file. A thread that opens it again has the lock, and blocks signals: no handler
/// waits for the thread that it interrupted.
static PATH: Locked<[u8; NAME_SIZE_MAX]> = Locked::new([0; NAME_SIZE_MAX]);

/// Notes the path of a file, which the program may close.
pub(super) fn note_path(path: &CStr) {
    without_signals(|| {
        if let Some(mut known) = PATH.lock_waiting() {
            let _ = sys::suffixed(path.to_bytes(), &"", &mut *known);
        }
    });
}

/// Returns the number of the file. One that the program closed is opened again, if it still has its
/// name, and no other process has claimed it (`.sol.held`).
fn number() -> Result<c_int, Errno> {
    FILE.number().or_else(|errno| without_signals(|| open_again(errno)))
}

#[cold]
fn open_again(errno: Errno) -> Result<c_int, Errno> {
    let path = PATH.lock_waiting().ok_or(errno)?;
    // Another thread may have opened it meanwhile.
    if let Ok(number) = FILE.number() {
        return Ok(number);
    }
    let lost = FILE.get().ok_or(errno)?;
    let path = CStr::from_bytes_until_nul(&*path).map_err(|_| errno)?;
    if !sys::identify_name(path).is_ok_and(|named| lost.was(&named)) {
        return Err(errno);
    }
    let file = sys::open_log(path)?.map_err(|_| errno)?;
    let is_same = file.look().is_ok_and(|found| lost.was(&found));
    if !is_same || !sys::claim_file(file.seen()) {
        file.close();
        return Err(errno);
    }
    FILE.set(Some(file));
    Ok(file.seen())
}

/// Writes a block that gets no more events behind the ring, if the ring keeps blocks. Returns
/// whether the copy exists.
pub(crate) fn keep(block: &OwnBlock) -> Result<bool, PlinthError> {
    let put = |place: u64| {
        let offset = place * memory::block_size() as u64;
        block.with_bytes(|bytes| {
            let file = number()?;
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
        Some(result) => result
            .map(|()| true)
            .map_err(|errno| PlinthError { operation: Operation::Write, errno }),
    }
}
