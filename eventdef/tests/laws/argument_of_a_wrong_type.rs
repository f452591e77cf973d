//! `.annot.param`: each annotation is checked against its row, and the error says what is right.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolAlloc(0x002A, always, Pool) {
        /// the pool
        pool: P,
        /// the memory
        addr: A,
        /// its size in bytes
        size: W,
    }
    /// Something happened.
    Others(0x002B, always, Pool) {
        /// its rank
        rank: U,
        /// how much
        spare: D,
        /// whether
        high: B,
        /// its name
        name: S,
    }
}

fn main() {
    let (pool, addr) = (&"pool", 0x1000usize);
    eventdef::event_value!(PoolAlloc, 7usize, addr, 8usize);
    eventdef::event_value!(PoolAlloc, pool, pool, 8usize);
    eventdef::event_value!(PoolAlloc, pool, addr, -8isize);
    eventdef::event_value!(PoolAlloc { pool, addr, size: pool });
    eventdef::event_value!(Others, 1u64, 1.0, true, "one");
    eventdef::event_value!(Others, 1u32, 1u32, true, "one");
    eventdef::event_value!(Others, 1u32, 1.0, 1u8, "one");
    eventdef::event_value!(Others, 1u32, 1.0, true, 'o');
}

//~ `usize` cannot stand for a parameter of sort P, a pointer
//~ `&&str` cannot stand for a parameter of sort A, an address
//~ `isize` cannot stand for a parameter of sort W, a word
//~ `&&str` cannot stand for a parameter that is stored as `usize`
//~ `u64` cannot stand for a parameter of sort U, an unsigned integer of 32 bits
//~ `u32` cannot stand for a parameter of sort D, a double
//~ `u8` cannot stand for a parameter of sort B, a Boolean
//~ `char` cannot stand for a parameter of sort S, a string
