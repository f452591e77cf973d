//! `.reg.code`: a code belongs to one event type.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x002A, always, Pool) {}
    /// Something happened.
    PoolAlloc(0x002A, always, Pool) {}
}

fn main() {}

//~ event type `PoolAlloc`: code 0x002A is already used by `PoolInit`
