//! The connected programs, and the state that their connections share.
//!
//! ```text
//!  listen.rs ── a new Connection ──▶ Shared ◀── state ── receive.rs, a thread each
//! ```
//!
//! Design: `.dumper.live` in `design/telemetry.md`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at a time, at most; each has a thread.
const CONNECTION_COUNT_MAX: usize = 256;
/// A connection that sent no stream header, and no byte for this time, may lose its place.
const HEADER_SILENCE_MAX: Duration = Duration::from_secs(1);
/// Time between two searches for silent connections, while a new one waits.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);
/// At the end: silence after which all data of ended programs has arrived, and the longest wait for
/// it.
const GRACE: Duration = Duration::from_millis(200);
const GRACE_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
    /// Takes each new log to print, if events are printed.
    pub(crate) printed: Option<Sender<Arc<PathBuf>>>,
    /// Set when the receiver ends.
    pub(crate) is_ending: AtomicBool,
    /// Bytes received of all logs.
    pub(crate) received: AtomicU64,
    /// Whether a log could not be written.
    pub(crate) has_failed: AtomicBool,
    /// Silence after which a connection may lose its place to another.
    pub(crate) silence_max: Duration,
    pub(crate) connections: Mutex<Vec<Arc<Connection>>>,
    /// Notified when a connection ends.
    pub(crate) ended: Condvar,
    /// A byte written here ends the receiver: 0 by the printer, when it has ended.
    pub(crate) end: UnixStream,
}

pub(crate) struct Connection {
    /// A socket of any family: the calls for Unix sockets serve TCP too.
    socket: UnixStream,
    /// The time of the last byte.
    heard: Mutex<Instant>,
    /// Whether the program sent a stream header.
    pub(crate) is_log: AtomicBool,
    /// Whether the connection lost its place to another.
    pub(crate) is_displaced: AtomicBool,
}

impl Connection {
    pub(crate) fn new(socket: impl Into<OwnedFd>) -> Connection {
        Connection {
            socket: UnixStream::from(socket.into()),
            heard: Mutex::new(Instant::now()),
            is_log: AtomicBool::new(false),
            is_displaced: AtomicBool::new(false),
        }
    }

    /// Reads the bytes that have arrived; waits at most `limit` for the first one.
    pub(crate) fn read(&self, bytes: &mut [u8], limit: Option<Duration>) -> io::Result<usize> {
        self.socket.set_read_timeout(limit)?;
        loop {
            let result = (&self.socket).read(bytes);
            *self.heard() = Instant::now();
            match result {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops receiving, except the bytes that have arrived.
    pub(crate) fn stop(&self) {
        // A closed connection needs no shutdown.
        let _ = self.socket.shutdown(Shutdown::Read);
    }
}

impl Shared {
    pub(crate) fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until at most `count` connections are left, for at most `limit`. Returns whether they
    /// are.
    pub(crate) fn wait(&self, count: usize, limit: Duration) -> bool {
        let is_more = |connections: &mut Vec<Arc<Connection>>| connections.len() > count;
        let waited = self.ended.wait_timeout_while(self.connections(), limit, is_more);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits for room for a connection. Displaces the connection that has been silent longest, if
    /// that is too long.
    pub(crate) fn make_room(&self) {
        while !self.wait(CONNECTION_COUNT_MAX - 1, SEARCH_INTERVAL) {
            let connections = self.connections();
            let silence = |connection: &Arc<Connection>| {
                let is_log = connection.is_log.load(Ordering::Relaxed);
                let max = if is_log { self.silence_max } else { HEADER_SILENCE_MAX };
                let silence = connection.heard().elapsed();
                (silence >= max).then_some((!is_log, silence))
            };
            let silent = connections.iter().filter(|connection| silence(connection).is_some());
            if let Some(silent) = silent.max_by_key(|connection| silence(connection))
                && !silent.is_displaced.swap(true, Ordering::Relaxed)
            {
                silent.stop();
            }
        }
    }

    /// Waits for the data that ended programs sent: the system delivers it as the threads read.
    pub(crate) fn wait_for_rest(&self) {
        let deadline = Instant::now() + GRACE_MAX;
        let mut before = None;
        while before != Some(self.received.load(Ordering::Relaxed)) && Instant::now() < deadline {
            before = Some(self.received.load(Ordering::Relaxed));
            if self.wait(0, GRACE) {
                return;
            }
        }
    }

    /// Tells the receiver that the printer has ended: it then ends too.
    pub(crate) fn end(&self) {
        // The receiver may have ended already.
        let _ = (&self.end).write_all(&[0]);
    }
}
