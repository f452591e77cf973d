//! The control service: other processes control a program, as seen from the program.
//!
//! ```text
//!  a process of a test ── its own client ──▶ ./PID.sock ──▶ the service of the process
//! ```

#[path = "common/asking.rs"]
mod asking;
mod common;
#[path = "common/counting.rs"]
mod counting;

use asking::{HERE, WRITER, ask, connect, number, socket_of, value};
use common::{CONTROL, Kinds, Pooled, Rare, Three, ran};
use counting::Counting;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use telemetry::{control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

static COUNT: AtomicUsize = AtomicUsize::new(0);
static WATCHING: AtomicBool = AtomicBool::new(false);

#[expect(unsafe_code, reason = "the name of a thread")]
fn is_of_runtime() -> bool {
    let mut name = [0u8; 16];
    // SAFETY: the call writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"telemetry")
}

/// Counts allocations by threads of the runtime, which have known names.
#[global_allocator]
static ALLOCATOR: Counting = Counting(|| {
    if WATCHING.load(Ordering::Relaxed) && is_of_runtime() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
});

/// `.control.tool`: on the service's own thread, and on the writer thread.
#[test]
fn requests_read_and_change_the_masks() {
    let test = "requests_read_and_change_the_masks";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(ran) = ran(test, &[HERE, writer], || {
            (0..10usize).for_each(|index| event!(Pooled, index));
            let masks = ask("get");
            assert_eq!(value(&masks, "registry.1"), "test 1.2.3");
            assert_eq!(value(&masks, "registry.1.output"), "-");
            assert_eq!(value(&masks, "standing"), "none");
            let all = "Arena Pool Trace Seg Ref Object User";
            assert_eq!(value(&masks, "registry.1.kinds"), all);
            assert_eq!(value(&masks, "registry.1.recorded"), all);
            // Numbers work too; the answer lists only the requested kinds.
            let set = ask("set pool 0x20");
            assert_eq!(value(&set, "registry.1.output"), "Pool Object");
            assert_eq!(control::of(&CONTROL).output(), Kinds::Pool | Kinds::Object);
            assert_eq!((&*value(&set, "standing"), &*value(&set, "log")), ("open", "mpsio.log"));
            // The earlier events in the ring are written too.
            ask("flush");
            assert_eq!(common::read(&std::fs::read("mpsio.log").unwrap()).of(5).len(), 10);
            assert_eq!(value(&ask("reset Object"), "registry.1.output"), "-");
            assert_eq!(value(&ask("get"), "registry.1.output"), "Pool");
            ask("reset mask:recorded Pool");
            assert!(!control::of(&CONTROL).recorded().contains(Kinds::Pool));
            event!(Pooled, 99usize);
            assert_eq!(
                value(&ask("set mask:recorded registry:TEST all"), "registry.1.recorded"),
                all
            );
            event!(Pooled, 10usize);
            assert_eq!(control::of(&CONTROL).output(), Kinds::Pool, "the output mask changed");
        }) else {
            return;
        };
        assert!(ran.said().is_empty(), "{:?}", ran.said());
        assert_eq!(ran.stream().words(5, 0), (0..=10).collect::<Vec<_>>());
    }
}

mod own {
    telemetry::events! {
        /// A registry with kinds of its own; one has the name of a standard kind.
        registry "own" version(1, 0, 0);
        kinds {
            /// Pages.
            Page = 0,
            /// Pools.
            Pool = 9,
        }

        /// A page.
        Paged(0x0001, always, Page) {
            /// which
            index: W,
        }
    }
}

/// `.control.tool.request`: a name selects the kind of that name in each registry, also in later
/// ones. A request may name one registry.
#[test]
fn a_request_switches_kinds_by_name_in_later_registries() {
    let test = "a_request_switches_kinds_by_name_in_later_registries";
    let Some(_) = ran(test, &[HERE], || {
        event!(Rare, 1usize);
        ask("set Pool Arena");
        ask("set registry:test User");
        ask("reset mask:recorded pool");
        event!(own::Paged, 1usize);
        assert_eq!(control::of(&own::CONTROL).output(), own::Kinds::Pool, "not its kind Pool");
        assert_eq!(control::of(&own::CONTROL).recorded(), !own::Kinds::Pool);
        assert_eq!(control::of(&CONTROL).output(), Kinds::Arena | Kinds::Pool | Kinds::User);
        assert_eq!(control::of(&CONTROL).recorded(), !Kinds::Pool);
        let masks = ask("set registry:2 Page");
        assert_eq!(value(&masks, "registry.2.output"), "Page");
        assert!(!masks.contains("registry.1"), "{masks}");
        assert_eq!(value(&ask("get registry:own"), "registry.2.output"), "Page Pool");
    }) else {
        return;
    };
}

