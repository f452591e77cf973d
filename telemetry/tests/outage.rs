//! Plinths of a program's own: one fails for a while and recovers, one is interrupted by a signal.

mod common;

use common::{CONTROL, Kinds, Pooled, Three, ran};
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::{MemoryPlinth, Operation, Plinth, PlinthError, control, event};

static FAILS: AtomicBool = AtomicBool::new(false);

struct Flaky {
    memory: MemoryPlinth,
    rewrites: bool,
}

impl Plinth for Flaky {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.memory.create(block_size)
    }

    /// A rewriting plinth fails after half of the bytes.
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let offset = if self.rewrites { offset } else { self.memory.bytes().len() as u64 };
        if FAILS.load(Ordering::Relaxed) {
            if self.rewrites {
                self.memory.write_block(offset, &bytes[..bytes.len() / 2])?;
            }
            return Err(PlinthError { operation: Operation::Write, errno: libc::ENOSPC });
        }
        self.memory.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        self.rewrites
    }
}

mod second {
    telemetry::events! {
        /// Comes while the host fails.
        registry "second" version(1, 0, 0);
        kinds standard;

        /// An event.
        Second(0x0001, always, Object) {
            /// which
            index: W,
        }
    }
}

/// Records through an outage of the host, and returns the stream.
fn go_through_an_outage(rewrites: bool) -> Vec<u8> {
    let memory = MemoryPlinth::new();
    telemetry::setup()
        .block_size_log2(12)
        .plinth(Flaky { memory: memory.clone(), rewrites })
        .start()
        .unwrap();
    control::set_output_everywhere(Kinds::Object);
    event!(Three, 0usize, 0usize, 0usize);
    telemetry::flush();
    FAILS.store(true, Ordering::Relaxed);
    for index in 0..200 {
        telemetry::label_address(index, telemetry::add_string(format!("string {index}")));
    }
    for index in 1..1000usize {
        event!(Three, 0usize, index, index);
        event!(second::Second, index);
        if index % 10 == 0 {
            telemetry::flush();
        }
    }
    FAILS.store(false, Ordering::Relaxed);
    for index in 1000..2000usize {
        event!(Three, 0usize, index, index);
        event!(second::Second, index);
    }
    telemetry::flush();
    let bytes = memory.bytes();
    let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
    assert_eq!((losses.requested, losses.recorded), (2000, 2000), "{losses:?}");
    let stream = clean(&bytes);
    // The losses are known exactly.
    assert_eq!(stream.of(1).len() as u64 + losses.io, 2000, "{losses:?}");
    assert_eq!(u64::from(stream.told_of(5).io), losses.io);
    assert!((1..1000).contains(&losses.io), "{losses:?}");
    let losses = telemetry::losses_of(&second::CONTROL, Kinds::Object);
    let of_second = stream.events.values().filter(|event| event.registry == 2).count() as u64;
    assert_eq!((losses.recorded, of_second + losses.io), (1999, 1999), "{losses:?}");
    assert!(of_second > 1000);
    assert_eq!(telemetry::store_losses().io, 0);
    assert!(stream.registries[&2].windows(6).any(|bytes| bytes == b"second"));
    let strings: Vec<_> = stream.store(0xFF01).iter().map(|event| event.string(1)).collect();
    assert_eq!(strings, (0..200).map(|index| format!("string {index}")).collect::<Vec<_>>());
    bytes
}

/// Reads a stream without torn blocks of rings, which have no valid checksum.
fn clean(bytes: &[u8]) -> common::Stream {
    let mut bytes = bytes.to_vec();
    for block in bytes.chunks_mut(4096).skip(1) {
        let last = common::u32_at(block, 24) as usize;
        if block[4] == 1 && crc(block, last) != common::u32_at(block, 8) {
            block.fill(0);
        }
    }
    common::read(&bytes)
}

fn crc(block: &[u8], last: usize) -> u32 {
    let mut header = block[..128].to_vec();
    header[8..12].fill(0);
    crc32c::crc32c_append(crc32c::crc32c(&header), &block[last..])
}

/// `.stream.grow`, `.write.fail`, `.part.registry-before`
#[test]
fn the_log_has_registries_and_strings_after_an_outage() {
    let test = "the_log_has_registries_and_strings_after_an_outage";
    let Some(ran) = ran(test, &[], || drop(go_through_an_outage(true))) else { return };
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
}

/// The same with a host that appends: the stream has its blocks in the order of writing.
#[test]
fn an_appended_log_has_everything_after_an_outage() {
    let test = "an_appended_log_has_everything_after_an_outage";
    let Some(ran) = ran(test, &[], || {
        let bytes = go_through_an_outage(false);
        assert_eq!(clean(&bytes).holes, 0);
    }) else {
        return;
    };
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
}

/// Raises a signal in the middle of the next write, if `RAISES` is set.
struct Interrupted(MemoryPlinth);

static RAISES: AtomicBool = AtomicBool::new(false);

impl Plinth for Interrupted {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.0.create(block_size)
    }

    #[expect(unsafe_code, reason = "a signal")]
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if RAISES.swap(false, Ordering::Relaxed) {
            // SAFETY: the handler calls only the runtime.
            unsafe { libc::raise(libc::SIGUSR1) };
        }
        self.0.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

extern "C" fn record_and_flush(_: i32) {
    // This thread has no ring for the kind, and the store is locked.
    event!(Pooled, 1usize);
    telemetry::flush();
}

/// `.store.discarded`
#[test]
#[expect(unsafe_code, reason = "a signal handler")]
fn a_flush_that_interrupts_another_loses_no_count() {
    let test = "a_flush_that_interrupts_another_loses_no_count";
    ran(test, &[], || {
        let memory = MemoryPlinth::new();
        telemetry::setup().block_size_log2(12).plinth(Interrupted(memory.clone())).start().unwrap();
        control::set_output_everywhere(u64::MAX);
        event!(Three, 0usize, 0usize, 0usize);
        let handler = record_and_flush as extern "C" fn(i32);
        // SAFETY: the handler calls only the runtime, which allows that.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        RAISES.store(true, Ordering::Relaxed);
        // The signal interrupts the write of a block of the store.
        (0..200)
            .for_each(|index| telemetry::label_address(index, telemetry::add_string("a string")));
        assert!(!RAISES.load(Ordering::Relaxed));
        telemetry::flush();
        let stream = common::read(&memory.bytes());
        let told = stream.store(0xFF04);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].number(16), told[0].word(2)), (1, 1), "nested, once");
    });
}
