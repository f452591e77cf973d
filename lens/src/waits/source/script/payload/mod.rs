//! The text after the name of an event: its fields.
//!
//! ```text
//!  "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 …" ──▶ Switch
//!  "a:7 [120] S ==> b:8 [120]"   the same, as a plug-in of libtraceevent prints it
//! ```
//!
//! The name of a thread may have spaces, and may look like a field. It has at most 15 bytes: of
//! all places where it could end, the last of these counts.
//!
//! Design: `.waits.script` in `design/waits.md`.

mod calls;
mod devices;

use super::header::{COMM_SIZE_MAX, number};
use calls::{enter, leave, of_call};
use devices::{block, ready, socket, socket_state};
use memchr::memmem;

/// The fields of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields<'t> {
    Switch {
        prev: Task<'t>,
        state: u32,
        next: Task<'t>,
    },
    Waking {
        target: Task<'t>,
    },
    Woken {
        target: Task<'t>,
        cpu: Option<u32>,
        is_new: bool,
    },
    Fork {
        parent: u32,
        child: Task<'t>,
    },
    Rename(Task<'t>),
    Exec {
        thread: u32,
        was: u32,
        path: &'t [u8],
    },
    Exit {
        thread: u32,
    },
    IrqEnter {
        irq: u32,
        name: &'t [u8],
    },
    IrqLeave {
        irq: u32,
    },
    Soft {
        is_enter: bool,
        vector: u32,
    },
    Timer {
        function: Function,
    },
    Block {
        stage: Stage,
        device: u32,
        sector: u64,
        count: u32,
        operation: u32,
    },
    Socket {
        is_send: bool,
        socket: u64,
        size: u64,
    },
    /// Without a row: an error, or data that stays in the socket.
    Nothing,
    Ready {
        socket: u64,
    },
    SocketState {
        socket: u64,
        state: u32,
        ports: u32,
    },
    Enter {
        call: u32,
        object: u64,
        value: u64,
    },
    Leave {
        call: u32,
        result: u64,
    },
}

/// A thread and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task<'t> {
    pub(super) name: &'t [u8],
    pub(super) thread: u32,
}

/// The function of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// By its name: whether it ends sleeps.
    Named(bool),
    At(u64),
}

/// The stage of an operation of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Insert,
    Issue,
    Complete,
}

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'t> {
    Whole(Fields<'t>),
    /// A field is missing: it may be on the next line.
    Part,
    /// The event has no meaning here.
    Other,
}

/// Reads the payload of an event.
pub(super) fn parse<'t>(event: &[u8], text: &'t [u8]) -> Payload<'t> {
    let fields = match event {
        b"sched:sched_switch" => switch(text),
        b"sched:sched_waking" => wake(text).map(|(target, _)| Fields::Waking { target }),
        b"sched:sched_wakeup" => woken(text, false),
        b"sched:sched_wakeup_new" => woken(text, true),
        b"sched:sched_process_fork" => fork(text),
        b"task:task_rename" => rename(text),
        b"sched:sched_process_exec" => exec(text),
        b"sched:sched_process_exit" => exit(text),
        b"irq:irq_handler_entry" => irq(text),
        b"irq:irq_handler_exit" => {
            let irq = after(text, b"irq=").and_then(small);
            irq.map(|(irq, _)| Fields::IrqLeave { irq })
        }
        b"irq:softirq_entry" => soft(text, true),
        b"irq:softirq_exit" => soft(text, false),
        b"timer:hrtimer_expire_entry" => timer(text),
        b"block:block_rq_insert" => block(text, Stage::Insert),
        b"block:block_rq_issue" => block(text, Stage::Issue),
        b"block:block_rq_complete" => block(text, Stage::Complete),
        b"sock:sock_send_length" => socket(text, true),
        b"sock:sock_recv_length" => socket(text, false),
        b"sock:sk_data_ready" => ready(text),
        b"sock:inet_sock_set_state" => socket_state(text),
        b"raw_syscalls:sys_enter" => enter(text),
        b"raw_syscalls:sys_exit" => leave(text),
        _ => return of_call(event, text),
    };
    fields.map_or(Payload::Part, Payload::Whole)
}

/// Returns the text after the first such mark.
fn after<'t>(text: &'t [u8], mark: &[u8]) -> Option<&'t [u8]> {
    // Most marks stand at the beginning.
    let rest = text.strip_prefix(mark);
    rest.or_else(|| text.get(memmem::find(text, mark)? + mark.len()..))
}

#[inline]
fn small(text: &[u8]) -> Option<(u32, &[u8])> {
    let (value, rest) = number(text)?;
    Some((u32::try_from(value).ok()?, rest))
}

/// Reads a number with or without a minus.
fn signed(text: &[u8]) -> Option<(i64, &[u8])> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (value, rest) = number(digits)?;
    let value = i64::try_from(value).ok()?;
    Some((if is_negative { -value } else { value }, rest))
}

/// Reads hexadecimal digits, with or without `0x` before them.
pub(super) fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let (mut value, mut count) = (0u64, 0);
    for digit in text {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => break,
        };
        if value >> 60 != 0 {
            return None;
        }
        value = value << 4 | u64::from(digit);
        count += 1;
    }
    (count > 0).then(|| (value, text.get(count..).unwrap_or_default()))
}

