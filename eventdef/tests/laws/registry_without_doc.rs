//! Every registry has a doc string.

eventdef::events! {
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, always, Pool) {}
}

fn main() {}

//~ registry `heap`: it has no doc string
