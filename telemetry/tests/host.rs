//! What the runtime does to the host, and the host to the runtime: shared files, limits, pipes.

mod common;

use common::{Ran, Three, ran};
use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::{FilePlinth, Operation, Plinth, PlinthError, SocketPlinth, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, 0usize, index, index));
}

/// A second process finds the log in use: it leaves the log alone, writes one with its process
/// number in the name, and reports that.
#[test]
fn a_process_leaves_a_log_in_use_alone() {
    let test = "a_process_leaves_a_log_in_use_alone";
    const SECOND: &str = "TELEMETRY_TEST_SECOND";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        record(1000);
        telemetry::flush();
        if std::env::var_os(SECOND).is_some() {
            return;
        }
        let mut second = common::command(test, &[OBJECT, SMALL, (SECOND, "1")]);
        let second = second.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let name = format!("mpsio.log-{}", second.id());
        let output = second.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let said: Vec<_> = said.lines().filter(|line| line.starts_with("telemetry: ")).collect();
        let expected = format!(
            "telemetry: mpsio.log is in use by another process, or by a library of this \
             one; the log of this one is {name}"
        );
        assert_eq!(said, [expected]);
        let log = std::fs::read(name).unwrap();
        assert_eq!(log[64..80], [0; 16], "the log names a parent");
        let stream = common::read(&log);
        assert_eq!((stream.of(1).len(), stream.ended), (1000, true));
        record(500);
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!((stream.of(1).len(), stream.ended), (1500, true));
    assert!(ran.said().is_empty(), "{:?}", ran.said());
}

/// The runtime empties the log of an ended process.
#[test]
fn a_process_overwrites_the_log_of_an_ended_process() {
    let test = "a_process_overwrites_the_log_of_an_ended_process";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        std::fs::write("mpsio.log", vec![0xAA; 1 << 20]).unwrap();
        record(10);
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 10);
}

/// A child that outlives its parent does not keep the parent's log in use.
#[test]
#[expect(unsafe_code, reason = "fork")]
fn a_forked_child_closes_the_log_of_its_parent() {
    let test = "a_forked_child_closes_the_log_of_its_parent";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        record(10);
        // SAFETY: the child makes only system calls.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the child waits for a signal, then ends.
            unsafe {
                (0..3).for_each(|file| assert_eq!(libc::close(file), 0));
                libc::alarm(20);
                libc::pause();
                libc::_exit(0);
            }
        }
        std::fs::write("child", child.to_string()).unwrap();
    }) else {
        return;
    };
    let log = std::fs::File::options().write(true).open(ran.folder.path().join("mpsio.log"));
    let free = log.unwrap().try_lock().is_ok();
    let child: i32 = String::from_utf8(ran.file("child")).unwrap().parse().unwrap();
    // SAFETY: the child above, which waits for a signal.
    unsafe { libc::kill(child, libc::SIGKILL) };
    assert!(free, "the child holds the log");
}

/// A plinth that panics once when `PANIC` is set.
struct Panicky;

static PANIC: AtomicBool = AtomicBool::new(false);

