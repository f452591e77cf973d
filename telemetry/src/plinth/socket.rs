//! The plinth that is a socket: it sends blocks to a receiver, by TCP or a Unix socket.
//!
//! ```text
//!  block ──▶ send, without waiting ──▶ the system's buffer ~~▶ receiver
//!              └ what it does not take ──▶ queue of 16 blocks, sent first the next time
//!                                            └ full ──▶ refused: counted as io
//! ```
//!
//! The program never waits for the receiver, except at its end: one second, in all. If the receiver
//! has not read everything by then, the last blocks replace what waits: those with the counts of
//! every buffer, for which the system keeps room. So the receiver knows its losses. A lost receiver
//! is connected to again with another volume of the stream (`.header.volume`), complete in itself.
//! Design: `.sol.msg` in `design/telemetry.md`.

use super::connect::{Link, Standing};
use super::name::LogName;
use super::queue::Queue;
use super::{DestinationError, Operation, Plinth, PlinthError, c_path};
use crate::block::clock;
use crate::os::folder::Folder;
use crate::os::sync::Locked;
use crate::os::sys::{Errno, Held};
use crate::os::{entry, exit, pages, report, sockets, way_out};
use crate::plinth::destination::{self, Destination};
use core::ffi::CStr;
use core::fmt;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use eventlog::format::{BLOCK_MAGIC, BlockHeader, BlockType};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The greatest number of blocks that wait to be sent.
const QUEUE_BLOCK_COUNT: usize = 16;
/// The number of these that are kept for blocks with registries, strings and labels.
const QUEUE_RESERVE_COUNT: usize = 4;
/// The longest time that the end of the program waits for all receivers together, in ns.
const EXIT_TIME_MAX: u64 = 1_000_000_000;
/// The length of one such wait, in ms.
const WAIT_TIME: i32 = 50;

/// The time when the end of the program stops waiting, in ns of the monotonic clock; 0: not begun.
static EXIT_DEADLINE: AtomicU64 = AtomicU64::new(0);

/// A stream that is sent to a receiver, such as `eventcnv listen`.
///
/// Nothing ever waits for the receiver. Bytes beyond the buffers of the operating system and a
/// queue of 16 blocks are lost and counted as *io*. A missing receiver is looked for once a second,
/// and gets a further volume of the stream. Only the end of the program waits for it, one second.
///
/// ```
/// use std::io::Read;
/// use telemetry::SocketPlinth;
///
/// # mod shop { telemetry::events! {
/// # /// What happens in a shop.
/// # registry "shop" version(1, 0, 0);
/// # kinds standard;
/// # /// Something was sold.
/// # Sold(0x0001, always, Object) {
/// #     /// how many
/// #     count: W,
/// # } } }
/// let receiver = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let address = format!("tcp://{}", receiver.local_addr()?);
/// telemetry::setup().plinth(SocketPlinth::new(&address)?).start()?;
///
/// telemetry::control::set_output_everywhere(shop::Kinds::Object);
/// telemetry::event!(shop::Sold, 3usize);
/// let mut magic = [0; 4];
/// receiver.accept()?.0.read_exact(&mut magic)?;
/// assert_eq!(magic, *b"\xD5EVL");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SocketPlinth {
    /// The address, in which a `%p` may be.
    pub(super) name: LogName,
    /// The directory of a relative path.
    pub(super) folder: Folder,
    /// The connection. Only a forked child changes it without the lock of `link`.
    pub(super) file: Held,
    /// Whether `link` was in use, perhaps by a missing thread, when this forked child left its
    /// parent's connection.
    is_left: AtomicBool,
    link: Locked<Link>,
}

impl SocketPlinth {
    /// Returns a plinth for `tcp://HOST:PORT` or `unix:PATH`, which connects when the stream
    /// begins. A host is an address (IPv6 in brackets), `localhost`, or a name. The system's
    /// resolver looks up a name then, once; it may allocate and take its time.
    ///
    /// # Errors
    ///
    /// Fails if the address is neither of the two, or contains a NUL byte.
    pub fn new(address: impl AsRef<OsStr>) -> Result<SocketPlinth, DestinationError> {
        let address = address.as_ref();
        let wrong = |problem| DestinationError::new(address, problem);
        match destination::parse(address.as_bytes()).map_err(wrong)? {
            Destination::Tcp { .. } | Destination::Unix { .. } => {
                Ok(SocketPlinth::named(c_path(address.as_ref())?.into(), false))
            }
            _ => Err(wrong("not a socket address; use tcp://HOST:PORT or unix:PATH")),
        }
    }

