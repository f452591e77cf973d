//! The content of the log in ordinary cases. Counts and offsets are those of words of 64 bits.
#![cfg(target_pointer_width = "64")]

mod common;

use common::{CONTROL, Kinds, Pooled, Rare, Sorts, Three, ran};
use telemetry::{control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");

/// `.part.end`, `.stream.tail`, `.registry.index`
#[test]
fn the_exit_leaves_a_log_with_all_events_and_an_end() {
    let test = "the_exit_leaves_a_log_with_all_events_and_an_end";
    let Some(ran) = ran(test, &[OBJECT], || {
        for index in 0..10usize {
            event!(Three, 0usize, index, index * 2);
            event!(Pooled, index);
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(1, 1), (0..10).collect::<Vec<_>>());
    assert_eq!(stream.words(1, 2), (0..10).map(|index| index * 2).collect::<Vec<_>>());
    assert!(stream.of(5).is_empty(), "Pool is not output");
    assert!(stream.ended);
    assert_eq!(stream.block_count, 1, "a few events do not fit into the header block");
    assert_eq!(ran.file("mpsio.log").len(), 65536);
    assert_eq!(stream.registries.len(), 2);
    assert!(stream.registries[&0].windows(9).any(|bytes| bytes == b"telemetry"));
    assert!(stream.registries[&1].windows(6).any(|bytes| bytes == b"Object"));
    assert_eq!(ran.said(), Vec::<&str>::new());
}

/// `.header.version`, `.header.order`, `.header.word`, `.header.block-size`, `.header.uuid`,
/// `.header.clock`, `.header.names`, `.header.once`, `.header.parts`, `.reserved`
#[test]
fn the_header_names_the_process_and_its_clock() {
    let test = "the_header_names_the_process_and_its_clock";
    let Some(ran) = ran(test, &[OBJECT], || {
        std::fs::write("pid", std::process::id().to_string()).unwrap();
        event!(Three, 0usize, 0usize, 0usize);
        let header = std::fs::read("mpsio.log").unwrap()[..512].to_vec();
        std::fs::write("header", header).unwrap();
    }) else {
        return;
    };
    let log = ran.file("mpsio.log");
    assert_eq!(log[..512], ran.file("header"), "the header was written twice");
    assert_eq!((common::u16_at(&log, 14), log[20], log[21]), (512, 8, 8));
    let machines = [("x86_64", 62), ("aarch64", 183), ("s390x", 22)];
    assert!(machines.contains(&(std::env::consts::ARCH, common::u16_at(&log, 22))));
    assert_eq!(common::u32_at(&log, 24), 65536);
    assert_eq!((log[32 + 6] >> 4, log[32 + 8] >> 6), (4, 2));
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let hex: String = log[48..64].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, boot_id.trim().replace('-', ""));
    assert_eq!(log[64..80], [0; 16], "the header names a parent");
    let pid = String::from_utf8(ran.file("pid")).unwrap();
    assert_eq!(common::u64_at(&log, 80).to_string(), pid);
    assert_eq!(common::u64_at(&log, 88), u64::from(std::process::id()), "the parent process");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    for realtime in [common::u64_at(&log, 96), common::u64_at(&log, 136)] {
        assert!(realtime <= now && now - realtime < 600_000_000_000, "{realtime} {now}");
    }
    assert!((1..=3).contains(&common::u32_at(&log, 104)));
    assert_ne!((common::u64_at(&log, 120), common::u64_at(&log, 128)), (0, 0));
    let name = |from: usize, size: usize| {
        let field = &log[from..from + size];
        let end = field.iter().position(|byte| *byte == 0).unwrap();
        assert!(field[end..].iter().all(|byte| *byte == 0));
        String::from_utf8(field[..end].to_vec()).unwrap()
    };
    assert_eq!(name(152, 64), format!("telemetry {}", env!("CARGO_PKG_VERSION")));
    let program = std::env::current_exe().unwrap();
    assert_eq!(name(280, 128), program.file_name().unwrap().to_str().unwrap());
    assert!(!name(216, 64).is_empty(), "no name of the host");
    assert_eq!(log[408..512], [0; 104]);
}

/// `.event.params`, `.event.string`, `.event.size`
#[test]
fn every_sort_has_the_layout_of_the_format() {
    let test = "every_sort_has_the_layout_of_the_format";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "user")], || {
        let p = std::ptr::without_provenance::<u8>(0x1122_3344_5566_7788);
        for size in 0..18 {
            let s = &"abcdefghijklmnopqr"[..size];
            event!(Sorts { p, b: true, u: 0xDEAD_BEEFu32, d: 1.5f64, w: 7usize, a: 9usize, s });
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    let events = stream.of(3);
    assert_eq!(events.len(), 18);
    for (size, event) in events.iter().enumerate() {
        assert_eq!(event.word(0), 0x1122_3344_5566_7788);
        assert_eq!(event.bytes[16], 1);
        assert_eq!(event.number(20), 0xDEAD_BEEF);
        assert_eq!(f64::from_bits(event.word(2)), 1.5);
        assert_eq!((event.word(3), event.word(4)), (7, 9));
        assert_eq!(event.string_at(48), "abcdefghijklmnopqr"[..size]);
        assert_eq!(event.bytes.len(), (48 + size + 1).next_multiple_of(8));
    }
}

/// `.event.fill`, `.event.number`, `.write.begin`, `.block.sync`
#[test]
fn the_runtime_writes_full_blocks_whole_and_the_rest_as_a_part() {
    let test = "the_runtime_writes_full_blocks_whole_and_the_rest_as_a_part";
    let small = ("MPS_TELEMETRY_BLOCK_SIZE", "0x1000");
    let Some(ran) = ran(test, &[OBJECT, small], || {
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.block_size, 4096);
    assert_eq!(stream.words(1, 1), (0..1000).collect::<Vec<_>>());
    let per_block = (4096 - 128) / 32;
    assert_eq!(stream.whole_blocks, 1000 / per_block);
    assert_eq!(stream.again, 0);
}

/// `.block.overwritten`
#[test]
fn late_output_writes_the_events_in_the_buffer() {
    let test = "late_output_writes_the_events_in_the_buffer";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_BLOCK_SIZE", "4096")], || {
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
        assert!(!std::path::Path::new("mpsio.log").exists(), "nothing is output");
        control::set_output_everywhere(Kinds::Object);
        (1000..1010usize).for_each(|index| event!(Three, 0usize, index, index));
    }) else {
        return;
    };
    let stream = ran.stream();
    let indexes = stream.words(1, 1);
    // Two blocks of 124 events: the eighth, full, and the last, with 8 of the 1000 and ten more.
    assert_eq!(indexes, (7 * 124..1010).collect::<Vec<_>>());
    assert_eq!(stream.told_of(5).overwritten, 7 * 124);
    let changes = stream.store(0xFF05);
    assert_eq!(changes.len(), 1, ".store.control");
    assert_eq!(changes[0].number(20), 1 << 5, "outputLow");
}

/// The log has all events recorded while a kind was output, even if its output is off later.
#[test]
fn switching_output_off_removes_no_event() {
    let test = "switching_output_off_removes_no_event";
    let environment = [("MPS_TELEMETRY_BLOCK_SIZE", "4096"), ("MPS_TELEMETRY_WRITER", "thread")];
    let Some(ran) = ran(test, &environment, || {
        control::set_output_everywhere(Kinds::Object | Kinds::Pool | Kinds::Seg);
        for index in 0..1000usize {
            event!(Three, 0usize, index, index);
            event!(Pooled, index);
        }
        control::of(&CONTROL).reset_output(Kinds::Pool);
        control::reset_output_everywhere(Kinds::Object | Kinds::Pool);
        // The events are in the log now, independent of the program and of the rings.
        std::fs::copy("mpsio.log", "then.log").unwrap();
        for index in 1000..9000usize {
            event!(Three, 0usize, index, index);
            event!(Pooled, index);
        }
    }) else {
        return;
    };
    for stream in [common::read(&ran.file("then.log")), ran.stream()] {
        assert_eq!(stream.words(1, 1), (0..1000).collect::<Vec<_>>());
        assert_eq!(stream.words(5, 0), (0..1000).collect::<Vec<_>>());
    }
}

/// `.control.output.only`: the switches of the output switch the recording, in each way; a mask of
/// its own still does.
#[test]
fn a_kind_is_recorded_while_it_is_output() {
    let test = "a_kind_is_recorded_while_it_is_output";
    let Some(ran) = ran(test, &[], || {
        let pooled = |value: usize| {
            event!(Pooled, value);
            event!(Three, 0usize, value, value);
        };
        let kinds = control::of(&CONTROL);
        kinds.record_while_output(Kinds::Pool);
        assert_eq!(kinds.recorded() & (Kinds::Pool | Kinds::Object), Kinds::Object);
        pooled(0);
        kinds.set_output(Kinds::Pool);
        pooled(1);
        kinds.reset_output(Kinds::Pool);
        pooled(2);
        control::set_output_everywhere(Kinds::Pool | Kinds::Object);
        pooled(3);
        control::reset_output_everywhere(Kinds::Pool);
        pooled(4);
        kinds.set_recorded(Kinds::Pool);
        pooled(5);
        kinds.set_output(Kinds::Pool);
        // A second time changes nothing.
        kinds.record_while_output(Kinds::Pool);
        pooled(6);
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(5, 0), [1, 3, 5, 6]);
    assert_eq!(stream.words(1, 1), (0..=6).collect::<Vec<_>>());
}

/// `.store.source`: the place of something in the source text, with its numbers.
#[test]
fn the_log_has_places_in_the_source_text() {
    let test = "the_log_has_places_in_the_source_text";
    let Some(ran) = ran(test, &[OBJECT], || {
        let file = "src/köln.rs";
        let source = telemetry::Source { line: 1, column: 2, offset: 3, size: 4, file };
        telemetry::source(std::ptr::without_provenance::<u8>(0xABC), source);
        event!(Three, 1usize, 2usize, 3usize);
    }) else {
        return;
    };
    let stream = ran.stream();
    let [event] = stream.store(0xFF06)[..] else { panic!("one place") };
    assert_eq!(event.word(0), 0xABC);
    assert_eq!([16, 20, 24, 28].map(|at| event.number(at)), [1, 2, 3, 4]);
    assert_eq!(event.string_at(32), "src/köln.rs");
}

/// `.store.intern`, `.store.label`, `.store.thread`, `.store.before`, `.store.thread0`
#[test]
fn the_log_has_strings_labels_and_threads_under_any_mask() {
    let test = "the_log_has_strings_labels_and_threads_under_any_mask";
    let Some(ran) = ran(test, &[OBJECT], || {
        let first = telemetry::add_string("first");
        telemetry::label_address(0xABC, first);
        std::thread::Builder::new()
            .name("worker".into())
            .spawn(|| event!(Three, 1usize, 2usize, 3usize))
            .unwrap()
            .join()
            .unwrap();
        telemetry::label_address(0xABC, telemetry::add_string("second, 日本"));
        telemetry::label_address(0xABC, telemetry::StringId::NONE);
    }) else {
        return;
    };
    let stream = ran.stream();
    let names: Vec<_> = stream.store(0xFF01).iter().map(|e| (e.word(0), e.string(1))).collect();
    assert_eq!(names, [(1, "first".to_owned()), (2, "second, 日本".to_owned())]);
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|e| (e.word(0), e.word(1))).collect();
    assert_eq!(labels, [(0xABC, 1), (0xABC, 2), (0xABC, 0)]);
    for (name, label) in stream.store(0xFF01).iter().zip(stream.store(0xFF02)) {
        assert!(name.ticks <= label.ticks, ".store.before");
    }
    let threads = stream.store(0xFF03);
    assert_eq!(threads.len(), 1);
    assert_eq!((threads[0].word(0), threads[0].string(2)), (1, "worker".to_owned()));
    assert!(threads[0].word(1) > 1, "no number of the operating system");
    assert!(threads.iter().all(|event| event.thread == 0));
    assert_eq!(stream.of(1)[0].thread, 1);
}

/// The store is never overwritten; here it fills many blocks.
#[test]
fn the_log_has_all_of_ten_thousand_labels() {
    let test = "the_log_has_all_of_ten_thousand_labels";
    let environment = [OBJECT, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
    let Some(ran) = ran(test, &environment, || {
        for index in 0..5000 {
            telemetry::label_address(index, telemetry::add_string(format!("string {index}")));
        }
        // The first registry with output is added here: the stream begins.
        event!(Three, 0usize, 0usize, 0usize);
        for index in 5000..10_000 {
            telemetry::label_address(index, telemetry::add_string(format!("string {index}")));
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|e| (e.word(0), e.word(1))).collect();
    assert_eq!(labels, (0..10_000).map(|index| (index, index + 1)).collect::<Vec<_>>());
    assert_eq!(stream.store(0xFF01).last().unwrap().string(1), "string 9999");
}

/// `.event.base`: the ordinary case; unit tests of the crate let the clock jump.
#[test]
fn a_kind_with_few_events_takes_no_block() {
    let test = "a_kind_with_few_events_takes_no_block";
    let all = ("MPS_TELEMETRY_CONTROL", "all");
    let Some(ran) = ran(test, &[all], || {
        for index in 0..5usize {
            event!(Rare, index);
            telemetry::flush();
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(4, 0), [0, 1, 2, 3, 4]);
    assert_eq!((stream.block_count, stream.again), (1, 0));
    assert_eq!(stream.event_parts, 5 + 1, "one a flush, one for the thread's name");
}

/// `.block.discarded`
#[test]
fn an_event_larger_than_a_block_is_counted_as_large() {
    let test = "an_event_larger_than_a_block_is_counted_as_large";
    let environment = [("MPS_TELEMETRY_CONTROL", "User"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
    let Some(ran) = ran(test, &environment, || {
        let p = std::ptr::null::<u8>();
        for size in [10, 3968 - 48 - 1, 3968 - 48, 70_000, 20] {
            let s = &vec![b'x'; size];
            event!(Sorts { p, b: false, u: 0u32, d: 0.0f64, w: size, a: 0usize, s });
            telemetry::flush();
        }
        let losses = telemetry::losses_of(&CONTROL, Kinds::User);
        assert_eq!((losses.requested, losses.recorded, losses.large), (5, 3, 2));
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(3, 3), [10, 3968 - 48 - 1, 20]);
    assert_eq!(stream.told_of(6).large, 2);
}

/// `.stream.grow`: a host that only appends gets whole, padded blocks.
#[test]
fn a_pipe_receives_a_readable_log() {
    let test = "a_pipe_receives_a_readable_log";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                scope.spawn(move || {
                    for index in 0..2000usize {
                        event!(Three, thread, index, index);
                        if index % 1000 == 500 {
                            telemetry::flush();
                        }
                    }
                });
            }
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let name = ("MPS_TELEMETRY_FILENAME", pipe.to_str().unwrap());
    let environment = [OBJECT, ("MPS_TELEMETRY_BLOCK_SIZE", "4096"), name];
    let mut child =
        common::command(test, &environment).stdout(std::process::Stdio::null()).spawn().unwrap();
    let log = std::fs::read(&pipe).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(log.len() % 4096, 0);
    let stream = common::read(&log);
    assert_eq!((stream.of(1).len(), stream.holes, stream.ended), (8000, 0, true));
}

/// `.part.registry`, `.part.registry-before`: the registry is larger than a block, and is added
/// after the stream began.
#[test]
fn a_late_registry_stands_before_its_events() {
    let test = "a_late_registry_stands_before_its_events";
    let environment = [OBJECT, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
    let Some(ran) = ran(test, &environment, || {
        event!(Three, 0usize, 0usize, 0usize);
        event!(late::Late, 7usize);
        assert_eq!(control::of(&late::CONTROL).output(), Kinds::Object);
        control::of(&late::CONTROL).set_output(telemetry::Kinds::Seg);
        assert_eq!(control::of(&late::CONTROL).output(), Kinds::Object | Kinds::Seg);
        assert_eq!(control::of(&CONTROL).output(), Kinds::Object);
        assert_eq!(control::output_everywhere(), 1 << 5 | 1 << 3);
    }) else {
        return;
    };
    let stream = ran.stream();
    assert!(stream.registries[&2].windows(4).any(|bytes| bytes == b"Late"));
    let late: Vec<_> = stream.events.values().filter(|event| event.registry == 2).collect();
    assert_eq!((late.len(), late[0].word(0)), (1, 7));
}

mod late {
    telemetry::events! {
        /// Comes late, and is about nothing, at some length: so that its encoding does not fit into
        /// what is left of the header block. Comes late, and is about nothing, at some length: so
        /// that its encoding does not fit into what is left of the header block. Comes late, and is
        /// about nothing, at some length: so that its encoding does not fit into what is left of
        /// the header block. Comes late, and is about nothing, at some length.
        registry "late" version(1, 0, 0);
        kinds standard;

        /// Late.
        Late(0x0001, always, Object) {
            /// which
            index: W,
        }
    }
}

/// The names under `/dev` link to open files of the program.
#[test]
fn a_log_may_go_to_standard_output() {
    let test = "a_log_may_go_to_standard_output";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        return (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let environment =
        [OBJECT, ("MPS_TELEMETRY_BLOCK_SIZE", "4096"), ("MPS_TELEMETRY_FILENAME", "/dev/stdout")];
    let command = || common::command(test, &environment);
    let output = command().output().unwrap();
    let outputs = [
        output.stderr,
        command().stdout(std::fs::File::create(&path).unwrap()).output().unwrap().stderr,
    ];
    assert_eq!(outputs, [b"", b""], "no message");
    for bytes in [output.stdout, std::fs::read(path).unwrap()] {
        // The test harness writes there, too.
        assert!(bytes.len() > 1000 * 32, "{}", bytes.len());
        assert!(bytes.windows(4).any(|bytes| bytes == [0xF7, 0x45, 0x4C, 0x8A]), "no block");
    }
    let names = std::fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_str().unwrap().starts_with("stdout-")).count(), 0);
}
