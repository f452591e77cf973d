//! The models: the steps of each thread, and the result that must hold.
//!
//! ```text
//!  set up: a ring, some events ─▶ owner ∥ flusher ∥ writer ─▶ flush ─▶ each number once, whole
//! ```
//!
//! `surroundings.rs` checks each block and part when the ring hands it over. Design:
//! `.sol.ordering` in `design/telemetry.md`.

use crate::block::memory::{
    self, Block, Blocks, EVENT_SIZE, OwnBlock, block_size, keep, own, own_block,
};
use crate::naming::a_name_precedes_the_events_of_each_thread;
use crate::os::link::Link;
use crate::os::{entry::Entry, sync::Locked};
use crate::plinth::region;
use crate::registry::policy::{self, Policy};
use crate::rings::ring::{Identity, Ring, shares};
use crate::stream::gate::Gate;
use crate::stream::{judge, take_log, value, writer};
use crate::sums::*;
use core::sync::atomic::Ordering;
use eventdef::{Control, ParamSink, store};
use eventlog::format::BLOCK_MAGIC;
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

/// A model, named by the sentence that it proves.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) run: fn(),
    /// The greatest number of preemptions of a thread; threads also stop where they wait.
    pub(crate) preemption_count_max: usize,
}

macro_rules! models {
    ($($name:ident, $preemption_count_max:expr;)*) => {
        pub(crate) const MODELS: &[Model] = &[$(Model {
            name: stringify!($name),
            run: $name,
            preemption_count_max: $preemption_count_max,
        }),*];

        mod unweakened {
            $(
                #[test]
                fn $name() {
                    let model = crate::models::MODELS.iter().find(|m| m.name == stringify!($name));
                    crate::weakenings::holds(model.unwrap());
                }
            )*
        }
    };
}

// The deepest ones last, by their executions: an ordering that is weakened is tried in this order.
models! {
    a_reader_of_the_publishing_word_sees_whole_events, 3;
    a_ring_switched_on_while_overwriting_counts_its_losses, 1;
    a_nested_owner_never_waits_for_a_flusher, 1;
    a_thread_adopts_a_ring_that_another_left, 3;
    a_lock_gives_its_value_to_one_thread_at_a_time, 3;
    a_link_leads_to_a_whole_value, 3;
    a_shut_gate_admits_one_thread, 3;
    a_list_leads_to_whole_values, 3;
    a_name_precedes_the_events_of_each_thread, 3;
    observers_are_told_by_one_thread_at_a_time, 2;
    a_reader_of_a_row_sees_whole_sums, 2;
    the_last_told_sums_of_a_row_are_the_newest, 2;
    a_ring_with_output_overwrites_during_a_flush, 1;
    two_rings_share_the_blocks_of_a_file, 2;
    a_thread_adopts_a_ring_while_another_takes_its_block, 1;
    a_reader_gets_counts_while_the_owner_advances, 1;
    a_ring_switched_off_during_a_flush_keeps_later_events, 2;
    an_overwriting_ring_enters_a_file_during_a_flush, 1;
    an_owner_fills_and_reuses_blocks_during_a_flush, 1;
    a_reader_gets_counts_while_the_only_block_is_reused, 1;
    a_writer_an_owner_and_a_flusher_lose_no_event, 1;
}

/// Records an event into a block, as `record` does.
fn put(mut block: OwnBlock, delta: u32, value: u64) -> bool {
    let Some(mut claim) = block.claim(EVENT_SIZE) else { return false };
    claim.put_header(7, delta);
    claim.put_u64(8, value);
    claim.publish();
    true
}

/// A ring and the number of its events.
#[derive(Clone, Copy)]
struct Recording {
    ring: &'static Ring,
    control: &'static Control,
    thread: u32,
    count: u64,
}

impl Recording {
    /// Makes a ring of two blocks with some events in it.
    fn new(is_output: bool, count: u64) -> Recording {
        Recording::of(1, 0, is_output, count)
    }

    /// Makes the same for a thread and kind.
    fn of(thread: u32, kind: u8, is_output: bool, count: u64) -> Recording {
        let control: &'static Control = keep(Control::new(&store::REGISTRY));
        control.output().store(if is_output { u64::MAX } else { 0 }, Ordering::Relaxed);
        let identity = Identity { registry: 1, kind, buffer: thread };
        let own = Ring::create(control, identity, thread, 2, 0).unwrap();
        let ring = own.ring();
        // The first uses of all atomics, before the threads begin.
        assert!(ring.adopt(0).is_none() && ring.next().get().is_none() && !ring.is_in_file());
        assert!(!ring.send_waiting(&Entry::new()) && ring.is_sent(0));
        assert!(own.advance_in_file(&Entry::new(), 0, thread) != Some(false));
        let mut recording = Recording { ring, control, thread, count: 0 };
        assert_eq!(recording.record(count), count);
        recording
    }

