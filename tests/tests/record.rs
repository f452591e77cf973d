//! A user runs `replay record` or `eventcnv record`: the program works as usual, and the tool
//! reports the recording.
//!
//! ```text
//!  replay record -o LOG PROGRAM ─┬─▶ its output, its exit code, its signals
//!                                └─▶ LOG, LOG-PID …, and a line on standard error
//! ```
//!
//! Design: `.rep.record`, `.rep.record.logs`, `.rep.record.refused` in `design/replay.md`.

use eventlog::reader::{Filter, Log, Order};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tests::programs;

/// Returns `replay record -o a.log WORDS…` in a folder.
fn record(folder: &Path, words: &[&str]) -> Command {
    let mut command = programs::replay();
    command.current_dir(folder).args(["record", "-o", "a.log"]).args(words);
    command
}

fn output(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_recorded_program_keeps_its_output_and_exit_code() {
    for (tool, mut command) in [("replay", programs::replay()), ("eventcnv", programs::eventcnv())]
    {
        let folder = tempfile::tempdir().unwrap();
        command.current_dir(&folder).args(["record", "-o", "a.log", "--"]);
        command.args(["sh", "-c", "echo out; echo error >&2; exit 7"]);
        let (code, out, errors) = output(command);
        assert_eq!((code, &*out), (Some(7), "out\n"));
        let lines: Vec<&str> = errors.lines().collect();
        assert_eq!(lines.len(), 2, "{errors}");
        assert_eq!(lines[0], "error");
        assert!(lines[1].starts_with(&format!("{tool}: a.log: sh: ")), "{errors}");
        assert!(lines[1].ends_with(" events, nothing lost"), "{errors}");
        programs::run(programs::eventcnv().arg("verify").arg(folder.path().join("a.log")));
    }
}

/// `.rep.record.library`: two programs in one folder, as `cargo install` leaves them.
#[test]
fn an_installed_tool_finds_the_library_next_to_it() {
    for built in [programs::replay(), programs::eventcnv()] {
        finds_the_library(Path::new(built.get_program()));
    }
}

fn finds_the_library(built: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    // Another process writes it: a program that another test starts would inherit the open file
    // for a moment, and a file that is open for writing does not run.
    programs::run(Command::new("cp").arg(built).arg(&tool));
    let run = || {
        let mut command = Command::new(&tool);
        command.current_dir(&folder).args(["record", "-o", "a.log", "ls", "/"]);
        output(command)
    };
    let (code, _, errors) = run();
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("library that records not found"), "{errors}");
    assert!(errors.contains("cargo install --locked --path interpose"), "{errors}");
    let library = built.with_file_name("replay-interpose");
    fs::copy(library, folder.path().join("replay-interpose")).unwrap();
    let (code, _, errors) = run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.ends_with(" events, nothing lost\n"), "{errors}");
    programs::run(programs::eventcnv().arg("verify").arg(folder.path().join("a.log")));
}

/// `.rep.record.logs`
#[test]
fn children_and_earlier_programs_have_separate_logs() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["sh", "-c", "ls / >/dev/null; ls >/dev/null; exec sort /dev/null"];
    let (code, _, errors) = output(record(folder.path(), &words));
    assert_eq!(code, Some(0), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[1].contains("a.log-*: 3 logs of its children and earlier programs"), "{errors}");
    let names = fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 4);
    assert!(Log::open(folder.path().join("a.log")).unwrap().is_closed());
    let lines = programs::lines(programs::eventcnv().arg("-vv").arg(folder.path().join("a.log")));
    assert!(lines.iter().any(|line| line.contains("name:\"sort\"")), "{lines:?}");
    // The tool overwrites neither LOG nor LOG-PID without `--force`.
    fs::remove_file(folder.path().join("a.log")).unwrap();
    let (code, _, errors) = output(record(folder.path(), &["ls"]));
    assert_eq!(code, Some(2));
    assert!(errors.contains("a.log-") && errors.contains("--force"), "{errors}");
    let (code, out, errors) = output(record(folder.path(), &["--force", "ls"]));
    assert_eq!((code, errors.lines().count()), (Some(0), 1), "{errors}");
    assert!(!out.contains("a.log-") || out.lines().count() == 1, "{out}");
}