impl Plinth for Panicky {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        Ok(())
    }

    fn write_block(&self, _: u64, _: &[u8]) -> Result<(), PlinthError> {
        assert!(!PANIC.swap(false, Ordering::Relaxed), "on purpose");
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

/// A plinth that notes its drop, and fails to create a stream.
struct Dropped;

static DROPPED: AtomicBool = AtomicBool::new(false);

impl Drop for Dropped {
    fn drop(&mut self) {
        DROPPED.store(true, Ordering::Relaxed);
    }
}

impl Plinth for Dropped {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        Err(PlinthError { operation: Operation::Create, errno: libc::EIO })
    }

    fn write_block(&self, _: u64, _: &[u8]) -> Result<(), PlinthError> {
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

#[test]
fn the_setup_drops_a_late_plinth() {
    let test = "the_setup_drops_a_late_plinth";
    ran(test, &[], || {
        telemetry::setup().plinth(Panicky).start().unwrap();
        let late = telemetry::setup().plinth(Dropped).start();
        assert_eq!(late, Err(telemetry::SetupError::PlinthTooLate));
        assert!(DROPPED.load(Ordering::Relaxed));
    });
}

#[test]
fn a_destination_error_names_the_destination_and_the_problem() {
    let tee = telemetry::TeePlinth::new([]).err();
    for (error, expected) in [
        (FilePlinth::new("a\0b").err(), "a\\0b: the path contains a NUL byte; choose another path"),
        (
            FilePlinth::bounded("x", 1 << 20, 1).err(),
            "x: the number of files is not from 2 to 1000",
        ),
        (
            SocketPlinth::new("a.log").err(),
            "a.log: not a socket address; use tcp://HOST:PORT or unix:PATH",
        ),
        (SocketPlinth::new("tcp://host").err(), "tcp://host: it is not tcp://HOST:PORT"),
        (tee, "tee: the number of plinths is not from 1 to 8"),
    ] {
        assert_eq!(error.map(|error| error.to_string()), Some(expected.to_owned()));
    }
    assert_eq!(format!("{:?}", FilePlinth::new("x").unwrap()), "FilePlinth(x)");
}

/// Without a stream a writer thread would have nothing to write.
#[test]
#[cfg(target_os = "linux")]
fn a_failed_stream_starts_no_writer_thread() {
    let test = "a_failed_stream_starts_no_writer_thread";
    ran(test, &[OBJECT, ("MPS_TELEMETRY_WRITER", "thread")], || {
        telemetry::setup().plinth(Dropped).start().unwrap();
        record(1);
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        let names: Vec<_> = tasks.map(|task| name(task.unwrap()).unwrap()).collect();
        assert!(names.iter().all(|name| name != "telemetry\n"), "{names:?}");
    });
}

/// A panic of the plinth leaves `event!`, and loses one event.
#[test]
fn a_panic_of_the_plinth_loses_one_event() {
    let test = "a_panic_of_the_plinth_loses_one_event";
    ran(test, &[OBJECT, SMALL], || {
        telemetry::setup().plinth(Panicky).start().unwrap();
        record(1);
        PANIC.store(true, Ordering::Relaxed);
        assert!(std::panic::catch_unwind(|| record(1000)).is_err());
        let before = telemetry::losses();
        assert_eq!((before.recorded, before.full, before.nested), (124, 1, 0), "{before:?}");
        record(1000);
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.full, losses.nested), (1124, 1, 0), "{losses:?}");
    });
}

/// A limit on file sizes is an ordinary error: it does not kill the program.
#[test]
#[expect(unsafe_code, reason = "a limit of the process")]
fn a_file_at_its_limit_does_not_end_the_program() {
    let test = "a_file_at_its_limit_does_not_end_the_program";
    const BLOCK_SIZE: u64 = 4096;
    // The limit leaves room for the header block, a parts block, two blocks, and part of another.
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        let limit = libc::rlimit {
            rlim_cur: (4 * BLOCK_SIZE + 100) as libc::rlim_t,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: `limit` lives through the call.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        record(1000);
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.io), (1000, 6 * 124), "{losses:?}");
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot write to mpsio.log: File too large"), "{said:?}");
    let size = ran.file("mpsio.log").len() as u64;
    assert!(size <= 4 * BLOCK_SIZE, "a block is torn at the limit: {size}");
}

/// A broken pipe is an ordinary error, even if SIGPIPE would kill the program. The program still
/// gets SIGPIPE for its own writes.
#[test]
#[expect(unsafe_code, reason = "a pipe with a name, and its signal")]
fn a_broken_pipe_does_not_end_the_program() {
    let test = "a_broken_pipe_does_not_end_the_program";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        // SAFETY: a name that ends with a NUL; a signal without a handler.
        unsafe {
            assert_eq!(libc::mkfifo(c"mpsio.log".as_ptr(), 0o600), 0);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        let reader = std::thread::spawn(|| {
            let mut log = std::fs::File::open("mpsio.log").unwrap();
            std::io::Read::read_exact(&mut log, &mut [0; 4096]).unwrap();
        });
        record(1);
        reader.join().unwrap();
        record(1000);
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.io), (1001, 8 * 124), "{losses:?}");
        // SAFETY: fills sets that live through the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigpending(&mut set);
            assert_eq!(libc::sigismember(&set, libc::SIGPIPE), 0, "a SIGPIPE is pending");
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set);
            assert_eq!(libc::sigismember(&set, libc::SIGPIPE), 0, "SIGPIPE stays blocked");
        }
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot write to mpsio.log: Broken pipe"), "{said:?}");
}

