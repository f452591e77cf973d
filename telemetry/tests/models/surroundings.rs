//! The modules around a ring: clock, stream, writer, threads. Each replaces the module of the same
//! name, as small as the ring allows.
//!
//! ```text
//!  ring ─▶ outlet ─▶ stream: checks each handed-over block at once, event by event
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.

use std::cell::{Cell, RefCell};

thread_local! {
    static LOG: RefCell<stream::Log> = const { RefCell::new(stream::Log::new()) };
    static WRITER: Cell<bool> = const { Cell::new(false) };
    static POLICY: Cell<policy::Policy> = const { Cell::new(policy::Policy::Write) };
    static TIME: Cell<u64> = const { Cell::new(0) };
}

pub(crate) mod clock {
    use eventlog::format::ClockSource;

    pub(crate) fn source() -> ClockSource {
        ClockSource::Monotonic
    }

    pub(crate) type Halves = [u32; 2];

    /// The base in force: of its own thread alone, and always near.
    pub(crate) struct OwnTicks;

    impl OwnTicks {
        pub(crate) fn zero() -> OwnTicks {
            OwnTicks
        }

        pub(crate) fn set(&self, _: Halves) {}
    }

    pub(crate) fn since(_: Halves, _: &OwnTicks) -> (u32, bool) {
        (0, true)
    }

    pub(crate) fn counter_base(_: u64) -> Halves {
        [0; 2]
    }

    pub(crate) fn system_ticks(_: ClockSource) -> Option<u64> {
        Some(0)
    }

    pub(crate) fn ticks() -> u64 {
        0
    }

    /// Returns a time that passes quickly: a thread that waits with a limit checks a few times.
    pub(crate) fn monotonic() -> u64 {
        super::TIME.set(super::TIME.get() + 100_000);
        super::TIME.get()
    }
}

pub(crate) mod way_out {
    pub(crate) fn is_here() -> bool {
        false
    }
}

/// No model forks.
pub(crate) mod forked {
    pub(crate) fn is_alone() -> bool {
        false
    }

    pub(crate) fn generation() -> u32 {
        1
    }
}

pub(crate) mod entry {
    use crate::os::depth;

    pub(crate) struct Entry(bool);

    impl Entry {
        pub(crate) fn new() -> Entry {
            Entry(depth::deepen())
        }

        pub(crate) fn is_nested(&self) -> bool {
            self.0
        }
    }

    impl Drop for Entry {
        fn drop(&mut self) {
            depth::rise();
        }
    }
}

pub(crate) mod identity {
    pub(crate) fn id() -> [u8; 8] {
        [0; 8]
    }
}

pub(crate) mod intern {
    pub(crate) const ALL_NEWS: crate::stream::outlet::News =
        crate::stream::outlet::News { put: |_| {}, bring: bring_news };

    pub(crate) fn bring_news(_: &crate::os::entry::Entry) -> bool {
        true
    }
}

pub(crate) mod parts {
    pub(crate) struct PartsBlock;

    impl PartsBlock {
        pub(crate) const fn payload_size_max(block_size: usize) -> usize {
            block_size
        }
    }
}

pub(crate) mod plinth {
    #[derive(Clone, Copy)]
    pub(crate) enum Operation {
        Write,
    }

    #[derive(Clone, Copy)]
    pub(crate) struct PlinthError {
        pub(crate) operation: Operation,
        pub(crate) errno: i32,
    }

    /// Gives a block its place behind the ring, if the file keeps blocks; the models have no file.
    pub(crate) fn keep(_: &crate::block::memory::OwnBlock) -> Result<bool, PlinthError> {
        Ok(crate::plinth::region::keep(|_| Ok::<(), PlinthError>(())).is_some())
    }
}

pub(crate) mod policy {
    pub(crate) use crate::offered::Policy;

    pub(crate) fn set(policy: Policy) {
        super::POLICY.set(policy);
    }

    pub(crate) fn of(_: u16, _: u8) -> Policy {
        super::POLICY.get()
    }
}

