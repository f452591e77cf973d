//! Relative paths of a program that changes its working directory: each means what it meant first.
#![expect(unsafe_code, reason = "fork, setuid")]

mod common;

use common::{CONTROL, Kinds, Ran, Rare, Three, ran, wait_until};
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use telemetry::{control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const NAME: &str = "MPS_TELEMETRY_FILENAME";

fn record(from: usize, to: usize) {
    (from..to).for_each(|index| event!(Three, 0usize, index, index));
}

fn leave() {
    std::fs::create_dir("elsewhere").unwrap();
    std::env::set_current_dir("elsewhere").unwrap();
}

fn files(ran: &Ran) -> Vec<String> {
    assert_eq!(std::fs::read_dir(ran.folder.path().join("elsewhere")).unwrap().count(), 0);
    let names = std::fs::read_dir(ran.folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "elsewhere").collect();
    names.sort();
    names
}

#[test]
fn later_volumes_stay_in_the_first_directory() {
    let test = "later_volumes_stay_in_the_first_directory";
    let name = (NAME, "file:a%p.log?size=32K&count=2");
    let Some(ran) = ran(test, &[OBJECT, SMALL, name], || {
        record(0, 100);
        telemetry::flush();
        std::fs::write("pid", std::process::id().to_string()).unwrap();
        leave();
        record(100, 20_000);
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    let pid = String::from_utf8(ran.file("pid")).unwrap();
    let log = format!("a{pid}.log");
    assert_eq!(files(&ran), [log.clone(), format!("{log}.1"), "pid".to_owned()]);
    assert!(common::read(&ran.file(&log)).words(1, 1).contains(&19_999));
    assert!(ran.said().is_empty(), "{:?}", ran.said());
}

#[test]
fn a_removed_log_returns_in_the_first_directory() {
    let test = "a_removed_log_returns_in_the_first_directory";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        record(0, 1000);
        std::fs::remove_file("mpsio.log").unwrap();
        leave();
        record(1000, 2000);
    }) else {
        return;
    };
    assert_eq!(files(&ran), ["mpsio.log"]);
    assert!(ran.stream().words(1, 1).contains(&1999));
}

/// A log, a ring, and the socket of the control service.
#[test]
fn a_forked_child_writes_into_the_first_directory() {
    let test = "a_forked_child_writes_into_the_first_directory";
    for name in ["mpsio.log", "ring:mpsio.log?size=1M"] {
        let environment = [OBJECT, SMALL, (NAME, name), ("MPS_TELEMETRY_SOCKET", ".")];
        let Some(ran) = ran(test, &environment, || {
            record(0, 100);
            let first = std::env::current_dir().unwrap();
            leave();
            // SAFETY: the child continues with this thread alone.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                record(100, 200);
                telemetry::flush();
                let socket = first.join(format!("{}.sock", std::process::id()));
                // SAFETY: ends the child.
                unsafe { libc::exit(i32::from(!socket.exists())) };
            }
            let mut status = 1;
            // SAFETY: waits for a child, and writes to `status`.
            unsafe { assert_eq!(libc::waitpid(pid, &mut status, 0), pid) };
            assert_eq!(status, 0, "the child has no socket there");
            std::fs::write(first.join("child"), pid.to_string()).unwrap();
        }) else {
            return;
        };
        let child = format!("mpsio.log-{}", String::from_utf8(ran.file("child")).unwrap());
        assert_eq!(files(&ran), ["child", "mpsio.log", &child], "{name}");
        assert!(ran.said().is_empty(), "{:?}", ran.said());
    }
}

/// The path of the receiver is relative, and the program connects once more.
#[test]
fn a_lost_receiver_is_found_in_the_first_directory() {
    let test = "a_lost_receiver_is_found_in_the_first_directory";
    let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, "unix:socket")], || {
        let first = std::env::current_dir().unwrap();
        let receiver = UnixListener::bind("socket").unwrap();
        record(0, 1000);
        drop(receiver.accept().unwrap());
        drop(receiver);
        leave();
        std::fs::remove_file(first.join("socket")).unwrap();
        let receiver = UnixListener::bind(first.join("socket")).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let mut found = None;
        wait_until("the program connects", || {
            record(0, 1000);
            found = receiver.accept().ok();
            found.is_some()
        });
        telemetry::flush();
        let mut magic = [0; 8];
        let mut connection = found.unwrap().0;
        connection.set_nonblocking(false).unwrap();
        wait_until("the program begins a volume", || {
            record(0, 1000);
            telemetry::flush();
            connection.set_nonblocking(true).unwrap();
            connection.read_exact(&mut magic).is_ok()
        });
        assert_eq!(magic, *b"\xD5EVL\r\n\x1A\0");
    }) else {
        return;
    };
    assert!(ran.folder.path().join("socket").exists());
}

/// A program that changes its directory before the first output gets its log there.
#[test]
fn a_log_begins_in_the_directory_of_the_first_output() {
    let test = "a_log_begins_in_the_directory_of_the_first_output";
    let Some(ran) = ran(test, &[], || {
        event!(Rare, 1usize);
        leave();
        control::of(&CONTROL).set_output(Kinds::Arena);
        event!(Rare, 2usize);
    }) else {
        return;
    };
    let log = Path::new("elsewhere").join("mpsio.log");
    assert!(ran.folder.path().join(log).exists());
}

/// The user may not enter the parent of the working directory, so the relative path alone works.
#[test]
fn a_directory_without_a_way_to_it_takes_the_log() {
    let test = "a_directory_without_a_way_to_it_takes_the_log";
    const STRANGER: libc::uid_t = 65534;
    for name in ["mpsio.log", "file:mpsio.log?size=1M&count=3", "ring:mpsio.log?size=1M"] {
        let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, name)], || {
            std::fs::create_dir_all("closed/inner").unwrap();
            std::fs::set_permissions("closed/inner", Permissions::from_mode(0o777)).unwrap();
            let closed = std::fs::canonicalize("closed").unwrap();
            std::env::set_current_dir("closed/inner").unwrap();
            std::fs::set_permissions(&closed, Permissions::from_mode(0o0)).unwrap();
            // SAFETY: a program of root, which may enter it, goes on as another user.
            unsafe { assert!(libc::geteuid() != 0 || libc::setuid(STRANGER) == 0) };
            record(0, 1000);
            telemetry::flush();
            assert_eq!(telemetry::losses().io, 0);
        }) else {
            return;
        };
        let closed = ran.folder.path().join("closed");
        std::fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        assert!(ran.said().is_empty(), "{:?}", ran.said());
        assert!(ran.folder.path().join("closed/inner/mpsio.log").exists(), "{name}");
    }
}
