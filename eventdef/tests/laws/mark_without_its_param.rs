//! `.reg.marks`: a counter takes a parameter of its row.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter live += sizes:pool]
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

//~ event type `PoolAlloc`: mark `[counter live += sizes:pool]`
//~ no parameter of `PoolAlloc` is called `sizes`