pub(crate) mod report {
    pub(crate) fn say(_: core::fmt::Arguments<'_>) {}
}

pub(crate) mod registration {
    pub(crate) const SLOT_COUNT: usize = 64;

    #[derive(Clone, Copy)]
    pub(crate) struct Registered {
        pub(crate) control: &'static eventdef::Control,
        pub(crate) index: u16,
    }

    pub(crate) fn owner(_: usize) -> Option<(Registered, u8)> {
        None
    }

    pub(crate) fn all() -> impl Iterator<Item = Registered> {
        core::iter::empty()
    }

    pub(crate) fn slot_in(_: u16, _: u8) -> Option<usize> {
        None
    }
}

/// Does nothing: no debugger reads the memory.
pub(crate) mod root {
    use crate::block::losses::{Cause, Counts};
    use crate::block::memory::Blocks;
    use eventlog::format::ClockSync;

    pub(crate) fn sync() -> ClockSync {
        ClockSync { ticks: 0, monotonic: 0, realtime: 0, uncertainty: 0 }
    }

    pub(crate) type Extent = core::sync::atomic::AtomicU64;

    pub(crate) fn add_ring(
        _: &Blocks,
        _: (u16, u8),
        _: u32,
        _: &'static Counts,
    ) -> Option<&'static Extent> {
        None
    }

    pub(crate) fn add_mapped(_: &Blocks) {}

    pub(crate) fn move_extent(_: &Extent, _: &Blocks) {}

    pub(crate) fn discard_unhoused(_: Cause, _: u64) {}

    pub(crate) fn house(_: Cause, _: u64) {}

    pub(crate) fn reset_unhoused() {}
}

pub(crate) mod writer {
    pub(crate) fn set(is_on: bool) {
        super::WRITER.set(is_on);
    }

    pub(crate) fn is_on() -> bool {
        super::WRITER.get()
    }

    /// Does nothing: the writer of a model looks by itself.
    pub(crate) fn wake() {}
}

pub(crate) mod sys {
    pub(crate) fn give_way() {
        crate::os::atomic::spin_loop();
    }

    pub(crate) fn nap(_: u64) {
        crate::os::atomic::spin_loop();
    }
}

pub(crate) mod depth {
    use std::cell::Cell;

    loom::thread_local!(static DEPTH: Cell<u32> = Cell::new(0));
    std::thread_local!(static DEPTH_OUTSIDE: Cell<u32> = const { Cell::new(0) });

    fn depth<T>(change: impl FnOnce(&Cell<u32>) -> T) -> T {
        match crate::os::atomic::is_in_model() {
            true => DEPTH.with(change),
            false => DEPTH_OUTSIDE.with(change),
        }
    }

    pub(crate) fn deepen() -> bool {
        depth(|depth| depth.replace(depth.get() + 1)) != 0
    }

    pub(crate) fn rise() {
        depth(|depth| depth.set(depth.get() - 1));
    }

    pub(crate) fn place() -> usize {
        depth(|depth| core::ptr::from_ref(depth).addr())
    }
}

pub(crate) mod stream {
    use crate::block::memory::{EVENT_SIZE, block_size};
    use crate::os::entry::Entry;
    use eventlog::format::BlockHeader;
    use std::collections::BTreeSet;

    /// Returns false: the models have no file.
    pub(crate) fn is_file_lost() -> bool {
        false
    }

