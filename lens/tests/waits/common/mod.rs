//! A kernel's formats, and a writer of pages: the twin of the reader of pages.
//!
//! ```text
//!  tests/golden/waits/*.formats ──▶ Tracepoints       records ── Writer ──▶ pages
//! ```

use lens::waits::source::format::{ByteOrder, Format, Machine};
use lens::waits::source::page::Layout;
use lens::waits::source::tracepoints::Tracepoints;

pub(crate) const FORMATS: &str = include_str!("../../golden/linux-6.18-x86_64.formats");

pub(crate) const X86_64: Machine = Machine { order: ByteOrder::Little, word_size: 8 };

/// Returns the formats of the golden file: group and name, text.
pub(crate) fn formats() -> Vec<(&'static str, &'static str)> {
    FORMATS.split("== ").filter_map(|part| part.split_once('\n')).collect()
}

pub(crate) fn layout() -> Layout {
    let formats = formats();
    let page = formats.iter().find(|(name, _)| *name == "header_page").expect("a header_page");
    Layout::parse(ByteOrder::Little, page.1).expect("the layout")
}

pub(crate) fn format(name: &str) -> Format {
    let formats = formats();
    let (_, text) = formats.iter().find(|(path, _)| path.ends_with(name)).expect("a format");
    let (system, _) = formats
        .iter()
        .find_map(|(path, _)| path.split_once('/').filter(|(_, last)| *last == name))
        .expect("its system");
    Format::parse(system, text).expect("a sound format")
}

pub(crate) fn tracepoints() -> Tracepoints {
    let mut tracepoints = Tracepoints::new(X86_64);
    for (path, text) in formats() {
        let Some((system, _)) = path.split_once('/') else { continue };
        let format = Format::parse(system, text).expect("a sound format");
        tracepoints.learn(&format);
    }
    tracepoints
}

/// How the writer gives a record its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// By the record's own bits if they suffice.
    Delta,
    /// By a record of ticks to add.
    Extend,
    /// By a record of absolute ticks.
    Absolute,
}

/// Writes pages as a kernel does.
pub(crate) struct Writer {
    machine: Machine,
    page_size: usize,
    page: Vec<u8>,
    lost: Option<u64>,
    ticks: u64,
    pub(crate) pages: Vec<Vec<u8>>,
}

impl Writer {
    pub(crate) fn new(machine: Machine) -> Writer {
        let page_size = 4096;
        Writer { machine, page_size, page: Vec::new(), lost: None, ticks: 0, pages: Vec::new() }
    }

    fn number(&self, number: u64, size: usize) -> Vec<u8> {
        let bytes = number.to_le_bytes();
        let mut bytes = bytes[..size].to_vec();
        if self.machine.order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    fn header_size(&self) -> usize {
        8 + usize::from(self.machine.word_size)
    }

    fn head(&self, kind: u32, delta: u32) -> Vec<u8> {
        let word = match self.machine.order {
            ByteOrder::Little => delta << 5 | kind,
            ByteOrder::Big => kind << 27 | delta,
        };
        self.number(u64::from(word), 4)
    }

    fn long_ticks(&self, kind: u32, ticks: u64) -> Vec<u8> {
        let mut bytes = self.head(kind, (ticks & 0x7FF_FFFF) as u32);
        bytes.extend(self.number(ticks >> 27 & 0xFFFF_FFFF, 4));
        bytes
    }

    /// States that records were lost before the next page.
    pub(crate) fn lose(&mut self, count: u64) {
        self.end();
        self.lost = Some(count);
    }

    /// Adds a record that the kernel took back.
    pub(crate) fn discard(&mut self, words: u32) {
        let mut bytes = self.head(29, 1);
        bytes.extend(self.number(u64::from(words) * 4 + 4, 4));
        bytes.extend(vec![0xEE; words as usize * 4]);
        if !self.page.is_empty() && self.page.len() + bytes.len() <= self.page_size {
            self.page.extend(bytes);
        }
    }

    /// Adds a record. The bytes are padded to a multiple of 4.
    pub(crate) fn record(&mut self, ticks: u64, stamp: Stamp, data: &[u8]) {
        let mut data = data.to_vec();
        data.resize(data.len().next_multiple_of(4), 0);
        if self.page.len() + data.len() + 24 > self.page_size {
            self.end();
        }
        if self.page.is_empty() {
            self.page = self.number(ticks, 8);
            self.page.extend(vec![0; usize::from(self.machine.word_size)]);
            self.ticks = ticks;
        }
        let delta = ticks - self.ticks;
        let is_short = delta < 1 << 27;
        let own = match stamp {
            Stamp::Delta if is_short => delta as u32,
            Stamp::Absolute => {
                let stamp = self.long_ticks(31, ticks & ((1 << 59) - 1));
                self.page.extend(stamp);
                0
            }
            _ => {
                let extend = self.long_ticks(30, delta);
                self.page.extend(extend);
                0
            }
        };
        self.ticks = ticks;
        let words = data.len() / 4;
        if (1..=28).contains(&words) {
            let head = self.head(words as u32, own);
            self.page.extend(head);
        } else {
            let mut head = self.head(0, own);
            head.extend(self.number(data.len() as u64 + 4, 4));
            self.page.extend(head);
        }
        self.page.extend(data);
    }

    /// Ends the page.
    pub(crate) fn end(&mut self) {
        if self.page.is_empty() {
            return;
        }
        let header_size = self.header_size();
        let mut page = std::mem::take(&mut self.page);
        let size = page.len() - header_size;
        let mut commit = size as u64;
        let rest = self.page_size - page.len();
        if let Some(count) = self.lost.take() {
            commit |= 1 << 31;
            if rest >= 8 {
                commit |= 1 << 30;
                page.extend(self.number(count, usize::from(self.machine.word_size)));
            }
        }
        let commit = self.number(commit, usize::from(self.machine.word_size));
        page[8..header_size].copy_from_slice(&commit);
        page.resize(self.page_size, 0);
        self.pages.push(page);
    }
}

/// Returns the bytes of a record with these fields.
pub(crate) fn bytes(format: &Format, fields: &[(&str, &[u8])]) -> Vec<u8> {
    let ends = format.fields.iter().map(|field| field.slot.offset + field.slot.size);
    let mut bytes = vec![0; ends.max().unwrap_or(0) as usize];
    bytes[..2].copy_from_slice(&format.id.to_le_bytes());
    for (name, value) in fields {
        let from = format.slot(name).expect("a field of that name").offset as usize;
        bytes[from..from + value.len()].copy_from_slice(value);
    }
    bytes
}
