//! The connection of a socket plinth: how it comes about, and what becomes of it.
//!
//! ```text
//!  none ── create ─▶ connecting ─▶ up ── receiver gone ─▶ down ── a second ─▶ trying ─▶ found
//!                                  └◀─────────── create, of another volume ──────────────┘
//! ```
//!
//! No step of it waits. Design: `.sol.msg` in `design/telemetry.md`.

use super::queue::Queue;
use super::socket::SocketPlinth;
use super::{Operation, PlinthError};
use crate::block::{clock, memory};
use crate::os::sockets::{self, Peer, SOCKET_PATH_SIZE_MAX};
use crate::os::sys::Errno;
use crate::plinth::destination::{self, Destination};

const PEER_COUNT_MAX: usize = 4;
/// The longest time to connect, in ns. Nothing waits meanwhile.
const CONNECT_TIME_MAX: u64 = 3_000_000_000;
/// The least time between two attempts to connect, in ns.
const RETRY_TIME: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Never requested.
    None,
    /// Requested: bytes to send wait.
    Connecting,
    Up,
    /// It could not be made, or was lost.
    Down,
    /// Requested again. Until it is connected, no bytes are accepted.
    Trying,
    /// Connected again, for another volume.
    Found,
}

pub(super) struct Link {
    pub(super) standing: Standing,
    /// The time of its last change of state, in ns.
    pub(super) since: u64,
    pub(super) errno: Errno,
    pub(super) queue: Option<Queue>,
    pub(super) block_size: usize,
    /// Events that were accepted, and given up at the end of the program for its last blocks.
    pub(super) given_up: u64,
    pub(super) has_refused: bool,
    pub(super) peers: [Option<Peer>; PEER_COUNT_MAX],
    pub(super) peer_next: usize,
}

impl Link {
    pub(super) fn new() -> Link {
        Link {
            standing: Standing::None,
            since: 0,
            errno: libc::ENOTCONN,
            queue: None,
            block_size: 0,
            given_up: 0,
            has_refused: false,
            peers: [None; PEER_COUNT_MAX],
            peer_next: 0,
        }
    }

    /// Gives up the waiting blocks; with `keeps_accounts`, not those that have only counts. Returns
    /// false if none waited.
    pub(super) fn give_up(&mut self, keeps_accounts: bool) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let (dropped, lost) = queue.drop_blocks(self.block_size, keeps_accounts);
        self.given_up += lost;
        dropped > 0
    }

    pub(super) fn stand(&mut self, standing: Standing) {
        self.standing = standing;
        self.since = clock::monotonic();
    }
}

impl SocketPlinth {
    /// Finds the addresses. Asks the resolver once.
    pub(super) fn find_peers(&self, link: &mut Link) -> Result<(), PlinthError> {
        let failed = |errno| PlinthError { operation: Operation::Create, errno };
        if link.peers[0].is_some() {
            return Ok(());
        }
        match destination::parse(self.name.text()) {
            Ok(Destination::Unix { .. }) => {
                let peer =
                    self.name.with_path(|address| match destination::parse(address.to_bytes()) {
                        Ok(Destination::Unix { path }) => self.peer(path),
                        _ => None,
                    });
                let peer = peer.ok_or(failed(libc::EAGAIN))?;
                link.peers[0] = Some(peer.ok_or(failed(libc::ENAMETOOLONG))?);
            }
            Ok(Destination::Tcp { host, port }) => {
                if sockets::resolve(host, port, &mut link.peers) == 0 {
                    return Err(PlinthError { operation: Operation::Find, errno: libc::ENXIO });
                }
            }
            _ => return Err(failed(libc::EINVAL)),
        }
        Ok(())
    }

    /// Returns the receiver at a path, in the directory in which the program was at first.
    fn peer(&self, path: &[u8]) -> Option<Peer> {
        self.folder.note(path);
        let mut whole = [0; SOCKET_PATH_SIZE_MAX];
        let folder_size = self.folder.put_before(path.len(), &mut whole);
        let end = folder_size + path.len();
        whole.get_mut(folder_size..end)?.copy_from_slice(path);
        Peer::unix(&whole[..end])
    }

    /// Begins to connect to the next of its addresses that can be tried.
    pub(super) fn connect(&self, link: &mut Link) -> Result<(), Errno> {
        let is_again = matches!(link.standing, Standing::Down | Standing::Trying);
        while let Some(Some(peer)) = link.peers.get(link.peer_next) {
            link.peer_next += 1;
            match sockets::connect(peer, memory::block_size()) {
                Ok((file, is_connected)) => {
                    self.file.set(Some(file));
                    link.stand(match (is_again, is_connected) {
                        (false, false) => Standing::Connecting,
                        (false, true) => Standing::Up,
                        (true, false) => Standing::Trying,
                        (true, true) => Standing::Found,
                    });
                    return Ok(());
                }
                Err(errno) => link.errno = errno,
            }
        }
        Err(self.fail(link, link.errno))
    }

    /// Notes that the connection is lost, and with it the queued bytes.
    pub(super) fn fail(&self, link: &mut Link, errno: Errno) -> Errno {
        self.close();
        if let Some(queue) = &mut link.queue {
            queue.clear();
        }
        link.errno = errno;
        link.stand(Standing::Down);
        errno
    }

    /// Checks whether a connection attempt succeeded by now; if it failed, begins another one.
    pub(super) fn settle(&self, link: &mut Link) -> Result<bool, Errno> {
        match sockets::is_connected(self.file()) {
            Ok(true) => return Ok(true),
            Ok(false) if clock::monotonic() - link.since < CONNECT_TIME_MAX => return Ok(false),
            result => link.errno = result.err().unwrap_or(libc::ETIMEDOUT),
        }
        self.close();
        self.connect(link).map(|()| false)
    }

    /// Looks for a receiver that was lost, without waiting; returns whether it is connected.
    pub(super) fn seek(&self, link: &mut Link) -> bool {
        let standing = link.standing;
        match standing {
            Standing::Down if clock::monotonic() - link.since >= RETRY_TIME => {
                link.peer_next = 0;
                // If not, it tries again a second later.
                let _ = self.connect(link);
            }
            Standing::Trying if self.settle(link) == Ok(true) => link.stand(Standing::Found),
            _ => {}
        }
        link.standing == Standing::Found
    }

    /// Forgets the connection of a parent process.
    pub(super) fn forget(&self, link: &mut Link) {
        self.close();
        if let Some(queue) = &mut link.queue {
            queue.clear();
        }
        if self.name.has_pid() {
            link.peers = [None; PEER_COUNT_MAX];
        }
        link.standing = Standing::None;
    }

    pub(super) fn close(&self) {
        self.file.close();
    }
}
