//! The old syntax of edition 2015, and paths that begin with crates in other editions alone.
//@ editions: 2015 2018 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

extern crate calls;

#[cfg_attr(profiled, calls::profiled)]
mod code {
    pub fn plain(values: &[u32]) -> Result<u32, String> {
        let mut sum = 0;
        for value in values {
            sum += try_one(*value)?;
            #[cfg(any())]
            missing();
        }
        #[cfg(all())]
        let sum = sum * 2;
        let add = |x| x + sum;
        Ok(match sum {
            0 => add(1),
            _ => add(2),
        })
    }

    fn try_one(value: u32) -> Result<u32, String> {
        #[cfg(any())]
        missing();
        if value > 100 { Err(format!("{} is too large", value)) } else { Ok(value) }
    }

    pub fn core(alloc: u32) -> u32 {
        let std = alloc;
        let core = std + 1;
        core
    }
}

fn main() {
    println!("{:?} {:?}", code::plain(&[1, 2]), code::plain(&[101]));
    println!("{:?} {}", code::plain(&[]), code::core(1));
}
