//! Damaged memory: the commands print text, faults, or one clear line, and never hang.
//!
//! ```text
//!  gcore ─▶ core ─ each field in turn overwritten ─▶ the decoder, in Python outside of gdb
//!  process ─ a field overwritten by gdb ───────────▶ the commands
//! ```
//!
//! Rules: `.debug.core` in `design/telemetry.md`; section 9 of `design/format.md`.

use super::session::{self, Session};
use tests::programs::{root, run, system};

/// `.root.node`, `.root.self`, `.root.order`, `.read.chain`, `.registry.trust`
#[test]
fn the_decoder_reports_any_garbage_and_ends() {
    let mut session = Session::of("threads 2 30");
    session.environment.push(("MPS_TELEMETRY_BLOCK_SIZE", "4096".to_owned()));
    let core = session.path("process.core");
    session.run(&["gcore process.core"]);
    let hostile = [root().join("tests/gdb/hostile.py")];
    let said = run(system("python3").env("PATH", session::path()).args(hostile).arg(core));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let cases = said.split(' ').next().and_then(|count| count.parse::<usize>().ok());
    assert!(cases.is_some_and(|count| count > 500), "{said}");
}

/// `.root.version`, `.root.self`, `.root.order`
#[test]
fn gdb_reports_a_damaged_root_in_one_clear_line() {
    let session = Session::of("threads 1 10");
    let cases = [
        ("5 * 4", "2", 2, "has version 2; these commands read version 1"),
        ("16", "7", 4, "is damaged: its byte-order mark is 07000000"),
        ("24", "5", 1, "is damaged: its word size is 5, 8"),
        ("26", "40", 1, "is damaged: its block size is 2 to the power of 40"),
        ("22", "8", 2, "is damaged: its size is 8"),
    ];
    let mut commands = vec![
        "python memory = TelemetryMemory(); at = telemetry_roots(memory)[0].address".to_owned(),
    ];
    for (offset, value, size, _) in cases {
        commands.push(format!("python was = memory.read(at + {offset}, {size})"));
        commands.push(format!(
            "python memory.write(at + {offset}, ({value}).to_bytes({size}, 'little'))"
        ));
        commands.push("telemetry dump".to_owned());
        commands.push(format!("python memory.write(at + {offset}, was)"));
    }
    commands.push("python memory.write(at + 32, bytes(8))".to_owned());
    commands.push("telemetry dump".to_owned());
    let said = session.run(&commands);
    for (index, (.., expected)) in cases.iter().enumerate() {
        let said = &said[3 + 4 * index];
        assert!(said.starts_with("error: the root at 0x"), "{said}");
        assert!(said.ends_with(&format!(" {expected}\n")), "{said}");
    }
    let said = said.last().expect("a last command");
    assert!(said.starts_with("error: nothing was recorded yet"), "{said}");
}

/// `.root.node`: chains that form a circle, exceed the memory, or lead nowhere.
#[test]
fn dump_reports_damaged_chains_and_shows_the_rest() {
    let session = Session::of("threads 1 10");
    let patch = |what: &str, offset: usize, value: &str, size: usize| {
        format!("python memory.write(root.{what} + {offset}, ({value}).to_bytes({size}, 'little'))")
    };
    let said = session.run(&[
        "python memory = TelemetryMemory(); root = telemetry_roots(memory)[0]",
        &patch("extents", 0, "root.extents", 8),
        "telemetry dump Object",
        &patch("extents", 0, "4096", 8),
        "telemetry dump Object",
        &patch("extents", 12, "0", 4),
        "telemetry dump Object",
        &patch("extents", 12, "32", 4),
        &patch("registries", 8, "2**32 - 1", 4),
        "telemetry get",
    ]);
    let made = |said: &str| said.lines().filter(|line| line.contains(" Made ")).count();
    assert_eq!(made(&said[2]), 10, "{}", said[2]);
    assert!(said[2].contains("telemetry: the chain of extents comes back to 0x"), "{}", said[2]);
    assert_eq!(made(&said[4]), 10, "{}", said[4]);
    assert!(said[4].contains("leads to unreadable memory at 0x1000\n"), "{}", said[4]);
    let no_block = "error: the event log: has a telemetry root, but none of the blocks";
    assert!(said[6].starts_with(no_block), "{}", said[6]);
    assert!(said[9].contains("registry.1.kinds: "), "{}", said[9]);
    assert!(said[9].lines().count() < 100_000, "{} lines", said[9].lines().count());
}
