//! The statements of two runs: which is which, if the source text changed in between.
//!
//! ```text
//!  old function   a b c d     same shape (column, size), in order ──▶ same, or moved
//!  new function   a x c d     between two of these, same column  ──▶ changed;  else gone, or new
//! ```
//!
//! Design: `.statements.against` in `design/statements.md`.

use super::model::{Facts, Statement};
use super::reading::Statements;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// Cells of a table in which two functions are compared, at most.
const CELL_COUNT_MAX: usize = 1 << 22;

/// How a statement of one run was found in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It has the same place.
    Same,
    /// It has the same shape in the same function, at another place.
    Moved,
    /// It has another size, and lies between the same statements.
    Changed,
    /// The new run alone has it.
    New,
    /// The old run alone has it.
    Gone,
}

impl Match {
    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Match::Same => "same",
            Match::Moved => "moved",
            Match::Changed => "changed",
            Match::New => "new",
            Match::Gone => "gone",
        }
    }
}

/// A statement of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// In the old run.
    pub old: Option<Statement>,
    /// In the new run.
    pub new: Option<Statement>,
    /// How it was found.
    pub how: Match,
}

/// Returns the statements of two runs.
pub fn compare(old: &Statements, new: &Statements) -> Vec<Matched> {
    let [mut before, mut after] = [old, new].map(named);
    let names: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
    let mut all = Vec::new();
    for name in names {
        let own = [&mut before, &mut after].map(|all| all.remove(&name).unwrap_or_default());
        functions(&own[0], &own[1], &mut all);
    }
    all
}

/// A statement with its facts.
type Known<'s> = (Statement, &'s Facts);

/// Returns the statements by function; one without a function stands by its label.
fn named(statements: &Statements) -> BTreeMap<String, Vec<Known<'_>>> {
    let mut all: BTreeMap<String, Vec<Known<'_>>> = BTreeMap::new();
    for (function, own) in statements.by_function() {
        for at in own {
            let Some(facts) = statements.all().get(at as usize) else { continue };
            let name = match statements.functions().name(function) {
                "" => &*facts.label,
                name => name,
            };
            all.entry(name.to_owned()).or_default().push((at, facts));
        }
    }
    all
}

fn functions(old: &[Known<'_>], new: &[Known<'_>], all: &mut Vec<Matched>) {
    let shape = |(_, facts): &Known<'_>| (facts.column, facts.size);
    let column = |(_, facts): &Known<'_>| facts.column;
    let mut add = |old: Option<&Known<'_>>, new: Option<&Known<'_>>, how| {
        all.push(Matched { old: old.map(|known| known.0), new: new.map(|known| known.0), how });
    };
    let shapes = common(&mapped(old, shape), &mapped(new, shape));
    let (mut from, mut to) = (0, 0);
    for (a, b) in shapes.into_iter().chain([(old.len(), new.len())]) {
        let (was, is) = (old.get(from..a).unwrap_or(&[]), new.get(to..b).unwrap_or(&[]));
        let (mut left, mut right) = (0, 0);
        let columns = common(&mapped(was, column), &mapped(is, column));
        for (x, y) in columns.into_iter().chain([(was.len(), is.len())]) {
            was.get(left..x)
                .unwrap_or(&[])
                .iter()
                .for_each(|one| add(Some(one), None, Match::Gone));
            is.get(right..y).unwrap_or(&[]).iter().for_each(|one| add(None, Some(one), Match::New));
            if let (Some(one), Some(other)) = (was.get(x), is.get(y)) {
                add(Some(one), Some(other), Match::Changed);
            }
            (left, right) = (x + 1, y + 1);
        }
        if let (Some(one), Some(other)) = (old.get(a), new.get(b)) {
            let is_same = one.1.line == other.1.line && one.1.offset == other.1.offset;
            let how = if is_same { Match::Same } else { Match::Moved };
            add(Some(one), Some(other), how);
        }
        (from, to) = (a + 1, b + 1);
    }
}

fn mapped<K>(known: &[Known<'_>], key: impl Fn(&Known<'_>) -> K) -> Vec<K> {
    known.iter().map(key).collect()
}

/// Returns the pairs of places of a longest common subsequence. What is too large is compared at
/// its beginning and its end alone.
fn common<K: Eq + Hash>(old: &[K], new: &[K]) -> Vec<(usize, usize)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (left, right) = (old.get(head..).unwrap_or(&[]), new.get(head..).unwrap_or(&[]));
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let (rows, columns) = (left.len() - tail, right.len() - tail);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    if rows.saturating_mul(columns) <= CELL_COUNT_MAX {
        // The length of the longest one from each pair of places on.
        let width = columns + 1;
        let mut lengths = vec![0u32; (rows + 1) * width];
        let at = |row: usize, column: usize| row * width + column;
        let get = |lengths: &[u32], place: usize| lengths.get(place).copied().unwrap_or(0);
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                let length = if left.get(row) == right.get(column) {
                    get(&lengths, at(row + 1, column + 1)) + 1
                } else {
                    let below = get(&lengths, at(row + 1, column));
                    below.max(get(&lengths, at(row, column + 1)))
                };
                if let Some(place) = lengths.get_mut(at(row, column)) {
                    *place = length;
                }
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < rows && column < columns {
            if left.get(row) == right.get(column) {
                pairs.push((head + row, head + column));
                (row, column) = (row + 1, column + 1);
            } else if get(&lengths, at(row + 1, column)) >= get(&lengths, at(row, column + 1)) {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
    pairs.extend((0..tail).map(|at| (head + rows + at, head + columns + at)));
    pairs
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn a_common_subsequence_is_the_longest_one() {
        let pairs = |old: &str, new: &str| {
            let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
            common(&old, &new)
        };
        assert_eq!(pairs("abcd", "axcd"), [(0, 0), (2, 2), (3, 3)]);
        assert_eq!(pairs("abc", "xabc"), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(pairs("", "abc"), []);
        assert_eq!(pairs("qabcbdabz", "qbdcabaz").len(), 6);
        let (long, other) = ("ab".repeat(3000), "ba".repeat(3000));
        assert!(pairs(&long, &other).is_empty(), "too large, and alike at no end");
    }
}
