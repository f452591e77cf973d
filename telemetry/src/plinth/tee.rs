//! The plinth that is several plinths: each block goes to all of them.
//!
//! ```text
//!            ┌▶ file      one accepts: accepted. Each failure is reported once, by name
//!  block ──▶ ┼▶ socket    one that only appends: all get whole blocks, at their places
//!            └▶ memory
//! ```
//!
//! A volume that one of them wants is begun in that one alone: to the others its blocks are the
//! bytes that come next, as if the two were concatenated (`.stream.again`). Design: `.req.multi` in
//! `design/telemetry.md`.

use super::{DestinationError, Operation, Plinth, PlinthError};
use crate::block::clock;
use crate::plinth::destination::TEE_COUNT_MAX;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The least time between two attempts to begin a volume in a host that failed to, in ns.
const RETRY_TIME: u64 = 1_000_000_000;

/// A stream that goes to several hosts at once.
///
/// A block that any of them accepts counts as accepted. So only blocks that none accepts count as
/// *io*; a log without a block that another log has shows this by the numbers of its events.
///
/// ```
/// use telemetry::{MemoryPlinth, SocketPlinth, TeePlinth};
///
/// let memory = MemoryPlinth::new();
/// let socket = SocketPlinth::new("unix:/run/nobody.is.here")?;
/// let tee = TeePlinth::new([Box::new(memory.clone()) as _, Box::new(socket) as _])?;
/// telemetry::setup().plinth(tee).start()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TeePlinth {
    hosts: [Option<Host>; TEE_COUNT_MAX],
    can_rewrite: AtomicBool,
}

struct Host {
    plinth: &'static dyn Plinth,
    is_begun: AtomicBool,
    is_open: AtomicBool,
    /// Whether it was left to a parent process, for ever.
    is_left: AtomicBool,
    wants_volume: AtomicBool,
    is_told: AtomicBool,
    /// The offset where its volume begins, and the end of its written bytes.
    base: AtomicU64,
    end: AtomicU64,
    /// The time of its last creation, or of the failure, in ns.
    since: AtomicU64,
}

impl Host {
    fn new(plinth: &'static dyn Plinth) -> Host {
        Host {
            plinth,
            is_begun: AtomicBool::new(false),
            is_open: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            wants_volume: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            base: AtomicU64::new(0),
            end: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Begins the stream in this plinth, or its next volume.
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        if self.is_left.load(Ordering::Acquire) {
            return Err(PlinthError { operation: Operation::Create, errno: libc::ECHILD });
        }
        let is_wanted = self.wants_volume.swap(false, Ordering::AcqRel);
        if self.is_begun.load(Ordering::Acquire) && !is_wanted {
            let end = self.end.load(Ordering::Acquire);
            self.base.store(end.next_multiple_of(block_size as u64), Ordering::Release);
            return Ok(());
        }
        self.base.store(0, Ordering::Release);
        self.end.store(0, Ordering::Release);
        self.since.store(clock::monotonic(), Ordering::Relaxed);
        let created = self.plinth.create(block_size);
        self.is_begun.fetch_or(created.is_ok(), Ordering::AcqRel);
        self.is_open.store(created.is_ok(), Ordering::Release);
        created.inspect_err(|error| self.tell(error))
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let place = self.base.load(Ordering::Acquire).saturating_add(offset);
        self.plinth.write_block(place, bytes).inspect_err(|error| self.tell(error))?;
        self.end.fetch_max(place.saturating_add(bytes.len() as u64), Ordering::AcqRel);
        Ok(())
    }

    /// Returns whether it wants another volume. After a failure to begin one it is not asked all
    /// the time, since each attempt is a volume to the others.
    fn wants_volume(&self, size: u64) -> bool {
        let is_due =
            self.is_open() || clock::monotonic() - self.since.load(Ordering::Relaxed) >= RETRY_TIME;
        let is_begun = self.is_begun.load(Ordering::Acquire);
        let size = self.base.load(Ordering::Acquire).saturating_add(size);
        let wants = is_begun && is_due && self.plinth.wants_volume(size);
        self.wants_volume.fetch_or(wants, Ordering::AcqRel) || wants
    }

    /// Leaves it to the parent process; returns whether a stream of the child can begin there.
    fn leave(&self) -> bool {
        let leaves = self.plinth.leave();
        self.is_left.store(!leaves, Ordering::Release);
        if self.is_open.swap(false, Ordering::AcqRel) {
            // Failures in the child are new.
            self.is_told.store(false, Ordering::Relaxed);
        }
        self.is_begun.store(false, Ordering::Release);
        self.wants_volume.store(false, Ordering::Release);
        leaves
    }

    fn tell(&self, error: &PlinthError) {
        let is_failure = error.operation != Operation::Renew;
        if is_failure && !self.is_told.swap(true, Ordering::Relaxed) {
            super::report(error, Some(self.plinth));
        }
    }
}

impl TeePlinth {
    /// Returns a plinth that writes to each of these, which are never dropped.
    ///
    /// # Errors
    ///
    /// Fails if there are no plinths, or more than eight.
    pub fn new(
        plinths: impl IntoIterator<Item = Box<dyn Plinth>>,
    ) -> Result<TeePlinth, DestinationError> {
        let wrong =
            || DestinationError::new("tee".as_ref(), "the number of plinths is not from 1 to 8");
        TeePlinth::placed(plinths.into_iter().map(|plinth| &*Box::leak(plinth))).ok_or_else(wrong)
    }

