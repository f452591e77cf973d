//! Which tracepoints have a meaning here, and the fields that are read of each.
//!
//! ```text
//!  format "sched:sched_waking" ──▶ Kind { Waking { target: offset 24, 4 bytes } }
//! ```
//!
//! This is the one list of the names of tracepoints and of their fields.
//!
//! Design: `.waits.page` in `design/waits.md`.

use crate::waits::source::format::{Format, Place, Slot};

/// The tracepoints that a recording needs, each with its group: those with a row, except
/// `sched_wakeup`, since `sched_waking` tells the same earlier and in the waker's context.
pub const RECORDED: [(&str, &str); 20] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup_new"),
    ("task", "task_newtask"),
    ("task", "task_rename"),
    ("sched", "sched_process_fork"),
    ("sched", "sched_process_exec"),
    ("sched", "sched_process_exit"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("timer", "hrtimer_expire_entry"),
    ("block", "block_rq_insert"),
    ("block", "block_rq_issue"),
    ("block", "block_rq_complete"),
    ("sock", "sock_send_length"),
    ("sock", "sock_recv_length"),
    ("sock", "sk_data_ready"),
    ("sock", "inet_sock_set_state"),
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
];

/// A tracepoint with a meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) common: Common,
    pub(super) fields: Fields,
}

/// Fields that all tracepoints have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// The context: interrupts.
    pub(super) flags: Option<Slot>,
    /// The thread that ran.
    pub(super) thread: Slot,
}

/// The stage of an operation of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Insert,
    Issue,
    Complete,
}

/// The fields of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields {
    /// `preempted`: the bit of the state of a thread that can still run.
    Switch {
        prev: Slot,
        next: Slot,
        state: Slot,
        preempted: u64,
        prev_name: Option<Slot>,
        next_name: Option<Slot>,
    },
    Waking {
        target: Slot,
    },
    Woken {
        target: Slot,
        cpu: Option<Slot>,
        is_new: bool,
    },
    NewTask {
        child: Slot,
        flags: Slot,
    },
    Rename {
        thread: Slot,
        name: Slot,
    },
    Fork {
        parent: Slot,
        child: Slot,
        name: Option<Slot>,
    },
    Exec {
        thread: Slot,
        was: Option<Slot>,
        path: Slot,
    },
    Exit {
        thread: Slot,
    },
    IrqEnter {
        irq: Slot,
        name: Option<Slot>,
    },
    IrqLeave {
        irq: Slot,
    },
    Soft {
        is_enter: bool,
        vector: Slot,
    },
    Timer {
        function: Slot,
    },
    /// Without an operation that the registry has: it ends what waits for the record after a timer.
    TimerEnd,
    Block {
        stage: Stage,
        device: Slot,
        sector: Slot,
        count: Slot,
        operation: Slot,
    },
    Socket {
        is_send: bool,
        socket: Slot,
        result: Slot,
        flags: Option<Slot>,
    },
    Ready {
        socket: Slot,
    },
    SocketState {
        socket: Slot,
        state: Slot,
        own: Slot,
        peer: Slot,
        addresses: Addresses,
    },
    /// The first two arguments, as far as the call has them.
    Enter {
        call: Slot,
        args: [Option<Slot>; 2],
    },
    Leave {
        call: Slot,
        result: Slot,
    },
    KernelStack {
        caller: Slot,
    },
    UserStack {
        caller: Slot,
    },
    Print {
        text: Slot,
    },
}

/// The addresses of a socket: own and the peer's, of both families.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) family: Option<Slot>,
    pub(super) v4: Option<[Slot; 2]>,
    pub(super) v6: Option<[Slot; 2]>,
}

impl Kind {
    /// Returns the kind of a tracepoint; `None` if it has no meaning here, or lacks a field.
    pub(super) fn of(format: &Format) -> Option<Kind> {
        let slot = |name| format.slot(name);
        let thread = slot("common_pid")?;
        let common = Common { flags: slot("common_flags"), thread };
        let fields = match &*format.system {
            "sched" | "task" => sched(format)?,
            "block" => Fields::Block {
                stage: match &*format.name {
                    "block_rq_insert" => Stage::Insert,
                    "block_rq_issue" => Stage::Issue,
                    "block_rq_complete" => Stage::Complete,
                    _ => return None,
                },
                device: slot("dev")?,
                sector: slot("sector")?,
                count: slot("nr_sector")?,
                operation: slot("rwbs")?,
            },
            "sock" => socket(format)?,
            _ => match (&*format.system, &*format.name) {
                ("irq", "irq_handler_entry") => {
                    Fields::IrqEnter { irq: slot("irq")?, name: slot("name") }
                }
                ("irq", "irq_handler_exit") => Fields::IrqLeave { irq: slot("irq")? },
                ("irq", name @ ("softirq_entry" | "softirq_exit")) => {
                    Fields::Soft { is_enter: name == "softirq_entry", vector: slot("vec")? }
                }
                ("timer", "hrtimer_expire_entry") => Fields::Timer { function: slot("function")? },
                ("timer", "hrtimer_expire_exit") => Fields::TimerEnd,
                ("raw_syscalls", "sys_enter") => {
                    let args = slot("args")?;
                    Fields::Enter { call: slot("id")?, args: [0, 1].map(|at| args.at(at)) }
                }
                ("syscalls", name) => syscall(format, name)?,
                ("raw_syscalls", "sys_exit") => {
                    Fields::Leave { call: slot("id")?, result: slot("ret")? }
                }
                ("ftrace", "kernel_stack") => Fields::KernelStack { caller: slot("caller")? },
                ("ftrace", "user_stack") => Fields::UserStack { caller: slot("caller")? },
                ("ftrace", "print") => Fields::Print { text: slot("buf")? },
                _ => return None,
            },
        };
        Some(Kind { common, fields })
    }
}

