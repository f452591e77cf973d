//! The name of a kind has at most 15 bytes.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Locks.
        LocksAndKeysEtc1 = 0,
    }
    /// Something happened.
    Tick(1, always, LocksAndKeysEtc1) {}
}

fn main() {}

//~ kind `LocksAndKeysEtc1`: its name has more than 15 bytes
