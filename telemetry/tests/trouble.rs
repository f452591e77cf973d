//! What the runtime does when the host, the user or a signal causes trouble.

mod common;
#[path = "common/registries.rs"]
mod registries;

use common::{CONTROL, Kinds, Pooled, Three, ran};
use registries::{sparse, wide};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use telemetry::{control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");

#[test]
fn an_unwritable_file_is_reported_once_and_losses_are_counted() {
    let test = "an_unwritable_file_is_reported_once_and_losses_are_counted";
    let nowhere = ("MPS_TELEMETRY_FILENAME", "no/such/folder/%p.log");
    let environment = [OBJECT, nowhere, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
    let Some(ran) = ran(test, &environment, || {
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
        telemetry::flush();
        let losses = telemetry::losses();
        assert_eq!((losses.requested, losses.recorded), (1000, 1000));
        assert_eq!(losses.io, 1000, "all events are lost");
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("telemetry: cannot create no/such/folder/"), "{said:?}");
    assert!(said[0].contains(".log: No such file or directory; "), "{said:?}");
}

/// `.write.fail`
#[test]
fn a_full_device_is_reported_once_and_losses_are_counted() {
    let test = "a_full_device_is_reported_once_and_losses_are_counted";
    let full = ("MPS_TELEMETRY_FILENAME", "/dev/full");
    let environment = [OBJECT, full, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
    let Some(ran) = ran(test, &environment, || {
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, index));
        let losses = telemetry::losses();
        assert_eq!((losses.requested, losses.io), (1000, 8 * 124));
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("/dev/full: No space left on device"), "{said:?}");
}

#[test]
fn an_unknown_kind_is_reported_once_with_the_known_kinds() {
    let test = "an_unknown_kind_is_reported_once_with_the_known_kinds";
    let environment = [("MPS_TELEMETRY_CONTROL", "Pool Nonsense object 0x1 09")];
    let Some(ran) = ran(test, &environment, || {
        assert_eq!(control::of(&CONTROL).output(), Kinds::Pool | Kinds::Object | Kinds::Arena);
        (0..10usize).for_each(|index| event!(Pooled, index));
    }) else {
        return;
    };
    let kinds = "Arena, Pool, Trace, Seg, Ref, Object, User, all";
    let unknown = |word| {
        let variable = "MPS_TELEMETRY_CONTROL";
        format!("telemetry: {variable}: unknown kind `{word}`; known so far: {kinds}")
    };
    assert_eq!(ran.said(), [unknown("Nonsense"), unknown("09")]);
    assert_eq!(ran.stream().of(5).len(), 10, "the known kinds are output");
}

#[test]
fn a_setup_chooses_the_kinds_that_are_output() {
    let test = "a_setup_chooses_the_kinds_that_are_output";
    let Some(ran) = ran(test, &[], || {
        let plinth = telemetry::FilePlinth::new("own.log").unwrap();
        telemetry::setup().plinth(plinth).output(Kinds::Object).start().unwrap();
        event!(Three, 0usize, 1usize, 2usize);
        event!(Pooled, 3usize);
    }) else {
        return;
    };
    let stream = common::read(&ran.file("own.log"));
    assert_eq!((stream.of(1).len(), stream.of(5).len()), (1, 0));
    assert!(ran.said().is_empty(), "{:?}", ran.said());
}

/// A message about a later registry is true when it is printed, and is printed once.
#[test]
fn a_kind_of_a_later_registry_is_only_missing_so_far() {
    let test = "a_kind_of_a_later_registry_is_only_missing_so_far";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Last")], || {
        event!(Pooled, 1usize);
        wide::record_all();
    }) else {
        return;
    };
    let of_kinds: Vec<_> = ran.said().into_iter().filter(|line| line.contains("kind `")).collect();
    assert_eq!(of_kinds.len(), 1, "{of_kinds:?}");
    assert!(of_kinds[0].contains("unknown kind `Last`; known so far: Arena, "));
    assert_ne!(ran.stream().told.len(), 0, "its registry is not in the log");
}

#[test]
fn the_environment_names_the_log() {
    let test = "the_environment_names_the_log";
    let name = ("MPS_TELEMETRY_FILENAME", "100%%-%p.io");
    let Some(ran) = ran(test, &[OBJECT, name], || event!(Three, 0usize, 0usize, 0usize)) else {
        return;
    };
    let entry = std::fs::read_dir(ran.folder.path()).unwrap().next().unwrap().unwrap();
    let name = entry.file_name().into_string().unwrap();
    let pid = common::u64_at(&ran.file(&name), 80);
    assert_eq!(name, format!("100%-{pid}.io"));
}

/// The system refuses a name that is too long, even if `%p` is cut off.
#[test]
fn a_message_shows_the_beginning_of_a_long_name() {
    let test = "a_message_shows_the_beginning_of_a_long_name";
    for size in [5000, 4097] {
        let name = format!("{}%p", "folder/".repeat(size).split_at(size - 2).0);
        let environment = [OBJECT, ("MPS_TELEMETRY_FILENAME", &name)];
        let Some(ran) = ran(test, &environment, || event!(Three, 0usize, 0usize, 0usize)) else {
            return;
        };
        let said = ran.said();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("telemetry: cannot create folder/folder/"), "{said:?}");
        assert!(said[0].contains("…: File name too long; "), "{said:?}");
    }
}

