//! Code 0 is that of base records (`.event.base`).

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0000, always, Pool) {}
}

fn main() {}

//~ event type `PoolInit`: code 0x0000 is reserved for base records; codes are from 0x0001 to 0xFEFF
