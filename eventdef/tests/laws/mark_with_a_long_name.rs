//! `.reg.marks`: the name of a counter is short.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx += 1]
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

//~ the name of a counter has at most 31 bytes
