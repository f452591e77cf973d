//! `.reg.marks`: a counter is added to, taken from, or stated.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter live *= size]
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

//~ the sign before `=` is + or -: a counter is NAME += PARAM
