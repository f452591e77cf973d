//! The order of drops: of variables, temporaries, parameters; at ends, jumps and panics.
//@ editions: 2018 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::cell::RefCell;

struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        println!("    drop {}", self.0);
    }
}

impl Loud {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self) -> Option<&'static str> {
        Some(self.0)
    }
}

#[cfg_attr(profiled, calls::profiled)]
mod code {
    use super::{Loud, RefCell};

    pub fn end(_: Loud, _kept: Loud, parameter: Loud) -> usize {
        let first = Loud("first");
        let _ = Loud("nothing keeps it");
        let _second = Loud("second");
        Loud("in the last expression").len() + first.len() + parameter.len()
    }

    pub fn early(way: u32) -> Result<usize, String> {
        let _outer = Loud("outer");
        {
            let _inner = Loud("inner");
            if way == 0 {
                return Ok(Loud("returned").len());
            }
            if way == 1 {
                Err(String::from("error"))?;
            }
        }
        let found = Loud("scrutinee").get().ok_or("none")?;
        Ok(found.len())
    }

    pub fn matched(way: u32) -> usize {
        let _all = Loud("all");
        match Loud("matched").get() {
            Some(text) if text.len() == way as usize => Loud("arm").len(),
            Some(_) if Loud("guard").len() > 100 => 1,
            Some(text) => {
                let _arm = Loud("in the arm");
                text.len() + Loud("tail").len()
            }
            None => 0,
        }
    }

    pub fn chosen(way: u32) -> usize {
        if let Some(text) = Loud("condition").get() {
            println!("  then {}", text);
        } else {
            println!("  else");
        }
        let kept = match way {
            0 => &Loud("kept by the variable"),
            _ => &Loud("kept, too"),
        };
        println!("  kept");
        let block = {
            let _inner = Loud("inner");
            &Loud("the value of a block")
        };
        let Some(rest) = Loud("let else").get() else { panic!("none") };
        while Loud("while").len() == way as usize {
            return 3;
        }
        kept.len() + block.len() + rest.len()
    }

    pub fn looped() -> usize {
        let mut count = 0;
        let value = 'outer: loop {
            let _round = Loud("round");
            for number in 0.. {
                let _number = Loud("number");
                count += 1;
                if number == 1 {
                    continue 'outer;
                }
                if count > 3 {
                    break 'outer Loud("value");
                }
            }
        };
        let labeled = 'block: {
            let _before = Loud("before the jump");
            if count > 2 {
                break 'block 7;
            }
            8
        };
        value.len() + labeled
    }

    pub fn shadowed() {
        let cell = RefCell::new(vec![1]);
        let value = Loud("one");
        let value = (value, Loud("two"));
        let (ref one, _) = value;
        println!("  {}", one.0);
        let value = Loud("three");
        cell.borrow_mut().push(2);
        println!("  {:?} {}", cell.borrow(), value.0);
    }

    pub fn panicking(way: u32) -> usize {
        let _outer = Loud("outer of a panic");
        let list = [1, 2, 3];
        {
            let _inner = Loud("inner of a panic");
            list[way as usize] + Loud("temporary of a panic").len()
        }
    }

    pub fn temporaries() -> usize {
        let cell = RefCell::new(Loud("in a cell"));
        let length = cell.borrow().len();
        let moved = Some(Loud("moved")).map(|loud| (loud.len(), Loud("made"))).unwrap().0;
        drop(cell);
        let values = [Loud("a"), Loud("b"), Loud("c")];
        let [_, second, ..] = values;
        println!("  {}", second.len());
        length + moved
    }

    pub fn assigned() -> usize {
        let mut value = Loud("old");
        value = if value.len() == 3 { Loud("new") } else { Loud("newer") };
        let late;
        late = Loud("late");
        value.len() + late.len()
    }
}

fn main() {
    println!("{}", code::end(Loud("unnamed"), Loud("underscore"), Loud("parameter")));
    for way in 0..9 {
        println!("{:?}", code::early(way));
        println!("{}", code::matched(way));
        println!("{}", code::chosen(way));
    }
    println!("{}", code::looped());
    code::shadowed();
    println!("{}", code::temporaries());
    println!("{}", code::assigned());
    std::panic::set_hook(Box::new(|panic| println!("  {}", panic.location().unwrap())));
    for way in 2..4 {
        let result = std::panic::catch_unwind(|| code::panicking(way));
        println!("{:?}", result.map_err(|_| "panic"));
    }
}