/// `.rep.record.logs`
#[test]
fn a_name_without_a_log_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    programs::run(Command::new("mkfifo").arg(folder.path().join("pipe")));
    fs::write(folder.path().join("a.log-2026"), "notes").unwrap();
    let names = [
        ("-", "-: a recording goes to files"),
        ("..", "..: a recording goes to files"),
        ("new/", "new/: a recording goes to files"),
        ("ring:?size=1G", "ring:?size=1G: a recording goes to files"),
        ("tcp://localhost:1", "tcp://localhost:1: a recording goes to files"),
        ("none/b.log", "none/b.log: the folder none does not exist; make it first (mkdir -p)"),
        ("ring:pipe", "pipe: exists and is not a regular file"),
        ("a.log", "a.log-2026: already exists, and is not a log; give another name"),
    ];
    let tools = [("replay", programs::replay as fn() -> Command), ("eventcnv", programs::eventcnv)];
    let mut kinds = vec![("--malloc", &names[..])];
    kinds.push(("--kernel", &[("ring:k.log", "k.log: the kernel's log is a plain file")]));
    for (kind, names) in kinds {
        for ((name, why), (tool, program)) in
            names.iter().flat_map(|name| tools.map(|it| (name, it)))
        {
            let mut command = program();
            command.current_dir(&folder).args(["record", kind, "--force", "-o", name]);
            command.args(["--", "touch", "ran"]);
            let (code, _, errors) = output(command);
            assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
            assert!(errors.starts_with(&format!("{tool}: {why}")), "{errors}");
        }
    }
    let mut left: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.log-2026", "pipe"]);
}

/// `.rep.record.logs`
#[test]
fn a_file_that_the_program_makes_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--force", "sh", "-c", "echo mine > a.log; echo $$"];
    let (code, process, errors) = output(record(folder.path(), &words));
    let name = format!("a.log-{}", process.trim());
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.starts_with(&format!("replay: {name}: sh: ")), "{errors}");
    assert!(errors.ends_with("; a.log was made meanwhile, and stays\n"), "{errors}");
    assert_eq!(fs::read_to_string(folder.path().join("a.log")).unwrap(), "mine\n");
    assert!(Log::open(folder.path().join(name)).is_ok());
}

#[test]
fn a_program_with_lost_events_is_not_called_idle() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = programs::replay();
    command.current_dir(&folder).args(["record", "-o", "ring:a.log?size=much", "ls", "/"]);
    let (code, _, errors) = output(command);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("replay: ls: nothing was recorded\n"), "{errors}");
    assert!(errors.ends_with(" events were lost, by the processes' notes\n"), "{errors}");
}

#[test]
fn all_names_of_the_command_have_the_same_help() {
    let help = |mut command: Command, words: &[&str]| {
        command.args(words);
        let (code, help, errors) = output(command);
        assert_eq!((code, &*errors), (Some(0), ""), "{words:?}");
        help
    };
    let of_eventcnv = |words: &[&str]| help(programs::eventcnv(), words);
    for option in ["-h", "--help"] {
        let own = of_eventcnv(&["record", option]);
        assert_eq!(of_eventcnv(&["waits", "record", option]), own);
        let beginning = |help: &str| help.split("\nUsage: ").next().unwrap().to_owned();
        assert_eq!(beginning(&help(programs::replay(), &["record", option])), beginning(&own));
    }
    let own = of_eventcnv(&["help", "record"]);
    assert_eq!(of_eventcnv(&["help", "waits", "record"]), own);
    assert!(of_eventcnv(&["waits", "--help"]).contains("`eventcnv waits record`"));
}

