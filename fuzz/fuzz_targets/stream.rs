//! Streams of ours: the fuzzer's bytes after a sound header, so that the reader reaches them. Their
//! checksums are rarely right: the reader reads a block by its chain if the fuzzer clears its
//! sealed flag.
#![no_main]

mod drain;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut log = b"\xD5EVL\r\n\x1A\0\x01\0\0\0\0\0\0\x02".to_vec();
    log.extend_from_slice(b"\x0D\x0C\x0B\x0A\x08\x08\x3E\0\0\x10\0\0");
    log.resize(512, 0);
    log.extend_from_slice(bytes);
    drain::drain(log);
    drain::drain(bytes.to_vec());
});
