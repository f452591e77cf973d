//! Only `retired` or `coarse` stands before a name.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    obsolete PoolInit(0x0001, always, Pool) {}
}

fn main() {}

//~ event type `obsolete PoolInit`: only `retired` or `coarse` stands before a name
