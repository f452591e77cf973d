//! The name of a parameter has at most 31 bytes.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolAlloc(0x0001, always, Pool) {
        /// asked for
        the_size_that_was_asked_for_in_words: W,
    }
}

fn main() {}

//~ event type `PoolAlloc`: parameter `the_size_that_was_asked_for_in_words`: its name has more