const NAME: &str = "MPS_TELEMETRY_FILENAME";
/// A file, a file in volumes, a ring.
const PLACES: [&str; 3] = ["mpsio.log", "file:mpsio.log?size=1M&count=3", "ring:mpsio.log?size=1M"];
/// Another user than the one of the tests, which may be root.
const STRANGER: u32 = 65534;

/// Returns the place of this process's log.
fn its_place() -> String {
    std::env::var(NAME).unwrap()
}

/// Returns the file descriptors that this process has open.
fn numbers() -> Vec<i32> {
    let entries = fs::read_dir("/proc/self/fd").unwrap().map(Result::unwrap);
    let numbers = entries.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap());
    let mut numbers: Vec<i32> = numbers.collect();
    // Without the descriptor of the folder itself.
    numbers.retain(|number| fs::metadata(format!("/proc/self/fd/{number}")).is_ok());
    numbers
}

/// Returns device and inode of a file descriptor's file.
fn file_of(number: i32) -> (u64, u64) {
    let about = fs::metadata(format!("/proc/self/fd/{number}")).expect("the descriptor is open");
    (about.dev(), about.ino())
}

/// Runs `child` in a forked child, which must succeed.
#[expect(unsafe_code, reason = "fork")]
fn in_child(child: impl FnOnce()) {
    // SAFETY: the child has this thread alone; `status` lives through the call.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
            libc::_exit(i32::from(!done));
        }
        let mut status = 1;
        assert_eq!((libc::waitpid(pid, &mut status, 0), status), (pid, 0));
    }
}

#[expect(unsafe_code, reason = "a file at a chosen number")]
fn put_at(number: i32, file: &File) {
    // SAFETY: the call touches no memory.
    assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
}

#[expect(unsafe_code, reason = "a write to a number")]
fn write_to(number: i32, text: &str) {
    // SAFETY: reads the bytes of a text.
    let size = unsafe { libc::write(number, text.as_ptr().cast(), text.len()) };
    assert_eq!(size, text.len() as isize);
}

/// The program reuses the log's descriptor, as `exec 3>results.txt` does in a shell. The runtime
/// opens its log again.
#[test]
#[cfg(target_os = "linux")]
fn a_file_at_the_logs_old_descriptor_is_left_alone() {
    let test = "a_file_at_the_logs_old_descriptor_is_left_alone";
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    for place in PLACES {
        let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, place)], || {
            record(1000);
            telemetry::flush();
            let about = fs::metadata("mpsio.log").unwrap();
            let log = (about.dev(), about.ino());
            let numbers: Vec<_> = numbers().into_iter().filter(|n| file_of(*n) == log).collect();
            assert_eq!(numbers.len(), 1, "{numbers:?}");
            assert!(numbers[0] >= 256, "{numbers:?}: programs choose low numbers");
            let results = File::create("results.txt").unwrap();
            put_at(numbers[0], &results);
            write_to(numbers[0], "own ");
            record(1000);
            telemetry::flush();
            let losses = telemetry::losses();
            assert_eq!((losses.recorded, losses.io), (2000, 0), "{losses:?}");
            in_child(|| write_to(numbers[0], "child "));
            results.set_modified(long_ago).unwrap();
            in_child(|| record(100));
            assert_eq!(file_of(numbers[0]), file_of(results.as_raw_fd()));
        }) else {
            return;
        };
        assert_eq!(ran.file("results.txt"), b"own child ", "{place}");
        let about = fs::metadata(ran.folder.path().join("results.txt")).unwrap();
        assert_eq!(about.modified().unwrap(), long_ago, "{place}");
        assert_eq!(ran.said(), [""; 0], "{place}");
        assert_eq!(ran.stream().of(1).len(), 2000, "{place}");
    }
}

