//! Naive cores of every platform, cut, forged and flipped: the reader reads the rest, reports
//! missing data, and never panics or hangs.
//!
//! ```text
//!  Process (tests/src/cores.rs) ── elf ──▶ cut │ forge │ flip ──▶ Core ──▶ Log ──▶ events, faults
//! ```
//!
//! Rules: section 9 of `design/format.md`; `.debug.core` in `design/telemetry.md`.

use eventlog::reader::core::{Core, CoreError, CoreFault, Masks, Missing};
use eventlog::reader::{Filter, Log, OpenError, Order, Source};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tests::cores::{self, Extent, NODES, Process, ROOT, Segment, THREAD, TOTALS};
use tests::naive::{self, Buffer, Platform, Ring, Value, Writer};

const WORDS: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };

/// Stream, buffer, number, ticks, code, and values as text.
type Identity = ([u8; 16], u32, u64, u64, u16, String);

/// Returns the events of a log in order of time, and its faults.
fn read(log: &Log) -> (Vec<Identity>, Vec<String>) {
    let mut found = Vec::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let values: Vec<_> = event.params().map(|(_, value)| format!("{value:?}")).collect();
        let uuid = log.streams()[usize::from(event.stream)].uuid;
        found.push((uuid, event.buffer, event.number, event.ticks, event.code(), values.join(" ")));
    }
    let faults = log.faults().iter().chain(events.faults().iter());
    (found, faults.map(|fault| fault.to_string()).collect())
}

fn open(core: Vec<u8>) -> Result<Core, OpenError> {
    Core::open(Box::new(core))
}

/// Returns the events in a core, with its own faults and those of its log.
fn rescue(
    core: impl Source + Send + Sync + 'static,
) -> Result<(Vec<Identity>, Vec<String>), OpenError> {
    let core = Core::open(Box::new(core))?;
    let log = Log::from_source(core.log())?;
    let (events, mut faults) = read(&log);
    faults.extend(core.faults().iter().map(|fault| fault.to_string()));
    assert!(faults.iter().all(|fault| fault.lines().count() == 1), "{faults:?}");
    Ok((events, faults))
}

/// Counts the bytes that are read.
struct Counted(Vec<u8>, Arc<AtomicU64>);

impl Source for Counted {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let size = self.0.read_at(offset, buf)?;
        self.1.fetch_add(size as u64, Ordering::Relaxed);
        Ok(size)
    }
}

/// Returns the one line of an error about a core.
fn refused(core: Vec<u8>) -> String {
    let error = open(core).expect_err("a refusal").to_string();
    assert!(error.lines().count() == 1 && !error.is_empty(), "{error}");
    error
}

/// Returns the extent of an event block, by its header.
fn extent(block: &[u8]) -> Extent {
    let buffer = u32::from_le_bytes([block[36], block[37], block[38], block[39]]);
    let registry = u16::from_le_bytes([block[12], block[13]]);
    let what = if registry == 0 { 2 } else { 3 };
    let totals = TOTALS as u64 + 40 * u64::from(buffer);
    Extent { count: 1, what, kind: block[14], registry, buffer, totals }
}

fn words(n: u64) -> Vec<Value> {
    vec![Value::P(n), Value::A(n), Value::W(n)]
}

