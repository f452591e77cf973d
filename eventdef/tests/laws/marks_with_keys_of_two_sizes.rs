//! `.reg.marks`: the rows of a counter agree about its key.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter live += size:pool]
    PoolAlloc(0x0001, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: W,
        /// its name
        name: S,
    }
    /// Memory was given back. [counter live -= size]
    PoolFree(0x0002, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: W,
    }
}

fn main() {}

//~ and `PoolAlloc`: the changes of one counter have equally many parameters as their key