    /// Records events, as `record` and its slow path do. Returns the number of recorded ones; the
    /// others are counted as full.
    fn record(&mut self, count: u64) -> u64 {
        let before = self.count;
        for _ in 0..count {
            let value = value(self.thread, self.count);
            let own = own(self.ring);
            let put = || put(own.block(), own.delta([0; 2]).0, value);
            if put() || own.advance(&Entry::new(), 0, self.thread) && put() {
                self.count += 1;
            } else {
                self.ring.counts.discard(crate::block::losses::Cause::Full, 1);
            }
        }
        self.count - before
    }

    /// Flushes the rest when no other thread runs. Every recorded event must be in the log or
    /// counted as overwritten.
    fn judge(&self) {
        self.ring.flush(&Entry::new());
        let losses = self.ring.losses();
        let log = take_log();
        assert_eq!(losses.recorded, self.count, "{losses:?}");
        assert_eq!(log.numbers.len() as u64 + losses.overwritten, self.count, "{log:?} {losses:?}");
        let numbers = log.numbers.iter().map(|(_, number)| *number);
        assert!(numbers.eq(losses.overwritten..self.count), "{log:?} {losses:?}");
    }

    /// Checks the same for a file: its blocks hold the events, and the newest holds the count of
    /// overwritten ones.
    fn judge_file(&self, block_count: u32) {
        self.ring.flush(&Entry::new());
        let losses = self.ring.losses();
        assert_eq!(losses.recorded, self.count, "{losses:?}");
        let state = shares::lock(&Entry::new()).unwrap();
        let blocks = (0..block_count).map(|place| state.block(place));
        let of_ring = |block: &Block| {
            let header = block.header();
            header.magic == BLOCK_MAGIC && header.buffer.get() == self.ring.buffer()
        };
        take_log();
        let mut newest = (0, 0);
        for block in blocks.filter(of_ring) {
            let header = block.header();
            newest = newest.max((header.sequence.get(), header.overwritten.get()));
            let (last, top) = (header.last.get() as usize, header.top.get() as usize);
            own_block(block).with_bytes(|bytes| judge(&header, &bytes[last..top], true));
        }
        let log = take_log();
        assert_eq!(newest.1, losses.overwritten, "{log:?} {losses:?}");
        let numbers = log.numbers.iter().map(|(_, number)| *number);
        assert!(numbers.eq(losses.overwritten..self.count), "{log:?} {losses:?}");
    }
}

/// (a) `.write.publish`
fn a_reader_of_the_publishing_word_sees_whole_events() {
    let block = Blocks::map(1).unwrap().get(0);
    own_block(block)
        .begin(&eventlog::format::BlockHeader::native(eventlog::format::BlockType::Events, 12));
    let owner = thread::spawn(move || {
        assert!((0..2).all(|number| put(own_block(block), 0, value(1, number))));
    });
    for _ in 0..2 {
        let (last, count) = block.state();
        let size = block_size() - last as usize;
        assert_eq!(size, count as usize * EVENT_SIZE, "*last* and *count* are one word");
        let mut events = vec![0; size];
        block.copy(last as usize, block_size(), &mut events);
        for (number, event) in events.chunks(EVENT_SIZE).rev().enumerate() {
            let word = u64::from_ne_bytes(event[8..].try_into().unwrap());
            assert_eq!(word, value(1, number as u64));
        }
    }
    owner.join().unwrap();
}

/// (b) `.sol.flush`
fn an_owner_fills_and_reuses_blocks_during_a_flush() {
    let mut recording = Recording::new(true, 3);
    let ring = recording.ring;
    let flusher = thread::spawn(move || ring.flush(&Entry::new()));
    // The owner fills the first block, and begins it again.
    assert_eq!(recording.record(4), 4, "the owner waits for the flusher");
    flusher.join().unwrap();
    recording.judge();
}

/// (c) `.sol.writer`
fn a_writer_an_owner_and_a_flusher_lose_no_event() {
    writer::set(true);
    let mut recording = Recording::new(true, 3);
    let ring = recording.ring;
    let others = [
        thread::spawn(move || {
            ring.send_waiting(&Entry::new());
        }),
        thread::spawn(move || ring.flush(&Entry::new())),
    ];
    assert_eq!(recording.record(4), 4, "the owner waits for the lock");
    others.into_iter().for_each(|other| other.join().unwrap());
    recording.judge();
}