#[test]
fn a_signal_for_the_recorder_reaches_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "trap 'echo caught; exit 5' TERM; echo ready; for i in $(seq 1000); do sleep 0.05; done";
    let mut child = record(folder.path(), &["sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let result = child.wait_with_output().unwrap();
    assert_eq!(result.status.code(), Some(5));
    assert_eq!(result.stdout, b"caught\n");
    let (code, _, errors) = output(record(folder.path(), &["--force", "sh", "-c", "kill -9 $$"]));
    assert_eq!(code, Some(128 + 9), "{errors}");
}

#[test]
fn a_parent_that_ignores_sigchld_gets_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = record(folder.path(), &["sh", "-c", "exit 7"]);
    let mut command = Command::new("env");
    command.arg("--ignore-signal=CHLD").arg(recorder.get_program()).args(recorder.get_args());
    command.current_dir(&folder);
    let (code, _, errors) = output(command);
    assert_eq!(code, Some(7), "{errors}");
    assert!(errors.ends_with(" events, nothing lost\n"), "{errors}");
}

/// A program that allocates a thousand sizes, and is killed.
const KILLED: &str = "
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
  for (int size = 0; size < 1000; size++) if (!malloc(5000 + size)) return 1;
  return kill(getpid(), atoi(words[1]));
}";

/// `.rep.record.logs` `.rep.record.ends`
#[test]
fn a_killed_programs_recording_states_what_may_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("killed.c"), KILLED).unwrap();
    let mut cc = Command::new("cc");
    let status = cc.args(["-fno-builtin", "-o", &at("killed"), &at("killed.c")]).status();
    assert!(status.expect("this test needs a C compiler, cc").success());
    let recorded = |log: &str, signal: &str, crash: &str| {
        let mut command = programs::replay();
        command.args(["record", "-o", log, "--force", &at("killed"), signal]);
        command.env("MPS_TELEMETRY_CRASH", crash).current_dir(folder.path());
        output(command)
    };
    let sizes = |name: &str| {
        let log = Log::open(at(name)).unwrap();
        let mut events = log.events(Order::File, &Filter::default());
        let mut sizes = Vec::new();
        while let Some(event) = events.next() {
            sizes.extend(event.param("size").and_then(|size| size.as_u64()));
        }
        sizes.retain(|size| (5000..6000).contains(size));
        sizes
    };
    let missing = "up to a block (64 KiB), may be missing";
    for (signal, name) in [("9", "SIGKILL"), ("15", "SIGTERM"), ("11", "SIGSEGV")] {
        let (code, _, errors) = recorded("a.log", signal, "0");
        assert_eq!(code, Some(128 + signal.parse::<i32>().unwrap()));
        assert!(errors.contains(&format!("; the program died of {name}: ")), "{errors}");
        assert!(errors.contains(missing), "{errors}");
        let (_, _, errors) = recorded("ring:b.log?size=4M", signal, "0");
        let text = format!("; the program died of {name}: what the ring kept goes up to then");
        assert!(errors.contains(&text), "{errors}");
        assert_eq!(sizes("b.log"), (5000..6000).collect::<Vec<u64>>(), "{name}");
    }
    let (_, _, errors) = recorded("a.log", "15", "1");
    assert!(errors.trim_end().ends_with("; the program died of SIGTERM"), "{errors}");
    assert_eq!(sizes("a.log"), (5000..6000).collect::<Vec<u64>>());
    let (_, _, errors) = recorded("a.log", "9", "1");
    assert!(errors.contains(missing), "{errors}");
    let shown = programs::lines(programs::replay().arg("show").arg(at("b.log")));
    let note = "note: 1 processes that did not record their memory and times: ";
    assert!(shown.iter().any(|line| line.starts_with(note)), "{shown:#?}");
}