    /// Returns a plinth for a valid address that lives for ever, without allocating. In a pattern
    /// `%p` is the process identifier.
    pub(crate) fn named(address: Cow<'static, CStr>, is_pattern: bool) -> SocketPlinth {
        SocketPlinth {
            name: LogName::new(address, is_pattern),
            folder: Folder::none(),
            file: Held::none(),
            is_left: AtomicBool::new(false),
            link: Locked::new(Link::new()),
        }
    }

    /// Checks the connection, and sends what waits; returns whether nothing waits any more.
    fn send_waiting(&self, link: &mut Link) -> Result<bool, Errno> {
        match link.standing {
            Standing::Up => {}
            Standing::Connecting => {
                if !self.settle(link)? {
                    return Ok(false);
                }
                link.stand(Standing::Up);
            }
            _ => return Err(link.errno),
        }
        let mut result = Ok(true);
        if let Some(queue) = &mut link.queue {
            while result == Ok(true) && queue.size() > 0 {
                result = sockets::send(self.file(), queue.front()).map(|size| {
                    queue.advance(size);
                    size > 0
                });
            }
        }
        result.map_err(|errno| self.fail(link, errno))
    }

    /// Returns the number of the connection; -1 if none exists, or the program has taken its
    /// number.
    pub(super) fn file(&self) -> i32 {
        self.file.number().unwrap_or(-1)
    }

    /// Sends a block, or queues it. After an error it did neither.
    fn put(&self, link: &mut Link, bytes: &[u8]) -> Result<(), Errno> {
        loop {
            let mut rest = bytes;
            if self.send_waiting(link)? {
                let sent = sockets::send(self.file(), bytes);
                let size = sent.map_err(|errno| self.fail(link, errno))?;
                rest = bytes.get(size..).unwrap_or_default();
            }
            // A block that was begun must be sent whole; the queue was empty, and has room.
            let reserve = if is_needed(bytes) || rest.len() < bytes.len() {
                0
            } else {
                link.block_size * QUEUE_RESERVE_COUNT
            };
            let has_room = |queue: &&mut Queue| queue.room().saturating_sub(reserve) >= rest.len();
            let taken = link.queue.as_mut().filter(has_room).is_some_and(|queue| queue.push(rest));
            if taken {
                return Ok(());
            }
            if exit::is_here() && self.wait() {
                continue;
            }
            if exit::is_here() && is_parts(bytes) && link.give_up(true) {
                continue;
            }
            link.has_refused = true;
            return Err(libc::ENOBUFS);
        }
    }

    /// Sends the last blocks, with the counts of the buffers, in place of what waits. Returns
    /// whether the system has them.
    fn send_last_word(&self, link: &mut Link) -> bool {
        link.give_up(true);
        sockets::use_room(self.file());
        self.send_waiting(link) == Ok(true)
    }

    /// Completes `leave`, in a forked child that could not do it at once.
    fn leave_late(&self) {
        let (mut link, is_broken) = self.link.take_over();
        if is_broken {
            *link = Link::new();
        }
        self.forget(&mut link);
    }

