//! `.reg.marks`: the literal 1 is added or taken, and 0 is stated.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter live = 1]
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

//~ a counter is NAME += PARAM, NAME -= PARAM or NAME = PARAM; a number is += 1, -= 1 or = 0
