//! `events!` makes structs, a registry, kinds and masks from a list.
#![allow(missing_docs)]

use eventdef::{Event, Registry, Sort, Version, event_value, field};
use std::sync::atomic::Ordering;

mod heap {
    eventdef::events! {
        /// The events of the word counter's heap.
        registry "heap" version(1, 2, 3);
        kinds standard;

        /// A pool was created.
        PoolInit(0x002D, always, Pool) {
            /// the pool
            pool: P,
            /// its arena
            arena: P,
        }
        /// Memory was
        /// handed out,
        ///
        /// at last.
        PoolAlloc(0x002A, sometimes, Object) {
            /// the pool
            pool: P,
            /// the memory
            addr: A,
            /// its size
            /// in bytes
            size: W
        }
        /// No longer recorded.
        retired OldThing(0x0007, sometimes, Pool) {
            /// what it was
            r#ref: W,
        }
        /// A row without parameters.
        Tick(0x0030, always, User) {}
        /// A word.
        Said(0x0031, always, User) {
            /// how often
            wordCount: W,
            /// the word
            word: S,
        }
    }
}

mod own_kinds {
    eventdef::events! {
        /// A registry with kinds of its own, and parts.
        registry "own" version(0, 1, 0);
        kinds {
            /// Keys.
            Key = 63,
            /// Locks.
            Lock = 2,
        }
        parts late, early;
        /// In the middle.
        Middle(0x0100, always, Key) {}
    }
    pub(super) mod early {
        eventdef::events! {
            part of super;
            /// First.
            First(0x0001, always, Lock) {}
        }
    }
    pub(super) mod late {
        eventdef::events! {
            part of super;
            /// Last.
            Last(0xFEFF, always, Key) {
                /// when
                when: D,
            }
        }
    }
}

fn names(registry: &Registry) -> Vec<&str> {
    registry.event_types.iter().map(|event_type| event_type.name).collect()
}

#[test]
fn rows_in_any_order_make_a_registry_in_order_of_code() {
    assert_eq!(names(&heap::REGISTRY), ["OldThing", "PoolAlloc", "PoolInit", "Tick", "Said"]);
    let codes: Vec<u16> = heap::REGISTRY.event_types.iter().map(|t| t.code).collect();
    assert_eq!(codes, [0x07, 0x2A, 0x2D, 0x30, 0x31]);
}

/// `.version.parts`: major before median before minor.
#[test]
fn versions_compare_by_their_first_part_that_differs() {
    let version = |major, median, minor| Version { major, median, minor };
    assert!(version(1, 9, 9) < version(2, 0, 0) && version(1, 1, 9) < version(1, 2, 0));
    assert!(version(1, 2, 3) < version(1, 2, 4));
}

#[test]
fn a_registry_has_the_facts_of_its_list() {
    let registry = &heap::REGISTRY;
    assert_eq!(registry.name, "heap");
    assert_eq!(registry.version, Version { major: 1, median: 2, minor: 3 });
    assert_eq!(registry.version.to_string(), "1.2.3");
    assert_eq!(registry.doc, "The events of the word counter's heap.");
    let kinds: Vec<(u8, &str)> = registry.kinds.iter().map(|k| (k.index, k.name)).collect();
    let standard = ["Arena", "Pool", "Trace", "Seg", "Ref", "Object", "User"];
    assert_eq!(kinds, (0..).zip(standard).collect::<Vec<_>>());

    let alloc = &registry.event_types[1];
    assert_eq!(alloc.doc, "Memory was handed out, at last.");
    assert_eq!((alloc.kind, alloc.always, alloc.retired), (5, false, false));
    let params: Vec<_> = alloc.params.iter().map(|p| (p.sort, p.name, p.doc)).collect();
    let expected = [
        (Sort::P, "pool", "the pool"),
        (Sort::A, "addr", "the memory"),
        (Sort::W, "size", "its size in bytes"),
    ];
    assert_eq!(params, expected);
}

#[test]
fn a_retired_row_keeps_its_place_name_and_parameters() {
    let old = &heap::REGISTRY.event_types[0];
    assert_eq!((old.name, old.code, old.retired), ("OldThing", 7, true));
    assert_eq!(old.params[0].name, "ref");
}

#[test]
fn an_event_knows_its_row_and_its_masks() {
    assert_eq!(heap::PoolAlloc::CODE, 0x2A);
    assert_eq!(heap::PoolAlloc::KIND, 5);
    const { assert!(!heap::PoolAlloc::ALWAYS && heap::PoolInit::ALWAYS) };
    assert_eq!(heap::Said::TYPE.params[0].name, "wordCount");
    assert!(std::ptr::eq(heap::PoolAlloc::control(), &*heap::CONTROL));
    assert!(std::ptr::eq(heap::CONTROL.registry, &heap::REGISTRY));
}

