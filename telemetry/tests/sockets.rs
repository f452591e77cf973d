//! Receivers that read nothing, are absent, or vanish; and several hosts at once.
//!
//! ```text
//!  a process that records ── tcp, unix ──▶ a receiver of the test ──▶ common::read
//! ```

mod common;

use common::{CONTROL, Kinds, Three, ran, wait_until};
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};
use telemetry::{Plinth, SocketPlinth, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const FILENAME: &str = "MPS_TELEMETRY_FILENAME";
/// Events of a long run: 6 MiB, more than the system and a queue hold.
const LONG: usize = 200_000;

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, 0usize, index, index));
}

fn is_child() -> bool {
    std::env::var_os(common::PROCESS_VARIABLE).is_some()
}

/// Opens a TCP receiver, and returns its address in the form of a plinth.
fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    (listener, address)
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Checks that the stream holds each event or counts it as *io*, and returns that count.
fn assert_whole(bytes: &[u8], count: usize) -> u64 {
    let stream = common::read(bytes);
    let told = stream.told_of(5);
    assert_eq!(stream.of(1).len() as u64 + u64::from(told.io), count as u64);
    assert_eq!(told, common::Told { io: told.io, ..common::Told::default() });
    assert!(stream.ended);
    assert_eq!(stream.end_count, Some(stream.block_count as u64), ".part.end");
    u64::from(told.io)
}

/// `.sol.msg`, `.req.multi`
#[test]
fn a_receiver_gets_the_whole_stream_by_tcp_and_by_unix() {
    let test = "a_receiver_gets_the_whole_stream_by_tcp_and_by_unix";
    if is_child() {
        telemetry::label_address(1, telemetry::add_string("a string"));
        return record(5000);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    let received = thread::spawn(move || read_all(unix.accept().unwrap().0));
    let address = format!("unix:{}", path.display());
    let by_unix = ran(test, &[OBJECT, (FILENAME, &address)], || ()).unwrap();
    assert_eq!((by_unix.said().len(), assert_whole(&received.join().unwrap(), 5000)), (0, 0));

    let (tcp, address) = listen();
    let port = address.rsplit(':').next().unwrap();
    let received = thread::spawn(move || read_all(tcp.accept().unwrap().0));
    let address = format!("tcp://localhost:{port}");
    let by_tcp = ran(test, &[OBJECT, (FILENAME, &address)], || ()).unwrap();
    let bytes = received.join().unwrap();
    assert_eq!((by_tcp.said().len(), assert_whole(&bytes, 5000)), (0, 0));
    assert_eq!(common::read(&bytes).store(0xFF02).len(), 1);
}

/// Returns the time of a long run, in a test process.
fn recording_time() -> Duration {
    let begin = Instant::now();
    record(LONG);
    begin.elapsed()
}

fn said_time(ran: &common::Ran) -> f64 {
    ran.stderr.lines().find_map(|line| line.strip_prefix("time ")).unwrap().parse().unwrap()
}

/// `.sol.msg`: when the receiver reads at last, the stream states the losses.
#[test]
fn a_stuck_receiver_does_not_slow_the_program_down() {
    let test = "a_stuck_receiver_does_not_slow_the_program_down";
    const GO: &str = "TELEMETRY_TEST_GO";
    if is_child() {
        eprintln!("time {}", recording_time().as_secs_f64());
        let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
        assert_eq!((losses.requested, losses.recorded), (LONG as u64, LONG as u64));
        if let Ok(address) = std::env::var(GO) {
            assert!(losses.io > 0, "{losses:?}");
            drop(TcpStream::connect(address).unwrap());
        }
        return;
    }
    // The best of at least three runs: other programs run at the same time.
    let (mut slow, mut file) = (f64::MAX, f64::MAX);
    for round in 1..=30 {
        let (listener, address) = listen();
        let go = address.trim_start_matches("tcp://").to_owned();
        let received = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            listener.accept().unwrap();
            read_all(stream)
        });
        let to_slow = ran(test, &[OBJECT, (FILENAME, &address), (GO, &go)], || ()).unwrap();
        assert_eq!(to_slow.said().len(), 1, "{:?}", to_slow.said());
        assert!(assert_whole(&received.join().unwrap(), LONG) > 0);
        slow = slow.min(said_time(&to_slow));
        file = file.min(said_time(&ran(test, &[OBJECT], || ()).unwrap()));
        if round >= 3 && slow < 3.0 * file {
            break;
        }
    }
    assert!(slow < 3.0 * file, "{slow} s, and {file} s to a file");
}

