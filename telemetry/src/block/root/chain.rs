//! A chain: nodes with entries that are only added, for readers of memory.
//!
//! ```text
//!  first ─▶ │ next, count, stride │ entry │ entry │ … │ ─▶ │ next: 0, count, stride │ entry │ …
//! ```
//!
//! Entries are words, whatever their fields: section 9 of `design/format.md`. Adding an entry takes
//! no lock, so a signal handler may add one at any point, and a fork may come there. The first node
//! is among the program's own data, which come first in a core, so a truncated core still has it.
//! Design: `.sol.root` in `design/telemetry.md`; `.root.node` in `design/format.md`.

use crate::os::link::Link;
use crate::os::pages;
use bytemuck::Zeroable;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};
use eventlog::format::NodeHead;

/// The size of a whole node: a page.
const NODE_SIZE: usize = 4096;
const HEAD_WORD_COUNT: usize = size_of::<NodeHead>() / 8;
/// The words of the entries of a node.
const ENTRIES_WORD_COUNT: usize = NODE_SIZE / 8 - HEAD_WORD_COUNT - 1;
const NEXT_WORD: usize = offset_of!(NodeHead, next) / 8;
/// The word with *count* and *stride*.
const COUNT_WORD: usize = offset_of!(NodeHead, count) / 8;
const _: () = assert!(offset_of!(NodeHead, stride) == offset_of!(NodeHead, count) + 4);
const _: () = assert!(offset_of!(NodeHead, count).is_multiple_of(8));
const _: () = assert!(offset_of!(Node, entries) == size_of::<NodeHead>());
const _: () = assert!(size_of::<Node>() <= NODE_SIZE);

#[repr(C)]
#[derive(Zeroable)]
struct Node {
    head: [AtomicU64; HEAD_WORD_COUNT],
    entries: [AtomicU64; ENTRIES_WORD_COUNT],
    /// The same as *next*, for this process.
    after: Link<Node>,
}

pub(crate) struct Chain<const WORD_COUNT: usize> {
    first: Node,
}

impl<const WORD_COUNT: usize> Chain<WORD_COUNT> {
    pub(super) const fn new() -> Self {
        Chain { first: Node::NEW }
    }

    fn first(&'static self) -> &'static Node {
        self.first.begin(WORD_COUNT);
        &self.first
    }

    pub(crate) fn address(&'static self) -> u64 {
        address_of(self.first())
    }

    /// Removes all entries, in a forked child, which has one thread.
    pub(crate) fn forget(&self) {
        let words = self.first.head.iter().chain(&self.first.entries);
        words.for_each(|word| word.store(0, Ordering::Relaxed));
        self.first.after.set(None);
    }

    pub(crate) fn count(&'static self) -> usize {
        let nodes = core::iter::successors(Some(self.first()), |node| node.after.get());
        nodes.map(|node| node.count() as usize).sum()
    }

    /// Adds an entry, and stores its `last` word last: without that word readers ignore the entry.
    /// Returns its words; `None` if the system has no memory.
    pub(crate) fn insert(
        &'static self,
        entry: [u64; WORD_COUNT],
        last: usize,
    ) -> Option<&'static [AtomicU64]> {
        loop {
            let (node, count) = self.open_node()?;
            if node.count_up(count) {
                let words = node.words::<WORD_COUNT>(count);
                put(words, entry, last);
                return Some(words);
            }
        }
    }

    /// Adds an entry, and counts it last. Only one thread may do so at a time.
    pub(crate) fn append(&'static self, entry: [u64; WORD_COUNT]) -> Option<()> {
        let (node, count) = self.open_node()?;
        put(node.words::<WORD_COUNT>(count), entry, WORD_COUNT - 1);
        node.count_up(count).then_some(())
    }

    /// Returns the first node with room, and the number of its entries.
    fn open_node(&'static self) -> Option<(&'static Node, u32)> {
        let mut node = self.first();
        loop {
            let count = node.count();
            if (count as usize + 1) * WORD_COUNT <= ENTRIES_WORD_COUNT {
                return Some((node, count));
            }
            let next = follow(&node.after, WORD_COUNT)?;
            // Repeated by each thread that comes here: the thread that made it may be interrupted.
            node.head[NEXT_WORD].store(address_of(next), Ordering::Release);
            node = next;
        }
    }
}

impl Node {
    #[expect(clippy::declare_interior_mutable_const, reason = "the initial value of a first node")]
    const NEW: Node = Node {
        head: [const { AtomicU64::new(0) }; HEAD_WORD_COUNT],
        entries: [const { AtomicU64::new(0) }; ENTRIES_WORD_COUNT],
        after: Link::none(),
    };

    /// Stores its stride, if it has none.
    fn begin(&self, word_count: usize) {
        let none = bytemuck::cast([0, word_count as u32 * 8]);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.head[COUNT_WORD].compare_exchange(0, none, success, failure);
    }

    fn count(&self) -> u32 {
        let [count, _]: [u32; 2] = bytemuck::cast(self.head[COUNT_WORD].load(Ordering::Acquire));
        count
    }

    /// Counts another entry, if the count is still `count`; returns whether it was.
    fn count_up(&self, count: u32) -> bool {
        let old = self.head[COUNT_WORD].load(Ordering::Relaxed);
        let [now, stride]: [u32; 2] = bytemuck::cast(old);
        let new = bytemuck::cast([count + 1, stride]);
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        now == count && self.head[COUNT_WORD].compare_exchange(old, new, success, failure).is_ok()
    }

    fn words<const WORD_COUNT: usize>(&self, index: u32) -> &[AtomicU64] {
        let begin = index as usize * WORD_COUNT;
        &self.entries[begin..begin + WORD_COUNT]
    }
}

/// Returns the node at a link; makes it if it does not exist.
fn follow(link: &Link<Node>, word_count: usize) -> Option<&'static Node> {
    if let Some(node) = link.get() {
        return Some(node);
    }
    let [new] = pages::map_slice::<Node>(1)? else { return None };
    new.begin(word_count);
    // If two threads make one at once, one node stays.
    link.replace(None, Some(new));
    link.get()
}

/// Stores an entry, its `last` word after the others.
fn put<const COUNT: usize>(words: &[AtomicU64], entry: [u64; COUNT], last: usize) {
    for (index, (word, value)) in words.iter().zip(entry).enumerate() {
        if index != last {
            word.store(value, Ordering::Relaxed);
        }
    }
    words[last].store(entry[last], Ordering::Release);
}

fn address_of(node: &'static Node) -> u64 {
    core::ptr::from_ref(node).addr() as u64
}
