//! `.reg.marks`: a row changes up to eight counters.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter c0 += 1] [counter c1 += 1] [counter c2 += 1]
    /// [counter c3 += 1] [counter c4 += 1]
    /// [counter c5 += 1] [counter c6 += 1] [counter c7 += 1] [counter c8 += 1]
    PoolAlloc(0x0001, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: W,
        /// its name
        name: S,
    }
}

fn main() {}

//~ an event type changes at most 8 counters
