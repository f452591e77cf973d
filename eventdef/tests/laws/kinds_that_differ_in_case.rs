//! Kinds are named in any case, so names that differ in case alone are one name.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Locks.
        Lock = 0,
        /// More locks.
        LOCK = 1,
    }
    /// Something happened.
    Tick(1, always, Lock) {}
}

fn main() {}

//~ kind `LOCK`: another kind has that name too, in whatever case
