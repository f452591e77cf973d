//! The laws of a registry, which the compiler enforces.
//!
//! ```text
//!  events! ── rows, kinds ──▶ registry(…) ── a law is broken ──▶ panic in a const: a compile error
//!      event type `PoolAlloc`: code 0x002A is already used by `PoolInit`
//! ```
//!
//! Each message names the row and the breach. Design: `.reg.code`, `.reg.kind`,
//! `.annot.string` in `design/telemetry.md`; `.store` in `design/format.md`; `marks.rs` has the
//! laws of marks.

mod marks;

use crate::text::{Text, is_equal};
use crate::{
    CODE_MAX, EVENT_FIXED_SIZE_MAX, EventType, KIND_COUNT_MAX, Kind, Param, Row, Sort, layout,
};

/// The maximum size of the name of an event type or a parameter, in bytes.
pub const NAME_SIZE_MAX: usize = 31;
/// The maximum size of the name of a kind, in bytes.
pub const KIND_NAME_SIZE_MAX: usize = 15;
/// The kind of a row whose kind does not exist.
const KIND_NONE: u8 = u8::MAX;
/// The size of the widest word, in bytes.
const WORD_SIZE_MAX: usize = 8;

/// Checks the laws of a registry. Its kinds are in ascending order of index, its rows of code.
#[track_caller]
pub const fn registry(name: &str, doc: &str, kinds: &[Kind], rows: &[Row], is_runtime: bool) {
    let who = Text::new("registry ").quoted(name);
    if name.is_empty() {
        who.says("it has no name")
    }
    who.check(name, usize::MAX, doc);
    check_kinds(kinds);
    let mut counters = marks::Counters::new();
    marks::check(("registry ", name, doc), None, rows, &mut counters);
    let mut index = 0;
    while index < rows.len() {
        let EventType { name, code, .. } = rows[index].event_type;
        // A row without a name is one that the macros have already refused.
        if !name.is_empty() {
            check_row(&rows[index], kinds, is_runtime);
            if index > 0 && rows[index - 1].event_type.code == code {
                let what = Text::new("event type ").quoted(name).then(": code ").code(code);
                let before = rows[index - 1].event_type.name;
                what.then(" is already used by ").quoted(before).breaks_a_law()
            }
            let own = &rows[index].event_type;
            marks::check(("event type ", name, own.doc), Some(own), rows, &mut counters);
        }
        index += 1;
    }
}

/// Checks the kinds, which are in ascending order of index.
#[track_caller]
const fn check_kinds(kinds: &[Kind]) {
    let mut index = 0;
    while index < kinds.len() {
        let Kind { name, doc, index: number } = kinds[index];
        let who = Text::new("kind ").quoted(name);
        who.check(name, KIND_NAME_SIZE_MAX, doc);
        if name.eq_ignore_ascii_case("all") {
            who.says("that name stands for all kinds, in any case")
        }
        if number as usize >= KIND_COUNT_MAX {
            who.says("its index is not from 0 to 63")
        }
        let mut other = 0;
        while other < index {
            if kinds[other].name.eq_ignore_ascii_case(name) {
                who.says("another kind has that name too, in whatever case")
            }
            if kinds[other].index == number {
                let what = who.then(": index ").number(number as usize);
                what.then(" is already used by ").quoted(kinds[other].name).breaks_a_law()
            }
            other += 1;
        }
        index += 1;
    }
}

