//! `eventcnv check` compares the declarations of a program with those in an earlier log.
//!
//! ```text
//!  log A: registries one, two ─┐
//!                              ├─ by name ──▶ a verdict for each, one exit code
//!  log B: registries two, one ─┘
//! ```
//!
//! Rule: `.sol.version.check` in `design/telemetry.md`.

use std::path::Path;
use tests::naive::{EventType, KINDS, Platform, TYPES, Writer, encode_registry};
use tests::programs::eventcnv;

/// The offset of a registry's name in its encoding (5.1 of the format).
const NAME_OFFSET: usize = 30;

/// Returns an encoded registry with a name of five letters and a version.
fn registry(name: &str, version: [u8; 3], types: &[EventType]) -> Vec<u8> {
    let mut encoding = encode_registry(KINDS, types);
    for (part, number) in version.into_iter().enumerate() {
        encoding[2 * part] = number;
    }
    encoding[NAME_OFFSET..NAME_OFFSET + 5].copy_from_slice(name.as_bytes());
    encoding
}

/// Writes a log that declares these registries and has no event.
fn log(path: &Path, registries: &[Vec<u8>]) {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, [7; 16], [9; 16]);
    for (index, encoding) in registries.iter().enumerate() {
        writer.encoded_registry(index as u16 + 1, encoding, 300);
    }
    writer.end();
    std::fs::write(path, writer.bytes()).expect("the log can be written");
}

/// Returns the tool's output, exit code and messages for two logs with these registries.
fn check(a: &[Vec<u8>], b: &[Vec<u8>]) -> (String, Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (a_path, b_path) = (directory.path().join("a.log"), directory.path().join("b.log"));
    log(&a_path, a);
    log(&b_path, b);
    let output = eventcnv()
        .args(["check", "a.log", "b.log"])
        .current_dir(directory.path())
        .output()
        .expect("a child");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), output.status.code(), text(output.stderr))
}

#[test]
fn check_compares_registries_by_name() {
    let old = [registry("first", [1, 0, 0], TYPES), registry("other", [2, 5, 1], &TYPES[1..])];
    let new = [registry("other", [2, 5, 2], TYPES), registry("first", [1, 0, 0], TYPES)];
    let (found, code, errors) = check(&old, &new);
    assert!(found.starts_with("other 2.5.1 -> 2.5.2\n  added "), "{found}");
    assert!(found.ends_with("allowed: this needs 2.5.2 or above\nfirst 1.0.0: the same\n"));
    assert_eq!((code, &*errors), (Some(0), ""));
    // One forbidden change is enough.
    let new =
        [registry("first", [1, 0, 1], &TYPES[1..]), registry("other", [2, 5, 1], &TYPES[1..])];
    let (found, code, _) = check(&old, &new);
    assert!(found.contains("\n  removed ") && found.contains("not allowed: this needs 1.1.0"));
    assert_eq!(code, Some(1), "{found}");
}

#[test]
fn check_reports_registries_that_one_log_lacks() {
    let [first, other] = ["first", "other"].map(|name| registry(name, [1, 0, 0], TYPES));
    let (found, code, _) = check(&[first.clone(), other.clone()], std::slice::from_ref(&first));
    assert_eq!(found, "first 1.0.0: the same\nother 1.0.0: only in a.log\n");
    assert_eq!(code, Some(0));
    let (found, code, errors) = check(&[first], &[other]);
    assert_eq!((&*found, code), ("", Some(2)));
    let expected = "no registry in common: a.log has first; b.log has other";
    assert!(errors.contains(expected), "{errors}");
}

#[test]
fn check_does_not_compare_a_damaged_registry() {
    let whole = registry("first", [1, 0, 0], TYPES);
    let cut = whole[..whole.len() - 20].to_vec();
    for (a, b) in [(&whole, &cut), (&cut, &whole)] {
        let (found, code, errors) = check(std::slice::from_ref(a), std::slice::from_ref(b));
        assert_eq!((&*found, code), ("", Some(2)), "{errors}");
        assert!(errors.contains("cannot compare"), "{errors}");
    }
}
