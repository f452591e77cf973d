//! A stream that arrives in pieces gives the same events as the whole stream.
//!
//! ```text
//!  naive::write ──▶ bytes ── piece by piece ──▶ Live ──▶ = the recorded events, each once
//! ```

use super::*;
use eventlog::reader::{Live, OpenError};

/// Returns the events of a stream that arrives in pieces of this size.
fn arrived(bytes: &[u8], size: usize) -> (Live, Vec<Recorded>) {
    let (mut live, mut found) = (Live::new(), Vec::new());
    for piece in bytes.chunks(size) {
        live.feed(piece, &mut |event| found.push(recorded(event))).expect("a stream");
    }
    live.finish(&mut |event| found.push(recorded(event)));
    (live, found)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// `.event.identity`, `.stream.tail`, `.block.base`, `.event.order`, `.part.registry-before`
    #[test]
    fn pieces_of_any_size_give_each_event_once(recipe in recipes(), size in 1usize..9000) {
        let (writer, mut expected) = naive::write(Recipe { is_shuffled: false, ..recipe });
        let (live, mut found) = arrived(&writer.bytes(), size);
        prop_assert!(live.faults().is_empty(), "{:?}", live.faults());
        prop_assert!(live.is_closed());
        sort_by_identity(&mut found);
        sort_by_identity(&mut expected);
        prop_assert_eq!(found, expected);
    }
}

/// A log without copies gives the same events in `Order::File`.
#[test]
fn the_live_reader_keeps_the_order_of_the_file() {
    let (writer, _) = naive::write(recipe(5, false));
    let log = Log::from_source(writer.bytes()).unwrap();
    let (live, found) = arrived(&writer.bytes(), 777);
    assert_eq!(found, read(&log, Order::File, &Filter::default()));
    let names = |registry: &eventlog::reader::Registry| registry.name.clone();
    let known: Vec<_> = live.registries().map(names).collect();
    assert_eq!(known, log.registries().iter().map(names).collect::<Vec<_>>());
}

/// `.stream.again`, `.header.volume`: a volume has the UUID of the one before.
#[test]
fn another_volume_in_the_stream_adds_its_new_events() {
    let (writer, expected) = naive::write(recipe(6, false));
    let mut bytes = writer.bytes();
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    let (other, more) = naive::write(recipe(7, false));
    let (_, found) = arrived(&[bytes.clone(), bytes.clone(), other.bytes()].concat(), 1000);
    assert_eq!(found.len(), expected.len() + more.len());
    let (mut found, mut all) = (found, [expected, more].concat());
    sort_by_identity(&mut found);
    sort_by_identity(&mut all);
    found.sort_by_key(|event| (event.buffer, event.number, event.ticks));
    all.sort_by_key(|event| (event.buffer, event.number, event.ticks));
    assert_eq!(found, all);
}

/// `.header.magic`, `.header.crc`, `.read.major`
#[test]
fn the_live_reader_refuses_other_bytes_early() {
    let mut nothing = |_: &Event<'_, '_>| panic!("no event");
    let feed =
        |bytes: &[u8], nothing: &mut dyn FnMut(&Event<'_, '_>)| Live::new().feed(bytes, nothing);
    assert!(matches!(feed(b"GET / HTTP/1.1", &mut nothing), Err(OpenError::NotALog)));
    let (writer, _) = naive::write(recipe(8, false));
    let bytes = writer.bytes();
    assert!(feed(&bytes[..511], &mut nothing).is_ok(), "a part of a header");
    let mut wrong = bytes.clone();
    wrong[300] ^= 1;
    assert!(matches!(feed(&wrong[..512], &mut nothing), Err(OpenError::NotALog)));
    let mut later = bytes.clone();
    later[8] = 2;
    naive::seal_stream_header(&mut later);
    assert!(matches!(feed(&later[..512], &mut nothing), Err(OpenError::Major { .. })));
}

/// `.store.label`
#[test]
fn the_live_reader_shows_an_arrived_label() {
    let store = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
    let mut writer = Writer::new(WORDS, [3; 16], [9; 16]);
    writer.registry(0, &["Store"], STORE, 300);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    let mut ring = Ring::new(&WORDS, store, 10);
    assert!(ring.record(&WORDS, 11, 0xFF01, &[Value::W(1), Value::S(b"a pool".to_vec())]));
    assert!(ring.record(&WORDS, 12, 0xFF02, &[Value::A(77), Value::W(1)]));
    ring.flush(&mut writer);
    let mut ring = Ring::new(&WORDS, POOL, 10);
    assert!(ring.record(&WORDS, 13, 2, &[Value::P(77), Value::A(78), Value::W(0)]));
    ring.write(&mut writer, true);
    let mut labels = Vec::new();
    let mut live = Live::new();
    let note = &mut |event: &Event<'_, '_>| {
        labels.extend([77, 78].map(|value| event.labels.label(value).map(<[u8]>::to_vec)));
    };
    live.feed(&writer.bytes(), note).unwrap();
    live.finish(note);
    assert_eq!(labels[2..], [Some(b"a pool".to_vec()), None, Some(b"a pool".to_vec()), None]);
}
