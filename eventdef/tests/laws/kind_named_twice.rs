//! No two kinds have one name.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Locks.
        Lock = 0,
        /// More locks.
        Lock = 1,
    }
    /// Something happened.
    Tick(1, always, Lock) {}
}

fn main() {}

//~ the name `Lock` is defined multiple times
//~ kind `Lock`: another kind has that name too
