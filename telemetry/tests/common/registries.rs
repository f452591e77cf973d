//! Eight registries of one shape, for tests of registries that exceed the room in a stream.
//!
//! ```text
//!  a … h, of 2 kinds (sparse) or 64 (wide) each     record_all: one event of each
//! ```
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

macro_rules! registries {
    (@all $kinds:tt $($name:ident $text:literal)*) => {
        $(registries! { @one $kinds $name $text })*
        pub fn record_all() {
            $(telemetry::event!($name::Wide, 1usize);)*
        }
    };
    (@one [$($kind:ident = $index:literal)*] $name:ident $text:literal) => {
        pub mod $name {
            telemetry::events! {
                /// Registries of one shape.
                registry $text version(1, 0, 0);
                kinds {
                    $(
                        /// Events of this kind.
                        $kind = $index,
                    )*
                }
                /// An event.
                Wide(0x0001, always, Last) {
                    /// which
                    index: W,
                }
            }
        }
    };
}

pub mod sparse {
    registries! { @all [First = 0 Last = 63] a "a" b "b" c "c" d "d" e "e" f "f" g "g" h "h" }
}

pub mod wide {
    registries! {
        @all [A = 0 B = 1 C = 2 D = 3 E = 4 F = 5 G = 6 H = 7 I = 8 J = 9 K = 10 L = 11 M = 12
         N = 13 O = 14 P = 15 Q = 16 R = 17 S = 18 T = 19 U = 20 V = 21 W = 22 X = 23 Y = 24 Z = 25
         Aa = 26 Ab = 27 Ac = 28 Ad = 29 Ae = 30 Af = 31 Ag = 32 Ah = 33 Ai = 34 Aj = 35 Ak = 36
         Al = 37 Am = 38 An = 39 Ao = 40 Ap = 41 Aq = 42 Ar = 43 As = 44 At = 45 Au = 46 Av = 47
         Aw = 48 Ax = 49 Ay = 50 Az = 51 Ba = 52 Bb = 53 Bc = 54 Bd = 55 Be = 56 Bf = 57 Bg = 58
         Bh = 59 Bi = 60 Bj = 61 Bk = 62 Last = 63]
        a "a" b "b" c "c" d "d" e "e" f "f" g "g" h "h"
    }
}
