//! A code has 16 bits.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x10001, always, Pool) {}
}

fn main() {}

//~ event type `PoolInit`: a code has 16 bits; codes are from 0x0001 to 0xFEFF
