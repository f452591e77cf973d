//! Receives the logs of programs over sockets.
//!
//! ```text
//!  program ─┐            ┌─ thread ─ receive.rs ─▶ PROGRAM-PID-UUID.log ─┐
//!  program ─┼▶ Listener ─┼─ thread ─ …                                   ├─ thread ─▶ lines
//!  program ─┘            └─ …  at most 256; then silent ones lose …      ┘   with --dump
//!  signal ──▶ reading ends; each log is cut to whole blocks
//! ```
//!
//! Design: `.sol.msg`, `.req.multi` in `design/telemetry.md`.

use crate::tools::connection::{Connection, Shared};
use crate::tools::follow::Follow;
use crate::tools::receive;
use clap::ArgAction;
use cli::{Stop, complain};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{fs, thread};

const ABOUT: &str = "\
A program that runs with MPS_TELEMETRY_FILENAME=tcp://HOST:PORT (or unix:PATH) sends its log to \
this command. Each log becomes a new file, PROGRAM-PID-UUID.log; existing files stay. Events are \
printed as eventcnv follow prints them: a look at each log, five times a second, prints what is \
new in order of time. Ctrl-C ends the command when all received events are printed, and leaves \
complete files; a second Ctrl-C does not wait for the output. The command does not authenticate \
programs: listen only where trusted programs can connect.

Examples:
  eventcnv listen tcp://localhost:4711 -o logs   receive logs in the directory logs
  eventcnv listen unix:/tmp/logs -vv             also print the events, with names

Exit status:
  0  interrupted, and all logs were written
  1  interrupted, and a log could not be written
  2  cannot listen at the address";

/// Receive the logs of programs over sockets, one file each
#[derive(Debug, clap::Args)]
#[command(after_long_help = ABOUT)]
pub(crate) struct Listen {
    /// tcp://HOST:PORT or unix:PATH; for port 0 the system chooses, and the command prints the port
    pub(crate) address: String,

    /// The directory for the logs; it is made if it does not exist
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Also print the events
    #[arg(long)]
    pub(crate) dump: bool,

    /// Also print the events with names: -v in columns, -vv with parameter names and labels, -vvv
    /// with threads
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Seconds without a byte after which a connection may lose its place, if all 256 places are
    /// taken and another program connects. A program that lost its place connects again when it
    /// sends more
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) silence: u64,
}

/// The stack of a connection's thread.
const STACK_SIZE: usize = 512 << 10;
/// Time for the threads to finish their logs at the end.
const END_TIME_MAX: Duration = Duration::from_secs(2);
/// Pause after the system refuses a connection.
const RETRY_TIME: Duration = Duration::from_millis(200);

/// The socket that programs connect to.
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
            Err(format!("{address}: neither tcp://HOST:PORT nor unix:PATH"))
        }
    }

    fn accept(&self) -> io::Result<(Connection, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Connection::new(stream), peer.to_string()))
            }
            Listener::Unix(listener, path) => {
                let (stream, _) = listener.accept()?;
                Ok((Connection::new(stream), path.display().to_string()))
            }
        }
    }

    /// Returns the address for programs.
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

/// Binds a socket at a path. Replaces a socket at which no process listens any more.
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

/// Receives until a signal, or until the reader of the output closes it. Returns whether all logs
/// were written.
pub(crate) fn run(args: &Listen) -> Result<bool, Stop> {
    let listener = Arc::new(Listener::bind(&args.address).map_err(Stop::Message)?);
    let name = listener.name()?;
    make_directory(&args.directory).map_err(Stop::Message)?;
    let (mut ends, end) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, end.try_clone()?)?;
    }
    let is_printing = args.dump || args.verbose > 0;
    let (printed, logs) = channel();
    let shared = Arc::new(Shared {
        directory: args.directory.clone(),
        printed: is_printing.then_some(printed),
        is_ending: AtomicBool::new(false),
        received: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
        silence_max: Duration::from_secs(args.silence),
        connections: Mutex::new(Vec::new()),
        ended: Condvar::new(),
        end,
    });
    complain(&format!("eventcnv: listening on {name}\n"));
    let (listening, receiving) = (listener.clone(), shared.clone());
    thread::spawn(move || accept_programs(&listening, &receiving));
    if is_printing {
        let (follow, shared) = (Follow::plain(args.verbose), shared.clone());
        thread::spawn(move || receive::print(&logs, &follow, &shared));
    }
    // Waits for a signal, or for the end of the printer. Returns whether the printer has ended.
    let mut wait = || {
        let mut byte = [1];
        while ends.read(&mut byte).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
        byte == [0]
    };
    let has_printed = wait();
    shared.wait_for_rest();
    shared.is_ending.store(true, Ordering::SeqCst);
    if let Listener::Unix(_, path) = &*listener {
        let _ = fs::remove_file(path);
    }
    shared.connections().iter().for_each(|connection| connection.stop());
    if !shared.wait(0, END_TIME_MAX) {
        complain("eventcnv: some logs were not finished in time\n");
        shared.has_failed.store(true, Ordering::SeqCst);
    } else if is_printing && !has_printed {
        wait();
    }
    Ok(!shared.has_failed.load(Ordering::SeqCst))
}

/// Makes the directory of the logs if it does not exist. Its parent must exist.
fn make_directory(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{}: not a directory", path.display()),
        _ => format!("{}: cannot make the directory: {error}", path.display()),
    })
}

/// Accepts programs, each in a thread of its own.
fn accept_programs(listener: &Listener, shared: &Arc<Shared>) {
    let mut has_complained = false;
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
            // The error lasts until other connections end, or the listener is gone.
            if !has_complained {
                complain(&format!("eventcnv: cannot accept a program: {error}\n"));
            }
            has_complained = true;
            thread::sleep(RETRY_TIME);
        }
    }
}

/// Removes a connection from the list, however its thread ends.
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