/// (b) `.control.output`, `.block.overwritten`
fn a_ring_switched_on_while_overwriting_counts_its_losses() {
    let mut recording = Recording::new(false, 5);
    let (ring, control) = (recording.ring, recording.control);
    let flusher = thread::spawn(move || {
        control.output().store(u64::MAX, Ordering::Relaxed);
        ring.flush(&Entry::new());
    });
    assert_eq!(recording.record(2), 2);
    flusher.join().unwrap();
    recording.judge();
}

/// (d) `.sol.lock`: a signal handler in the cold path records while another thread flushes. It
/// counts the events without room.
fn a_nested_owner_never_waits_for_a_flusher() {
    let mut recording = Recording::new(true, 5);
    let ring = recording.ring;
    let flusher = thread::spawn(move || ring.flush(&Entry::new()));
    let interrupted = Entry::new();
    let recorded = recording.record(3);
    drop(interrupted);
    flusher.join().unwrap();
    let losses = ring.losses();
    assert_eq!(recorded + losses.full, 3, "requested = recorded + full");
    recording.judge();
}

/// `.req.loss`: the count lies between those before and after.
fn a_reader_gets_counts_while_the_owner_advances() {
    let mut recording = Recording::new(true, 6);
    let ring = recording.ring;
    let asker = thread::spawn(move || ring.losses().recorded);
    assert_eq!(recording.record(4), 4);
    let asked = asker.join().unwrap();
    assert!((6..=10).contains(&asked), "{asked}");
    recording.judge();
}

/// (f) `.sol.thread`, `.event.number`
fn a_thread_adopts_a_ring_that_another_left() {
    let mut recording = Recording::new(true, 2);
    let leaver = thread::spawn(move || {
        assert_eq!(recording.record(1), 1);
        recording.ring.flush(&Entry::new());
        recording.ring.release();
    });
    let mut adopted = Recording { thread: 2, count: 3, ..recording };
    if let Some(own) = adopted.ring.adopt(2) {
        assert!(own.advance(&Entry::new(), 0, 2), "no room after a flush");
        assert_eq!(adopted.record(2), 2);
    }
    leaver.join().unwrap();
    adopted.judge();
}

/// (e) `.sol.lock`
fn a_lock_gives_its_value_to_one_thread_at_a_time() {
    type Cells = UnsafeCell<u64>;
    fn add(cell: &Cells) {
        memory::change(cell, |value| value + 1);
    }
    let lock: &'static Locked<Cells> = keep(Locked::new(UnsafeCell::new(0)));
    assert!(!lock.is_taken());
    let waiting = thread::spawn(|| add(&lock.lock(&Entry::new()).expect("the thread waits")));
    let entry = Entry::new();
    let guard = lock.lock(&entry).expect("the thread waits");
    let nested = Entry::new();
    assert!(nested.is_nested() && lock.lock(&nested).is_none(), "holder interrupted");
    add(&guard);
    drop(guard);
    let tried = lock.lock(&nested).is_some_and(|guard| {
        add(&guard);
        true
    });
    waiting.join().unwrap();
    let sum = memory::change(&lock.try_lock().expect("the lock is free"), |value| value);
    assert_eq!(sum, 2 + u64::from(tried));
}

