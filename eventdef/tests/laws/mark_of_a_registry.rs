//! `.reg.marks`: a mark of one row stands at the row.

eventdef::events! {
    /// A heap. [unit bytes size]
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
}

fn main() {}

//~ registry `heap`: mark `[unit bytes size]`: it belongs to the doc string of an event type
