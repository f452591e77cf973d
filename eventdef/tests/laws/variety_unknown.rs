//! `.reg.always`: a row is recorded always or sometimes.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, never, Pool) {}
}

fn main() {}

//~ event type `PoolInit`: it is recorded `always` or `sometimes`, not `never`
