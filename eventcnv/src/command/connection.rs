//! The programs that are connected, and what their connections share.
//!
//! ```text
//!  listen.rs ── Connection, one more ──▶ Shared ◀── how it stands ── receive.rs, a thread each
//! ```
//!
//! Design: `.dumper.live` in `design/telemetry.md`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at a time, each with a thread.
const CONNECTION_COUNT_MAX: usize = 256;
/// Without a byte for so long, a connection that sent no stream header loses its place.
const HEADER_SILENCE_MAX: Duration = Duration::from_secs(1);
/// How often silent connections are looked for, while another waits.
const LOOK_TIME: Duration = Duration::from_millis(100);
/// Memory for what programs call things, of all that are printed: one that takes more than its
/// share is printed no longer.
const PRINT_MEMORY_MAX: usize = 32 << 20;
/// How long nothing has come, once it is to end, when what programs sent that have ended is here;
/// and how long it is received at most.
const GRACE: Duration = Duration::from_millis(200);
const GRACE_MAX: Duration = Duration::from_secs(1);

/// What all connections share.
pub(crate) struct Shared {
    /// Where the logs are put.
    pub(crate) directory: PathBuf,
    /// The form in which events are printed; none if they are not.
    pub(crate) form: Option<u8>,
    /// Set when no more is to be received.
    pub(crate) is_ending: AtomicBool,
    /// Bytes that were received of all logs.
    pub(crate) received: AtomicU64,
    /// Whether a log could not be written.
    pub(crate) has_failed: AtomicBool,
    /// How long a connection may be silent while another waits for its place.
    pub(crate) silence_max: Duration,
    /// Memory for what programs call things, of all that are printed.
    pub(crate) print_memory: AtomicUsize,
    pub(crate) connections: Mutex<Vec<Arc<Connection>>>,
    /// One of the connections has ended.
    pub(crate) ended: Condvar,
    /// Written to, it ends the program.
    pub(crate) end: UnixStream,
}

/// A program that is connected.
pub(crate) struct Connection {
    socket: Socket,
    /// When something came of it last.
    heard: Mutex<Instant>,
    /// Whether it sent a stream header.
    pub(crate) is_log: AtomicBool,
    /// Whether it lost its place to another.
    pub(crate) is_displaced: AtomicBool,
}

pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    pub(crate) fn new(socket: Socket) -> Connection {
        Connection {
            socket,
            heard: Mutex::new(Instant::now()),
            is_log: AtomicBool::new(false),
            is_displaced: AtomicBool::new(false),
        }
    }

    /// Reads what has come, waiting no longer than this for the first of it.
    pub(crate) fn read(&self, bytes: &mut [u8], limit: Option<Duration>) -> io::Result<usize> {
        loop {
            let result = match &self.socket {
                Socket::Tcp(stream) => {
                    stream.set_read_timeout(limit)?;
                    (&*stream).read(bytes)
                }
                Socket::Unix(stream) => {
                    stream.set_read_timeout(limit)?;
                    (&*stream).read(bytes)
                }
            };
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

    /// No more is received than what is here already.
    pub(crate) fn stop(&self) {
        // What is gone needs no stopping.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Read),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Read),
        };
    }
}

impl Shared {
    pub(crate) fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are no more than so many connections, or for so long.
    pub(crate) fn wait(&self, count: usize, limit: Duration) -> bool {
        let is_more = |connections: &mut Vec<Arc<Connection>>| connections.len() > count;
        let waited = self.ended.wait_timeout_while(self.connections(), limit, is_more);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits until there is room for one more connection, and takes that of the one that is silent
    /// longest, if it is for too long.
    pub(crate) fn make_room(&self) {
        while !self.wait(CONNECTION_COUNT_MAX - 1, LOOK_TIME) {
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

    /// Takes note that what a program calls things takes `now` bytes, and took `before`. Whether it
    /// takes more than its share, of too much in all.
    pub(crate) fn is_too_large(&self, before: usize, now: usize) -> bool {
        let sum = self.print_memory.fetch_add(now, Ordering::Relaxed) + now;
        self.print_memory.fetch_sub(before, Ordering::Relaxed);
        let count = self.connections().len().max(1);
        sum - before > PRINT_MEMORY_MAX && now > PRINT_MEMORY_MAX / count
    }

    /// What programs that have ended sent is on its way: the system brings it as it is read.
    pub(crate) fn wait_for_the_rest(&self) {
        let deadline = Instant::now() + GRACE_MAX;
        let mut before = None;
        while before != Some(self.received.load(Ordering::Relaxed)) && Instant::now() < deadline {
            before = Some(self.received.load(Ordering::Relaxed));
            if self.wait(0, GRACE) {
                return;
            }
        }
    }

    /// Has the program end in good order.
    pub(crate) fn end(&self) {
        // It may have ended already.
        let _ = (&self.end).write_all(&[0]);
    }
}
