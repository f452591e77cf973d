//! What `events!` makes of a list.
#![allow(missing_docs)]

use eventdef::{Event, ParamSink, event_value};

mod heap {
    eventdef::events! {
        /// The events of the word counter's heap.
        registry "heap" version(1, 2, 3);
        kinds standard;
        /// A pool was created.
        PoolInit(0x002D, always, Pool) {
            /// the pool
            pool: P,
            /// its arena
            arena: P,
        }
        /// Memory was
        /// handed out.
        PoolAlloc(0x002A, sometimes, Object) { /// the pool
            pool: P, /// the memory
            addr: A, /// its size in bytes
            size: W }
        /// No longer recorded.
        retired OldThing(0x0007, sometimes, Pool) { /// what
            r#ref: W }
        /// A row without parameters.
        Tick(0x0030, always, User) {}
        /// All.
        All(0x31, always, User) {
            /// p
            p: P,
            /// b
            b: B,
            /// a
            a: A,
            /// u
            u: U,
            /// d
            d: D,
            /// w
            w: W,
            /// c
            c: B,
            /// s
            s: S
        }
    }
}

struct Bytes([u8; 128]);
impl ParamSink for Bytes {
    fn put_u8(&mut self, offset: usize, value: u8) {
        self.0[offset] = value;
    }
    fn put_u32(&mut self, offset: usize, value: u32) {
        self.0[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }
    fn put_u64(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
    }
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        self.0[offset..offset + value.len()].copy_from_slice(value);
    }
}

#[test]
fn smoke() {
    let mut pool = 3u8;
    let p = &mut pool;
    let e = event_value!(heap::PoolAlloc, p, 16usize, 7u8);
    assert_eq!(e, heap::PoolAlloc::new(&*p, 16usize, 7u8));
    assert_eq!(e, event_value!(heap::PoolAlloc { pool: p, addr: 16usize, size: 7u32 }));
    assert_eq!(e.size(), 32);
    assert_eq!(heap::All::FIXED_SIZE, 8 + 8 + 8 + 8 + 8 + 8 + 8 + 1);
    let all = heap::All::new(p, true, 1usize, 2u8, 1.5, 3usize, false, "abc");
    assert_eq!(all.size(), 64);
    let mut b = Bytes([0xEE; 128]);
    all.encode(&mut b);
    std::println!("{:?} {:?}", all, b.0);
    std::println!("{:#?}", heap::REGISTRY);
    let _ = event_value!(heap::Tick).size();
}
