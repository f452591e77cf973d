//! The names of system calls, and the meaning of their first argument.
//!
//! ```text
//!  x86-64, 202 ──▶ "futex", whose object is an address
//! ```
//!
//! The tables are facts of Linux: `calls-x86_64.txt` and `calls-aarch64.txt` have a name for each
//! number from 0, and `-` for a number without a call. Design: `.waits.model` in `design/waits.md`.

use std::sync::LazyLock;

/// The ELF machine number of x86-64.
const X86_64: u16 = 62;
/// The ELF machine number of aarch64.
const AARCH64: u16 = 183;

static NAMES_X86_64: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("calls-x86_64.txt").split_whitespace().collect());
static NAMES_AARCH64: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("calls-aarch64.txt").split_whitespace().collect());

static EFFECTS_X86_64: LazyLock<Vec<Effect>> =
    LazyLock::new(|| NAMES_X86_64.iter().map(|name| effect_of(name)).collect());
static EFFECTS_AARCH64: LazyLock<Vec<Effect>> =
    LazyLock::new(|| NAMES_AARCH64.iter().map(|name| effect_of(name)).collect());

/// What a system call does with the file numbers of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It opens and closes none, or tells only the program which ones.
    None,
    /// Its result is a new number.
    Open,
    /// Its result is a copy of its first argument.
    Copy,
    /// It closes the number that is its first argument.
    Close,
    /// It closes all numbers from its first argument to its second one.
    CloseRange,
}

/// Calls whose result is a new file number.
const OPEN_CALLS: [&str; 31] = [
    "accept",
    "accept4",
    "creat",
    "epoll_create",
    "epoll_create1",
    "eventfd",
    "eventfd2",
    "fanotify_init",
    "fsmount",
    "fsopen",
    "fspick",
    "inotify_init",
    "inotify_init1",
    "io_uring_setup",
    "landlock_create_ruleset",
    "memfd_create",
    "memfd_secret",
    "mq_open",
    "open",
    "open_by_handle_at",
    "open_tree",
    "openat",
    "openat2",
    "perf_event_open",
    "pidfd_getfd",
    "pidfd_open",
    "signalfd",
    "signalfd4",
    "socket",
    "timerfd_create",
    "userfaultfd",
];

/// The meaning of the first argument of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// It has none that a wait is about.
    None,
    /// A file number.
    File,
    /// The address of a futex.
    Futex,
    /// The number of a process.
    Process,
}

/// What the result of a system call tells of numbers of threads, in the namespace of processes of
/// the thread that called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Nothing.
    None,
    /// The thread's own number.
    Thread,
    /// That of its process.
    Process,
    /// That of the thread or process that it made.
    Child,
    /// What it makes from now on is in another namespace, if its argument says so.
    Parted,
}

/// The flag of `clone` and `unshare`: another namespace of processes.
pub(super) const NEW_NAMESPACE: u64 = 0x2000_0000;

/// Calls whose first argument is a file number, and in which a thread may wait.
const FILE_CALLS: [&str; 40] = [
    "accept",
    "accept4",
    "close",
    "connect",
    "copy_file_range",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fallocate",
    "fcntl",
    "fdatasync",
    "flock",
    "fsync",
    "ftruncate",
    "getdents64",
    "io_uring_enter",
    "ioctl",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "sendfile",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "splice",
    "sync_file_range",
    "syncfs",
    "tee",
    "vmsplice",
    "write",
    "writev",
];

/// Returns the name of a system call by its number; `None` if the architecture or the number is not
/// in the tables. `architecture` is an ELF machine number; 0 stands for x86-64.
pub fn name(architecture: u16, call: u32) -> Option<&'static str> {
    let names: &[&str] = match architecture {
        0 | X86_64 => &NAMES_X86_64,
        AARCH64 => &NAMES_AARCH64,
        _ => &[],
    };
    names.get(call as usize).copied().filter(|name| *name != "-")
}

/// Returns the number that a call has on this machine; `None` if it has none.
pub fn number_here(name: &[u8]) -> Option<u32> {
    let names = if cfg!(target_arch = "aarch64") { &NAMES_AARCH64 } else { &NAMES_X86_64 };
    let at = names.iter().position(|own| own.as_bytes() == name && *own != "-")?;
    u32::try_from(at).ok()
}

/// Returns the meaning of the first argument of a call.
pub fn object(name: &str) -> Object {
    match name {
        "futex" | "futex_wait" | "futex_wake" => Object::Futex,
        "wait4" | "waitid" | "kill" | "tgkill" | "pidfd_open" => Object::Process,
        _ if FILE_CALLS.binary_search(&name).is_ok() => Object::File,
        _ => Object::None,
    }
}

