//! Raw streams of the Memory Pool System: anything that is not a stream of ours is tried as one.
#![no_main]

mod drain;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if !bytes.starts_with(b"\xD5EVL") {
        drain::drain(bytes.to_vec());
    }
});
