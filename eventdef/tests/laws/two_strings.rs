//! `.annot.string`: there is at most one string.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolName(0x0001, always, Pool) {
        /// its name
        name: S,
        /// its other name
        nickname: S,
    }
}

fn main() {}

//~ event type `PoolName`: parameter `name`: a string comes last, and there is at most one
