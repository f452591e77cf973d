//! The registry `calls`: the one list of what is recorded of calls.
//!
//! ```text
//!  CallEnter main ─ CallEnter sell (caller main) ─ CallLeave sell ─ CallLeave main
//! ```
//!
//! Design: `.calls.events` in `design/calls.md`.

telemetry::events! {
    /// The calls of a program's functions. The address of a function's static site stands for the
    /// function: the store has its path as a label, and its place in the source text.
    registry "calls" version(1, 0, 0);
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
}
