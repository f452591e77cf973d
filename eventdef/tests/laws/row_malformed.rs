//! A row that cannot be read is named.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, always, Pool) {
        /// the pool
        pool P,
    }
}

fn main() {}

//~ event type `PoolInit`: a row is: Name(0x0001, always, Kind) { /// what it is. parameter: P, … }
