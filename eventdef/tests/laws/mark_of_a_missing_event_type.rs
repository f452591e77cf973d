//! `.reg.marks`: a pair names event types of its registry.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [slice PoolAlloc=PoolFree:pool]
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

//~ mark `[slice PoolAlloc=PoolFree:pool]`: no event type is called `PoolFree`
