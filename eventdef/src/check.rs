//! The laws of a registry, kept by the compiler.
//!
//! ```text
//!  events! ── rows, kinds ──▶ registry(…) ── a law is broken ──▶ panic in a const: a compile error
//!      event type `PoolAlloc`: code 0x002A is already used by `PoolInit`
//! ```
//!
//! Every message names the row and says what is wrong with it. Design: `.reg.code`, `.reg.kind`,
//! `.annot.string` in `design/telemetry.md`; `.store` in `design/format.md`.

use crate::text::{Text, is_equal};
use crate::{
    CODE_MAX, EVENT_FIXED_SIZE_MAX, EventType, KIND_COUNT_MAX, Kind, Param, Row, Sort, layout,
};

/// Size of the name of an event type or a parameter, at most, in bytes.
pub const NAME_SIZE_MAX: usize = 31;
/// Size of the name of a kind, at most, in bytes.
pub const KIND_NAME_SIZE_MAX: usize = 15;
/// The kind of a row whose kind does not exist.
const KIND_NONE: u8 = u8::MAX;
/// The widest word that there is, in bytes.
const WORD_SIZE_MAX: usize = 8;

/// Checks every law that a registry as a whole is under.
#[doc(hidden)]
#[track_caller]
pub const fn registry(name: &str, doc: &str, kinds: &[Kind], rows: &[Row], is_runtime: bool) {
    let who = Text::new("registry ").quoted(name);
    if name.is_empty() {
        who.says("it has no name")
    }
    if doc.is_empty() {
        who.says("it has no doc string")
    }
    check_kinds(kinds);
    let mut index = 0;
    // Only a code that is not above all before it can be one of them: a list in ascending order
    // is checked in one pass.
    let mut code_highest = 0;
    while index < rows.len() {
        // A row without a name could not be read: an error has been given already.
        if !rows[index].event_type.name.is_empty() {
            check_row(&rows[index], kinds, is_runtime);
            let code = rows[index].event_type.code;
            if code > code_highest {
                code_highest = code;
            } else {
                check_code_is_unique(rows, index);
            }
        }
        index += 1;
    }
}

/// In ascending order of index: so that equal ones stand side by side.
#[track_caller]
const fn check_kinds(kinds: &[Kind]) {
    let mut index = 0;
    while index < kinds.len() {
        let Kind { name, doc, index: number } = kinds[index];
        let who = Text::new("kind ").quoted(name);
        if name.len() > KIND_NAME_SIZE_MAX {
            who.says_size_max("its name", KIND_NAME_SIZE_MAX)
        }
        if name.eq_ignore_ascii_case("all") {
            who.says("that name stands for all kinds, in any case")
        }
        if doc.is_empty() {
            who.says("it has no doc string")
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

/// What a row alone can get wrong.
#[track_caller]
const fn check_row(row: &Row, kinds: &[Kind], is_runtime: bool) {
    let EventType { name, code, kind, doc, params, .. } = row.event_type;
    let who = Text::new("event type ").quoted(name);
    if name.len() > NAME_SIZE_MAX {
        who.says_size_max("its name", NAME_SIZE_MAX)
    }
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
    if doc.is_empty() {
        who.says("it has no doc string")
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
    if layout::fixed_size(params, WORD_SIZE_MAX) > EVENT_FIXED_SIZE_MAX {
        let what = who.then(": with words of 8 bytes its fixed part has ");
        let what = what.number(layout::fixed_size(params, WORD_SIZE_MAX));
        what.then(" bytes, but may have ")
            .number(EVENT_FIXED_SIZE_MAX)
            .then(", or it may not fit a block")
            .breaks_a_law()
    }
    check_params(who, params);
}

/// What the parameters of a row can get wrong.
#[track_caller]
const fn check_params(row: Text, params: &[Param]) {
    let mut index = 0;
    while index < params.len() {
        let Param { sort, name, doc } = params[index];
        let who = row.then(": parameter ").quoted(name);
        if name.len() > NAME_SIZE_MAX {
            who.says_size_max("its name", NAME_SIZE_MAX)
        }
        if doc.is_empty() {
            who.says("it has no doc string")
        }
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

/// No row before this one has its code. (That none has its name, the structs see to.)
#[track_caller]
const fn check_code_is_unique(rows: &[Row], index: usize) {
    let EventType { name, code, .. } = rows[index].event_type;
    let who = Text::new("event type ").quoted(name);
    let mut other = 0;
    while other < index {
        let before = rows[other].event_type;
        if before.code == code {
            who.then(": code ")
                .code(code)
                .then(" is already used by ")
                .quoted(before.name)
                .breaks_a_law()
        }
        other += 1;
    }
}

/// The index of a kind; an index that there is not for one that is too large, of which `registry`
/// complains.
#[doc(hidden)]
pub const fn kind_index(index: u64) -> u8 {
    if index < KIND_COUNT_MAX as u64 { index as u8 } else { u8::MAX }
}

/// The bit of a kind; none for an index that is too large.
#[doc(hidden)]
pub const fn kind_bit(index: u64) -> u64 {
    if index < KIND_COUNT_MAX as u64 { 1 << index } else { 0 }
}

/// The index of the kind with this name; `KIND_NONE`, of which `registry` complains, if there is
/// none.
#[doc(hidden)]
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

/// The kinds in ascending order of index.
#[doc(hidden)]
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

/// How many rows the parts of a list have.
#[doc(hidden)]
pub const fn row_count(parts: &[&[Row]]) -> usize {
    let mut count = 0;
    let mut part = 0;
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// The rows of all parts of a list.
#[doc(hidden)]
pub const fn joined_rows<const COUNT: usize>(parts: &[&[Row]]) -> [Row; COUNT] {
    let mut rows = [Row::__ROW; COUNT];
    let mut count = 0;
    let mut part = 0;
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            rows[count] = parts[part][index];
            count += 1;
            index += 1;
        }
        part += 1;
    }
    rows
}

/// The event types of all rows, in ascending order of code.
#[doc(hidden)]
pub const fn sorted_rows<const COUNT: usize>(parts: &[&[Row]]) -> [EventType; COUNT] {
    let rows: [Row; COUNT] = joined_rows(parts);
    let mut event_types = [Row::__ROW.event_type; COUNT];
    let mut index = 0;
    while index < COUNT {
        event_types[index] = rows[index].event_type;
        let mut at = index;
        while at > 0 && event_types[at - 1].code > event_types[at].code {
            (event_types[at - 1], event_types[at]) = (event_types[at], event_types[at - 1]);
            at -= 1;
        }
        index += 1;
    }
    event_types
}
