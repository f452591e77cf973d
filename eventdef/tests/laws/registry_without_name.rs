//! Every registry has a name.

eventdef::events! {
    /// A registry that breaks a law.
    registry "" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(0x0001, always, Pool) {}
}

fn main() {}

//~ registry ``: it has no name
