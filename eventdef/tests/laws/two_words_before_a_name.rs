//! One word stands before a name: a row that is not recorded any more reads no clock.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    retired coarse PoolInit(0x0001, always, Pool) {}
}

fn main() {}

//~ event type `retired coarse PoolInit`: only `retired` or `coarse` stands before a name
