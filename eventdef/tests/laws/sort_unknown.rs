//! `.reg.param.sort`: a sort is one of seven.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    PoolAlloc(0x0001, always, Pool) {
        /// the pool
        pool: P,
        /// its size
        size: X,
    }
}

fn main() {}

//~ event type `PoolAlloc`: parameter `size` has sort X, but a sort is one of P A W U S D B
