//! `.reg.param.doc`: every parameter has a doc string.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, always, Pool) {
        pool: P,
    }
}

fn main() {}

//~ event type `PoolInit`: parameter `pool`: it has no doc string
