//! The offsets of parameters equal those of a naive twin.
#![allow(missing_docs)]

use eventdef::{Event, Param, ParamSink, Sort, layout};

mod sorts {
    eventdef::events! {
        /// Every sort, and what its size does to its neighbours.
        registry "sorts" version(1, 0, 0);
        kinds standard;
        /// Three words, the usual event.
        Words(1, always, Object) {
            /// a pointer
            p: P,
            /// an address
            a: A,
            /// a word
            w: W,
        }
        /// All sorts, badly ordered.
        All(2, always, User) {
            /// a Boolean
            first: B,
            /// an unsigned integer
            u: U,
            /// a Boolean
            second: B,
            /// a pointer
            p: P,
            /// a double
            d: D,
            /// a Boolean
            third: B,
            /// a string
            s: S,
        }
        /// Nothing.
        Nothing(3, always, User) {}
        /// A Boolean, so that there is padding.
        Flag(4, always, User) {
            /// the Boolean
            flag: B,
        }
        /// A string alone.
        Name(5, always, User) {
            /// the string
            name: S,
        }
    }
}

/// The bytes of an event, and how often each was put.
struct Bytes {
    bytes: Vec<u8>,
    put_count: Vec<u8>,
    calls: Vec<&'static str>,
}

impl Bytes {
    fn of(event: impl Event) -> Bytes {
        let size = event.size();
        let mut sink = Bytes { bytes: vec![0; size], put_count: vec![0; size], calls: vec![] };
        event.encode(&mut sink);
        sink
    }

    fn put(&mut self, call: &'static str, offset: usize, value: &[u8]) {
        self.calls.push(call);
        self.bytes[offset..offset + value.len()].copy_from_slice(value);
        for count in &mut self.put_count[offset..offset + value.len()] {
            *count += 1;
        }
    }
}

impl ParamSink for Bytes {
    fn put_u8(&mut self, offset: usize, value: u8) {
        self.put("u8", offset, &[value]);
    }
    fn put_u32(&mut self, offset: usize, value: u32) {
        assert_eq!(offset % 4, 0);
        self.put("u32", offset, &value.to_ne_bytes());
    }
    fn put_u64(&mut self, offset: usize, value: u64) {
        assert_eq!(offset % 8, 0);
        self.put("u64", offset, &value.to_ne_bytes());
    }
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        self.put("bytes", offset, value);
    }
    fn put_word(&mut self, offset: usize, value: usize) {
        assert_eq!(offset % size_of::<usize>(), 0);
        self.put("word", offset, &value.to_ne_bytes());
    }
}

#[test]
fn three_words_are_three_stores_and_nothing_else() {
    let bytes = Bytes::of(sorts::Words::new(&1, 2usize, 3usize));
    assert_eq!(bytes.calls, ["word", "word", "word"]);
    assert_eq!(sorts::Words::FIXED_SIZE, 8 + 3 * size_of::<usize>().next_multiple_of(8));
    assert_eq!(sorts::Words::new(&1, 2usize, 3usize).size(), sorts::Words::FIXED_SIZE);
}

/// `.event.params`: a parameter lies at the next multiple of its alignment from the start of the
/// event.
#[test]
#[cfg(target_pointer_width = "64")]
fn parameters_lie_at_their_natural_alignment() {
    let string = "nine char";
    let event = sorts::All::new(true, 0x01020304u32, true, &0, 1.5f32, false, string);
    assert_eq!(sorts::All::FIXED_SIZE, 41);
    assert_eq!(event.size(), 56);
    let bytes = Bytes::of(event).bytes;
    assert_eq!(bytes[8], 1);
    assert_eq!(bytes[12..16], 0x01020304u32.to_ne_bytes());
    assert_eq!(bytes[16], 1);
    assert_eq!(bytes[24..32], event.p.0.to_ne_bytes());
    assert_eq!(bytes[32..40], 1.5f64.to_ne_bytes());
    assert_eq!(bytes[40], 0);
    assert_eq!(&bytes[41..50], string.as_bytes());
    assert_eq!(bytes[50..], [0, 0, 0, 0, 0, 5]);
}

