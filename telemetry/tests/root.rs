//! Finds the stream in memory by its root, as a debugger would, and compares the stream with the
//! recorded events.
//!
//! ```text
//!  /proc/self/mem ─ magic ─▶ root ─▶ extents ─▶ blocks ─▶ a stream ─▶ common::read
//! ```
#![expect(unsafe_code, reason = "forks")]

mod common;
#[path = "common/registries.rs"]
mod registries;

use common::{CONTROL, Pooled, Rare, Sorts, Stream, Three, ThreeSeg};
use common::{ran, u16_at, u32_at, u64_at};
use registries::wide;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Barrier, Mutex};
use telemetry::{Kinds, event};

const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
/// `.root.magic` with every bit inverted: a search finds no magic in this constant.
const MAGIC_TURNED: [u8; 16] = [
    0x58, 0x22, 0x75, 0x1E, 0x81, 0xD9, 0x98, 0xB3, 0x28, 0xAE, 0xA2, 0x10, 0xFC, 0x05, 0x4C, 0xBD,
];

/// The memory of this process.
struct Memory {
    bytes: File,
    /// The writable regions: from, to.
    writable: Vec<(u64, u64)>,
}

impl Memory {
    fn new() -> Memory {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let writable = maps.lines().filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (from, to) = fields.next()?.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            fields.next()?.starts_with("rw").then(|| (number(from), number(to)))
        });
        Memory { bytes: File::open("/proc/self/mem").unwrap(), writable: writable.collect() }
    }

    fn read(&self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.bytes.read_exact_at(&mut bytes, address).unwrap();
        bytes
    }

    /// Returns the addresses of the magic, at multiples of 64 (`.root.magic`). Wipes each copied
    /// piece, in which a later search would find the magic too.
    fn magics(&self) -> Vec<u64> {
        const PIECE_SIZE: u64 = 1 << 16;
        let mut found = Vec::new();
        let mut piece = vec![0; PIECE_SIZE as usize];
        for &(from, to) in &self.writable {
            for at in (from..to).step_by(PIECE_SIZE as usize) {
                let size = PIECE_SIZE.min(to - at) as usize;
                // The rest of the region cannot be read: it is not the runtime's.
                if self.bytes.read_exact_at(&mut piece[..size], at).is_err() {
                    break;
                }
                let places = piece[..size].chunks(64).enumerate();
                let is_magic = |place: &[u8]| (0..16).all(|i| place[i] == !MAGIC_TURNED[i]);
                let places = places.filter(|(_, place)| is_magic(place));
                found.extend(places.map(|(index, _)| at + index as u64 * 64));
                piece.fill(0);
            }
        }
        found
    }
}

/// An extent, as read.
#[derive(Clone, Debug, PartialEq)]
struct Extent {
    address: u64,
    count: u32,
    what: u8,
    kind: u8,
    registry: u16,
    counts: Vec<u64>,
    buffer: u32,
}

/// The root, and the process's memory.
struct Root {
    bytes: Vec<u8>,
    memory: Memory,
}

/// Returns the entries of a chain (`.root.node`).
fn entries(memory: &Memory, first: u64) -> Vec<Vec<u8>> {
    let (mut node, mut found) = (first, Vec::new());
    while node != 0 {
        let head = memory.read(node, 16);
        let (count, stride) = (u32_at(&head, 8) as usize, u32_at(&head, 12) as usize);
        let bytes = memory.read(node + 16, count * stride);
        found.extend(bytes.chunks(stride).map(<[u8]>::to_vec));
        node = u64_at(&head, 0);
    }
    found
}

impl Root {
    fn find() -> Option<Root> {
        let memory = Memory::new();
        let magics = memory.magics();
        assert_eq!(magics.len(), 1, ".root.magic is once in the memory: {magics:x?}");
        let mut bytes = memory.read(magics[0], 256);
        bytes[..16].fill(0);
        // `.root.self`
        if u64_at(&bytes, 32) != magics[0] {
            assert!(bytes[16..].iter().all(|byte| *byte == 0), "{bytes:x?}");
            return None;
        }
        // `.root.order`, `.root.version`
        assert_eq!(bytes[16..20], [0x0D, 0x0C, 0x0B, 0x0A]);
        assert_eq!((u16_at(&bytes, 20), u16_at(&bytes, 22)), (1, 256));
        assert_eq!((bytes[24], bytes[25]), (8, 8));
        assert_eq!(u64_at(&bytes, 56), u64::from(std::process::id()));
        assert!(bytes[27..32].iter().chain(&bytes[184..]).all(|byte| *byte == 0), "reserved");
        Some(Root { bytes, memory })
    }