fn effect_of(name: &str) -> Effect {
    match name {
        "dup" | "dup2" | "dup3" | "fcntl" => Effect::Copy,
        "close" => Effect::Close,
        "close_range" => Effect::CloseRange,
        _ if OPEN_CALLS.binary_search(&name).is_ok() => Effect::Open,
        _ => Effect::None,
    }
}

/// Returns what a system call does with file numbers. `architecture` is as in [`name`].
#[inline]
pub fn effect(architecture: u16, call: u32) -> Effect {
    let effects: &[Effect] = match architecture {
        0 | X86_64 => &EFFECTS_X86_64,
        AARCH64 => &EFFECTS_AARCH64,
        _ => &[],
    };
    effects.get(call as usize).copied().unwrap_or(Effect::None)
}

/// Returns the number of the process that a call with these first arguments is about; `None` if it
/// is about any process, or a group of processes.
pub fn process(name: &str, object: u64, value: u64) -> Option<u32> {
    /// `waitid` for one process, by its number.
    const ONE: u64 = 1;
    let number = match (name, object) {
        ("waitid", ONE) => value,
        ("waitid", _) => return None,
        (_, number) => number,
    };
    u32::try_from(number as i32).ok().filter(|number| *number > 0)
}

/// Returns what the result of a call tells.
pub(super) fn number(name: &str) -> Number {
    match name {
        "gettid" | "set_tid_address" => Number::Thread,
        "getpid" => Number::Process,
        "clone" | "clone3" | "fork" | "vfork" => Number::Child,
        "unshare" => Number::Parted,
        _ => Number::None,
    }
}

/// Returns whether the purpose of a call is to sleep.
pub fn is_sleep(name: &str) -> bool {
    matches!(name, "nanosleep" | "clock_nanosleep")
}

/// Returns whether a call gives its thread a name.
pub(crate) fn is_naming(architecture: u16, call: u32, object: u64) -> bool {
    // PR_SET_NAME
    object == 15 && name(architecture, call) == Some("prctl")
}

/// Returns whether the first argument of a call is the file number of the socket that the call
/// handles.
pub fn is_of_socket(name: &str) -> bool {
    let others = ["connect", "listen", "read", "readv", "write", "writev", "sendfile"];
    name.starts_with("send") || name.starts_with("recv") || others.contains(&name)
}

/// Returns whether a call may send to a socket.
pub fn is_send(name: &str) -> bool {
    let sends = ["sendto", "sendmsg", "sendmmsg", "write", "writev", "sendfile", "splice"];
    sends.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_architecture() {
        for (architecture, call, expected) in [
            (X86_64, 0, Some("read")),
            (0, 35, Some("nanosleep")),
            (X86_64, 202, Some("futex")),
            (X86_64, 462, Some("mseal")),
            (AARCH64, 63, Some("read")),
            (AARCH64, 98, Some("futex")),
            (AARCH64, 115, Some("clock_nanosleep")),
            (X86_64, 400, None),
            (X86_64, u32::MAX, None),
            (40, 0, None),
        ] {
            assert_eq!(name(architecture, call), expected, "{architecture} {call}");
        }
    }

    #[test]
    fn the_first_argument_of_a_call_has_a_meaning() {
        assert!(FILE_CALLS.is_sorted() && OPEN_CALLS.is_sorted());
        let found = ["read", "futex", "wait4", "poll"].map(object);
        assert_eq!(found, [Object::File, Object::Futex, Object::Process, Object::None]);
        assert!(is_sleep("clock_nanosleep") && !is_sleep("poll"));
        assert_eq!(process("wait4", 7, 0), Some(7));
        let any = [process("wait4", u64::MAX, 0), process("kill", 0xFFFF_FFF9, 9)];
        assert_eq!(any, [None; 2], "any process, the group 7");
        assert_eq!([process("waitid", 1, 7), process("waitid", 0, 7)], [Some(7), None]);
    }

    #[test]
    fn calls_that_open_and_close_file_numbers_have_effects() {
        for (architecture, call, expected) in [
            (X86_64, 257, Effect::Open),
            (0, 43, Effect::Open),
            (0, 33, Effect::Copy),
            (0, 3, Effect::Close),
            (0, 436, Effect::CloseRange),
            (AARCH64, 56, Effect::Open),
            (AARCH64, 57, Effect::Close),
            (0, 0, Effect::None),
            (40, 3, Effect::None),
        ] {
            assert_eq!(effect(architecture, call), expected, "{architecture} {call}");
        }
    }
}
