//! A naive reader of streams for the tests of the runtime, written from `design/format.md` alone.
//!
//! ```text
//!  bytes ─▶ header ─▶ blocks and parts ─▶ events by (buffer, number)
//! ```
//!
//! It panics at anything that contradicts the document.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

telemetry::events! {
    /// The events of the tests.
    registry "test" version(1, 2, 3);
    kinds standard;

    /// Three words.
    Three(0x0001, always, Object) {
        /// the thread
        thread: W,
        /// which
        index: W,
        /// what
        value: W,
    }
    /// The same of another kind.
    ThreeSeg(0x0002, always, Seg) {
        /// the thread
        thread: W,
        /// which
        index: W,
        /// what
        value: W,
    }
    /// One of every sort.
    Sorts(0x0003, always, User) {
        /// a pointer
        p: P,
        /// a Boolean
        b: B,
        /// a number of 32 bits
        u: U,
        /// a double
        d: D,
        /// a word
        w: W,
        /// an address
        a: A,
        /// a string
        s: S,
    }
    /// A number, rarely.
    Rare(0x0004, always, Arena) {
        /// which
        index: W,
    }
    /// A number, in another kind.
    Pooled(0x0005, always, Pool) {
        /// which
        index: W,
    }
}

/// An event as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub registry: u16,
    pub kind: u8,
    pub thread: u32,
    pub code: u16,
    pub ticks: u64,
    pub bytes: Vec<u8>,
}

impl Stream {
    /// Returns the events of the test's registry with this code, by buffer and number.
    pub fn of(&self, code: u16) -> Vec<&Read> {
        self.events.values().filter(|event| (event.registry, event.code) == (1, code)).collect()
    }

    /// Returns the `index`-th word of each event of a code.
    pub fn words(&self, code: u16, index: usize) -> Vec<u64> {
        self.of(code).iter().map(|event| event.word(index)).collect()
    }

    /// Returns the events of registry 0 with this code: strings, labels, threads.
    pub fn store(&self, code: u16) -> Vec<&Read> {
        self.events.values().filter(|event| (event.registry, event.code) == (0, code)).collect()
    }

    /// Returns the losses that the log states for the buffers of a kind, summed up.
    pub fn told_of(&self, kind: u8) -> Told {
        let mut sum = Told::default();
        for (buffer, told) in &self.told {
            let of_kind = self.kinds.get(buffer) == Some(&(1, kind));
            if of_kind {
                sum.overwritten += told.overwritten;
                sum.full += told.full;
                sum.nested += told.nested;
                sum.large += told.large;
                sum.io += told.io;
            }
        }
        sum
    }
}

impl Read {
    /// Returns the string behind `before` words (`.event.string`).
    pub fn string(&self, before: usize) -> String {
        self.string_at(8 + before * WORD)
    }

    /// Returns the string that begins at this offset.
    pub fn string_at(&self, offset: usize) -> String {
        let padding = usize::from(*self.bytes.last().unwrap()) + 1;
        assert!((1..=8).contains(&padding));
        let end = self.bytes.len() - padding;
        assert!(self.bytes[end..self.bytes.len() - 1].iter().all(|byte| *byte == 0));
        String::from_utf8(self.bytes[offset..end].to_vec()).unwrap()
    }

    /// Returns the `index`-th word after the header.
    pub fn word(&self, index: usize) -> u64 {
        word_at(&self.bytes, 8 + index * WORD)
    }

    /// Returns the number of 32 bits at this offset.
    pub fn number(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.bytes[offset..offset + 4].try_into().unwrap())
    }
}

/// The losses of a buffer, as the log last stated them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    pub overwritten: u64,
    pub full: u32,
    pub nested: u32,
    pub large: u32,
    pub io: u32,
}

/// A stream as read.
#[derive(Debug, Default)]
pub struct Stream {
    pub block_size: usize,
    pub block_count: usize,
    pub holes: usize,
    pub events: BTreeMap<(u32, u64), Read>,
    /// Events that were found twice; both copies were equal.
    pub again: usize,
    pub whole_blocks: usize,
    pub event_parts: usize,
    pub base_records: usize,
    pub told: BTreeMap<u32, Told>,
    /// Registry and kind of each buffer.
    pub kinds: BTreeMap<u32, (u16, u8)>,
    pub registries: BTreeMap<u16, Vec<u8>>,
    pub ended: bool,
    /// The number of blocks that the last end part states.
    pub end_count: Option<u64>,
    /// The number of the file in its stream (`.header.volume`).
    pub volume: u64,
    /// The number of the next volume that the last end part states; 0: none (`.volume.end`).
    pub next_volume: u64,
    /// Blocks that are not sealed.
    pub open_blocks: usize,
    /// A bounded ring (`.header.ring`): blocks may be open, and the oldest events may be missing.
    pub is_ring: bool,
}

