//! `.reg.marks`: a mark has one of the forms.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Memory was handed out. [counter live]
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

//~ event type `PoolAlloc`: mark `[counter live]`
//~ a counter is EVENT.PARAM or EVENT.PARAM-EVENT.PARAM
