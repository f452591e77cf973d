//! What `events!` makes from one row.
//!
//! ```text
//!  __row ──▶ __sorts: letters known? a string? ──▶ __struct ──▶ struct, new, __ROW
//!  the row in parts    struct Name or Name<'a>            └▶ __event ─▶ Event, unless retired
//! ```
//!
//! Design: `.reg.rel`, `.reg.params` in `design/telemetry.md`.

use crate::EventType;

/// A row of the list.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The event type.
    pub event_type: EventType,
    /// The code, which may be too large for 16 bits.
    pub code: u64,
    /// The name of its kind.
    pub kind_name: &'static str,
}

impl Row {
    /// The placeholder of a row that an error has already reported.
    pub const __ROW: Row = {
        let (name, doc) = ("", "");
        let event_type = EventType {
            name,
            code: 0,
            kind: 0,
            always: false,
            retired: true,
            coarse: false,
            doc,
            params: &[],
        };
        Row { event_type, code: 0, kind_name: "" }
    };
}

/// The name in the first words of a row.
#[doc(hidden)]
#[macro_export]
macro_rules! __row_name {
    (retired $name:ident) => {
        $name
    };
    (coarse $name:ident) => {
        $name
    };
    ($name:ident) => {
        $name
    };
    ($($other:tt)*) => {
        $crate::Row
    };
}

