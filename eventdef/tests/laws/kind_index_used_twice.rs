//! No two kinds have one index.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Locks.
        Lock = 3,
        /// Keys.
        Key = 3,
    }
    /// Something happened.
    Tick(1, always, Lock) {}
}

fn main() {}

//~ kind `Key`: index 3 is already used by `Lock`
