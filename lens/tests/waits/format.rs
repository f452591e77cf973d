//! Formats of tracepoints: those of a kernel, and hostile ones.
//!
//! ```text
//!  text ── parse ──▶ fields │ a clear error
//! ```

use super::common;

use common::{X86_64, bytes, format, formats};
use lens::waits::source::format::{
    ByteOrder, FIELD_COUNT_MAX, Format, FormatError, Machine, Place, TEXT_SIZE_MAX,
};
use lens::waits::source::page::Layout;
use lens::waits::source::tracepoints::Tracepoints;
use proptest::prelude::*;

#[test]
fn the_formats_of_a_kernel_are_read() {
    let mut tracepoints = Tracepoints::new(X86_64);
    let mut count = 0;
    for (path, text) in formats() {
        let Some((system, name)) = path.split_once('/') else { continue };
        let format = Format::parse(system, text).unwrap();
        assert_eq!((&*format.system, &*format.name), (system, name));
        assert!(tracepoints.learn(&format), "{path} has a meaning");
        let lines = text.lines().filter(|line| line.trim().starts_with("field:")).count();
        assert_eq!(format.fields.len(), lines, "{path}");
        count += 1;
    }
    assert_eq!(count, 24);
}

#[test]
fn fields_are_found_by_name() {
    let switch = format("sched_switch");
    let slot = switch.slot("prev_state").unwrap();
    assert_eq!((slot.offset, slot.size, slot.is_signed, slot.count), (32, 8, true, 1));
    let slot = switch.slot("next_comm").unwrap();
    assert_eq!((slot.offset, slot.size, slot.count), (40, 16, 16));
    let slot = format("sys_enter").slot("args").unwrap();
    assert_eq!((slot.offset, slot.size, slot.count), (16, 48, 6));
    let slot = format("sched_process_exec").slot("filename").unwrap();
    assert_eq!((slot.offset, slot.size, slot.place), (8, 4, Place::DataLoc));
    let slot = format("print").slot("buf").unwrap();
    assert_eq!((slot.offset, slot.size), (16, 0));
    let slot = format("hrtimer_expire_entry").slot("function").unwrap();
    assert_eq!((slot.offset, slot.size), (24, 8));
}

#[test]
fn values_are_read_in_both_byte_orders() {
    let text = "name: a\nID: 1\nfield:short s; offset:0; size:2; signed:1;\n\
                field:unsigned int u; offset:2; size:4; signed:0;\n\
                field:unsigned short args[2]; offset:6; size:4; signed:0;\n\
                field:__data_loc char[] d; offset:10; size:4; signed:0;\n\
                field:__rel_loc char[] r; offset:14; size:4; signed:0;\n";
    let format = Format::parse("x", text).unwrap();
    let slot = |name| format.slot(name).unwrap();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let machine = Machine { order, word_size: 8 };
        let pack = |number: u32, size: usize| match order {
            ByteOrder::Little => number.to_le_bytes()[..size].to_vec(),
            ByteOrder::Big => number.to_be_bytes()[4 - size..].to_vec(),
        };
        let mut record = pack(0xFFFE, 2);
        record.extend(pack(0xFFFF_FFFE, 4));
        record.extend([pack(7, 2), pack(9, 2)].concat());
        record.extend(pack(5 << 16 | 18, 4));
        record.extend(pack(3 << 16 | 5, 4));
        record.extend(b"data\0xy\0");
        assert_eq!(slot("s").number(machine, &record), Some(-2i64 as u64));
        assert_eq!(slot("u").number(machine, &record), Some(0xFFFF_FFFE));
        assert_eq!(slot("args").element(machine, &record, 1), Some(9));
        assert_eq!(slot("args").element(machine, &record, 2), None);
        assert_eq!(slot("d").string(machine, &record), Some(&b"data"[..]));
        assert_eq!(slot("r").string(machine, &record), Some(&b"xy"[..]));
    }
}

