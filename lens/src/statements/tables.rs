//! Sums of tables to sums of statements.
//!
//! ```text
//!  (stream, table, address) ──▶ the last sums ── finish ──▶ (statement, stream)
//! ```
//!
//! A thread has a table, and states its sums so far again and again. Design: `.statements.lens` in
//! `design/statements.md`.

use super::model::Sum;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The sums of tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// By stream, table and address.
    rows: HashMap<(u16, u64, u64), Sum, RandomState>,
    row_count_max: usize,
    /// Sums that found no room.
    pub(super) full: u64,
}

impl Tables {
    /// Returns tables without sums, with room for that number of them.
    pub(super) fn new(row_count_max: usize) -> Tables {
        Tables { rows: HashMap::default(), row_count_max, full: 0 }
    }

    /// Takes the sums so far of a table and an address: they come in order of time.
    pub(super) fn take(&mut self, stream: u16, table: u64, address: u64, sum: &Sum) {
        let place = (stream, table, address);
        if self.rows.len() < self.row_count_max || self.rows.contains_key(&place) {
            self.rows.insert(place, *sum);
        } else {
            self.full += 1;
        }
    }

    /// Takes all sums, each with its stream and address.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u16, u64, Sum)> {
        self.rows.drain().map(|((stream, _, address), sum)| (stream, address, sum))
    }
}
