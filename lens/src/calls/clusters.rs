//! Clusters of functions, by flooding.
//!
//! ```text
//!  key of a function: how often it was called; of equal ones, the least name is the greatest key
//!  each function passes the greatest key that it knows to those that it calls, until none changes
//! ```
//!
//! The result is the greatest key among a function and all that reach it. So no order of functions,
//! edges or addresses matters, and one walk from the greatest key down finds it. Design:
//! `.calls.clusters` in `design/calls.md`.

use crate::calls::model::Function;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Calls between two functions, as [`clusters`] takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The caller.
    pub caller: Function,
    /// The function that it called.
    pub function: Function,
    /// How often.
    pub count: u64,
}

/// Returns the members of each cluster by its leader: the function whose key flooded the others.
/// The members are in order of their names, and so are the clusters of one size; the largest
/// cluster comes first. With `is_undirected`, keys also pass to callers.
pub fn clusters<'n>(
    links: &[Link],
    name: impl Fn(Function) -> &'n str,
    is_undirected: bool,
) -> Vec<(Function, Vec<Function>)> {
    let mut degrees: HashMap<Function, u64> = HashMap::new();
    let mut next: HashMap<Function, Vec<Function>> = HashMap::new();
    for &Link { caller, function, count } in links {
        degrees.entry(caller).or_default();
        *degrees.entry(function).or_default() += count;
        next.entry(caller).or_default().push(function);
        if is_undirected {
            next.entry(function).or_default().push(caller);
        }
    }
    let mut order: Vec<(Reverse<u64>, &str, Function)> =
        degrees.iter().map(|(at, degree)| (Reverse(*degree), name(*at), *at)).collect();
    order.sort_unstable();
    let mut leaders: HashMap<Function, Function> = HashMap::with_capacity(order.len());
    let mut groups: BTreeMap<usize, (Function, Vec<Function>)> = BTreeMap::new();
    for (rank, &(_, _, leader)) in order.iter().enumerate() {
        let mut left = vec![leader];
        while let Some(function) = left.pop() {
            if leaders.contains_key(&function) {
                continue;
            }
            leaders.insert(function, leader);
            groups.entry(rank).or_insert_with(|| (leader, Vec::new())).1.push(function);
            left.extend(next.get(&function).into_iter().flatten());
        }
    }
    let mut groups: Vec<(Function, Vec<Function>)> = groups.into_values().collect();
    groups.iter_mut().for_each(|(_, members)| members.sort_by_key(|member| name(*member)));
    groups.sort_by_key(|(leader, members)| (Reverse(members.len()), name(*leader)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 12] = ["-", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

    fn named(links: &[Link], is_undirected: bool) -> Vec<(&'static str, Vec<&'static str>)> {
        let name = |function: Function| NAMES[function as usize];
        let all = clusters(links, name, is_undirected);
        all.into_iter()
            .map(|(leader, of)| (name(leader), of.into_iter().map(name).collect()))
            .collect()
    }

    /// Rounds of messages to a fixed point: the naive twin.
    fn flooded(links: &[Link], is_undirected: bool) -> Vec<(&'static str, Vec<&'static str>)> {
        let name = |function: Function| NAMES[function as usize];
        let degree = |function: Function| -> u64 {
            links.iter().filter(|link| link.function == function).map(|link| link.count).sum()
        };
        let key = |function: Function| (degree(function), Reverse(name(function)), function);
        let mut known: BTreeMap<&str, _> = BTreeMap::new();
        for link in links {
            for function in [link.caller, link.function] {
                known.insert(name(function), key(function));
            }
        }
        loop {
            let before = known.clone();
            for link in links {
                let [from, to] = [link.caller, link.function].map(name);
                let ways = [(from, to), (to, from)];
                for (from, to) in ways.into_iter().take(1 + usize::from(is_undirected)) {
                    known.insert(to, before[from].max(known[to]));
                }
            }
            if known == before {
                break;
            }
        }
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        known.iter().for_each(|(at, key)| groups.entry(name(key.2)).or_default().push(at));
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(leader, members)| (Reverse(members.len()), *leader));
        groups
    }

    fn link(caller: Function, function: Function, count: u64) -> Link {
        Link { caller, function, count }
    }

    /// T23, T26: a golden result.
    #[test]
    fn flooding_gives_the_clusters_of_the_example() {
        // a calls b and c; d calls c and e; f alone calls g.
        let links = [link(1, 2, 10), link(1, 3, 2), link(4, 3, 3), link(4, 5, 1), link(6, 7, 4)];
        let directed = [
            ("a", vec!["a"]),
            ("b", vec!["b"]),
            ("c", vec!["c"]),
            ("d", vec!["d"]),
            ("e", vec!["e"]),
            ("f", vec!["f"]),
            ("g", vec!["g"]),
        ];
        assert_eq!(named(&links, false), directed);
        let undirected = [("b", vec!["a", "b", "c", "d", "e"]), ("g", vec!["f", "g"])];
        assert_eq!(named(&links, true), undirected);
        // A hub that is called often takes those that it calls.
        let hub = [link(1, 2, 9), link(2, 3, 1), link(2, 4, 8), link(4, 5, 2)];
        assert_eq!(named(&hub, false), [("b", vec!["b", "c", "d", "e"]), ("a", vec!["a"])]);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        /// T23: 20 orders of the edges, one result, which is that of the rounds.
        #[test]
        fn clusters_do_not_depend_on_an_order(
            edges in prop::collection::vec((1..12u32, 1..12u32, 1..4u64), 0..30),
            turns in prop::collection::vec(0..30usize, 20),
            is_undirected: bool,
        ) {
            let mut links: Vec<Link> = edges.iter().map(|&(a, b, n)| link(a, b, n)).collect();
            let expected = flooded(&links, is_undirected);
            for turn in turns {
                let count = links.len().max(1);
                links.rotate_left(turn % count);
                links.chunks_mut(3).for_each(<[Link]>::reverse);
                prop_assert_eq!(&named(&links, is_undirected), &expected);
            }
        }
    }
}
