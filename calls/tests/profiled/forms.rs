//! Statements and expressions of every form, in functions of every form.
//@ editions: 2021 2024
#![deny(warnings)]
#![allow(unused_braces, redundant_semicolons)]
#![deny(unsafe_op_in_unsafe_fn)]
#![expect(unsafe_code, reason = "it is a form of statements")]

#[cfg_attr(profiled, calls::profiled)]
mod code {
    use std::fmt::{self, Debug, Display};
    use std::ops::{ControlFlow, Index};

    /// # Safety
    ///
    /// The pointer is valid.
    pub unsafe fn raw(pointer: *const u32) -> u32 {
        let first = unsafe { *pointer };
        let second = unsafe {
            let copy = pointer;
            copy.read()
        };
        first + second
    }

    pub extern "C" fn foreign(x: i32) -> i32 {
        let y = x;
        y + 1
    }

    pub fn exported(way: i32) -> i32 {
        if way > 0 {
            #[unsafe(no_mangle)]
            extern "C" fn forms_exported() -> i32 {
                4
            }
            return forms_exported();
        }
        0
    }

    #[track_caller]
    pub fn located() -> u32 {
        let location = std::panic::Location::caller();
        location.line()
    }

    #[inline(always)]
    pub fn inlined<const N: usize>() -> usize {
        let zero = [0; N];
        zero.len() + const { N * 2 } + take::<{ 1 + 2 }>() + take::<N>()
    }

    pub const fn constant(x: u32) -> u32 {
        let y = x;
        if y > 1 { y } else { 5 }
    }

    fn take<const N: usize>() -> usize {
        N
    }

    pub fn chains(a: Option<u32>, b: Result<u32, u32>) -> u32 {
        let Some(x) = a else { return 1 };
        let (Ok(y) | Err(y)) = b;
        let z = if let 1..=3 = x { x } else if let Err(e @ 4..) = b { e } else { 0 };
        let is_small = y == 3 || matches!(a, Some(n) if n < 5) && x < 10;
        if x > 1 && y > 1 && { let w = z; w < 100 } {
            return z + u32::from(is_small);
        }
        z
    }

    pub fn loops(limit: u32) -> (u32, Vec<u32>) {
        let mut stack = vec![limit];
        let mut seen = Vec::new();
        while let Some(top) = stack.pop() {
            if top % 2 == 1 { continue; }
            seen.push(top);
            if top > 1 { stack.extend([top - 1, top - 2]); }
        }
        let mut count = 0;
        let last = 'outer: loop {
            for x in (0..limit).rev() {
                count += 1;
                match x % 100 {
                    0 => break 'outer count,
                    n if n % 3 == 0 => { seen.push(n); continue }
                    _ => (),
                }
            }
            break 99;
        };
        (last, seen)
    }

    pub fn places(mut list: Vec<[u32; 2]>) -> u32 {
        let [first, .., last] = &mut list[..] else { return 0 };
        std::mem::swap(first, last);
        list[0][1] += { let at = 0; list[1][at] };
        let (mut a, b);
        (a, b) = (list[0][0], list[0][1]);
        [a, _] = [a + b, 0];
        let reference = &mut a;
        *reference += 1;
        ;;
        {}
        { }
        a
    }

    pub struct Matrix<'a, T: 'a>(pub &'a [T]);

    impl<'a, T: Debug> Index<usize> for Matrix<'a, T> {
        type Output = T;
        fn index(&self, at: usize) -> &T {
            let list = self.0;
            &list[at]
        }
    }

    impl<T: Debug> Display for Matrix<'_, T> {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            for each in self.0 {
                write!(formatter, "{each:?};")?;
            }
            Ok(())
        }
    }

    pub trait Shape {
        const SIDES: u32 = { let x = 1; x + 2 };
        fn area(&self) -> f64;
        fn double(&self) -> f64 where Self: Sized {
            let area = self.area();
            area * 2.0
        }
    }

    impl Shape for f64 {
        fn area(&self) -> f64 {
            self * self
        }
    }

    pub fn flow(values: &[i32]) -> ControlFlow<i32, i32> {
        let found = values.iter().try_fold(0, |sum, value| {
            if *value < 0 { return ControlFlow::Break(*value); }
            ControlFlow::Continue(sum + value)
        })?;
        ControlFlow::Continue(found)
    }

    pub fn never(go: bool) -> ! {
        if go {
            std::process::exit(3);
        }
        loop {
            std::hint::spin_loop();
        }
    }

    pub fn opaque<'a>(text: &'a str) -> impl Iterator<Item = impl Display + 'a> + 'a {
        let parts = text.split(',').map(|part| part.trim());
        parts.filter(|part| { let empty = part.is_empty(); !empty })
    }

    pub fn dynamic(way: bool) -> Box<dyn Fn(&str) -> Box<dyn Debug>> {
        if way {
            return Box::new(|text| Box::new(text.len()));
        }
        Box::new(|text| Box::new(text.to_owned()))
    }

    pub fn dropped(way: u32) {
        match way {
            0 => drop(u32::from(way)),
            1 => std::mem::drop(Some(way).as_ref().unwrap()),
            2 => { assert!(way > 1) }
            _ => (),
        }
    }

    pub fn unit() {}
    pub fn only_item() { const _: () = (); }
    pub fn declaration() { let _unused: u32; }
    pub fn deep(x: u32) -> u32 {
        { { { if x > 0 { { return { { x } } } } } } }
        match x { _ => match x { _ => match x { _ => { match x { _ => x } } } } }
    }
}

fn main() {
    use code::Shape;
    println!("{} {} {}", unsafe { code::raw(&4) }, code::foreign(1), code::located());
    println!("{}", code::exported(1));
    const SEVEN: u32 = code::constant(7);
    println!("{} {} {SEVEN}", code::inlined::<3>(), code::constant(1));
    println!("{} {}", code::chains(Some(3), Err(4)), code::chains(None, Ok(1)));
    println!("{} {}", code::chains(Some(9), Err(4)), code::chains(Some(1), Ok(1)));
    println!("{:?} {:?}", code::loops(6), code::loops(0));
    println!("{} {}", code::places(vec![[1, 2], [3, 4]]), code::places(vec![]));
    println!("{} {}", code::Matrix(&[1, 2]), code::Matrix(&["a"])[0]);
    println!("{} {}", 2.0.double(), <f64 as code::Shape>::SIDES);
    println!("{:?} {:?}", code::flow(&[1, 2]), code::flow(&[1, -2]));
    println!("{:?}", code::opaque("a, b,,c").map(|part| part.to_string()).collect::<Vec<_>>());
    println!("{:?} {:?}", code::dynamic(true)("abc"), code::dynamic(false)("abc"));
    (0..3).for_each(code::dropped);
    code::unit();
    code::only_item();
    code::declaration();
    println!("{} {}", code::deep(0), code::deep(1));
    if std::env::args().count() == 1 {
        code::never(true);
    }
    code::never(false);
}