#[test]
fn a_signal_is_named_though_the_log_was_deleted_or_emptied() {
    for loss in ["rm a.log-*", "for log in a.log-*; do : >$log; done"] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("{loss}; kill -SEGV $$");
        let (code, _, errors) = output(record(folder.path(), &["--", "sh", "-c", &script]));
        assert_eq!(code, Some(128 + 11), "{errors}");
        let own = errors.lines().find(|line| line.contains(" died of SIGSEGV"));
        assert!(own.is_some(), "{loss}: {errors}");
    }
}

/// A program that closes its files and takes its log away, between two times that it allocates.
const CLOSER: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void allocate(void) { for (int at = 0; at < 20000; at++) free(malloc(24)); }
int main(int count, char **words) {
  char log[32];
  snprintf(log, sizeof log, \"a.log-%d\", getpid());
  allocate();
  if (words[1][0] == 'c') syscall(SYS_close_range, 3, ~0U, 0);
  if (words[1][1] == 't' ? truncate(log, 0) : words[1][1] == 'r' ? unlink(log) : 0) return 1;
  allocate();
  return 0;
}";

/// `.rep.record.logs` `.sol.held`
#[test]
fn a_log_taken_from_its_program_is_not_called_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("closer.c"), CLOSER).unwrap();
    let mut cc = Command::new("cc");
    let status = cc.args(["-fno-builtin", "-o", &at("closer"), &at("closer.c")]).status();
    assert!(status.expect("this test needs a C compiler, cc").success());
    for how in ["c-", "ct", "cr", "-t", "-r"] {
        let command = record(folder.path(), &["--force", &at("closer"), how]);
        let (code, _, errors) = output(command);
        let line = errors.lines().last().unwrap();
        if how == "c-" {
            assert!(code == Some(0) && line.ends_with(", nothing lost"), "{errors}");
            continue;
        }
        let missing = " events, older ones are missing (another process removed or truncated";
        assert!(code == Some(1) && line.contains(missing), "{how}: {errors}");
    }
}

/// A program that allocates, then executes itself some times, and is killed at last.
const CHAIN: &str = "
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
  int more = atoi(words[1]);
  for (int size = 0; size < 100; size++) if (!malloc(5000 + size)) return 1;
  char text[16];
  snprintf(text, sizeof text, \"%d\", more - 1);
  if (more) execl(words[0], words[0], text, (char *)0);
  return kill(getpid(), SIGKILL);
}";

/// `.rep.record.logs` `.sol.mapped`
#[test]
fn each_executed_program_has_its_own_ring_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("chain.c"), CHAIN).unwrap();
    let mut cc = Command::new("cc");
    let status = cc.args(["-fno-builtin", "-o", &at("chain"), &at("chain.c")]).status();
    assert!(status.expect("this test needs a C compiler, cc").success());
    let recorded = |log: &str| {
        let mut command = programs::replay();
        command.args(["record", "-o", log, &at("chain"), "3"]).current_dir(folder.path());
        output(command)
    };
    let (code, _, errors) = recorded("ring:a.log?size=1M");
    assert_eq!(code, Some(137));
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    let own = "chain: 100 events, nothing lost; the program died of SIGKILL: what the ring kept";
    assert!(lines[0].contains(own), "{errors}");
    let others = "replay: a.log-*: 3 logs of its children and earlier programs: 306 events";
    assert!(lines[1].starts_with(others), "{errors}");
    let logs = fs::read_dir(folder.path()).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.to_str()?.contains("a.log").then(|| Log::open(path).unwrap())
    });
    let counts = logs.map(|log| log.accounts().iter().map(|account| account.found).max());
    // The last program has 100 events. Each earlier one also records its figures, and its malloc.
    let mut counts: Vec<_> = counts.collect();
    counts.sort();
    assert_eq!(counts, [Some(100), Some(102), Some(102), Some(102)]);
    // Without a ring, a loss may be unknown.
    let (_, _, errors) = recorded("b.log");
    let lines: Vec<&str> = errors.lines().collect();
    assert!(!lines[0].contains("nothing lost") && lines[0].contains("may be missing"), "{errors}");
    assert!(lines[1].ends_with("306 events, nothing lost"), "{errors}");
}

