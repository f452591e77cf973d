//! Registry 0, the runtime's own: what gives names to strings, pointers and threads, and says what
//! was lost or switched.
//!
//! ```text
//!  FF01 Intern    7 = "word counter"        FF03 Thread   1 = os 4711 "main"
//!  FF02 Label     0x5600… is string 7       FF06 Source   0x5600… is line 12 of "src/main.rs"
//!  FF04 Discarded   FF05 Control
//! ```
//!
//! Design: `.store` in `design/format.md`; `.req.intern`, `.sol.client` in `design/telemetry.md`.

crate::events! {
    @runtime
    /// The event log itself: names, threads, losses and what was switched.
    registry "telemetry" version(1, 0, 1);
    kinds {
        /// What is recorded whatever the masks say, and never overwritten.
        Store = 0,
    }

    /// A string was given a number (`.store.intern`).
    Intern(0xFF01, always, Store) {
        /// the number that it has from now on
        stringId: W,
        /// the string
        string: S,
    }
    /// A pointer, address or word was given a name, until it gets another (`.store.label`).
    Label(0xFF02, always, Store) {
        /// what is called so from now on
        address: A,
        /// the number of the interned string that it is called; 0: it has no name any more
        stringId: W,
    }
    /// A thread began to record (`.store.thread`).
    Thread(0xFF03, always, Store) {
        /// its index in the stream, from 1
        thread: W,
        /// the operating system's number for it
        osThread: W,
        /// its name
        name: S,
    }
    /// Events were requested that no buffer could count (`.store.discarded`).
    Discarded(0xFF04, always, Store) {
        /// the index of their registry in the stream
        registry: U,
        /// the index of their kind
        kind: U,
        /// why: 0 no room, 1 nested in the recording of another, 2 too large, 3 failed to be
        /// written
        cause: U,
        /// how many there are so far
        count: W,
    }
    /// The kinds of a registry that are recorded and output were set (`.store.control`).
    Control(0xFF05, always, Store) {
        /// the index of the registry in the stream
        registry: U,
        /// bits 0 to 31 of the kinds that are recorded from now on
        recordedLow: U,
        /// bits 32 to 63
        recordedHigh: U,
        /// bits 0 to 31 of the kinds that are output from now on
        outputLow: U,
        /// bits 32 to 63
        outputHigh: U,
    }
    /// The place of something in the program's source text (`.store.source`).
    Source(0xFF06, always, Store) {
        /// the address of what stands there, a function or a statement
        address: A,
        /// the line, from 1; here and below 0: not known
        line: U,
        /// the column in characters, from 1
        column: U,
        /// the offset in the file, in bytes
        offset: U,
        /// the size of the text, in bytes
        size: U,
        /// the path of the file
        file: S,
    }
}
