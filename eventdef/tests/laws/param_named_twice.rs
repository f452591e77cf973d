//! Parameters are named uniquely.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolAlloc(0x0001, always, Pool) {
        /// asked for
        size: W,
        /// the pool
        pool: P,
        /// given
        size: W,
    }
}

fn main() {}

//~ event type `PoolAlloc`: parameter `size`: another parameter has that name too