#[test]
fn hostile_offsets_are_refused() {
    let parse = |field: &str| Format::parse("x", &format!("name: a\nID: 1\n{field}\n"));
    for (field, name) in [
        ("field:int a; offset:65536; size:4; signed:0;", "\"a\""),
        ("field:int a; offset:18446744073709551615; size:4; signed:0;", "\"a\""),
        ("field:int a; offset:4; size:18446744073709551615; signed:0;", "\"a\""),
    ] {
        let error = parse(field).unwrap_err();
        assert!(matches!(error, FormatError::Place { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    for field in [
        "field:int a; offset:-1; size:4; signed:0;",
        "field:int a; offset:99999999999999999999; size:4; signed:0;",
        "field:int a; size:4; signed:0;",
        "field:int a; offset:4; signed:0;",
        "field:a; offset:4; size:4; signed:0;",
        "field:int ; offset:4; size:4; signed:0;",
        "field:",
        "field:int a",
    ] {
        assert!(matches!(parse(field), Err(FormatError::Line { .. })), "{field}");
    }
    let long = format!("field:{} a, offset", "é".repeat(500));
    assert!(parse(&long).unwrap_err().to_string().len() < 300);
}

#[test]
fn a_format_without_its_name_or_number_is_refused() {
    for text in
        ["", "name: a\n", "ID: 1\n", "name: a\nID: 65536\n", "name: a\nID: -1\n", "name:\nID: 1"]
    {
        assert!(matches!(Format::parse("x", text), Err(FormatError::Lacks { .. })), "{text:?}");
    }
    assert!(Format::parse("x", "name: a\nID: 65535\n").is_ok());
}

#[test]
fn a_format_has_limits() {
    let size = TEXT_SIZE_MAX + 1;
    assert_eq!(Format::parse("x", &" ".repeat(size)), Err(FormatError::Size { size }));
    let fields = "field:int a; offset:8; size:4; signed:0;\n".repeat(FIELD_COUNT_MAX + 1);
    let text = format!("name: a\nID: 1\n{fields}");
    assert_eq!(Format::parse("x", &text), Err(FormatError::Fields));
}

#[test]
fn strings_outside_of_their_record_are_refused() {
    let exec = format("sched_process_exec");
    let path = exec.slot("filename").unwrap();
    for location in [0xFFFF_FFFFu32, 1 << 16 | 0xFFFF, 0xFFFF << 16 | 8, 5 << 16 | 18] {
        let record = bytes(&exec, &[("filename", &location.to_le_bytes())]);
        assert_eq!(path.string(X86_64, &record), None, "{location:#x}");
    }
    let record = bytes(&exec, &[("filename", &(4u32 << 16 | 16).to_le_bytes())]);
    assert_eq!(path.string(X86_64, &record), Some(&b""[..]));
}

#[test]
fn a_tracepoint_without_a_needed_field_has_no_meaning() {
    let mut switch = format("sched_switch");
    switch.fields.retain(|field| &*field.name != "next_pid");
    assert!(!Tracepoints::new(X86_64).learn(&switch));
    let other = Format::parse("sched", "name: sched_stick\nID: 9\n").unwrap();
    assert!(!Tracepoints::new(X86_64).learn(&other));
}

#[test]
fn a_layout_has_a_stamp_a_size_and_data() {
    let text = "field: u64 timestamp; offset:0; size:8; signed:0;\n\
                field: local_t commit; offset:8; size:4; signed:1;\n\
                field: char data; offset:12; size:65524; signed:1;\n";
    let layout = Layout::parse(ByteOrder::Big, text).unwrap();
    assert_eq!((layout.machine.word_size, layout.page_size), (4, 65536));
    for (part, other) in
        [("timestamp", "time"), ("commit", "size"), ("data", "dat"), ("size:4", "size:5")]
    {
        assert!(Layout::parse(ByteOrder::Big, &text.replace(part, other)).is_err(), "{part}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,400}", at in 0..2000usize, flip in 1..=127u8) {
        let _ = Format::parse("x", &text);
        let _ = Format::parse("x", &format!("name: a\nID: 1\nfield:{text}"));
        let (_, sound) = formats()[1];
        let mut bytes = sound.as_bytes().to_vec();
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= flip;
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(format) = Format::parse("sched", &text)
        {
            Tracepoints::new(X86_64).learn(&format);
        }
    }
}
