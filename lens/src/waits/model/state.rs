//! The state of one pass over the rows of a kernel: what is known now of lives, processors and
//! sockets.
//!
//! ```text
//!  rows ─▶ Building { LifeState of each life │ Cpu of each processor │ Sockets } ─▶ model
//! ```
//!
//! The other files of this folder change it, each for its rows. Design: `.waits.model` in
//! `design/waits.md`.

use super::things::{Did, Interrupter, Open};
use super::{Call, Cause, Model, NEVER, NONE, Options};
use crate::waits::calls;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The time from an event of an interrupt to the wakes that it causes, at most, in ns.
pub(super) const NEAR: u64 = 100_000;

/// A name that is known of a thread's number.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) process: u32,
    pub(super) name: Box<[u8]>,
}

/// A model that is being built.
#[derive(Debug)]
pub(super) struct Building {
    pub(super) model: Model,
    pub(super) options: Options,
    /// What is known of each life now.
    pub(super) states: Vec<LifeState>,
    /// The last life of each number.
    pub(super) threads: HashMap<u32, u32, RandomState>,
    pub(super) named: HashMap<u32, Named, RandomState>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) open_operations: Open,
    pub(super) sockets: Sockets,
    pub(super) irqs: HashMap<Box<[u8]>, u32, RandomState>,
    /// Whether the log tells the numbers that threads have in their own namespaces.
    pub(super) tells_numbers: bool,
    /// What the result of each system call tells.
    pub(super) results: Vec<calls::Number>,
    /// The number that follows in each buffer.
    pub(super) numbers: Vec<u64>,
    pub(super) is_begun: bool,
}

impl Building {
    pub(super) fn new(options: Options) -> Building {
        Building {
            model: Model::default(),
            options,
            states: Vec::new(),
            threads: HashMap::default(),
            named: HashMap::default(),
            cpus: Vec::new(),
            open_operations: Open::default(),
            sockets: Sockets::default(),
            irqs: HashMap::default(),
            tells_numbers: false,
            results: Vec::new(),
            numbers: Vec::new(),
            is_begun: false,
        }
    }
}

/// What a processor did just before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Just {
    /// A timer fired.
    Timer {
        /// Whether it ends a sleep.
        is_wakeup: bool,
    },
    /// A block device has done an operation.
    Done {
        /// Its index in the model; [`NONE`] if its beginning is not known.
        operation: u32,
    },
    /// Data for a socket arrived.
    Ready {
        /// Its index in the model.
        socket: u32,
    },
}

/// What is known of a processor now.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    /// The life that runs; [`NONE`] for the idle thread.
    pub(super) current: u32,
    /// Whether any switch told what runs.
    pub(super) is_known: bool,
    /// The time of its last row.
    pub(super) last_at: u64,
    /// The time of its last switch.
    pub(super) switched: u64,
    /// Rows were lost from this time on, and no switch came since.
    pub(super) gap: Option<u64>,
    /// Times from which a gap began, until the next switch, in order.
    pub(super) gaps: Vec<(u64, u64)>,
    pub(super) just: Option<(Just, u64)>,
    /// The open interrupt; [`NONE`].
    pub(super) irq: u32,
    /// The interrupts that have not ended, the innermost last, and since when they have the
    /// processor.
    pub(super) interrupts: Vec<(Interrupter, u64)>,
    /// When the last interrupt of hardware ended, unless a thread made a row since; else
    /// [`NEVER`].
    pub(super) left: u64,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu {
            current: NONE,
            is_known: false,
            last_at: 0,
            switched: 0,
            gap: None,
            gaps: Vec::new(),
            just: None,
            irq: NONE,
            interrupts: Vec::new(),
            left: NEVER,
        }
    }
}

impl Cpu {
    /// Returns whether an interrupt of hardware may have brought what happens now.
    pub(super) fn is_interrupted(&self, at: u64) -> bool {
        self.irq != NONE || self.left <= at && at - self.left <= NEAR
    }
}

/// A wake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    pub(super) cause: Cause,
    pub(super) from: u32,
    pub(super) aid: u32,
}

/// What is known of a life now.
#[derive(Clone, Debug)]
pub(super) struct LifeState {
    /// The processor on which it ran last.
    pub(super) cpu: u32,
    /// A wake that came while it ran: it belongs to the next wait.
    pub(super) kept: Option<Wake>,
    /// The system call that it is in.
    pub(super) call: Option<Call>,
    /// The index of that call in the model, once a wait has it.
    pub(super) call_index: u32,
    /// The life that it made last.
    pub(super) made: u32,
    /// What it makes from now on is in another namespace of processes.
    pub(super) is_parted: bool,
    /// The last operation of a block device that ended and was issued for it.
    pub(super) done: u32,
    /// When it entered that call.
    pub(super) called: u64,
    /// When it last gave itself a name, by a call.
    pub(super) renamed: u64,
    /// Wakes since it entered the kernel, which its next row may explain.
    pub(super) waiting: Vec<Waiting>,
    /// It ends at its last switch.
    pub(super) is_exiting: bool,
    /// It could run as the log began.
    pub(super) is_ready: bool,
    /// Only the state that /proc told is known of it. A thread that is about to sleep runs, and its
    /// state is that of a sleep.
    pub(super) is_there: bool,
    /// The rest of its stretches is not kept.
    pub(super) is_full: bool,
}

/// What a thread did with a socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub(super) at: u64,
    pub(super) life: u32,
    pub(super) place: u32,
    pub(super) did: Did,
}

/// A wake that waits for the row of the thread that did it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Its index in the model.
    pub(super) wake: u32,
    pub(super) at: u64,
}

/// What is known of a socket while the log is read.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketState {
    pub(super) last: Option<Act>,
    /// The operation that further receives make longer, by its index plus 1; 0 none.
    pub(super) open: u32,
    /// Wakes of the peer.
    pub(super) waiting: Vec<Waiting>,
}

/// What leads to the peers of sockets.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    pub(super) by_address: HashMap<u64, u32, RandomState>,
    pub(super) states: Vec<SocketState>,
    pub(super) by_name: HashMap<Box<[u8]>, u32, RandomState>,
    pub(super) by_ports: HashMap<u32, u32, RandomState>,
}
