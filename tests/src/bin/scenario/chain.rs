//! Stamps of what each thread did when: they travel with a message from thread to thread.
//!
//! ```text
//!  client  Work ─┐ Arrival                        Arrival ┌─ Work
//!  server        └────────▶ Work, Sync, Work ─────────────┘         each with two clocks
//! ```

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{self, Read, Write};

/// A thread of a scenario. Its name in the kernel is that of the variant, in [`Who::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    PassA,
    PassB,
    Client,
    Front,
    Back,
    Auth,
    Customer,
    Acceptor,
    Worker,
    Player,
    Decoder,
    Curl,
    Asker,
    Resolver,
}

impl Who {
    /// Threads and their names.
    const NAMES: [(Who, &'static str); 14] = [
        (Who::PassA, "pass-a"),
        (Who::PassB, "pass-b"),
        (Who::Client, "client"),
        (Who::Front, "front"),
        (Who::Back, "back"),
        (Who::Auth, "auth"),
        (Who::Customer, "customer"),
        (Who::Acceptor, "acceptor"),
        (Who::Worker, "worker"),
        (Who::Player, "player"),
        (Who::Decoder, "decoder"),
        (Who::Curl, "curl"),
        (Who::Asker, "asker"),
        (Who::Resolver, "resolver"),
    ];

    /// Returns the name of the thread.
    pub(crate) fn name(self) -> &'static str {
        Who::NAMES.iter().find(|(who, _)| *who == self).map_or("?", |(_, name)| name)
    }

    fn of(number: u8) -> io::Result<Who> {
        let found = Who::NAMES.get(usize::from(number)).map(|(who, _)| *who);
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The time up to a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The thread of the stamp computed.
    Work,
    /// The thread of the stamp waited for a disk.
    Sync,
    /// The message went from the thread of the stamp before to this one.
    Arrival,
    /// The thread of the stamp waited for a timer of its own.
    Timer,
    /// The thread of the stamp waited for something that did not come in time.
    Timeout,
}

impl What {
    const ALL: [What; 5] = [What::Work, What::Sync, What::Arrival, What::Timer, What::Timeout];
}

/// A moment of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) who: Who,
    pub(crate) what: What,
    /// CLOCK_MONOTONIC in ns.
    pub(crate) at: u64,
    /// The processor time of the thread in ns.
    pub(crate) cpu: u64,
    /// How long the thread was ready and had no processor, in ns.
    pub(crate) delay: u64,
}

/// Stamps in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(pub(crate) Vec<Stamp>);

/// Returns a clock's time in ns.
pub(crate) fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns how long this thread was ready and had no processor, in ns, as the scheduler counted.
fn delay() -> u64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").expect("the scheduler's counts");
    let delay = told.split(' ').nth(1).and_then(|delay| delay.parse().ok());
    delay.expect("the second of three counts")
}

impl Chain {
    /// The bytes of a stamp in a message.
    const STAMP_SIZE: usize = 26;

    /// Adds a stamp of this thread.
    pub(crate) fn stamp(&mut self, who: Who, what: What) {
        let [at, cpu] = [ClockId::Monotonic, ClockId::ThreadCPUTime].map(now);
        self.0.push(Stamp { who, what, at, cpu, delay: delay() });
    }

    /// Sends the stamps.
    pub(crate) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = vec![u8::try_from(self.0.len()).map_err(io::Error::other)?];
        for Stamp { who, what, at, cpu, delay } in &self.0 {
            bytes.extend([*who as u8, *what as u8]);
            bytes.extend(at.to_le_bytes());
            bytes.extend(cpu.to_le_bytes());
            bytes.extend(delay.to_le_bytes());
        }
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Receives stamps. Returns nothing at the end of the connection.
    pub(crate) fn receive(from: &mut impl Read) -> io::Result<Option<Chain>> {
        let mut count = [0];
        if from.read(&mut count)? == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::from(count[0]) * Chain::STAMP_SIZE];
        from.read_exact(&mut bytes)?;
        Chain::parse(&bytes).map(Some)
    }

    fn parse(bytes: &[u8]) -> io::Result<Chain> {
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let stamp = |bytes: &[u8]| {
            let what = What::ALL.get(usize::from(bytes[1])).copied();
            let what = what.ok_or(io::ErrorKind::InvalidData)?;
            let [at, cpu, delay] = [2, 10, 18].map(|from| number(&bytes[from..from + 8]));
            Ok(Stamp { who: Who::of(bytes[0])?, what, at, cpu, delay })
        };
        bytes.chunks_exact(Chain::STAMP_SIZE).map(stamp).collect::<io::Result<_>>().map(Chain)
    }
}
