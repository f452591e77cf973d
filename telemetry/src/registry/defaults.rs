//! The masks that later registries begin with: what was set and reset for all registries, by index
//! and by name.
//!
//! ```text
//!  set 0x40 ─▶ bits                    a new registry: its own mask, then bits, then the words
//! ```
//!
//! Changes need the lock of the masks. But a nested entry changes words without it: hence the
//! atomics. Design: `.control.env`, `.control.tool` in `design/telemetry.md`.

use crate::os::link::Link;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use eventdef::{Kind, Registry};

/// The greatest number of kind names that are kept for later registries.
const WORD_COUNT_MAX: usize = 64;

/// The beginning of one mask of a later registry.
pub(crate) struct Defaults {
    /// Bits that were set, and bits that were reset.
    set: AtomicU64,
    reset: AtomicU64,
    words: [Word; WORD_COUNT_MAX],
}

/// The masks that later registries begin with.
pub(crate) static OUTPUT: Defaults = Defaults::new();
pub(crate) static RECORDED: Defaults = Defaults::new();

/// A kind that was set or reset by name.
struct Word {
    /// A kind of this name, of any registry; none: this word and all after it are free.
    kind: Link<Kind>,
    on: AtomicBool,
    /// Bits that were set or reset later, and so win.
    overruled: AtomicU64,
}

impl Word {
    #[expect(clippy::declare_interior_mutable_const, reason = "the initial value of each word")]
    const NONE: Word =
        Word { kind: Link::none(), on: AtomicBool::new(false), overruled: AtomicU64::new(0) };
}

impl Defaults {
    const fn new() -> Defaults {
        let (set, reset) = (AtomicU64::new(0), AtomicU64::new(0));
        Defaults { set, reset, words: [const { Word::NONE }; WORD_COUNT_MAX] }
    }

    /// Returns the bits that were set for all registries.
    pub(crate) fn set(&self) -> u64 {
        self.set.load(Ordering::Relaxed)
    }

    /// Returns the bits that were reset for all registries.
    pub(crate) fn reset(&self) -> u64 {
        self.reset.load(Ordering::Relaxed)
    }

    fn words(&self) -> impl Iterator<Item = (&Word, &'static Kind)> {
        self.words.iter().map_while(|word| Some((word, word.kind.get()?)))
    }

    /// Notes that kinds were switched, by their indexes.
    pub(crate) fn note_bits(&self, kinds: u64, on: bool) {
        let (to, from) = if on { (&self.set, &self.reset) } else { (&self.reset, &self.set) };
        to.fetch_or(kinds, Ordering::Relaxed);
        from.fetch_and(!kinds, Ordering::Relaxed);
        self.words().for_each(|(word, _)| _ = word.overruled.fetch_or(kinds, Ordering::Relaxed));
    }

    /// Notes that a kind was switched, by its name. Call it under the lock. Returns false if all
    /// words are in use.
    pub(crate) fn note_name(&self, kind: &'static Kind, on: bool) -> bool {
        let is_it = |other: &Word| match other.kind.get() {
            Some(other) => other.name.eq_ignore_ascii_case(kind.name),
            None => true,
        };
        let Some(word) = self.words.iter().find(|word| is_it(word)) else { return false };
        word.on.store(on, Ordering::Relaxed);
        word.overruled.store(0, Ordering::Relaxed);
        word.kind.set(Some(kind));
        true
    }

    /// Returns the mask of a new registry, whose own mask is `own`.
    pub(crate) fn mask(&self, own: u64, registry: &Registry) -> u64 {
        let mut mask = (own | self.set()) & !self.reset();
        for (word, kind) in self.words() {
            let named = |other: &&Kind| other.name.eq_ignore_ascii_case(kind.name);
            let Some(found) = registry.kinds.iter().find(named) else { continue };
            let bit = 1 << found.index & !word.overruled.load(Ordering::Relaxed);
            mask = if word.on.load(Ordering::Relaxed) { mask | bit } else { mask & !bit };
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventdef::Version;

    const fn kind(index: u8, name: &'static str) -> Kind {
        Kind { index, name, doc: "" }
    }

    const fn registry(kinds: &'static [Kind]) -> Registry {
        let version = Version { major: 1, median: 0, minor: 0 };
        Registry { name: "r", version, doc: "", kinds, event_types: &[] }
    }

    static ONE: Registry = registry(&[kind(0, "Arena"), kind(1, "Pool"), kind(2, "Seg")]);
    static OTHER: Registry = registry(&[kind(0, "Seg"), kind(3, "POOL"), kind(9, "Page")]);

    /// Applies all changes in order, as an existing registry would.
    fn twin(own: u64, said: &[(Result<u64, &str>, bool)], registry: &Registry) -> u64 {
        said.iter().fold(own, |mask, (what, on)| {
            let named =
                |name: &str| registry.kinds.iter().find(|k| k.name.eq_ignore_ascii_case(name));
            let bits = what.unwrap_or_else(|name| named(name).map_or(0, |kind| 1 << kind.index));
            if *on { mask | bits } else { mask & !bits }
        })
    }

    #[test]
    fn a_later_registry_begins_as_if_it_had_always_existed() {
        let whats = [
            Ok(u64::MAX),
            Ok(1 << 3),
            Ok(0b11),
            Ok(1 << 1 | 1 << 9),
            Err("Pool"),
            Err("Seg"),
            Err("Page"),
        ];
        let all = || [&ONE, &OTHER].into_iter().flat_map(|registry| registry.kinds);
        let mut state = 4711u64;
        for _ in 0..2000 {
            let defaults = Defaults::new();
            let mut said = Vec::new();
            for _ in 0..8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (what, on) = (whats[(state >> 33) as usize % whats.len()], state >> 63 != 0);
                said.push((what, on));
                match what {
                    Ok(bits) => defaults.note_bits(bits, on),
                    Err(name) => {
                        let kind = all().find(|kind| kind.name == name).unwrap();
                        assert!(defaults.note_name(kind, on));
                    }
                }
                for registry in [&ONE, &OTHER] {
                    for own in [0, 0b1010, u64::MAX] {
                        let expected = twin(own, &said, registry);
                        assert_eq!(defaults.mask(own, registry), expected, "{said:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_beyond_the_limit_are_refused() {
        let defaults = Defaults::new();
        let fresh = |at: usize| {
            let name = format!("Kind{at}").leak();
            &*Box::leak(Box::new(kind(0, name)))
        };
        let kinds: Vec<&'static Kind> = (0..WORD_COUNT_MAX).map(fresh).collect();
        assert!(kinds.iter().all(|kind| defaults.note_name(kind, true)));
        assert!(!defaults.note_name(fresh(WORD_COUNT_MAX), true));
        assert!(
            kinds.iter().all(|kind| defaults.note_name(kind, false)),
            "known ones still change"
        );
    }
}
