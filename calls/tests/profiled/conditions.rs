//! `#[cfg]` at the places where it may stand.
//@ editions: 2018 2021 2024
#![deny(warnings)]
#![allow(unused_braces, redundant_semicolons)]
#![forbid(unsafe_code)]

#[cfg_attr(profiled, calls::profiled)]
mod code {
    #[cfg(any())]
    pub fn absent() -> Missing {
        missing()
    }

    pub fn first() -> u32 {
        #[cfg(any())]
        let x = missing();
        #[cfg(all())]
        let x = 1;
        #[cfg(not(all()))]
        missing(x);
        #[cfg_attr(all(), cfg(not(any())))]
        let x = x + 1;
        #[cfg_attr(any(), cfg(any()))]
        let x = x + 1;
        #[cfg_attr(all(), allow(unused_variables), cfg(any()))]
        let x = "not a number";
        x
    }

    pub fn nothing_is_left() {
        #[cfg(any())]
        missing();
        #[cfg(any())]
        {
            missing();
        }
    }

    pub fn one_is_left() -> u32 {
        #[cfg(any())]
        return missing();
        #[cfg(all())]
        return 3;
        #[cfg(any())]
        missing()
    }

    pub fn assigned(mut x: u32) -> u32 {
        #[cfg(any())]
        x.missing();
        #[cfg(all())]
        {
            x += 1;
            x *= 2;
        }
        #[cfg(all())]
        if x > 3 {
            x += 5;
        }
        #[cfg(any())]
        println!("{}", missing);
        #[allow(unused_assignments)]
        let mut y = 1;
        #[cfg(all())]
        println!("{} {}", x, y);
        y = 4;
        x + y
    }

    pub struct Fields {
        #[cfg(any())]
        absent: Missing,
        #[cfg(all())]
        pub present: u32,
    }

    pub fn parts(x: u32) -> u32 {
        let fields = Fields {
            #[cfg(any())]
            absent: (|| missing())(),
            #[cfg(all())]
            present: (|| x + 1)(),
        };
        let list = [
            #[cfg(any())]
            {
                missing()
            },
            #[cfg(all())]
            {
                fields.present
            },
            5,
        ];
        let Fields {
            #[cfg(any())]
            absent,
            present,
        } = fields;
        match list.len() as u32 {
            #[cfg(any())]
            1 => missing(),
            #[cfg(all())]
            2 => present + list[0],
            #[cfg(any())]
            _ => missing(),
            #[cfg(all())]
            _ => 7,
        }
    }

    pub fn parameters(#[cfg(any())] absent: Missing, #[cfg(all())] present: u32) -> u32 {
        let add = |#[cfg(any())] absent: Missing, x: u32| x + present;
        add(1)
    }

    #[cfg(any())]
    mod absent {
        fn absent() {
            missing();
        }
    }

    #[rustfmt::skip]
    #[must_use]
    pub fn attributes() -> u32 {
        #![allow(unused_variables)]
        let unused = 1;
        #[allow(unused_mut)]
        let mut x = 2;
        #[rustfmt::skip]
        let y = { x };
        #[allow(clippy::all)]
        match y { _ => y }
    }
}

fn main() {
    println!("{} {} {}", code::first(), code::one_is_left(), code::assigned(1));
    code::nothing_is_left();
    println!("{} {} {}", code::parts(3), code::parameters(4), code::attributes());
}
