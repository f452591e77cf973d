//! A code has 16 bits.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x10001, always, Pool) {}
}

fn main() {}
