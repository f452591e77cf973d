//! Streams of ours: a sound header before anything, so that the rest is reached. In what follows, a
//! checksum is rarely right: blocks whose sealed flag the fuzzer clears are read by their chain.
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
