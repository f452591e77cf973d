//! `.annot.param`: as many arguments as the row has parameters.

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
}

fn main() {
    let (pool, addr) = (&"pool", 0x1000usize);
    eventdef::event_value!(PoolAlloc, pool, addr);
    eventdef::event_value!(PoolAlloc, pool, addr, 8usize, 9usize);
    eventdef::event_value!(PoolAlloc { pool, addr });
    eventdef::event_value!(PoolAlloc { pool, addr, size: 8usize, rank: 1u32 });
}
