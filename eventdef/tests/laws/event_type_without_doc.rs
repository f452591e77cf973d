//! `.reg.doc`: every row has a doc string.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    PoolInit(0x0001, always, Pool) {}
}

fn main() {}

//~ event type `PoolInit`: it has no doc string