/// Returns a stream of two threads, with rings of two blocks, open and sealed, and base records.
fn writer(platform: Platform, uuid: u8) -> Writer {
    let mut writer = Writer::new(platform, [uuid; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    let buffer = |buffer, thread| Buffer { buffer, registry: 1, kind: 1, thread };
    for (index, thread) in [(1, 1), (2, 2), (3, 2)] {
        let start = 1000 * u64::from(index);
        let mut ring = Ring::new(&platform, buffer(index, thread), start);
        (0..5).for_each(|n| assert!(ring.record(&platform, start + n, 2, &words(n))));
        ring.write(&mut writer, index == 1);
        ring.advance(&platform, start + 5);
        assert!(ring.record(&platform, start + 6, 2, &words(6)));
        assert!(ring.record(&platform, start + (9 << 32), 2, &words(7)), "with a base record");
        ring.write(&mut writer, index == 3);
    }
    writer
}

fn process() -> Process {
    Process::new(&writer(WORDS, 3), extent)
}

/// `.root.order`, `.root.stream`, `.root.preamble`, `.root.node`, `.root.extent`, `.root.version`
#[test]
fn a_core_of_any_platform_equals_a_log_of_its_blocks() {
    for (big_endian, word_size) in [(false, 8), (true, 8), (false, 4), (true, 4)] {
        for block_size_log2 in [12, 14] {
            let platform = Platform { big_endian, word_size, block_size_log2 };
            let writer = writer(platform, 3);
            let log = Log::from_source(writer.bytes()).unwrap();
            let core = Process::new(&writer, extent).core();
            let (events, faults) = rescue(core.clone()).unwrap();
            assert_eq!((events, faults), read(&log), "{platform:?}");
            assert_eq!(log.events(Order::Time, &Filter::default()).count_all(), 21);
            let core = open(core).unwrap();
            assert_eq!((core.program(), core.pid(), core.signal()), ("naive", 4711, 11));
            assert_eq!(core.threads(), [THREAD, THREAD + 1]);
            let streams: Vec<_> = core.streams().collect();
            assert_eq!((streams.len(), streams[0].uuid), (1, [3; 16]));
            assert!(streams[0].missing.is_empty());
            let masks = Masks { registry: 1, recorded: Some(5), output: Some(2) };
            assert_eq!(streams[0].masks, [masks]);
        }
    }
}

trait CountAll {
    fn count_all(self) -> usize;
}

impl CountAll for eventlog::reader::Events<'_> {
    fn count_all(mut self) -> usize {
        let mut count = 0;
        while self.next().is_some() {
            count += 1;
        }
        count
    }
}

/// `.write.seal`, `.block.sync`
#[test]
fn a_log_written_from_a_core_has_sealed_blocks() {
    for platform in [WORDS, Platform { big_endian: true, word_size: 4, block_size_log2: 13 }] {
        let core = open(Process::new(&writer(platform, 3), extent).core()).unwrap();
        let mut bytes = Vec::new();
        core.write_log(&mut bytes).unwrap();
        let size = platform.block_size();
        assert_eq!(bytes.len() % size, 0);
        let blocks: Vec<_> = bytes.chunks(size).skip(1).collect();
        assert!(blocks.iter().all(|block| block[5] & 1 == 1), "all sealed");
        let log = Log::from_source(bytes.clone()).unwrap();
        assert_eq!(read(&log), read(&Log::from_source(core.log()).unwrap()));
        assert!(log.faults().is_empty() && !log.is_closed() && log.streams()[0].is_ring);
    }
}

/// `.root.loss`, `.root.counts`, `.root.sync`
#[test]
fn the_newest_block_has_the_totals_and_sync_of_the_root() {
    let mut process = process();
    naive::put(&mut process.segments[3].bytes, 80, &[0; 24]);
    for (buffer, at) in [(1, TOTALS + 40), (3, TOTALS + 120)] {
        for (index, count) in [1, 2, 1 << 40, 4, 0].into_iter().enumerate() {
            process.store(at + 8 * index, count + buffer, 8);
        }
    }
    let core = open(process.core()).unwrap();
    let log = Log::from_source(core.log()).unwrap();
    assert!(log.faults().is_empty());
    for account in log.accounts().iter().filter(|account| account.buffer != 2) {
        let buffer = account.buffer;
        let found = (account.discarded_full, account.discarded_nested, account.discarded_large);
        assert_eq!(found, (1 + buffer, 2 + buffer, u32::MAX));
        assert_eq!(account.discarded_io, 4 + buffer);
    }
    let syncs = &log.streams()[0].syncs;
    assert_eq!(syncs.last().map(|sync| (sync.ticks, sync.uncertainty)), Some((1 << 40, 7)));
    process.store(ROOT + 80, 3, 4);
    let core = open(process.core()).unwrap();
    let log = Log::from_source(core.log()).unwrap();
    assert!(log.streams()[0].syncs.iter().all(|sync| sync.ticks != 1 << 40), "torn");
}

/// `.event.identity`, `.volume.missing`: core and log in either order.
#[test]
fn a_core_and_the_log_of_its_stream_give_each_event_once() {
    let writer = writer(WORDS, 3);
    let whole = read(&Log::from_source(writer.bytes()).unwrap()).0;
    let core = open(Process::new(&writer, extent).core()).unwrap();
    // The log has the first block of every buffer and no last one, or is the third volume.
    for volume in [0u64, 3] {
        let mut log = writer.clone();
        log.blocks.retain(|block| block[40] == 0);
        naive::put(&mut log.head, 408, &volume.to_le_bytes());
        naive::seal_stream_header(&mut log.head);
        for order in [false, true] {
            let mut joined = eventlog::reader::Joined::default();
            if order {
                joined.push(Box::new(log.bytes()));
            }
            joined.push(Box::new(core.log()));
            if !order {
                joined.push(Box::new(log.bytes()));
            }
            let log = Log::from_source(joined).unwrap();
            let (mut events, faults) = read(&log);
            events.sort();
            let mut expected = whole.clone();
            expected.sort();
            assert_eq!((events, faults), (expected, vec![]), "{volume} {order}");
            assert!(log.accounts().iter().all(|account| account.lost == 0));
        }
    }
}

/// `.ring.beginning`: overwritten events that are in the log are not lost, in either order.
#[test]
fn a_log_completes_a_core_that_lacks_the_beginning() {
    let writer = writer(WORDS, 3);
    let whole = read(&Log::from_source(writer.bytes()).unwrap()).0;
    let mut ring = writer.clone();
    ring.blocks.retain(|block| block[4] == 2 || block[40] == 1);
    let core = open(Process::new(&ring, extent).core()).unwrap();
    let alone = Log::from_source(core.log()).unwrap();
    assert!(alone.faults().is_empty());
    assert!(alone.accounts().iter().all(|at| (at.overwritten, at.lost, at.found) == (5, 0, 2)));
    let mut log = writer.clone();
    log.blocks.retain(|block| block[4] == 2 || block[40] == 0);
    for order in [false, true] {
        let mut joined = eventlog::reader::Joined::default();
        let (mut pieces, core): (Vec<Box<dyn eventlog::reader::Source + Send + Sync>>, _) =
            (vec![Box::new(log.bytes())], Box::new(core.log()));
        if order {
            pieces.push(core)
        } else {
            pieces.insert(0, core)
        }
        pieces.into_iter().for_each(|piece| joined.push(piece));
        let (events, faults) = read(&Log::from_source(joined).unwrap());
        assert_eq!((events.len(), faults), (whole.len(), vec![]));
    }
}

#[test]
fn several_roots_are_several_streams() {
    let mut process = process();
    let second = Process::new(&writer(WORDS, 4), extent);
    let shift = 1 << 32;
    for segment in &second.segments {
        let mut segment = segment.clone();
        segment.address += shift;
        process.segments.push(segment);
    }
    // The addresses of the second process are shifted: its root and nodes are written again.
    let at = second.segments.len();
    let data = process.segments.len() - at;
    let mut moved = second.clone();
    moved.segments = process.segments.split_off(data);
    for (at, _) in addresses(&second) {
        let value = number(&second.segments[0].bytes, at);
        if value != 0 {
            moved.store(at, value + shift, 8);
        }
    }
    process.segments.extend(moved.segments);
    let core = open(process.core()).unwrap();
    assert_eq!(core.streams().count(), 2);
    let (events, faults) = rescue(process.core()).unwrap();
    assert_eq!((events.len(), faults), (42, vec![]));
    let mut bytes = Vec::new();
    core.write_log(&mut bytes).unwrap();
    assert_eq!(read(&Log::from_source(bytes).unwrap()).0, events);
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Returns the offsets of the addresses in the data of a process, and their names.
fn addresses(process: &Process) -> Vec<(usize, &'static str)> {
    let mut found = vec![(ROOT + 32, "self"), (ROOT + 64, "extents"), (ROOT + 72, "registries")];
    found.push((NODES[0], "next"));
    found.extend([(cores::REGISTRIES + 24, "recorded"), (cores::REGISTRIES + 32, "output")]);
    for (node, count, stride) in [(NODES[0], 2, 32), (NODES[1], process.segments.len() - 3, 40)] {
        for index in 0..count {
            let at = node + 16 + index * stride;
            found.extend([(at, "address"), (at + 16, "totals")]);
        }
    }
    found
}

/// Returns offsets and sizes of the fields of the root, of a node, of an extent and of a registry.
fn fields() -> Vec<(usize, usize)> {
    let root = [16, 20, 22, 24, 25, 26, 32, 40, 48, 56, 64, 72, 80, 84, 88, 96, 104, 112, 144, 176];
    let sizes = [4, 2, 2, 1, 1, 1, 8, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8, 8, 8, 8];
    let mut found: Vec<_> = root.iter().zip(sizes).map(|(at, size)| (ROOT + at, size)).collect();
    for node in [NODES[0], NODES[1], cores::REGISTRIES] {
        found.extend([(node, 8), (node + 8, 4), (node + 12, 4)]);
    }
    for entry in [NODES[0] + 16, NODES[0] + 48, NODES[1] + 16] {
        let entry_fields = [(0, 8), (8, 4), (12, 1), (13, 1), (14, 2), (16, 8), (24, 4)];
        found.extend(entry_fields.map(|(at, size)| (entry + at, size)));
    }
    found.extend([16, 24, 32].map(|at| (cores::REGISTRIES + at, 8)));
    found
}

/// Every field in turn: the reader gives one clear message, or the remaining events.
#[test]
fn garbage_in_any_field_invents_nothing_and_ends_soon() {
    let sound = process();
    let whole = rescue(sound.core()).unwrap().0;
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    for (at, size) in fields() {
        let own = sound.base() + at as u64;
        let block = number(&sound.segments[0].bytes, NODES[0] + 16);
        for value in [0, 1, u64::MAX, own, 0x1000, own + 8, block, block + 8, 13, 20] {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for value in [value, seed >> 3] {
                let mut process = sound.clone();
                process.store(at, value, size);
                let begin = Instant::now();
                let result = rescue(process.core());
                assert!(begin.elapsed() < tests::programs::WAIT_MAX, "{at:#x} = {value:#x}");
                match result {
                    Ok((events, faults)) => {
                        let is_there = |event: &&Identity| whole.contains(event);
                        let sound_count = events.iter().filter(is_there).count();
                        let is_named = faults.iter().any(|fault| fault.contains("not in the core"));
                        assert!(
                            sound_count == events.len() || is_named,
                            "{at:#x} = {value:#x}: {events:?} {faults:?}"
                        );
                    }
                    Err(error) => assert_eq!(error.to_string().lines().count(), 1),
                }
            }
        }
    }
}

/// `.root.self`, `.root.magic`, `.root.version`
#[test]
fn a_core_without_a_stream_is_refused_with_a_line() {
    let none = |change: &dyn Fn(&mut Process)| {
        let mut process = process();
        change(&mut process);
        refused(process.core())
    };
    let wiped = none(&|process| process.segments[0].bytes.fill(0));
    assert!(wiped.contains("not linked with the telemetry library"), "{wiped}");
    let off = none(&|process| process.segments[0].is_writable = false);
    assert!(off.contains("not linked with"), "{off}");
    let idle = none(&|process| process.store(ROOT + 32, 0, 8));
    assert!(idle.contains("recorded nothing"), "{idle}");
    let idle = none(&|process| process.store(ROOT + 26, 0, 1));
    assert!(idle.contains("recorded nothing"), "{idle}");
    let copy = none(&|process| process.store(ROOT + 32, 64, 8));
    assert!(copy.contains("not linked with"), "{copy}");
    let newer = none(&|process| process.store(ROOT + 20, 7, 2));
    assert!(newer.contains("version 7, and this reader knows 1"), "{newer}");
    let blocks = none(&|process| {
        process.segments.iter_mut().skip(1).for_each(|segment| segment.is_dumped = false);
    });
    assert!(blocks.contains("none of the blocks"), "{blocks}");
    let empty = none(&|process| {
        process.segments.iter_mut().for_each(|segment| segment.is_dumped = false);
    });
    assert!(empty.contains("without the memory of its process"), "{empty}");
    let segments = process().segments;
    for (elf_type, what) in [(1, "neither a log nor a core"), (2, "a program"), (3, "a program")] {
        let said = refused(cores::elf(WORDS, elf_type, &[], &segments));
        assert!(said.contains(what), "{said}");
    }
    let error = open(process().core()[..50].to_vec()).expect_err("a refusal");
    assert!(matches!(error, OpenError::Core(CoreError::Header)), "{error}");
}

/// The library recognises a core by itself.
#[test]
fn the_reader_opens_a_core_as_a_log() {
    let mut process = process();
    process.segments[3].is_dumped = false;
    let log = Log::from_source(process.core()).unwrap();
    assert_eq!(read(&log).0.len(), 21 - 2);
    let fault = log.faults().iter().next().unwrap().to_string();
    assert!(fault.contains("1 of 7 blocks are not in the core"), "{fault}");
}

#[test]
fn a_core_lists_its_missing_blocks_by_kind_and_thread() {
    let mut process = process();
    // The newest block of buffer 1, and all of buffer 2.
    for segment in [3, 4, 5] {
        process.segments[segment].is_dumped = false;
    }
    let core = open(process.core()).unwrap();
    let missing: Vec<_> = core.streams().flat_map(|stream| stream.missing.clone()).collect();
    let one = Missing { registry: 1, kind: 1, thread: Some(1), count: 1 };
    assert_eq!(missing, [one, Missing { thread: None, count: 2, ..one }]);
    assert_eq!(core.faults(), [CoreFault::Blocks { missing: 3, count: 7, beyond: 0 }]);
}

#[test]
fn missing_blocks_beyond_the_end_of_a_cut_core_are_counted() {
    let mut process = process();
    process.segments[3].is_dumped = false;
    let size = process.platform.block_size();
    let mut whole = process.core();
    // The whole last block, and a byte of the one before.
    whole.truncate(whole.len() - size - 1);
    let core = open(whole).unwrap();
    let blocks = CoreFault::Blocks { missing: 3, count: 7, beyond: 2 };
    assert_eq!(core.faults(), [CoreFault::Cut { missing: size as u64 + 1 }, blocks.clone()]);
    let text = blocks.to_string();
    assert!(text.starts_with("3 of 7 blocks are not in the core (2 of them lay beyond"), "{text}");
}

/// `.root.extent`: 4
#[test]
fn a_core_names_the_file_of_its_mapped_ring() {
    let mut process = process();
    let at = NODES[1] + 16;
    let address = number(&process.segments[0].bytes, at);
    process.store(at + 12, 4, 1);
    process.segments[3].is_dumped = false;
    process.files.push((address, 4096, "/var/log/ring\n.log"));
    let core = open(process.core()).unwrap();
    let path = "/var/log/ring .log".into();
    assert_eq!(core.faults(), [CoreFault::Mapped { path }]);
    let text = core.faults()[0].to_string();
    assert!(text.contains("ring .log are not in this core: give it as well"), "{text}");
}

/// The reader reports what lies beyond the cut: events are missing only with a message.
#[test]
fn a_core_cut_anywhere_gives_the_events_before_the_cut() {
    let whole = process().core();
    let all = rescue(whole.clone()).unwrap().0;
    let dense = whole.len() - 7 * 4096;
    let mut most = 0;
    for cut in (0..dense).chain((dense..whole.len()).step_by(29)) {
        match rescue(whole[..cut].to_vec()) {
            Ok((events, faults)) => {
                assert!(events.iter().all(|event| all.contains(event)), "cut at {cut}");
                assert!(!faults.is_empty(), "cut at {cut}");
                assert!(events.len() >= most, "cut at {cut}");
                most = events.len();
                let mut log = Vec::new();
                open(whole[..cut].to_vec()).unwrap().write_log(&mut log).unwrap();
                // If the cut removes only zeros, the checksum stays valid: the log has one event
                // more.
                let written = read(&Log::from_source(log).unwrap()).0;
                assert!(events.iter().all(|event| written.contains(event)), "cut at {cut}");
                assert!(written.iter().all(|event| all.contains(event)), "cut at {cut}");
            }
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "cut at {cut}"),
        }
    }
    assert!(most > 10, "{most}");
}

#[test]
fn the_reader_reads_more_than_65535_segments() {
    let mut process = process();
    let page = Segment { address: 0, bytes: vec![0; 1], is_writable: false, is_dumped: true };
    let small = (1..70_000u64).map(|index| Segment { address: 0x1000 * index, ..page.clone() });
    let data = process.segments.split_off(0);
    process.segments = small.collect();
    process.segments.extend(data);
    let all: Vec<_> = std::mem::take(&mut process.segments);
    let core = cores::elf(WORDS, 4, &[], &all);
    let (events, faults) = rescue(core).unwrap();
    assert_eq!((events.len(), faults), (21, vec![]));
}

/// Changes the headers of a core's segments, beginning with that of the notes: type, offset in the
/// file, address, size.
fn place(core: &mut [u8], each: impl Fn(u64) -> Option<[u64; 4]>) {
    let count = u64::from(u16::from_le_bytes(core[56..58].try_into().unwrap()));
    for index in 0..count {
        let Some([kind, offset, address, size]) = each(index) else { continue };
        let at = 64 + 56 * index as usize;
        core[at..at + 4].copy_from_slice(&(kind as u32).to_le_bytes());
        for (field, value) in [(8, offset), (16, address), (32, size)] {
            core[at + field..at + field + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Returns small segments, and one with these bytes.
fn segments(count: usize, bytes: Vec<u8>) -> Vec<Segment> {
    let one = Segment { address: 0, bytes: vec![0; 8], is_writable: true, is_dumped: true };
    let mut all = vec![one; count];
    all.push(Segment { address: 1 << 40, bytes, is_writable: true, is_dumped: true });
    all
}

#[test]
fn four_hundred_notes_of_files_take_bounded_memory() {
    // A note of 100,000 files without names.
    let file_count = 100_000u64;
    let mut note = Vec::new();
    for word in [5, 16 + 25 * file_count as u32, 0x4649_4C45] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"CORE\0\0\0\0");
    note.extend([file_count, 4096].map(u64::to_le_bytes).concat());
    note.resize(note.len() + 25 * file_count as usize, 0);
    let mut core = cores::elf(WORDS, 4, &note, &segments(400, vec![0; 64]));
    let offset = number(&core, 64 + 8);
    place(&mut core, |index| (index < 400).then_some([4, offset, 0, note.len() as u64]));
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&path, core).unwrap();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -d 131072 && exec \"$@\"", "sh"]);
    limited.arg(tests::programs::eventcnv().get_program()).arg("core").arg(path.path());
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no telemetry in it"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_reader_reads_overlapping_segments_once() {
    let process = process();
    let own = process.segments.len();
    let mut all = process.segments.clone();
    all.extend(segments(8000, vec![0x55; 1 << 20]));
    let mut core = cores::elf(WORDS, 4, &[], &all);
    let offset = (core.len() - (1 << 20)) as u64;
    // All segments have the bytes of the last one: at one address, then at separate addresses.
    for shift in [0, 1 << 24] {
        place(&mut core, |index| {
            let address = (1 << 40) + index * shift;
            (index > own as u64).then_some([1, offset, address, 1 << 20])
        });
        let count = Arc::new(AtomicU64::new(0));
        let (events, faults) = rescue(Counted(core.clone(), count.clone())).unwrap();
        // 8000 readings of the last segment would be 8 GiB.
        let read = count.load(Ordering::Relaxed);
        assert!(read < 8 * core.len() as u64, "{read} bytes of {}", core.len());
        assert_eq!(events.len(), 21);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("place memory over other memory"), "{faults:?}");
    }
}

