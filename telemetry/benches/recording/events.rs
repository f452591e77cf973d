//! The events of the benchmarks: three words each.

telemetry::events! {
    /// The events of the benchmark.
    registry "recording" version(1, 0, 0);
    kinds standard;

    /// Something with three words happened.
    Three(0x0001, always, Object) {
        /// the first word
        a: W,
        /// the second word
        b: W,
        /// the third word
        c: W,
    }
    /// The same, with a time that its thread read earlier.
    coarse Coarse(0x0003, always, Ref) {
        /// the first word
        a: W,
        /// the second word
        b: W,
        /// the third word
        c: W,
    }
    /// The same, of a kind that is not recorded.
    Quiet(0x0002, always, User) {
        /// the first word
        a: W,
        /// the second word
        b: W,
        /// the third word
        c: W,
    }
}