    fn block_size(&self) -> usize {
        1 << self.bytes[26]
    }

    /// `.root.extent`, `.root.counts`
    fn extents(&self) -> Vec<Extent> {
        let entries = entries(&self.memory, u64_at(&self.bytes, 64));
        let extent = |entry: &Vec<u8>| {
            let counts = match u64_at(entry, 16) {
                0 => Vec::new(),
                at => self.memory.read(at, 40).chunks(8).map(|count| u64_at(count, 0)).collect(),
            };
            Extent {
                address: u64_at(entry, 0),
                count: u32_at(entry, 8),
                what: entry[12],
                kind: entry[13],
                registry: u16_at(entry, 14),
                counts,
                buffer: u32_at(entry, 24),
            }
        };
        entries.iter().map(extent).filter(|extent| extent.what != 0).collect()
    }

    /// Returns index, recorded mask, output mask of each registry.
    fn registries(&self) -> Vec<(u32, u64, u64)> {
        let mask = |at| u64_at(&self.memory.read(at, 8), 0);
        let entries = entries(&self.memory, u64_at(&self.bytes, 72));
        let entry =
            |entry: &Vec<u8>| (u32_at(entry, 0), mask(u64_at(entry, 8)), mask(u64_at(entry, 16)));
        entries.iter().map(entry).collect()
    }

    /// Returns the stream (`.root.stream`, `.root.preamble`).
    fn stream(&self) -> Stream {
        let id = &self.bytes[40..48];
        let mut bytes = Vec::new();
        for (place, extent) in self.extents().into_iter().enumerate() {
            assert!(place != 0 || extent.what == 1, "the preamble comes first");
            for index in 0..u64::from(extent.count) {
                let size = self.block_size();
                let block = self.memory.read(extent.address + index * size as u64, size);
                let is_first = bytes.is_empty();
                let has_magic = block[..4] == [0xF7, 0x45, 0x4C, 0x8A];
                if is_first {
                    assert_eq!(block[32..48], self.bytes[40..56], "the UUID of the stream");
                }
                if is_first || has_magic && &block[16..24] == id {
                    bytes.extend(block);
                }
            }
        }
        common::read(&bytes)
    }

    /// Returns the sum of each count over the rings of a registry and kind.
    fn counts_of(&self, registry: u16, kind: u8) -> Vec<u64> {
        let of_kind = |e: &Extent| e.what == 3 && (e.registry, e.kind) == (registry, kind);
        let rings = self.extents().into_iter().filter(of_kind);
        rings.fold(vec![0; 5], |sum, e| sum.iter().zip(&e.counts).map(|(a, b)| a + b).collect())
    }

    /// Returns the number of extents of a sort.
    fn count_of(&self, what: u8) -> usize {
        self.extents().iter().filter(|extent| extent.what == what).count()
    }

    fn uuid(&self) -> &[u8] {
        &self.bytes[40..56]
    }
}

fn three(who: usize, count: usize) {
    (0..count).for_each(|index| event!(Three, who, index, index));
}

fn numbers(count: u64) -> Vec<u64> {
    (0..count).collect()
}

/// Returns the indexes that a thread recorded, as found.
fn of_thread(stream: &Stream, code: u16, who: usize) -> Vec<u64> {
    let of = stream.of(code).into_iter().filter(|event| event.word(0) == who as u64);
    of.map(|event| event.word(1)).collect()
}

/// `.root.self`, `.root.magic`
#[test]
fn the_root_has_no_address_before_the_first_event() {
    let test = "the_root_has_no_address_before_the_first_event";
    ran(test, &[ALL], || {
        assert!(Root::find().is_none());
        telemetry::setup().block_size_log2(13).start().unwrap();
        assert_eq!(Root::find().unwrap().block_size(), 8192);
    });
}

/// `.root.stream`, `.root.preamble`, `.root.extent`, `.root.node`
#[test]
fn memory_holds_events_that_are_not_output() {
    ran("memory_holds_events_that_are_not_output", &[SMALL], || {
        three(0, 50);
        event!(Rare, 7usize);
        event!(Sorts, core::ptr::null::<u8>(), true, 9u32, 1.5, 10usize, 11usize, "text");
        telemetry::label_address(0x77, telemetry::add_string("a label"));
        let root = Root::find().unwrap();
        let stream = root.stream();
        assert_eq!(stream.words(1, 1), numbers(50));
        assert_eq!(stream.words(4, 0), [7]);
        assert_eq!(stream.of(3)[0].string_at(48), "text");
        assert_eq!(stream.store(0xFF01)[0].string(1), "a label");
        assert_eq!(stream.store(0xFF02)[0].word(0), 0x77);
        assert_eq!(root.registries(), [(0, u64::MAX, 0), (1, u64::MAX, 0)]);
        assert!(!stream.ended && stream.is_ring);
    });
}