/// The size of a word in events of this machine.
pub const WORD: usize = size_of::<usize>();

/// Returns a word of an event, which has the byte order of the machine.
pub fn word_at(bytes: &[u8], at: usize) -> u64 {
    usize::from_ne_bytes(bytes[at..at + WORD].try_into().unwrap()) as u64
}

/// Returns code and size of the event that begins at this offset.
pub fn code_and_size(bytes: &[u8], at: usize) -> (u16, usize) {
    let half = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap());
    (half(at), usize::from(half(at + 2)))
}

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// `.crc`
fn crc32c_of(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| crc32c::crc32c_append(crc, piece))
}

/// Reads a stream, and checks that it accounts for all missing events.
pub fn read(bytes: &[u8]) -> Stream {
    let stream = read_as_it_is(bytes);
    if stream.volume == 0 && !stream.is_ring {
        check_numbers(&stream);
    }
    stream
}

/// Reads a stream. `.order.header`: everything except events is little-endian.
pub fn read_as_it_is(bytes: &[u8]) -> Stream {
    assert_eq!(crc32c_of(&[b"123456789"]), 0xE306_9283);
    assert_eq!(bytes[..8], [0xD5, 0x45, 0x56, 0x4C, 0x0D, 0x0A, 0x1A, 0x00], ".header.magic");
    assert_eq!([u16_at(bytes, 8), u16_at(bytes, 10), u16_at(bytes, 12)], [1, 0, 5]);
    assert_eq!(bytes[16..20], 0x0A0B_0C0Du32.to_ne_bytes(), ".header.order");
    let mut header = bytes[..512].to_vec();
    header[28..32].fill(0);
    assert_eq!(crc32c_of(&[&header]), u32_at(bytes, 28), ".header.crc");
    let block_size = u32_at(bytes, 24) as usize;
    assert!(block_size.is_power_of_two() && (4096..=1 << 20).contains(&block_size));
    let volume = u64_at(bytes, 408);
    let is_ring = u32_at(bytes, 148) & 1 != 0;
    let mut stream = Stream { block_size, volume, is_ring, ..Stream::default() };
    let id = &bytes[32..40];
    // `.stream.blocks`, `.stream.first`, `.stream.tail`, `.stream.hole`
    for (index, block) in bytes.chunks(block_size).enumerate() {
        let mut block = block.to_vec();
        block.resize(block_size, 0);
        stream.block_count += 1;
        match (index, block[0..4] == [0; 4]) {
            (0, _) => read_parts(&mut stream, id, &block[512..]),
            (_, true) => stream.holes += 1,
            _ => read_block(&mut stream, id, &block),
        }
    }
    stream
}

fn read_block(stream: &mut Stream, id: &[u8], block: &[u8]) {
    let is_open = stream.is_ring && block[4] == 1 && block[5] & 1 == 0;
    stream.open_blocks += usize::from(is_open);
    check_header(id, block, stream.block_size, is_open);
    assert_eq!(u32_at(block, 32) as usize, stream.block_size, "top of a block");
    // `.block.type`
    match block[4] {
        1 => {
            stream.whole_blocks += 1;
            let last = u32_at(block, 24) as usize;
            assert!(last >= 128);
            if !is_open {
                check_crc(&block[..128], &block[last..]);
            }
            read_events(stream, &block[..128], &block[last..]);
        }
        2 => {
            check_crc(&block[..128], &[]);
            assert_eq!(u32_at(block, 24) as usize, stream.block_size, ".parts.header");
            read_parts(stream, id, &block[128..]);
        }
        other => panic!("block of type {other}"),
    }
}