/// `.sol.exit`: the exit waits for all receivers together for one second.
#[test]
fn the_exit_waits_one_second_for_stuck_receivers() {
    let test = "the_exit_waits_one_second_for_stuck_receivers";
    if is_child() {
        return record(LONG);
    }
    let (one, a) = listen();
    let (two, b) = listen();
    // The best of several: on a busy machine a program may take seconds to begin.
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let begin = Instant::now();
        let ran = ran(test, &[OBJECT, (FILENAME, &format!("tee:{a},{b}"))], || ()).unwrap();
        let time = begin.elapsed();
        assert!(time >= Duration::from_secs(1), "{time:?}");
        let said = ran.said();
        let count = |what: &str| said.iter().filter(|line| line.contains(what)).count();
        assert_eq!(count("events were not sent when the program ended"), 2, "{said:?}");
        assert_eq!(count(&format!("cannot write to {a}: No buffer space")), 1, "{said:?}");
        best = best.min(time);
        if best < Duration::from_secs(2) {
            break;
        }
    }
    assert!(best < Duration::from_secs(5), "{best:?}");
    drop((one, two));
}

/// The receiver never existed.
#[test]
fn a_program_without_a_receiver_counts_its_losses() {
    let test = "a_program_without_a_receiver_counts_its_losses";
    if is_child() {
        record(10_000);
        telemetry::flush();
        let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
        assert_eq!((losses.recorded, losses.io), (10_000, 10_000));
        return;
    }
    let (listener, address) = listen();
    drop(listener);
    for (address, why) in [
        (&*address, "Connection refused"),
        ("unix:nobody", "No such file or directory"),
        ("tcp://127.0.0.1:1", "Connection refused"),
    ] {
        let ran = ran(test, &[OBJECT, (FILENAME, address)], || ()).unwrap();
        assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
        let line = format!("telemetry: cannot write to {address}: {why}; lost events are counted");
        assert!(ran.said()[0].starts_with(&line), "{:?}", ran.said());
    }
}

#[test]
fn an_impossible_address_is_reported_once() {
    let test = "an_impossible_address_is_reported_once";
    if is_child() {
        return record(10_000);
    }
    let long = format!("unix:{}", "x".repeat(200));
    for (address, said) in [
        ("tcp://127.0.0.1", "it is not tcp://HOST:PORT"),
        (&*long, "File name too long"),
        ("tcp://not..a.host:1", "the system knows no address of this host"),
        ("tee:a.log,ring:b.log", "a ring cannot be one of several places"),
        ("tee:a.log,", "an empty place in the list"),
    ] {
        let ran = ran(test, &[OBJECT, (FILENAME, address)], || ()).unwrap();
        assert!(ran.said().len() == 1 && ran.said()[0].contains(said), "{:?}", ran.said());
        assert_eq!(std::fs::read_dir(ran.folder.path()).unwrap().count(), 0, "no file");
    }
}

/// `.read.loss`: EPIPE does not disturb the program.
#[test]
fn a_broken_connection_is_reported_once_and_counted() {
    let test = "a_broken_connection_is_reported_once_and_counted";
    if is_child() {
        record(1000);
        telemetry::flush();
        let address = std::env::var(FILENAME).unwrap();
        // The receiver closes its connection once this second connection exists.
        let mut gone = TcpStream::connect(address.trim_start_matches("tcp://")).unwrap();
        assert_eq!(gone.read(&mut [0]).unwrap(), 0);
        record(100_000);
        let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
        assert_eq!(losses.recorded, 101_000);
        assert!((80_000..101_000).contains(&losses.io), "{losses:?}");
        return;
    }
    let (listener, address) = listen();
    let received = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 65536];
        stream.read_exact(&mut bytes).unwrap();
        let _told = listener.accept().unwrap();
        drop(stream);
        bytes
    });
    let ran = ran(test, &[OBJECT, (FILENAME, &address)], || ()).unwrap();
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
    assert!(ran.said()[0].contains(&address), "{:?}", ran.said());
    assert_eq!(common::read(&received.join().unwrap()).registries.len(), 2);
}

