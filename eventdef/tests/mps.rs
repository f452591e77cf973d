//! The registry of MPS 2.0.0 against the facts, kept in `golden/mps-2.0.0.tsv`.
#![allow(missing_docs)]

use eventdef::{Kinds, Version, mps};
use std::fmt::Write;

#[test]
fn the_mps_registry_equals_the_facts_of_version_2_0_0() {
    let mut list = String::new();
    for event_type in mps::REGISTRY.event_types {
        let kind = &mps::REGISTRY.kinds[usize::from(event_type.kind)];
        write!(list, "{:04X}\t{}\t{}", event_type.code, event_type.name, kind.name).unwrap();
        for param in event_type.params {
            write!(list, "\t{} {}", param.sort.letter(), param.name).unwrap();
        }
        list.push('\n');
    }
    assert_eq!(list, include_str!("golden/mps-2.0.0.tsv"));
    assert_eq!(mps::REGISTRY.event_types.len(), 92);
    assert_eq!(mps::REGISTRY.version, Version { major: 2, median: 0, minor: 0 });
}

#[test]
fn the_mps_hot_variety_lacks_its_three_critical_events() {
    let sometimes = mps::REGISTRY.event_types.iter().filter(|event_type| !event_type.always);
    let names: Vec<&str> = sometimes.map(|event_type| event_type.name).collect();
    assert_eq!(names, ["PoolAlloc", "TraceFix", "TraceFixSeg"]);
}

#[test]
fn the_mps_kinds_are_the_standard_ones() {
    let names: Vec<&str> = mps::REGISTRY.kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(names, ["Arena", "Pool", "Trace", "Seg", "Ref", "Object", "User"]);
    assert_eq!(mps::Kinds::all(), Kinds::from_bits_retain(0x7F));
}
