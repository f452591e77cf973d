//! Naive cores: the memory of a process with a stream, as an ELF file in `Vec<u8>`.
//!
//! ```text
//!  Writer ── blocks ──▶ Process: data (root, nodes, totals) │ preamble │ blocks …
//!                          └── elf ──▶ │ header │ segments' headers │ notes │ memory │
//! ```
//!
//! Follows section 9 of `design/format.md` and the ELF specification, without `eventlog`.

use super::naive::{Platform, Writer, put, seal_stream_header};

/// The magic of a root (`.root.magic`).
pub const MAGIC: [u8; 16] = [
    0xA7, 0xDD, 0x8A, 0xE1, 0x7E, 0x26, 0x67, 0x4C, 0xD7, 0x51, 0x5D, 0xEF, 0x03, 0xFA, 0xB3, 0x42,
];
/// Offset of the root in the data of a process.
pub const ROOT: usize = 0x140;
/// Offsets of the first and second node of the extents.
pub const NODES: [usize; 2] = [0x400, 0x800];
/// Offset of the node of the registries.
pub const REGISTRIES: usize = 0xC00;
/// Offset of the totals of buffers: 40 bytes each.
pub const TOTALS: usize = 0x1000;
/// The system's number of the first thread.
pub const THREAD: u64 = 4712;

/// A range of memory.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the words of an ELF file")]
pub struct Segment {
    pub address: u64,
    pub bytes: Vec<u8>,
    pub is_writable: bool,
    pub is_dumped: bool,
}

/// A process. Its first segment holds its data, with the root.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "see section 9 of design/format.md")]
pub struct Process {
    pub platform: Platform,
    pub segments: Vec<Segment>,
    pub signal: u64,
    /// Mapped files: first byte, size, path.
    pub files: Vec<(u64, u64, &'static str)>,
}

/// The fields of an extent, except its address.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "see section 9 of design/format.md")]
pub struct Extent {
    pub count: u32,
    pub what: u8,
    pub kind: u8,
    pub registry: u16,
    pub buffer: u32,
    /// Offset of the totals in the data; 0 for none.
    pub totals: u64,
}

impl Process {
    /// Returns a process with the blocks of a writer in memory. Blocks before the first event block
    /// are the preamble; each other block is an extent, which `of` returns.
    pub fn new(writer: &Writer, of: impl Fn(&[u8]) -> Extent) -> Process {
        let platform = writer.platform;
        let size = platform.block_size();
        let mut preamble = writer.head.clone();
        preamble[148] = 1; // `.header.ring`
        seal_stream_header(&mut preamble);
        preamble.resize(size, 0);
        let parts = writer.blocks.iter().take_while(|block| block[4] == 2).count();
        for block in &writer.blocks[..parts] {
            preamble.extend_from_slice(block);
            preamble.resize(preamble.len().next_multiple_of(size), 0);
        }
        let base = if platform.word_size == 8 { 0x7F12_3456_0000 } else { 0x4321_0000 };
        let mut process = Process {
            platform,
            segments: vec![Segment {
                address: base,
                bytes: vec![0; 0x2000],
                is_writable: true,
                is_dumped: true,
            }],
            signal: 11,
            files: vec![(0x1000, 0x2000, "/bin/program")],
        };
        let mut extents = Vec::new();
        let first = Extent { count: parts as u32 + 1, what: 1, ..Extent::default() };
        extents.push((process.add(preamble), first));
        for block in &writer.blocks[parts..] {
            let mut bytes = block.clone();
            bytes.resize(size, 0);
            extents.push((process.add(bytes), of(block)));
        }
        process.put_root(writer.uuid);
        process.put_extents(&extents);
        process
    }

    /// Returns the address of the data.
    pub fn base(&self) -> u64 {
        self.segments[0].address
    }

    /// Adds memory at a distance after the last segment.
    pub fn add(&mut self, bytes: Vec<u8>) -> u64 {
        let last = &self.segments[self.segments.len() - 1];
        let address = (last.address + last.bytes.len() as u64 + 0x3000) & !0xFFF;
        self.segments.push(Segment { address, bytes, is_writable: true, is_dumped: true });
        address
    }

    /// Stores a number in the data, in the byte order of the process.
    pub fn store(&mut self, at: usize, value: u64, size: usize) {
        let bytes = self.platform.int(value, size);
        put(&mut self.segments[0].bytes, at, &bytes);
    }

    fn put_root(&mut self, uuid: [u8; 16]) {
        let base = self.base();
        put(&mut self.segments[0].bytes, ROOT, &MAGIC);
        let word = self.platform.word_size as u64;
        let log2 = u64::from(self.platform.block_size_log2);
        for (at, value, size) in [
            (16, 0x0A0B_0C0D, 4),
            (20, 1, 2),
            (22, 256, 2),
            (24, word, 1),
            (25, word, 1),
            (26, log2, 1),
            (32, base + ROOT as u64, 8),
            (56, 4711, 8),
            (64, base + NODES[0] as u64, 8),
            (72, base + REGISTRIES as u64, 8),
            (80, 2, 4),
            (84, 7, 4),
            (88, 1 << 40, 8),
            (96, 1000, 8),
            (104, 1_700_000_000_000_000_000, 8),
        ] {
            self.store(ROOT + at, value, size);
        }
        put(&mut self.segments[0].bytes, ROOT + 40, &uuid);
        // A copy of the root, which does not state its own address.
        let copy = self.segments[0].bytes[ROOT..ROOT + 256].to_vec();
        put(&mut self.segments[0].bytes, 0x1C00, &copy);
        for (at, value, size) in [
            (8, 1, 4),
            (12, 24, 4),
            (16, 1, 4),
            (24, base + 0xD00, 8),
            (32, base + 0xD08, 8),
            (0x100, 5, 8),
            (0x108, 2, 8),
        ] {
            self.store(REGISTRIES + at, value, size);
        }
    }