/// `.header.volume`: the stream asks the plinth for a new volume.
#[test]
fn the_plinth_finds_a_returning_receiver_after_a_second() {
    const SIZE: usize = 4096;
    const REFUSED: i32 = libc::ECONNREFUSED;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let plinth = SocketPlinth::new(format!("unix:{}", path.display())).unwrap();
    plinth.create(SIZE).unwrap();
    plinth.write_block(0, &[1; SIZE]).unwrap();
    assert!(!plinth.wants_volume(SIZE as u64) && !plinth.can_rewrite());
    let (mut first, _) = listener.accept().unwrap();
    first.read_exact(&mut [0; SIZE]).unwrap();
    drop((first, listener));
    // A child that another test forks shares the connection until it executes a program.
    let write = |_| {
        thread::sleep(Duration::from_millis(1));
        plinth.write_block(SIZE as u64, &[2; SIZE]).err()
    };
    let lost = (0..100_000).find_map(write).expect("the connection breaks");
    assert_eq!(lost.errno, libc::EPIPE);
    let begin = Instant::now();
    assert!(plinth.create(SIZE).is_err(), "the plinth found a receiver");
    // The plinth's first attempt, within 1.2 s or at this thread's next turn, finds no receiver:
    // its next attempt is a second later.
    let mut time = Duration::ZERO;
    while time < Duration::from_millis(1200) {
        time = begin.elapsed();
        assert!(!plinth.wants_volume(SIZE as u64));
        thread::sleep(Duration::from_millis(10));
    }
    std::fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    while !plinth.wants_volume(SIZE as u64) {
        assert!(begin.elapsed() < common::WAIT_MAX);
        assert_eq!(plinth.write_block(0, &[9; SIZE]).map_err(|it| it.errno), Err(REFUSED));
        thread::sleep(Duration::from_millis(10));
    }
    assert!(begin.elapsed() > Duration::from_millis(1900), "{:?}", begin.elapsed());
    plinth.create(SIZE).unwrap();
    plinth.write_block(0, &[3; SIZE]).unwrap();
    let (mut second, _) = listener.accept().unwrap();
    let mut bytes = [0; SIZE];
    second.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [3; SIZE]);
    // A volume for another reason uses the same connection.
    plinth.create(SIZE).unwrap();
    plinth.write_block(0, &[4; SIZE]).unwrap();
    second.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [4; SIZE]);
}

