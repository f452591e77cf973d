//! Compares dumps of real logs of the Memory Pool System with the output of its own tools. Those
//! files are never rewritten.

mod support;

use eventdef::Sort;
use eventdef::mps::REGISTRY as MPS;
use std::fmt::Write;
use std::fs;
use support::{mps, run};

const LOGS: [&str; 4] = ["labels", "amcss-arena-pool-trace", "mpmss-cut", "mpmss-32bit-cut"];

fn assert_same(args: &[&str], log: &str, expected: &str) {
    let (found, code, errors) = run(&[args, &[&mps(log)]].concat());
    assert_eq!((code, errors.as_str()), (0, ""), "{log}");
    let expected = fs::read(mps(expected)).unwrap();
    let lines =
        |text: &[u8]| text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    for (number, (found, expected)) in lines(&found).iter().zip(lines(&expected)).enumerate() {
        let (found, expected) =
            (String::from_utf8_lossy(found), String::from_utf8_lossy(&expected));
        assert_eq!(found, expected, "{log}, line {}", number + 1);
    }
    assert!(found == expected, "{log}: the number of lines differs");
}

#[test]
fn mpseventcnv_prints_the_same_numeric_form_in_file_order() {
    for log in LOGS {
        assert_same(&["--order", "file"], &format!("{log}.log"), &format!("{log}.cnv"));
    }
}

#[test]
fn mpseventtxt_prints_the_same_named_form_in_order_of_time() {
    for log in LOGS {
        assert_same(&["-vv"], &format!("{log}.log"), &format!("{log}.txt"));
    }
}

#[test]
fn order_of_time_is_a_stable_sort_of_the_file_order_by_clock() {
    for log in LOGS {
        let cnv = fs::read_to_string(mps(&format!("{log}.cnv"))).unwrap();
        let mut expected: Vec<&str> = cnv.lines().collect();
        expected.sort_by_key(|line| &line[..16]);
        let (found, code, _) = run(&[&mps(&format!("{log}.log"))]);
        assert_eq!(code, 0);
        assert_eq!(
            String::from_utf8(found).unwrap().lines().collect::<Vec<_>>(),
            expected,
            "{log}"
        );
    }
}

#[test]
fn file_order_and_order_of_time_give_equal_labels() {
    for log in LOGS {
        let txt = fs::read_to_string(mps(&format!("{log}.txt"))).unwrap();
        let mut expected: Vec<&str> = txt.lines().collect();
        let (found, code, _) = run(&["-vv", "--order", "file", &mps(&format!("{log}.log"))]);
        assert_eq!(code, 0);
        let found = String::from_utf8(found).unwrap();
        let mut found: Vec<&str> = found.lines().collect();
        assert_ne!(found, expected, "the file is not in order of time");
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{log}");
    }
}

/// Returns an `eventdef.h` with the facts of `registry-1.6.1.tsv`: code, name, kind, and the sorts
/// and names of the parameters.
fn header_1_6_1() -> tempfile::NamedTempFile {
    let (mut list, mut params) = (String::new(), String::new());
    for row in fs::read_to_string(mps("registry-1.6.1.tsv")).unwrap().lines() {
        let mut columns = row.split('\t');
        let mut next = || columns.next().unwrap();
        let (code, name, kind) = (next(), next(), next());
        write!(list, " \\\n  EVENT(X, {name:19}, 0x{code}, TRUE, {kind})").unwrap();
        write!(params, "\n#define EVENT_{name}_PARAMS(PARAM, X)").unwrap();
        for (index, param) in columns.enumerate() {
            let (sort, name) = param.split_once(' ').unwrap();
            write!(params, " \\\n  PARAM(X, {index}, {sort}, {name})").unwrap();
        }
    }
    let header = tempfile::NamedTempFile::new().unwrap();
    let version = [("MAJOR", 1), ("MEDIAN", 6), ("MINOR", 1)]
        .map(|(part, number)| format!("#define EVENT_VERSION_{part} ((unsigned){number})\n"));
    let text = format!("{}#define EVENT_LIST(EVENT, X){list}\n{params}\n", version.concat());
    fs::write(header.path(), text).unwrap();
    header
}

#[test]
fn a_dump_of_version_1_6_1_equals_the_dump_of_mpseventcnv() {
    // `.mps.bool`, `.mps.version`
    let header = header_1_6_1();
    let header = ["--eventdef", header.path().to_str().unwrap()];
    let name = "mpmss-1.116-cut";
    assert_same(
        &[&header[..], &["--order", "file"]].concat(),
        &format!("{name}.log"),
        &format!("{name}.cnv"),
    );
    let cnv = fs::read_to_string(mps(&format!("{name}.cnv"))).unwrap();
    let mut expected: Vec<&str> = cnv.lines().collect();
    expected.sort_by_key(|line| &line[..16]);
    let (found, code, _) = run(&[&header[..], &[&mps(&format!("{name}.log"))]].concat());
    assert_eq!(code, 0);
    assert_eq!(String::from_utf8(found).unwrap().lines().collect::<Vec<_>>(), expected);
    // Both values of a Boolean, one before a word, and three of them in one byte.
    for (code, rest) in [("44 ", " 4000 1 80"), ("44 ", " 4000 0 30"), ("42 ", " 1 1 1")] {
        let has = |line: &str| line[17..].trim_start().starts_with(code) && line.ends_with(rest);
        assert!(cnv.lines().any(has), "{code}{rest}");
    }
}