fn check_header(id: &[u8], header: &[u8], block_size: usize, is_open: bool) {
    assert_eq!(header[..4], [0xF7, 0x45, 0x4C, 0x8A], ".block.magic");
    assert_eq!(header[15], 0, ".reserved");
    let [sealed, big, long] = [!is_open, cfg!(target_endian = "big"), WORD == 8].map(u8::from);
    assert_eq!(header[5], sealed | big << 1 | long << 2, ".block.flags");
    assert_eq!(1 << header[6], block_size, ".block.size");
    assert_eq!(header[7], 16);
    assert_eq!(&header[16..24], id, ".block.stream");
    let has_sync = u64_at(header, 80) != 0;
    assert!(header[4] == 2 || is_open || has_sync, ".block.sync of type {}", header[4]);
}

/// `.write.seal`: everything that is written has a checksum.
fn check_crc(header: &[u8], payload: &[u8]) {
    let mut copy = header[..128].to_vec();
    copy[8..12].fill(0);
    assert_eq!(crc32c_of(&[&copy, payload]), u32_at(header, 8), ".block.crc");
}

/// `.parts.chain`, `.parts.payload`, `.parts.sealed`, `.parts.fits`
fn read_parts(stream: &mut Stream, id: &[u8], parts: &[u8]) {
    let mut rest = parts;
    while rest.len() >= 128 && rest[..4] != [0; 4] {
        check_header(id, rest, stream.block_size, false);
        let (header, after) = rest.split_at(128);
        let size = (u32_at(header, 32) - u32_at(header, 24)) as usize;
        let payload = &after[..size];
        check_crc(header, payload);
        match header[4] {
            1 => {
                stream.event_parts += 1;
                read_events(stream, header, payload);
            }
            3 => {
                let encoding = stream.registries.entry(u16_at(header, 12)).or_default();
                // A piece that was read before is skipped: a log in memory may repeat it in a
                // mapped file.
                let is_again = stream.is_ring && u64_at(header, 48) < encoding.len() as u64;
                if !is_again {
                    let at = u64_at(header, 48);
                    assert_eq!(encoding.len() as u64, at, ".part.registry: in order");
                    encoding.extend_from_slice(payload);
                }
                assert!(encoding.len() as u64 <= u64_at(header, 40));
            }
            4 => {
                stream.ended = true;
                stream.end_count = Some(u64_at(header, 40));
                stream.next_volume = u64_at(header, 48);
            }
            other => panic!("part of type {other}"),
        }
        rest = after.get(size.next_multiple_of(8)..).unwrap_or_default();
    }
    assert!(rest.iter().all(|byte| *byte == 0), "zeros after the last part");
}

fn read_events(stream: &mut Stream, header: &[u8], payload: &[u8]) {
    let (registry, kind) = (u16_at(header, 12), header[14]);
    assert!(stream.registries.contains_key(&registry), ".part.registry-before: {registry}");
    let mut chain = Vec::new();
    let mut rest = payload;
    while !rest.is_empty() {
        let (_, size) = code_and_size(rest, 0);
        assert!(size >= 8 && size % 8 == 0 && size <= rest.len(), ".read.chain: {size}");
        chain.push(&rest[..size]);
        rest = &rest[size..];
    }
    // `.block.first`, `.block.base`, `.event.code`, `.event.delta`
    let buffer = u32_at(header, 36);
    stream.kinds.insert(buffer, (registry, kind));
    let (mut base, mut number) = (u64_at(header, 56), u64_at(header, 48));
    for event in chain.iter().rev() {
        let (code, _) = code_and_size(event, 0);
        let delta = u32::from_ne_bytes(event[4..8].try_into().unwrap());
        if code == 0 {
            let [new, old] =
                [8, 16].map(|at| u64::from_ne_bytes(event[at..at + 8].try_into().unwrap()));
            assert_eq!((event.len(), delta, old), (24, 0, base));
            base = new;
            stream.base_records += 1;
            continue;
        }
        let ticks = base + u64::from(delta);
        let sync = u64_at(header, 80);
        assert!(ticks <= sync || sync == 0, "no event is later than the sync of its block");
        let thread = u32_at(header, 72);
        let read = Read { registry, kind, thread, code, ticks, bytes: event.to_vec() };
        let mut bytes_of = read.clone();
        clear_padding(&mut bytes_of);
        if let Some(before) = stream.events.insert((buffer, number), bytes_of.clone()) {
            assert_eq!(before, bytes_of, ".event.identity: buffer {buffer} number {number}");
            stream.again += 1;
        }
        number += 1;
    }
    assert_eq!(base, u64_at(header, 64), "base last");
    let count = u64::from(u32_at(header, 28));
    assert_eq!(number, u64_at(header, 48) + count, ".block.count");
    let told = stream.told.entry(buffer).or_default();
    told.overwritten = told.overwritten.max(u64_at(header, 104));
    told.full = told.full.max(u32_at(header, 112));
    told.nested = told.nested.max(u32_at(header, 116));
    told.large = told.large.max(u32_at(header, 120));
    told.io = told.io.max(u32_at(header, 124));
}

