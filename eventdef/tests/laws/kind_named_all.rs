//! The word `all` stands for all kinds where kinds are named.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds {
        /// Everything.
        All = 0,
    }
    /// Something happened.
    Tick(1, always, All) {}
}

fn main() {}

//~ kind `All`: that name stands for all kinds, in any case
