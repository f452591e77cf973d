//! MPS events of kind Arena: what happens to an arena as a whole, and the log's own events.
//!
//! ```text
//!  EventInit, EventClockSync │ ArenaCreateVM ─▶ VMInit … ArenaAlloc, ArenaFree … ─▶ ArenaDestroy
//! ```
//!
//! A part of the list in `mod.rs`.

crate::events! {
    part of super;

    /// The program touched protected memory and the arena begins to deal with it.
    ArenaAccessBegin(0x0004, always, Arena) {
        /// the arena that the memory is in
        arena: P,
        /// where it was touched
        addr: P,
        /// how: bit 0 read, bit 1 write
        mode: U,
    }
    /// A touch of protected memory has been dealt with; the program goes on.
    ArenaAccessEnd(0x0005, always, Arena) {
        /// the arena that the memory is in
        arena: P,
    }
    /// A pool was given memory by its arena. [counter arena memory += size:arena]
    /// [counter pool memory += size:pool] [unit bytes size]
    ArenaAlloc(0x0006, always, Arena) {
        /// the arena that gives
        arena: P,
        /// the descriptor of the first page given
        baseTract: P,
        /// where the memory begins
        base: A,
        /// how many bytes
        size: W,
        /// the pool that gets it
        pool: P,
    }
    /// An arena could not give a pool the memory it asked for. [unit bytes size]
    ArenaAllocFail(0x0007, always, Arena) {
        /// the arena that was asked
        arena: P,
        /// how many bytes were asked for
        size: W,
        /// the pool that asked
        pool: P,
        /// why it failed, an MPS result code
        res: U,
    }
    /// An arena was made in memory that the program provided. [unit bytes size]
    /// [unit bytes grainSize]
    ArenaCreateCL(0x0008, always, Arena) {
        /// the new arena
        arena: P,
        /// how many bytes the program provided
        size: W,
        /// where they begin
        base: A,
        /// its grain, in bytes: the arena gives memory in multiples of it
        grainSize: W,
        /// its class
        arenaClass: P,
        /// how many pools it has for itself
        systemPools: W,
        /// its number in the order of creation
        serial: U,
    }
    /// An arena was made in virtual memory of its own. [unit bytes userSize] [unit bytes chunkSize]
    /// [unit bytes grainSize]
    ArenaCreateVM(0x0009, always, Arena) {
        /// the new arena
        arena: P,
        /// how many bytes of address space the program asked for
        userSize: W,
        /// how many bytes its first chunk has
        chunkSize: W,
        /// its grain, in bytes: the arena gives memory in multiples of it
        grainSize: W,
        /// its class
        arenaClass: P,
        /// how many pools it has for itself
        systemPools: W,
        /// its number in the order of creation
        serial: U,
    }
    /// An arena was destroyed.
    ArenaDestroy(0x000A, always, Arena) {
        /// the destroyed arena
        arena: P,
    }
    /// The program added a piece of memory to an arena. [unit bytes size]
    ArenaExtend(0x000B, always, Arena) {
        /// the arena that grew
        arena: P,
        /// where the new memory begins
        base: A,
        /// how many bytes it has
        size: W,
    }
    /// A pool gave memory back to its arena. [counter arena memory -= size:arena]
    /// [counter pool memory -= size:pool] [unit bytes size]
    ArenaFree(0x000C, always, Arena) {
        /// the arena that takes it back
        arena: P,
        /// where the memory begins
        base: A,
        /// how many bytes
        size: W,
        /// the pool that had it
        pool: P,
    }
    /// The arena begins a slice of collection work, in between the program's own.
    ArenaPollBegin(0x000D, always, Arena) {
        /// the arena that works
        arena: P,
    }
    /// The slice of collection work is over.
    ArenaPollEnd(0x000E, always, Arena) {
        /// the arena that worked
        arena: P,
        /// whether there was anything to do
        workWasDone: B,
    }
    /// The arena ran out of memory in a collection, or recovered from that.
    ArenaSetEmergency(0x000F, always, Arena) {
        /// the arena concerned
        arena: P,
        /// whether it must do without memory from now on
        emergency: B,
    }
    /// The program set how much unused memory an arena may keep.
    ArenaSetSpare(0x0010, always, Arena) {
        /// the arena concerned
        arena: P,
        /// the part of its committed memory that may be spare, from 0 to 1
        spare: D,
    }
    /// Zones that were free were taken into use. Declared by this version, which never records it.
    ArenaUseFreeZone(0x0011, always, Arena) {
        /// the arena whose zones they are
        arena: P,
        /// the zones taken, one bit each
        zoneSet: W,
    }
    /// The limit of an arena's committed memory was set. [unit bytes limit]
    CommitLimitSet(0x001B, always, Arena) {
        /// the arena concerned
        arena: P,
        /// the new limit in bytes
        limit: W,
        /// whether it was accepted, an MPS result code
        res: U,
    }
    /// The log's clock was compared with the C library's.
    EventClockSync(0x001C, always, Arena) {
        /// what the C library's clock said
        clock: W,
    }
    /// The log begins: what is needed to read it.
    EventInit(0x001D, always, Arena) {
        /// major part of the telemetry version
        major: U,
        /// median part of the telemetry version
        median: U,
        /// minor part of the telemetry version
        minor: U,
        /// the highest code of an event type
        maxCode: U,
        /// the size in bytes of the longest name of an event type
        maxNameLen: U,
        /// how many bits a word has
        wordWidth: U,
        /// ticks of the C library's clock in a second
        clocksPerSec: W,
    }
    /// A generation was destroyed.
    GenFinish(0x001E, always, Arena) {
        /// the arena it was in
        arena: P,
        /// the destroyed generation
        r#gen: P,
        /// its number in the arena, in the order of creation
        serial: U,
    }
    /// A generation was made. [unit bytes capacity]
    GenInit(0x001F, always, Arena) {
        /// the arena it is in
        arena: P,
        /// the new generation
        r#gen: P,
        /// its number in the arena, in the order of creation
        serial: U,
        /// how many bytes may be new in it before it is collected
        capacity: W,
        /// the part of it that is expected to die in a collection, from 0 to 1
        mortality: D,
    }
    /// A generation spread to zones where it had nothing before.
    GenZoneSet(0x0020, always, Arena) {
        /// the arena it is in
        arena: P,
        /// the generation that spread
        r#gen: P,
        /// all its zones now, one bit each
        zoneSet: W,
    }
    /// An arena was destroyed that had thrown messages away, because nobody had asked for them.
    MessagesDropped(0x0025, always, Arena) {
        /// how many were thrown away
        count: W,
    }
    /// An arena was destroyed while messages were waiting to be read.
    MessagesExist(0x0026, always, Arena) {}
    /// The longest pause that the program will bear was set.
    PauseTimeSet(0x0029, always, Arena) {
        /// the arena concerned
        arena: P,
        /// the longest pause in seconds
        pauseTime: D,
    }
    /// An arena has grown by a chunk of virtual memory. [unit bytes chunkSize]
    /// [unit bytes reserved]
    VMArenaExtendDone(0x0055, always, Arena) {
        /// how many bytes the chunk has
        chunkSize: W,
        /// how many bytes of address space the arena holds now
        reserved: W,
    }
    /// An arena could not grow: not even the smallest useful chunk was available.
    /// [unit bytes chunkMin] [unit bytes reserved]
    VMArenaExtendFail(0x0056, always, Arena) {
        /// how many bytes that smallest chunk has
        chunkMin: W,
        /// how many bytes of address space the arena holds
        reserved: W,
    }
    /// An arena begins to grow. [unit bytes size] [unit bytes chunkSize] [unit bytes reserved]
    VMArenaExtendStart(0x0057, always, Arena) {
        /// how many bytes are needed
        size: W,
        /// how many bytes the chunk is to have that is tried first
        chunkSize: W,
        /// how many bytes of address space the arena holds
        reserved: W,
    }
    /// A collection changed how much address space an arena holds. [unit bytes vmem0]
    /// [unit bytes vmem1] [unit bytes vmem2]
    VMCompact(0x0058, always, Arena) {
        /// bytes held before the collection
        vmem0: W,
        /// bytes held at its end, before empty chunks were given back
        vmem1: W,
        /// bytes held after they were given back
        vmem2: W,
    }
    /// A range of address space was given back to the operating system.
    VMFinish(0x0059, always, Arena) {
        /// the descriptor of the range
        vm: P,
    }
    /// A range of address space was reserved.
    VMInit(0x005A, always, Arena) {
        /// the descriptor of the range
        vm: P,
        /// where it begins
        base: A,
        /// where it ends
        limit: A,
    }
}
