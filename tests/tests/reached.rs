//! Programs whose calls `replay record` cannot see, in whole or in part: it names them, and the
//! programs work as usual.
//!
//! ```text
//!  dlopen(RTLD_DEEPBIND), dlmopen ─▶ named, exit code 1      a sanitizer, valgrind ─▶ refused
//!  another C library ─▶ runs unrecorded, named               a daemon, a limit, closefrom ─▶ told
//! ```
//!
//! Design: `.rep.record.unreached`, `.rep.record.unloadable`, `.rep.record.roster` in
//! `design/replay.md`.

use eventlog::reader::{Filter, Log, Order};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::programs;

/// Programs in a folder, and recordings of them.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn compile(&self, name: &str, text: &str, options: &[&str]) {
        let source = self.at(&format!("{name}.c"));
        fs::write(&source, text).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-fno-builtin", "-o", &self.at(name), &source]).args(options);
        assert!(cc.status().expect("this test needs a C compiler, cc").success(), "{name}");
    }

    /// Returns `replay record -o a.log WORDS…`.
    fn record(&self, words: &[&str]) -> Command {
        let mut command = programs::replay();
        command.args(["record", "--force", "-o", "a.log"]).args(words);
        command.current_dir(self.0.path());
        command
    }

    /// Returns the exit code, the output, and the messages of a recording.
    fn recorded(&self, words: &[&str]) -> (Option<i32>, String, String) {
        said(self.record(words))
    }

    /// Returns how many events of a type a log has.
    fn count(&self, log: &str, name: &str) -> usize {
        let log = Log::open(self.at(log)).unwrap();
        let mut events = log.events(Order::File, &Filter::default());
        let mut count = 0;
        while let Some(event) = events.next() {
            count += usize::from(event.event_type.is_some_and(|row| &*row.name == name));
        }
        count
    }
}

fn said(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

const PLUG: &str = "#include <stdlib.h>
void work(void) { for (int i = 0; i < 10000; i++) free(malloc(64)); }";

/// Loads the library in a way, and lets it work.
const LOADING: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
int main(int count, char **words) {
  int deep = words[2][0] == 'd' || words[2][0] == 'a' ? RTLD_DEEPBIND : 0;
  if (words[2][0] == 'a') dlopen(words[1], RTLD_NOW);
  void *library = words[2][0] == 'm' ? dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW)
                                     : dlopen(words[1], RTLD_NOW | deep);
  dlopen("/nowhere/none.so", RTLD_NOW | RTLD_DEEPBIND);
  if (!library) return 3;
  ((void (*)(void))dlsym(library, "work"))();
  return 0;
}"#;

/// `.rep.record.unreached`: the library calls malloc 10,000 times.
#[test]
fn record_names_libraries_whose_calls_are_missing() {
    let place = Place::new();
    place.compile("plug.so", PLUG, &["-shared", "-fPIC"]);
    place.compile("loading", LOADING, &["-ldl"]);
    let run = |way: &str| {
        let (code, _, errors) = place.recorded(&[&place.at("loading"), &place.at("plug.so"), way]);
        let mut show = programs::replay();
        let (_, shown, _) = said({
            show.arg("show").arg(place.at("a.log"));
            show
        });
        (code, errors, shown, place.count("a.log", "Malloc"))
    };
    // "again": loaded without the flag, and then with it, which changes nothing.
    for way in ["plain", "again"] {
        let (code, errors, shown, count) = run(way);
        assert!(code == Some(0) && errors.ends_with(", nothing lost\n"), "{way}: {errors}");
        assert!(count >= 10_000 && !shown.contains("plug.so"), "{way}: {count} {shown}");
    }
    for (way, why) in [("deep", "loaded with RTLD_DEEPBIND"), ("m", "loaded by dlmopen")] {
        let (code, errors, shown, count) = run(way);
        assert!(code == Some(1) && count < 1000, "{way}: {count}, {errors}");
        assert!(errors.contains("plug.so in loading (") && errors.contains(why), "{errors}");
        assert!(!errors.contains("nothing lost") && !errors.contains("none.so"), "{errors}");
        assert!(shown.contains("/plug.so ("), "{way}: {shown}");
    }
}