/// A core may claim any number of blocks, all at one address.
#[test]
fn the_reader_soon_gives_up_overlapping_extents() {
    let mut process = process();
    let begin = Instant::now();
    for node in NODES {
        process.store(node + 12, 32, 4);
        for index in 0..8 {
            process.store(node + 16 + 32 * index + 8, u64::from(u32::MAX), 4);
            process.store(node + 16 + 32 * index + 12, 3, 1);
        }
    }
    process.store(NODES[1] + 8, 1 << 31, 4);
    let (_, faults) = rescue(process.core()).unwrap();
    assert!(faults.iter().any(|fault| fault.contains("the list of blocks")), "{faults:?}");
    // A node that is its own successor.
    process.store(NODES[1], process.base() + NODES[1] as u64, 8);
    assert!(rescue(process.core()).is_ok());
    assert!(begin.elapsed() < tests::programs::WAIT_MAX, "{:?}", begin.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// No core causes a panic, and every fault is one line.
    #[test]
    fn the_reader_survives_random_flips_in_a_core(
        flips in proptest::collection::vec((0usize..40_000, 1u8..=255), 1..40),
        cut in 0usize..80_000,
    ) {
        let mut core = process().core();
        for (at, mask) in flips {
            let at = at % core.len();
            core[at] ^= mask;
        }
        core.truncate(cut.max(100));
        match rescue(core) {
            Ok(_) => {}
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }
}
