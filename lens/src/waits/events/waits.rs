//! What threads did: runs, waits and their causes, wakes, paths, shares.

eventdef::events! {
    /// What threads did. A stream for each process, a buffer for each thread.
    registry "waits" version(1, 1, 0);
    kinds {
        /// Runs.
        Run = 0,
        /// Waits.
        Wait = 1,
        /// Wakes.
        Link = 2,
        /// Critical paths.
        Path = 3,
        /// Shares of time.
        Account = 4,
    }

    /// The thread runs. [slice RunBegin=RunEnd]
    RunBegin(0x0001, always, Run) {
        /// the processor
        cpu: U,
    }
    /// The thread does not run any more.
    RunEnd(0x0002, always, Run) {
        /// the processor
        cpu: U,
    }
    /// The thread waits. [slice WaitBegin=WaitEnd] [name cause]
    WaitBegin(0x0003, always, Wait) {
        /// what ended the wait, a label
        cause: W,
        /// the number of the system call it waits in; 4294967295: none, or unknown
        call: U,
        /// the object of that call: a file number, an address
        object: A,
    }
    /// The wait is over. [unit ns ns] [unit ns delay]
    WaitEnd(0x0004, always, Wait) {
        /// the cause, by its number
        cause: U,
        /// the thread that ended it; 0: none, or unknown
        waker: U,
        /// the whole time, in ns
        ns: W,
        /// of that, from the wake to the run, in ns
        delay: W,
        /// what was waited for: an address, a socket, a device
        object: A,
        /// the program's event that was open: its buffer; 4294967295: none
        openBuffer: U,
        /// and its number
        openNumber: W,
        /// frames from the outermost one, separated by ;
        stack: S,
    }
    /// A thread wakes another. [flow WakeSend=WakeReceive:wake]
    WakeSend(0x0005, always, Link) {
        /// the wake: a number that no other wake of the log has
        wake: W,
        /// the woken thread
        target: U,
    }
    /// A thread was woken.
    WakeReceive(0x0006, always, Link) {
        /// the wake
        wake: W,
        /// the waker
        waker: U,
    }
    /// A stretch of a critical path begins. [slice PathBegin=PathEnd] [name cause]
    PathBegin(0x0007, always, Path) {
        /// what took the time, a label
        cause: W,
        /// the thread whose path it is
        of: U,
    }
    /// A stretch of a critical path ends.
    PathEnd(0x0008, always, Path) {
        /// the thread whose path it is
        of: U,
    }
    /// A share of the time of a thread or process. [unit ns ns]
    Share(0x0009, always, Account) {
        /// the thread or process
        of: U,
        /// the time, in ns
        ns: W,
        /// runs and waits
        count: W,
        /// the category
        name: S,
    }
    /// A control path begins: the time of a thread, with all that it waited for. [unit ns ns]
    ControlPath(0x000A, always, Path) {
        /// its number in the log
        path: U,
        /// 0 a thread of the target, 1 work that does not fit the wait for it, 2 work that a
        /// thread of the target caused and that nothing waited for
        kind: U,
        /// the thread
        thread: U,
        /// the path with the wait for it, or with its cause; 4294967295: none
        parent: U,
        /// the thread that set it to work; 0: none, or unknown
        waker: U,
        /// its time, in ns
        ns: W,
        /// the thread's name
        name: S,
    }
    /// A frame of a pseudo-stack begins. [slice FrameBegin=FrameEnd] [name frame]
    FrameBegin(0x000B, always, Path) {
        /// the frame, a label
        frame: W,
        /// the frames below it
        depth: U,
        /// 0 a process, 1 a thread, 2 running, 3 waiting, 4 disk or network, 5 work of another
        /// path, 6 unknown
        kind: U,
    }
    /// A frame of a pseudo-stack ends.
    FrameEnd(0x000C, always, Path) {
        /// the frames below it
        depth: U,
    }
    /// A pseudo-stack begins: its top runs, or is waited for; all below wait for it. [unit ns ns]
    Stack(0x000D, always, Path) {
        /// the control path
        path: U,
        /// the kind of that path, as in ControlPath
        kind: U,
        /// the category of the time, by its place among those of Share
        share: U,
        /// the thread at the top; 0: unknown
        thread: U,
        /// of a wait: the thread that ended it; 0: none, or unknown
        waker: U,
        /// the control path of the work, if it is another one; 4294967295: none
        other: U,
        /// its time, in ns
        ns: W,
        /// frames from the outermost one, separated by ;
        frames: S,
    }
}
