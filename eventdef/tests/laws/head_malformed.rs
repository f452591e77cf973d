//! A registry begins with its name.

eventdef::events! {
    /// A registry that breaks a law.
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, always, Pool) {}
}

fn main() {}
