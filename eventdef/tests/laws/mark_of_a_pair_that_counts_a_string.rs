//! `.reg.marks`: what a counter takes from two event types is a number.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter PoolAlloc.name]
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

//~ `name` has another sort than W, U or D: only these count
