//! Signals that end a wait.
//!
//! ```text
//!  SIGINT, SIGTERM, SIGHUP ──▶ a byte ──▶ the wait ends      a second one ──▶ the process ends
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use cli::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Returns a socket that has a byte after a signal, and whether one came. A second signal ends the
/// process.
pub(super) fn signals() -> Result<(UnixStream, Arc<AtomicBool>), Stop> {
    let (ends, end) = UnixStream::pair()?;
    let is_signalled = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 128 + signal, is_signalled.clone())?;
        flag::register(signal, is_signalled.clone())?;
        pipe::register(signal, end.try_clone()?)?;
    }
    Ok((ends, is_signalled))
}

/// Waits for a signal. Returns whether it came.
pub(super) fn wait(signals: &mut UnixStream, time: Duration) -> io::Result<bool> {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        signals.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match signals.read(&mut [0]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(false);
            }
            result => return result.map(|_| true),
        }
    }
}