fn sched(format: &Format) -> Option<Fields> {
    let slot = |name| format.slot(name);
    Some(match &*format.name {
        "sched_switch" => Fields::Switch {
            prev: slot("prev_pid")?,
            next: slot("next_pid")?,
            state: slot("prev_state")?,
            preempted: preempted(&format.print),
            prev_name: slot("prev_comm"),
            next_name: slot("next_comm"),
        },
        "sched_waking" => Fields::Waking { target: slot("pid")? },
        "sched_wakeup" | "sched_wakeup_new" => Fields::Woken {
            target: slot("pid")?,
            cpu: slot("target_cpu").or_else(|| slot("cpu")),
            is_new: &*format.name == "sched_wakeup_new",
        },
        "task_newtask" => Fields::NewTask { child: slot("pid")?, flags: slot("clone_flags")? },
        // Some kernels tell the thread as that which runs.
        "task_rename" => Fields::Rename {
            thread: slot("pid").or_else(|| slot("common_pid"))?,
            name: slot("newcomm")?,
        },
        "sched_process_fork" => Fields::Fork {
            parent: slot("parent_pid")?,
            child: slot("child_pid")?,
            name: slot("child_comm"),
        },
        "sched_process_exec" => {
            Fields::Exec { thread: slot("pid")?, was: slot("old_pid"), path: slot("filename")? }
        }
        "sched_process_exit" => Fields::Exit { thread: slot("pid")? },
        _ => return None,
    })
}

/// Returns the fields of a tracepoint of one system call: its number, then its arguments.
fn syscall(format: &Format, name: &str) -> Option<Fields> {
    let number = |name: &str| matches!(name, "__syscall_nr" | "nr");
    let at = format.fields.iter().position(|field| number(&field.name))?;
    let (call, rest) = format.fields.get(at..)?.split_first()?;
    let mut rest = rest.iter().map(|field| field.slot).filter(|slot| slot.place == Place::Own);
    Some(match name.starts_with("sys_exit_") {
        true => Fields::Leave { call: call.slot, result: rest.next()? },
        false => Fields::Enter { call: call.slot, args: [rest.next(), rest.next()] },
    })
}

fn socket(format: &Format) -> Option<Fields> {
    let slot = |name| format.slot(name);
    let pair = |own, peer| Some([slot(own)?, slot(peer)?]);
    Some(match &*format.name {
        "sock_send_length" | "sock_recv_length" => Fields::Socket {
            is_send: &*format.name == "sock_send_length",
            socket: slot("sk")?,
            result: slot("ret").or_else(|| slot("length"))?,
            flags: slot("flags"),
        },
        "sk_data_ready" => Fields::Ready { socket: slot("skaddr")? },
        "inet_sock_set_state" => Fields::SocketState {
            socket: slot("skaddr")?,
            state: slot("newstate")?,
            own: slot("sport")?,
            peer: slot("dport")?,
            addresses: Addresses {
                family: slot("family"),
                v4: pair("saddr", "daddr"),
                v6: pair("saddr_v6", "daddr_v6"),
            },
        },
        _ => return None,
    })
}

/// Returns the bit of a state that says that the thread can still run. Kernels choose it as the
/// first bit that no state has, and tell it by the code that prints "+".
fn preempted(print: &str) -> u64 {
    const USUAL: u64 = 0x100;
    let Some((before, _)) = print.split_once("? \"+\"") else { return USUAL };
    let Some((_, code)) = before.rsplit_once("prev_state &") else { return USUAL };
    // `(0x01 | … | 0x40) + 1) << 1`, or one number.
    let is_shifted = code.contains("<< 1");
    let mut bits = 0;
    for word in code.split(|c: char| !c.is_ascii_alphanumeric()) {
        let number = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0),
            None if is_shifted => 0,
            None => word.parse().unwrap_or(0),
        };
        bits |= number;
    }
    let bit = if is_shifted { bits.saturating_add(1).checked_mul(2).unwrap_or(0) } else { bits };
    if bit.is_power_of_two() { bit } else { USUAL }
}

#[cfg(test)]
mod tests {
    use super::preempted;

    #[test]
    fn the_bit_of_preemption_comes_from_the_print_code() {
        let new = "REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000040) + 1) << 1) - 1)) ? \
                   __print_flags(…) : \"R\", REC->prev_state & (((0x00000000 | 0x00000001 | \
                   0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + \
                   1) << 1) ? \"+\" : \"\", REC->next_comm";
        assert_eq!(preempted(new), 0x100);
        assert_eq!(preempted("x, REC->prev_state & 2048 ? \"+\" : \"\", y"), 2048);
        assert_eq!(preempted("x, REC->prev_state & 0x1000 ? \"+\" : \"\", y"), 0x1000);
        assert_eq!(preempted("prev_state=%s"), 0x100);
    }
}