/// The runtime reads the whole control variable.
#[test]
fn the_runtime_reads_a_long_control_variable() {
    let test = "the_runtime_reads_a_long_control_variable";
    let control = format!("{}Object", " ".repeat(4094));
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", &control)], || {
        event!(Three, 0usize, 0usize, 0usize);
    }) else {
        return;
    };
    assert_eq!((ran.stream().of(1).len(), ran.said().len()), (1, 0));
}

/// Counts the signals that came; their handlers record.
static SIGNAL_COUNT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn record_in_handler(_: i32) {
    let index = SIGNAL_COUNT.fetch_add(1, Ordering::Relaxed);
    event!(Three, usize::MAX, index, 0usize);
    event!(Pooled, index);
}

/// `.block.discarded`: nested. Another thread's signals record two kinds; the interrupted code
/// records one of them.
#[test]
#[expect(unsafe_code, reason = "a signal handler")]
fn every_event_of_a_signal_handler_is_recorded_or_counted() {
    let test = "every_event_of_a_signal_handler_is_recorded_or_counted";
    let kinds = ("MPS_TELEMETRY_CONTROL", "Object Pool");
    let small = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    const COUNT: usize = 3_000_000;
    let Some(ran) = ran(test, &[kinds, small], || {
        let handler = record_in_handler as extern "C" fn(i32);
        // SAFETY: the handler calls only the runtime, which allows that.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        // SAFETY: the call cannot fail.
        let victim = unsafe { libc::pthread_self() };
        let (ready, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(true, Ordering::Relaxed);
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: the victim waits for this thread before it ends.
                    unsafe { libc::pthread_kill(victim, libc::SIGUSR1) };
                    std::thread::sleep(std::time::Duration::from_micros(20));
                }
            });
            while !ready.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            for index in 0..COUNT {
                event!(Three, 0usize, index, index);
                if index % 100_000 == 0 {
                    telemetry::flush();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let signals = SIGNAL_COUNT.load(Ordering::Relaxed) as u64;
        let losses = telemetry::losses();
        assert_eq!(losses.requested, COUNT as u64 + 2 * signals, "{losses:?}");
        println!("{signals} signals, {losses:?}");
        std::fs::write("signals", format!("{signals}")).unwrap();
    }) else {
        return;
    };
    let signals: u64 = String::from_utf8(ran.file("signals")).unwrap().parse().unwrap();
    let stream = ran.stream();
    let (object, pool) = (stream.told_of(5), stream.told_of(1));
    // Each count is a running total: the last one of a kind and cause holds.
    let told = stream.store(0xFF04).into_iter();
    let totals = told.map(|event| ((event.word(0), event.word(1) as u32), event.word(2)));
    let unhoused: u64 = totals.collect::<BTreeMap<_, _>>().into_values().sum();
    let three = stream.of(1).len() as u64;
    let requested = three + u64::from(object.nested + object.full) + stream.of(5).len() as u64;
    let requested = requested + u64::from(pool.nested + pool.full) + unhoused;
    assert_eq!(requested, COUNT as u64 + 2 * signals, "{object:?} {pool:?} {unhoused}");
    assert!(signals > 100, "{signals} signals");
    assert!(object.nested > 0, "none of {signals} signals interrupted an event");
    // The interrupted code lost no event.
    let own = stream.of(1).iter().filter(|event| event.word(0) == 0).count() as u64;
    assert_eq!(own + u64::from(object.full), COUNT as u64);
}