    /// Returns a plinth for plinths that live for ever, without allocating.
    pub(crate) fn placed(
        plinths: impl IntoIterator<Item = &'static dyn Plinth>,
    ) -> Option<TeePlinth> {
        let mut hosts = [const { None }; TEE_COUNT_MAX];
        let mut places = hosts.iter_mut();
        for plinth in plinths {
            *places.next()? = Some(Host::new(plinth));
        }
        hosts[0].is_some().then_some(TeePlinth { hosts, can_rewrite: AtomicBool::new(false) })
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().flatten()
    }

    fn open(&self) -> impl Iterator<Item = &Host> {
        self.hosts().filter(|host| host.is_open())
    }

    /// Calls an operation of each of them; returns an error if all fail.
    fn each<'a>(
        hosts: impl Iterator<Item = &'a Host>,
        operation: Operation,
        call: impl Fn(&Host) -> Result<(), PlinthError>,
    ) -> Result<(), PlinthError> {
        let mut done = Err(PlinthError { operation, errno: libc::EIO });
        for (index, host) in hosts.enumerate() {
            match call(host) {
                Ok(()) => done = Ok(()),
                Err(error) if index == 0 => done = Err(error),
                Err(_) => {}
            }
        }
        done
    }
}

impl Plinth for TeePlinth {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let create = |host: &Host| host.create(block_size);
        let created = TeePlinth::each(self.hosts(), Operation::Create, create);
        let can_rewrite = self.open().all(|host| host.plinth.can_rewrite());
        self.can_rewrite.store(can_rewrite, Ordering::Release);
        created
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let write = |host: &Host| host.write_block(offset, bytes);
        TeePlinth::each(self.open(), Operation::Write, write)
    }

    fn can_rewrite(&self) -> bool {
        self.can_rewrite.load(Ordering::Acquire)
    }

    fn wants_volume(&self, size: u64) -> bool {
        // All are asked, each with its own size.
        self.hosts().fold(false, |wants, host| host.wants_volume(size) | wants)
    }

    fn flush(&self) {
        self.open().for_each(|host| host.plinth.flush());
    }

    fn finish(&self) {
        self.open().for_each(|host| host.plinth.finish());
    }

    fn is_behind(&self) -> bool {
        self.open().any(|host| host.plinth.is_behind())
    }

    fn is_signal_safe(&self) -> bool {
        self.open().all(|host| host.plinth.is_signal_safe())
    }

    fn leave(&self) -> bool {
        self.hosts().fold(false, |can_begin, host| host.leave() | can_begin)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, host) in self.hosts().enumerate() {
            f.write_str(if index == 0 { "tee:" } else { "," })?;
            host.plinth.describe(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryPlinth;
    use std::sync::Arc;

    const SIZE: usize = 4096;

    /// What a test tells a plinth of its own to do.
    #[derive(Default)]
    struct Orders {
        fails: AtomicBool,
        appends: AtomicBool,
        wants: AtomicBool,
        created: AtomicU64,
    }

    struct Ordered(Arc<Orders>, MemoryPlinth);

    impl Ordered {
        fn obey(&self, operation: Operation) -> Result<(), PlinthError> {
            let fails = self.0.fails.load(Ordering::Relaxed);
            if fails { Err(PlinthError { operation, errno: libc::ENOSPC }) } else { Ok(()) }
        }
    }

    impl Plinth for Ordered {
        fn create(&self, _: usize) -> Result<(), PlinthError> {
            self.0.created.fetch_add(1, Ordering::Relaxed);
            self.obey(Operation::Create)
        }

        fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
            self.obey(Operation::Write)?;
            self.1.write_block(offset, bytes)
        }

        fn can_rewrite(&self) -> bool {
            !self.0.appends.load(Ordering::Relaxed)
        }

        fn wants_volume(&self, _: u64) -> bool {
            self.0.wants.load(Ordering::Relaxed)
        }
    }

    fn host() -> (Arc<Orders>, MemoryPlinth, Box<dyn Plinth>) {
        let (orders, memory) = (Arc::new(Orders::default()), MemoryPlinth::new());
        (orders.clone(), memory.clone(), Box::new(Ordered(orders, memory)))
    }

    #[test]
    fn a_tee_fails_only_if_every_host_fails() {
        let ((one, first, a), (two, second, b)) = (host(), host());
        let tee = TeePlinth::new([a, b]).expect("two");
        assert_eq!(tee.create(SIZE), Ok(()));
        assert!(tee.can_rewrite());
        one.fails.store(true, Ordering::Relaxed);
        assert_eq!(tee.write_block(0, &[1; SIZE]), Ok(()));
        two.fails.store(true, Ordering::Relaxed);
        let failed = PlinthError { operation: Operation::Write, errno: libc::ENOSPC };
        assert_eq!(tee.write_block(SIZE as u64, &[2; SIZE]), Err(failed));
        one.fails.store(false, Ordering::Relaxed);
        assert_eq!(tee.write_block(SIZE as u64, &[3; SIZE]), Ok(()));
        assert_eq!(first.bytes(), [[0; SIZE], [3; SIZE]].concat());
        assert_eq!(second.bytes(), [1; SIZE]);
    }

    #[test]
    fn a_host_that_cannot_be_created_leaves_the_others_alone() {
        let ((one, first, a), (two, second, b)) = (host(), host());
        one.fails.store(true, Ordering::Relaxed);
        two.appends.store(true, Ordering::Relaxed);
        let tee = TeePlinth::new([a, b]).expect("two");
        assert_eq!(tee.create(SIZE), Ok(()));
        assert!(!tee.can_rewrite(), "one of them appends");
        one.fails.store(false, Ordering::Relaxed);
        assert_eq!(tee.write_block(0, &[1; SIZE]), Ok(()));
        assert_eq!((first.bytes().len(), second.bytes().len()), (0, SIZE));
    }

    /// `.header.volume`
    #[test]
    fn a_host_that_wants_a_volume_begins_it_and_others_append_it() {
        let ((one, first, a), (two, second, b)) = (host(), host());
        let tee = TeePlinth::new([a, b]).expect("two");
        tee.create(SIZE).expect("created");
        tee.write_block(0, &[1; 100]).expect("written");
        assert!(!tee.wants_volume(100));
        two.wants.store(true, Ordering::Relaxed);
        assert!(tee.wants_volume(100));
        two.wants.store(false, Ordering::Relaxed);
        tee.create(SIZE).expect("created");
        tee.write_block(0, &[2; 100]).expect("written");
        let created = [&one, &two].map(|orders| orders.created.load(Ordering::Relaxed));
        assert_eq!(created, [1, 2]);
        assert_eq!(first.bytes().len(), SIZE + 100);
        assert_eq!(first.bytes()[SIZE..], [2; 100]);
        assert_eq!(second.bytes(), [2; 100]);
    }

    #[test]
    fn a_tee_has_at_most_eight_hosts_and_names_them() {
        let hosts = |count| (0..count).map(|_| Box::new(MemoryPlinth::new()) as Box<dyn Plinth>);
        assert!(TeePlinth::new(hosts(9)).is_err());
        let said = format!("{:?}", TeePlinth::new(hosts(2)).expect("two"));
        assert_eq!(said, "TeePlinth(tee:the log in memory,the log in memory)");
    }
}
