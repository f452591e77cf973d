//! The registries `kernel` and `waits`: what is recorded of a kernel, and what follows from it.
//!
//! ```text
//!  perf.data, trace.dat, text, tracefs ── source ──▶ "kernel" ── model, answers ──▶ "waits"
//! ```
//!
//! Design: `.waits.events` in `design/waits.md`.

pub mod kernel {
    //! What a kernel tells of its threads: runs, wakes, interrupts, disk, network.

    eventdef::events! {
        /// What a kernel tells of its threads. Buffer 1 has names and stacks; buffer n + 2 has the
        /// events of processor n in their order. A thread is named by the kernel's number for it.
        registry "kernel" version(1, 2, 0);
        kinds {
            /// Threads: switches, wakes, forks, ends.
            Sched = 0,
            /// Interrupts and timers.
            Irq = 1,
            /// Block devices.
            Io = 2,
            /// Sockets.
            Net = 3,
            /// System calls.
            Call = 4,
            /// Samples of running threads.
            Sample = 5,
            /// Names of threads, stacks, sockets, files.
            Name = 6,
        }

        /// A processor switched from a thread to another. Thread 0 is the idle thread.
        Switch(0x0001, always, Sched) {
            /// the thread that ran until now
            prev: U,
            /// the thread that runs from now on
            next: U,
            /// the state of the first: 0 it can still run, 1 it sleeps, 2 it sleeps without
            /// signals; else the kernel's bits
            state: U,
            /// the stack of the first; 0: unknown
            stack: U,
        }
        /// A thread is made able to run. It is recorded in the context of the waker.
        Waking(0x0002, always, Sched) {
            /// the thread that ran on this processor
            waker: U,
            /// the thread that is woken
            target: U,
            /// the context of the waker: 0 the thread itself, 1 a soft interrupt, 2 an interrupt of
            /// hardware, 3 an interrupt that cannot be masked, 4 unknown
            context: U,
            /// the stack of the waker; 0: unknown
            stack: U,
        }
        /// A woken thread stands in the queue of a processor.
        Woken(0x0003, always, Sched) {
            /// the thread
            target: U,
            /// the processor whose queue it stands in
            cpu: U,
        }
        /// A thread made another.
        Fork(0x0004, always, Sched) {
            /// the thread that made it
            parent: U,
            /// the new thread
            child: U,
            /// the process of the new thread; 0: unknown
            process: U,
        }
        /// A thread runs another program from now on.
        Exec(0x0005, always, Sched) {
            /// the thread
            thread: U,
            /// its number before, which differs if it was not the first thread of its process
            was: U,
            /// the program's file
            path: S,
        }
        /// A thread ended.
        Exit(0x0006, always, Sched) {
            /// the thread
            thread: U,
        }
        /// A thread exists as the recording begins or ends.
        ThreadExists(0x0007, always, Sched) {
            /// the thread
            thread: U,
            /// its process
            process: U,
            /// its state, as in Switch
            state: U,
        }
        /// Events of this processor were lost, from `from` to this event.
        Lost(0x0008, always, Sched) {
            /// the ticks of the last event before the gap; 0: from the beginning
            from: W,
            /// lost events; 0: unknown
            count: W,
        }
        /// The process of a thread is known now.
        Member(0x0009, always, Sched) {
            /// the thread
            thread: U,
            /// its process
            process: U,
        }

        /// A thread of another namespace of processes has a number of its own there. In a registry
        /// with this event type, a thread of `ThreadExists` without it has the kernel's number
        /// there, too.
        Inside(0x000A, always, Sched) {
            /// the thread
            thread: U,
            /// its number in its own namespace
            number: U,
        }

        /// A hypervisor had a processor, while the kernel took its thread for running: for so long
        /// in all of the recording, at whose end this stands. [unit ns ns]
        Stolen(0x000B, always, Sched) {
            /// the processor
            cpu: U,
            /// the time, in ns
            ns: W,
        }

        /// An interrupt of hardware began.
        IrqEnter(0x0010, always, Irq) {
            /// its number
            irq: U,
            /// its device
            name: S,
        }
        /// A timer of the kernel fired.
        TimerFire(0x0011, always, Irq) {
            /// whether it ends the sleep of a thread
            isWakeup: B,
            /// the address of its function
            function: A,
        }
        /// An interrupt of hardware ended.
        IrqLeave(0x0012, always, Irq) {
            /// its number
            irq: U,
        }

        /// A soft interrupt began: work of the kernel that an interrupt of hardware left for later.
        SoftEnter(0x0013, always, Irq) {
            /// 0 HI, 1 TIMER, 2 NET_TX, 3 NET_RX, 4 BLOCK, 5 IRQ_POLL, 6 TASKLET, 7 SCHED,
            /// 8 HRTIMER, 9 RCU
            vector: U,
        }
        /// A soft interrupt ended.
        SoftLeave(0x0014, always, Irq) {
            /// as in SoftEnter
            vector: U,
        }

        /// An operation stands in the queue of a block device.
        BlockInsert(0x0020, always, Io) {
            /// the thread that asked for it
            thread: U,
            /// the device: major << 20 | minor
            device: U,
            /// its first sector
            sector: W,
            /// its sectors
            count: U,
            /// 0 reads, 1 writes, 2 flushes, 3 discards, 4 others
            operation: U,
        }
        /// An operation was given to the device.
        BlockIssue(0x0021, always, Io) {
            /// the thread that ran
            thread: U,
            /// the device
            device: U,
            /// its first sector
            sector: W,
            /// its sectors
            count: U,
            /// as in BlockInsert
            operation: U,
        }
        /// The device has done an operation.
        BlockComplete(0x0022, always, Io) {
            /// the thread that ran
            thread: U,
            /// the device
            device: U,
            /// its first sector
            sector: W,
            /// its sectors
            count: U,
            /// as in BlockInsert
            operation: U,
        }

        /// A thread wrote to a socket. [unit bytes size]
        SocketSend(0x0030, always, Net) {
            /// the thread
            thread: U,
            /// the socket
            socket: P,
            /// bytes
            size: W,
        }
        /// A thread read from a socket. [unit bytes size]
        SocketReceive(0x0031, always, Net) {
            /// the thread
            thread: U,
            /// the socket
            socket: P,
            /// bytes
            size: W,
        }
        /// Data for a socket arrived.
        SocketReady(0x0032, always, Net) {
            /// the socket
            socket: P,
        }
        /// A socket has another state.
        SocketState(0x0033, always, Net) {
            /// the socket
            socket: P,
            /// the state: 1 connected, 2 and 3 connecting, 7 closed, 10 listening, as in TCP
            state: U,
            /// own port << 16 | the peer's port
            ports: U,
        }
        /// The addresses of a socket.
        SocketName(0x0034, always, Net) {
            /// the socket
            socket: P,
            /// own address and the peer's, as in "127.0.0.1:80 127.0.0.1:41522"
            name: S,
        }

        /// A thread entered the kernel.
        Syscall(0x0040, always, Call) {
            /// the thread
            thread: U,
            /// the number of the system call on this processor's architecture
            call: U,
            /// its first argument: a file number, an address
            object: A,
            /// its second argument
            value: W,
        }
        /// A thread left the kernel.
        SyscallDone(0x0041, always, Call) {
            /// the thread
            thread: U,
            /// the number of the system call
            call: U,
            /// the result, as a signed number
            result: W,
        }
        /// A process has a file open.
        OpenFile(0x0042, always, Call) {
            /// the process
            process: U,
            /// the file number
            file: U,
            /// its path, or what the kernel tells instead of one; of a socket its addresses, too:
            /// "socket:[123] udp 127.0.0.1:53"
            path: S,
        }

        /// A thread was running.
        CpuSample(0x0050, always, Sample) {
            /// the thread
            thread: U,
            /// its stack; 0: unknown
            stack: U,
        }

        /// A node in the tree of stacks: a frame, and the frame that called it. It comes before the
        /// first event that has its number.
        Frame(0x0060, always, Name) {
            /// its number, not 0
            frame: U,
            /// the frame that called this one; 0: this is the outermost recorded frame
            parent: U,
            /// the address in it
            address: A,
        }
        /// A part of a file is mapped as code. [unit bytes size]
        Mapping(0x0061, always, Name) {
            /// its address
            start: A,
            /// its size in bytes
            size: W,
            /// its offset in the file
            offset: W,
            /// the process; 0: the kernel
            process: U,
            /// the file
            path: S,
        }
        /// A function at an address, as the source of the log names it.
        Symbol(0x0062, always, Name) {
            /// the address in a frame
            address: A,
            /// the function
            name: S,
        }
        /// A thread has a name from now on.
        ThreadName(0x0063, always, Name) {
            /// the thread
            thread: U,
            /// its process; 0: unknown
            process: U,
            /// the name
            name: S,
        }
    }
}

// The path holds for a test that includes this file, too.
#[path = "waits.rs"]
pub mod waits;