/// `.event.string`: the padding spares the bytes before a string that begins within a word.
#[test]
#[cfg(target_pointer_width = "64")]
fn padding_spares_the_parameter_before_a_short_string() {
    for (string, end) in [
        ("", &[1, 0, 0, 0, 0, 0, 0, 6][..]),
        ("ab", &[1, b'a', b'b', 0, 0, 0, 0, 4]),
        ("abcdef", &[1, b'a', b'b', b'c', b'd', b'e', b'f', 0]),
        ("abcdefg", b"\x01abcdefg\0\0\0\0\0\0\0\x07"),
    ] {
        let event = sorts::All::new(true, 1u32, true, &0, 1.5f32, true, string);
        assert_eq!(&Bytes::of(event).bytes[40..], end);
    }
}

/// `.event.string`: one to eight bytes of padding; the last one is the number of the others.
#[test]
fn a_string_of_any_size_is_followed_by_its_padding() {
    let string: String = ('a'..='z').chain(std::iter::once('\0')).cycle().take(64).collect();
    for len in 0..=string.len() {
        let event = sorts::Name::new(&string[..len]);
        let sink = Bytes::of(event);
        assert_eq!(sorts::Name::FIXED_SIZE, 8);
        assert_eq!(&sink.bytes[8..8 + len], &string.as_bytes()[..len]);
        let padding = &sink.bytes[8 + len..];
        assert!((1..=8).contains(&padding.len()), "{len}: {padding:?}");
        let (last, others) = padding.split_last().unwrap();
        assert_eq!(usize::from(*last), padding.len() - 1);
        assert!(others.iter().all(|byte| *byte == 0));
        assert!(sink.put_count[8..].iter().all(|count| *count > 0), "some byte was not put");
    }
}

/// `.event.pad`, `.event.size`: an event's size is a multiple of 8, and constant without a string.
#[test]
fn sizes_are_multiples_of_eight() {
    assert_eq!((sorts::Nothing::FIXED_SIZE, sorts::Nothing::new().size()), (8, 8));
    assert_eq!((sorts::Flag::FIXED_SIZE, sorts::Flag::new(true).size()), (16, 16));
    assert!(Bytes::of(sorts::Nothing::new()).calls.is_empty());
}

/// Returns the offsets: each is the next multiple of the alignment after the parameter before.
fn naive_offsets(params: &[Param], word_size: usize) -> Vec<usize> {
    let mut end = 8;
    let mut offsets = vec![];
    for param in params {
        let (size, align) = match param.sort {
            Sort::P | Sort::A | Sort::W => (word_size, word_size),
            Sort::U => (4, 4),
            Sort::D => (8, 8),
            Sort::B => (1, 1),
            Sort::S => (0, 1),
        };
        while end % align != 0 {
            end += 1;
        }
        offsets.push(end);
        end += size;
    }
    offsets
}

#[test]
fn offsets_equal_those_of_a_naive_twin_for_both_word_sizes() {
    let registries = [&sorts::REGISTRY, &eventdef::mps::REGISTRY, &eventdef::store::REGISTRY];
    for event_type in registries.iter().flat_map(|registry| registry.event_types) {
        for word_size in [4, 8] {
            let params = event_type.params;
            let offsets: Vec<usize> =
                (0..params.len()).map(|i| layout::param_offset(params, i, word_size)).collect();
            assert_eq!(offsets, naive_offsets(params, word_size), "{}", event_type.name);
        }
    }
}

/// The facts of a platform of 32 bits, calculated by hand.
#[test]
fn a_platform_of_32_bits_has_words_of_4_bytes_and_doubles_of_8() {
    let params = sorts::REGISTRY.event_types[1].params;
    let offsets: Vec<usize> =
        (0..params.len()).map(|index| layout::param_offset(params, index, 4)).collect();
    assert_eq!(offsets, [8, 12, 16, 20, 24, 32, 33]);
    assert_eq!(layout::fixed_size(params, 4), 33);
    assert_eq!(layout::fixed_size(sorts::REGISTRY.event_types[0].params, 4), 24);
}