#[track_caller]
const fn check_row(row: &Row, kinds: &[Kind], is_runtime: bool) {
    let EventType { name, code, kind, doc, params, .. } = row.event_type;
    let who = Text::new("event type ").quoted(name);
    who.check(name, NAME_SIZE_MAX, doc);
    if row.code > u16::MAX as u64 {
        who.says("a code has 16 bits; codes are from 0x0001 to 0xFEFF")
    }
    if code == 0 {
        who.says("code 0x0000 is reserved for base records; codes are from 0x0001 to 0xFEFF")
    }
    if (code > CODE_MAX) != is_runtime {
        let what = who.then(": code ").code(code);
        what.then(" is reserved for the runtime's own registry; codes are from 0x0001 to 0xFEFF")
            .breaks_a_law()
    }
    if kind == KIND_NONE {
        let mut what =
            who.then(": kind ").quoted(row.kind_name).then(" does not exist; the kinds are");
        let mut index = 0;
        while index < kinds.len() {
            what = what.then(" ").quoted(kinds[index].name);
            index += 1;
        }
        what.breaks_a_law()
    }
    let size = layout::fixed_size(params, WORD_SIZE_MAX);
    if size > EVENT_FIXED_SIZE_MAX {
        let what = who.then(": with words of 8 bytes its fixed part has ").number(size);
        let what = what.then(" bytes, but may have ").number(EVENT_FIXED_SIZE_MAX);
        what.then(", or it may not fit a block").breaks_a_law()
    }
    check_params(who, params);
}

#[track_caller]
const fn check_params(row: Text, params: &[Param]) {
    let mut index = 0;
    while index < params.len() {
        let Param { sort, name, doc } = params[index];
        let who = row.then(": parameter ").quoted(name);
        who.check(name, NAME_SIZE_MAX, doc);
        if matches!(sort, Sort::S) && index + 1 < params.len() {
            who.says("a string comes last, and there is at most one")
        }
        let mut other = 0;
        while other < index {
            if is_equal(params[other].name, name) {
                who.says("another parameter has that name too")
            }
            other += 1;
        }
        index += 1;
    }
}

/// Returns the index of a kind. An index that is too large becomes one that `registry` refuses.
pub const fn kind_index(index: u64) -> u8 {
    if index < KIND_COUNT_MAX as u64 { index as u8 } else { u8::MAX }
}

/// Returns the bit of a kind; 0 for an index that is too large.
pub const fn kind_bit(index: u64) -> u64 {
    if index < KIND_COUNT_MAX as u64 { 1 << index } else { 0 }
}

/// Returns the index of the kind with this name, or `KIND_NONE`, which `registry` refuses.
pub const fn kind_named(kinds: &[Kind], name: &str) -> u8 {
    let mut index = 0;
    while index < kinds.len() {
        if is_equal(kinds[index].name, name) {
            return kinds[index].index;
        }
        index += 1;
    }
    KIND_NONE
}

/// Sorts kinds by index.
pub const fn sorted_kinds<const COUNT: usize>(mut kinds: [Kind; COUNT]) -> [Kind; COUNT] {
    let mut index = 1;
    while index < COUNT {
        let mut at = index;
        while at > 0 && kinds[at - 1].index > kinds[at].index {
            (kinds[at - 1], kinds[at]) = (kinds[at], kinds[at - 1]);
            at -= 1;
        }
        index += 1;
    }
    kinds
}

/// Counts the rows of all parts of a list.
pub const fn row_count(parts: &[&[Row]]) -> usize {
    let mut count = 0;
    let mut part = 0;
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// Joins the rows of all parts of a list, and sorts them by code. Rows of one code keep their
/// order.
pub const fn sorted_rows<const COUNT: usize>(parts: &[&[Row]]) -> [Row; COUNT] {
    let mut rows = [Row::__ROW; COUNT];
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            let mut at = count;
            while at > 0 && rows[at - 1].event_type.code > parts[part][index].event_type.code {
                rows[at] = rows[at - 1];
                at -= 1;
            }
            rows[at] = parts[part][index];
            count += 1;
            index += 1;
        }
        part += 1;
    }
    rows
}

/// Returns the event types of rows.
pub const fn event_types<const COUNT: usize>(rows: &[Row; COUNT]) -> [EventType; COUNT] {
    let mut event_types = [Row::__ROW.event_type; COUNT];
    let mut index = 0;
    while index < COUNT {
        event_types[index] = rows[index].event_type;
        index += 1;
    }
    event_types
}
