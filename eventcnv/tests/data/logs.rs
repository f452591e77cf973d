//! Logs for these tests, and their numeric dumps.

use crate::support::{mps, run};
use crate::synthetic::naive::{self, BlockFields, Buffer, EventType, Platform, Value, Writer};
use crate::synthetic::recipe::Ring;
use crate::synthetic::recipe::{self, Recipe};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns logs of the MPS with both word sizes, and made logs of ours of two platforms.
pub(crate) fn all(directory: &Path) -> Vec<PathBuf> {
    let golden = ["labels.log", "amcss-arena-pool-trace.log", "mpmss-32bit-cut.log"];
    let mut logs: Vec<PathBuf> = golden.iter().map(|name| mps(name).into()).collect();
    for (seed, big_endian, word_size) in [(1, false, 8), (2, true, 4)] {
        let platform = Platform { big_endian, word_size, block_size_log2: 12 };
        let recipe = Recipe {
            seed,
            platform,
            buffers: 5,
            events: 1500,
            with_copies: false,
            is_shuffled: false,
            stream: 0,
        };
        let (writer, _) = recipe::write(recipe);
        let path = directory.join(format!("made-{seed}.log"));
        fs::write(&path, writer.bytes()).unwrap();
        logs.push(path);
    }
    // A log of several MPS streams: two copies, and another.
    let labels = fs::read(mps("labels.log")).unwrap();
    let trace = fs::read(mps("amcss-arena-pool-trace.log")).unwrap();
    let joined = directory.join("joined.log");
    fs::write(&joined, [&*labels, &labels, &trace].concat()).unwrap();
    logs.insert(0, joined);
    logs
}

pub(crate) const TYPES: &[EventType] = &[
    EventType {
        code: 1,
        kind: 0,
        name: "PoolInit",
        params: &[('P', "pool"), ('P', "arena"), ('P', "poolClass")],
    },
    EventType {
        code: 4,
        kind: 0,
        name: "Poll\"; DROP TABLE logs; --",
        params: &[('W', "time"), ('W', "Log"), ('D', "a\" b"), ('S', "number")],
    },
];

/// The store, which is registry 0.
pub(crate) const STORE: &[EventType] = &[
    EventType { code: 2, kind: 0, name: "Intern", params: &[('W', "stringId"), ('S', "string")] },
    EventType { code: 3, kind: 0, name: "Label", params: &[('A', "address"), ('W', "stringId")] },
    EventType {
        code: 4,
        kind: 0,
        name: "Thread",
        params: &[('W', "thread"), ('W', "osThread"), ('S', "name")],
    },
];

/// Returns a log of ours with the first `count` events of each kind. A pool is created, labelled
/// "symbols", later "old", and created again. Other names are awkward.
pub(crate) fn pools(count: usize) -> Vec<u8> {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, *b"a log with pools", [9; 16]);
    // Events have wall times: a tick is 10 ns.
    naive::put(&mut writer.head, 120, &1000u64.to_le_bytes());
    naive::put(&mut writer.head, 136, &5_000_000u64.to_le_bytes());
    naive::seal_stream_header(&mut writer.head);
    writer.registry(0, &["User"], STORE, 4000);
    writer.registry(1, &["Pool"], TYPES, 4000);
    let (pool, arena) = (Value::P(0x7000), Value::P(0xFFFF_FFFF_FFFF_F000));
    let made = [pool, arena, Value::P(0)];
    let text = |bytes: &[u8]| Value::S(bytes.to_vec());
    let odd = |number: f64, string: &[u8]| {
        [Value::W(u64::MAX), Value::W(1), Value::D(number.to_bits()), text(string)].to_vec()
    };
    let kinds: [&[(u64, u16, Vec<Value>)]; 2] = [
        &[
            (1200, 1, made.to_vec()),
            (1300, 4, odd(0.5, b"it's \"so\"")),
            (1400, 4, odd(f64::NAN, b"\xFF\0")),
            (1700, 1, made.to_vec()),
        ],
        &[
            (1100, 2, [Value::W(7), text(b"symbols")].into()),
            (1110, 3, [Value::A(0x7000), Value::W(7)].into()),
            (1500, 2, [Value::W(8), text(b"old")].into()),
            (1510, 3, [Value::A(0x7000), Value::W(8)].into()),
        ],
    ];
    for (index, events) in kinds.iter().enumerate() {
        let registry = 1 - index as u16;
        let buffer = Buffer { buffer: index as u32 + 1, registry, kind: 0, thread: 3 };
        let mut ring = Ring::new(&platform, buffer, 1000);
        for (ticks, code, values) in events.iter().take(count) {
            assert!(ring.record(&platform, *ticks, *code, values));
        }
        let (sync_ticks, sync_realtime) = (2000, 5_010_000);
        ring.fields = BlockFields { sync_ticks, sync_realtime, ..ring.fields };
        ring.write(&mut writer, true);
    }
    writer.end();
    writer.bytes()
}

/// Returns the lines of the numeric dump, split at spaces outside quotation marks.
pub(crate) fn numeric(log: &Path) -> Vec<Vec<String>> {
    let (text, _, errors) = run(&[log.to_str().unwrap()]);
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.map(|line| words(&String::from_utf8_lossy(line))).collect();
    assert!(!lines.is_empty(), "{errors}");
    lines
}

fn words(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted, mut is_escaped) = (vec![String::new()], false, false);
    for letter in line.chars() {
        if letter == ' ' && !is_quoted {
            words.push(String::new());
            continue;
        }
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        words.last_mut().unwrap().push(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a letter moves a cursor, clears a screen, ends a line, or turns text round.
pub(crate) fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// Returns a string as the numeric dump prints it.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = "\"".to_owned();
    for piece in bytes.utf8_chunks() {
        for letter in piece.valid().chars() {
            match letter {
                '"' | '\\' => text.extend(['\\', letter]),
                _ if is_steering(letter) => {
                    letter.to_string().bytes().for_each(|byte| text += &format!("\\x{byte:02X}"));
                }
                _ => text.push(letter),
            }
        }
        let is_lone = |byte: &u8| (0x80..0xA0).contains(byte);
        for bytes in piece.invalid().chunk_by(|a, b| !is_lone(a) && !is_lone(b)) {
            match bytes {
                [byte] if is_lone(byte) => text += &format!("\\x{byte:02X}"),
                _ => text += &String::from_utf8_lossy(bytes),
            }
        }
    }
    text + "\""
}

/// Returns whether two lines of the numeric dump agree. The dump prints six digits of a double.
pub(crate) fn agree(
    found: &[String],
    expected: &[String],
    is_double: impl Fn(usize) -> bool,
) -> bool {
    let same = |index: usize, found: &str, expected: &str| {
        if !is_double(index) {
            return found == expected;
        }
        let [found, expected] = [found, expected].map(|word| word.parse::<f64>().unwrap());
        found == expected
            || found.is_nan() && expected.is_nan()
            || (found - expected).abs() <= expected.abs() * 1e-4
    };
    let mut pairs = found.iter().zip(expected).enumerate();
    found.len() == expected.len() && pairs.all(|(at, (found, expected))| same(at, found, expected))
}
