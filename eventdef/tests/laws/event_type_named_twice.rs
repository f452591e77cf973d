//! No two rows have one name. The compiler itself finds that two structs have.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(1, always, Pool) {}
    /// Something happened.
    PoolInit(2, always, Pool) {}
}

fn main() {}

//~ the name `PoolInit` is defined multiple times