/// Several threads record two kinds, and half of the threads end. Memory holds each thread's last
/// events of each kind, without a gap.
#[test]
fn memory_holds_the_last_events_of_every_thread() {
    let test = "memory_holds_the_last_events_of_every_thread";
    ran(test, &[SMALL], || {
        for seed in 1..=3u64 {
            record_and_compare(seed);
        }
    });
}

const THREAD_COUNT: usize = 6;

fn record_and_compare(seed: u64) {
    let mut random = seed;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let (done, looked) = (Barrier::new(THREAD_COUNT / 2 + 1), Mutex::new(()));
    let looking = looked.lock().unwrap();
    // Half of the threads have ended when the test reads the memory.
    let counts: Vec<[usize; 2]> =
        (0..THREAD_COUNT).map(|_| [next(1000) as usize, 1 + next(300) as usize]).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREAD_COUNT)
            .map(|index| {
                let (done, looked, [first, second]) = (&done, &looked, counts[index]);
                scope.spawn(move || {
                    let who = seed as usize * 100 + index;
                    three(who, first);
                    (0..second).for_each(|at| event!(ThreeSeg, who, at, at));
                    if index % 2 == 0 {
                        done.wait();
                        drop(looked.lock());
                    }
                })
            })
            .collect();
        // Released if the test panics, so that the threads end.
        let looking = looking;
        done.wait();
        let (ended, _): (Vec<_>, Vec<_>) =
            threads.into_iter().enumerate().partition(|(index, _)| index % 2 == 1);
        ended.into_iter().for_each(|(_, thread)| thread.join().unwrap());
        let root = Root::find().unwrap();
        let stream = root.stream();
        let mut found_in_all = 0;
        for (index, [first, second]) in counts.iter().enumerate() {
            for (code, count) in [(1, *first as u64), (2, *second as u64)] {
                let found = of_thread(&stream, code, seed as usize * 100 + index);
                let from = count - found.len() as u64;
                assert_eq!(found, (from..count).collect::<Vec<_>>(), "seed {seed}, {index}");
                // A running thread's block has its last event.
                assert!(index % 2 == 1 || !found.is_empty() || count == 0, "seed {seed}, {index}");
            }
        }
        for (kinds, code) in [(Kinds::Object, 1), (Kinds::Seg, 2)] {
            found_in_all += stream.of(code).len();
            let overwritten = root.counts_of(1, kinds.bits().trailing_zeros() as u8)[4];
            let losses = telemetry::losses_of(&CONTROL, kinds);
            assert_eq!(overwritten, losses.overwritten, ".root.counts: seed {seed}");
            // Events that are counted as overwritten may still exist.
            assert!(stream.of(code).len() as u64 + overwritten >= losses.recorded, "seed {seed}");
        }
        assert!(found_in_all > 0);
        drop(looking);
    });
}