/// Clears the padding between the parameters of `Sorts`, which has no meaning (`.event.pad`).
fn clear_padding(read: &mut Read) {
    if (read.registry, read.kind, read.code) == (1, 6, 3) {
        let boolean = 8 + WORD;
        read.bytes[boolean + 1..boolean + 4].fill(0);
    }
}

/// Clears everything without a valid checksum: torn blocks, and parts from the first torn one on.
pub fn sound(mut bytes: Vec<u8>, block_size: usize) -> Vec<u8> {
    let is_sealed = |head: &[u8], payload: &[u8]| {
        let mut copy = head[..128].to_vec();
        copy[8..12].fill(0);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&copy), payload);
        head[..4] == [0xF7, 0x45, 0x4C, 0x8A] && crc == u32_at(head, 8)
    };
    bytes.resize(bytes.len().next_multiple_of(block_size), 0);
    for (index, block) in bytes.chunks_mut(block_size).enumerate() {
        if index != 0 && block[4] == 1 {
            let last = u32_at(block, 24) as usize;
            if !is_sealed(block, &block[last..]) {
                block.fill(0);
            }
            continue;
        }
        let mut at = if index == 0 { 512 } else { 128 };
        while at + 128 <= block_size {
            let head = &block[at..];
            let size = u32_at(head, 32).wrapping_sub(u32_at(head, 24)) as usize;
            let payload = head.get(128..).and_then(|rest| rest.get(..size));
            if !payload.is_some_and(|payload| is_sealed(head, payload)) {
                block[at..].fill(0);
                break;
            }
            at = (at + 128 + size).next_multiple_of(8);
        }
    }
    bytes
}

fn check_numbers(stream: &Stream) {
    for (buffer, told) in &stream.told {
        let numbers: Vec<u64> =
            stream.events.range((*buffer, 0)..=(*buffer, u64::MAX)).map(|((_, n), _)| *n).collect();
        let top = numbers.last().map_or(0, |last| last + 1);
        assert!(
            numbers.len() as u64 + told.overwritten + u64::from(told.io) >= top,
            "buffer {buffer}: {} of {top} numbers, and {told:?}",
            numbers.len()
        );
    }
}

/// The folder and the messages that a test process left.
pub struct Ran {
    pub folder: tempfile::TempDir,
    pub stderr: String,
}

impl Ran {
    /// Returns the bytes of a file that the process wrote.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap()
    }

    /// Returns the log under its usual name.
    pub fn stream(&self) -> Stream {
        read(&self.file("mpsio.log"))
    }

    /// Returns the messages of the runtime on standard error.
    pub fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("telemetry: ")).collect()
    }
}

/// Set in a test process.
pub const PROCESS_VARIABLE: &str = "TELEMETRY_TEST_PROCESS";

/// Runs `what` in a separate process with this environment, in an empty folder. The process runs
/// the named test again; there the function returns `None`.
pub fn ran(test: &str, environment: &[(&str, &str)], what: impl FnOnce()) -> Option<Ran> {
    if std::env::var_os(PROCESS_VARIABLE).is_some() {
        what();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(test, environment);
    let output = command.current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "there is no test {test}");
    Some(Ran { folder, stderr })
}

/// Returns the command that runs a test of this program in a separate process.
pub fn command(test: &str, environment: &[(&str, &str)]) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(PROCESS_VARIABLE, "1");
    for name in ["CONTROL", "FILENAME", "BLOCK_SIZE", "WRITER", "SOCKET", "POLICY"] {
        command.env_remove(format!("MPS_TELEMETRY_{name}"));
    }
    command.envs(environment.iter().copied());
    command
}

/// Limits each wait; it is far longer than any machine needs.
pub const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits until the condition holds.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < WAIT_MAX, "{what}: not within {WAIT_MAX:?}");
        std::thread::sleep(Duration::from_micros(200));
    }
}
