//! The name of an event type has at most 31 bytes.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    ThePoolWasInitializedForThisArena(0x0001, always, Pool) {}
}

fn main() {}

//~ event type `ThePoolWasInitializedForThisArena`: its name has more than 31 bytes