/// A daemon closes all descriptors that it does not know, and opens its own files there. It takes
/// the descriptors of log and service, in a forked child too.
#[test]
#[cfg(target_os = "linux")]
fn a_program_may_reuse_every_file_descriptor() {
    let test = "a_program_may_reuse_every_file_descriptor";
    let sockets = ["tcp", "unix:receiver"];
    for place in PLACES.into_iter().chain(sockets) {
        let environment = [OBJECT, SMALL, (NAME, place), ("MPS_TELEMETRY_SOCKET", ".")];
        let Some(ran) = ran(test, &environment, || {
            let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let unix = std::os::unix::net::UnixListener::bind("receiver").unwrap();
            let own = File::create("own").unwrap();
            let before = numbers();
            if its_place() == "tcp" {
                let address = format!("tcp://{}", tcp.local_addr().unwrap());
                let plinth = telemetry::SocketPlinth::new(address).unwrap();
                telemetry::setup().plinth(plinth).start().unwrap();
            }
            std::mem::forget((tcp, unix));
            record(1000);
            telemetry::flush();
            let opened = numbers().into_iter().filter(|number| !before.contains(number));
            let opened: Vec<_> = opened.collect();
            assert!(opened.len() >= 3, "log, socket, directory: {opened:?}");
            assert!(opened.iter().all(|number| *number >= 256), "{opened:?}");
            opened.iter().for_each(|number| put_at(*number, &own));
            let check = || {
                record(1000);
                telemetry::flush();
                let is_own = |number: &i32| file_of(*number) == file_of(own.as_raw_fd());
                assert!(opened.iter().all(is_own), "closed or replaced: {opened:?}");
            };
            check();
            in_child(check);
            check();
        }) else {
            return;
        };
        assert_eq!(ran.file("own"), b"", "{place}");
    }
}

/// Plants a file that the runtime must not write, and checks the reported reason and the other log.
fn others_file_is_left_alone(test: &str, plant: impl Fn(&Path), why: &str) -> Option<Ran> {
    others_file_is_left_alone_by(&[PLACES[0]], test, plant, why)
}

fn others_file_is_left_alone_by(
    places: &[&str],
    test: &str,
    plant: impl Fn(&Path),
    why: &str,
) -> Option<Ran> {
    let mut last = None;
    for place in places {
        let ran = ran(test, &[OBJECT, SMALL, (NAME, place)], || {
            plant(Path::new("mpsio.log"));
            fs::write("process", std::process::id().to_string()).unwrap();
            record(1000);
        })?;
        let process = String::from_utf8(ran.file("process")).unwrap();
        let name = format!("mpsio.log-{process}");
        let expected = format!("telemetry: mpsio.log {why}; the log of this one is {name}");
        assert_eq!(ran.said(), [expected], "{place}");
        assert_eq!(common::read(&ran.file(&name)).of(1).len(), 1000, "{place}");
        last = Some(ran);
    }
    last
}

#[test]
fn the_runtime_follows_no_symbolic_link() {
    let test = "the_runtime_follows_no_symbolic_link";
    let plant = |path: &Path| {
        fs::write("victim", "precious").unwrap();
        symlink("victim", path).unwrap();
    };
    let why = "is a symbolic link, which is not followed";
    let Some(ran) = others_file_is_left_alone_by(&PLACES, test, plant, why) else { return };
    assert_eq!(ran.file("victim"), b"precious");
}

/// It is not opened, for whatever place.
#[test]
fn a_planted_directory_stops_no_log() {
    let test = "a_planted_directory_stops_no_log";
    let plant = |path: &Path| fs::create_dir(path).unwrap();
    others_file_is_left_alone_by(&PLACES, test, plant, "is not a regular file");
}

#[test]
fn a_planted_socket_stops_no_log() {
    let test = "a_planted_socket_stops_no_log";
    let plant = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    others_file_is_left_alone_by(&PLACES, test, plant, "is not a regular file");
}

#[test]
fn the_runtime_leaves_a_hard_linked_file_alone() {
    let test = "the_runtime_leaves_a_hard_linked_file_alone";
    let plant = |path: &Path| {
        fs::write("victim", "precious").unwrap();
        fs::hard_link("victim", path).unwrap();
    };
    let Some(ran) = others_file_is_left_alone(test, plant, "has another name, too") else { return };
    assert_eq!(ran.file("victim"), b"precious");
}