    /// Waits a little for the receiver, at the end of the program; returns false after the time
    /// limit.
    fn wait(&self) -> bool {
        let now = clock::monotonic();
        let begun = EXIT_DEADLINE.compare_exchange(
            0,
            now + EXIT_TIME_MAX,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        let is_time = begun.map_or_else(|deadline| now < deadline, |_| true);
        if is_time {
            sockets::wait(self.file(), WAIT_TIME);
        }
        is_time
    }
}

/// Returns whether other blocks need this one: it has parts, among them registries, or is the
/// store's.
fn is_needed(block: &[u8]) -> bool {
    let byte = |at: usize| block.get(at).copied();
    let registry = offset_of!(BlockHeader, registry);
    byte(offset_of!(BlockHeader, block_type)) != Some(BlockType::Events as u8)
        || (byte(registry), byte(registry + 1)) == (Some(0), Some(0))
}

fn is_parts(block: &[u8]) -> bool {
    let block_type = block.get(offset_of!(BlockHeader, block_type)).copied();
    block.starts_with(&BLOCK_MAGIC) && block_type == Some(BlockType::Parts as u8)
}

impl Plinth for SocketPlinth {
    /// A missing receiver does not fail the stream when it begins: it may appear. A further volume
    /// uses the same connection, if it is up.
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let failed = |errno| PlinthError { operation: Operation::Create, errno };
        if self.is_left.swap(false, Ordering::AcqRel) {
            self.leave_late();
        }
        let mut link = self.link.lock_waiting().ok_or(failed(libc::EAGAIN))?;
        match link.standing {
            Standing::Up | Standing::Connecting => return Ok(()),
            Standing::Down | Standing::Trying => return Err(failed(link.errno)),
            Standing::Found => {
                link.stand(Standing::Up);
                return Ok(());
            }
            Standing::None => {}
        }
        if link.queue.is_none() {
            let bytes = pages::map_bytes(block_size * QUEUE_BLOCK_COUNT);
            link.queue = Some(Queue::new(bytes.ok_or(failed(libc::ENOMEM))?));
            link.block_size = block_size;
        }
        self.find_peers(&mut link)?;
        link.peer_next = 0;
        // The next block reports an error.
        let _ = self.connect(&mut link);
        Ok(())
    }

    fn write_block(&self, _: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let failed = |errno| PlinthError { operation: Operation::Write, errno };
        let mut link = self.link.lock_waiting().ok_or(failed(libc::EAGAIN))?;
        self.put(&mut link, bytes).map_err(failed)
    }

    fn can_rewrite(&self) -> bool {
        false
    }

    /// Returns whether a lost receiver is connected again. Looks for it once a second.
    fn wants_volume(&self, _: u64) -> bool {
        self.link.try_lock().is_some_and(|mut link| self.seek(&mut link))
    }

    /// Sends what waits, without waiting; but when a signal ends the program, the receiver gets its
    /// second, as at the end.
    fn flush(&self) {
        let Some(mut link) = self.link.lock_waiting() else { return };
        // The next block reports an error.
        while self.send_waiting(&mut link) == Ok(false) && way_out::is_here() && self.wait() {}
    }

    /// Does not wait for the lock if the handler may have interrupted its holder.
    fn is_signal_safe(&self) -> bool {
        true
    }

    /// Gives the receiver its second to take what waits.
    fn finish(&self) {
        let Some(mut link) = self.link.lock_waiting() else { return };
        while self.send_waiting(&mut link) == Ok(false) && self.wait() {}
        if link.queue.as_ref().map_or(0, Queue::size) == 0 && link.given_up == 0 {
            return;
        }
        let is_told = self.send_last_word(&mut link);
        link.give_up(false);
        let refused = entry::hooks().map_or(0, |hooks| (hooks.refused)());
        let count = refused + link.given_up;
        // In a tee others took what this one refused; and of a block that was begun nobody counts.
        let least = if is_told && (refused > 0 || !link.has_refused) { "" } else { "at least " };
        report::say(format_args!(
            "{}: {least}{count} events were not sent when the program ended: the receiver is slow",
            self.name
        ));
    }

    /// Returns whether a receiver is slow.
    fn is_behind(&self) -> bool {
        let is_behind = |link: &mut Link| self.send_waiting(link) == Ok(false);
        self.link.try_lock().is_some_and(|mut link| is_behind(&mut link))
    }

    /// Leaves the connection to the parent. The child makes its own.
    fn leave(&self) -> bool {
        match self.link.try_lock() {
            Some(mut link) => self.forget(&mut link),
            // This very thread may hold the lock, below, and must not hit another file.
            None => {
                self.file.leave();
                self.is_left.store(true, Ordering::Release);
            }
        }
        true
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl Drop for SocketPlinth {
    fn drop(&mut self) {
        self.close();
    }
}
