//! The events of all scenarios.

telemetry::events! {
    /// What the scenarios do.
    registry "scenario" version(1, 0, 0);
    kinds standard;

    /// The time that is measured begins.
    WindowBegin(0x0001, always, User) {}
    /// The time that is measured ends.
    WindowEnd(0x0002, always, User) {}
    /// Work begins.
    WorkBegin(0x0003, always, User) {
        /// its number
        number: U,
    }
    /// Work ends.
    WorkEnd(0x0004, always, User) {
        /// its number
        number: U,
    }
    /// A password is being checked.
    AuthBegin(0x0005, always, User) {}
    /// The password was checked.
    AuthEnd(0x0006, always, User) {}
    /// A file is being brought to the disk.
    SyncBegin(0x0007, always, User) {}
    /// The file is on the disk.
    SyncEnd(0x0008, always, User) {}
    /// A frame is due.
    FrameBegin(0x0009, always, User) {
        /// its number
        number: U,
    }
    /// A frame is shown.
    FrameEnd(0x000A, always, User) {
        /// its number
        number: U,
    }
    /// A frame was shown after the next one was due.
    DeadlineMissed(0x000B, always, User) {
        /// its number
        number: U,
        /// how late it was, in µs
        late: U,
    }
    /// The address of a host is looked up.
    LookupBegin(0x000C, always, User) {
        /// its number
        number: U,
    }
    /// The address is known.
    LookupEnd(0x000D, always, User) {
        /// its number
        number: U,
    }
}