/// Takes a row apart.
#[doc(hidden)]
#[macro_export]
macro_rules! __row {
    ($doc:tt [$name:ident] $head:tt $params:tt) => {
        $crate::__row! { @parse $doc [false false $name] $head $params }
    };
    ($doc:tt [retired $name:ident] $head:tt $params:tt) => {
        $crate::__row! { @parse $doc [true false $name] $head $params }
    };
    ($doc:tt [coarse $name:ident] $head:tt $params:tt) => {
        $crate::__row! { @parse $doc [false true $name] $head $params }
    };
    (@parse $doc:tt [$retired:tt $coarse:tt $name:ident]
        ($code:literal, $variety:ident, $kind:ident)
        { $($(#[doc = $param_doc:expr])* $param:ident : $sort:ident),* $(,)? }) => {
        $crate::__sorts! { [$($param $sort)*] [] [] $name {
            $doc $retired $coarse ($code $variety $kind) { $([$($param_doc),*] $param $sort)* }
        } }
    };
    (@parse $doc:tt [$retired:tt $coarse:tt $name:ident] $($other:tt)*) => {
        $crate::__broken_row! { $name
            "a row is: Name(0x0001, always, Kind) { /// what it is. parameter: P, … }" }
    };
    ($doc:tt [$($word:ident)+] $($other:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "event type `", ::core::stringify!($($word)+),
            "`: only `retired` or `coarse` stands before a name"
        ));
    };
}

/// Checks the sorts: an unknown sort is an error, and a string makes the struct borrow.
#[doc(hidden)]
#[macro_export]
macro_rules! __sorts {
    ([] $generics:tt $life:tt $name:ident { $($row:tt)* }) => {
        $crate::__struct! { $generics $life $name $($row)* }
    };
    ([$param:ident S $($rest:tt)*] $generics:tt $life:tt $($row:tt)*) => {
        $crate::__sorts! { [$($rest)*] ['a] ['a] $($row)* }
    };
    ([$param:ident P $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident A $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident W $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident U $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident D $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident B $($rest:tt)*] $($row:tt)*) => { $crate::__sorts! { [$($rest)*] $($row)* } };
    ([$param:ident $sort:ident $($rest:tt)*] $generics:tt $life:tt $name:ident $row:tt) => {
        $crate::__broken_row! { $name
            "parameter `", ::core::stringify!($param), "` has sort ", ::core::stringify!($sort),
            ", but a sort is one of P A W U S D B" }
    };
}

/// Reports an invalid row by one error. An empty struct prevents further errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __broken_row {
    ($name:ident $($message:expr),+) => {
        ::core::compile_error!(::core::concat!(
            "event type `", ::core::stringify!($name), "`: ", $($message),+
        ));
        #[doc(hidden)]
        pub struct $name;
        impl $name {
            const __ROW: $crate::Row = $crate::Row::__ROW;
        }
    };
}

/// Makes the struct of a row and its constructors.
#[doc(hidden)]
#[macro_export]
macro_rules! __struct {
    ([$($generics:tt)*] $life:tt $name:ident [$($doc:expr),*] $retired:tt $coarse:tt
        ($code:literal $variety:ident $kind:ident)
        { $([$($param_doc:expr),*] $param:ident $sort:ident)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(non_snake_case, dead_code)]
        pub struct $name<$($generics)*> {
            $($(#[doc = $param_doc])* pub $param: $crate::__field!($life $sort),)*
        }

        #[allow(non_snake_case, dead_code, clippy::too_many_arguments, clippy::new_without_default)]
        impl<$($generics)*> $name<$($generics)*> {
            #[doc(hidden)]
            pub const __ROW: $crate::Row = $crate::Row {
                event_type: $crate::EventType {
                    name: $crate::doc::name(::core::stringify!($name)),
                    code: $code as u64 as u16,
                    kind: $crate::check::kind_named(Kinds::LIST, ::core::stringify!($kind)),
                    always: $crate::__variety!($variety $name),
                    retired: $retired,
                    coarse: $coarse,
                    doc: $crate::__doc!([$($doc),*]),
                    params: &[$($crate::Param {
                        sort: $crate::Sort::$sort,
                        name: $crate::doc::name(::core::stringify!($param)),
                        doc: $crate::__doc!([$($param_doc),*]),
                    }),*],
                },
                code: $code,
                kind_name: ::core::stringify!($kind),
            };

            /// Makes the event with these parameters, in the order of the registry.
            #[inline(always)]
            pub fn new($($param: $crate::__arg!([impl] $life $sort)),*) -> Self {
                Self { $($param: $crate::ToField::to_field(&$param)),* }
            }

            #[doc(hidden)]
            #[inline(always)]
            pub fn __new($($param: $crate::__arg!([&impl] $life $sort)),*) -> Self {
                Self { $($param: $crate::ToField::to_field($param)),* }
            }
        }

        $crate::__event! { $retired [$($generics)*] $name $($param)* }
    };
}

/// Makes the struct an event, unless its row is retired.
#[doc(hidden)]
#[macro_export]
macro_rules! __event {
    (true $($row:tt)*) => {};
    (false [$($generics:tt)*] $name:ident $($param:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $crate::Event for $name<$($generics)*> {
            const TYPE: &'static $crate::EventType = &Self::__ROW.event_type;
            const KINDS: &'static [$crate::Kind] = Kinds::LIST;
            const FIXED_SIZE: usize =
                $crate::layout::fixed_size(Self::TYPE.params, $crate::layout::WORD_SIZE);

            #[inline(always)]
            fn control() -> &'static $crate::Control {
                &CONTROL
            }

            #[inline(always)]
            fn size(&self) -> usize {
                let size = Self::FIXED_SIZE;
                $(let size = $crate::field::Field::size_after(self.$param, size);)*
                size
            }

            #[inline(always)]
            #[allow(unused_variables)]
            fn encode(&self, sink: &mut impl $crate::ParamSink) {
                $($crate::field::Field::put(
                    self.$param,
                    const {
                        let name = ::core::stringify!($param);
                        $crate::layout::offset_of_name(Self::TYPE.params, name)
                    },
                    sink,
                );)*
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ([$($life:lifetime)?] S) => { $crate::field::S<$($life)?> };
    ($life:tt $sort:ident) => { $crate::field::$sort };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __arg {
    ([$($by:tt)*] $life:tt P) => { $($by)* $crate::PointerArg };
    ([$($by:tt)*] $life:tt A) => { $($by)* $crate::AddressArg };
    ([$($by:tt)*] $life:tt W) => { $($by)* $crate::WordArg };
    ([$($by:tt)*] $life:tt U) => { $($by)* $crate::UnsignedArg };
    ([$($by:tt)*] $life:tt D) => { $($by)* $crate::DoubleArg };
    ([$($by:tt)*] $life:tt B) => { $($by)* $crate::BooleanArg };
    ([$($by:tt)*] [$($life:lifetime)?] S) => { $($by)* $crate::StringArg<$($life)?> };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __variety {
    (always $name:ident) => {
        true
    };
    (sometimes $name:ident) => {
        false
    };
    ($other:ident $name:ident) => {
        ::core::compile_error!(::core::concat!(
            "event type `",
            ::core::stringify!($name),
            "`: it is recorded `always` or `sometimes`, not `",
            ::core::stringify!($other),
            "`"
        ))
    };
}
