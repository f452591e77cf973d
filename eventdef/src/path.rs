//! The registry `path`: the witnesses of a run, and the path that was found from them.
//!
//! ```text
//!  recorders ── RunStart, Witness …, RunStop ──▶ log "path" of a run ── walk ──▶ log "path"
//!                                                                   calls and blocks as slices
//! ```
//!
//! Design: `.paths.events` in `design/paths.md`.

/// How a string of the store begins that has a part of the graph and the plan of a function with
/// `#[path]`: its first number, the number of the part, the number of parts, the function, a line
/// break, the text.
pub const GRAPH: &str = "#[path] ";

crate::events! {
    /// The path of a program: the witnesses of its runs; its calls and blocks.
    registry "path" version(1, 1, 0);
    kinds {
        /// Witnesses.
        Witness = 0,
        /// Runs.
        Run = 1,
        /// Calls and blocks of a path.
        Walk = 2,
    }

    /// A witness was hit.
    Witness(0x0001, always, Witness) {
        /// its letter: the number of its element, unless the profile gives another
        element: U,
    }
    /// A run begins: the events of its thread follow.
    RunStart(0x0002, always, Run) {
        /// the number of its profile in the plan
        profile: U,
        /// the fingerprint of the graph
        graph: W,
    }
    /// A run ended.
    RunStop(0x0003, always, Run) {
        /// the number of its witnesses
        hits: W,
        /// its exit status
        status: U,
    }
    /// What a run was of: runs of one plan and one execution have the same.
    RunOf(0x0004, always, Run) {
        /// the fingerprint of the plan
        plan: W,
        /// the fingerprint of the program, its arguments, environment, folder and input
        source: W,
        /// the fingerprint of what it printed, and of how it ended
        output: W,
        /// calls from outside the graph, which are left out
        callbacks: W,
        /// whether it ended by itself
        whole: B,
    }
    /// A call of a function with `#[path]` ended by unwinding. The witnesses of its beginning, of
    /// its end and of its blocks have the numbers from that of its beginning on.
    Unwound(0x0005, always, Witness) {
        /// the witness of its beginning
        element: U,
    }
    /// Code outside the graph called a function: these calls, and those that they made, are left
    /// out.
    OutsideCalls(0x0006, always, Run) {
        /// how often
        calls: W,
        /// the function
        function: S,
    }
    /// A function was called. [slice CallBegin=CallEnd:function] [name function]
    CallBegin(0x0010, always, Walk) {
        /// the function, a label
        function: W,
    }
    /// A function ended.
    CallEnd(0x0011, always, Walk) {
        /// the function
        function: W,
        /// how: 0 it returned, 1 by unwinding, a jump, or in an unknown part
        how: U,
    }
    /// A block began. [slice BlockBegin=BlockEnd:block] [name block]
    BlockBegin(0x0012, always, Walk) {
        /// the block, a label
        block: W,
        /// its number in its function
        number: U,
    }
    /// A block ended, and the calls in it.
    BlockEnd(0x0013, always, Walk) {
        /// the block
        block: W,
    }
    /// Part of the path is unknown.
    Unknown(0x0014, always, Walk) {
        /// why
        cause: S,
    }
    /// A run does not go on as the others do, or as the graph allows.
    Differs(0x0015, always, Walk) {
        /// the run
        run: U,
        /// letters before
        agreed: W,
        /// where, the open calls there, the open calls at its last letter that agrees
        place: S,
    }
}