/// Events that are output are in memory, too, with the same numbers (`.event.identity`).
#[test]
fn memory_and_log_have_the_same_events_under_the_same_numbers() {
    let test = "memory_and_log_have_the_same_events_under_the_same_numbers";
    ran(test, &[ALL, SMALL], || {
        let record = |who| three(who, 400);
        let threads = [1, 2].map(|who| std::thread::spawn(move || record(who)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        telemetry::label_address(0x77, telemetry::add_string("a label"));
        record(3);
        let memory = Root::find().unwrap().stream();
        telemetry::flush();
        let log = common::read(&std::fs::read("mpsio.log").unwrap());
        assert_eq!(log.of(1).len(), 1200);
        assert!(memory.of(1).len() >= 3 * (400 % 124), "{}", memory.of(1).len());
        assert!(memory.events.iter().all(|(identity, event)| log.events[identity] == *event));
        assert_eq!(memory.registries.len(), log.registries.len());
    });
}

/// `.root.preamble`: the six large registries that have room take several blocks.
#[test]
fn the_preamble_holds_every_registry() {
    ran("the_preamble_holds_every_registry", &[SMALL], || {
        event!(Pooled, 1usize);
        wide::record_all();
        wide::record_all();
        let root = Root::find().unwrap();
        let stream = root.stream();
        assert!(root.count_of(1) > 1, "the preamble has one block");
        assert_eq!(root.registries().len(), 8);
        for (index, (found, recorded, _)) in root.registries().into_iter().enumerate() {
            assert_eq!((found, recorded), (index as u32, u64::MAX));
        }
        let registries = [&wide::a::REGISTRY, &wide::d::REGISTRY, &wide::f::REGISTRY];
        for (index, registry) in [2, 5, 7].into_iter().zip(registries) {
            let mut encoding = Vec::new();
            eventlog::format::encode_registry(registry, u64::MAX, 0, &mut |bytes| {
                encoding.extend_from_slice(bytes);
            });
            assert!(stream.registries[&index] == encoding, "{index}");
        }
        assert_eq!(stream.events.values().filter(|event| event.kind == 63).count(), 12);
        let unhoused: Vec<_> = root.bytes[112..144].chunks(8).map(|c| u64_at(c, 0)).collect();
        assert_eq!(unhoused, [4, 0, 0, 0], "full, nested, large, io");
        assert_eq!(telemetry::losses().full, 4);
    });
}

/// `.root.counts`, `.root.loss`: the root's counts are newer than those of any header.
#[test]
fn the_root_counts_losses_that_no_header_states_yet() {
    ran("the_root_counts_losses_that_no_header_states_yet", &[SMALL], || {
        let long = "x".repeat(5000);
        for _ in 0..3 {
            event!(Sorts, core::ptr::null::<u8>(), true, 9u32, 1.5, 1usize, 1usize, &long);
        }
        three(1, 1000);
        let root = Root::find().unwrap();
        assert_eq!(root.counts_of(1, 6), [0, 0, 3, 0, 0]);
        assert!(root.stream().told_of(6).large < 3, "the header is older");
        let kept = root.stream().of(1).len() as u64;
        let overwritten = root.counts_of(1, 5)[4];
        assert!(kept >= 124 && kept + overwritten >= 1000, "{kept} {overwritten}");
    });
}

/// `.root.sync`
#[test]
fn the_root_holds_the_last_clock_sync() {
    ran("the_root_holds_the_last_clock_sync", &[SMALL], || {
        let sync = || {
            let bytes = Root::find().unwrap().bytes;
            assert_eq!(u32_at(&bytes, 80) % 2, 0, "the clock sync is incomplete");
            (u32_at(&bytes, 80), [88, 96, 104].map(|at| u64_at(&bytes, at)))
        };
        three(0, 1);
        let (first_turn, first) = sync();
        assert!(first.iter().all(|clock| *clock != 0));
        let found = Root::find().unwrap().stream().of(1)[0].ticks;
        three(0, 1000);
        let (turn, last) = sync();
        assert!(turn > first_turn && first[0] < last[0] && first[1] < last[1]);
        assert!(last[0] > found);
    });
}

/// The file holds the events that are output; private memory holds all others.
#[test]
fn the_root_lists_a_mapped_file_as_an_extent() {
    let ring = ("MPS_TELEMETRY_FILENAME", "ring:ring?size=1M");
    let objects = ("MPS_TELEMETRY_CONTROL", "Object");
    ran("the_root_lists_a_mapped_file_as_an_extent", &[objects, SMALL, ring], || {
        let label = telemetry::add_string("a label");
        telemetry::label_address(0x77, label);
        three(0, 2000);
        (0..10usize).for_each(|index| event!(ThreeSeg, 0usize, index, index));
        let root = Root::find().unwrap();
        let stream = root.stream();
        assert_eq!((root.count_of(4), root.extents().iter().map(|e| e.what).max()), (1, Some(4)));
        assert_eq!(stream.words(1, 1), numbers(2000));
        assert_eq!(stream.words(2, 1), numbers(10));
        assert_eq!(stream.store(0xFF01)[0].string(1), "a label");
        forked(|| {
            let root = Root::find().unwrap();
            assert_eq!(root.stream().of(1).len(), 0, "the child has its parent's events");
            (0..10usize).for_each(|index| event!(ThreeSeg, 1usize, index, index));
            three(1, 500);
            let stream = Root::find().unwrap().stream();
            assert_eq!(stream.words(1, 1), numbers(500));
            assert_eq!(stream.words(2, 1), numbers(10));
            assert_eq!(stream.store(0xFF01)[0].string(1), "a label");
        });
    });
}

/// Runs `child` in a forked child, and waits for it.
fn forked(child: impl FnOnce()) {
    // SAFETY: the child continues with this thread alone.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
        // SAFETY: ends the child, whose resources the kernel frees.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = 1;
    // SAFETY: waits for a child, and writes to `status`.
    unsafe { assert_eq!(libc::waitpid(pid, &mut status, 0), pid) };
    assert_eq!(status, 0, "the child failed");
}

/// A child's root leads to its own events, and to its parent's earlier labels.
#[test]
fn a_forked_child_has_its_own_stream_in_memory() {
    ran("a_forked_child_has_its_own_stream_in_memory", &[SMALL], || {
        telemetry::label_address(0x77, telemetry::add_string("before"));
        three(1, 300);
        wide::record_all();
        // Rings of ended threads, and a second node of extents.
        (0..3).for_each(|_| drop(std::thread::spawn(|| three(9, 3)).join()));
        let parent = Root::find().unwrap();
        forked(|| {
            let before = Root::find().unwrap();
            assert_ne!(before.uuid(), parent.uuid());
            assert_eq!(before.stream().events.len(), 0, "the child has an event too early");
            three(2, 40);
            (0..7usize).for_each(|index| event!(Pooled, index));
            check_child(&Root::find().unwrap(), 40);
            forked(|| {
                three(2, 20);
                (0..7usize).for_each(|index| event!(Pooled, index));
                check_child(&Root::find().unwrap(), 20);
            });
            std::thread::spawn(|| three(2, 5)).join().unwrap();
            let stream = Root::find().unwrap().stream();
            assert_eq!(stream.of(1).len(), 45);
        });
        let again = Root::find().unwrap();
        assert_eq!((again.uuid(), again.extents()), (parent.uuid(), parent.extents()));
    });
}

fn check_child(root: &Root, count: u64) {
    let stream = root.stream();
    assert_eq!(stream.registries.len(), 8);
    assert_eq!(root.registries().len(), 8);
    assert_eq!(of_thread(&stream, 1, 2), numbers(count));
    assert_eq!(stream.of(1).len() as u64, count);
    assert_eq!(stream.words(5, 0), numbers(7));
    let strings: Vec<_> = stream.store(0xFF01).iter().map(|event| event.string(1)).collect();
    assert_eq!(strings, ["before"]);
    let labels = stream.store(0xFF02);
    assert_eq!(labels.iter().map(|label| label.word(0)).collect::<Vec<_>>(), [0x77]);
    let first = stream.of(1)[0].ticks.min(stream.of(5)[0].ticks);
    assert!(labels[0].ticks <= first, "a label is later than the first event");
    assert_eq!(stream.store(0xFF03).len(), 1, "the child has one thread");
}

/// `.root.node`: threads add more extents than a node holds while the test reads the chain.
#[test]
fn a_chain_stays_valid_while_threads_extend_it() {
    ran("a_chain_stays_valid_while_threads_extend_it", &[SMALL], || {
        const COUNT: usize = 100;
        let done = Mutex::new(());
        let adding = done.lock().unwrap();
        three(0, 1);
        let root = Root::find().unwrap();
        std::thread::scope(|scope| {
            for who in 1..=COUNT {
                let done = &done;
                scope.spawn(move || {
                    three(who, 3);
                    event!(ThreeSeg, who, 0usize, 0usize);
                    event!(Pooled, who);
                    drop(done.lock());
                });
            }
            let adding = adding;
            let mut before = Vec::new();
            while before.len() < 1 + 1 + 1 + 3 * COUNT {
                let now = root.extents();
                assert!(now.iter().all(|extent| extent.address % 4096 == 0 && extent.count > 0));
                let places = |all: &[Extent]| all.iter().map(|e| e.address).collect::<Vec<_>>();
                // A new extent may have appeared between the others.
                let now_places = places(&now);
                assert!(places(&before).iter().all(|place| now_places.contains(place)));
                before = now;
            }
            drop(adding);
        });
        let stream = root.stream();
        let mut buffers: Vec<_> =
            root.extents().iter().filter(|e| e.what == 3).map(|e| e.buffer).collect();
        buffers.sort_unstable();
        assert_eq!(buffers, (1..=3 * COUNT as u32 + 1).collect::<Vec<_>>());
        assert!((1..=COUNT).all(|who| of_thread(&stream, 1, who) == [0, 1, 2]));
        assert_eq!(stream.of(5).len() + stream.of(2).len(), 2 * COUNT);
    });
}
