//! Every kind has a doc string.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        Lock = 0,
    }
    /// Something happened.
    Tick(1, always, Lock) {}
}

fn main() {}

//~ kind `Lock`: it has no doc string