/// Returns whether this user may give files away, as root may; prints a line if not.
fn may_give_away() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let may = chown(folder.path(), Some(STRANGER), None).is_ok();
    if !may {
        println!("not root: the test needs another user");
    }
    may
}

#[test]
fn the_runtime_leaves_a_file_of_another_user_alone() {
    let test = "the_runtime_leaves_a_file_of_another_user_alone";
    if !may_give_away() {
        return;
    }
    let plant = |path: &Path| {
        fs::write(path, "precious").unwrap();
        chown(path, Some(STRANGER), None).unwrap();
    };
    let Some(ran) = others_file_is_left_alone(test, plant, "belongs to another user") else {
        return;
    };
    assert_eq!(ran.file("mpsio.log"), b"precious");
}

/// The runtime never writes to a planted file with an easily guessed name. A log belongs to its
/// owner alone, whatever the umask allows.
#[test]
#[expect(unsafe_code, reason = "umask")]
fn the_runtime_writes_to_no_planted_file() {
    let test = "the_runtime_writes_to_no_planted_file";
    for place in PLACES {
        let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, place)], || {
            // SAFETY: the call touches no memory.
            unsafe { libc::umask(0) };
            fs::write("victim", "precious").unwrap();
            symlink("victim", "mpsio.log.1").unwrap();
            fs::write("mpsio.log.new", [0xFF; 1 << 20]).unwrap();
            record(1000);
        }) else {
            return;
        };
        assert_eq!(ran.file("victim"), b"precious", "{place}");
        assert_eq!(ran.file("mpsio.log.new"), [0xFF; 1 << 20], "{place}");
        if place == PLACES[2] {
            // A ring renames an old log to this name, and leaves any other file there.
            assert!(ran.said()[0].contains("mpsio.log.1"), "{:?}", ran.said());
            continue;
        }
        assert_eq!(ran.stream().of(1).len(), 1000, "{place}");
        let about = fs::metadata(ran.folder.path().join("mpsio.log")).unwrap();
        assert_eq!(about.mode() & 0o777, 0o600, "{place}");
    }
}

/// The program runs with other rights than the user who started it.
#[test]
#[cfg(target_os = "linux")]
fn a_program_with_raised_rights_reads_no_variable() {
    let test = "a_program_with_raised_rights_reads_no_variable";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        record(1000);
        assert_eq!(telemetry::control::of(&common::CONTROL).output(), common::Kinds::empty());
        return;
    }
    if !may_give_away() {
        return;
    }
    for how in ["setuid", "capability"] {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let (program, victim) = (folder.path().join("program"), folder.path().join("victim"));
        // `cp` makes the copy: another test's child could hold a copy of ours open for writing.
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        let mode = if how == "setuid" { 0o4755 } else { 0o755 };
        fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        if how == "capability" {
            give_capability(&program);
        }
        fs::write(&victim, "precious").unwrap();
        let socket = ("MPS_TELEMETRY_SOCKET", folder.path().to_str().unwrap());
        let with = [OBJECT, SMALL, (NAME, victim.to_str().unwrap()), socket];
        let inner = common::command(test, &with);
        let mut command = std::process::Command::new(&program);
        command.args(inner.get_args()).uid(STRANGER).gid(STRANGER).current_dir(&folder);
        for (name, value) in inner.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{how}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{how}");
        assert_eq!(fs::read(&victim).unwrap(), b"precious", "{how}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "{how}: program, victim");
    }
}

/// Gives CAP_NET_RAW, permitted and effective, in the kernel's form (`vfs_cap_data`, revision 2).
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "an attribute of a file")]
fn give_capability(program: &Path) {
    let path = std::ffi::CString::new(program.to_str().unwrap()).unwrap();
    let words: [u32; 5] = [0x0200_0001, 1 << 13, 0, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let name = c"security.capability".as_ptr();
    // SAFETY: names that end with a NUL; the call reads `size` bytes.
    let result =
        unsafe { libc::setxattr(path.as_ptr(), name, bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(result, 0);
}
