//! Damage in the encoding of a registry.
//!
//! ```text
//!  encoding ── cut │ counts │ letters ──▶ one event in a stream ──▶ the rest of the registry
//! ```

use super::*;

/// Returns a stream with one event and this encoding of its registry, of a stated size.
fn with_encoding(encoding: &[u8], stated: u64) -> Vec<u8> {
    let platform = Platform { block_size_log2: 20, ..WORDS };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    let mut first = 0;
    for piece in encoding.chunks(500_000) {
        let registry = Buffer { registry: 1, ..NOBODY };
        let top = piece.len() as u32;
        let fields =
            BlockFields { block_type: 3, top, sequence: stated, first, ..BlockFields::default() };
        writer.part(registry, fields, piece);
        first += piece.len() as u64;
    }
    let mut ring = Ring::new(&platform, buffer(0), 0);
    assert!(ring.record(&platform, 1, 2, &words(1)));
    ring.flush(&mut writer);
    writer.bytes()
}

/// `.registry.trust`
#[test]
fn the_bytes_of_a_registry_bound_its_counts() {
    let sound = naive::encode_registry(naive::KINDS, naive::TYPES);
    for (at, size) in [(6, 2), (8, 4)] {
        let mut encoding = sound.clone();
        encoding[at..at + size].fill(0xFF);
        let (found, faults) = read(with_encoding(&encoding, encoding.len() as u64)).unwrap();
        assert_eq!(found.len(), 1);
        assert!(faults.iter().any(|fault| matches!(fault.kind, FaultKind::Registry { .. })));
    }
    for cut in 0..sound.len() {
        let (found, faults) = read(with_encoding(&sound[..cut], sound.len() as u64)).unwrap();
        assert_eq!(found.len(), 1);
        if cut > 0 {
            assert!(faults.iter().any(|fault| matches!(fault.kind, FaultKind::Registry { .. })));
        }
    }
}

/// `.registry.trust`: of two kinds with one index the first counts.
#[test]
fn the_reader_keeps_64_of_65535_stated_kinds() {
    let names: Vec<String> = (0..65535).map(|n| format!("K{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let encoding = naive::encode_registry(&names, naive::TYPES);
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    let [registry] = log.registries() else { panic!("one registry") };
    assert_eq!(registry.kinds.len(), 64);
    assert_eq!(registry.kind(5).map(|kind| &*kind.name), Some("K5"));
    assert_eq!(registry.event_types.len(), naive::TYPES.len());
}

/// `.registry.trust`, `.registry.more`
#[test]
fn the_reader_tolerates_invalid_strings_and_unknown_sorts() {
    let mut encoding = naive::encode_registry(naive::KINDS, naive::TYPES);
    let name = encoding.windows(5).position(|bytes| bytes == b"naive").unwrap();
    encoding[name] = 0xFF;
    // The sort of the second parameter of "Words".
    let words = encoding.windows(5).position(|bytes| bytes == b"Words").unwrap();
    let second = encoding[words..].iter().position(|&byte| byte == b'A').unwrap();
    encoding[words + second] = b'Q';
    encoding.extend_from_slice(b"what a later version adds");
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    let [registry] = log.registries() else { panic!("one registry") };
    assert_eq!(&*registry.name, "\u{FFFD}aive");
    let row = registry.event_type_named("Words").unwrap();
    assert_eq!(row.params.len(), 1, "no parameter follows an unknown sort");
    assert_eq!(registry.event_types.len(), naive::TYPES.len());
    let mut events = log.events(Order::Time, &Filter::default());
    assert_eq!(events.next().unwrap().param("a"), Some(Read::P(1)));
}

/// Returns an encoding of event types with `param_count` nameless parameters each.
fn wide(codes: impl IntoIterator<Item = u16>, param_count: u16) -> Vec<u8> {
    let mut encoding = naive::encode_registry(&["K"], &[]);
    let mut count = 0u32;
    for code in codes {
        encoding.extend_from_slice(&code.to_le_bytes());
        encoding.extend_from_slice(&[0, 1]);
        encoding.extend_from_slice(&param_count.to_le_bytes());
        encoding.extend_from_slice(&[1, 0, b'E', 0, 0]);
        encoding.extend((0..param_count).flat_map(|_| [b'B', 0, 0, 0, 0]));
        count += 1;
    }
    naive::put(&mut encoding, 8, &count.to_le_bytes());
    encoding
}

/// `.registry.trust`: memory stays in proportion; a parameter of five bytes takes 40 in memory.
#[test]
fn the_memory_of_one_registry_is_bounded() {
    let encoding = wide(1..=30, 30_000);
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    let [registry] = log.registries() else { panic!("one registry") };
    let params: usize = registry.event_types.iter().map(|row| row.params.len()).sum();
    assert!((30_000..500_000).contains(&params), "{params} parameters");
    let said: Vec<_> = log.faults().iter().map(|fault| fault.to_string()).collect();
    assert!(said.len() == 1 && said[0].contains("too large"), "{said:?}");
    // Copies of one event type take no memory.
    let encoding = wide((0..30).map(|_| 2), 30_000);
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    assert_eq!(log.registries()[0].event_types.len(), 1);
}

/// `.registry.trust`: the distance between the codes sets the size of their table.
#[test]
fn the_memory_of_many_registries_is_bounded() {
    let platform = Platform { block_size_log2: 20, ..WORDS };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    let encoding = wide([1, 65_000], 0);
    for registry in 1..=200 {
        let registry = Buffer { registry, ..NOBODY };
        let (top, sequence) = (encoding.len() as u32, encoding.len() as u64);
        let fields = BlockFields { block_type: 3, top, sequence, ..BlockFields::default() };
        writer.part(registry, fields, &encoding);
    }
    let log = Log::from_source(writer.bytes()).unwrap();
    let whole = log.registries().iter().filter(|registry| registry.event_types.len() == 2);
    let count = whole.count();
    assert!((10..100).contains(&count), "{count} registries of 260 kB");
    assert_eq!(log.faults().count(), 200 - count as u64);
}

/// `.header.names`, `.registry.trust`: no name can forge a line on a terminal.
#[test]
fn the_reader_removes_terminal_controls_from_names() {
    let mut encoding = naive::encode_registry(naive::KINDS, naive::TYPES);
    for (from, to) in [("Words", "W\n\u{1B}[m"), ("Pool", "\u{7}\t\u{9B}"), ("naive", "\u{202E}ve")]
    {
        while let Some(at) = encoding.windows(from.len()).position(|at| at == from.as_bytes()) {
            naive::put(&mut encoding, at, to.as_bytes());
        }
    }
    let mut bytes = with_encoding(&encoding, encoding.len() as u64);
    naive::put(&mut bytes, 280, b"p\x1B[2J\n");
    naive::seal_stream_header(&mut bytes);
    let log = Log::from_source(bytes).unwrap();
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    let [registry] = log.registries() else { panic!("one registry") };
    assert_eq!(&*registry.name, "\u{FFFD}ve");
    assert_eq!(registry.kind(1).map(|kind| &*kind.name), Some("\u{FFFD} \u{FFFD}"));
    assert_eq!(registry.event_type(2).map(|row| &*row.name), Some("W \u{FFFD}[m"));
    assert_eq!(&*log.streams()[0].program, "p\u{FFFD}[2J m");
}
