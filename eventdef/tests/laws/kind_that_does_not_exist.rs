//! `.reg.kind`: a row's kind is one of the registry's.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolInit(1, always, Pol) {}
}

fn main() {}

//~ event type `PoolInit`: kind `Pol` does not exist; the kinds are `Arena` `Pool` `Trace` `Seg`
