//! `events!`: one list makes the structs, the registry, the kinds and the masks.
//!
//! ```text
//!  events! ── kinds ──▶ Kinds                      (__kinds)
//!          ├─ rows ───▶ a struct each: Event, new  (__rows; __row, __sorts, __struct in row.rs)
//!          └─ list ───▶ REGISTRY, CONTROL, laws    (__registry)
//! ```
//!
//! Design: `.sol.relation`, `.reg` in `design/telemetry.md`.

/// Declares a registry: the event types of a program or library, one row each. The crate's first
/// page has an example and describes a row.
///
/// A module uses it once, and gets:
///
/// - `REGISTRY`, a [`Registry`](crate::Registry): the list as data, in ascending order of code (the
///   rows may stand in any order);
/// - `CONTROL`, a [`TypedControl`](crate::TypedControl): which kinds are recorded and output;
/// - `Kinds`, a set of kinds: the [standard kinds](crate::Kinds), or those of
///   `kinds { /// Its documentation. ⏎ Lock = 0, … }`;
/// - for each row a struct whose fields are the parameters, with a function `new`. The struct is an
///   [`Event`](crate::Event) unless the row is retired.
///
/// The `///` comments are required. They become the doc strings of the registry and the Rust
/// documentation.
///
/// A long list may be spread over modules. `parts pool, trace;` after the kinds names the modules.
/// Their lists begin with `part of super;` instead of `registry` and `kinds`, as those of
/// [`mps`](crate::mps) do.
#[macro_export]
macro_rules! events {
    (@runtime $($registry:tt)*) => { $crate::__events! { [true] $($registry)* } };
    ($($registry:tt)*) => { $crate::__events! { [false] $($registry)* } };
}

/// Makes the event of an annotation in either form: `PoolAlloc, pool, addr, n` calls a function of
/// the row, and `PoolAlloc { pool, addr, size: n }` finds the sort by the type of the field.
///
/// It borrows the arguments, so that `self` may be one in a method with `&mut self`, and evaluates
/// each once. `event!` uses the value within one expression, so a string may be a temporary.
#[doc(hidden)]
#[macro_export]
macro_rules! event_value {
    ($($event:ident)::+ { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $($event)::+ { $(
            $field: $crate::ToField::to_field(&$crate::__value!($field $($value)?))
        ),* }
    };
    ($event:path $(, $value:expr)* $(,)?) => { <$event>::__new($(&$value),*) };
}

/// The value of a field, or the variable of its name.
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

/// A doc string, from its lines.
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

/// Takes the head of a registry, with its kinds; `__registry` gets the rows.
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

/// Makes the kinds of a registry, as a set and as data.
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
            /// The kinds as data, in ascending order of index.
            pub const LIST: &'static [$crate::Kind] = &$crate::check::sorted_kinds([$($crate::Kind {
                index: $crate::check::kind_index($index),
                name: $crate::doc::name(::core::stringify!($kind)),
                doc: $crate::__doc!([$($doc),*]),
            }),*]);
        }
    };
}

/// Makes the registry and its masks, and checks its laws.
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
            const ROWS: [$crate::Row; $crate::check::row_count(PARTS)] =
                $crate::check::sorted_rows(PARTS);
            static EVENT_TYPES: [$crate::EventType; ROWS.len()] = $crate::check::event_types(&ROWS);
            // Long lists have long doc strings, and each mark in them is read.
            #[allow(long_running_const_eval)]
            const _: () =
                $crate::check::registry($name, $crate::__doc!($doc), KINDS, &ROWS, $runtime);
            $crate::Registry {
                name: $name,
                version: $crate::Version { major: $major, median: $median, minor: $minor },
                doc: $crate::__doc!($doc),
                kinds: KINDS,
                event_types: &EVENT_TYPES,
            }
        };

        /// Which kinds of this module's registry are recorded, and which are output.
        pub static CONTROL: $crate::TypedControl<Kinds> =
            $crate::TypedControl::new(&REGISTRY);
    };
    ($runtime:tt $doc:tt $name:literal $version:tt parts $($part:ident),+; $($rows:tt)*) => {
        $crate::__registry! { @whole $runtime $doc $name $version [$($part)+] $($rows)* }
    };
    ($runtime:tt $doc:tt $name:literal $version:tt $($rows:tt)*) => {
        $crate::__registry! { @whole $runtime $doc $name $version [] $($rows)* }
    };
}

/// Makes the rows: as data, and a struct for each.
#[doc(hidden)]
#[macro_export]
macro_rules! __rows {
    ($($(#[doc = $doc:expr])* $($row:ident)+ ($($head:tt)*) { $($params:tt)* })*) => {
        #[doc(hidden)]
        pub const __ROWS: &[$crate::Row] = &[$(<$crate::__row_name!($($row)+)>::__ROW),*];

        $($crate::__row! { [$($doc),*] [$($row)+] ($($head)*) { $($params)* } })*
    };
}
