//! The chains of a root: extents, which hold the blocks of the stream, and registries.
//!
//! ```text
//!  root ──▶ node: next, count, stride │ entry │ entry │ … ──▶ node … ──▶ 0
//! ```
//!
//! The reader trusts no chain: it takes no node twice, and no more entries than a process can have.
//! Rules: `.root.node` in `design/format.md`.

use super::byte_order::InByteOrder;
use super::memory::Memory;
use crate::format::NodeHead;
use bytemuck::Pod;
use std::collections::HashSet;
use std::io;

/// Bytes of entries that are read in one step.
const ENTRIES_SIZE_ONCE: u64 = 1 << 16;

const NOT_IN_CORE: &str = "leads to memory that is not in the core";

#[derive(Debug)]
pub(super) struct Chain<T> {
    pub(super) entries: Vec<T>,
    /// Why the chain ends too early.
    pub(super) fault: Option<&'static str>,
}

/// Walks a chain from its first node on. Takes at most `left` entries.
pub(super) fn chain<T: Pod + InByteOrder>(
    memory: &Memory,
    first: u64,
    left: &mut usize,
) -> io::Result<Chain<T>> {
    let mut found = Chain { entries: Vec::new(), fault: None };
    let mut seen = HashSet::new();
    let mut at = first;
    while at != 0 && found.fault.is_none() {
        if !seen.insert(at) {
            found.fault = Some("comes back to where it was");
        } else if *left == 0 {
            found.fault = Some("has too many nodes");
        } else if let Some(node) = memory.read_value::<NodeHead>(at)? {
            let start = at.saturating_add(size_of::<NodeHead>() as u64);
            found.fault = entries(memory, start, &node, left, &mut found.entries)?;
            at = node.next;
        } else {
            found.fault = Some(NOT_IN_CORE);
        }
    }
    Ok(found)
}

/// Reads the entries of a node, and returns what is wrong with them.
fn entries<T: Pod + InByteOrder>(
    memory: &Memory,
    start: u64,
    node: &NodeHead,
    left: &mut usize,
    found: &mut Vec<T>,
) -> io::Result<Option<&'static str>> {
    let count = u64::from(node.count).min(*left as u64);
    *left -= (count as usize).max(1).min(*left);
    let stride = u64::from(node.stride);
    if count > 0 && stride == 0 {
        return Ok(Some("has entries of no size"));
    }
    // A later version may have longer entries, an earlier version shorter ones.
    let known = stride.min(size_of::<T>() as u64) as usize;
    let once = (ENTRIES_SIZE_ONCE / stride.max(1)).max(1);
    let mut bytes = Vec::new();
    let mut index = 0;
    while index < count {
        let some = (count - index).min(once);
        bytes.resize(((some - 1) * stride) as usize + known, 0);
        let Some(at) = start.checked_add(index * stride) else { return Ok(Some(NOT_IN_CORE)) };
        let present = memory.read(at, &mut bytes)?;
        for entry in bytes.get(..present).unwrap_or_default().chunks(stride as usize) {
            let Some(entry) = entry.get(..known) else { break };
            let mut value = T::zeroed();
            let to = bytemuck::bytes_of_mut(&mut value).iter_mut();
            to.zip(entry).for_each(|(to, from)| *to = *from);
            found.push(memory.in_order(value));
        }
        if present < bytes.len() {
            return Ok(Some(NOT_IN_CORE));
        }
        index += some;
    }
    Ok((u64::from(node.count) > count).then_some("has too many entries"))
}