/// Without a stream at the fork, each process begins its own; earlier events belong to the parent.
#[test]
#[expect(unsafe_code, reason = "fork")]
fn a_child_forked_before_the_stream_begins_its_own() {
    let test = "a_child_forked_before_the_stream_begins_its_own";
    let each = ("MPS_TELEMETRY_FILENAME", "%p.log");
    let Some(ran) = ran(test, &[each, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")], || {
        (0..10usize).for_each(|index| event!(Three, 1usize, index, index));
        // SAFETY: the child calls only the runtime, and exits.
        let child = unsafe { libc::fork() };
        let who = if child == 0 { 2usize } else { 3 };
        control::set_output_everywhere(Kinds::Object);
        // The child has threads as well, which wait for one another.
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000usize).for_each(|index| event!(Pooled, index)));
            (10..1000usize).for_each(|index| event!(Three, who, index, index));
            control::set_output_everywhere(Kinds::Pool);
        });
        if child == 0 {
            // SAFETY: ends the child alone.
            unsafe { libc::exit(0) };
        }
        let mut status = 1;
        // SAFETY: waits for the child, and writes to `status`.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        std::fs::write("child", child.to_string()).unwrap();
    }) else {
        return;
    };
    assert_eq!(ran.said(), Vec::<&str>::new());
    let child = String::from_utf8(ran.file("child")).unwrap();
    let (mut identities, mut parents) = ([vec![], vec![]], [vec![], vec![]]);
    for file in std::fs::read_dir(ran.folder.path()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(pid) = name.strip_suffix(".log") else { continue };
        let log = ran.file(&name);
        assert_eq!(common::u64_at(&log, 80).to_string(), pid);
        let stream = common::read(&log);
        let (who, first) = if pid == child { (2, 10) } else { (3, 0) };
        assert_eq!(stream.words(1, 1), (first..1000).collect::<Vec<_>>());
        let before = 10 - first as usize;
        assert!(stream.words(1, 0)[before..].iter().all(|each| *each == who));
        assert!(stream.ended);
        identities[who as usize - 2] = log[32..48].to_vec();
        parents[who as usize - 2] = log[64..80].to_vec();
    }
    assert_ne!(identities[0], identities[1], ".header.uuid");
    assert_eq!((&parents[0], &parents[1]), (&identities[1], &vec![0; 16]), "2.1, parent");
}

/// A forked child leaves its parent's log alone.
#[test]
#[expect(unsafe_code, reason = "fork")]
fn a_forked_child_writes_nothing_to_its_parents_log() {
    let test = "a_forked_child_writes_nothing_to_its_parents_log";
    let Some(ran) = ran(test, &[OBJECT, ("MPS_TELEMETRY_BLOCK_SIZE", "4096")], || {
        (0..1000usize).for_each(|index| event!(Three, 1usize, index, index));
        // SAFETY: the child calls only the runtime, and exits.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                (0..1000usize).for_each(|index| event!(Three, 2usize, index, index));
                control::set_output_everywhere(Kinds::Object);
                (0..1000usize).for_each(|index| event!(Three, 3usize, index, index));
                telemetry::flush();
                libc::exit(0);
            }
            let mut status = 1;
            libc::waitpid(child, &mut status, 0);
            assert_eq!(status, 0);
            std::fs::write("child", child.to_string()).unwrap();
        }
        (1000..2000usize).for_each(|index| event!(Three, 1usize, index, index));
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(1, 1), (0..2000).collect::<Vec<_>>());
    assert!(stream.words(1, 0).iter().all(|who| *who == 1));
    assert_eq!((stream.holes, stream.again), (0, 0));
    let child = String::from_utf8(ran.file("child")).unwrap();
    let child = common::read(&ran.file(&format!("mpsio.log-{child}")));
    assert_eq!(child.of(1).len(), 2000);
}

/// Six registries of many kinds fit next to that of the tests; the other two do not. The store
/// counts their events by kind.
#[test]
fn events_of_a_registry_without_room_are_counted() {
    let test = "events_of_a_registry_without_room_are_counted";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "all")], || {
        event!(Pooled, 1usize);
        wide::record_all();
        wide::record_all();
        let losses = telemetry::losses();
        assert_eq!((losses.requested, losses.recorded, losses.full), (17, 13, 4), "{losses:?}");
        let last = wide::g::Kinds::from_bits_retain(1 << 63);
        assert_eq!(telemetry::losses_of(&wide::g::CONTROL, last).full, 0, "it has no place");
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("telemetry: no room for registry `g`: "), "{said:?}");
    let stream = ran.stream();
    // `.store.discarded`: registry and kind in one word, cause, count
    let told = stream.store(0xFF04);
    assert_eq!(told.len(), 1);
    let (registry, kind) = (told[0].number(8), told[0].number(12));
    assert_eq!((registry, kind, told[0].word(2)), (65535, 63, 4));
}

/// A registry takes a slot for each of its kinds, whatever their indexes.
#[test]
fn kinds_with_high_indexes_take_one_slot_each() {
    let test = "kinds_with_high_indexes_take_one_slot_each";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Last")], || {
        sparse::record_all();
        let losses = telemetry::losses_of(&sparse::a::CONTROL, sparse::a::Kinds::Last);
        assert_eq!((losses.requested, losses.recorded), (1, 1));
        let losses = telemetry::losses();
        assert_eq!((losses.requested, losses.recorded, losses.full), (8, 8, 0), "{losses:?}");
    }) else {
        return;
    };
    let stream = ran.stream();
    let last = stream.events.values().filter(|event| event.kind == 63 && event.registry != 0);
    assert_eq!(last.count(), 8);
}