    /// Fails: no file of a model refuses a block.
    pub(crate) fn tell(_: &crate::plinth::PlinthError) {
        unreachable!("a block was refused");
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Standing {
        None,
        Open,
        Failed,
        Left,
    }

    /// The events that a ring handed over.
    #[derive(Debug)]
    pub(crate) struct Log {
        /// Buffer and number of each event.
        pub(crate) numbers: BTreeSet<(u32, u64)>,
        pub(crate) blocks: u64,
        pub(crate) parts: u64,
    }

    impl Log {
        pub(crate) const fn new() -> Log {
            Log { numbers: BTreeSet::new(), blocks: 0, parts: 0 }
        }
    }

    /// Returns the value of the event with this number, which a thread recorded.
    pub(crate) fn value(thread: u32, number: u64) -> u64 {
        u64::from(thread) * 1000 + number
    }

    /// Returns the log, and begins another.
    pub(crate) fn take_log() -> Log {
        super::LOG.replace(Log::new())
    }

    /// Checks the events of a block or part: each is whole, at its number, by the thread of the
    /// block. At least one must be new; in a part, all.
    pub(crate) fn judge(header: &BlockHeader, events: &[u8], is_part: bool) {
        let count = events.len() / EVENT_SIZE;
        assert_eq!(header.count.get() as usize, count, "the header's count and the events");
        let mut new_count = 0;
        for (index, event) in events.chunks(EVENT_SIZE).rev().enumerate() {
            let number = header.first.get() + index as u64;
            let words: Vec<u64> =
                event.chunks(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap())).collect();
            let size = words[0] >> 16 & 0xFFFF;
            assert_eq!(size, EVENT_SIZE as u64, "event {number} is torn: {words:x?}");
            assert_eq!(words[1], value(header.thread.get(), number), "event {number} is another");
            new_count += usize::from(
                super::LOG.with_borrow_mut(|log| log.numbers.insert((header.buffer.get(), number))),
            );
        }
        assert!(new_count > 0 || count == 0, "handed over twice: {}", header.first.get());
        assert!(!is_part || new_count == count, "a part repeats older events");
    }

    pub(crate) fn standing() -> Standing {
        Standing::Open
    }

    pub(crate) fn ensure(entry: &Entry) -> Option<Standing> {
        (!entry.is_nested()).then_some(Standing::Open)
    }

    pub(crate) fn has_registry(_: &Entry, _: u16) -> bool {
        true
    }

    /// Does nothing: the models write each part at once.
    pub(crate) fn note_whole(_: &Entry, _: &BlockHeader) {}

    pub(crate) struct Parts;

    pub(crate) fn parts(entry: &Entry) -> Option<Parts> {
        (!entry.is_nested()).then_some(Parts)
    }

    /// Ends the use of the parts here, where the lock of the product ends.
    impl Drop for Parts {
        fn drop(&mut self) {}
    }

    impl Parts {
        pub(crate) fn deliver(&mut self) -> bool {
            true
        }

        pub(crate) fn has_room_for_part(&self, size: usize) -> bool {
            size <= block_size()
        }

        pub(crate) fn push_events(
            &mut self,
            mut header: BlockHeader,
            fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
        ) -> bool {
            let mut events = vec![0; header.payload_size()];
            fill(&mut header, &mut events);
            judge(&header, &events, true);
            super::LOG.with_borrow_mut(|log| log.parts += 1);
            true
        }

        pub(crate) fn write_copy(
            &mut self,
            _: BlockHeader,
            _: impl FnOnce(&mut BlockHeader, &mut [u8]),
        ) -> bool {
            unreachable!("each part has room");
        }
    }
}

pub(crate) mod volume {
    use crate::os::entry::Entry;
    use crate::stream::judge;
    use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

    pub(crate) struct Outgoing {
        pub(crate) registry: u16,
        pub(crate) place: u64,
        pub(crate) volume: u64,
        pub(crate) is_first: bool,
        pub(crate) is_forced: bool,
    }

    pub(crate) enum Written {
        Yes,
        No { place: u64, volume: u64 },
        Elsewhere,
    }

    pub(crate) fn write_block(_: &Entry, _: &Outgoing, bytes: &[u8]) -> Written {
        let header: BlockHeader = bytemuck::pod_read_unaligned(&bytes[..BLOCK_HEADER_SIZE]);
        let events = &bytes[header.last.get() as usize..];
        assert_eq!(header.crc.get(), header.checksum(events), "sealed");
        judge(&header, events, false);
        super::LOG.with_borrow_mut(|log| log.blocks += 1);
        Written::Yes
    }
}
