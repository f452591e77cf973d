//! Codes above FEFF belong to the runtime (`.store`).

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0xFF00, always, Pool) {}
}

fn main() {}

//~ event type `PoolInit`: code 0xFF00 is reserved for the runtime's own registry; codes are from
