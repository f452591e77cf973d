//! Damage in the encoding of a registry.
//!
//! ```text
//!  encoding ── cut │ counts │ letters ──▶ one event in a stream ──▶ what is left of the registry
//! ```

use super::*;

/// The encoding of the registry as one part, in a stream with one event.
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
fn counts_in_a_registry_are_bounded_by_its_bytes() {
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

/// `.registry.trust`: of two of one index the first counts.
#[test]
fn as_many_kinds_as_can_be_stated_leave_the_64_that_there_are() {
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
fn strings_that_are_not_utf8_and_sorts_that_are_not_known_are_read_over() {
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
    assert_eq!(row.params.len(), 1, "parameters after an unknown sort cannot be decoded");
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

/// `.registry.trust`: memory in proportion. A parameter of five bytes takes 40 when read.
#[test]
fn a_registry_that_grows_when_it_is_read_ends_where_the_memory_does() {
    let encoding = wide(1..=30, 30_000);
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    let [registry] = log.registries() else { panic!("one registry") };
    let params: usize = registry.event_types.iter().map(|row| row.params.len()).sum();
    assert!((30_000..500_000).contains(&params), "{params} parameters");
    let said: Vec<_> = log.faults().iter().map(|fault| fault.to_string()).collect();
    assert!(said.len() == 1 && said[0].contains("too large"), "{said:?}");
    // Copies of one event type cost nothing.
    let encoding = wide((0..30).map(|_| 2), 30_000);
    let log = Log::from_source(with_encoding(&encoding, encoding.len() as u64)).unwrap();
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    assert_eq!(log.registries()[0].event_types.len(), 1);
}

/// `.registry.trust`: a table of codes is as long as the codes are far apart.
#[test]
fn many_registries_end_where_the_memory_does() {
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
    assert!((10..100).contains(&count), "{count} registries of 260 kB each");
    assert_eq!(log.faults().count(), 200 - count as u64);
}

/// `.header.names`, `.registry.trust`: no name can forge a line on a terminal.
#[test]
fn names_are_clean_of_what_steers_a_terminal() {
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