#[test]
fn a_log_without_event_init_is_read_the_same() {
    // EventInit comes first; a log without the Arena kind lacks it.
    for (log, size) in [("labels", 48), ("mpmss-32bit-cut", 40)] {
        let bytes = fs::read(mps(&format!("{log}.log"))).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes[size..]).unwrap();
        let (found, code, errors) = run(&["--order", "file", file.path().to_str().unwrap()]);
        assert_eq!((code, errors.as_str()), (0, ""));
        let cnv = fs::read_to_string(mps(&format!("{log}.cnv"))).unwrap();
        let expected = &cnv[cnv.find('\n').unwrap() + 1..];
        assert_eq!(String::from_utf8(found).unwrap(), expected, "{log}");
    }
}

/// Writes an event of a 32-bit x86 in the layout of a C compiler with another platform. The clock
/// is an `unsigned long` of 32 bits, and a double is aligned to `align`.
fn with_short_clock(event: &[u8], big_endian: bool, align: usize) -> Vec<u8> {
    let code = u16::from_le_bytes([event[0], event[1]]);
    let mut made = Vec::new();
    let put = |made: &mut Vec<u8>, bytes: &[u8]| {
        while !made.len().is_multiple_of(bytes.len().min(align)) {
            made.push(0xEE);
        }
        let mut bytes = bytes.to_vec();
        if big_endian {
            bytes.reverse();
        }
        made.extend(bytes);
    };
    put(&mut made, &event[..2]);
    put(&mut made, &[0; 2]);
    put(&mut made, &event[4..8]);
    let row = MPS.event_types.iter().find(|row| row.code == code).unwrap();
    let (mut at, mut struct_align) = (12, 4);
    for param in row.params {
        let size = match param.sort {
            Sort::D => 8,
            Sort::B => 1,
            Sort::S => {
                made.extend(&event[at..]);
                continue;
            }
            _ => 4,
        };
        at = usize::next_multiple_of(at, size.min(4));
        put(&mut made, &event[at..at + size]);
        at += size;
        struct_align = struct_align.max(size.min(align));
    }
    made.resize(made.len().next_multiple_of(struct_align), 0);
    let mut size = (made.len() as u16).to_le_bytes();
    if big_endian {
        size.reverse();
    }
    made[2..4].copy_from_slice(&size);
    made
}

/// `.mps.event`
#[test]
fn a_clock_of_32_bits_is_inferred_in_both_byte_orders() {
    let bytes = fs::read(mps("mpmss-32bit-cut.log")).unwrap();
    let (mut events, mut rest) = (Vec::new(), bytes.as_slice());
    while !rest.is_empty() {
        let size = usize::from(u16::from_le_bytes([rest[2], rest[3]]));
        events.push(&rest[..size]);
        rest = &rest[size..];
    }
    let cnv = fs::read_to_string(mps("mpmss-32bit-cut.cnv")).unwrap();
    // The lower half of the clock remains.
    let expected: Vec<String> = cnv.lines().map(|line| format!("00000000{}", &line[8..])).collect();
    for (big_endian, align) in [(false, 8), (true, 8), (false, 4), (true, 4)] {
        let made: Vec<_> =
            events.iter().map(|event| with_short_clock(event, big_endian, align)).collect();
        // Streams with other clocks surround this one.
        let file = tempfile::NamedTempFile::new().unwrap();
        let [other, one] = [fs::read(mps("labels.log")).unwrap(), made.concat()];
        fs::write(file.path(), [&*other, &one, &other].concat()).unwrap();
        let (found, code, errors) = run(&["--order", "file", file.path().to_str().unwrap()]);
        let label_lines = fs::read_to_string(mps("labels.cnv")).unwrap();
        let all = [label_lines.clone(), expected.join("\n") + "\n", label_lines].concat();
        assert_eq!((code, errors.as_str()), (0, ""));
        assert!(String::from_utf8(found).unwrap() == all, "big-endian: {big_endian}, {align}");
        for skip in [0, 1, 50] {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), made[skip..].concat()).unwrap();
            let name = file.path().to_str().unwrap();
            let (found, code, errors) = run(&["--order", "file", name]);
            let what = format!("big-endian: {big_endian}, doubles at {align}, from {skip}");
            assert_eq!((code, errors.as_str()), (0, ""), "{what}");
            let found = String::from_utf8(found).unwrap();
            assert_eq!(found.lines().collect::<Vec<_>>(), expected[skip..], "{what}");
            // A log of ours can be made from it.
            let (_, code, errors) = run(&["cut", name, "-o", "-"]);
            assert_eq!((code, errors.as_str()), (0, ""), "{what}");
        }
    }
}

#[test]
fn pointers_and_addresses_are_labelled_apart() {
    // The last PoolFree gets the pool 2000. It has a label: once as an address, once as a pointer.
    let whole = fs::read(mps("labels.log")).unwrap();
    let word = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let size = |at: usize| usize::from(u16::from_le_bytes([whole[at + 2], whole[at + 3]]));
    let next = |&at: &usize| Some(at + size(at)).filter(|&at| at < whole.len());
    let starts: Vec<usize> = std::iter::successors(Some(0), next).collect();
    let label = *starts.iter().find(|&&at| whole[at] == 0x22 && word(at + 16) == 0x2000).unwrap();
    let free =
        *starts.iter().filter(|&&at| whole[at] == 0x2C).max_by_key(|&&at| word(at + 8)).unwrap();
    for (code, expected) in
        [(0x22, "old:0000000000002000[\"Inst\"]"), (0x23, "old:0000000000002000 ")]
    {
        let mut bytes = whole.clone();
        bytes[label] = code;
        bytes[free + 24..free + 32].copy_from_slice(&0x2000_u64.to_le_bytes());
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes).unwrap();
        for order in ["--order=time", "--order=file"] {
            let (found, status, _) =
                run(&["-vv", order, "--events=PoolFree", file.path().to_str().unwrap()]);
            let found = String::from_utf8(found).unwrap();
            assert_eq!(status, 0);
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }
}
