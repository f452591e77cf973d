//! A log that a tool makes, event by event, without the runtime.
//!
//! ```text
//!  begin(Origin) ─▶ header, registries ─┐
//!  add ─▶ bytes ─▶ a run of its buffer ─┼─▶ blocks and parts, as runs are full ─▶ io::Write
//!  label, thread, sync, lose ───────────┘
//! ```
//!
//! Memory: events that wait, up to a limit; about 100 bytes for each buffer; 8 bytes for each
//! interned string. Rules: `.made` in `design/format.md`.

use super::error::MakeError;
use super::origin::Origin;
use super::out::Out;
use super::pack::{MEMORY_MAX, Packer, Place, STORE};
use super::stream::{Buffer, Cause, OpenStream};
use crate::format::{BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, ClockSync};
use eventdef::field::A;
use eventdef::{Event, Registry, store};
use std::io::{self, Write};

/// Clock syncs that wait for a block, at most.
const SYNC_COUNT_MAX: usize = 1024;
/// Bytes of the encodings of all registries of a log, at most: the limit of a reader
/// (`.registry.trust`).
const REGISTRIES_SIZE_MAX: usize = 16 << 20;

/// A stream of a log that is being made, as [`Maker::begin`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub(super) usize);

/// What was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Made {
    /// Events, including those of the store.
    pub event_count: u64,
    /// Size in bytes.
    pub size: u64,
}

/// A log that is being made, event by event.
///
/// Events have the types that `events!` makes, and this platform's byte order and word size. The
/// maker adds their registries to the log. It numbers the events of each buffer in the order in
/// which they are added.
///
/// At equal ticks, a reader gives the lower buffer first, then the lower number. So put the events
/// that begin and end on one thread into one buffer, whatever their kinds. A log whose buffers have
/// one kind each opens fastest. Buffer 0 holds the store: names and labels.
///
/// ```
/// use eventlog::format::ClockSync;
/// use eventlog::reader::{Filter, Log, Order};
/// use eventlog::writer::{Cause, Maker, Origin};
///
/// eventdef::events! {
///     /// What a shop does.
///     registry "shop" version(1, 0, 0);
///     kinds {
///         /// Sales.
///         Sale = 0,
///     }
///
///     /// Something was sold.
///     Sold(0x0001, always, Sale) {
///         /// how many
///         count: W,
///         /// what
///         item: S,
///     }
/// }
///
/// let mut origin = Origin::new();
/// origin.program = "shop".into();
/// let mut bytes = Vec::new();
/// let mut maker = Maker::new(&mut bytes);
/// maker.begin(&origin)?;
/// maker.thread(1000, 1, 4711, "till")?;
/// maker.add(1, 1, 1000, &Sold { count: 3, item: b"apples" })?;
/// maker.add(1, 1, 2000, &Sold { count: 1, item: b"pears" })?;
/// maker.lose::<Sold>(1, 1, Cause::Full, 7)?;
/// for ticks in [1000, 2000] {
///     let realtime = 1_700_000_000_000_000_000 + ticks;
///     maker.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 })?;
/// }
/// maker.finish()?;
///
/// let log = Log::from_source(bytes)?;
/// let mut events = log.events(Order::Time, &Filter::default());
/// let mut count = 0;
/// while let Some(event) = events.next() {
///     count += event.param("count").and_then(|count| count.as_u64()).unwrap_or(0);
/// }
/// assert_eq!(count, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A maker that is dropped leaves a log without its end mark and without the events that waited.
#[must_use = "a log is whole only after `finish`"]
pub struct Maker<'o> {
    out: Out<'o>,
    streams: Vec<OpenStream>,
    current: Option<usize>,
    /// The stream whose blocks are being written.
    written: Option<usize>,
    /// Bytes of events that wait in all streams.
    pub(super) memory: usize,
    /// Bytes that are left for the encodings of further registries.
    registries_room: usize,
    event_count: u64,
    /// The event that is being added.
    bytes: Vec<u8>,
    /// The failure of the output: further bytes would stand at wrong offsets.
    failed: Option<io::ErrorKind>,
}

