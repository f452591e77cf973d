//! The service: a socket by which tools control the program from outside.
//!
//! ```text
//!  MPS_TELEMETRY_SOCKET=DIR ─▶ DIR/PID.sock ── connections, a table of a fixed size
//!                                 connection.rs ─▶ request.rs
//! ```
//!
//! The writer thread serves the socket, or else a thread of its own, which sleeps in poll. Neither
//! waits for one connection: each connection has a second to ask, and one to take the answer. It
//! allocates only pages. Design: `.control.tool` in `design/telemetry.md`.

use crate::block::clock;
use crate::os::folder::Folder;
use crate::os::local_sockets::{self, Awaited};
use crate::os::report::{self, Text};
use crate::os::sockets::SOCKET_PATH_SIZE_MAX;
use crate::os::sys::{self, Held};
use crate::service::connection::{Connection, Stage, number_of};
use crate::service::writer_thread;
use crate::stream::writer;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use eventlog::control::SocketName;

/// The environment variable with the directory of the socket.
pub(crate) const SOCKET_VARIABLE: &CStr = c"MPS_TELEMETRY_SOCKET";
/// The greatest number of connections at a time; others wait until one of these ends.
const CONNECTION_COUNT_MAX: usize = 64;
/// The pause in accepting connections after a lack of files or memory, in ns.
const RELIEF: u64 = 100_000_000;
/// The longest path of a socket that is built here; systems accept no longer ones.
const PATH_SIZE_MAX: usize = 512;
/// The longest name of a socket in its directory, with a slash.
const SOCKET_NAME_SIZE_MAX: usize = 32;

/// The environment was not read yet.
const UNASKED: u8 = 0;
/// A thread is reading it.
const ASKING: u8 = 1;
const OFF: u8 = 2;
const ON: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNASKED);
/// The service's open files: the listening socket, its directory, connections. They are static
/// because a forked child inherits the files, and not the thread.
static LISTENER: Held = Held::none();
static DIRECTORY: Held = Held::none();
/// The directory of a relative one.
static FOLDER: Folder = Folder::none();
static CONNECTIONS: [Held; CONNECTION_COUNT_MAX] = [const { Held::none() }; CONNECTION_COUNT_MAX];
/// The process that owns the socket.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Starts the service if the environment asks for it and it does not run: in ordinary code, with no
/// lock held.
pub(crate) fn start() {
    let ask = STATE.compare_exchange(UNASKED, ASKING, Ordering::Acquire, Ordering::Relaxed);
    if ask.is_err() {
        return;
    }
    let is_on = sys::with_environment(SOCKET_VARIABLE, |directory| {
        directory.filter(|directory| !directory.is_empty()).is_some_and(start_in)
    });
    STATE.store(if is_on { ON } else { OFF }, Ordering::Release);
}

/// Makes the socket and starts to serve it; or reports why not.
fn start_in(directory: &[u8]) -> bool {
    let refuse = |cause: &dyn core::fmt::Display| {
        let directory = Text(directory.get(..PATH_SIZE_MAX / 2).unwrap_or(directory));
        report::say(format_args!(
            "MPS_TELEMETRY_SOCKET: no socket in {directory}: {cause}; the program goes on, without \
             control from outside"
        ));
    };
    let process = sys::process_ids().0;
    FOLDER.note(directory);
    let (mut whole, mut path) = ([0; SOCKET_PATH_SIZE_MAX], [0; PATH_SIZE_MAX]);
    let paths = in_folder(directory, &mut whole)
        .and_then(|directory| paths_in(directory, process, &mut path));
    let Some((path, folder)) = paths else {
        refuse(&"its path would be too long for a socket");
        return false;
    };
    let opened = sys::open_directory(folder).and_then(|folder| {
        let listener = local_sockets::listen(path).inspect_err(|_| folder.close())?;
        Ok((folder, listener))
    });
    let (folder, listener) = match opened {
        Ok(opened) => opened,
        Err(libc::EADDRINUSE) => {
            refuse(&"the name already exists, as another process's socket or another file");
            return false;
        }
        Err(errno) => {
            let mut text = [0; 128];
            refuse(&Text(sys::error_text(errno, &mut text)));
            return false;
        }
    };
    DIRECTORY.set(Some(folder));
    PROCESS.store(process, Ordering::Relaxed);
    LISTENER.set(Some(listener));
    writer_thread::start_to_serve();
    if !writer::is_running() && !sys::start_thread(run, c"telemetry-ctl") {
        refuse(&"no thread could be started to serve it");
        end();
        return false;
    }
    true
}

/// Returns the directory, in that in which the program was at first.
fn in_folder<'a>(directory: &[u8], whole: &'a mut [u8]) -> Option<&'a [u8]> {
    let folder_size = FOLDER.put_before(directory.len() + SOCKET_NAME_SIZE_MAX, whole);
    let end = folder_size + directory.len();
    whole.get_mut(folder_size..end)?.copy_from_slice(directory);
    whole.get(..end)
}

/// Returns the paths of a process's socket and of its directory. Both use `path`.
fn paths_in<'a>(
    directory: &[u8],
    process: u64,
    path: &'a mut [u8; PATH_SIZE_MAX],
) -> Option<(&'a CStr, &'a CStr)> {
    let (whole, folder) = path.split_at_mut(PATH_SIZE_MAX / 2);
    let name = SocketName(process);
    let whole = sys::suffixed(directory, &format_args!("/{name}"), whole).ok()?;
    let folder = sys::suffixed(directory, &"", folder).ok()?;
    (whole.count_bytes() <= SOCKET_PATH_SIZE_MAX).then_some((whole, folder))
}

