//! `.annot.string`: a string is the last parameter.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolName(0x0001, always, Pool) {
        /// its name
        name: S,
        /// the pool
        pool: P,
    }
}

fn main() {}

//~ event type `PoolName`: parameter `name`: a string comes last, and there is at most one
