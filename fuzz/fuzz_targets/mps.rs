//! Raw streams of the Memory Pool System: the reader tries any bytes that do not begin a stream of
//! ours.
#![no_main]

mod drain;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if !bytes.starts_with(b"\xD5EVL") {
        drain::drain(bytes.to_vec());
    }
});
