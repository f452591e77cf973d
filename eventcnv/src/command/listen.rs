//! The receiver of logs: where it listens, who is connected, and how it ends.
//!
//! ```text
//!  program ─┐            ┌─ thread ─ receive.rs ─▶ PROGRAM-PID-UUID.log ─▶ lines, if asked for
//!  program ─┼▶ Listener ─┼─ thread ─ …             256 at most; then silent ones make room
//!  program ─┘            └─ …
//!  signal ──▶ no more is read; each log is cut to whole blocks
//! ```
//!
//! Design: `.sol.msg`, `.req.multi` in `design/telemetry.md`.

use super::connection::{Connection, Shared, Socket};
use super::receive;
use clap::ArgAction;
use cli::{Stop, complain};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

pub(crate) const ABOUT: &str = "\
A program that runs with MPS_TELEMETRY_FILENAME=tcp://HOST:PORT (or unix:PATH) sends its log \
there. Each becomes a file of its own, PROGRAM-PID-UUID.log; none is ever overwritten. Events are \
printed block by block as they come, not in order of time: for that, read the log. \
Interrupted (Ctrl-C), it leaves whole files behind. It asks nobody who he is: listen where only \
those who may can connect.

Examples:
  eventcnv listen tcp://localhost:4711 -o logs   receive logs in the directory logs
  eventcnv listen unix:/tmp/logs -vv             and print the events, with names, as they come

Exit status:
  0  interrupted, and all logs were written
  1  interrupted, and not all could be written
  2  cannot listen there";

/// Where to listen, and what to do with what comes.
#[derive(Debug, clap::Args)]
pub(crate) struct Listen {
    /// tcp://HOST:PORT (port 0: any; it is said which) or unix:PATH
    pub(crate) address: String,

    /// Where the logs are put; it is made if it is not there
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Print the events too, as they come
    #[arg(long)]
    pub(crate) dump: bool,

    /// Print them with names: -v in columns, -vv with parameter names and labels
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Seconds without a byte after which a connection may lose its place, when all 256 places
    /// are taken and another program connects. A program that lost its place connects again when
    /// it has more to send
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) silence: u64,
}

/// The stack of a connection's thread: none is deep.
const STACK_SIZE: usize = 512 << 10;
/// How long the end waits for logs to be finished.
const END_TIME_MAX: Duration = Duration::from_secs(2);
/// How long nobody is let in where the system has no means to.
const RETRY_TIME: Duration = Duration::from_millis(200);

/// Where programs connect to.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    fn bind(address: &str) -> Result<Listener, String> {
        let failed = |error: io::Error| format!("{address}: {error}");
        if let Some(place) = address.strip_prefix("tcp://") {
            TcpListener::bind(place).map(Listener::Tcp).map_err(failed)
        } else if let Some(path) = address.strip_prefix("unix:").map(PathBuf::from) {
            let listener = bind_unix(&path).map_err(failed)?;
            Ok(Listener::Unix(listener, path))
        } else {
            Err(format!("{address}: is neither tcp://HOST:PORT nor unix:PATH"))
        }
    }

    fn accept(&self) -> io::Result<(Connection, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Connection::new(Socket::Tcp(stream)), peer.to_string()))
            }
            Listener::Unix(listener, path) => {
                let (stream, _) = listener.accept()?;
                Ok((Connection::new(Socket::Unix(stream)), path.display().to_string()))
            }
        }
    }

    /// Its address, as a program is to be told it.
    fn name(&self) -> io::Result<String> {
        Ok(match self {
            Listener::Tcp(listener) => format!("tcp://{}", listener.local_addr()?),
            Listener::Unix(_, path) => format!("unix:{}", path.display()),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// A socket at this path: also where one is left over at which nobody listens any more.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let is_socket = fs::symlink_metadata(path)?.file_type().is_socket();
            let is_left = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
            if !(is_socket && UnixStream::connect(path).is_err_and(is_left)) {
                return Err(error);
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        result => result,
    }
}

/// Receives until a signal, or whoever read the output has had enough. Whether all was written.
pub(crate) fn run(args: &Listen) -> Result<bool, Stop> {
    let listener = Arc::new(Listener::bind(&args.address).map_err(Stop::Message)?);
    let name = listener.name()?;
    make_directory(&args.directory).map_err(Stop::Message)?;
    let (mut ends, end) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, end.try_clone()?)?;
    }
    let shared = Arc::new(Shared {
        directory: args.directory.clone(),
        form: (args.dump || args.verbose > 0).then_some(args.verbose),
        is_ending: AtomicBool::new(false),
        received: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
        silence_max: Duration::from_secs(args.silence),
        print_memory: AtomicUsize::new(0),
        connections: Mutex::new(Vec::new()),
        ended: Condvar::new(),
        end,
    });
    complain(&format!("eventcnv: listening on {name}\n"));
    let (listening, receiving) = (listener.clone(), shared.clone());
    thread::spawn(move || let_in(&listening, &receiving));
    while ends.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
    shared.wait_for_the_rest();
    shared.is_ending.store(true, Ordering::SeqCst);
    if let Listener::Unix(_, path) = &*listener {
        let _ = fs::remove_file(path);
    }
    shared.connections().iter().for_each(|connection| connection.stop());
    if !shared.wait(0, END_TIME_MAX) {
        complain("eventcnv: not all logs could be finished in time\n");
        shared.has_failed.store(true, Ordering::SeqCst);
    }
    Ok(!shared.has_failed.load(Ordering::SeqCst))
}

/// Makes the directory of the logs, if it is not there, in one that is.
fn make_directory(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{}: is not a directory", path.display()),
        _ => format!("{}: cannot be made: {error}", path.display()),
    })
}

/// Lets programs in, each in a thread of its own.
fn let_in(listener: &Listener, shared: &Arc<Shared>) {
    let mut is_told = false;
    loop {
        let begun = listener.accept().and_then(|(connection, peer)| {
            shared.make_room();
            let connection = Arc::new(connection);
            let mut connections = shared.connections();
            if shared.is_ending.load(Ordering::SeqCst) {
                return Ok(());
            }
            let (mine, receiving) = (connection.clone(), shared.clone());
            thread::Builder::new().stack_size(STACK_SIZE).spawn(move || {
                let _ended = Ended { connection: &mine, shared: &receiving };
                receive::receive(&mine, &peer, &receiving);
            })?;
            connections.push(connection);
            Ok(())
        });
        if let Err(error) = begun {
            // It lasts until others end, or nobody listens here any more.
            if !is_told {
                complain(&format!("eventcnv: cannot let a program in: {error}\n"));
            }
            is_told = true;
            thread::sleep(RETRY_TIME);
        }
    }
}

/// Takes a connection off the list, however its thread ends.
struct Ended<'a> {
    connection: &'a Arc<Connection>,
    shared: &'a Shared,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.shared.connections().retain(|other| !Arc::ptr_eq(other, self.connection));
        self.shared.ended.notify_all();
    }
}