/// (f) `.sol.thread`: a ring in the list of all rings.
fn a_link_leads_to_a_whole_value() {
    let links: [&'static Link<Block>; 2] = [keep(Link::none()), keep(Link::none())];
    let blocks = Blocks::map(2).unwrap();
    assert!(links.iter().all(|link| link.get().is_none()));
    let kept: [&'static Block; 2] = [keep(blocks.get(0)), keep(blocks.get(1))];
    let maker = thread::spawn(move || {
        kept.into_iter().for_each(|block| block.write(block_size() - 8, 7));
        links[0].set(Some(kept[0]));
        assert!(links[1].replace(None, Some(kept[1])));
    });
    for found in links.iter().filter_map(|link| link.get()) {
        assert_eq!(found.read(block_size() - 8), 7);
    }
    maker.join().unwrap();
}

/// `.sol.volume`: one thread writes a block, another changes the volume.
fn a_shut_gate_admits_one_thread() {
    let gate: &'static Gate = keep(Gate::new());
    let cell: &'static UnsafeCell<u64> = keep(UnsafeCell::new(0));
    assert!(gate.try_enter().is_some());
    let writing = thread::spawn(move || {
        let pass = gate.enter().expect("the thread waits");
        assert!(memory::look(cell) <= 1);
        drop(pass);
    });
    let shut = gate.shut();
    memory::change(cell, |value| value + 1);
    drop(shut);
    let pass = gate.try_enter().expect("the gate is open");
    assert_eq!(memory::look(cell), 1);
    drop(pass);
    writing.join().unwrap();
}

/// `.sol.policy`: the owner overwrites events that no flusher holds, and waits for the others.
fn a_ring_with_output_overwrites_during_a_flush() {
    policy::set(Policy::Overwrite);
    let mut recording = Recording::new(true, 5);
    let ring = recording.ring;
    let flusher = thread::spawn(move || ring.flush(&Entry::new()));
    let recorded = recording.record(3);
    flusher.join().unwrap();
    assert_eq!(recorded + ring.losses().full, 3, "requested = recorded + full");
    recording.judge();
}

/// `.control.output`: events after the switch stay in memory, even if a flusher is about to begin.
fn a_ring_switched_off_during_a_flush_keeps_later_events() {
    let mut recording = Recording::new(true, 3);
    let (ring, control) = (recording.ring, recording.control);
    // Loom does not watch the mask, but this atomic, which changes next to each use of the mask.
    let mask: &'static AtomicUsize = keep(AtomicUsize::new(0));
    let flusher = thread::spawn(move || {
        let entry = Entry::new();
        mask.fetch_add(1, Ordering::Relaxed);
        ring.flush(&entry);
    });
    ring.flush(&Entry::new());
    mask.fetch_add(1, Ordering::Relaxed);
    control.output().store(0, Ordering::Relaxed);
    ring.wait(&Entry::new());
    let before = recording.count;
    assert_eq!(recording.record(4), 4);
    flusher.join().unwrap();
    let log = take_log();
    assert!(log.numbers.iter().map(|(_, number)| *number).eq(0..before), "{log:?}");
}

/// Opens a file of a few blocks; two hold no events.
fn open_file(block_count: u32) {
    assert!(region::map(-1, block_count as usize, 0, false).is_some());
    region::open();
}

/// `.sol.mapped`, `.ring.history`: the owner moves to the file, or the flusher copies the events.
fn an_overwriting_ring_enters_a_file_during_a_flush() {
    let mut recording = Recording::new(false, 5);
    open_file(8);
    let (ring, control) = (recording.ring, recording.control);
    assert!(shares::lock(&Entry::new()).is_some());
    let flusher = thread::spawn(move || {
        control.output().store(u64::MAX, Ordering::Relaxed);
        ring.flush(&Entry::new());
    });
    assert_eq!(recording.record(5), 5);
    flusher.join().unwrap();
    recording.judge_file(8);
}

/// `.sol.mapped`, `.ring.share`, `.ring.overwritten`: one ring takes what the other leaves.
fn two_rings_share_the_blocks_of_a_file() {
    open_file(5);
    let mut first = Recording::of(1, 0, true, 5);
    let mut second = Recording::of(2, 1, true, 3);
    let other = thread::spawn(move || {
        assert_eq!(second.record(1), 1);
        second
    });
    assert_eq!(first.record(2), 2);
    let second = other.join().unwrap();
    first.judge_file(5);
    second.judge_file(5);
}

/// `.req.loss`, `.ring.full`: the count lies between those before and after, as above.
fn a_reader_gets_counts_while_the_only_block_is_reused() {
    open_file(3);
    let mut recording = Recording::new(true, 2);
    let ring = recording.ring;
    let owner = thread::spawn(move || {
        assert_eq!(recording.record(2), 2);
        recording
    });
    let asked = ring.losses().recorded;
    assert!((2..=4).contains(&asked), "{asked}");
    owner.join().unwrap().judge_file(3);
}

/// `.sol.mapped`, `.sol.thread`, `.ring.gone`: another thread or the adopting one takes the block.
fn a_thread_adopts_a_ring_while_another_takes_its_block() {
    open_file(4);
    let left = Recording::new(true, 2);
    let mut taker = Recording::of(2, 0, true, 3);
    left.ring.release_block(&Entry::new());
    left.ring.release();
    let other = thread::spawn(move || {
        let mut adopted = Recording { thread: 3, ..left };
        let own = adopted.ring.adopt(3).expect("the ring is free");
        let is_begun = own.advance(&Entry::new(), 0, 3);
        if is_begun {
            assert_eq!(adopted.record(1), 1);
        }
        (adopted, is_begun)
    });
    assert_eq!(taker.record(1), 1);
    let (adopted, is_begun) = other.join().unwrap();
    if is_begun {
        adopted.judge_file(4);
    } else {
        let losses = adopted.ring.losses();
        assert_eq!((losses.recorded, losses.overwritten), (2, 2), "its block was taken");
    }
    taker.judge_file(4);
}
