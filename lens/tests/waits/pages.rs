//! Pages of the ring buffer: what was written comes back, and damage is bounded.
//!
//! ```text
//!  records ── Writer ──▶ pages ── Layout::open ──▶ the same records
//!                        pages, one byte changed ── Ring ──▶ a sound log
//! ```

use super::common;

use common::{Stamp, Writer, X86_64, bytes, format, layout, tracepoints};
use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::Origin;
use lens::waits::output::Output;
use lens::waits::source::format::{ByteOrder, Machine};
use lens::waits::source::page::Layout;
use lens::waits::source::ring::{Counts, Ring};
use lens::waits::source::tracepoints::Tracepoints;
use proptest::prelude::*;

fn stamp() -> impl Strategy<Value = Stamp> {
    prop_oneof![Just(Stamp::Delta), Just(Stamp::Extend), Just(Stamp::Absolute)]
}

fn machine() -> impl Strategy<Value = Machine> {
    (any::<bool>(), any::<bool>()).prop_map(|(is_big, is_long)| Machine {
        order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
        word_size: if is_long { 8 } else { 4 },
    })
}

proptest! {
    #[test]
    fn what_was_written_comes_back(
        machine in machine(),
        begin in any::<u64>(),
        records in prop::collection::vec(
            (0..1u64 << 40, stamp(), 0..400usize, any::<bool>()),
            0..60,
        ),
    ) {
        let mut writer = Writer::new(machine);
        let mut ticks = begin / 2;
        let mut expected = Vec::new();
        for (delta, stamp, size, is_discarded) in records {
            ticks += delta >> (size % 40);
            let data: Vec<u8> = (0..size.next_multiple_of(4)).map(|at| at as u8).collect();
            writer.record(ticks, stamp, &data);
            if is_discarded {
                writer.discard(3);
            }
            expected.push((ticks, data));
        }
        writer.end();
        let layout = Layout::of(machine);
        let mut found = Vec::new();
        for page in &writer.pages {
            let mut page = layout.open(page).unwrap();
            found.extend(page.by_ref().map(|record| (record.ticks, record.bytes.to_vec())));
            prop_assert!(!page.is_damaged());
            prop_assert_eq!(page.lost(), None);
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_page_makes_the_reader_panic(
        machine in machine(),
        page in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        if let Some(mut page) = Layout::of(machine).open(&page) {
            prop_assert!(page.by_ref().count() <= 300 / 4);
        }
    }
}

/// The ticks of the first page: some bits lie above those of absolute ticks.
const BEGIN: u64 = 1 << 60;

/// Some rows of each kind, with stacks and a loss.
fn some_pages() -> Vec<Vec<u8>> {
    let mut writer = Writer::new(X86_64);
    let switch = |prev: u32, next: u32, state: u64| {
        bytes(
            &format("sched_switch"),
            &[
                ("prev_comm", b"one"),
                ("prev_pid", &prev.to_le_bytes()),
                ("prev_state", &state.to_le_bytes()),
                ("next_comm", b"other"),
                ("next_pid", &next.to_le_bytes()),
            ],
        )
    };
    let waking = |waker: u32, target: u32, flags: u8| {
        bytes(
            &format("sched_waking"),
            &[
                ("common_flags", &[flags]),
                ("common_pid", &waker.to_le_bytes()),
                ("pid", &target.to_le_bytes()),
            ],
        )
    };
    let stack = |name: &str, frames: &[u64]| {
        let mut record = bytes(&format(name), &[]);
        let at = format(name).slot("caller").unwrap().offset as usize;
        record.truncate(at);
        record.extend(frames.iter().flat_map(|frame| frame.to_le_bytes()));
        record
    };
    let mut exec = bytes(
        &format("sched_process_exec"),
        &[
            ("filename", &(5u32 << 16 | 20).to_le_bytes()),
            ("pid", &7u32.to_le_bytes()),
            ("old_pid", &[6]),
        ],
    );
    exec.extend(b"/a/b\0\0\0\0");
    let function = &0xFFFF_FFFF_8142_04B0u64.to_le_bytes();
    let timer = bytes(&format("hrtimer_expire_entry"), &[("function", function)]);
    let block = bytes(&format("block_rq_complete"), &[("dev", &[1, 0, 80, 0]), ("rwbs", b"WS")]);
    let state = bytes(
        &format("inet_sock_set_state"),
        &[("newstate", &[1]), ("family", &[2]), ("saddr", &[127, 0, 0, 1]), ("sport", &[80])],
    );
    writer.record(BEGIN, Stamp::Delta, &switch(7, 0, 1));
    writer.record(BEGIN + 50, Stamp::Absolute, &timer);
    writer.record(BEGIN + 60, Stamp::Delta, &waking(0, 7, 0x09));
    writer.record(BEGIN + 60, Stamp::Delta, &stack("kernel_stack", &[0xFFFF_1000, 0xFFFF_2000]));
    writer.record(BEGIN + 70, Stamp::Delta, &switch(0, 7, 0));
    writer.record(BEGIN + 80, Stamp::Delta, &exec);
    writer.discard(4);
    writer.record(BEGIN + 90, Stamp::Extend, &block);
    writer.lose(12);
    writer.record(BEGIN + 500, Stamp::Delta, &state);
    writer.record(BEGIN + 510, Stamp::Delta, &switch(7, 9, 0x100));
    writer.end();
    writer.record(BEGIN + 510, Stamp::Delta, &stack("kernel_stack", &[0xFFFF_1000]));
    writer.record(BEGIN + 510, Stamp::Delta, &stack("user_stack", &[0x5000, 0x6000, 0]));
    writer.record(BEGIN + 600, Stamp::Delta, &waking(9, 7, 0));
    writer.end();
    writer.pages
}

/// Returns the rows as text, and the counts.
fn decode(pages: &[Vec<u8>]) -> (Vec<String>, Counts) {
    decode_with(pages, &mut |_| {})
}

fn decode_with(
    pages: &[Vec<u8>],
    prepare: &mut dyn FnMut(&mut Tracepoints),
) -> (Vec<String>, Counts) {
    let (mut tracepoints, mut ring) = (tracepoints(), Ring::new(layout()));
    prepare(&mut tracepoints);
    let mut log = Vec::new();
    let mut out = Output::new(&mut log, &Origin::new()).unwrap();
    for page in pages {
        ring.page(&mut tracepoints, &mut out, 0, page, &mut |_, _| {}).unwrap();
    }
    ring.finish(&mut tracepoints, &mut out).unwrap();
    out.finish().unwrap();
    let log = Log::from_source(log).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut rows = Vec::new();
    while let Some(event) = events.next() {
        let values: Vec<String> =
            event.params().map(|(param, value)| format!(" {}={value}", param.name)).collect();
        let ticks = event.ticks.wrapping_sub(BEGIN);
        rows.push(format!("{ticks} {}{}", event.name(), values.concat()));
    }
    (rows, ring.counts())
}

#[test]
fn pages_become_rows_with_stacks_and_losses() {
    let (rows, counts) = decode(&some_pages());
    let expected = [
        "0 Thread thread=1 osThread=0 name=cpu 0",
        "0 ThreadName thread=7 process=0 name=one",
        "0 Frame frame=1 parent=0 address=0xffff2000",
        "0 Frame frame=2 parent=1 address=0xffff1000",
        "0 Frame frame=3 parent=0 address=0x6000",
        "0 Frame frame=4 parent=3 address=0x5000",
        "0 Frame frame=5 parent=4 address=0xffff1000",
        "0 Switch prev=7 next=0 state=1 stack=0",
        "50 TimerFire isWakeup=true function=0xffffffff814204b0",
        "60 Waking waker=0 target=7 context=2 stack=2",
        "70 ThreadName thread=7 process=0 name=other",
        "70 Switch prev=0 next=7 state=0 stack=0",
        "80 Exec thread=7 was=6 path=/a/b",
        "90 BlockComplete thread=0 device=5242881 sector=0 count=0 operation=1",
        "500 Lost from=1152921504606847066 count=12",
        "500 SocketState socket=0x0 state=1 ports=5242880",
        "500 SocketName socket=0x0 name=127.0.0.1:80 0.0.0.0:0",
        "510 ThreadName thread=7 process=0 name=one",
        "510 ThreadName thread=9 process=0 name=other",
        "510 Switch prev=7 next=9 state=0 stack=5",
        "600 Waking waker=9 target=7 context=0 stack=0",
    ];
    assert_eq!(rows, expected);
    assert_eq!((counts.known, counts.unknown, counts.damaged), (12, 0, 0));
    assert_eq!((counts.gaps, counts.lost, counts.damaged_pages), (1, 12, 0));
}

#[test]
fn a_changed_byte_costs_at_most_its_page() {
    let pages = some_pages();
    let (sound, _) = decode(&pages);
    for page in 0..pages.len() {
        let used = pages[page].iter().rposition(|byte| *byte != 0).unwrap() + 9;
        for at in 0..used {
            for flip in [0x01, 0x80, 0xFF] {
                let mut changed = pages.clone();
                changed[page][at] ^= flip;
                let (rows, counts) = decode(&changed);
                assert!(rows.len() <= sound.len() + used / 4, "page {page}, byte {at}");
                let losses = rows.iter().filter(|row| row.contains(" Lost ")).count() as u64;
                assert!(losses >= counts.damaged_pages.min(1), "page {page}, byte {at}: {rows:#?}");
                if page > 0 {
                    assert_eq!(rows[1], sound[1], "the first page is as before");
                }
            }
        }
    }
}

#[test]
fn a_page_that_is_cut_is_stated_as_lost() {
    let pages = some_pages();
    let used = pages[0].iter().rposition(|byte| *byte != 0).unwrap();
    for size in 0..used {
        let mut cut = pages.clone();
        cut[0].truncate(size);
        let (rows, counts) = decode(&cut);
        assert_eq!(counts.damaged_pages, 1, "{size} bytes");
        assert!(rows.iter().any(|row| row.contains("Lost from=0 count=12")), "{rows:#?}");
    }
}

#[test]
fn a_timer_of_a_known_function_needs_no_wake() {
    let timer = |function: u64| {
        bytes(&format("hrtimer_expire_entry"), &[("function", &function.to_le_bytes())])
    };
    let mut writer = Writer::new(X86_64);
    writer.record(BEGIN + 1, Stamp::Delta, &timer(0x5000));
    writer.record(BEGIN + 2, Stamp::Delta, &timer(0x6000));
    writer.end();
    let (rows, _) = decode_with(&writer.pages, &mut |tracepoints| tracepoints.wakeup_at(0x5000));
    assert_eq!(
        rows[1..],
        ["1 TimerFire isWakeup=true function=0x5000", "2 TimerFire isWakeup=false function=0x6000",]
    );
    let (rows, _) = decode(&writer.pages);
    assert!(rows[1].contains("isWakeup=false") && rows[2].contains("isWakeup=false"), "{rows:?}");
}

#[test]
fn a_new_thread_belongs_to_the_process_of_its_maker() {
    let task = |child: u32, flags: u64| {
        let fields = [("pid", &child.to_le_bytes()[..]), ("clone_flags", &flags.to_le_bytes())];
        bytes(&format("task_newtask"), &fields)
    };
    let fork = |parent: u32, child: u32| {
        let name = (2u32 << 16 | 24).to_le_bytes();
        let fields =
            [("parent_pid", &parent.to_le_bytes()[..]), ("child_pid", &child.to_le_bytes())];
        let mut record = bytes(&format("sched_process_fork"), &fields);
        record[16..20].copy_from_slice(&name);
        record.extend(b"a\0\0\0");
        record
    };
    let mut writer = Writer::new(X86_64);
    for (at, record) in
        (1..).zip([task(8, 0), fork(7, 8), task(9, 0x10000), fork(8, 9), fork(9, 10)])
    {
        writer.record(BEGIN + at, Stamp::Delta, &record);
    }
    writer.end();
    let (rows, _) = decode(&writer.pages);
    let forks: Vec<&String> = rows.iter().filter(|row| row.contains("Fork")).collect();
    assert_eq!(
        forks,
        [
            "2 Fork parent=7 child=8 process=8",
            "4 Fork parent=8 child=9 process=8",
            "5 Fork parent=9 child=10 process=0",
        ]
    );
}