/// Forks a child that allocates until some blocks are written, and is killed.
const FORKED: &str = "
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  if (!malloc(1)) return 1;
  if (fork() == 0) {
    for (int size = 0; size < 100000; size++) if (!malloc(8)) return 1;
    kill(getpid(), SIGKILL);
  }
  wait(0);
  return 0;
}";

/// `.rep.record.logs`
#[test]
fn a_child_without_an_end_may_have_lost_events() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("forked.c"), FORKED).unwrap();
    let mut cc = Command::new("cc");
    let status = cc.args(["-fno-builtin", "-o", &at("forked"), &at("forked.c")]).status();
    assert!(status.expect("this test needs a C compiler, cc").success());
    let (code, _, errors) = output(record(folder.path(), &[&at("forked")]));
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 2), "{errors}");
    assert!(lines[0].ends_with(", nothing lost"), "{errors}");
    assert!(!lines[1].contains("nothing lost"), "{errors}");
    assert!(
        lines[1].contains("; 1 has no end: its process called _exit, or was killed"),
        "{errors}"
    );
    // The newest volumes exist under the given name.
    let mut command = programs::replay();
    command.args(["record", "-o", "file:b.log?size=1M&count=2", &at("forked")]);
    command.current_dir(folder.path());
    let (_, _, errors) = output(command);
    let line = errors.lines().last().unwrap();
    assert!(line.contains(" events, older ones have given way; 1 has no end"), "{errors}");
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let of_child = |path: &&std::path::PathBuf| path.to_str().unwrap().contains("b.log-");
    let names: Vec<_> = names.collect();
    let mut show = programs::replay();
    show.arg("show").args(names.iter().filter(of_child));
    let (_, _, errors) = output(show);
    assert!(errors.contains("note: its first volumes are missing"), "{errors}");
}

