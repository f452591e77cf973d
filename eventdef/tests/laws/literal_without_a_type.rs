//! A literal needs the type of a word.

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
    eventdef::event_value!(PoolAlloc, &1, 0, 8);
}

//~ `i32` cannot stand for a parameter of sort W, a word
