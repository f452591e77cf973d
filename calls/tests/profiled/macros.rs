//! Macros: as statements, as expressions, with blocks, with jumps; and functions that they make.
//@ editions: 2018 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

macro_rules! declare {
    ($($name:ident = $value:expr;)*) => { $(let $name = $value;)* };
}

macro_rules! braces {
    ($($body:tt)*) => { { $($body)* } };
}

macro_rules! sum {
    ($first:expr $(, $rest:expr)*) => { $first $(+ $rest)* };
}

macro_rules! give {
    ($condition:expr, $value:expr) => {
        if $condition {
            return $value;
        }
    };
}

macro_rules! functions {
    ($($name:ident($parameter:ident) $body:block)*) => {
        $(
            #[cfg_attr(profiled, calls::profiled)]
            pub fn $name($parameter: u32) -> u32 $body
        )*
    };
}

macro_rules! repeated {
    ($name:ident: $tail:expr; $x:ident = $value:expr, $y:pat, $type:ty) => {
        #[cfg_attr(profiled, calls::profiled)]
        pub fn $name() -> u32 {
            let $x: $type = $value;
            println!("  made {}", $x);
            let $y = $x + 1;
            let f = |x: u32| x + $tail;
            match f(1) { x => x + $tail }
        }
    };
}

functions! {
    double(x) { x * 2 }
    triple(x) {
        let y = double(x);
        x + y
    }
}

repeated! { made: 10; x = { let y = 1; y + 1 }, _, u32 }

#[cfg_attr(profiled, calls::profiled)]
mod code {
    pub fn hygiene() -> u32 {
        let block = 1;
        let _block = 2;
        declare! { other = 3; }
        declare!(_call = 4;);
        #[allow(non_snake_case)]
        let STATEMENTS = 5;
        block + _block + call() + other + _call + STATEMENTS
    }

    fn call() -> u32 {
        7
    }

    pub fn declared() -> u32 {
        declare! { x = 1; y = x_of(2); }
        sum!(x_of(x), 2, sum!(3, y)) * y_of(|x| sum!(x, 1))
    }

    fn x_of(x: u32) -> u32 {
        x
    }

    fn y_of(f: impl Fn(u32) -> u32) -> u32 {
        f(1)
    }

    pub fn positions(way: u32) -> u32 {
        give!(way == 0, 10);
        let x = match way {
            1 => braces! { let y = 5; y + way },
            2 => braces!(1),
            3 => { braces! { 2 } }
            5 => { way }
            6 => { (way + 1) * 2 }
            4 => braces! {} .eq(&()).into(),
            _ => vec![1, 2, 3].len() as u32,
        };
        let f = |y| braces! { y + 1 };
        braces! { println!("  {}", x); }
        braces! { f(x) }
    }

    pub fn locals() -> u32 {
        macro_rules! local {
            ($x:expr) => { $x + 1 };
        }
        thread_local!(static CELL: std::cell::Cell<u32> = std::cell::Cell::new(1));
        const LIST: [u32; 2] = { let x = [1, 2]; x };
        static TABLE: [fn(u32) -> u32; 2] = [|x| x + 1, |x| { let y = x; y + x }];
        enum Kind { One = { let x = 1; x }, Two = 1 + 1 }
        use std::convert::identity as same;
        CELL.with(|cell| cell.set(local!(cell.get())));
        fn inner(x: u32) -> u32 { let y = x; y }
        let list = [0u8; { let n = 2; n + LIST.len() }];
        same(CELL.with(|cell| cell.get())) + inner(TABLE[1](TABLE[0](list.len() as u32)))
            + Kind::One as u32 + Kind::Two as u32
    }

    pub fn diverging(way: u32) -> u32 {
        match way {
            0 => todo_or(5),
            1 => return 6,
            2 => unreachable!(),
            3 => panic!("on purpose {}", way),
            _ => {
                assert_ne!(way, 4, "four");
                assert!(matches!(way, 5 | 6), "another");
            }
        }
        way
    }

    fn todo_or(x: u32) {
        if x == 0 { unreachable!("{}", x) }
    }
}

fn main() {
    println!("{} {} {}", double(2), triple(3), made());
    println!("{} {} {}", code::hygiene(), code::declared(), code::locals());
    for way in 0..7 {
        println!("{}", code::positions(way));
        std::panic::set_hook(Box::new(|panic| println!("  {}", panic.location().unwrap())));
        println!("{:?}", std::panic::catch_unwind(|| code::diverging(way)).is_ok());
    }
}
