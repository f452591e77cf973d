//! `events!`: one list makes the structs, the registry, the kinds and the masks.
//!
//! ```text
//!  events! ── kinds ──▶ Kinds                      (__kinds)
//!          ├─ rows ───▶ a struct each: Event, new  (__rows; __row, __sorts, __struct in row.rs)
//!          └─ list ───▶ REGISTRY, CONTROL, laws    (__registry)
//! ```
//!
//! Design: `.sol.relation`, `.reg` in `design/telemetry.md`.

/// Declares a registry: the event types of a program or library, one row each.
///
/// ```
/// mod heap_events {
///     eventdef::events! {
///         /// The events of a heap.
///         registry "heap" version(1, 0, 0);
///         kinds standard;
///
///         /// A pool was created.
///         PoolInit(0x002D, always, Pool) {
///             /// the pool
///             pool: P,
///         }
///         /// Memory was handed out.
///         PoolAlloc(0x002A, sometimes, Object) {
///             /// the pool
///             pool: P,
///             /// the memory
///             addr: A,
///             /// its size in bytes
///             size: W,
///         }
///         /// A pool was looked at. No longer recorded.
///         retired PoolGlance(0x0007, sometimes, Pool) {}
///     }
/// }
/// # fn main() {}
/// ```
///
/// It is used once in a module, and makes there:
///
/// - `REGISTRY`, a [`Registry`](crate::Registry): all of it as data, ascending by code (the rows
///   may stand in any order);
/// - `CONTROL`, its [`Control`](crate::Control): which kinds are recorded, which output;
/// - `Kinds`, a set of kinds: the [standard ones](crate::Kinds), or those of
///   `kinds { /// What falls into it. ⏎ Lock = 0, … }`;
/// - for each row a struct with the row's parameters as fields, which is an
///   [`Event`](crate::Event) unless it is retired, and its `new`.
///
/// The `///` comments are the doc strings, in the registry and in the Rust documentation; they may
/// not be missing. A code is a number from 1 to FEFF, never used again for another event type.
/// *always* rows are compiled into the hot variety too. A sort is one of the letters of
/// [`Sort`](crate::Sort). What breaks a law of the registry does not compile.
///
/// A long list may be spread over modules: `parts pool, trace;` after the kinds names modules whose
/// lists begin with `part of` and the path of this module instead of `registry` and `kinds`:
///
/// ```
/// mod heap_events {
///     eventdef::events! {
///         /// The events of a heap.
///         registry "heap" version(1, 0, 0);
///         kinds standard;
///         parts pool;
///     }
///     pub mod pool {
///         eventdef::events! {
///             part of super;
///             /// A pool was created.
///             PoolInit(0x002D, always, Pool) {}
///         }
///     }
/// }
/// # fn main() { assert_eq!(heap_events::REGISTRY.event_types[0].name, "PoolInit"); }
/// ```
#[macro_export]
macro_rules! events {
    (@runtime $($registry:tt)*) => { $crate::__events! { [true] $($registry)* } };
    ($($registry:tt)*) => { $crate::__events! { [false] $($registry)* } };
}

/// The event that an annotation's arguments make, in the two forms of `event!`:
///
/// ```
/// # mod heap { eventdef::events! {
/// #   /// A heap.
/// #   registry "heap" version(1, 0, 0);
/// #   kinds standard;
/// #   /// Memory was handed out.
/// #   PoolAlloc(1, always, Pool) {
/// #       /** the pool */ pool: P, /** the memory */ addr: A, /** its size */ size: W
/// #   }
/// # } }
/// use heap::PoolAlloc;
/// let (pool, addr, n) = (&"pool", 0x1000, 16u32);
/// let event = eventdef::event_value!(PoolAlloc, pool, addr, n);
/// assert_eq!(event, eventdef::event_value!(PoolAlloc { pool, addr, size: n }));
/// assert_eq!(event, PoolAlloc::new(pool, addr, n));
/// ```
///
/// Arguments are borrowed, so that a `&mut` is not used up. Each is evaluated once. For `event!`,
/// which hands the value on within one expression, so that a string may be a temporary.
#[macro_export]
macro_rules! event_value {
    ($($event:ident)::+ { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $($event)::+ { $(
            $field: $crate::ToField::to_field(&$crate::__value!($field $($value)?))
        ),* }
    };
    ($event:path $(, $value:expr)* $(,)?) => { <$event>::__new($(&$value),*) };
}

/// The value of a field: what is given, else the variable of that name.
#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    ($field:ident) => {
        $field
    };
    ($field:ident $value:expr) => {
        $value
    };
}

