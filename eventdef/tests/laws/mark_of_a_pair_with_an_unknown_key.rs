//! `.reg.marks`: the key of a pair is in both rows.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. 
    PoolAlloc(0x0001, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: W,
        /// its name
        name: S,
    }
    /// Memory was given back. [slice PoolAlloc=PoolFree:pool,name]
    PoolFree(0x0002, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: W,
    }
}

fn main() {}

//~ no parameter of `PoolFree` is called `name`
