//! The registry `calls`: the one list of what is recorded of calls.
//!
//! ```text
//!  CallEnter main ─ CallEnter sell (caller main) ─ CallLeave sell ─ CallLeave main
//! ```
//!
//! Design: `.calls.events` in `design/calls.md`, `.statements.events` in `design/statements.md`.

telemetry::events! {
    /// The calls of a program's functions. The address of a function's static site stands for the
    /// function: the store has its path as a label, and its place in the source text.
    registry "calls" version(1, 2, 0);
    kinds {
        /// Calls of functions, and tasks.
        Call = 0,
        /// Statements, each with its beginning and its end.
        Statement = 1,
        /// Sums for functions and statements.
        Profile = 2,
    }

    /// A function was called. [slice CallEnter=CallLeave:function] [name function]
    CallEnter(0x0001, always, Call) {
        /// the function
        function: P,
        /// the function of this thread that was running, of those that are recorded; 0: none
        caller: P,
    }
    /// A function returned.
    CallLeave(0x0002, always, Call) {
        /// the function
        function: P,
    }
    /// A panic unwinds a function. Its CallLeave or PollLeave follows.
    CallUnwind(0x0003, always, Call) {
        /// the function
        function: P,
    }
    /// A call took at least as long as the filter asks for. It ended now, and has no CallEnter.
    /// [unit ns elapsed]
    CallSlow(0x0004, always, Call) {
        /// the function
        function: P,
        /// the function of this thread that was running at the beginning; 0: none
        caller: P,
        /// the time from its beginning to its end, in ns
        elapsed: W,
    }
    /// The thread goes on in another coroutine.
    Switch(0x0005, always, Call) {
        /// the coroutine; 0: the thread's own stack
        context: P,
    }
    /// A task was polled for the first time. [span TaskStart=TaskFinish:task] [name function]
    TaskStart(0x0006, always, Call) {
        /// the task: a number that no other task of the process has
        task: W,
        /// its function
        function: P,
    }
    /// A task ended.
    TaskFinish(0x0007, always, Call) {
        /// the task
        task: W,
        /// whether it was ready; false: it was dropped before
        ready: B,
    }
    /// The poll of a task began. [slice PollEnter=PollLeave:function,task] [name function]
    PollEnter(0x0008, always, Call) {
        /// the function of the task
        function: P,
        /// the function of this thread that was running, of those that are recorded; 0: none
        caller: P,
        /// the task
        task: W,
    }
    /// The poll of a task ended.
    PollLeave(0x0009, always, Call) {
        /// the function of the task
        function: P,
        /// the task
        task: W,
    }
    /// Calls of a function that were not recorded, since the filter records some calls of many, or
    /// those that take long.
    CallsMuted(0x000A, always, Call) {
        /// the function
        function: P,
        /// the number of such calls so far
        count: W,
    }
    /// A statement began. [slice StatementEnter=StatementLeave:statement] [name statement]
    StatementEnter(0x0010, always, Statement) {
        /// the statement: the address of its static place
        statement: P,
    }
    /// A statement ended.
    StatementLeave(0x0011, always, Statement) {
        /// the statement
        statement: P,
    }
    /// The sums so far of a statement, in one table. Of several, the last one holds.
    StatementSum(0x0020, always, Profile) {
        /// the statement
        statement: P,
        /// the table: a number that no other table of the process has
        table: W,
        /// executions that began
        count: W,
        /// executions that ended, and were timed
        timed: W,
        /// the ticks of the timed executions, with all in them
        total: W,
        /// the same, without the statements in them
        own: W,
        /// the ticks of the shortest execution
        shortest: W,
        /// the ticks of the longest execution
        longest: W,
        /// the sum of the squares of their ticks, the low half
        squaresLow: W,
        /// the high half
        squaresHigh: W,
        /// statements that ended in them, at any depth
        beneath: W,
        /// blocks that ended in them, at any depth
        blocks: W,
        /// blocks that ended in them, and in no other statement in them
        direct: W,
        /// whether the times contain waiting, in an async body
        waits: B,
    }
    /// The cost of the recorder itself, measured when timing began.
    Calibration(0x0021, always, Profile) {
        /// 2: of sums; 3: of a trace
        mode: U,
        /// the part of a boundary's cost in an execution's own time, in ticks
        inner: D,
        /// what a block adds to the statement around it, in ticks
        outer: D,
        /// how far inner may be off, in ticks
        spread: D,
        /// how far inner and outer, the cost of a block, may be off together, in ticks
        blockSpread: D,
    }
    /// The thread waits for a person: its clock stops.
    PauseEnter(0x0022, always, Profile) {}
    /// The clock of the thread goes on.
    PauseLeave(0x0023, always, Profile) {}
}
