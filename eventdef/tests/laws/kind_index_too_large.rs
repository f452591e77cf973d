//! There are 64 kinds.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Locks.
        Lock = 64,
    }
    /// Something happened.
    Tick(1, always, Lock) {}
}

fn main() {}

//~ kind `Lock`: its index is not from 0 to 63