const HELLO: &str = "#include <stdio.h>
#include <stdlib.h>
int main(void) { free(malloc(9)); puts(\"hello\"); return 0; }";

/// `.rep.record.refused` `.rep.record.unloadable`: as a child such a program runs unrecorded.
#[test]
fn programs_with_another_malloc_are_refused_by_name() {
    let place = Place::new();
    place.compile("hello", HELLO, &[]);
    let hello = place.at("hello");
    for (option, name) in
        [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer"), ("leak", "LeakSanitizer")]
    {
        place.compile(option, HELLO, &[&format!("-fsanitize={option}")]);
        let (code, _, errors) = place.recorded(&[&place.at(option)]);
        assert!(code == Some(2) && errors.contains(name), "{errors}");
        assert!(errors.contains(&format!("build it without -fsanitize={option}")), "{errors}");
        let script = format!("{}; echo $?", place.at(option));
        let (code, out, errors) = place.recorded(&["sh", "-c", &script]);
        assert_eq!((code, &*out), (Some(1), "hello\n0\n"), "{errors}");
        assert!(errors.contains(&format!("{option} (")), "{errors}");
        assert!(errors.contains("(a compiler built the program with a sanitizer"), "{errors}");
        let (_, out, errors) = place.recorded(&["--anyway", &place.at(option)]);
        assert_eq!(out, "hello\n", "{errors}");
    }
    let (code, _, errors) = place.recorded(&["valgrind", "-q", &hello]);
    assert!(code == Some(2) && errors.contains("valgrind: puts a malloc of its own"), "{errors}");
    let script = format!("valgrind -q {hello}; echo $?");
    let (code, out, errors) = place.recorded(&["sh", "-c", &script]);
    assert_eq!((code, &*out), (Some(1), "hello\n0\n"), "{errors}");
    assert!(errors.contains("malloc of its own hides the recording library"), "{errors}");
}

/// Executes a program in one of the ways that the C library has, each with its arguments.
const EXECUTING: &str = r#"#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
#define TEN "1", "2", "3", "4", "5", "6", "7", "8", "9", (char *)0
int main(int count, char **words) {
  char *path = words[2], *name = words[3], **all = words + 2;
  pid_t child = 0;
  int state = 0;
  switch (atoi(words[1])) {
  case 0: execl(path, path, TEN); break;
  case 1: execlp(name, path, TEN); break;
  case 2: execle(path, path, TEN, environ); break;
  case 3: execv(path, all); break;
  case 4: execvp(name, all); break;
  case 5: execve(path, all, environ); break;
  case 6: execvpe(name, all, environ); break;
  case 7: fexecve(open(path, O_RDONLY), all, environ); break;
  case 8: execveat(AT_FDCWD, path, all, environ, 0); break;
  case 9: posix_spawn(&child, path, 0, 0, all, environ); break;
  case 10: posix_spawnp(&child, name, 0, 0, all, environ); break;
  case 11: if ((child = vfork()) == 0) { execve(path, all, environ); _exit(9); }
  }
  waitpid(child, &state, 0);
  return state != 0;
}"#;

const ARGUMENTS: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
  char *list = getenv("LD_PRELOAD");
  printf("%d %s %s %s\n", count, words[count - 1], getenv("KEPT"),
         list && strstr(list, "interpose") ? "with" : "without");
  return 0;
}"#;

/// The C library's own dynamic linker under another name stands for that of another C library.
fn other_linker(place: &Place) -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.contains("/ld-linux"))?;
    let linker = place.0.path().join("ld-other.so.1");
    fs::copy(line.get(line.find('/')?..)?, &linker).ok()?;
    Some(linker)
}

/// `.rep.record.unloadable`
#[test]
fn programs_of_another_c_library_run_unrecorded() {
    let place = Place::new();
    let linker = other_linker(&place).expect("this test needs the GNU C library");
    let option = format!("-Wl,--dynamic-linker={}", linker.display());
    place.compile("executing", EXECUTING, &[]);
    place.compile("same", ARGUMENTS, &[]);
    place.compile("other", ARGUMENTS, &[&option]);
    for way in 0..12 {
        for (name, how) in [("same", "with"), ("other", "without")] {
            let way = way.to_string();
            let words = [&*place.at("executing"), &way, &place.at(name), name];
            let mut command = place.record(&words);
            let folders = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{folders}", place.at(""))).env("KEPT", "kept");
            let (code, out, errors) = said(command);
            let arguments =
                if way.len() == 1 && *way < *"3" { "10 9" } else { &format!("2 {name}") };
            assert_eq!(out, format!("{arguments} kept {how}\n"), "{way}: {errors}");
            // The program of `fexecve` has no name.
            let named = if way == "7" { "executing (" } else { &format!("{name} (") };
            let is_told = errors.contains(named)
                && errors.contains("(the program is linked with another C library)");
            assert_eq!((code, is_told), (Some(i32::from(name == "other")), name == "other"));
            assert!(!errors.contains("ld.so"), "{errors}");
        }
    }
}