/// The same for a whole program: a later volume can be read alone.
#[test]
fn a_returning_receiver_gets_another_volume() {
    let test = "a_returning_receiver_gets_another_volume";
    if is_child() {
        let path = std::env::var(FILENAME).unwrap();
        let path = std::path::Path::new(path.trim_start_matches("unix:"));
        telemetry::label_address(1, telemetry::add_string("a string"));
        record(3000);
        telemetry::flush();
        // The receiver vanishes, and returns under the same name.
        wait_until("the receiver", || path.with_extension("back").exists());
        wait_until("the second volume", || {
            record(3000);
            thread::sleep(Duration::from_millis(20));
            path.with_extension("enough").exists()
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let first = UnixListener::bind(&path).unwrap();
    let received = thread::spawn({
        let path = path.clone();
        move || {
            let mut begun = vec![0; 3 * 65536];
            first.accept().unwrap().0.read_exact(&mut begun).unwrap();
            drop(first);
            std::fs::remove_file(&path).unwrap();
            let second = UnixListener::bind(&path).unwrap();
            std::fs::write(path.with_extension("back"), "").unwrap();
            let (mut stream, _) = second.accept().unwrap();
            let mut volume = vec![0; 3 * 65536];
            stream.read_exact(&mut volume).unwrap();
            std::fs::write(path.with_extension("enough"), "").unwrap();
            volume.append(&mut read_all(stream));
            (begun, volume)
        }
    });
    let ran = ran(test, &[OBJECT, (FILENAME, &format!("unix:{}", path.display()))], || ()).unwrap();
    let (begun, volume) = received.join().unwrap();
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
    assert_eq!(begun[32..48], volume[32..48], ".header.uuid");
    assert_eq!((common::u64_at(&begun, 408), common::u64_at(&volume, 408)), (0, 1));
    let stream = common::read(&volume);
    assert_eq!((stream.registries.len(), stream.store(0xFF02).len()), (2, 1));
    assert!(stream.ended && stream.of(1).len() > 3000);
}

/// `.sol.msg`: the runtime finds the receiver without a flush.
#[test]
fn a_late_receiver_gets_a_volume_that_is_readable_alone() {
    let test = "a_late_receiver_gets_a_volume_that_is_readable_alone";
    if is_child() {
        telemetry::label_address(1, telemetry::add_string("a string"));
        record(3000);
        let path = std::env::var(FILENAME).unwrap();
        let receiver = UnixListener::bind(path.trim_start_matches("unix:")).unwrap();
        let received = thread::spawn(move || {
            let (mut stream, _) = receiver.accept().unwrap();
            let mut begun = vec![0; 4 * 65536];
            stream.read_exact(&mut begun).unwrap();
            (begun, stream)
        });
        let begin = Instant::now();
        while !received.is_finished() {
            record(500);
            thread::sleep(Duration::from_millis(5));
            assert!(begin.elapsed() < common::WAIT_MAX, "the runtime found no receiver");
        }
        let (begun, stream) = received.join().unwrap();
        let begun = common::read(&begun);
        assert_eq!((begun.registries.len(), begun.store(0xFF02).len()), (2, 1));
        assert!(begun.told_of(5).io > 0);
        // The stream must exist until the process has ended.
        std::mem::forget(stream);
        return;
    }
    let ran = ran(test, &[OBJECT, (FILENAME, "unix:late")], || ()).unwrap();
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
}

/// `.req.multi`: each of several hosts gets the whole stream.
#[test]
fn a_tee_gives_the_stream_to_all_its_hosts() {
    let test = "a_tee_gives_the_stream_to_all_its_hosts";
    if is_child() {
        return record(5000);
    }
    let (listener, address) = listen();
    let received = thread::spawn(move || read_all(listener.accept().unwrap().0));
    let hosts = format!("tee:mpsio.log,{address},file:again.log,no/such/folder/x.log");
    let ran = ran(test, &[OBJECT, (FILENAME, &hosts)], || ()).unwrap();
    assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
    assert!(ran.said()[0].starts_with("telemetry: cannot create no/such/folder/x.log: "));
    let bytes = received.join().unwrap();
    assert_eq!(assert_whole(&bytes, 5000), 0);
    assert!(ran.file("mpsio.log") == bytes && ran.file("again.log") == bytes);
}

/// One host of the tee is slow: the other gets everything.
#[test]
fn a_slow_host_of_a_tee_does_not_harm_the_others() {
    let test = "a_slow_host_of_a_tee_does_not_harm_the_others";
    if is_child() {
        telemetry::setup().block_size_log2(12).start().unwrap();
        return record(LONG);
    }
    let (_listener, address) = listen();
    let hosts = format!("tee:{address},mpsio.log");
    let ran = ran(test, &[OBJECT, (FILENAME, &hosts)], || ()).unwrap();
    let stream = ran.stream();
    assert_eq!((stream.of(1).len(), stream.told_of(5).io, stream.ended), (LONG, 0, true));
}

/// `.sol.fork`: a child that leaves the connection to its parent closes its own descriptor.
#[test]
fn a_plinth_that_leaves_closes_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let plinth = SocketPlinth::new(format!("unix:{}", path.display())).unwrap();
    plinth.create(4096).unwrap();
    plinth.write_block(0, &[1; 4096]).unwrap();
    let (mut first, _) = listener.accept().unwrap();
    assert!(plinth.leave(), "the plinth can begin another stream");
    assert_eq!(read_all(&mut first), [1; 4096]);
    plinth.create(4096).unwrap();
    plinth.write_block(0, &[2; 4096]).unwrap();
    let (mut second, _) = listener.accept().unwrap();
    second.read_exact(&mut [0; 4096]).unwrap();
    drop(plinth);
    assert_eq!(second.read(&mut [0]).map_err(|error| error.kind()), Ok::<_, ErrorKind>(0));
}
