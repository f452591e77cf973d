//! The layout of an event: the offsets of its parameters.
//!
//! ```text
//!  0        8        16                  FIXED_SIZE        size(), a multiple of 8
//!  │ header │ pool   │ high │ gap │ size │ string │ padding │
//! ```
//!
//! Layout: `.event.params`, `.event.pad` in `design/format.md`.

use crate::{EVENT_HEADER_SIZE, Param, Sort};

/// The size of a word of this platform, in bytes.
pub const WORD_SIZE: usize = size_of::<usize>();

/// Returns the end of the first `count` parameters, in bytes from the start of the event. A string
/// has size 0 here.
const fn end_of(params: &[Param], count: usize, word_size: usize) -> usize {
    let mut end = EVENT_HEADER_SIZE;
    let mut index = 0;
    while index < count {
        let sort = params[index].sort;
        end = sort.offset_after(end, word_size) + sort.size(word_size);
        index += 1;
    }
    end
}

/// Returns the offset of a parameter in its event.
///
/// # Panics
///
/// Panics if `index` is not the index of a parameter.
#[must_use]
pub const fn param_offset(params: &[Param], index: usize, word_size: usize) -> usize {
    params[index].sort.offset_after(end_of(params, index, word_size), word_size)
}

/// Returns the size of the header and the parameters without a string, in bytes. If there is no
/// string, it is rounded up to a multiple of 8.
#[must_use]
pub const fn fixed_size(params: &[Param], word_size: usize) -> usize {
    let end = end_of(params, params.len(), word_size);
    match params {
        [.., Param { sort: Sort::S, .. }] => end,
        _ => end.next_multiple_of(8),
    }
}

/// Returns the offset of the parameter with this name on this platform. For the code that `events!`
/// makes.
#[doc(hidden)]
pub const fn offset_of_name(params: &[Param], name: &str) -> usize {
    let mut index = 0;
    while index < params.len() {
        if crate::text::is_equal(params[index].name, crate::doc::name(name)) {
            return param_offset(params, index, WORD_SIZE);
        }
        index += 1;
    }
    panic!("no parameter has this name")
}