/// Splits a text at the last mark that begins within the size of a thread's name.
fn name<'t>(text: &'t [u8], mark: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let near = text.get(..COMM_SIZE_MAX + mark.len()).unwrap_or(text);
    let at = memmem::rfind(near, mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

/// Reads "NAME:PID [PRIO]", as plug-ins print it.
fn plain_task(text: &[u8]) -> Option<(Task<'_>, &[u8])> {
    let ends = (1..=COMM_SIZE_MAX).rev().filter(|at| text.get(*at) == Some(&b':'));
    ends.into_iter().find_map(|at| {
        let (thread, rest) = small(text.get(at + 1..)?)?;
        let (_, rest) = signed(rest.strip_prefix(b" [")?)?;
        let name = text.get(..at)?;
        Some((Task { name, thread }, rest.strip_prefix(b"]")?))
    })
}

fn switch(text: &[u8]) -> Option<Fields<'_>> {
    let Some(rest) = text.strip_prefix(b"prev_comm=") else {
        let (prev, rest) = plain_task(text)?;
        let (letters, rest) = split(rest.strip_prefix(b" ")?, b" ==> ")?;
        let (next, _) = plain_task(rest)?;
        return Some(Fields::Switch { prev, state: state(letters)?, next });
    };
    let (name, rest) = self::name(rest, b" prev_pid=")?;
    let (thread, rest) = small(rest)?;
    let prev = Task { name, thread };
    let (letters, rest) = split(after(rest, b" prev_state=")?, b" ==> next_comm=")?;
    let (name, rest) = self::name(rest, b" next_pid=")?;
    let (thread, rest) = small(rest)?;
    after(rest, b" next_prio=")?;
    Some(Fields::Switch { prev, state: state(letters)?, next: Task { name, thread } })
}

fn split<'t>(text: &'t [u8], mark: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let at = memmem::find(text, mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

/// Returns the state that letters stand for, as in `kernel::Switch`.
fn state(letters: &[u8]) -> Option<u32> {
    if letters.ends_with(b"+") {
        return Some(0);
    }
    letters.split(|byte| *byte == b'|').try_fold(0, |state, letter| {
        let bit = match letter {
            b"R" => 0,
            b"S" => 0x01,
            b"D" => 0x02,
            b"T" => 0x04,
            b"t" => 0x08,
            b"X" => 0x10,
            b"Z" => 0x20,
            b"P" => 0x40,
            b"I" => 0x80,
            _ => return None,
        };
        Some(state | bit)
    })
}

fn wake(text: &[u8]) -> Option<(Task<'_>, Option<u32>)> {
    let Some(rest) = text.strip_prefix(b"comm=") else {
        let (task, rest) = plain_task(text)?;
        let cpu = after(rest, b" CPU:").and_then(small).map(|(cpu, _)| cpu);
        return Some((task, cpu));
    };
    let (name, rest) = self::name(rest, b" pid=")?;
    let (thread, rest) = small(rest)?;
    let (cpu, _) = small(after(rest, b" target_cpu=")?)?;
    Some((Task { name, thread }, Some(cpu)))
}

fn woken(text: &[u8], is_new: bool) -> Option<Fields<'_>> {
    wake(text).map(|(target, cpu)| Fields::Woken { target, cpu, is_new })
}

fn fork(text: &[u8]) -> Option<Fields<'_>> {
    let (_, rest) = name(text.strip_prefix(b"comm=")?, b" pid=")?;
    let (parent, rest) = small(rest)?;
    let (name, rest) = name(rest.strip_prefix(b" child_comm=")?, b" child_pid=")?;
    let (thread, _) = small(rest)?;
    Some(Fields::Fork { parent, child: Task { name, thread } })
}

fn rename(text: &[u8]) -> Option<Fields<'_>> {
    let (thread, rest) = small(text.strip_prefix(b"pid=")?)?;
    let (_, rest) = name(rest.strip_prefix(b" oldcomm=")?, b" newcomm=")?;
    let (name, _) = name(rest, b" oom_score_adj=")?;
    Some(Fields::Rename(Task { name, thread }))
}

fn exec(text: &[u8]) -> Option<Fields<'_>> {
    let rest = text.strip_prefix(b"filename=")?;
    // A path has no limit here: of all places where it could end, the last counts.
    let at = memmem::rfind(rest, b" pid=")?;
    let (path, rest) = (rest.get(..at)?, rest.get(at + b" pid=".len()..)?);
    let (thread, rest) = small(rest)?;
    let (was, _) = small(rest.strip_prefix(b" old_pid=")?)?;
    Some(Fields::Exec { thread, was, path })
}

fn exit(text: &[u8]) -> Option<Fields<'_>> {
    let (_, rest) = name(text.strip_prefix(b"comm=")?, b" pid=")?;
    let (thread, _) = small(rest)?;
    Some(Fields::Exit { thread })
}

fn irq(text: &[u8]) -> Option<Fields<'_>> {
    let (irq, rest) = small(text.strip_prefix(b"irq=")?)?;
    let name = rest.strip_prefix(b" name=")?.trim_ascii_end();
    Some(Fields::IrqEnter { irq, name })
}

fn soft(text: &[u8], is_enter: bool) -> Option<Fields<'_>> {
    let (vector, _) = small(text.strip_prefix(b"vec=")?)?;
    Some(Fields::Soft { is_enter, vector })
}

fn timer(text: &[u8]) -> Option<Fields<'_>> {
    let rest = after(text, b"function=")?;
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'/' | b'+'));
    let function = rest.get(..end.unwrap_or(rest.len()))?;
    let function = match function.starts_with(b"0x").then(|| hex(function)).flatten() {
        Some((address, [])) => Function::At(address),
        _ if function.is_empty() => return None,
        _ => Function::Named(function == b"hrtimer_wakeup"),
    };
    Some(Fields::Timer { function })
}