/// Asks for memory some times, with all files closed meanwhile or not.
const ASKING: &str = r#"#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void ask(int count) { while (count--) free(malloc(20)); }
int main(int count, char **words) {
  ask(1000);
  if (count > 2) syscall(SYS_close_range, 3, ~0u, 0);
  ask(atoi(words[1]));
  return 0;
}"#;

/// `.sol.held`
#[test]
fn a_program_that_closes_all_files_is_recorded_whole() {
    let place = Place::new();
    place.compile("asking", ASKING, &[]);
    let (code, _, errors) = place.recorded(&[&place.at("asking"), "20000", "close"]);
    assert!(code == Some(0) && errors.ends_with(", nothing lost\n"), "{errors}");
    assert_eq!(place.count("a.log", "Malloc"), 21_000);
    assert_eq!(place.count("a.log", "Free"), 21_000);
}

/// `.rep.record.roster`: the units of `ulimit -f` are 512 bytes.
#[test]
fn a_limit_of_file_sizes_ends_no_recorded_program() {
    let place = Place::new();
    place.compile("asking", ASKING, &[]);
    place.compile("hello", HELLO, &[]);
    let limited = |limit: &str, words: &[&str]| {
        let recorded = place.record(words);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -f {limit} && exec \"$@\""), "sh"]);
        shell.arg(recorded.get_program()).args(recorded.get_args()).current_dir(&place.0);
        said(shell)
    };
    let (code, out, errors) = limited("400", &[&place.at("hello")]);
    assert_eq!((code, &*out), (Some(0), "hello\n"), "{errors}");
    assert!(errors.ends_with(", nothing lost\n"), "{errors}");
    let (code, _, errors) = limited("400", &[&place.at("asking"), "100000"]);
    assert!(matches!(code, Some(1 | 2)) && errors.contains(" lost"), "{code:?} {errors}");
    let (code, _, errors) = limited("1", &[&place.at("hello")]);
    assert!(code == Some(2) && errors.contains("raise the limit (ulimit -f)"), "{errors}");
}

/// Leaves a process behind, which waits for the end of a file's absence, and ends at once.
#[cfg(target_arch = "x86_64")]
const DAEMON: &str = r#"#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
  for (int i = 0; i < 100; i++) free(malloc(20));
  if (words[1][0] == 'd') { if (daemon(1, 0)) return 4; }
  else if (syscall(SYS_fork)) _exit(0);  /* a fork that the C library does not see */
  else for (int file = 0; file < 3; file++) close(file);
  for (int i = 0; access(words[2], F_OK) && i < 600; i++) usleep(100000);
  _exit(0);
}"#;

/// `.rep.record.roster`
#[test]
#[cfg(target_arch = "x86_64")]
fn record_names_each_process_that_outlives_its_parent() {
    let place = Place::new();
    place.compile("lasting", DAEMON, &[]);
    let stop = place.at("stop");
    for way in ["daemon", "raw"] {
        for _ in 0..10 {
            let (code, _, errors) = place.recorded(&[&place.at("lasting"), way, &stop]);
            let is_told = errors.contains("lasting (") && errors.contains("): still runs");
            assert!(code == Some(1) && is_told, "{way}: {errors}");
            // The C library ends the first process itself.
            assert!(
                errors.contains("a.log: ") && place.count("a.log", "Malloc") >= 100,
                "{errors}"
            );
        }
    }
    fs::write(stop, "").unwrap();
}

/// `.rep.record.logs`: the variables of the program are its own.
#[test]
fn a_recorded_program_keeps_its_own_telemetry() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_allocating");
    let files = |place: &Place| {
        let names = fs::read_dir(Path::new(&place.0.path())).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (code, out, errors) = place.recorded(&[program]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(files(&place), ["a.log"], "its telemetry is off");
    assert!(errors.lines().count() == 1 && errors.ends_with(", nothing lost\n"), "{errors}");
    let mut command = place.record(&[program]);
    command.env("MPS_TELEMETRY_FILENAME", "mine.log").env("MPS_TELEMETRY_CONTROL", "Object");
    let (code, own, errors) = said(command);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(files(&place), ["a.log", "mine.log"]);
    assert!(place.count("mine.log", "AllocateZeroed") > 1000, "{out} {own}");
    assert!(place.count("a.log", "Free") > 1000);
}
