//! What the heap tells of itself.

telemetry::events! {
    /// A small heap: an arena of segments, pools that allocate in them, and a collector that
    /// copies.
    registry "heap" version(1, 0, 0);
    kinds standard;

    /// An arena was made. [unit bytes segSize]
    ArenaCreate(0x0001, always, Arena) {
        /// the arena
        arena: P,
        /// the size of its segments in bytes
        segSize: W,
    }
    /// The arena got memory from the operating system. [counter arena += size] [unit bytes size]
    ArenaExtend(0x0002, always, Arena) {
        /// the arena
        arena: P,
        /// where the memory begins
        base: A,
        /// its size in bytes
        size: W,
    }
    /// An arena gave all its memory back. [counter arena -= size] [unit bytes size]
    ArenaDestroy(0x0003, always, Arena) {
        /// the arena
        arena: P,
        /// what it had, in bytes
        size: W,
    }
    /// A pool was made.
    PoolInit(0x0011, always, Pool) {
        /// the pool
        pool: P,
        /// the arena that it is in
        arena: P,
        /// whether a collector moves its objects
        moving: B,
    }
    /// A pool ended.
    PoolFinish(0x0012, always, Pool) {
        /// the pool
        pool: P,
        /// the objects that were allocated in it
        objects: W,
    }
    /// A pool got a segment. [unit bytes size]
    SegAlloc(0x0021, always, Seg) {
        /// the pool
        pool: P,
        /// where the segment begins
        base: A,
        /// its size in bytes
        size: W,
    }
    /// A pool gave a segment back to its arena.
    SegFree(0x0022, always, Seg) {
        /// the pool
        pool: P,
        /// where the segment begins
        base: A,
    }
    /// An object was allocated. [unit bytes size]
    PoolAlloc(0x0031, always, Object) {
        /// the pool
        pool: P,
        /// the object
        addr: A,
        /// its size in bytes
        size: W,
    }
    /// An object was found to be the newest of its pool, and given back. [unit bytes size]
    PoolFree(0x0032, always, Object) {
        /// the pool
        pool: P,
        /// the object
        addr: A,
        /// its size in bytes
        size: W,
    }
    /// A collection began.
    TraceStart(0x0041, always, Trace) {
        /// which, counted from 0
        trace: W,
        /// the pool whose objects are condemned
        pool: P,
        /// what they take, in bytes
        condemned: W,
    }
    /// A collection ended.
    TraceEnd(0x0042, always, Trace) {
        /// which
        trace: W,
        /// what lives, in bytes
        live: W,
        /// the part of what was condemned that lives
        survival: D,
    }
    /// A reference was found, and what it refers to was moved.
    TraceFix(0x0051, always, Ref) {
        /// which collection
        trace: W,
        /// where the object was
        from: A,
        /// where it is
        to: A,
        /// how many objects were moved before
        rank: U,
    }
    /// A file is counted from here on.
    FileBegin(0x0061, always, User) {
        /// which, counted from 0
        file: W,
        /// its size in bytes
        size: W,
        /// its name
        name: S,
    }
    /// A file was counted.
    FileEnd(0x0062, always, User) {
        /// which
        file: W,
        /// words in it
        words: W,
        /// different words so far
        distinct: W,
    }
}
