//! A retired row cannot be annotated.

eventdef::events! {
    /// A registry that breaks a law.
    registry "heap" version(1, 0, 0);
    kinds standard;
    /// Something happened.
    retired PoolGlance(0x0007, always, Pool) {
        /// the pool
        pool: P,
    }
}

/// What an annotation asks for.
fn record(_event: impl eventdef::Event) {}

fn main() {
    let pool = 0;
    record(eventdef::event_value!(PoolGlance, &pool));
    record(eventdef::event_value!(PoolGlance { pool: &pool }));
}

//~ `PoolGlance` cannot be annotated: it is not an event type, or its row is retired