/// `.rep.record.refused`
#[test]
fn record_refuses_a_program_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("c.c"), "int main(void) { return 6; }").unwrap();
    let cc = Command::new("cc").args(["-static", "-o", &at("static"), &at("c.c")]).status();
    assert!(cc.expect("this test needs a C compiler, cc").success());
    fs::write(at("script"), format!("#! {} -x\n", at("static"))).unwrap();
    fs::write(at("text"), "nothing").unwrap();
    fs::write(at("cut"), &fs::read(at("static")).unwrap()[..100]).unwrap();
    for name in ["script", "text", "cut"] {
        fs::set_permissions(at(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (program, why) in [
        ("static", "is statically linked"),
        ("script", "static is statically linked"),
        ("text", "is neither an ELF program nor a script with #! in its first line"),
        ("cut", "is a damaged program"),
        ("missing", "program not found"),
    ] {
        let (code, _, errors) = output(record(folder.path(), &[&at(program)]));
        assert_eq!(code, Some(2));
        assert!(errors.contains(why) && errors.lines().count() == 1, "{program}: {errors}");
    }
    let (code, _, errors) = output(record(folder.path(), &["--anyway", &at("static")]));
    assert_eq!(code, Some(6));
    assert!(errors.contains("nothing was recorded"), "{errors}");
    let words = ["--library", "/nowhere/lib.so", "ls"];
    let (code, _, errors) = output(record(folder.path(), &words));
    assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
}

/// Calls `malloc` again and again from newly mapped code, while a thread forks.
#[cfg(target_arch = "x86_64")]
const MAPPING: &str = r"
import ctypes, mmap, os, threading, time
MALLOC = ctypes.cast(ctypes.CDLL(None).malloc, ctypes.c_void_p).value
KEPT = []
def call():
    # sub rsp, 8; mov edi, 100; movabs rax, malloc; call rax; add rsp, 8; ret
    code = b'\x48\x83\xec\x08\xbf\x64\0\0\0\x48\xb8' + MALLOC.to_bytes(8, 'little')
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(code + b'\xff\xd0\x48\x83\xc4\x08\xc3')
    KEPT.append(page)
    ctypes.CFUNCTYPE(ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
for index in range(600):
    KEPT.append(mmap.mmap(-1, 4096, prot=1 + 2 * (index % 2)))
def work():
    while True:
        call()
threading.Thread(target=work, daemon=True).start()
for _ in range(6):
    time.sleep(0.005)
    child = os.fork()
    if child == 0:
        call()
        os._exit(0)
    os.waitpid(child, 0)
    print(child, flush=True)
os._exit(0)
";

/// The child lacks the thread that was reading the mappings.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_forked_child_records_its_mappings_during_a_read() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--stacks", "--", "python3", "-c", MAPPING];
    let (code, children, errors) = output(record(folder.path(), &words));
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(children.lines().count(), 6);
    for child in children.lines() {
        let log = folder.path().join(format!("a.log-{child}"));
        let mut dump = programs::eventcnv();
        let lines = programs::lines(dump.args(["-v", "--events", "Mapping"]).arg(&log));
        assert!(!lines.is_empty(), "{child}: {errors}");
    }
}

/// A program that loses events, or is recorded only in part, by its argument.
const LOSING: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static void ask(int count) { while (count--) if (!malloc(8)) abort(); }
static void limit(int what, rlim_t most) {
  struct rlimit both = { most, most };
  setrlimit(what, &both);
}
int main(int count, char **words) {
  const char *way = words[1];
  ask(10);
  if (!strcmp(way, "full")) {          /* as where a disk is full */
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 300000);
    ask(200000);
  } else if (!strcmp(way, "worker")) { /* may open nothing, as one that gave up its rights */
    if (fork() == 0) { limit(RLIMIT_NOFILE, 0); ask(10); exit(0); }
    wait(0);
  } else if (!strcmp(way, "aborts")) {
    if (fork() == 0) { limit(RLIMIT_CORE, 0); ask(10); abort(); }
    wait(0);
  } else if (!strcmp(way, "alone")) {  /* a child without an environment */
    char *none[] = { 0 }, *name[] = { "true", 0 };
    if (fork() == 0) execve("/bin/true", name, none);
    wait(0);
  } else if (!strcmp(way, "daemon")) {
    if (fork() == 0) {
      setsid();
      ask(10);
      for (int file = 0; file < 3; file++) { close(file); open("/dev/null", O_RDWR); }
      sleep(3);
      exit(0);
    }
    usleep(200000);
  } else {                             /* nothing is lost */
    if (fork() == 0) { ask(10); exit(0); }
    wait(0);
    if (fork() == 0) _exit(0);
    wait(0);
    if (fork() == 0) { execl("/nowhere", "nowhere", (char *)0); _exit(0); }
    wait(0);
  }
  return 0;
}"#;

/// `.rep.record.roster`
#[test]
fn record_reports_unrecorded_processes_by_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("losing.c"), LOSING).unwrap();
    let mut cc = Command::new("cc");
    let status = cc.args(["-fno-builtin", "-o", &at("losing"), &at("losing.c")]).status();
    assert!(status.expect("this test needs a C compiler, cc").success());
    for (way, code, said) in [
        ("whole", 0, ""),
        ("full", 1, " lost"),
        ("worker", 1, "): allocated memory, and no log exists"),
        ("aborts", 1, "): allocated memory, and no log exists"),
        ("alone", 1, "true ("),
        ("daemon", 1, "): still runs, so that the log is incomplete"),
    ] {
        let mut command = programs::replay();
        let log = format!("{way}.log");
        command.args(["record", "-o", &log, &at("losing"), way]).current_dir(folder.path());
        let (found, _, errors) = output(command);
        assert_eq!(found, Some(code), "{way}: {errors}");
        assert!(errors.contains(said), "{way}: {errors}");
        let is_all = errors.lines().all(|line| line.ends_with(", nothing lost"));
        assert_eq!(is_all, code == 0, "{way}: {errors}");
    }
}

