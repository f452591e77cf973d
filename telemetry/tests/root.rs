//! The stream as memory has it: found by its root, as a debugger would, and what it holds compared
//! with what was recorded.
//!
//! ```text
//!  /proc/self/mem ─ magic ─▶ root ─▶ extents ─▶ blocks ─▶ a stream ─▶ common::read
//! ```
#![expect(unsafe_code, reason = "forks")]

mod common;

use common::{Rare, Sorts, Stream, Three, ran, u16_at, u32_at, u64_at};
use std::fs::File;
use std::os::unix::fs::FileExt;
use telemetry::event;

const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
/// `.root.magic`, with every bit turned: so that it is not here, where it would be found.
const MAGIC_TURNED: [u8; 16] = [
    0x58, 0x22, 0x75, 0x1E, 0x81, 0xD9, 0x98, 0xB3, 0x28, 0xAE, 0xA2, 0x10, 0xFC, 0x05, 0x4C, 0xBD,
];

/// The memory of this process.
struct Memory {
    bytes: File,
    /// What of it can be written: from, to.
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

    /// Where the magic is, at multiples of 64 (`.root.magic`).
    fn magics(&self) -> Vec<u64> {
        let mut found = Vec::new();
        for &(from, to) in &self.writable {
            let mut bytes = vec![0; (to - from) as usize];
            // What cannot be read is none of ours.
            if self.bytes.read_exact_at(&mut bytes, from).is_err() {
                continue;
            }
            for (at, place) in bytes.chunks(64).enumerate() {
                if place.len() >= 16 && (0..16).all(|i| place[i] == !MAGIC_TURNED[i]) {
                    found.push(from + at as u64 * 64);
                }
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

/// The root, and what it leads to.
struct Root {
    bytes: Vec<u8>,
    memory: Memory,
}

/// The entries of a chain (`.root.node`).
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
        let bytes = memory.read(magics[0], 256);
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

    /// Index, recorded, output of each registry.
    fn registries(&self) -> Vec<(u32, u64, u64)> {
        let mask = |at| u64_at(&self.memory.read(at, 8), 0);
        let entries = entries(&self.memory, u64_at(&self.bytes, 72));
        let entry =
            |entry: &Vec<u8>| (u32_at(entry, 0), mask(u64_at(entry, 8)), mask(u64_at(entry, 16)));
        entries.iter().map(entry).collect()
    }

    /// The stream (`.root.stream`, `.root.preamble`).
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
}

fn words(stream: &Stream, code: u16) -> Vec<u64> {
    stream.words(code, 1)
}

/// `.root.self`, `.root.magic`
#[test]
fn a_program_that_recorded_nothing_has_a_root_without_its_address() {
    let test = "a_program_that_recorded_nothing_has_a_root_without_its_address";
    ran(test, &[ALL], || {
        assert!(Root::find().is_none());
        telemetry::configure(telemetry::Config { block_size_log2: 13, ..Default::default() })
            .unwrap();
        event!(Rare, 1usize);
        assert_eq!(Root::find().unwrap().block_size(), 8192);
    });
}

/// `.root.stream`, `.root.preamble`, `.root.extent`
#[test]
fn what_is_not_output_is_found_in_memory() {
    ran("what_is_not_output_is_found_in_memory", &[SMALL], || {
        for index in 0..50usize {
            event!(Three, 0usize, index, index);
        }
        event!(Rare, 7usize);
        event!(Sorts, core::ptr::null::<u8>(), true, 9u32, 1.5, 10usize, 11usize, "text");
        telemetry::label_address(0x77, telemetry::intern("a label"));
        let root = Root::find().unwrap();
        let stream = root.stream();
        assert_eq!(words(&stream, 1), (0..50).collect::<Vec<_>>());
        assert_eq!(stream.words(4, 0), [7]);
        assert_eq!(stream.of(3)[0].string(48), "text");
        assert_eq!(stream.store(0xFF01)[0].string(16), "a label");
        assert_eq!(stream.store(0xFF02)[0].word(0), 0x77);
        assert_eq!(root.registries(), [(0, u64::MAX, 0), (1, u64::MAX, 0)]);
    });
}