/// Removes the socket at the end of the program.
pub(crate) fn end() {
    let directory = DIRECTORY.take();
    let process = PROCESS.load(Ordering::Relaxed);
    let Some(directory) = directory.filter(|_| process == sys::process_ids().0) else { return };
    if let Ok(name) = sys::suffixed(b"", &SocketName(process), &mut [0; 32])
        && let Ok(directory) = directory.number()
    {
        local_sockets::remove(directory, name);
    }
    directory.close();
}

/// Closes the parent's files, in a forked child, before `fork` returns. The child gets its own
/// socket when it next comes to the cold path.
pub(crate) fn restart_in_child() {
    CONNECTIONS.iter().chain([&LISTENER, &DIRECTORY]).for_each(Held::close);
    if STATE.load(Ordering::Relaxed) != OFF {
        STATE.store(UNASKED, Ordering::Relaxed);
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let mut service = Service::new();
    while service.is_needed() {
        service.turn(None);
    }
    core::ptr::null_mut()
}

/// The connections, as the serving thread knows them.
pub(crate) struct Service {
    connections: [Connection; CONNECTION_COUNT_MAX],
    /// The end of the pause in accepting connections; 0: no pause.
    relief: u64,
}

impl Service {
    pub(crate) fn new() -> Service {
        Service { connections: core::array::from_fn(|_| Connection::NONE), relief: 0 }
    }

    fn is_needed(&self) -> bool {
        LISTENER.is_some() || self.is_used()
    }

    /// Returns whether a tool is connected.
    pub(crate) fn is_used(&self) -> bool {
        self.connections.iter().any(|connection| connection.stage != Stage::Free)
    }

    /// Waits up to `limit` ns (`None`: for ever), and serves the connections.
    pub(crate) fn turn(&mut self, limit: Option<u64>) {
        if !self.is_needed() {
            return limit.filter(|limit| *limit != 0).map_or((), sys::nap);
        }
        let mut awaited = [Awaited::NONE; CONNECTION_COUNT_MAX + 1];
        let count = self.fill(&mut awaited);
        let limit = self.limit(limit);
        if !local_sockets::wait(&mut awaited[..count], limit) {
            sys::nap(limit.unwrap_or(RELIEF).min(RELIEF));
        }
        let [listener, connections @ ..] = awaited;
        for (place, connection) in self.connections.iter_mut().enumerate() {
            if connections[place].has_come() {
                connection.progress(&CONNECTIONS[place]);
            }
        }
        if listener.has_come() {
            self.accept();
        }
        self.end_overdue();
    }

    /// Notes what is awaited: the listener first, then the connections in their places. Returns the
    /// number of places in use.
    fn fill(&self, awaited: &mut [Awaited; CONNECTION_COUNT_MAX + 1]) -> usize {
        let is_free = |connection: &Connection| connection.stage == Stage::Free;
        if self.relief == 0
            && self.connections.iter().any(is_free)
            && let Ok(listener) = LISTENER.number()
        {
            awaited[0] = Awaited::input(listener);
        }
        for (place, connection) in self.connections.iter().enumerate() {
            let file = || number_of(&CONNECTIONS[place]);
            awaited[place + 1] = match connection.stage {
                Stage::Free => Awaited::NONE,
                Stage::Answering => Awaited::room(file()),
                Stage::Reading | Stage::Draining => Awaited::input(file()),
            };
        }
        self.connections.iter().rposition(|connection| !is_free(connection)).map_or(1, |at| at + 2)
    }

    /// Returns the time to wait: up to the next deadline.
    fn limit(&self, limit: Option<u64>) -> Option<u64> {
        let used = self.connections.iter().filter(|connection| connection.stage != Stage::Free);
        let deadlines = used.map(|connection| connection.deadline);
        let relief = (self.relief != 0).then_some(self.relief);
        let next = deadlines.chain(relief).min();
        let rest = next.map(|next| next.saturating_sub(clock::monotonic()));
        limit.into_iter().chain(rest).min()
    }

    fn accept(&mut self) {
        // The program may close all files that it does not know, and open others with these
        // numbers.
        let Ok(listener) = LISTENER.number() else { return LISTENER.set(None) };
        let places = self.connections.iter_mut().zip(&CONNECTIONS);
        for (connection, file) in places.filter(|(connection, _)| connection.stage == Stage::Free) {
            match local_sockets::accept(listener) {
                Ok(accepted) => connection.begin(file, accepted),
                Err(libc::EAGAIN | libc::ECONNABORTED) => return,
                Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS) => {
                    // The listener stays ready: without a pause this thread would not sleep.
                    self.relief = clock::monotonic() + RELIEF;
                    return;
                }
                Err(_) => return LISTENER.set(None),
            }
        }
    }

    fn end_overdue(&mut self) {
        let now = clock::monotonic();
        if self.relief <= now {
            self.relief = 0;
        }
        for (connection, file) in self.connections.iter_mut().zip(&CONNECTIONS) {
            if connection.stage != Stage::Free && connection.deadline <= now {
                if connection.stage == Stage::Reading {
                    connection.fail(file, &"the request was not complete within a second");
                }
                connection.close(file);
            }
        }
    }
}
