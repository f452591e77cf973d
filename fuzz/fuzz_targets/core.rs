//! Cores: the fuzzer's bytes after a sound ELF header and a root that states its own address, so
//! that the reader reaches the chains and blocks; and the bytes alone.
#![no_main]

mod drain;

use eventlog::reader::core::Core;
use eventlog::reader::Source;
use libfuzzer_sys::fuzz_target;

/// The first address of the process.
const BASE: u64 = 0x7F00_0000_0000;
/// Its first bytes are the root; the fuzzer's follow.
const ROOT_SIZE: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    rescue(bytes.to_vec());
    let mut root = b"\xA7\xDD\x8A\xE1\x7E\x26\x67\x4C\xD7\x51\x5D\xEF\x03\xFA\xB3\x42".to_vec();
    root.extend_from_slice(b"\x0D\x0C\x0B\x0A\x01\0\0\x01\x08\x08\x0C\0\0\0\0\0");
    root.extend_from_slice(&BASE.to_le_bytes());
    root.extend_from_slice(&[0x33; 16]);
    let first = BASE + ROOT_SIZE as u64;
    root.extend([1, first, first].map(u64::to_le_bytes).concat());
    root.resize(ROOT_SIZE, 0);
    let size = (ROOT_SIZE + bytes.len()) as u64;
    let mut core = b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3E\0\x01\0\0\0".to_vec();
    core.extend([0, 64, 0].map(u64::to_le_bytes).concat());
    core.extend_from_slice(b"\0\0\0\0\x40\0\x38\0\x01\0\0\0\0\0\0\0");
    core.extend_from_slice(b"\x01\0\0\0\x06\0\0\0");
    core.extend([120, BASE, 0, size, size, 1].map(u64::to_le_bytes).concat());
    core.extend_from_slice(&root);
    core.extend_from_slice(bytes);
    rescue(core);
});

/// Reads the rescued stream, and the log that a command would write.
fn rescue(bytes: Vec<u8>) {
    let Ok(core) = Core::open(Box::new(bytes)) else { return };
    for fault in core.faults() {
        let _ = std::hint::black_box(fault.to_string());
    }
    let log = core.log();
    let mut read = vec![0; log.size() as usize];
    let size = log.read_at(0, &mut read).unwrap_or(0);
    read.truncate(size);
    drain::drain(read);
    let mut written = Vec::new();
    if core.write_log(&mut written).is_ok() {
        drain::drain(written);
    }
}