#[test]
fn at_first_all_kinds_are_recorded_and_none_is_output() {
    let control = &own_kinds::CONTROL;
    assert!(control.is_recorded(own_kinds::Kinds::Key.bits()));
    assert_eq!(control.output().load(Ordering::Relaxed), 0);
    control.recorded().store(own_kinds::Kinds::Lock.bits(), Ordering::Relaxed);
    assert!(!control.is_recorded(own_kinds::Kinds::Key.bits()));
    assert!(control.is_recorded(own_kinds::Kinds::all().bits()));
}

#[test]
fn a_registry_may_have_kinds_of_its_own_and_parts() {
    let registry = &own_kinds::REGISTRY;
    assert_eq!(names(registry), ["First", "Middle", "Last"]);
    let kinds: Vec<_> = registry.kinds.iter().map(|k| (k.index, k.name, k.doc)).collect();
    assert_eq!(kinds, [(2, "Lock", "Locks."), (63, "Key", "Keys.")]);
    assert_eq!(own_kinds::Kinds::all().bits(), 1 << 63 | 1 << 2);
    assert_eq!(own_kinds::late::Last::KIND, 63);
    assert!(std::ptr::eq(own_kinds::early::First::control(), &*own_kinds::CONTROL));
}

#[test]
fn kinds_are_a_set_with_names() {
    use heap::Kinds;
    let kinds = Kinds::Pool | Kinds::Arena;
    assert_eq!(kinds.bits(), 3);
    assert_eq!(u64::from(kinds), 3);
    assert_eq!(Kinds::from_name("Trace"), Some(Kinds::Trace));
    assert_eq!(kinds.iter_names().map(|(name, _)| name).collect::<Vec<_>>(), ["Arena", "Pool"]);
}

#[test]
fn both_forms_of_an_annotation_make_the_same_event() {
    let pool = 7u8;
    let (addr, n) = (0x1000usize, 16u32);
    let event = heap::PoolAlloc::new(&pool, addr, n);
    assert_eq!(event_value!(heap::PoolAlloc, &pool, addr, n), event);
    let named = event_value!(heap::PoolAlloc { size: n, addr, pool: &pool });
    assert_eq!(named, event);
    assert_eq!(event.pool, field::P((&raw const pool).addr()));
    assert_eq!((event.addr, event.size), (field::A(0x1000), 16));
    assert_eq!(event_value!(heap::Tick), heap::Tick {});
    assert_eq!(event_value!(heap::Tick {}), heap::Tick::new());
}

/// `.annot.param`: an annotation in a method with `&mut self` must not use up `self`.
#[test]
fn an_annotation_does_not_use_up_its_arguments() {
    struct Pool(usize);
    impl Pool {
        fn init(&mut self) -> (heap::PoolInit, heap::PoolInit) {
            let positional = event_value!(heap::PoolInit, self, self);
            let named = event_value!(heap::PoolInit { pool: self, arena: self });
            self.0 += 1;
            (positional, named)
        }
    }
    let mut pool = Pool(0);
    let (positional, named) = pool.init();
    assert_eq!(positional, named);
    assert_eq!(positional.pool.0, (&raw const pool).addr());
    assert_eq!(pool.0, 1);
}

#[test]
fn an_argument_is_evaluated_once() {
    let mut count = 0;
    let mut next = || {
        count += 1;
        count as usize
    };
    let event = event_value!(heap::Said { wordCount: next(), word: "once" });
    assert_eq!((event.wordCount, event.word, count), (1, b"once".as_slice(), 1));
}

#[test]
fn a_string_may_be_a_temporary_within_one_expression() {
    fn size(event: impl Event) -> usize {
        event.size()
    }
    assert_eq!(size(event_value!(heap::Said, 1usize, &String::from("temporary"))), 32);
}

#[test]
fn only_an_event_with_a_string_borrows() {
    fn is_static<E: Event + 'static>(_: E) {}
    is_static(heap::PoolInit::new(&1, &2));
    assert_eq!(size_of::<heap::PoolInit>(), 2 * size_of::<usize>());
    let debug =
        format!("{:?}", heap::PoolAlloc { pool: field::P(16), addr: field::A(255), size: 3 });
    assert_eq!(debug, "PoolAlloc { pool: 0x10, addr: 0xff, size: 3 }");
}
