//! MPS events of kinds Trace and Ref: collections, and the references that they follow.
//!
//! ```text
//!  TraceCreate ─▶ ChainCondemnAuto ─▶ TraceStart ─▶ TraceFlipBegin, TraceFlipEnd
//!  ─▶ TraceFix … TraceBandAdvance … ─▶ TraceReclaim ─▶ TraceEndGen
//!  ─▶ TraceStatScan, TraceStatFix, TraceStatReclaim ─▶ TraceDestroy
//! ```
//!
//! A part of the list in `mod.rs`.

crate::events! {
    part of super;

    /// The policy chose which generations of a chain a new collection condemns.
    ChainCondemnAuto(0x001A, always, Trace) {
        /// the arena concerned
        arena: P,
        /// the chain of generations
        chain: P,
        /// the collection
        trace: P,
        /// the index of the oldest generation condemned
        topCondemnedGenIndex: W,
        /// how many generations the chain has
        genCount: W,
    }
    /// A collection went on to references of the next weaker rank.
    TraceBandAdvance(0x0042, always, Trace) {
        /// the arena concerned
        arena: P,
        /// the collection
        trace: P,
        /// the rank followed from now on: 1 exact, 2 final, 3 weak
        rank: W,
    }
    /// Everything that can be collected was condemned. Declared by this version, which never
    /// records it.
    TraceCondemnAll(0x0043, always, Trace) {
        /// the arena concerned
        arena: P,
        /// the collection
        trace: P,
    }
    /// A collection was called into being.
    TraceCreate(0x0044, always, Trace) {
        /// the new collection
        trace: P,
        /// the arena it collects
        arena: P,
        /// the reason, a number that the MPS lists as "trace start why"
        why: U,
    }
    /// What a pool had in a generation when a collection was created. [unit bytes capacity]
    /// [unit bytes totalSize] [unit bytes freeSize] [unit bytes newSize] [unit bytes oldSize]
    /// [unit bytes newDeferredSize] [unit bytes oldDeferredSize]
    TraceCreatePoolGen(0x0045, always, Trace) {
        /// the generation
        r#gen: P,
        /// how many bytes may be new in the generation before it is collected
        capacity: W,
        /// the part of the generation expected to die, from 0 to 1
        mortality: D,
        /// the zones of the generation, one bit each
        zone: W,
        /// the pool
        pool: P,
        /// bytes of the pool in the generation
        totalSize: W,
        /// of these, bytes that are unused
        freeSize: W,
        /// of these, bytes allocated since the last collection
        newSize: W,
        /// of these, bytes that were there at the last collection
        oldSize: W,
        /// new bytes that do not count towards the next collection yet
        newDeferredSize: W,
        /// old bytes that do not count either
        oldDeferredSize: W,
    }
    /// A collection is over and done with.
    TraceDestroy(0x0046, always, Trace) {
        /// the arena it collected
        arena: P,
        /// the ended collection
        trace: P,
    }
    /// How a condemned generation came out of a collection. [unit bytes condemned]
    /// [unit bytes forwarded] [unit bytes preservedInPlace]
    TraceEndGen(0x0047, always, Trace) {
        /// the arena concerned
        arena: P,
        /// the collection
        trace: P,
        /// the generation
        r#gen: P,
        /// bytes condemned in it
        condemned: W,
        /// of these, bytes that were copied and so survived
        forwarded: W,
        /// of these, bytes that survived where they were
        preservedInPlace: W,
        /// the part that died this time, from 0 to 1
        mortalityTrace: D,
        /// the part that dies on average as of now
        mortalityAverage: D,
    }
    /// A reference was looked at: does it refer to something condemned?
    TraceFix(0x0049, sometimes, Ref) {
        /// the state of the scan that found it
        ss: P,
        /// where the reference is
        refIO: P,
        /// what it refers to
        r#ref: A,
        /// its rank: 0 ambiguous, 1 exact, 2 final, 3 weak
        rank: U,
    }
    /// The reference just looked at refers into a segment.
    TraceFixSeg(0x004A, sometimes, Ref) {
        /// the segment
        seg: P,
    }
    /// The program is stopped: from here on it sees only what the collection has seen.
    TraceFlipBegin(0x004B, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collects
        arena: P,
    }
    /// The program goes on.
    TraceFlipEnd(0x004C, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collects
        arena: P,
    }
    /// All references have been followed; what was not reached is given back.
    TraceReclaim(0x004D, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collects
        arena: P,
    }
    /// A collection starts, with all its work still to do. [unit bytes condemned]
    /// [unit bytes notCondemned] [unit bytes foundation]
    TraceStart(0x0051, always, Trace) {
        /// the arena concerned
        arena: P,
        /// the collection
        trace: P,
        /// the part of the condemned memory expected to die, from 0 to 1
        mortality: D,
        /// how much the program may allocate, in bytes, before the collection should be done
        finishingTime: D,
        /// bytes condemned
        condemned: W,
        /// bytes that could have been condemned and were not
        notCondemned: W,
        /// bytes that may refer to the condemned and must be scanned
        foundation: W,
        /// the zones of the condemned, one bit each
        white: W,
        /// how much work each slice should do
        quantumWork: W,
    }
    /// What a collection did with references, in numbers. [unit bytes forwardedSize]
    /// [unit bytes preservedInPlaceSize]
    TraceStatFix(0x0052, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collected
        arena: P,
        /// references into zones of the condemned
        fixRefCount: W,
        /// of these, references into segments
        segRefCount: W,
        /// of these, references into condemned segments
        whiteSegRefCount: W,
        /// how often an ambiguous reference kept something in place
        nailCount: W,
        /// references turned to where their object had been copied to before
        snapCount: W,
        /// objects copied
        forwardedCount: W,
        /// bytes copied
        forwardedSize: W,
        /// objects that survived in place
        preservedInPlaceCount: W,
        /// bytes that survived in place
        preservedInPlaceSize: W,
    }
    /// What a collection gave back, in numbers. [unit bytes reclaimSize]
    TraceStatReclaim(0x0053, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collected
        arena: P,
        /// segments looked through for memory to give back
        reclaimCount: W,
        /// bytes given back
        reclaimSize: W,
    }
    /// What a collection scanned, in numbers. [unit bytes rootScanSize] [unit bytes rootCopiedSize]
    /// [unit bytes segScanSize] [unit bytes segCopiedSize] [unit bytes singleScanSize]
    /// [unit bytes singleCopiedSize]
    TraceStatScan(0x0054, always, Trace) {
        /// the collection
        trace: P,
        /// the arena it collected
        arena: P,
        /// roots scanned
        rootScanCount: W,
        /// bytes of roots scanned
        rootScanSize: W,
        /// bytes copied because roots refer to them
        rootCopiedSize: W,
        /// segments scanned
        segScanCount: W,
        /// bytes of segments scanned
        segScanSize: W,
        /// bytes copied because segments refer to them
        segCopiedSize: W,
        /// references scanned one by one
        singleScanCount: W,
        /// bytes of references scanned one by one
        singleScanSize: W,
        /// bytes copied because of them
        singleCopiedSize: W,
        /// how often the program read memory that was not scanned yet
        readBarrierHitCount: W,
        /// segments waiting to be scanned, at most
        greySegMax: W,
        /// segments scanned that held no reference to the condemned
        pointlessScanCount: W,
    }
}
