//! MPS events of kind Seg: segments, the memory under them, and what is scanned.
//!
//! ```text
//!  SegAlloc ─▶ VMMap ─▶ BufferFill … SegSetGrey ─▶ TraceFindGrey ─▶ SegScan …
//!  ─▶ SegReclaim ─▶ SegFree ─▶ VMUnmap
//! ```
//!
//! A part of the list in `mod.rs`. Two annotations of MPS 1.118 give their arguments in another
//! order than their row has parameters; the doc strings say what a log holds.

crate::events! {
    part of super;

    /// A segment with pinned objects had to be scanned more than once, in an emergency.
    AMCScanNailed(0x0001, always, Seg) {
        /// how many passes it took
        loops: W,
        /// the zones that the segment was thought to refer to, one bit each
        summary: W,
        /// the zones of the condemned
        white: W,
        /// the zones of references before they were followed
        unfixed: W,
        /// the zones of references after they were followed
        fixed: W,
        /// the zones that the segment refers to after all
        refset: W,
    }
    /// A weak segment is scanned whole: single references have been read from it too often.
    AWLDeclineSeg(0x0002, always, Seg) {
        /// the segment
        seg: P,
        /// how many single references were read from it in this collection
        singleAccesses: W,
    }
    /// A weak segment is scanned whole: too many single references have been read in a row.
    AWLDeclineTotal(0x0003, always, Seg) {
        /// the segment
        seg: P,
        /// how many were read in a row, in the whole pool
        succAccesses: W,
    }
    /// A buffer gave back the memory that was left in it. [unit bytes spare]
    BufferEmpty(0x0013, always, Seg) {
        /// the buffer
        buffer: P,
        /// how many bytes were left
        spare: W,
    }
    /// A buffer was given memory to allocate from. [unit bytes size] [unit bytes filled]
    BufferFill(0x0014, always, Seg) {
        /// the buffer
        buffer: P,
        /// how many bytes were needed at once
        size: W,
        /// where the memory begins
        base: A,
        /// how many bytes there are to allocate
        filled: W,
    }
    /// A root was scanned.
    RootScan(0x0037, always, Seg) {
        /// the root
        root: P,
        /// the collections it was scanned for, one bit each
        ts: W,
        /// the zones it refers to, one bit each
        summary: W,
    }
    /// A segment was made. [unit bytes size]
    SegAlloc(0x0038, always, Seg) {
        /// the arena it is in
        arena: P,
        /// the new segment
        seg: P,
        /// where its memory begins
        base: A,
        /// how many bytes it has
        size: W,
        /// the pool that it belongs to
        pool: P,
    }
    /// A segment could not be made. [unit bytes size]
    SegAllocFail(0x0039, always, Seg) {
        /// the arena that was asked
        arena: P,
        /// how many bytes it should have had
        size: W,
        /// the pool that asked
        pool: P,
        /// why it failed, an MPS result code
        res: U,
    }
    /// A segment was destroyed.
    SegFree(0x003A, always, Seg) {
        /// the arena it was in
        arena: P,
        /// the destroyed segment
        seg: P,
    }
    /// Two neighbouring segments became one.
    SegMerge(0x003B, always, Seg) {
        /// the lower one, which remains
        segLo: P,
        /// the upper segment, which no longer exists
        segHi: P,
    }
    /// A collection gives back what it did not reach in a segment.
    SegReclaim(0x003C, always, Seg) {
        /// the segment; the log of MPS 1.118 has the arena here
        seg: P,
        /// the pool that it belongs to
        pool: P,
        /// its arena; the log of MPS 1.118 has the collection here
        arena: P,
        /// the collection; the log of MPS 1.118 has the segment here
        trace: P,
    }
    /// A segment is scanned.
    SegScan(0x003D, always, Seg) {
        /// the segment
        seg: P,
        /// the pool that it belongs to
        pool: P,
        /// its arena
        arena: P,
        /// the collections it is scanned for, one bit each
        ts: U,
        /// the rank of its references: 0 ambiguous, 1 exact, 2 final, 3 weak
        rank: U,
    }
    /// It was set for which collections a segment is still to be scanned.
    SegSetGrey(0x003E, always, Seg) {
        /// its arena
        arena: P,
        /// the segment
        seg: P,
        /// those collections, one bit each
        grey: U,
    }
    /// It was set to which zones a segment may refer. [unit bytes size]
    SegSetSummary(0x003F, always, Seg) {
        /// its arena
        arena: P,
        /// the segment
        seg: P,
        /// how many bytes it has
        size: W,
        /// the zones before, one bit each
        oldSummary: W,
        /// the zones from now on
        newSummary: W,
    }
    /// A segment became two.
    SegSplit(0x0040, always, Seg) {
        /// the segment as it was; it remains, as the lower of the two
        seg: P,
        /// the lower segment; the log of MPS 1.118 has the upper one, which is new, here
        segLo: P,
        /// the upper segment; the log of MPS 1.118 has the lower one here
        segHi: P,
        /// where it was cut
        at: A,
    }
    /// The program touched a protected segment.
    TraceAccess(0x0041, always, Seg) {
        /// its arena
        arena: P,
        /// the segment
        seg: P,
        /// how: bit 0 read, bit 1 write
        mode: U,
    }
    /// A segment was picked to be scanned next.
    TraceFindGrey(0x0048, always, Seg) {
        /// its arena
        arena: P,
        /// the collection
        trace: P,
        /// the segment
        seg: P,
        /// the rank of references it is picked for: 0 ambiguous, 1 exact, 2 final, 3 weak
        rank: W,
    }
    /// An area of memory, of a stack for instance, is scanned.
    TraceScanArea(0x004E, always, Seg) {
        /// the state of the scan
        ss: P,
        /// where the area begins
        base: P,
        /// where it ends
        limit: P,
    }
    /// An area whose references are tagged is scanned. Declared by this version, which never
    /// records it.
    TraceScanAreaTagged(0x004F, always, Seg) {
        /// the state of the scan
        ss: P,
        /// where the area begins
        base: P,
        /// where it ends
        limit: P,
    }
    /// One reference is scanned, because the program read it.
    TraceScanSingleRef(0x0050, always, Seg) {
        /// the collections it is scanned for, one bit each
        ts: U,
        /// its rank: 0 ambiguous, 1 exact, 2 final, 3 weak
        rank: U,
        /// the arena concerned
        arena: P,
        /// where the reference is
        refIO: P,
    }
    /// Memory was mapped into reserved address space.
    VMMap(0x005B, always, Seg) {
        /// the descriptor of the address space
        vm: P,
        /// where the memory begins
        base: A,
        /// where it ends
        limit: A,
    }
    /// Memory was unmapped; its address space remains reserved.
    VMUnmap(0x005C, always, Seg) {
        /// the descriptor of the address space
        vm: P,
        /// where the memory began
        base: A,
        /// where it ended
        limit: A,
    }
}