/// `.rep.record.refused`
#[test]
fn record_names_the_symbol_that_hides_its_library() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let compile = |name: &str, text: &str, options: &[&str]| {
        fs::write(at("c.c"), text).unwrap();
        let mut cc = Command::new("cc");
        cc.args(options).args(["-fno-builtin", "-o", &at(name), &at("c.c")]);
        assert!(cc.status().expect("this test needs a C compiler, cc").success());
    };
    let own = "void *__libc_malloc(unsigned long); void *malloc(unsigned long n)
        { return __libc_malloc(n); } int main(void) { return malloc(9) == 0; }";
    compile("own", own, &["-rdynamic"]);
    compile(
        "linked",
        "void *mi_malloc(unsigned long n) { return 0; } int main(void) { return 0; }",
        &[],
    );
    compile(
        "go",
        "__attribute__((section(\".go.buildinfo\"))) int info = 1; int main(void) { return 0; }",
        &[],
    );
    for (program, why) in [("own", "(symbol malloc)"), ("go", ".go.buildinfo")] {
        let (code, _, errors) = output(record(folder.path(), &[&at(program)]));
        assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
        assert!(errors.contains(why) && errors.contains("--anyway runs it"), "{errors}");
    }
    // The tool finds an executed program with its own malloc while that runs.
    let script = format!("{}; exit 0", at("own"));
    let (code, _, errors) = output(record(folder.path(), &["sh", "-c", &script]));
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("replay: sh: own (") && errors.contains("malloc of its own"),
        "{errors}"
    );
    let mut command = programs::replay();
    command.args(["record", "--force", "-o", "b.log", &at("linked")]).current_dir(folder.path());
    let (_, _, errors) = output(command);
    assert!(errors.contains("has mimalloc linked in (symbol mi_malloc)"), "{errors}");
    // Here the address of malloc is a stub in the program, which hides nothing.
    let stub = "#include <stdlib.h>\nvolatile void *memory; void *(*volatile ask)(size_t);
        int main(void) { ask = malloc; memory = ask(9); return memory == 0; }";
    compile("stub", stub, &["-fno-pie", "-no-pie"]);
    let (code, _, errors) = output(record(folder.path(), &["--force", &at("stub")]));
    assert_eq!((code, errors.lines().count()), (Some(0), 1), "{errors}");
}

/// A program in which one function holds most at the peak, and another requests more in all.
const HOLDER: &str = "#include <stdlib.h>
void *held;
__attribute__((noinline)) void hold(void) { held = malloc(1000000); }
__attribute__((noinline)) void churn(void) { for (int i = 0; i < 99; i++) free(malloc(100000)); }
int main(void) { hold(); churn(); free(held); churn(); return 0; }
";

/// `.rep.show.stack`
#[test]
fn show_names_the_function_that_holds_the_peak() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("holder.c"), HOLDER).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-fno-builtin", "-o", &at("holder"), &at("holder.c")]);
    assert!(cc.status().expect("this test needs a C compiler, cc").success());
    let (code, _, errors) = output(record(folder.path(), &["--stacks", &at("holder")]));
    assert_eq!(code, Some(0), "{errors}");
    let mut show = programs::replay();
    show.args(["show", "--stacks", "1"]).arg(at("a.log"));
    let lines = programs::lines(&mut show);
    let first_of = |title: &str| {
        let title = format!("call stacks with the most {title}");
        let at = lines.iter().position(|line| *line == title).expect("a list");
        lines[at + 2].trim().to_owned()
    };
    assert_eq!(first_of("bytes at the peak"), "hold holder.c:3 (holder)");
    assert_eq!(first_of("bytes allocated"), "churn holder.c:4 (holder)");
}
