//! The words: a table whose entries have their letters in one pool and their counts in another.
//!
//! ```text
//!  table (open addressing) │ – │ hash, letters, count │ – │ …
//!                                      │        └─▶ pool "counts": eight bytes each, never moved
//!                                      └──────────▶ pool "letters": moved by the collector
//! ```
//!
//! Each word that is read is allocated before it is looked up, as an interpreter does with its
//! strings; and most are known already, and so garbage.

use crate::arena::{Arena, Place, SEGMENT_SIZE};
use crate::collect::Collector;
use crate::events::{FileBegin, FileEnd};
use crate::pool::Pool;
use telemetry::event;

/// Of a longer word only so much is taken, in bytes.
const WORD_SIZE_MAX: usize = 1024;
const _: () = assert!(WORD_SIZE_MAX <= SEGMENT_SIZE);

struct Entry {
    hash: u64,
    letters: Place,
    count: Place,
}

/// The words so far.
pub(crate) struct Words {
    arena: Box<Arena>,
    letters: Box<Pool>,
    counts: Box<Pool>,
    collector: Collector,
    /// A power of two of them, at least a quarter empty.
    table: Vec<Option<Entry>>,
    distinct: usize,
}

impl Words {
    pub(crate) fn new() -> Words {
        let arena = Arena::new();
        let letters = Pool::new(&arena, "letters", true);
        let counts = Pool::new(&arena, "counts", false);
        let table = std::iter::repeat_with(|| None).take(1 << 12).collect();
        Words { arena, letters, counts, collector: Collector::new(), table, distinct: 0 }
    }

    /// Counts the words of a file.
    pub(crate) fn count_file(&mut self, index: usize, name: &str, text: &[u8]) {
        event!(FileBegin, index, text.len(), name);
        let mut count = 0usize;
        for word in text.split(|byte| !is_letter(*byte)).filter(|word| !word.is_empty()) {
            self.count_word(word);
            count += 1;
        }
        event!(FileEnd, index, count, self.distinct);
    }

    fn count_word(&mut self, word: &[u8]) {
        if self.collector.is_time(&self.letters) {
            let roots = self.table.iter_mut().flatten().map(|entry| &mut entry.letters);
            self.collector.collect(&mut self.arena, &mut self.letters, roots);
        }
        let word = &word[..word.len().min(WORD_SIZE_MAX)];
        let letters = self.letters.allocate(&mut self.arena, word.len());
        let hash = lower_case(word, self.arena.bytes_mut(letters));
        let index = self.find(hash, letters);
        match &self.table[index] {
            Some(entry) => {
                let count = self.arena.bytes_mut(entry.count);
                let next = number(count) + 1;
                count.copy_from_slice(&next.to_ne_bytes());
                // A short word is given back at once, so that the log shows both ways.
                if word.len() <= 3 {
                    self.letters.free(&self.arena, letters);
                }
            }
            None => self.add(index, hash, letters),
        }
    }

    fn add(&mut self, index: usize, hash: u64, letters: Place) {
        let count = self.counts.allocate(&mut self.arena, size_of::<u64>());
        self.arena.bytes_mut(count).copy_from_slice(&1u64.to_ne_bytes());
        self.table[index] = Some(Entry { hash, letters, count });
        self.distinct += 1;
        if self.distinct * 4 > self.table.len() * 3 {
            self.grow();
        }
    }

    /// The index of the word's entry, or of the empty one that it will have.
    fn find(&self, hash: u64, letters: Place) -> usize {
        let word = self.arena.bytes(letters);
        let mut index = hash as usize & (self.table.len() - 1);
        while let Some(entry) = &self.table[index] {
            if entry.hash == hash && self.arena.bytes(entry.letters) == word {
                break;
            }
            index = (index + 1) & (self.table.len() - 1);
        }
        index
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        let empty = std::iter::repeat_with(|| None).take(size).collect();
        for entry in std::mem::replace(&mut self.table, empty).into_iter().flatten() {
            let mut index = entry.hash as usize & (size - 1);
            while self.table[index].is_some() {
                index = (index + 1) & (size - 1);
            }
            self.table[index] = Some(entry);
        }
    }

    /// The most frequent words with their counts, equal counts in alphabetical order.
    pub(crate) fn most_frequent(&self, count: usize) -> Vec<(u64, &[u8])> {
        let bytes = |place| self.arena.bytes(place);
        let entries = self.table.iter().flatten();
        let mut all: Vec<_> =
            entries.map(|entry| (number(bytes(entry.count)), bytes(entry.letters))).collect();
        all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        all.truncate(count);
        all
    }

    /// Gives all memory back.
    pub(crate) fn finish(mut self) {
        self.letters.finish(&mut self.arena);
        self.counts.finish(&mut self.arena);
        self.arena.destroy();
    }
}

/// Letters and digits of ASCII, and whatever is not ASCII.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Puts the word in lower case and gives its hash (FNV-1a).
fn lower_case(word: &[u8], lower: &mut [u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    for (from, to) in word.iter().zip(lower) {
        *to = from.to_ascii_lowercase();
        hash = (hash ^ u64::from(*to)).wrapping_mul(0x0100_0000_01B3);
    }
    hash
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("a count has eight bytes"))
}
