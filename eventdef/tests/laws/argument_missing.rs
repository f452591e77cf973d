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

//~ this function takes 3 arguments but 2 arguments were supplied
//~ this function takes 3 arguments but 4 arguments were supplied
//~ missing field `size` in initializer of `PoolAlloc`
//~ struct `PoolAlloc` has no field named `rank`