    /// Stores two nodes: one with two entries, and another with the rest, whose entries are longer.
    fn put_extents(&mut self, extents: &[(u64, Extent)]) {
        let base = self.base();
        let (first, second) = extents.split_at(extents.len().min(2));
        assert!(second.len() <= 20, "the second node has no room for more");
        for (node, entries, stride) in [(NODES[0], first, 32), (NODES[1], second, 40)] {
            self.store(node + 8, entries.len() as u64, 4);
            self.store(node + 12, stride as u64, 4);
            for (index, (address, extent)) in entries.iter().enumerate() {
                let at = node + 16 + index * stride;
                let totals = if extent.totals == 0 { 0 } else { base + extent.totals };
                for (offset, value, size) in [
                    (0, *address, 8),
                    (8, extent.count.into(), 4),
                    (12, extent.what.into(), 1),
                    (13, extent.kind.into(), 1),
                    (14, extent.registry.into(), 2),
                    (16, totals, 8),
                    (24, extent.buffer.into(), 4),
                ] {
                    self.store(at + offset, value, size);
                }
            }
        }
        self.store(NODES[0], base + NODES[1] as u64, 8);
    }

    /// Returns the core.
    pub fn core(&self) -> Vec<u8> {
        elf(self.platform, 4, &self.notes(), &self.segments)
    }

    /// Returns the notes of two threads, as the kernel writes them.
    fn notes(&self) -> Vec<u8> {
        let word = self.platform.word_size;
        let int = |value: u64, size: usize| self.platform.int(value, size);
        let status = |thread: u64, signal: u64| {
            let mut bytes = vec![0; 16 + 2 * word + 128];
            put(&mut bytes, 12, &int(signal, 2));
            put(&mut bytes, 16 + 2 * word, &int(thread, 4));
            bytes
        };
        let (size, pid, name) = if word == 8 { (136, 24, 40) } else { (124, 12, 28) };
        let mut info = vec![0; size];
        put(&mut info, pid, &int(4711, 4));
        put(&mut info, name, b"naive");
        let mut files = [int(self.files.len() as u64, word), int(4096, word)].concat();
        for (start, size, _) in &self.files {
            files.extend([int(*start, word), int(start + size, word), int(0, word)].concat());
        }
        for (_, _, path) in &self.files {
            files.extend_from_slice(path.as_bytes());
            files.push(0);
        }
        let mut siginfo = vec![0; 128];
        put(&mut siginfo, 0, &int(self.signal, 4));
        let mut notes = Vec::new();
        for (kind, bytes) in [
            (1, status(THREAD, self.signal)),
            (3, info),
            (0x5349_4749, siginfo),
            (0x4649_4C45, files),
            (2, vec![0x55; 512]),
            (1, status(THREAD + 1, self.signal)),
        ] {
            notes.extend([int(5, 4), int(bytes.len() as u64, 4), int(kind, 4)].concat());
            notes.extend_from_slice(b"CORE\0\0\0\0");
            notes.extend_from_slice(&bytes);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        notes
    }
}

/// Returns an ELF file of a type. Section 0 counts the segments beyond 65534.
pub fn elf(platform: Platform, elf_type: u64, notes: &[u8], segments: &[Segment]) -> Vec<u8> {
    let word = platform.word_size;
    let int = |value: u64, size: usize| platform.int(value, size);
    let is_64 = word == 8;
    let (size, each, section) = if is_64 { (64, 56, 64) } else { (52, 32, 40) };
    let count = segments.len() as u64 + 1;
    let sections = if count >= 0xFFFF { size } else { 0 };
    let headers = size + if sections == 0 { 0 } else { section };
    let mut bytes = b"\x7FELF".to_vec();
    bytes.extend([1 + u8::from(is_64), 1 + u8::from(platform.big_endian), 1]);
    bytes.resize(16, 0);
    for (value, size) in [(elf_type, 2), (if is_64 { 62 } else { 20 }, 2), (1, 4), (0, word)] {
        bytes.extend(int(value, size));
    }
    bytes.extend([int(headers, word), int(sections, word), int(0, 4), int(size, 2)].concat());
    let few = count.min(0xFFFF);
    bytes.extend([int(each, 2), int(few, 2), int(section, 2), int(sections.min(1), 2)].concat());
    bytes.extend(int(0, 2));
    if sections != 0 {
        let at = bytes.len() + if is_64 { 44 } else { 28 }; // sh_info
        bytes.resize(bytes.len() + section as usize, 0);
        put(&mut bytes, at, &int(count, 4));
    }
    let mut offset = headers + each * count;
    let mut header = |kind: u64, flags: u64, address: u64, there: u64, size: u64| {
        let at = offset;
        offset += there;
        if is_64 {
            let words = [at, address, 0, there, size, 1].map(|value| int(value, 8)).concat();
            bytes.extend([int(kind, 4), int(flags, 4), words].concat());
        } else {
            let words = [kind, at, address, 0, there, size, flags, 1];
            bytes.extend(words.map(|value| int(value, 4)).concat());
        }
    };
    header(4, 4, 0, notes.len() as u64, 0);
    for segment in segments {
        let size = segment.bytes.len() as u64;
        let there = if segment.is_dumped { size } else { 0 };
        header(1, 4 + 2 * u64::from(segment.is_writable), segment.address, there, size);
    }
    bytes.extend_from_slice(notes);
    for segment in segments.iter().filter(|segment| segment.is_dumped) {
        bytes.extend_from_slice(&segment.bytes);
    }
    bytes
}
