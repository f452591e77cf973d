//! What threads of the tests' programs do: events of three kinds, three words each.
//!
//! ```text
//!  record(0, thread, index, value) ─▶ Begun      record(1, …) ─▶ WentOn      record(2, …) ─▶ Ended
//! ```

use telemetry::event;

telemetry::events! {
    /// What threads do: three kinds, three words each.
    registry "work" version(1, 0, 0);
    kinds {
        /// Work begins.
        Begin = 0,
        /// Work goes on.
        Middle = 1,
        /// Work ends.
        End = 2,
    }

    /// A piece of work began.
    Begun(0x0001, always, Begin) {
        /// the thread
        thread: W,
        /// the number of the event in its thread
        index: W,
        /// what the program makes of it
        value: W,
    }
    /// A piece of work went on.
    WentOn(0x0002, always, Middle) {
        /// the thread
        thread: W,
        /// the number of the event in its thread
        index: W,
        /// what the program makes of it
        value: W,
    }
    /// A piece of work ended.
    Ended(0x0003, always, End) {
        /// the thread
        thread: W,
        /// the number of the event in its thread
        index: W,
        /// what the program makes of it
        value: W,
    }
}

/// Records an event of the first, second or third kind.
pub fn record(kind: usize, thread: usize, index: usize, value: usize) {
    match kind {
        0 => event!(Begun, thread, index, value),
        1 => event!(WentOn, thread, index, value),
        _ => event!(Ended, thread, index, value),
    }
}
