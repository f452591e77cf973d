//! The registry of saved operations.
//!
//! ```text
//!  Allocate thread object size … Free thread object      in order of time, in one buffer
//! ```
//!
//! Design: `.rep.file` in `design/replay.md`.

eventdef::events! {
    /// What a program asked of its memory manager. Objects, threads and pools are numbers. The log
    /// has no addresses, names or stacks.
    registry "operations" version(1, 0, 0);
    kinds {
        /// All events. They are in one buffer, so that those of one time keep their order.
        Operation = 0,
    }

    /// A thread allocated an object, without a pool, of the usual alignment.
    Allocate(0x0001, always, Operation) {
        /// the thread
        thread: U,
        /// the new object
        object: U,
        /// its size in bytes
        size: W,
    }
    /// A thread allocated an object in a pool, aligned, or zeroed.
    AllocateIn(0x0002, always, Operation) {
        /// the thread
        thread: U,
        /// the new object
        object: U,
        /// its size in bytes
        size: W,
        /// the pool; 0 is also that of objects without a pool
        pool: U,
        /// the binary logarithm of its alignment; 0: as any allocation has
        alignment_log2: U,
        /// whether it is filled with zeros
        zeroed: B,
    }
    /// A thread changed the size of an object.
    Reallocate(0x0003, always, Operation) {
        /// the thread
        thread: U,
        /// the object
        object: U,
        /// its new size in bytes
        size: W,
        /// whether it need no longer be aligned as before
        unaligned: B,
    }
    /// A thread freed an object.
    Free(0x0004, always, Operation) {
        /// the thread
        thread: U,
        /// the object
        object: U,
    }
    /// A thread ended a pool.
    EndPool(0x0005, always, Operation) {
        /// the thread
        thread: U,
        /// the pool
        pool: U,
    }
    /// How much of blocks of a class of sizes was written.
    Touched(0x0006, always, Operation) {
        /// the class: four times the binary logarithm of the size, and the next two bits
        class: U,
        /// whether the blocks were zeroed
        zeroed: B,
        /// bytes that were examined
        examined: W,
        /// bytes of them that were written
        written: W,
    }
    /// Memory and processor time of the program.
    Program(0x0007, always, Operation) {
        /// the peak of resident memory, in bytes
        resident: W,
        /// processor time in user mode, in ns
        user: W,
        /// processor time in the kernel, in ns
        system: W,
        /// the recorder's own part of the resident memory, in bytes
        recorder: W,
    }
}