/// `.control.tool.answer`
#[test]
fn an_invalid_request_gets_one_line_with_the_valid_names() {
    let test = "an_invalid_request_gets_one_line_with_the_valid_names";
    let Some(_) = ran(test, &[HERE], || {
        event!(Rare, 1usize);
        event!(own::Paged, 1usize);
        let kinds = "Arena, Pool, Trace, Seg, Ref, Object, User";
        for (request, expected) in [
            ("set Pool Swimming", &*format!("unknown kind `Swimming`; known: {kinds}, Page, all")),
            ("get registry:own Trace", "unknown kind `Trace`; known: Page, Pool, all"),
            ("set registry:x Pool", "unknown registry `x`; known: test, own"),
            ("kill", "unknown request `kill`; use one of: get set reset flush status"),
            ("set", "`set` needs kinds: names, numbers, or `all`"),
        ] {
            assert_eq!(ask(request), format!("error: {expected}\n"));
        }
        assert_eq!(control::of(&CONTROL).output(), Kinds::empty(), "half a request is done");
    }) else {
        return;
    };
}

/// Ends the threads of a test, also if the test fails.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `.control.tool.answer`: when the answer comes, the host has every published event.
#[test]
fn the_answer_to_a_flush_follows_the_last_write() {
    let test = "the_answer_to_a_flush_follows_the_last_write";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(ran) = ran(test, &[HERE, OBJECT, SMALL, writer], || {
            let published = [const { AtomicUsize::new(0) }; 4];
            let done = AtomicBool::new(false);
            // The first event starts the service.
            event!(Rare, 1usize);
            std::thread::scope(|scope| {
                let _end = AtEnd(&done);
                for (thread, published) in published.iter().enumerate() {
                    let done = &done;
                    scope.spawn(move || {
                        for index in 0.. {
                            event!(Three, thread, index, index);
                            published.store(index + 1, Ordering::Release);
                            if index.is_multiple_of(8) {
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            if done.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    });
                }
                for _ in 0..10 {
                    let before = published.each_ref().map(|count| count.load(Ordering::Acquire));
                    let answer = ask("flush");
                    assert_eq!(value(&answer, "standing"), "open");
                    // Threads write more meanwhile: a block may be torn, and one before it missing.
                    let log = std::fs::read("mpsio.log").unwrap();
                    let stream = common::read_as_it_is(&common::sound(log, 4096));
                    for (thread, count) in before.iter().enumerate() {
                        let of_thread = |event: &&&common::Read| event.word(0) == thread as u64;
                        let events = stream.of(1);
                        let found = events.iter().filter(of_thread).map(|event| event.word(1));
                        let missing =
                            &(0..*count as u64).collect::<BTreeSet<_>>() - &found.collect();
                        assert_eq!(missing, BTreeSet::new(), "thread {thread}, of {count}");
                    }
                }
            });
        }) else {
            return;
        };
        assert!(ran.stream().ended);
    }
}

/// `.control.status`
#[test]
fn the_status_states_recorded_written_and_lost_events() {
    let test = "the_status_states_recorded_written_and_lost_events";
    let Some(ran) = ran(test, &[HERE, OBJECT, SMALL], || {
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
        let thread = || (0..500usize).for_each(|index| event!(Three, 1usize, index, index));
        std::thread::spawn(thread).join().unwrap();
        event!(Rare, 1usize);
        ask("flush");
        let status = ask("status");
        assert_eq!(value(&status, "pid"), std::process::id().to_string());
        assert!(value(&status, "program").starts_with("service-"), "{status}");
        assert_eq!(
            (value(&status, "standing"), value(&status, "log")),
            ("open".into(), "mpsio.log".into())
        );
        assert_eq!(number(&status, "requested"), 1501);
        assert_eq!((number(&status, "recorded"), number(&status, "lost")), (1501, 0));
        // 124 events of three words fill a block; the rest is written as parts.
        assert_eq!(number(&status, "blocks"), 500 / 124 + 1000 / 124);
        let size = std::fs::metadata("mpsio.log").unwrap().len();
        let bytes = number(&status, "bytes");
        assert!(bytes <= size && bytes + 4096 > size, "{bytes} of {size}");
        assert_eq!((number(&status, "threads"), number(&status, "rings")), (2, 3));
        assert_eq!(number(&status, "rings-free"), 1, "the thread ended");
        assert_eq!(number(&status, "ring-bytes"), 3 * 2 * 4096);
        assert_eq!(
            (value(&status, "writer"), value(&status, "volume")),
            ("none".into(), "0".into())
        );
        let events =
            "requested 1501, recorded 1501, overwritten 0, full 0, nested 0, large 0, io 0";
        assert_eq!(value(&status, "registry.1.events"), events);
        // The program's own status is the same.
        let own = telemetry::status().to_string();
        assert_eq!(own.replace("registry.1", "") + "ok\n", status.replace("registry.1", ""));
        let uuid = value(&status, "stream").replace('-', "");
        std::fs::write("uuid", uuid).unwrap();
    }) else {
        return;
    };
    let hex: String =
        ran.file("mpsio.log")[32..48].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(ran.file("uuid"), hex.as_bytes());
}

/// `.control.tool.owner`, `.control.tool.socket`
#[test]
fn the_socket_is_private_and_ends_with_the_program() {
    let test = "the_socket_is_private_and_ends_with_the_program";
    let Some(ran) = ran(test, &[HERE], || {
        event!(Rare, 1usize);
        let about = std::fs::symlink_metadata(socket_of(std::process::id())).unwrap();
        assert!(about.file_type().is_socket());
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        // The runtime knows the directory also after `chdir`.
        std::fs::create_dir("elsewhere").unwrap();
        std::env::set_current_dir("elsewhere").unwrap();
    }) else {
        return;
    };
    let left: Vec<_> =
        std::fs::read_dir(ran.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["elsewhere"]);
    assert!(ran.said().is_empty(), "{:?}", ran.said());
}

/// `.control.tool`: the service never uses the program's allocator.
#[test]
fn the_service_never_uses_the_programs_allocator() {
    let test = "the_service_never_uses_the_programs_allocator";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(_) = ran(test, &[HERE, writer], || {
            event!(Three, 0usize, 0usize, 0usize);
            ask("get");
            WATCHING.store(true, Ordering::Relaxed);
            for request in ["set all", "flush", "status", "reset Pool", "set no", "?", "get 1"] {
                ask(request);
            }
            WATCHING.store(false, Ordering::Relaxed);
            assert_eq!(COUNT.load(Ordering::Relaxed), 0);
            let names = std::fs::read_dir("/proc/self/task")
                .unwrap()
                .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap());
            let is_there = |name: &String| name.starts_with("telemetry");
            assert_eq!(names.filter(is_there).count(), 1, "the allocator watches one thread");
        }) else {
            return;
        };
    }
}