opaque_debug!(Maker<'_>);

impl<'o> Maker<'o> {
    /// Returns a maker that writes whole blocks to `out`, without a stream.
    pub fn new(out: &'o mut dyn Write) -> Maker<'o> {
        Maker {
            out: Out::new(out),
            streams: Vec::new(),
            current: None,
            written: None,
            memory: 0,
            registries_room: REGISTRIES_SIZE_MAX,
            event_count: 0,
            bytes: Vec::new(),
            failed: None,
        }
    }

    /// Begins a stream, and makes it the current one.
    ///
    /// # Errors
    ///
    /// Fails if a stream has the same UUID; if the log has 65535 streams; if the block size is not
    /// from 2^12 to 2^20; if the clock sync has ticks 0; if the registries are too large in all.
    pub fn begin(&mut self, origin: &Origin) -> Result<StreamId, MakeError> {
        self.is_right()?;
        let log2 = origin.block_size_log2;
        if !(BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&log2) {
            return Err(MakeError::BlockSize { log2 });
        }
        if origin.sync.ticks == 0 && origin.sync != ClockSync::default() {
            return Err(MakeError::SyncTicks);
        }
        if self.streams.iter().any(|stream| stream.header.uuid == origin.uuid) {
            return Err(MakeError::StreamTwice { uuid: origin.uuid });
        }
        if self.streams.len() >= usize::from(u16::MAX) {
            return Err(MakeError::Streams);
        }
        let mut making = OpenStream::new(origin);
        // `.store`: it comes first in every stream.
        making.registry(&store::REGISTRY, &mut self.registries_room)?;
        self.streams.push(making);
        let id = StreamId(self.streams.len() - 1);
        self.current = Some(id.0);
        Ok(id)
    }

    /// Makes an earlier stream the current one. Each change of the stream that is written costs one
    /// block (`.made.turn`).
    ///
    /// # Errors
    ///
    /// Fails if the log has no such stream.
    pub fn turn(&mut self, stream: StreamId) -> Result<(), MakeError> {
        self.streams.get(stream.0).ok_or(MakeError::NoStream)?;
        self.current = Some(stream.0);
        Ok(())
    }

    /// Adds a registry to the current stream, unless the stream has it, and returns its index.
    /// [`Maker::add`] does so too: call this where the order of registries matters, or for a
    /// registry without events. A registry that `events!` did not make must keep the same laws.
    ///
    /// # Errors
    ///
    /// Fails if the stream has 65535 registries; if the registries of the log have more than
    /// 16 MiB, which a reader may refuse.
    pub fn registry(&mut self, registry: &'static Registry) -> Result<u16, MakeError> {
        let (making, room) = self.current()?;
        making.registry(registry, room)
    }

    /// Adds an event to the end of a buffer of the current stream. `thread` recorded it: 0 if that
    /// is not known. Ticks may go back: a reader puts the events in order.
    ///
    /// # Errors
    ///
    /// Fails if the event is larger than a block holds ([`Maker::lose`] counts it, as
    /// [`Cause::Large`]); if the event type is not in its registry; if an event of the store is not
    /// for buffer 0 and thread 0, or another event is for buffer 0; if the output fails.
    pub fn add<E: Event>(
        &mut self,
        buffer: u32,
        thread: u32,
        ticks: u64,
        event: &E,
    ) -> Result<(), MakeError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let encoded = self.current().and_then(|(making, room)| {
            let (place, size_min) = making.place::<E>(buffer, thread, room)?;
            making.encode(event, size_min, &mut bytes)?;
            Ok(place)
        });
        let result = encoded.and_then(|place| self.put(place, ticks, &bytes));
        self.bytes = bytes;
        result
    }

    /// Adds an encoded event.
    fn put(&mut self, place: Place, ticks: u64, bytes: &[u8]) -> Result<(), MakeError> {
        self.is_right()?;
        let (making, _) = self.current()?;
        let (_, number) = making.take(place, 1)?;
        let before = making.packer.memory();
        let mut full = making.packer.add(&Place { number, ..place }, ticks, bytes);
        // `.made.names`: a run of the store does not wait.
        let is_crowded = place.buffer != STORE.buffer
            && full.take().is_some_and(|full| making.packer.wait(full));
        let after = making.packer.memory();
        self.memory = self.memory + after - before;
        self.event_count += 1;
        match (full, self.current) {
            (Some(full), Some(at)) => self.write(at, |packer, out| packer.emit(&full, out))?,
            (None, Some(at)) if is_crowded => self.write(at, Packer::flush_waiting)?,
            _ => {}
        }
        if self.memory > MEMORY_MAX { self.make_room() } else { Ok(()) }
    }

    /// Writes events of the largest streams, until half of the memory limit is left.
    fn make_room(&mut self) -> Result<(), MakeError> {
        while self.memory > MEMORY_MAX / 2 {
            let surplus = self.memory - MEMORY_MAX / 2;
            let sizes = self.streams.iter().map(|stream| stream.packer.memory()).enumerate();
            let Some((largest, size)) = sizes.max_by_key(|(_, size)| *size) else { break };
            self.write(largest, |packer, out| {
                packer.flush(&STORE, out)?;
                packer.shrink(size.saturating_sub(surplus), out)
            })?;
        }
        Ok(())
    }

    /// Interns a string in the current stream, and returns its number. Labels and the caller's own
    /// events name the string by it. Each call gives another number.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn intern(&mut self, ticks: u64, string: &[u8]) -> Result<usize, MakeError> {
        let id = self.current()?.0.strings.len() + 1;
        self.add(STORE.buffer, STORE.thread, ticks, &store::Intern { stringId: id, string })?;
        self.current()?.0.strings.push(ticks);
        Ok(id)
    }

    /// Labels a pointer, an address or a word with an interned string from these ticks on. String 0
    /// removes the label.
    ///
    /// # Errors
    ///
    /// Fails if the stream has no such string before these ticks (`.store.before`); and as
    /// [`Maker::add`] does.
    pub fn label(&mut self, ticks: u64, address: usize, string: usize) -> Result<(), MakeError> {
        let (making, _) = self.current()?;
        let known = string.checked_sub(1).map(|at| making.strings.get(at));
        if known.is_some_and(|from| from.is_none_or(|from| *from > ticks)) {
            return Err(MakeError::String { string });
        }
        let label = store::Label { address: A(address), stringId: string };
        self.add(STORE.buffer, STORE.thread, ticks, &label)
    }

    /// Names a thread: its index in the stream, from 1; the operating system's number; its name.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn thread(
        &mut self,
        ticks: u64,
        thread: u32,
        os_thread: usize,
        name: &str,
    ) -> Result<(), MakeError> {
        let (thread, name) = (thread as usize, name.as_bytes());
        let thread = store::Thread { thread, osThread: os_thread, name };
        self.add(STORE.buffer, STORE.thread, ticks, &thread)
    }

    /// Adds a clock sync to the current stream. One before the first event and one after the last
    /// give all events a time of day.
    ///
    /// # Errors
    ///
    /// Fails if the sync has ticks 0, which in the format means none; if the output fails.
    pub fn sync(&mut self, sync: ClockSync) -> Result<(), MakeError> {
        self.is_right()?;
        let (making, _) = self.current()?;
        if sync.ticks == 0 {
            return Err(MakeError::SyncTicks);
        }
        making.packer.add_sync(sync);
        let is_full = making.packer.sync_count() > SYNC_COUNT_MAX;
        let is_due = is_full || making.packer.is_waiting();
        let Some(at) = self.current.filter(|_| is_due) else { return Ok(()) };
        self.write(at, |packer, out| {
            packer.flush_waiting(out)?;
            if is_full { packer.flush_syncs(out) } else { Ok(()) }
        })
    }

    /// Counts lost events: events of the kind of `E` that a buffer of the current stream lacks.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does; and if the buffer has no numbers left for them.
    pub fn lose<E: Event>(
        &mut self,
        buffer: u32,
        thread: u32,
        cause: Cause,
        count: u64,
    ) -> Result<(), MakeError> {
        let (making, room) = self.current()?;
        let (place, _) = making.place::<E>(buffer, thread, room)?;
        // `.made.loss`
        let is_numbered = matches!(cause, Cause::Io | Cause::Overwritten);
        let (Buffer { counts, .. }, _) = making.take(place, if is_numbered { count } else { 0 })?;
        let sum = counts.of(cause);
        *sum = sum.saturating_add(count);
        Ok(())
    }

    /// Writes the remaining events, and ends the log.
    ///
    /// # Errors
    ///
    /// Fails if the log has no stream, or the output fails.
    pub fn finish(mut self) -> Result<Made, MakeError> {
        self.is_right()?;
        if self.streams.is_empty() {
            return Err(MakeError::NoStream);
        }
        let last = self.written.unwrap_or(0);
        let others = (0..self.streams.len()).filter(|at| *at != last);
        for at in std::iter::once(last).chain(others) {
            let accounts = self.streams.get_mut(at).map(OpenStream::accounts).unwrap_or_default();
            self.write(at, |packer, out| {
                packer.flush_all(out)?;
                packer.flush_syncs(out)?;
                for Buffer { place, counts } in &accounts {
                    packer.write_account(place, counts, out)?;
                }
                packer.write_end(0, out)
            })?;
        }
        let size = self.out.finish()?;
        Ok(Made { event_count: self.event_count, size })
    }

    /// Fails if the output failed before.
    fn is_right(&self) -> Result<(), MakeError> {
        self.failed.map_or(Ok(()), |kind| Err(MakeError::Io(kind.into())))
    }

    /// Returns the current stream, and the room for registries.
    fn current(&mut self) -> Result<(&mut OpenStream, &mut usize), MakeError> {
        let making = self.current.and_then(|at| self.streams.get_mut(at));
        Ok((making.ok_or(MakeError::NoStream)?, &mut self.registries_room))
    }

    /// Writes to a stream, after its header and its registries.
    fn write(
        &mut self,
        at: usize,
        write: impl FnOnce(&mut Packer, &mut Out<'o>) -> io::Result<()>,
    ) -> Result<(), MakeError> {
        let Some(making) = self.streams.get_mut(at) else { return Err(MakeError::NoStream) };
        let before = making.packer.memory();
        let is_next = self.written == Some(at);
        self.written = Some(at);
        let result = making
            .put_head(is_next, &mut self.out)
            .and_then(|()| write(&mut making.packer, &mut self.out));
        self.memory = self.memory + making.packer.memory() - before;
        self.failed = result.as_ref().err().map(io::Error::kind);
        Ok(result?)
    }
}