/// A doc string of its lines.
#[doc(hidden)]
#[macro_export]
macro_rules! __doc {
    ([]) => { "" };
    ([$line:expr]) => { <str>::trim_ascii($line) };
    ([$($line:expr),+]) => {{
        const LINES: &[&str] = &[$($line),+];
        const JOINED: [u8; $crate::doc::joined_size(LINES)] = $crate::doc::joined(LINES);
        $crate::doc::text(&JOINED)
    }};
}

/// The head of a registry: its kinds; then the rows go to `__registry`.
#[doc(hidden)]
#[macro_export]
macro_rules! __events {
    ($runtime:tt $(#[doc = $doc:expr])* registry $name:literal
        version($major:literal, $median:literal, $minor:literal); kinds standard; $($rows:tt)*) => {
        #[doc(no_inline)]
        pub use $crate::Kinds;
        $crate::__registry! { $runtime [$($doc),*] $name [$major, $median, $minor] $($rows)* }
    };
    ($runtime:tt $(#[doc = $doc:expr])* registry $name:literal
        version($major:literal, $median:literal, $minor:literal); kinds { $($kinds:tt)* }
        $($rows:tt)*) => {
        $crate::__kinds! { $($kinds)* }
        $crate::__registry! { $runtime [$($doc),*] $name [$major, $median, $minor] $($rows)* }
    };
    ($runtime:tt part of $($registry:ident)::+; $($rows:tt)*) => {
        #[allow(unused_imports)]
        use $($registry)::+::{CONTROL, Kinds};
        $crate::__rows! { $($rows)* }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "a registry begins: /// What it is about. registry \"name\" version(1, 0, 0); \
             then: kinds standard; or: kinds { /// What falls into it. Name = 0, … }"
        );
    };
}

/// The kinds of a registry, as a set and as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __kinds {
    ($($(#[doc = $doc:expr])* $kind:ident = $index:literal),* $(,)?) => {
        $crate::__bitflags::bitflags! {
            /// A set of kinds: bit k is the kind with index k.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct Kinds: u64 {
                $($(#[doc = $doc])* const $kind = $crate::check::kind_bit($index);)*
            }
        }

        impl ::core::convert::From<Kinds> for u64 {
            fn from(kinds: Kinds) -> u64 {
                kinds.bits()
            }
        }

        #[allow(dead_code)]
        impl Kinds {
            /// The kinds as data, ascending by index.
            pub const LIST: &'static [$crate::Kind] = &$crate::check::sorted_kinds([$($crate::Kind {
                index: $crate::check::kind_index($index),
                name: $crate::doc::name(::core::stringify!($kind)),
                doc: $crate::__doc!([$($doc),*]),
            }),*]);
        }
    };
}

/// The registry, its masks and its laws.
#[doc(hidden)]
#[macro_export]
macro_rules! __registry {
    (@whole [$runtime:literal] $doc:tt $name:literal
        [$major:literal, $median:literal, $minor:literal] [$($part:ident)*] $($rows:tt)*) => {
        $crate::__rows! { $($rows)* }

        /// The registry of this module, as data.
        pub static REGISTRY: $crate::Registry = {
            const PARTS: &[&[$crate::Row]] = &[__ROWS, $($part::__ROWS),*];
            const KINDS: &[$crate::Kind] = Kinds::LIST;
            static EVENT_TYPES: [$crate::EventType; $crate::check::row_count(PARTS)] =
                $crate::check::sorted_rows(PARTS);
            const _: () = {
                const ROWS: [$crate::Row; EVENT_TYPES.len()] = $crate::check::joined_rows(PARTS);
                $crate::check::registry($name, $crate::__doc!($doc), KINDS, &ROWS, $runtime);
            };
            $crate::Registry {
                name: $name,
                version: $crate::Version { major: $major, median: $median, minor: $minor },
                doc: $crate::__doc!($doc),
                kinds: KINDS,
                event_types: &EVENT_TYPES,
            }
        };

        /// Which kinds of this module's registry are recorded, and which are output.
        pub static CONTROL: $crate::Control = $crate::Control::new(&REGISTRY);
    };
    ($runtime:tt $doc:tt $name:literal $version:tt parts $($part:ident),+; $($rows:tt)*) => {
        $crate::__registry! { @whole $runtime $doc $name $version [$($part)+] $($rows)* }
    };
    ($runtime:tt $doc:tt $name:literal $version:tt $($rows:tt)*) => {
        $crate::__registry! { @whole $runtime $doc $name $version [] $($rows)* }
    };
}

/// Rows, as data and as a struct each.
#[doc(hidden)]
#[macro_export]
macro_rules! __rows {
    ($($(#[doc = $doc:expr])* $($row:ident)+ ($($head:tt)*) { $($params:tt)* })*) => {
        #[doc(hidden)]
        pub const __ROWS: &[$crate::Row] = &[$(<$crate::__row_name!($($row)+)>::__ROW),*];

        $($crate::__row! { [$($doc),*] [$($row)+] ($($head)*) { $($params)* } })*
    };
}