/// `.control.tool`: the service is opt-in.
#[test]
fn the_service_starts_only_with_its_variable() {
    let test = "the_service_starts_only_with_its_variable";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        event!(Three, 0usize, 0usize, 0usize);
        telemetry::flush();
        println!("threads {}", std::fs::read_dir("/proc/self/task").unwrap().count());
        return;
    }
    for (socket, socket_count) in [(None, 0), (Some(""), 0), (Some("."), 1)] {
        let folder = tempfile::tempdir().unwrap();
        let program = common::command(test, &[OBJECT]);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=socket", "-o", "calls"]);
        strace.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => strace.env(name, value),
                None => strace.env_remove(name),
            };
        }
        socket.map(|socket| strace.env("MPS_TELEMETRY_SOCKET", socket));
        let output = strace.current_dir(&folder).stdin(Stdio::null()).output();
        let output = output.expect("strace runs; ./test --install installs it");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
        assert_eq!(calls.matches("socket(AF_UNIX").count(), socket_count, "{calls}");
        // libtest runs the test on a thread of its own.
        let threads = text.lines().find_map(|line| line.split_once("threads ")).unwrap().1;
        assert_eq!(threads, (2 + socket_count).to_string(), "{text}");
    }
}

/// `.control.tool.fork`: the child closes its parent's socket, and opens its own the next time it
/// takes the cold path.
#[test]
#[expect(unsafe_code, reason = "fork")]
fn a_forked_child_opens_its_own_socket() {
    let test = "a_forked_child_opens_its_own_socket";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(_) = ran(test, &[HERE, writer], || {
            event!(Rare, 1usize);
            assert!(ask("get").ends_with("ok\n"));
            let mut hanging = connect();
            // SAFETY: the child records, asks its own service, and exits.
            let child = unsafe { libc::fork() };
            if child == 0 {
                telemetry::flush();
                let is_served = value(&ask("get"), "registry.1") == "test 1.2.3";
                // SAFETY: ends the process after its exit functions.
                unsafe { libc::exit(if is_served { 7 } else { 8 }) };
            }
            hanging.write_all(b"get\n").unwrap();
            let mut text = String::new();
            hanging.read_to_string(&mut text).unwrap();
            assert!(text.ends_with("ok\n"), "the parent's service");
            let mut status = 0;
            // SAFETY: fills an integer that lives through the call.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 7));
            assert!(!std::path::Path::new(&socket_of(child as u32)).exists());
            assert!(ask("get").ends_with("ok\n"));
        }) else {
            return;
        };
    }
}

/// The service and the program's own functions change the same masks.
#[test]
fn the_program_and_the_tool_change_the_same_masks() {
    let test = "the_program_and_the_tool_change_the_same_masks";
    let Some(_) = ran(test, &[HERE], || {
        event!(Rare, 1usize);
        ask("set Pool");
        control::set_output_everywhere(Kinds::Seg);
        assert_eq!(value(&ask("get"), "registry.1.output"), "Pool Seg");
        control::reset_output_everywhere(u64::MAX);
        assert_eq!(value(&ask("get"), "registry.1.output"), "-");
        event!(own::Paged, 1usize);
        assert_eq!(control::of(&own::CONTROL).output(), own::Kinds::empty(), "the newer wins");
    }) else {
        return;
    };
}
