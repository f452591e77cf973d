//! MPS events of kinds Pool, Object and User: pools, their buffers, allocation, and names.
//!
//! ```text
//!  PoolInit, PoolInitAMC … ─▶ BufferInit ─▶ BufferReserve, BufferCommit … PoolAlloc, PoolFree …
//!  ─▶ PoolFinish
//! ```
//!
//! A part of the list in `mod.rs`.

crate::events! {
    part of super;

    /// The program finished initializing an object in a buffer that logs its allocation.
    /// [unit bytes size]
    BufferCommit(0x0012, always, Object) {
        /// the buffer it lies in
        buffer: P,
        /// where the object begins
        p: A,
        /// how many bytes it has
        size: W,
        /// its class, as the program's object format tells; 0 if that does not
        clientClass: A,
    }
    /// A buffer was destroyed.
    BufferFinish(0x0015, always, Pool) {
        /// the destroyed buffer
        buffer: P,
    }
    /// A buffer was made, from which a thread allocates without a lock.
    BufferInit(0x0016, always, Pool) {
        /// the new buffer
        buffer: P,
        /// the pool that fills it
        pool: P,
        /// whether the program allocates from it, and not the collector
        isMutator: B,
    }
    /// A buffer was made for objects whose references are all of one rank.
    BufferInitRank(0x0017, always, Pool) {
        /// the new buffer
        buffer: P,
        /// the pool that fills it
        pool: P,
        /// whether the program allocates from it, and not the collector
        isMutator: B,
        /// the rank: 0 ambiguous, 1 exact, 2 final, 3 weak
        rank: U,
    }
    /// A buffer was made that is filled from segments.
    BufferInitSeg(0x0018, always, Pool) {
        /// the new buffer
        buffer: P,
        /// the pool that fills it
        pool: P,
        /// whether the program allocates from it, and not the collector
        isMutator: B,
    }
    /// Room for an object was reserved in a buffer that logs its allocation. [unit bytes size]
    BufferReserve(0x0019, always, Object) {
        /// the buffer it is in
        buffer: P,
        /// where the room begins
        init: A,
        /// how many bytes it has
        size: W,
    }
    /// A string was given a number.
    Intern(0x0021, always, User) {
        /// the number it has from now on
        stringId: W,
        /// the string itself
        string: S,
    }
    /// An address in managed memory was given a name.
    Label(0x0022, always, User) {
        /// the address
        address: A,
        /// the number of the interned string that names it
        stringId: W,
    }
    /// A structure of the MPS was given a name.
    LabelPointer(0x0023, always, User) {
        /// where the structure is
        pointer: P,
        /// the number of the interned string that names it
        stringId: W,
    }
    /// A record of address ranges, such as the free memory of a pool, was made.
    LandInit(0x0024, always, Pool) {
        /// the new record
        land: P,
        /// what it belongs to
        owner: P,
    }
    /// A meter was made, which keeps statistics of a quantity.
    MeterInit(0x0027, always, Pool) {
        /// the new meter
        meter: P,
        /// what it belongs to
        owner: P,
    }
    /// What a meter has measured.
    MeterValues(0x0028, always, Pool) {
        /// the meter that is read
        meter: P,
        /// the sum of all amounts
        total: D,
        /// the mean of their squares
        meanSquared: D,
        /// how many amounts there were
        count: W,
        /// the largest of them
        max: W,
        /// the smallest of them
        min: W,
    }
    /// A pool handed out memory. [counter allocated += size:pool] [unit bytes size]
    PoolAlloc(0x002A, sometimes, Object) {
        /// the pool it comes from
        pool: P,
        /// where the memory begins
        pReturn: A,
        /// how many bytes it has
        size: W,
    }
    /// A pool was destroyed. [counter allocated = 0:pool]
    PoolFinish(0x002B, always, Pool) {
        /// the destroyed pool
        pool: P,
        /// the arena it was in
        arena: P,
    }
    /// Memory was given back to a pool. [counter allocated -= size:pool] [unit bytes size]
    PoolFree(0x002C, always, Object) {
        /// the pool it came from
        pool: P,
        /// where the memory begins
        old: A,
        /// how many bytes it has
        size: W,
    }
    /// A pool was made. An event of its class, such as PoolInitMFS, says more.
    PoolInit(0x002D, always, Pool) {
        /// the new pool
        pool: P,
        /// the arena it is in
        arena: P,
        /// its class
        poolClass: P,
        /// its number in the arena, in the order of creation
        serial: U,
    }
    /// A pool of class AMC was made: mostly copying, for objects that refer to others.
    PoolInitAMC(0x002E, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
    /// A pool of class AMCZ was made: mostly copying, for objects that refer to nothing.
    PoolInitAMCZ(0x002F, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
    /// A pool of class AMS was made: mark and sweep.
    PoolInitAMS(0x0030, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
    /// A pool of class AWL was made: mark and sweep, for objects with weak references.
    PoolInitAWL(0x0031, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
    /// A pool of class LO was made: mark and sweep, for leaves, which refer to nothing.
    PoolInitLO(0x0032, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
    /// A pool of class MFS was made: freed by hand, all blocks of one size. [unit bytes extendBy]
    /// [unit bytes unitSize]
    PoolInitMFS(0x0033, always, Pool) {
        /// the new pool
        pool: P,
        /// how many bytes it takes from the arena at a time
        extendBy: W,
        /// whether it takes them itself when it runs out, and is not given them
        extendSelf: B,
        /// how many bytes a block has, rounded up
        unitSize: W,
    }
    /// A pool of class MVFF was made: freed by hand, blocks of any size, first fit.
    /// [unit bytes extendBy] [unit bytes avgSize] [unit bytes align]
    PoolInitMVFF(0x0034, always, Pool) {
        /// the new pool
        pool: P,
        /// how many bytes it takes from the arena at a time
        extendBy: W,
        /// how many bytes a block is expected to have on average
        avgSize: W,
        /// the alignment of its blocks in bytes
        align: W,
        /// whether it allocates from the high end of a free range
        slotHigh: B,
        /// whether it takes memory at high addresses of the arena
        arenaHigh: B,
        /// whether it takes the first range that fits, and not the last
        firstFit: B,
    }
    /// A pool of class MVT was made: freed by hand, blocks that tend to die in the order of their
    /// birth. [unit bytes minSize] [unit bytes meanSize] [unit bytes maxSize]
    PoolInitMVT(0x0035, always, Pool) {
        /// the new pool
        pool: P,
        /// the smallest block expected, in bytes
        minSize: W,
        /// the size of a block expected on average, in bytes
        meanSize: W,
        /// the largest block expected, in bytes
        maxSize: W,
        /// for how many blocks it keeps room in reserve
        reserveDepth: W,
        /// the part that may be lost to fragmentation, in percent; the MPS spells the name so
        fragLimig: W,
    }
    /// A pool of class SNC was made: a stack of frames, which are dropped as a whole.
    PoolInitSNC(0x0036, always, Pool) {
        /// the new pool
        pool: P,
        /// the format of its objects
        format: P,
    }
}
