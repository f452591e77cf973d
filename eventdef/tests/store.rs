//! The runtime's own registry against the table of section 5.3 of `design/format.md`.
#![allow(missing_docs)]

use eventdef::{CODE_MAX, store};

/// `.store`, `.store.intern`, `.store.label`, `.store.thread`, `.store.discarded`,
/// `.store.control`, `.store.source`.
#[test]
fn the_store_has_the_event_types_of_the_format_document() {
    let format = include_str!("format.md");
    let rows: Vec<&str> = format.lines().filter(|line| line.starts_with("| FF0")).collect();
    assert_eq!(rows.len(), store::REGISTRY.event_types.len());
    for (row, event_type) in rows.iter().zip(store::REGISTRY.event_types) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[1], format!("{:04X}", event_type.code));
        assert_eq!(cells[2], event_type.name);
        let params = event_type.params.iter();
        let params: Vec<String> =
            params.map(|param| format!("`{}` {}", param.name, param.sort.letter())).collect();
        assert_eq!(cells[3], params.join(", "));
        assert!(event_type.always && !event_type.retired && event_type.code > CODE_MAX);
    }
}

#[test]
fn the_store_is_named_telemetry_and_has_one_kind() {
    assert_eq!(store::REGISTRY.name, "telemetry");
    let kinds: Vec<_> = store::REGISTRY.kinds.iter().map(|kind| (kind.index, kind.name)).collect();
    assert_eq!(kinds, [(0, "Store")]);
}
