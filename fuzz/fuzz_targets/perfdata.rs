//! perf.data: the fuzzer's bytes as a file, and in place of a part of a sound one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lens::waits::source::{dat, perf};

const SOUND: &[u8] = include_bytes!("../../tests/golden/waits/tiny.perf.data");
const TRACE: &[u8] = include_bytes!("../../tests/golden/waits/tiny.6.dat");

fuzz_target!(|bytes: &[u8]| {
    let _ = perf::import(&bytes.to_vec(), [7; 16].into(), &mut std::io::sink());
    let Some((place, rest)) = bytes.split_first_chunk::<2>() else { return };
    let place = usize::from(u16::from_le_bytes(*place));
    for sound in [SOUND, TRACE] {
        let mut damaged = sound.to_vec();
        damaged.iter_mut().skip(place % sound.len()).zip(rest).for_each(|(to, from)| *to = *from);
        let _ = match sound.len() == SOUND.len() {
            true => perf::import(&damaged, [7; 16].into(), &mut std::io::sink()),
            false => dat::import(&damaged, [7; 16].into(), &mut std::io::sink()),
        };
    }
});
