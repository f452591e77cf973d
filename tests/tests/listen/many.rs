//! Very many connections: silent and hostile ones, and more than the listener has places for.

use super::*;

/// Silent connections lose their places to programs.
#[test]
fn silent_connections_lose_their_places_to_programs() {
    let mut listening = Listening::at("tcp://127.0.0.1:0", &["--silence", "1"]);
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let head = naive::Writer::new(platform, [3; 16], [9; 16]).bytes();
    // All except one send a header, and then nothing.
    let mut silent: Vec<TcpStream> = Vec::new();
    for _ in 0..256 {
        let mut connection = listening.connect();
        if silent.len() < 255 {
            connection.write_all(&head).expect("a connection");
        }
        silent.push(connection);
    }
    wait_for("the logs of the connections", || listening.logs().len() == 255);
    for _ in 0..3 {
        run(&mut listening.recorder(&["kinds"]));
    }
    let is_there = |path: &PathBuf| path.to_string_lossy().contains("recorder-");
    wait_for("logs", || listening.logs().iter().filter(|path| is_there(path)).count() == 3);
    let (_, errors, code) = listening.end();
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.lines().count() >= 4, "{errors}");
}

/// The printer opens one log at a time: only the names of one program are in memory.
#[test]
fn the_names_of_many_programs_take_bounded_memory() {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 16 };
    let mut writer = naive::Writer::new(platform, [3; 16], [9; 16]);
    // The registry is never complete: 40 programs declare 240 MB, more than the limit below leaves.
    let fields = |first| BlockFields {
        block_type: 3,
        top: 60_000,
        sequence: 1 << 30,
        first,
        ..BlockFields::default()
    };
    let nobody = Buffer { buffer: 0, registry: 1, kind: 0, thread: 0 };
    for piece in 0..100 {
        writer.part(nobody, fields(60_000 * piece), &[0x55; 60_000]);
    }
    let bytes = writer.bytes();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -d 262144 && exec \"$@\"", "sh"]);
    limited.arg(eventcnv().get_program());
    let mut listening = Listening::by(limited, "tcp://127.0.0.1:0", &["-v"]);
    let (head, rest) = bytes.split_at(512);
    let mut connections: Vec<TcpStream> = (0..40).map(|_| listening.connect()).collect();
    for connection in &mut connections {
        connection.write_all(head).expect("a receiver");
    }
    for connection in &mut connections {
        connection.write_all(rest).expect("a receiver");
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let whole = bytes.len() as u64;
    wait_for("all logs", || {
        let logs = listening.logs();
        logs.len() == 40 && logs.iter().all(|log| size(log) == whole)
    });
    // A program among them is printed.
    run(&mut listening.recorder(&["kinds"]));
    let (shown, errors, code) = listening.end();
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.lines().count() > 8, "{shown}");
    assert!(!errors.contains("no longer printed"), "{errors}");
}

/// `CONNECTION_COUNT_MAX` of `eventcnv/src/tools/listen.rs`.
#[test]
fn the_257th_connection_waits_until_another_ends() {
    let mut listening = Listening::at("tcp://127.0.0.1:0", &["--silence", "3600"]);
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let head = naive::Writer::new(platform, [3; 16], [9; 16]).bytes();
    let mut connections: Vec<TcpStream> = Vec::new();
    for _ in 0..260 {
        let mut connection = listening.connect();
        connection.write_all(&head).expect("a connection");
        connections.push(connection);
        // Only a few connections wait at a time: the backlog is short.
        if connections.len().is_multiple_of(64) {
            let count = connections.len();
            wait_for("the logs of the connections", || listening.logs().len() >= count.min(256));
        }
    }
    thread::sleep(Duration::from_millis(200));
    assert_eq!(listening.logs().len(), 256);
    connections.drain(..3);
    wait_for("three more", || listening.logs().len() == 259);
    let (_, errors, code) = listening.end();
    assert_eq!(code, Some(0), "{errors}");
}
